// @ts-check
// Norms, the norm fused with the residual addition, and their gradients. What each option means stands in types.d.ts.
import * as check from './check.js';
import { AddnormError, shapeText } from './errors.js';
import { Frame } from './frame.js';
import { around, notEmpty, numberOf, without } from './ops.js';

/** @typedef {import('./engine.js').Engine} Engine */
/** @typedef {import('./frame.js').Operand} Operand */
/** @typedef {Record<string, any>} Options */
/** @typedef {Record<string, Operand | null>} Results by name; null where it was not asked for */
/**
 * A norm that was called for: its number in the module, its kind and name, and the options given.
 * @typedef {{ engine: Engine, index: number, kind: 'row' | 'batch' | 'group' | 'instance', id: string, given: Options }} Call
 */

const common = ['weight', 'bias', 'eps', 'weightOffset', 'stats'];
const optionsOf = {
  row: [...common, 'axes'],
  batch: [...common, 'channelAxis', 'mask', 'runningMean', 'runningVar', 'momentum', 'training', 'biasedRunningVar'],
  group: [...common, 'channelAxis', 'groups'],
  instance: [...common, 'channelAxis'],
};

/**
 * @param {Engine} engine
 * @param {unknown} name
 * @param {unknown} options
 * @param {string} scale where dyt's alpha stands
 * @param {readonly string[]} [more] options beside the norm's
 * @returns {Call}
 */
function callOf(engine, name, options, scale, more = []) {
  const index = numberOf('norm', engine.lists.numbers.norm, name);
  const { kind, name: id } = engine.lists.norms[index];
  const known = id === 'dyt' ? [...optionsOf.row, scale] : optionsOf[kind];
  return { engine, index, kind, id, given: check.options(id, options, [...known, ...more]) };
}

/** @type {(engine: Engine, name: unknown, x: unknown, options: unknown) => any} */
export function norm(engine, name, x, options) {
  const call = callOf(engine, name, options, 'alpha');
  return Frame.run(engine, (frame) => {
    const input = frame.input('x', x);
    const results = call.kind === 'row' ? rowNorm(call, frame, 'alpha', input, null) : channelNorm(call, frame, input);
    const all = finish(frame, input, results);
    return results.mean ? all : all.y;
  });
}

/** @type {(engine: Engine, name: unknown, x: unknown, residual: unknown, options: unknown) => any} */
export function addNorm(engine, name, x, residual, options) {
  const call = callOf(engine, name, options, 'normAlpha', ['alpha']);
  const alpha = check.float('alpha', call.given.alpha ?? 1);
  return Frame.run(engine, (frame) => {
    const input = frame.input('x', x);
    const other = frame.input('residual', residual, input.shape);
    if (call.kind === 'row') {
      return finish(frame, input, rowNorm(call, frame, 'normAlpha', input, { other, alpha }));
    }
    const sum = frame.output(input.shape);
    engine.compute(call.id, 'an_add_fwd', sum.address, input.address, other.address, alpha, sum.size);
    return finish(frame, input, { sum, ...channelNorm(call, frame, sum) });
  });
}

/** @type {(engine: Engine, name: unknown, x: unknown, dy: unknown, options: unknown) => any} */
export function normBackward(engine, name, x, dy, options) {
  const call = callOf(engine, name, options, 'alpha');
  return Frame.run(engine, (frame) => {
    const input = frame.input('x', x);
    const gradient = frame.input('dy', dy, input.shape);
    if (call.kind === 'row') return finish(frame, input, rowBackward(call, frame, 'alpha', input, gradient, null));
    return finish(frame, input, channelBackward(call, frame, input, gradient));
  });
}

