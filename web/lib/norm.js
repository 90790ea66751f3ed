// @ts-check
// Norms, the norm fused with the residual addition, and their gradients. What each option means stands in types.d.ts.
import * as check from './check.js';
import { AddnormError, shapeText } from './errors.js';
import { Frame } from './frame.js';
import { around, notEmpty, numberOf, without } from './ops.js';

/** @typedef {import('./engine.js').Engine} Engine */
/** @typedef {import('./frame.js').Operand} Operand */
/** @typedef {(number | boolean | Operand | null)[]} Arguments of a kernel */
/**
 * A norm that was called for: what it is, and its options. one: its kernel adds the residual too; apart: the addition is
 * a step of its own; scale: the name of dyt's alpha.
 * @typedef {{ index: number, id: string, kind: 'row' | 'batch' | 'group' | 'instance', one: boolean, apart: boolean,
 *   scale: string, backward: boolean, [option: string]: any }} Call
 */
/**
 * How a kernel is called. shape, there, back: how x lies for it; affine, stats: the shapes of weight and mean; outputs,
 * inputs, numbers: what it takes beside those of all norms; updated: operands that it writes where they are.
 * @typedef {ReturnType<Frame['rows']> & { kernel: string, affine: number[], stats: readonly number[], outputs: Arguments,
 *   inputs: Arguments, numbers: Arguments, updated: Operand[] }} Plan
 */

const common = { weight: null, bias: null, eps: check.between(0), weightOffset: check.float, stats: check.boolean };
const channel = { ...common, channelAxis: null };
/** @type {Record<Call['kind'], Record<string, check.Check>>} */
const optionsOf = {
  row: { ...common, axes: null },
  batch: {
    ...channel,
    mask: null,
    runningMean: null,
    runningVar: null,
    momentum: check.between(0, 1),
    training: check.boolean,
    biasedRunningVar: check.boolean,
  },
  group: { ...channel, groups: (what, value) => check.integer(what, value, 1, 2 ** 32 - 1) },
  instance: channel,
};

/** @type {(engine: Engine, name: unknown, x: unknown, options: unknown) => any} */
export function norm(engine, name, x, options) {
  const results = forward(engine, name, { x }, options, false);
  return results.mean ? results : results.y;
}

/** @type {(engine: Engine, name: unknown, x: unknown, residual: unknown, options: unknown) => any} */
export function addNorm(engine, name, x, residual, options) {
  return forward(engine, name, { x, residual }, options, true);
}

/** @type {(engine: Engine, name: unknown, x: unknown, dy: unknown, options: unknown) => any} */
export function normBackward(engine, name, x, dy, options) {
  return backward(engine, name, { x, dy }, options, false);
}

/** @type {(engine: Engine, name: unknown, sum: unknown, dy: unknown, options: unknown) => any} */
export function addNormBackward(engine, name, sum, dy, options) {
  return backward(engine, name, { sum, dy }, options, true);
}

/** @type {(engine: Engine, name: unknown, operands: Record<string, unknown>, options: unknown, fused: boolean) => any} */
function forward(engine, name, operands, options, fused) {
  const call = callOf(engine, name, options, fused, false);
  const { one, apart, alpha } = call;
  return Frame.run(engine, (frame) => {
    const [x, residual] = frame.alike(operands);
    const input = apart ? frame.output(x.shape) : x;
    if (apart) engine.compute('an_add_fwd', input, x, residual, alpha, x.size);
    const { kernel, shape, there, back, stats, weight, bias, outputs, inputs, numbers, updated } = planOf(
      call,
      frame,
      input,
    );
    const others = [...updated, input, weight, bias, ...inputs];
    if (updated.some((operand, i) => others.some((other, j) => j > i && operand.overlaps(other)))) {
      throw new AddnormError('INVALID_ARGUMENT', 'runningMean, runningVar: they are updated and must not share memory');
    }
    const sum = one ? frame.output(shape) : undefined;
    const y = frame.output(shape);
    // Where there is nothing there are no statistics, and the kernel leaves them alone.
    const [mean, rstd] = [0, 0].map(() => (call.stats ? frame.filled(stats, NaN) : null));
    const results = [sum, y, mean, rstd, ...outputs];
    const streams = [there(input), one ? there(residual) : undefined];
    engine.compute(`an_${kernel}_fwd`, ...results, ...streams, weight, bias, ...inputs, ...numbers);
    for (const operand of updated) operand.writeBack();
    return frame.results(x, { sum: apart ? input : back(sum ?? null), y: back(y), mean, rstd });
  });
}

