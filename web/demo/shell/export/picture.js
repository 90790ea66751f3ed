// Charts and drawings as SVG and PNG, each with its title, what it shows, and where it comes from.
import uPlot from 'uplot';
import { escapeXml, SvgContext, SvgPath } from './svg-context.js';

const FAMILY = 'system-ui, Noto Sans, Noto Sans CJK SC, sans-serif';
const PAD = 16;

const scratch = () => document.createElement('canvas').getContext('2d');

/** How an SvgContext measures: by a real context. */
function typeOf() {
  const ctx = scratch();
  const ascent = (font, baseline) => {
    Object.assign(ctx, { font, textBaseline: baseline });
    return ctx.measureText('x').actualBoundingBoxAscent;
  };
  return {
    measureText: (text, font) => Object.assign(ctx, { font, textBaseline: 'alphabetic' }).measureText(text),
    baseline: (font, baseline) => ascent(font, 'alphabetic') - ascent(font, baseline),
  };
}

/**
 * A uPlot chart, drawn once more with a context that writes SVG. uPlot asks the canvas for its context when it is made
 * and draws in the microtask after it: for so long both that context and Path2D are ours.
 * @param live the chart on the page @param options, data what it was made with
 */
export async function chartContent(live, options, data) {
  await new Promise((resolve) => setTimeout(resolve)); // no other chart is about to draw now
  const { getContext } = HTMLCanvasElement.prototype;
  const { Path2D } = globalThis;
  let recorder;
  let copy;
  const type = typeOf();
  try {
    HTMLCanvasElement.prototype.getContext = function () {
      recorder = new SvgContext(this, type);
      return recorder;
    };
    globalThis.Path2D = SvgPath;
    const { width, height } = live;
    copy = new uPlot({ ...options, width, height, cursor: { show: false }, hooks: { draw: options.hooks.draw } }, data);
    HTMLCanvasElement.prototype.getContext = getContext;
    const { min, max } = live.scales.x;
    copy.setScale('x', { min, max });
    await null;
    return { content: recorder.content(), width, height, scale: uPlot.pxRatio };
  } finally {
    HTMLCanvasElement.prototype.getContext = getContext;
    globalThis.Path2D = Path2D;
    copy?.destroy();
  }
}

// What a drawing's look depends on, as the page's style sheets have it.
const LOOK = ['fill', 'fill-opacity', 'stroke', 'stroke-width', 'stroke-dasharray', 'stroke-linejoin', 'opacity'];
const TYPE = ['font-family', 'font-size', 'font-weight', 'text-anchor', 'dominant-baseline'];

/** An SVG element of the page with its style in attributes. */
export function drawingContent(element) {
  const clone = element.cloneNode(true);
  const originals = [element, ...element.querySelectorAll('*')];
  const copies = [clone, ...clone.querySelectorAll('*')];
  for (const [i, original] of originals.entries()) {
    const style = getComputedStyle(original);
    const names = original.localName === 'text' || original.localName === 'tspan' ? [...LOOK, ...TYPE] : LOOK;
    for (const name of names) copies[i].setAttribute(name, plainColor(style.getPropertyValue(name)));
    for (const name of ['class', 'tabindex', 'role', 'style']) copies[i].removeAttribute(name);
  }
  const { width, height } = element.getBoundingClientRect();
  const box = element.getAttribute('viewBox') ?? `0 0 ${width} ${height}`;
  return {
    content: `<svg viewBox="${box}" width="${width}" height="${height}">${inner(clone)}</svg>`,
    width,
    height,
    scale: 1,
  };
}

// What color-mix() gives, as every reader of SVG knows it.
const plainColor = (value) =>
  value.replace(/^color\(srgb ([\d.e-]+) ([\d.e-]+) ([\d.e-]+)\)$/, (_, ...channels) => {
    const bytes = channels.slice(0, 3).map((channel) => Math.round(255 * Math.min(1, Math.max(0, Number(channel)))));
    return `rgb(${bytes.join(', ')})`;
  });

const inner = (element) =>
  [...element.childNodes]
    .map((node) => new XMLSerializer().serializeToString(node).replaceAll(' xmlns="http://www.w3.org/2000/svg"', ''))
    .join('');

/** A canvas of the page as it is. */
export function canvasContent(canvas) {
  const { width, height } = canvas.getBoundingClientRect();
  const at = `width="${width}" height="${height}" image-rendering="pixelated"`;
  return { content: `<image ${at} href="${canvas.toDataURL()}"/>`, width, height, scale: 1 };
}

// The words of a note in lines that fit. CJK text may break between any two signs.
function lines(text, font, width, measureText) {
  const list = [''];
  for (const word of text.match(/[\u2e80-\uffef]|[^\s\u2e80-\uffef]+\s*|\s+/g) ?? []) {
    const longer = list[list.length - 1] + word;
    if (list[list.length - 1] && measureText(longer.trimEnd(), font).width > width) list.push(word.trimStart());
    else list[list.length - 1] = longer;
  }
  return list.map((line) => line.trimEnd());
}

/**
 * A whole SVG document.
 * @param {{ content: string, width: number, height: number, scale: number }} drawn
 * @param {{ title: string, note: string, source: string, link: string, colors: { ink, muted, surface } }} frame
 * @returns {{ svg: string, width: number, height: number }}
 */
export function framed({ content, width, height, scale }, { title, note, source, link, colors }) {
  const { measureText } = typeOf();
  const rows = [
    ...lines(title, `600 16px ${FAMILY}`, width, measureText).map((text) => ({ text, size: 16, weight: 600 })),
    ...lines(note, `12px ${FAMILY}`, width, measureText).map((text) => ({ text, size: 12, weight: 400 })),
  ];
  const foot = lines(source, `12px ${FAMILY}`, width, measureText).map((text) => ({ text, size: 12, weight: 400 }));
  let y = PAD;
  const write = ({ text, size, weight }) => {
    y += 1.4 * size;
    const color = weight === 600 ? colors.ink : colors.muted;
    const type = `font-family="${FAMILY}" font-size="${size}" font-weight="${weight}" fill="${color}"`;
    return text && `<text x="${PAD}" y="${(y - 0.4 * size).toFixed(1)}" ${type}>${escapeXml(text)}</text>`;
  };
  const head = rows.map(write);
  const top = y + 8;
  y = top + height;
  const end = foot.map(write);
  const full = { width: Math.ceil(width + 2 * PAD), height: Math.ceil(y + PAD) };
  const svg = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${full.width}" height="${full.height}" viewBox="0 0 ${full.width} ${full.height}">`,
    `<title>${escapeXml(title)}</title><desc>${escapeXml(link)}</desc>`,
    `<rect width="100%" height="100%" fill="${colors.surface}"/>`,
    ...head,
    `<g transform="translate(${PAD} ${top.toFixed(1)}) scale(${1 / scale})">${content}</g>`,
    ...end,
    '</svg>',
  ].join('\n');
  return { svg, ...full };
}

/** An SVG document as a PNG of twice its size. */
export async function toPng({ svg, width, height }) {
  const address = URL.createObjectURL(new Blob([svg], { type: 'image/svg+xml' }));
  try {
    const image = new Image();
    image.src = address;
    await image.decode();
    const canvas = Object.assign(document.createElement('canvas'), { width: 2 * width, height: 2 * height });
    canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve) => canvas.toBlob(resolve, 'image/png'));
  } finally {
    URL.revokeObjectURL(address);
  }
}
