// A canvas context that writes down what is drawn as SVG: a chart exported by it has all that its own code draws. It knows
// what the charts here use, and says so when something else is called for.

const round = (value) => String(Math.round(value * 100) / 100);
export const escapeXml = (text) => String(text).replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

/** A path as text, with the methods of Path2D. */
export class SvgPath {
  constructor(from) {
    this.d = typeof from === 'string' ? from : (from?.d ?? '');
    this.parts = [...(from?.parts ?? [])]; // paths that were added under a transform
  }
  add(letter, ...numbers) {
    this.d += `${letter}${numbers.map(round).join(' ')}`;
  }
  moveTo(x, y) {
    this.add('M', x, y);
  }
  lineTo(x, y) {
    this.add(this.d ? 'L' : 'M', x, y);
  }
  bezierCurveTo(...numbers) {
    this.add('C', ...numbers);
  }
  quadraticCurveTo(...numbers) {
    this.add('Q', ...numbers);
  }
  rect(x, y, width, height) {
    this.d += `M${round(x)} ${round(y)}h${round(width)}v${round(height)}h${round(-width)}z`;
  }
  arc(x, y, r, from, to) {
    const at = (angle) => [x + r * Math.cos(angle), y + r * Math.sin(angle)];
    const whole = Math.abs(to - from) >= 2 * Math.PI - 1e-6;
    const [end, large] = whole ? [from + Math.PI, 0] : [to, Number(Math.abs(to - from) > Math.PI)];
    this.lineTo(...at(from));
    this.add('A', r, r, 0, large, 1, ...at(end));
    if (whole) this.add('A', r, r, 0, 0, 1, ...at(from));
  }
  closePath() {
    this.d += 'z';
  }
  addPath(path, matrix) {
    this.parts.push({ path, matrix });
  }
}

const PLAIN = {
  fillStyle: '#000',
  strokeStyle: '#000',
  lineWidth: 1,
  lineJoin: 'miter',
  lineCap: 'butt',
  globalAlpha: 1,
  font: '10px sans-serif',
  textAlign: 'start',
  textBaseline: 'alphabetic',
};
const ANCHOR = { start: 'start', left: 'start', center: 'middle', right: 'end', end: 'end' };

export class SvgContext {
  /**
   * @param canvas what `canvas` says
   * @param {{ measureText: (text: string, font: string) => TextMetrics,
   *   baseline: (font: string, baseline: string) => number }} type how text is measured, and how far below its y the
   *   alphabetic baseline is
   */
  constructor(canvas, type) {
    Object.assign(this, PLAIN, { canvas, type });
    this.elements = [];
    this.clips = [];
    this.stack = [];
    this.matrix = [1, 0, 0, 1, 0, 0];
    this.dash = [];
    this.clipped = null;
    this.path = new SvgPath();
  }

  save() {
    const { matrix, dash, clipped } = this;
    const styles = Object.fromEntries(Object.keys(PLAIN).map((key) => [key, this[key]]));
    this.stack.push({ ...styles, matrix: [...matrix], dash, clipped });
  }
  restore() {
    Object.assign(this, this.stack.pop());
  }

  // ---- Transforms

  transform(a, b, c, d, e, f) {
    const [A, B, C, D, E, F] = this.matrix;
    this.matrix = [A * a + C * b, B * a + D * b, A * c + C * d, B * c + D * d, A * e + C * f + E, B * e + D * f + F];
  }
  setTransform(...matrix) {
    this.matrix = matrix.length === 6 ? matrix : [1, 0, 0, 1, 0, 0];
  }
  resetTransform() {
    this.setTransform();
  }
  translate(x, y) {
    this.transform(1, 0, 0, 1, x, y);
  }
  scale(x, y) {
    this.transform(x, 0, 0, y, 0, 0);
  }
  rotate(angle) {
    const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
    this.transform(cos, sin, -sin, cos, 0, 0);
  }

  // ---- Paths