/** @type {(engine: Engine, name: unknown, operands: Record<string, unknown>, options: unknown, fused: boolean) => any} */
function backward(engine, name, operands, options, fused) {
  const call = callOf(engine, name, options, fused, true);
  const { id, one, apart, alpha } = call;
  return Frame.run(engine, (frame) => {
    const [input, dy] = frame.alike(operands);
    const dSum = frame.optional('dSum', call.dSum, input.shape);
    const { kernel, shape, there, back, affine, weight, inputs, numbers } = planOf(call, frame, input);
    const [first, second] = [frame.output(shape), one ? frame.output(shape) : undefined];
    const [dWeight, dBias] = [frame.filled(affine, 0), frame.filled(affine, 0)];
    const dAlpha = id === 'dyt' ? frame.filled([1], 0) : null;
    const outputs = [first, second, dWeight, dBias, call.kind === 'row' ? dAlpha : undefined];
    const streams = [there(input), one ? there(dSum) : undefined, there(dy)];
    engine.compute(`an_${kernel}_bwd`, ...outputs, ...streams, weight, ...inputs, ...numbers);
    let [dx, dResidual] = [back(first), back(second ?? null)];
    if (apart) {
      dResidual = dx;
      dx = frame.output(shape);
      if (dSum) engine.compute('an_add_fwd', dResidual, dResidual, dSum, 1, dx.size);
      engine.compute('an_add_bwd', dx, null, dResidual, alpha, dx.size);
    }
    return frame.results(input, { dx, dResidual, dWeight, dBias, dAlpha });
  });
}

/** What the options of each norm are, made when they are asked for first. @type {Record<string, check.Check>[]} */
const tables = [];

/** @type {(engine: Engine, name: unknown, options: unknown, fused: boolean, backward: boolean) => Call} */
function callOf(engine, name, options, fused, backward) {
  const index = numberOf('norm', engine.lists.numbers.norm, name);
  const { kind, name: id, eps } = engine.lists.norms[index];
  const scale = fused ? 'normAlpha' : 'alpha';
  const at = 4 * index + 2 * Number(fused) + Number(backward);
  tables[at] ??= {
    ...optionsOf[kind],
    ...(id === 'dyt' && { [scale]: null }),
    ...(fused && { alpha: check.float }),
    ...(fused && backward && { dSum: null }),
  };
  const given = check.options(id, options, tables[at]);
  const one = fused && kind === 'row';
  const usual = { eps, weightOffset: 0, channelAxis: -1, alpha: fused ? 1 : null };
  return { index, id, kind, one, apart: fused && !one, scale, backward, ...usual, ...given };
}

/** @type {(call: Call, frame: Frame, input: Operand) => Plan & { weight: Operand | null, bias: Operand | null }} */
function planOf(call, frame, input) {
  const make = call.kind === 'row' ? rowPlan : call.kind === 'batch' ? batchPlan : groupPlan;
  const plan = make(call, frame, input);
  const weight = frame.optional('weight', call.weight, plan.affine);
  const bias = frame.optional('bias', call.bias, plan.affine);
  return { outputs: [], updated: [], weight, bias, ...plan };
}

/**
 * A norm over a list of axes.
 * @param {Call} call
 * @param {Frame} frame
 * @param {Operand} input
 */
