// @ts-check
// Losses with their gradients. What each option means stands in types.d.ts.
import * as check from './check.js';
import { AddnormError, shapeText } from './errors.js';
import { Frame } from './frame.js';
import { notEmpty, numberOf, without } from './ops.js';
import { Tensor } from './tensor.js';

/** @typedef {import('./engine.js').Engine} Engine */
/** @typedef {import('./frame.js').Operand} Operand */
/** @typedef {Record<string, any>} Options */

const classOptions = ['labelSmoothing', 'ignoreIndex', 'classWeights', 'axis'];

/** @type {(engine: Engine, name: unknown, prediction: unknown, target: unknown, options: unknown) => any} */
export function loss(engine, name, prediction, target, options) {
  const { losses, numbers } = engine.lists;
  const id = losses[numberOf('loss', numbers.loss, name)].name;
  const given = check.options(id, options, id === 'mse' ? ['reduction'] : ['reduction', ...classOptions]);
  const reduction = check.name('reduction', given.reduction ?? 'mean', ['mean', 'sum', 'none']);
  return Frame.run(engine, (frame) => {
    const input = frame.input('prediction', prediction);
    const value = frame.room(8, 'the value');
    // The module's reductions are 0, the mean, and 1: without one, the gradient is that of the sum of the terms.
    const flags = Number(reduction !== 'mean');
    const run = id === 'mse' ? squares : entropy;
    const { terms, gradient } = run(frame, { id, given, input, target, value, flags, each: reduction === 'none' });
    const results = frame.results(input, terms ? { value: terms, gradient } : { gradient });
    return { value: engine.memory.doubles(value, 1)[0], ...results };
  });
}

/**
 * What a loss is of. value: the address of its double; each: whether the terms are wanted.
 * @typedef {{ id: string, given: Options, input: Operand, target: unknown, value: number, flags: number, each: boolean }} Call
 */

/** @type {(frame: Frame, call: Call) => { terms: Operand | null, gradient: Operand }} */
function squares(frame, { id, input, target, value, flags, each }) {
  const wanted = frame.input('target', target, input.shape);
  const terms = each ? frame.output(input.shape) : null;
  const gradient = frame.output(input.shape);
  const outputs = [value, terms?.address ?? 0, gradient.address];
  frame.engine.compute(id, 'an_mse', ...outputs, input.address, wanted.address, flags, input.size);
  return { terms, gradient };
}

/** @type {(frame: Frame, call: Call) => { terms: Operand | null, gradient: Operand }} */
function entropy(frame, { id, given, input, target, value, flags, each }) {
  const { shape, size } = input;
  const axis = check.axis('axis', given.axis ?? -1, shape.length, 'prediction');
  const classes = shape[axis];
  notEmpty('prediction', shape, classes);
  const smoothing = check.number('labelSmoothing', given.labelSmoothing ?? 0, 0, 1);
  const ignored = check.integer('ignoreIndex', given.ignoreIndex ?? -100, -(2 ** 31), 2 ** 31 - 1);
  const weights = frame.optional('classWeights', given.classWeights, [classes]);
  const { labels, soft } = targetOf(frame, target, input, axis, ignored);

  const rows = frame.rows(shape, [axis]);
  const terms = each ? frame.output(without(shape, axis)) : null;
  const gradient = frame.output(rows.shape);
  const outputs = [value, terms?.address ?? 0, gradient.address];
  const targets = [labels, soft ? rows.there(soft).address : 0];
  const inputs = [rows.there(input).address, ...targets, weights?.address ?? 0];
  const kind = id === 'nll' ? flags | 2 : flags;
  const numbers = [smoothing, ignored, kind, size / classes, classes];
  frame.engine.compute(id, 'an_cross_entropy', ...outputs, ...inputs, ...numbers);
  return { terms, gradient: rows.back(gradient) };
}

/**
 * The target: the address of a label for each row, or probabilities in the prediction's shape.
 * @param {Frame} frame
 * @param {unknown} target
 * @param {Operand} prediction
 * @param {number} axis
 * @param {number} ignored
 * @returns {{ labels: number, soft: Operand | null }}
 */
function targetOf(frame, target, { shape }, axis, ignored) {
  const { values, own, floats } = read(frame, target);
  /** @param {readonly number[]} wanted */
  const fits = (wanted) => (own ? shapeText(own) === shapeText(wanted) : values.length === check.product(wanted));
  if (floats && fits(shape)) return { labels: 0, soft: floats };
  const rowShape = without(shape, axis);
  if (!fits(rowShape)) {
    const text = `${shapeText(rowShape)} for labels or ${shapeText(shape)} for probabilities`;
    throw new AddnormError('SHAPE_MISMATCH', `target: expected ${text}, got ${shapeText(own ?? [values.length])}`);
  }
  const labels = labelsOf(values, shape[axis], ignored);
  const address = frame.room(labels.length * 4, 'target');
  frame.memory.words(address, labels.length).set(labels);
  return { labels: address, soft: null };
}

/** @typedef {{ readonly length: number, readonly [index: number]: unknown }} List */

/**
 * What was given as target: its numbers, its shape if it says one, and the operand it is if its numbers are floats.
 * @param {Frame} frame
 * @param {unknown} target
 * @returns {{ values: List, own: readonly number[] | null, floats: Operand | null }}
 */
function read(frame, target) {
  if (isIntegers(target)) return { values: target, own: null, floats: null };
  let given = target;
  if (typeof target === 'object' && target && !(target instanceof Tensor) && 'data' in target && 'shape' in target) {
    // Read once: a getter may give something else the next time.
    const { data, shape } = target;
    if (isIntegers(data)) {
      const own = check.shape('target.shape', shape);
      if (check.product(own) === data.length) return { values: data, own, floats: null };
      const text = `shape ${shapeText(own)} has ${check.product(own)} elements, data has ${data.length}`;
      throw new AddnormError('SHAPE_MISMATCH', `target: ${text}`);
    }
    given = { data, shape };
  }
  const floats = frame.input('target', given);
  return { values: floats.numbers, own: ArrayBuffer.isView(given) ? null : floats.shape, floats };
}

/**
 * True for an array, and for a typed array of integers of any realm.
 * @param {unknown} value
 * @returns {value is List}
 */
function isIntegers(value) {
  return (
    Array.isArray(value) || (ArrayBuffer.isView(value) && /int/i.test(/** @type {any} */ (value)[Symbol.toStringTag]))
  );
}

/**
 * @param {List} values
 * @param {number} classes
 * @param {number} ignored
 */
function labelsOf(values, classes, ignored) {
  return Int32Array.from(values, (value, i) => {
    const label = /** @type {number} */ (typeof value === 'bigint' ? Number(value) : value);
    if (label === ignored || (Number.isInteger(label) && label >= 0 && label < classes)) return label;
    throw check.invalid(`target[${i}]`, value, `a label from 0 to ${classes - 1}, or ignoreIndex ${ignored}`);
  });
}
