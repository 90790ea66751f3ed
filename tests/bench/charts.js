// Charts as plain SVG, on a background of their own, so that they can be seen on any page.

const INK = '#222222';
const FAINT = '#dddddd';
const NOTE = '#666666';
/** Keeps text legible where a line runs behind it. */
const HALO = 'paint-order="stroke" stroke="#ffffff" stroke-width="4"';
const FONT = 'font-family="system-ui, sans-serif"';

/** Colours by Okabe and Ito, told apart by their markers too. */
export const styles = {
  relaxed: { name: 'addnorm relaxed', colour: '#d55e00', marker: 'circle' },
  simd: { name: 'addnorm simd', colour: '#0072b2', marker: 'square' },
  scalar: { name: 'addnorm scalar', colour: '#000000', marker: 'cross' },
  ort: { name: 'onnxruntime-web', colour: '#009e73', marker: 'triangle' },
  tfjs: { name: 'tfjs (wasm)', colour: '#e69f00', marker: 'diamond' },
  jax: { name: 'jax-js', colour: '#cc79a7', marker: 'down' },
  plain: { name: 'plain JS', colour: '#56b4e9', marker: 'plus' },
};

const escaped = (text) => String(text).replace(/[&<>]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;' })[c]);
const text = (x, y, content, { size = 13, fill = INK, anchor = 'start', weight = 400, more = '' } = {}) =>
  `<text x="${x}" y="${y}" font-size="${size}" fill="${fill}" text-anchor="${anchor}" font-weight="${weight}" ${more}>${escaped(content)}</text>`;
const line = (x1, y1, x2, y2, stroke, more = '') =>
  `<line x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}" stroke="${stroke}" ${more}/>`;

const shapes = {
  circle: 'M-5,0a5,5 0 1,0 10,0a5,5 0 1,0 -10,0',
  square: 'M-4.5,-4.5h9v9h-9z',
  triangle: 'M0,-6L5.5,4.5H-5.5z',
  down: 'M0,6L5.5,-4.5H-5.5z',
  diamond: 'M0,-6L6,0L0,6L-6,0z',
  cross: 'M-4,-4L4,4M-4,4L4,-4',
  plus: 'M-5,0H5M0,-5V5',
};
const marker = ({ marker: shape, colour }, x, y) =>
  `<path d="${shapes[shape]}" transform="translate(${x.toFixed(1)},${y.toFixed(1)})" fill="${colour}" stroke="${shape === 'cross' || shape === 'plus' ? colour : '#ffffff'}" stroke-width="${shape === 'cross' || shape === 'plus' ? 2 : 1}"/>`;

function document(width, height, title, subtitle, body) {
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" ${FONT} role="img">
<title>${escaped(title)}</title>
<rect x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="8" fill="#ffffff" stroke="${FAINT}"/>
${text(20, 30, title, { size: 16, weight: 600 })}
${text(20, 50, subtitle, { fill: NOTE })}
${body.join('\n')}
</svg>
`;
}

const logScale = ([low, high], [from, to]) => {
  const [a, b] = [Math.log(low), Math.log(high)];
  return (value) => from + ((Math.log(value) - a) / (b - a)) * (to - from);
};
const linearScale =
  ([low, high], [from, to]) =>
  (value) =>
    from + ((value - low) / (high - low)) * (to - from);

/** Positions at least `gap` apart, in the same order, moved as little as it takes. */
function apart(positions, gap) {
  const order = positions.map((y, i) => ({ y, i })).sort((a, b) => a.y - b.y);
  for (let pass = 0; pass < 50; pass++) {
    for (let k = 1; k < order.length; k++) {
      const missing = gap - (order[k].y - order[k - 1].y);
      if (missing <= 0) continue;
      order[k - 1].y -= missing / 2;
      order[k].y += missing / 2;
    }
  }
  return order.sort((a, b) => a.i - b.i).map(({ y }) => y);
}

/**
 * Lines with markers over a logarithmic x axis, each named at its right end.
 * series: { style, points: [x, y][] }; roofs: { label, points, dashed? }, drawn behind, named at their right end too;
 * marks: { x, label }, vertical lines.
 */
export function lineChart({ title, subtitle, x, y, series, roofs = [], marks = [] }) {
  const [width, height] = [860, 500];
  const area = { left: 70, right: width - 170, top: 92, bottom: height - 60 };
  const toX = logScale(x.domain, [area.left, area.right]);
  const toY = (y.log ? logScale : linearScale)(y.domain, [area.bottom, area.top]);
  const at = ([a, b]) => `${toX(a).toFixed(1)},${toY(b).toFixed(1)}`;
  const body = [];
  for (const tick of x.ticks) {
    body.push(line(toX(tick), area.top, toX(tick), area.bottom, FAINT));
    body.push(text(toX(tick), area.bottom + 18, x.format ? x.format(tick) : tick, { anchor: 'middle', size: 12 }));
  }
  for (const tick of y.ticks) {
    body.push(line(area.left, toY(tick), area.right, toY(tick), FAINT));
    body.push(text(area.left - 8, toY(tick) + 4, tick, { anchor: 'end', size: 12 }));
  }
  body.push(text((area.left + area.right) / 2, height - 18, x.label, { anchor: 'middle' }));
  body.push(text(area.left - 50, area.top - 14, y.label, { size: 12 }));
  for (const { x: value, label } of marks) {
    body.push(line(toX(value), area.top, toX(value), area.bottom, NOTE, 'stroke-dasharray="2 4"'));
    body.push(text(toX(value) + 5, area.bottom - 8, label, { size: 12, fill: NOTE }));
  }
  for (const { points, dashed } of roofs) {
    const dashes = dashed ? 'stroke-dasharray="6 4"' : '';
    body.push(
      `<polyline points="${points.map(at).join(' ')}" fill="none" stroke="${NOTE}" stroke-width="1.5" ${dashes}/>`,
    );
  }
  for (const { style, points } of series) {
    const path = points.map(at).join(' ');
    body.push(
      `<polyline points="${path}" fill="none" stroke="${style.colour}" stroke-width="2" stroke-opacity="0.7"/>`,
    );
    for (const [a, b] of points) body.push(marker(style, toX(a), toY(b)));
  }
  const ends = [
    ...series.map(({ style, points }) => ({ label: style.name, style, last: points.at(-1) })),
    ...roofs.map(({ label, points }) => ({ label, last: points.at(-1) })),
  ];
  const heights = apart(
    ends.map(({ last }) => toY(last[1])),
    16,
  );
  for (const [i, { label, style, last }] of ends.entries()) {
    const [left, own] = [area.right + 22, heights[i]];
    body.push(line(toX(last[0]) + 7, toY(last[1]), left - 8, own, FAINT));
    if (style) body.push(marker(style, left, own));
    body.push(text(left + (style ? 10 : -5), own + 4, label, { size: 12, fill: style ? INK : NOTE }));
  }
  return document(width, height, title, subtitle, body);
}

/**
 * Horizontal bars, several a row. rows: { label, bars: { style, value, label }[] }; `goal` draws a line at a value.
 */
export function barChart({ title, subtitle, rows, domain, goal }) {
  const [width, left, bar, gap] = [860, 230, 15, 14];
  const right = width - 180;
  const top = 70;
  const toX = linearScale(domain, [left, right]);
  const body = [];
  let y = top;
  for (const { label, bars } of rows) {
    const middle = y + (bars.length * bar) / 2;
    body.push(text(left - 10, middle + 4, label, { anchor: 'end' }));
    for (const { style, value, label: own } of bars) {
      const end = Math.max(left + 1, Math.min(toX(value), right));
      body.push(
        `<rect x="${left}" y="${y + 1}" width="${(end - left).toFixed(1)}" height="${bar - 2}" fill="${style.colour}"/>`,
      );
      body.push(text(end + 6, y + bar - 3, own, { size: 12, more: HALO }));
      y += bar;
    }
    y += gap;
  }
  // Behind all else.
  body.unshift(line(toX(goal), top - 6, toX(goal), y - gap + 6, NOTE, 'stroke-dasharray="4 3"'));
  body.push(line(left, top - 6, left, y - gap + 6, NOTE));
  return document(width, y + 10, title, subtitle, body);
}