  beginPath() {
    this.path = new SvgPath();
  }
  setLineDash(dash) {
    this.dash = dash;
  }
  getLineDash() {
    return this.dash;
  }
  fill(path = this.path) {
    if (!isPath(path)) return this.fill();
    this.shape(path, `fill="${this.fillStyle}"`);
  }
  stroke(path = this.path) {
    const { strokeStyle, lineWidth, lineJoin, lineCap, dash } = this;
    const dashes = dash.length > 0 ? ` stroke-dasharray="${dash.map(round).join(' ')}"` : '';
    const style = `fill="none" stroke="${strokeStyle}" stroke-width="${round(lineWidth)}" stroke-linejoin="${lineJoin}"`;
    this.shape(path, `${style} stroke-linecap="${lineCap}"${dashes}`, round(lineWidth));
  }
  clip(path = this.path) {
    const id = `c${this.clips.length}`;
    const within = this.clipped ? ` clip-path="url(#${this.clipped})"` : '';
    const given = isPath(path) ? path : this.path;
    this.clips.push(`<clipPath id="${id}"${within}><path d="${given.d}"${this.placed(this.matrix)}/></clipPath>`);
    this.clipped = id;
  }
  fillRect(x, y, width, height) {
    const path = new SvgPath();
    path.rect(x, y, width, height);
    this.fill(path);
  }
  strokeRect(x, y, width, height) {
    const path = new SvgPath();
    path.rect(x, y, width, height);
    this.stroke(path);
  }
  clearRect() {} // nothing has been drawn yet
  shape(path, style, width) {
    if (path.d) this.elements.push(`<path d="${path.d}" ${style}${this.placed(this.matrix)}${this.look()}/>`);
    for (const { path: part, matrix } of path.parts) {
      const { a = 1, b = 0, c = 0, d = 1, e = 0, f = 0 } = matrix ?? {};
      const own =
        width === undefined ? style : style.replace(/stroke-width="[^"]*"/, `stroke-width="${round(width / a)}"`);
      const inner = `<path d="${part.d}" ${own}${this.placed([a, b, c, d, e, f])}/>`;
      this.elements.push(`<g${this.placed(this.matrix)}${this.look()}>${inner}</g>`);
    }
  }
  placed(matrix) {
    return matrix.join() === '1,0,0,1,0,0'
      ? ''
      : ` transform="matrix(${matrix.map((value) => Number(value.toFixed(4))).join(' ')})"`;
  }
  look() {
    const { globalAlpha, clipped } = this;
    const alpha = globalAlpha === 1 ? '' : ` opacity="${round(globalAlpha)}"`;
    return alpha + (clipped ? ` clip-path="url(#${clipped})"` : '');
  }

  // ---- Text and pictures

  measureText(text) {
    return this.type.measureText(text, this.font);
  }
  fillText(text, x, y) {
    this.text(text, x, y, `fill="${this.fillStyle}"`);
  }
  strokeText(text, x, y) {
    const { strokeStyle, lineWidth, lineJoin } = this;
    const style = `stroke="${strokeStyle}" stroke-width="${round(lineWidth)}" stroke-linejoin="${lineJoin}"`;
    this.text(text, x, y, `fill="none" ${style}`);
  }
  text(text, x, y, style) {
    const { font, textAlign, textBaseline } = this;
    const [, weight, size, family] = /^(?:(bold|\d{3}) )?(?:normal )*([\d.]+)px (.*)$/.exec(font) ?? [];
    const type = `font-size="${size}" font-family="${escapeXml(family ?? 'sans-serif')}"${weight ? ` font-weight="${weight}"` : ''}`;
    const at = `x="${round(x)}" y="${round(y + this.type.baseline(font, textBaseline))}" text-anchor="${ANCHOR[textAlign]}"`;
    this.elements.push(
      `<text ${at} ${type} ${style}${this.placed(this.matrix)}${this.look()}>${escapeXml(text)}</text>`,
    );
  }
  drawImage(image, ...numbers) {
    const [x, y, width, height] = numbers.length > 4 ? numbers.slice(4) : numbers;
    const { width: w = image.width, height: h = image.height } = { width, height };
    const at = `x="${round(x)}" y="${round(y)}" width="${round(w)}" height="${round(h)}" preserveAspectRatio="none"`;
    const style = this.imageSmoothingEnabled === false ? ' image-rendering="pixelated"' : '';
    this.elements.push(
      `<image ${at}${style} href="${pictureOf(image, numbers)}"${this.placed(this.matrix)}${this.look()}/>`,
    );
  }

  /** All that was drawn. */
  content() {
    return `<defs>${this.clips.join('')}</defs>${this.elements.join('\n')}`;
  }
}

// What draws on the current path, as a context does.
for (const name of ['moveTo', 'lineTo', 'bezierCurveTo', 'quadraticCurveTo', 'rect', 'arc', 'closePath']) {
  SvgContext.prototype[name] = function (...numbers) {
    this.path[name](...numbers);
  };
}

const isPath = (value) => typeof value === 'object';

// The part of a picture that is drawn, as a data: address.
function pictureOf(image, numbers) {
  if (numbers.length <= 4) return image.toDataURL();
  const [sx, sy, width, height] = numbers;
  const part = document.createElement('canvas');
  Object.assign(part, { width, height });
  part.getContext('2d').drawImage(image, sx, sy, width, height, 0, 0, width, height);
  return part.toDataURL();
}