function rowPlan(call, frame, { shape, size, what }) {
  const { index, one, alpha, scale, eps, weightOffset } = call;
  const axes = axesOf(call.axes ?? [-1], shape, what);
  const affine = axes.map((axis) => shape[axis]);
  const d = check.product(affine);
  notEmpty(what, shape, d);
  return {
    ...frame.rows(shape, axes),
    kernel: one ? 'add_norm' : 'norm',
    affine,
    stats: shape.map((size, axis) => (axes.includes(axis) ? 1 : size)),
    inputs: [scaleOf(frame, scale, call[scale])],
    numbers: [index, ...(one ? [alpha] : []), eps, weightOffset, size / d, d],
  };
}

/**
 * Batch norm: statistics a channel.
 * @param {Call} call
 * @param {Frame} frame
 * @param {Operand} input
 */
function batchPlan({ eps, weightOffset, momentum = 0.1, biasedRunningVar = false, ...call }, frame, { shape, what }) {
  const axis = check.axis('channelAxis', call.channelAxis, shape.length, what);
  const sizes = around(shape, axis);
  const affine = [sizes[1]];
  notEmpty(what, shape, sizes[1]);
  const mask = frame.optional('mask', call.mask, without(shape, axis));
  const running = ['runningMean', 'runningVar'].map((name) => frame.optional(name, call[name], affine));
  const there = /** @type {Operand[]} */ (running.filter(Boolean));
  const training = call.training ?? !running[0];
  if (there.length === 1 || !(training || running[0])) {
    const text = there.length === 1 ? `${there[0].what} alone` : 'none and training: false';
    throw new AddnormError('INVALID_ARGUMENT', `runningMean, runningVar: expected both, got ${text}`);
  }
  const plan = { ...frame.rows(shape, []), kernel: 'batch_norm', affine, stats: affine };
  if (call.backward) return { ...plan, inputs: [mask, ...running], numbers: [eps, weightOffset, training, ...sizes] };
  const numbers = [eps, momentum, weightOffset, training, biasedRunningVar, ...sizes];
  return { ...plan, outputs: running, inputs: [mask], numbers, updated: training ? there : [] };
}

/**
 * Group and instance norm: statistics a batch entry and group of channels.
 * @param {Call} call
 * @param {Frame} frame
 * @param {Operand} input
 */
function groupPlan({ id, kind, eps, weightOffset, groups = 1, channelAxis }, frame, { shape, what }) {
  const axis = check.axis('channelAxis', channelAxis, shape.length, what);
  if (axis === 0) {
    const text = `channelAxis: axis 0 of ${what} is the batch; ${id} takes ${what} with at least 2 axes`;
    throw new AddnormError('INVALID_ARGUMENT', text);
  }
  const sizes = around(shape.slice(1), axis - 1);
  notEmpty(what, shape, check.product(sizes));
  const channels = sizes[1];
  const count = kind === 'instance' ? channels : groups;
  if (channels % count !== 0) {
    const text = `groups: ${count} does not divide the ${channels} channels of ${what} ${shapeText(shape)}`;
    throw new AddnormError('SHAPE_MISMATCH', text);
  }
  return {
    ...frame.rows(shape, []),
    kernel: 'group_norm',
    affine: [channels],
    stats: [shape[0], count],
    inputs: [],
    numbers: [eps, weightOffset, count, shape[0], ...sizes],
  };
}

/**
 * @param {unknown} value
 * @param {readonly number[]} shape
 * @param {string} of whose axes
 */
function axesOf(value, shape, of) {
  if (!Array.isArray(value) || value.length > shape.length) {
    throw check.invalid('axes', value, `an array of axes of ${of} ${shapeText(shape)}`);
  }
  const axes = Array.from(value, (element, i) => check.axis(`axes[${i}]`, element, shape.length, of));
  if (axes.some((axis, i) => axes.indexOf(axis) !== i)) {
    throw check.invalid('axes', value, `different axes of ${of} ${shapeText(shape)}`);
  }
  return axes;
}

/**
 * dyt's alpha: a number, or one element.
 * @param {Frame} frame
 * @param {string} what
 * @param {unknown} value
 */
function scaleOf(frame, what, value) {
  return frame.optional(what, typeof value === 'number' ? Float32Array.of(check.float(what, value)) : value, [1]);
}
