// Where the parts of a drawing stand: pixels of an SVG 300 wide, y downwards from its top. No DOM.

export const WIDTH = 300;
export const STREAM = 84;
export const BRANCH = 206;
const WIDEST = 148;
const NARROWEST = 62;
export const BOX = 24;
const GAP = 12;
const RING = 11; // radius of the addition
const HEIGHTS = { scale: 18, dashed: 20 };
const LANE = 46;
const NORM = 18;

/** About right for 11 px; a CJK sign is as wide as two others. */
export const textWidth = (label) => [...label].reduce((sum, sign) => sum + (sign > '\u2e80' ? 11 : 6.4), 16);

// The least of a slanted box's shorter side, so that its text does not cross the edges.
const slanted = (label) => textWidth(label) - 22;

/** The narrower of d_model and d_ff by the root of their ratio, so that 1 : 4 and 1 : 1 are told apart and text fits. */
export function widths({ d_model, d_ff }) {
  const own = d_ff / d_model;
  const ratio = own > 0 && own < Infinity ? own : 1; // sizes of a damaged link are no numbers
  const narrow = Math.max(NARROWEST, WIDEST * Math.sqrt(Math.min(ratio, 1 / ratio)));
  return ratio >= 1 ? { model: narrow, hidden: WIDEST } : { model: WIDEST, hidden: narrow };
}

function heightOf(step) {
  if (step.shape === 'gates') return 2 * BOX + 2 * GAP + 8;
  if (step.shape === 'heads') return 2 * BOX + 2 * GAP + (step.norm ? NORM + 8 : 0);
  return HEIGHTS[step.shape] ?? BOX;
}

/**
 * @param {object[]} sublayers as diagramOf gives them
 * @param {{ model: number, hidden: number }} w
 * @returns {{ height: number, nodes: object[], lines: { edge: string, d: string, stream: boolean }[],
 *   spans: { prefix: string, join: number, leave: number, enters: string, leaves: string }[] }} nodes: parts with x, y,
 *   width, height and what their shape needs
 */
export function layout(sublayers, w) {
  const nodes = [];
  const lines = [];
  const spans = [];
  const stream = (edge, from, to) => lines.push({ edge, d: `M${STREAM} ${from}V${to}`, stream: true });
  let y = 0;
  let enters = 'x';
  for (const [i, sublayer] of sublayers.entries()) {
    const { prefix, leaves, residual } = sublayer;
    const leave = y - (i === 0 ? 34 : sublayers[i - 1].stream.length > 0 ? 28 : 46);
    stream(enters, y, leave - (residual ? 0 : 3));
    const join = stackBranch(sublayer, leave, w, nodes, lines);
    const first = [join + RING, leave];
    if (residual) {
      if (sublayer.alpha) {
        const middle = join + 31;
        stream(`${prefix}sum`, middle, first[0]);
        stream(`${prefix}skip`, leave, middle);
        place(nodes, sublayer.alpha, STREAM, middle - 9, w);
      } else stream(`${prefix}skip`, leave, first[0]);
      nodes.push({ ...residual, shape: 'sum', x: STREAM, y: join });
    } else lines.push({ edge: null, d: `M${STREAM} ${leave - 22}V${join + 22}`, stream: true, broken: true });
    y = residual ? join - RING : join;
    for (const step of sublayer.stream) {
      const top = y - GAP - 2 - BOX;
      stream(`${prefix}sum`, y, y - GAP - 2);
      place(nodes, step, STREAM, top, w);
      y = top;
    }
    spans.push({ prefix, join, leave, enters, leaves });
    enters = leaves;
  }
  stream(enters, y, y - 20);
  const height = -(y - 40);
  return shifted({ height, nodes, lines, spans, tip: y - 20 }, height - 4);
}

// The boxes of a branch; returns where it comes back.
function stackBranch({ prefix, branch, residual }, leave, w, nodes, lines) {
  let from = `M${STREAM} ${leave}H${BRANCH}`;
  let edge = `${prefix}enter`;
  let at = leave - 18;
  for (const step of branch) {
    lines.push({ edge, d: `${from}V${at}` });
    const top = at - heightOf(step);
    if (step.shape === 'gates') gates(step, at, top, edge, w, nodes, lines);
    else if (step.shape === 'heads') heads(step, at, top, edge, nodes, lines);
    else place(nodes, step, BRANCH, top, w);
    from = `M${BRANCH} ${top}`;
    edge = step.edge;
    at = top - GAP;
  }
  const join = at - 4;
  // What comes last has its own name on the stream's side.
  lines.push({ edge: `${prefix}branch`, d: `${from}V${join}H${STREAM + (residual ? RING : 0)}` });
  return join;
}

