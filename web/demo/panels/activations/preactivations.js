// What enters a configuration's activation: of its block, with its input, up to the first matrix. No DOM.
import { estimate, makeBlock, makeInput } from '../../compute.js';
import { completed } from '../../fields.js';
import { summarize } from '../../numbers.js';
import { traced } from '../../trace.js';

/** So many values tell a share to a hundredth of a percent, and are sorted within a frame. */
export const MAX_VALUES = 1 << 18;
/** Of more weights than this only some of the hidden units are looked at: the steps hold the weights a second time. */
const MAX_BYTES = 64e6;

/**
 * @param an an instance
 * @param {{ fields, trained }} config its fields, and the parameters of a trained model or undefined
 * @param {{ rows, seed, inputMean, inputStd, file }} given the input, as the other panels have it
 * @returns {{ sorted: Float32Array, summary, rows, gate: boolean, units: number, of: number }} the finite values in order;
 *   units of so many that the layer has
 */
export function preactivations(an, { fields, trained }, given, limit = MAX_BYTES) {
  const whole = completed(fields, an.fields);
  const of = whole.d_ff ?? 4 * whole.d_model;
  const units = unitsWithin({ ...whole, d_ff: of }, limit);
  const values = { ...whole, d_ff: units };
  const most = Math.max(1, Math.floor(MAX_VALUES / units));
  const input = makeInput(values, { ...given, rows: Math.min(given.rows, most) });
  const rows = Math.min(input.rows, most);
  const x = input.data.slice(0, rows * values.d_model);
  const { block } = makeBlock(an, { ...fields, d_ff: units }, given.seed, trained && firstUnits(trained, values, of));
  try {
    if (!trained) widen(block, of);
    const { data, gate } = entering(an, block, x, [1, rows, values.d_model]);
    const summary = summarize(data);
    const sorted = data.filter(Number.isFinite).sort();
    return { sorted, summary, rows, gate, units, of };
  } finally {
    block.dispose();
  }
}

// As many units of a layer as have no more than `limit` bytes of weights, the attention's included.
function unitsWithin(values, limit) {
  const { bytes } = estimate(values);
  if (bytes <= limit) return values.d_ff;
  const rest = estimate({ ...values, d_ff: 0 }).bytes;
  const units = Math.floor((limit - rest) / ((bytes - rest) / values.d_ff));
  if (units < 1) throw Object.assign(new Error('too large'), { code: 'TOO_LARGE', bytes });
  return units;
}

// Of a trained layer the first units: rows of up and gate, columns of down.
function firstUnits(trained, { d_ff: units }, of) {
  if (units === of) return trained;
  return trained.map(({ name, data }) => {
    if (/^(up|gate)/.test(name)) return { name, data: data.slice(0, (data.length / of) * units) };
    if (name !== 'down') return { name, data };
    return { name, data: data.filter((_, i) => i % of < units) };
  });
}

// Units are alike at the initialisation. Xavier's alone knows how many there are: √(2 / (fan in + fan out)).
function widen({ parameters, config: { d_model, d_ff, init } }, of) {
  if (d_ff === of || !/xavier/.test(init)) return;
  const scale = Math.sqrt((d_model + d_ff) / (d_model + of));
  for (const name of ['up', 'gate']) parameters[name]?.set(parameters[name].toArray().map((weight) => weight * scale));
}

function entering(an, block, data, shape) {
  return an.scope(() => {
    const { stages } = traced(an, block, an.tensor(data, shape));
    const { gate, gate_bias: bias } = block.parameters;
    if (!gate) return { data: stages.up.toArray(), gate: false };
    const enters = stages.norm ?? stages.middle ?? stages.x; // the branch
    return { data: an.linear(enters, gate, { bias }).toArray(), gate: true };
  });
}