/** @type {(engine: Engine, name: unknown, sum: unknown, dy: unknown, options: unknown) => any} */
export function addNormBackward(engine, name, sum, dy, options) {
  const call = callOf(engine, name, options, 'normAlpha', ['alpha', 'dSum']);
  const alpha = check.float('alpha', call.given.alpha ?? 1);
  return Frame.run(engine, (frame) => {
    const input = frame.input('sum', sum);
    const gradient = frame.input('dy', dy, input.shape);
    const other = frame.optional('dSum', call.given.dSum, input.shape);
    if (call.kind === 'row') {
      return finish(frame, input, rowBackward(call, frame, 'normAlpha', input, gradient, { other, alpha }));
    }
    const { dx: dResidual, ...affine } = channelBackward(call, frame, input, gradient);
    const to = dResidual.address;
    if (other) engine.compute(call.id, 'an_add_fwd', to, to, other.address, 1, input.size);
    const dx = frame.output(input.shape);
    engine.compute(call.id, 'an_add_bwd', dx.address, 0, to, alpha, input.size);
    return finish(frame, input, { dx, dResidual, ...affine });
  });
}

/**
 * What there is, given to the caller by name.
 * @param {Frame} frame
 * @param {Operand} like
 * @param {Results} results
 */
function finish(frame, like, results) {
  const there = /** @type {[string, Operand][]} */ (Object.entries(results).filter(([, operand]) => operand));
  return frame.results(like, Object.fromEntries(there));
}

/** @param {Operand | null} operand */
const at = (operand) => operand?.address ?? 0;

/**
 * The options that every norm has.
 * @param {Call} call
 * @param {Frame} frame
 * @param {readonly number[]} shape of weight and bias
 */
function commonOf({ engine, index, given }, frame, shape) {
  return {
    weight: frame.optional('weight', given.weight, shape),
    bias: frame.optional('bias', given.bias, shape),
    eps: check.number('eps', given.eps ?? engine.lists.norms[index].eps, 0),
    offset: check.float('weightOffset', given.weightOffset ?? 0),
    stats: check.boolean('stats', given.stats ?? false),
  };
}

/**
 * Room for statistics, where they are asked for.
 * @param {Frame} frame
 * @param {boolean} stats
 * @param {readonly number[]} shape
 */
function statsOf(frame, stats, shape) {
  const room = () => (stats ? frame.output(Object.freeze(shape)) : null);
  return { mean: room(), rstd: room() };
}

/**
 * How a row norm's operands lie.
 * @param {Call} call
 * @param {Frame} frame
 * @param {string} scale where dyt's alpha stands
 * @param {Operand} input
 */
function rowsOf(call, frame, scale, { shape, size, what }) {
  const { given, id } = call;
  const axes = axesOf(given.axes ?? [-1], shape, what);
  const sizes = Object.freeze(axes.map((axis) => shape[axis]));
  const d = check.product(sizes);
  notEmpty(what, shape, d);
  return {
    ...commonOf(call, frame, sizes),
    ...frame.rows(shape, axes),
    alpha: id === 'dyt' ? scaleOf(frame, scale, given[scale]) : null,
    sizes,
    statsShape: shape.map((size, axis) => (axes.includes(axis) ? 1 : size)),
    rows: size / d,
    d,
  };
}

/**
 * A norm over a list of axes, with or without a residual.
 * @param {Call} call
 * @param {Frame} frame
 * @param {string} scale
 * @param {Operand} input
 * @param {{ other: Operand, alpha: number } | null} residual
 * @returns {Results}
 */
function rowNorm(call, frame, scale, input, residual) {
  const { engine, index } = call;
  const { shape, there, back, rows, d, ...given } = rowsOf(call, frame, scale, input);
  const { mean, rstd } = statsOf(frame, given.stats, given.statsShape);
  const y = frame.output(shape);
  const from = there(input);
  const saved = [at(mean), at(rstd)];
  const affine = [at(given.weight), at(given.bias), at(given.alpha)];
  const numbers = [given.eps, given.offset, rows, d];
  if (!residual) {
    engine.compute('norm', 'an_norm_fwd', y.address, ...saved, from.address, ...affine, index, ...numbers);
    return { y: back(y), mean, rstd };
  }
  const sum = frame.output(shape);
  const inputs = [from.address, there(residual.other).address, ...affine];
  const outputs = [sum.address, y.address, ...saved];
  engine.compute('addNorm', 'an_add_norm_fwd', ...outputs, ...inputs, index, residual.alpha, ...numbers);
  return { sum: back(sum), y: back(y), mean, rstd };
}

