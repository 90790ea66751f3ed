// @ts-check
// Losses with their gradients. What each option means stands in types.d.ts.
import * as check from './check.js';
import { isPlain, mismatch, shapeText } from './errors.js';
import { Frame } from './frame.js';
import { notEmpty, numberOf, without } from './ops.js';
import { fits } from './tensor.js';

/** @typedef {import('./engine.js').Engine} Engine */
/** @typedef {import('./frame.js').Operand} Operand */
/**
 * How a loss is computed. shape: that of its terms; rows: how the prediction lies for the kernel; inputs: what this takes
 * after the results.
 * @typedef {{ kernel: string, shape: readonly number[], rows: ReturnType<Frame['rows']>,
 *   inputs: (number | Operand | null)[] }} Plan
 */

/** @type {Record<string, check.Check>} */
const common = { reduction: ['mean', 'sum', 'none'] };
/** @type {typeof common} */
const ofClasses = {
  ...common,
  labelSmoothing: check.between(0, 1),
  ignoreIndex: (what, value) => check.integer(what, value, -(2 ** 31), 2 ** 31 - 1),
  classWeights: null,
  axis: null,
};

/** @type {(engine: Engine, name: unknown, prediction: unknown, target: unknown, options: unknown) => any} */
export function loss(engine, name, prediction, target, options) {
  const { losses, numbers } = engine.lists;
  const id = losses[numberOf('loss', numbers.loss, name)].name;
  const [known, planOf] = id === 'mse' ? [common, squares] : [ofClasses, entropy];
  const { reduction = 'mean', ...given } = check.options(id, options, known);
  return Frame.run(engine, (frame) => {
    const input = frame.input('prediction', prediction);
    const value = frame.room(8);
    // The module's reductions are 0, the mean, and 1: without one, the gradient is that of the sum of the terms.
    const flags = Number(reduction !== 'mean') | (id === 'nll' ? 2 : 0);
    const { kernel, shape, rows, inputs } = planOf(frame, input, target, flags, given);
    const terms = reduction === 'none' ? frame.output(shape) : null;
    const gradient = frame.output(rows.shape);
    engine.compute(kernel, value, terms, gradient, ...inputs);
    const results = frame.results(input, { value: terms, gradient: rows.back(gradient) });
    return { value: engine.memory.doubles(value, 1)[0], ...results };
  });
}

/** @type {(frame: Frame, input: Operand, target: unknown, flags: number, given: Record<string, any>) => Plan} */
function squares(frame, input, target, flags) {
  const { shape, size } = input;
  const inputs = [input, frame.input('target', target, shape), flags, size];
  return { kernel: 'an_mse', shape, rows: frame.rows(shape, []), inputs };
}

/** @type {(frame: Frame, input: Operand, target: unknown, flags: number, given: Record<string, any>) => Plan} */
function entropy(frame, input, target, flags, { labelSmoothing = 0, ignoreIndex = -100, ...given }) {
  const { shape, size } = input;
  const axis = check.axis('axis', given.axis ?? -1, shape.length, 'prediction');
  const classes = shape[axis];
  notEmpty('prediction', shape, classes);
  const weights = frame.optional('classWeights', given.classWeights, [classes]);
  const { labels, soft } = targetOf(frame, target, input, axis, ignoreIndex);
  const rows = frame.rows(shape, [axis]);
  const numbers = [labelSmoothing, ignoreIndex, flags, size / classes, classes];
  const inputs = [rows.there(input), labels, rows.there(soft), weights, ...numbers];
  return { kernel: 'an_cross_entropy', shape: without(shape, axis), rows, inputs };
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
  const { values, own, soft } = read(frame, target);
  if (soft && fits(shape, values, own)) return { labels: 0, soft };
  const rowShape = without(shape, axis);
  if (!fits(rowShape, values, own)) {
    const text = `${shapeText(rowShape)} for labels or ${shapeText(shape)} for probabilities`;
    throw mismatch('target', text, own ?? [values.length]);
  }
  const labels = labelsOf(values, check.product(rowShape), shape[axis], ignored);
  const address = frame.room(labels.length * 4, 'target');
  frame.memory.words(address, labels.length).set(labels);
  return { labels: address, soft: null };
}

/** @typedef {{ readonly length: number, readonly [index: number]: unknown }} List */

/**
 * What was given as target: its numbers, its shape if it says one, and the operand it is if its numbers are floats.
 * @param {Frame} frame
 * @param {unknown} target
 * @returns {{ values: List, own: readonly number[] | null, soft: Operand | null }}
 */
function read(frame, target) {
  if (isIntegers(target)) return { values: target, own: null, soft: null };
  let given = target;
  if (isPlain(target) && 'data' in target && 'shape' in target) {
    // Read once: a getter may give something else the next time.
    const { data, shape } = target;
    if (isIntegers(data)) {
      const own = check.shape('target.shape', shape);
      check.fills('target: shape', own, data.length);
      return { values: data, own, soft: null };
    }
    given = { data, shape };
  }
  const soft = frame.input('target', given);
  return { values: soft.numbers, own: ArrayBuffer.isView(given) ? null : soft.shape, soft };
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
 * @param {number} length how many the kernel reads, whatever the list has become
 * @param {number} classes
 * @param {number} ignored
 */
function labelsOf(values, length, classes, ignored) {
  return Int32Array.from({ length }, (_, i) => {
    const value = values[i];
    const label = /** @type {number} */ (typeof value === 'bigint' ? Number(value) : value);
    if (label === ignored || (Number.isInteger(label) && label >= 0 && label < classes)) return label;
    throw check.invalid(`target[${i}]`, value, `a label from 0 to ${classes - 1}, or ignoreIndex ${ignored}`);
  });
}
