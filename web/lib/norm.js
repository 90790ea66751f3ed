// @ts-check
// Norms, and the norm fused with the residual addition. What each option means stands in types.d.ts.
import * as check from './check.js';
import { AddnormError, shapeText } from './errors.js';
import { Frame } from './frame.js';
import { around, notEmpty, numberOf } from './ops.js';

/** @typedef {import('./engine.js').Engine} Engine */
/** @typedef {import('./frame.js').Operand} Operand */
/** @typedef {Record<string, any>} Options */
/** @typedef {{ y: Operand, mean: Operand | null, rstd: Operand | null }} Results mean and rstd only where asked for */

const common = ['weight', 'bias', 'eps', 'weightOffset', 'stats'];
const optionsOf = {
  row: [...common, 'axes'],
  batch: [...common, 'channelAxis', 'runningMean', 'runningVar', 'momentum', 'training', 'biasedRunningVar'],
  group: [...common, 'channelAxis', 'groups'],
  instance: [...common, 'channelAxis'],
};

/** @type {(engine: Engine, name: unknown, x: unknown, options: unknown) => any} */
export function norm(engine, name, x, options) {
  const index = numberOf('norm', engine.lists.numbers.norm, name);
  const { kind, name: id } = engine.lists.norms[index];
  const known = id === 'dyt' ? [...optionsOf.row, 'alpha'] : optionsOf[kind];
  const given = check.options(id, options, known);
  return Frame.run(engine, (frame) => {
    const input = frame.input('x', x);
    if (kind === 'row') return rowNorm(engine, frame, index, given, 'alpha', input, null);
    return finish(frame, input, channelNorm(engine, frame, index, given, input));
  });
}

/** @type {(engine: Engine, name: unknown, x: unknown, residual: unknown, options: unknown) => any} */
export function addNorm(engine, name, x, residual, options) {
  const index = numberOf('norm', engine.lists.numbers.norm, name);
  const { kind, name: id } = engine.lists.norms[index];
  const known = id === 'dyt' ? [...optionsOf.row, 'normAlpha'] : optionsOf[kind];
  const given = check.options(id, options, [...known, 'alpha']);
  const alpha = check.float('alpha', given.alpha ?? 1);
  return Frame.run(engine, (frame) => {
    const input = frame.input('x', x);
    const other = frame.input('residual', residual, input.shape);
    if (kind === 'row') return rowNorm(engine, frame, index, given, 'normAlpha', input, { other, alpha });
    const sum = frame.output(input.shape);
    engine.compute(id, 'an_add_fwd', sum.address, input.address, other.address, alpha, sum.size);
    return finish(frame, input, { sum, ...channelNorm(engine, frame, index, given, sum) });
  });
}

/**
 * y alone, or all that there is by name.
 * @param {Frame} frame
 * @param {Operand} like
 * @param {Results & { sum?: Operand }} results
 */
function finish(frame, like, results) {
  const there = /** @type {[string, Operand][]} */ (Object.entries(results).filter(([, operand]) => operand));
  const all = frame.results(like, Object.fromEntries(there));
  return there.length > 1 ? all : all.y;
}

/**
 * The options that every norm has.
 * @param {Engine} engine
 * @param {Frame} frame
 * @param {number} index
 * @param {Options} given
 * @param {readonly number[]} affineShape of weight and bias
 * @param {readonly number[]} statsShape of mean and rstd
 */
function commonOf(engine, frame, index, given, affineShape, statsShape) {
  const stats = check.boolean('stats', given.stats ?? false);
  return {
    weight: frame.optional('weight', given.weight, affineShape),
    bias: frame.optional('bias', given.bias, affineShape),
    eps: check.number('eps', given.eps ?? engine.lists.norms[index].eps, 0),
    offset: check.float('weightOffset', given.weightOffset ?? 0),
    mean: stats ? frame.output(Object.freeze(statsShape)) : null,
    rstd: stats ? frame.output(Object.freeze(statsShape)) : null,
  };
}

/**
 * A norm over a list of axes, with or without a residual. The kernel takes rows, so other axes than the last are
 * brought to the end first, in the order of the list, and the results back.
 * @param {Engine} engine
 * @param {Frame} frame
 * @param {number} index
 * @param {Options} given
 * @param {'alpha' | 'normAlpha'} scale where dyt's alpha stands
 * @param {Operand} input
 * @param {{ other: Operand, alpha: number } | null} residual
 */
function rowNorm(engine, frame, index, given, scale, input, residual) {
  const { shape } = input;
  const axes = axesOf(given.axes ?? [-1], shape);
  const sizes = axes.map((axis) => shape[axis]);
  const d = check.product(sizes);
  notEmpty('x', shape, d);
  const rows = input.size / d;
  const statsShape = shape.map((size, axis) => (axes.includes(axis) ? 1 : size));
  const { weight, bias, eps, offset, mean, rstd } = commonOf(engine, frame, index, given, sizes, statsShape);
  const normAlpha = engine.lists.norms[index].name === 'dyt' ? scaleOf(frame, scale, given[scale]) : null;

  const order = [...shape.keys()].filter((axis) => !axes.includes(axis)).concat(axes);
  const moved = order.some((axis, i) => axis !== i);
  const inverse = order.map((_, axis) => order.indexOf(axis));
  /** @type {(operand: Operand, by: number[]) => Operand} */
  const permuted = (operand, by) => {
    if (!moved) return operand;
    const result = frame.output(Object.freeze(by.map((axis) => operand.shape[axis])));
    frame.permute(result.address, operand, by);
    return result;
  };
  const rowShape = Object.freeze(order.map((axis) => shape[axis]));
  const y = frame.output(rowShape);
  const from = permuted(input, order);
  const saved = [mean?.address ?? 0, rstd?.address ?? 0];
  const affine = [weight?.address ?? 0, bias?.address ?? 0, normAlpha?.address ?? 0];
  if (!residual) {
    engine.compute('norm', 'an_norm_fwd', y.address, ...saved, from.address, ...affine, index, eps, offset, rows, d);
    return finish(frame, input, { y: permuted(y, inverse), mean, rstd });
  }
  const sum = frame.output(rowShape);
  const other = permuted(residual.other, order);
  const inputs = [from.address, other.address, ...affine];
  const numbers = [residual.alpha, eps, offset];
  engine.compute('addNorm', 'an_add_norm_fwd', sum.address, y.address, ...saved, ...inputs, index, ...numbers, rows, d);
  return finish(frame, input, { sum: permuted(sum, inverse), y: permuted(y, inverse), mean, rstd });
}