/**
 * The gradients of a norm over a list of axes, with or without a residual.
 * @param {Call} call
 * @param {Frame} frame
 * @param {string} scale
 * @param {Operand} input
 * @param {Operand} gradient of the norm's result
 * @param {{ other: Operand | null, alpha: number } | null} residual with the gradient of the sum itself
 * @returns {Results}
 */
function rowBackward(call, frame, scale, input, gradient, residual) {
  const { engine, index, id } = call;
  const { shape, there, back, rows, d, ...given } = rowsOf(call, frame, scale, input);
  const dx = frame.output(shape);
  const affine = {
    dWeight: frame.zeros(given.sizes),
    dBias: frame.zeros(given.sizes),
    dAlpha: id === 'dyt' ? frame.zeros(Object.freeze([1])) : null,
  };
  const outputs = Object.values(affine).map(at);
  const from = there(input).address;
  const dy = there(gradient).address;
  const scales = [at(given.weight), at(given.alpha)];
  const numbers = [given.eps, given.offset, rows, d];
  if (!residual) {
    engine.compute('normBackward', 'an_norm_bwd', dx.address, ...outputs, from, dy, ...scales, index, ...numbers);
    return { dx: back(dx), ...affine };
  }
  const dResidual = frame.output(shape);
  const inputs = [from, residual.other ? there(residual.other).address : 0, dy, ...scales];
  const all = [dx.address, dResidual.address, ...outputs, ...inputs];
  engine.compute('addNormBackward', 'an_add_norm_bwd', ...all, index, residual.alpha, ...numbers);
  return { dx: back(dx), dResidual: back(dResidual), ...affine };
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
  if (new Set(axes).size !== axes.length) {
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
  if (value === undefined) return null;
  if (typeof value === 'number') return frame.input(what, Float32Array.of(check.float(what, value)));
  return frame.input(what, value, [1]);
}

/** @type {(call: Call, input: Operand) => number} */
function channelAxisOf({ given }, { shape, what }) {
  return check.axis('channelAxis', given.channelAxis ?? -1, shape.length, what);
}

/**
 * Batch, group and instance norm: statistics for channels or groups of them.
 * @type {(call: Call, frame: Frame, input: Operand) => Results}
 */
function channelNorm(call, frame, input) {
  if (call.kind === 'batch') return batchNorm(call, frame, input);
  const { channels, sizes } = groupsOf(call, input);
  const { weight, bias, eps, offset, stats } = commonOf(call, frame, Object.freeze([channels]));
  const { mean, rstd } = statsOf(frame, stats, [input.shape[0], sizes[0]]);
  const y = frame.output(input.shape);
  const inputs = [input.address, at(weight), at(bias)];
  call.engine.compute(call.id, 'an_group_norm_fwd', y.address, at(mean), at(rstd), ...inputs, eps, offset, ...sizes);
  return { y, mean, rstd };
}

/** @type {(call: Call, frame: Frame, input: Operand, gradient: Operand) => { dx: Operand, dWeight: Operand, dBias: Operand }} */
function channelBackward(call, frame, input, gradient) {
  const batch = call.kind === 'batch' ? batchOf(call, frame, input) : null;
  const { channels, sizes } = batch ?? groupsOf(call, input);
  const affineShape = Object.freeze([channels]);
  const { weight, eps, offset } = commonOf(call, frame, affineShape);
  const dx = frame.output(input.shape);
  const [dWeight, dBias] = [frame.zeros(affineShape), frame.zeros(affineShape)];
  const outputs = [dx.address, dWeight.address, dBias.address];
  const inputs = [input.address, gradient.address, at(weight)];
  if (batch) {
    const running = [at(batch.mask), at(batch.runningMean), at(batch.runningVar)];
    const numbers = [eps, offset, Number(batch.training)];
    call.engine.compute(call.id, 'an_batch_norm_bwd', ...outputs, ...inputs, ...running, ...numbers, ...sizes);
  } else call.engine.compute(call.id, 'an_group_norm_bwd', ...outputs, ...inputs, eps, offset, ...sizes);
  return { dx, dWeight, dBias };
}

/**
 * The sizes that a group or instance norm's kernel takes: groups, batch, length, channels, inner.
 * @type {(call: Call, input: Operand) => { channels: number, sizes: number[] }}
 */
function groupsOf(call, input) {
  const { shape, what } = input;
  const axis = channelAxisOf(call, input);
  if (axis === 0) {
    throw new AddnormError(
      'INVALID_ARGUMENT',
      `channelAxis: axis 0 of ${what} is the batch; ${call.id} takes ${what} with at least 2 axes`,
    );
  }
  const [batch, channels] = [shape[0], shape[axis]];
  const length = check.product(shape.slice(1, axis));
  const inner = check.product(shape.slice(axis + 1));
  notEmpty(what, shape, length * channels * inner);
  const groups = call.kind === 'instance' ? channels : check.integer('groups', call.given.groups ?? 1, 1, 2 ** 32 - 1);
  if (channels % groups !== 0) {
    throw new AddnormError(
      'SHAPE_MISMATCH',
      `groups: ${groups} does not divide the ${channels} channels of ${what} ${shapeText(shape)}`,
    );
  }
  return { channels, sizes: [groups, batch, length, channels, inner] };
}

/**
 * Batch norm's own options, and the sizes that its kernel takes: outer, channels, inner.
 * @param {Call} call
 * @param {Frame} frame
 * @param {Operand} input
 */
function batchOf(call, frame, input) {
  const { given } = call;
  const axis = channelAxisOf(call, input);
  const sizes = around(input.shape, axis);
  const channels = sizes[1];
  notEmpty(input.what, input.shape, channels);
  const mask = frame.optional('mask', given.mask, without(input.shape, axis));
  const runningMean = frame.optional('runningMean', given.runningMean, [channels]);
  const runningVar = frame.optional('runningVar', given.runningVar, [channels]);
  const training = check.boolean('training', given.training ?? !runningMean);
  const biased = check.boolean('biasedRunningVar', given.biasedRunningVar ?? false);
  const momentum = check.number('momentum', given.momentum ?? 0.1, 0, 1);
  if (!runningMean !== !runningVar || !(runningMean || training)) {
    const there = runningMean ? 'runningMean alone' : runningVar ? 'runningVar alone' : 'none and training: false';
    throw new AddnormError('INVALID_ARGUMENT', `runningMean, runningVar: expected both, got ${there}`);
  }
  return { channels, sizes, mask, runningMean, runningVar, training, biased, momentum };
}

/** @type {(call: Call, frame: Frame, input: Operand) => Results} */
function batchNorm(call, frame, input) {
  const { channels, sizes, mask, runningMean, runningVar, training, biased, momentum } = batchOf(call, frame, input);
  const { weight, bias, eps, offset, stats } = commonOf(call, frame, Object.freeze([channels]));
  const { mean, rstd } = statsOf(frame, stats, [channels]);
  if (training && runningMean && runningVar) {
    const others = [input, weight, bias, mask];
    if (
      [runningVar, ...others].some((o) => o && runningMean.overlaps(o)) ||
      others.some((o) => o && runningVar.overlaps(o))
    ) {
      throw new AddnormError('INVALID_ARGUMENT', 'runningMean, runningVar: they are updated and must not share memory');
    }
  }
  const y = frame.output(input.shape);
  // Nothing has no statistics, and the kernel leaves them alone.
  for (const none of [mean, rstd]) if (none) call.engine.memory.floats(none.address, channels).fill(NaN);
  const outputs = [y.address, at(mean), at(rstd), at(runningMean), at(runningVar)];
  const inputs = [input.address, at(weight), at(bias), at(mask)];
  const numbers = [eps, momentum, offset, Number(training), Number(biased)];
  call.engine.compute(call.id, 'an_batch_norm_fwd', ...outputs, ...inputs, ...numbers, ...sizes);
  if (training) {
    runningMean?.writeBack();
    runningVar?.writeBack();
  }
  return { y, mean, rstd };
}