function place(nodes, step, x, y, w) {
  const height = heightOf(step);
  if (step.shape === 'widen' || step.shape === 'narrow') {
    const model = Math.max(w.model, slanted(step.label));
    const [below, above] = step.shape === 'widen' ? [model, w.hidden] : [w.hidden, model];
    nodes.push({ ...step, x, y, height, below, above });
    return;
  }
  const own = step.shape === 'scale' ? 0 : step.wide ? w.hidden : w.model;
  const mark = step.causal ? 16 : 0;
  nodes.push({ ...step, x, y, height, width: Math.max(own, textWidth(step.label) + mark) });
}

// gate and up beside each other, the activation over the gate, joined by ×.
function gates(step, bottom, top, edge, w, nodes, lines) {
  const left = BRANCH - w.hidden / 4 - 2;
  const right = BRANCH + w.hidden / 4 + 2;
  const half = w.hidden / 2 - 4;
  const foot = Math.max(w.model / 2 - 4, slanted(step.gate.label));
  const low = bottom - BOX - 8;
  const high = low - BOX - GAP + 4;
  const center = top + 8;
  lines.push({ edge, d: `M${BRANCH} ${bottom}v-4H${left}v-4M${BRANCH} ${bottom - 4}H${right}v-4` });
  lines.push({ edge: 'gate', d: `M${left} ${low}V${high + BOX - 4}` });
  lines.push({ edge: 'activated', d: `M${left} ${high}V${center}H${BRANCH - 8}` });
  lines.push({ edge: 'up', d: `M${right} ${low}V${center}H${BRANCH + 8}` });
  const lane = { shape: 'widen', height: BOX, below: foot, above: half, y: low };
  nodes.push({ ...step.gate, ...lane, x: left }, { ...step.up, ...lane, x: right });
  const width = Math.max(half, textWidth(step.activation.label));
  nodes.push({ ...step.activation, shape: 'box', x: left, y: high, height: BOX - 4, width });
  nodes.push({ id: 'product', shape: 'product', x: BRANCH, y: center });
}

// Queries, keys and values beside each other, what norms the first two, and attention over all.
function heads(step, bottom, top, edge, nodes, lines) {
  const xs = [-1, 0, 1].map((place) => BRANCH + place * (LANE + 4));
  const low = bottom - BOX - 8;
  const normed = low - 8 - NORM;
  lines.push({
    edge,
    d: `M${BRANCH} ${bottom}v-4H${xs[0]}v-4M${BRANCH} ${bottom - 4}H${xs[2]}v-4M${BRANCH} ${bottom - 4}v-4`,
  });
  for (const [i, lane] of step.lanes.entries()) {
    const isNormed = step.norm && lane.id !== 'value';
    lines.push({ edge: lane.edge, d: `M${xs[i]} ${low}V${isNormed ? normed + NORM : top + BOX}` });
    if (isNormed) lines.push({ edge: `${lane.edge}_normed`, d: `M${xs[i]} ${normed}V${top + BOX}` });
    nodes.push({ ...lane, shape: 'box', x: xs[i], y: low, height: BOX, width: LANE });
    if (isNormed) nodes.push({ ...step.norm, shape: 'box', x: xs[i], y: normed, height: NORM, width: LANE });
  }
  nodes.push({ ...step.attention, shape: 'box', x: BRANCH, y: top, height: BOX, width: 3 * LANE + 8 });
}

// Moves everything down by dy, so that the top is at 0.
function shifted({ height, nodes, lines, spans, tip }, dy) {
  const moved = (d) => d.replace(/(M[\d.-]+ |V)([\d.-]+)/g, (_, before, y) => `${before}${round(Number(y) + dy)}`);
  return {
    height,
    tip: tip + dy,
    nodes: nodes.map((node) => ({ ...node, y: node.y + dy })),
    lines: lines.map((line) => ({ ...line, d: moved(line.d) })),
    spans: spans.map((span) => ({ ...span, join: span.join + dy, leave: span.leave + dy })),
  };
}

const round = (value) => Math.round(100 * value) / 100;