/**
 * @param {unknown} value
 * @param {readonly number[]} shape
 */
function axesOf(value, shape) {
  if (!Array.isArray(value) || value.length > shape.length) {
    throw check.invalid('axes', value, `an array of axes of x ${shapeText(shape)}`);
  }
  const axes = Array.from(value, (element, i) => check.axis(`axes[${i}]`, element, shape.length));
  if (new Set(axes).size !== axes.length) {
    throw check.invalid('axes', value, `different axes of x ${shapeText(shape)}`);
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

/**
 * Batch, group and instance norm: statistics for channels or groups of them.
 * @param {Engine} engine
 * @param {Frame} frame
 * @param {number} index
 * @param {Options} given
 * @param {Operand} input
 * @returns {Results}
 */
function channelNorm(engine, frame, index, given, input) {
  const { shape } = input;
  const { kind, name: id } = engine.lists.norms[index];
  const axis = check.axis('channelAxis', given.channelAxis ?? -1, shape.length);
  if (kind === 'batch') return batchNorm(engine, frame, index, given, input, axis);
  if (axis === 0) {
    throw new AddnormError(
      'INVALID_ARGUMENT',
      `channelAxis: axis 0 of x is the batch; ${id} takes x with at least 2 axes`,
    );
  }
  const [batch, channels] = [shape[0], shape[axis]];
  const length = check.product(shape.slice(1, axis));
  const inner = check.product(shape.slice(axis + 1));
  notEmpty('x', shape, length * channels * inner);
  const groups = kind === 'instance' ? channels : check.integer('groups', given.groups ?? 1, 1, 2 ** 32 - 1);
  if (channels % groups !== 0) {
    throw new AddnormError(
      'SHAPE_MISMATCH',
      `groups: ${groups} does not divide the ${channels} channels of x ${shapeText(shape)}`,
    );
  }
  const common = commonOf(engine, frame, index, given, [channels], [batch, groups]);
  const { weight, bias, eps, offset, mean, rstd } = common;
  const y = frame.output(shape);
  const outputs = [y.address, mean?.address ?? 0, rstd?.address ?? 0];
  const inputs = [input.address, weight?.address ?? 0, bias?.address ?? 0];
  engine.compute(id, 'an_group_norm_fwd', ...outputs, ...inputs, eps, offset, groups, batch, length, channels, inner);
  return { y, mean, rstd };
}

/**
 * @param {Engine} engine
 * @param {Frame} frame
 * @param {number} index
 * @param {Options} given
 * @param {Operand} input
 * @param {number} axis
 * @returns {Results}
 */
function batchNorm(engine, frame, index, given, input, axis) {
  const [outer, channels, inner] = around(input.shape, axis);
  notEmpty('x', input.shape, channels);
  const common = commonOf(engine, frame, index, given, [channels], [channels]);
  const { weight, bias, eps, offset, mean, rstd } = common;
  const runningMean = frame.optional('runningMean', given.runningMean, [channels]);
  const runningVar = frame.optional('runningVar', given.runningVar, [channels]);
  const training = check.boolean('training', given.training ?? !runningMean);
  const biased = check.boolean('biasedRunningVar', given.biasedRunningVar ?? false);
  const momentum = check.number('momentum', given.momentum ?? 0.1, 0, 1);
  if (!runningMean !== !runningVar || !(runningMean || training)) {
    const there = runningMean ? 'runningMean alone' : runningVar ? 'runningVar alone' : 'none and training: false';
    throw new AddnormError('INVALID_ARGUMENT', `runningMean, runningVar: expected both, got ${there}`);
  }
  if (training && runningMean && runningVar) {
    const others = [input, weight, bias];
    if (
      [runningVar, ...others].some((o) => o && runningMean.overlaps(o)) ||
      others.some((o) => o && runningVar.overlaps(o))
    ) {
      throw new AddnormError('INVALID_ARGUMENT', 'runningMean, runningVar: they are updated and must not share memory');
    }
  }
  const y = frame.output(input.shape);
  // Nothing has no statistics, and the kernel leaves them alone.
  if (y.size === 0) for (const none of [mean, rstd]) if (none) engine.memory.floats(none.address, channels).fill(NaN);
  const outputs = [y.address, mean?.address ?? 0, rstd?.address ?? 0];
  const running = [runningMean?.address ?? 0, runningVar?.address ?? 0];
  const inputs = [input.address, weight?.address ?? 0, bias?.address ?? 0, 0]; // no mask
  const numbers = [eps, momentum, offset, Number(training), Number(biased)];
  engine.compute(
    'batch_norm',
    'an_batch_norm_fwd',
    ...outputs,
    ...running,
    ...inputs,
    ...numbers,
    outer,
    channels,
    inner,
  );
  if (training) {
    runningMean?.writeBack();
    runningVar?.writeBack();
  }
  return { y, mean, rstd };
}
