// @ts-check
// Element-wise operations, softmax and linear. What each does for its caller stands in index.js.
import * as check from './check.js';
import { AddnormError, describe, shapeText, suggestion } from './errors.js';
import { Frame } from './frame.js';

/** @typedef {import('./engine.js').Engine} Engine */

/** The gated linear units by their own names (Shazeer 2020), and the activation of their gate. */
export const gluAliases = Object.freeze({
  glu: 'sigmoid',
  bilinear: 'identity',
  reglu: 'relu',
  geglu: 'gelu_erf',
  swiglu: 'silu',
});

/**
 * The number that a name has in the module.
 * @param {string} what
 * @param {ReadonlyMap<string, number>} numbers
 * @param {unknown} value a name or alias
 * @param {Readonly<Record<string, string>>} [more] further aliases
 * @returns {number}
 */
export function numberOf(what, numbers, value, more = {}) {
  if (typeof value !== 'string') throw check.invalid(what, value, 'a name');
  const number = numbers.get(Object.hasOwn(more, value) ? more[value] : value);
  if (number !== undefined) return number;
  const known = [...numbers.keys(), ...Object.keys(more)];
  throw new AddnormError('UNKNOWN_NAME', `${what}: unknown name ${describe(value)}; ${suggestion(value, known)}`);
}

/**
 * An activation's index and parameters, as the module takes them.
 * @param {Engine} engine
 * @param {string} what
 * @param {unknown} name
 * @param {unknown} params
 * @param {Readonly<Record<string, string>>} [aliases]
 * @returns {[index: number, p0: number, p1: number]}
 */
function activationOf(engine, what, name, params, aliases) {
  const index = numberOf(what, engine.lists.numbers.activation, name, aliases);
  const known = engine.lists.activations[index].params;
  const given = check.options(
    'params',
    params,
    known.map((param) => param.name),
    'parameter',
  );
  const values = known.map((param) => check.float(`params.${param.name}`, given[param.name] ?? param.default));
  for (const [i, param] of known.entries()) {
    const expected = outsideDomain(engine, index, i, values[i]);
    if (expected) throw check.invalid(`params.${param.name}`, values[i], expected);
  }
  const [p0 = 0, p1 = 0] = values;
  return [index, p0, p1];
}

/**
 * What is expected of an activation's parameter, or null if the value is in its domain. The module knows the domain: it
 * is asked with no elements.
 * @param {Engine} engine
 * @param {number} index of the activation
 * @param {number} which 0 or 1
 * @param {number} value
 */
export function outsideDomain(engine, index, which, value) {
  /** @param {number} probe */
  const takes = (probe) => {
    const values = engine.lists.activations[index].params.map((param) => param.default);
    values[which] = probe;
    return engine.memory.call('an_activation_fwd', 0, 0, 0, index, values[0] ?? 0, values[1] ?? 0) === 0;
  };
  if (takes(value)) return null;
  return takes(-1) ? 'a number other than 0, of at least 2^-126 in size' : 'a positive number, at least 2^-126';
}

/** @type {(engine: Engine, data: unknown, shape: unknown) => import('./tensor.js').Tensor} */
export function tensor(engine, data, shape) {
  return Frame.run(engine, (frame) => {
    const input = frame.input('data', data);
    const sizes = shape === undefined || shape === null ? input.shape : check.shape('shape', shape);
    if (check.product(sizes) !== input.size) {
      const text = `${shapeText(sizes)} has ${check.product(sizes)} elements, data has ${input.size}`;
      throw new AddnormError('SHAPE_MISMATCH', `shape: ${text}`);
    }
    const result = frame.output(sizes, 'the tensor');
    input.copyTo(result.address);
    return frame.adopt(result);
  });
}

/** @type {(engine: Engine, shape: unknown) => import('./tensor.js').Tensor} */
export function zeros(engine, shape) {
  const sizes = check.shape('shape', shape);
  return Frame.run(engine, (frame) => {
    const result = frame.output(sizes, 'the tensor');
    engine.memory.floats(result.address, result.size).fill(0);
    return frame.adopt(result);
  });
}

/** @type {(engine: Engine, name: unknown, x: unknown, params: unknown) => any} */
export function activation(engine, name, x, params) {
  const act = activationOf(engine, 'activation', name, params);
  return Frame.run(engine, (frame) => {
    const input = frame.input('x', x);
    const y = frame.output(input.shape);
    engine.compute('activation', 'an_activation_fwd', y.address, input.address, y.size, ...act);
    return frame.results(input, { y }).y;
  });
}

/** @type {(engine: Engine, name: unknown, gate: unknown, up: unknown, params: unknown) => any} */
export function glu(engine, name, gate, up, params) {
  const act = activationOf(engine, 'glu', name, params, gluAliases);
  return Frame.run(engine, (frame) => {
    const g = frame.input('gate', gate);
    const u = frame.input('up', up, g.shape);
    const y = frame.output(g.shape);
    engine.compute('glu', 'an_glu_fwd', y.address, g.address, u.address, y.size, ...act);
    return frame.results(g, { y }).y;
  });
}

/** @type {(engine: Engine, x: unknown, options: unknown) => any} */
export function softmax(engine, x, options) {
  const given = check.options('options', options, ['axis', 'log', 'maskedRow']);
  const log = check.boolean('log', given.log ?? false);
  const masked = check.name('maskedRow', given.maskedRow ?? 'nan', ['nan', 'zero']);
  return Frame.run(engine, (frame) => {
    const input = frame.input('x', x);
    const [outer, n, inner] = around(input.shape, check.axis('axis', given.axis ?? -1, input.shape.length));
    notEmpty('x', input.shape, n);
    const y = frame.output(input.shape);
    const flags = Number(log) | (masked === 'zero' ? 2 : 0);
    engine.compute('softmax', 'an_softmax_fwd', y.address, input.address, outer, n, inner, flags);
    return frame.results(input, { y }).y;
  });
}

/** @type {(engine: Engine, x: unknown, y: unknown, options: unknown) => any} */
export function add(engine, x, y, options) {
  const given = check.options('options', options, ['alpha']);
  const alpha = check.float('alpha', given.alpha ?? 1);
  return Frame.run(engine, (frame) => {
    const a = frame.input('x', x);
    const b = frame.input('y', y, a.shape);
    const sum = frame.output(a.shape);
    engine.compute('add', 'an_add_fwd', sum.address, a.address, b.address, alpha, sum.size);
    return frame.results(a, { sum }).sum;
  });
}

/** @type {(engine: Engine, x: unknown, weight: unknown, options: unknown) => any} */
export function linear(engine, x, weight, options) {
  const given = check.options('options', options, ['bias', 'activation', 'params', 'layout']);
  const layout = check.name('layout', given.layout ?? 'out_in', ['out_in', 'in_out']);
  const act = activationOf(engine, 'activation', given.activation ?? 'identity', given.params);
  return Frame.run(engine, (frame) => {
    const input = frame.input('x', x);
    const w = frame.input('weight', weight);
    if (input.shape.length === 0) throw new AddnormError('SHAPE_MISMATCH', 'x: expected [..., in], got []');
    const inSize = input.shape[input.shape.length - 1];
    const [inAxis, outAxis] = layout === 'out_in' ? [1, 0] : [0, 1];
    if (w.shape.length !== 2 || w.shape[inAxis] !== inSize) {
      const expected = layout === 'out_in' ? `[out, ${inSize}]` : `[${inSize}, out]`;
      const other = layout === 'out_in' ? 'in_out' : 'out_in';
      const hint =
        w.shape.length === 2 && w.shape[outAxis] === inSize ? `; for that order pass layout: '${other}'` : '';
      throw new AddnormError('SHAPE_MISMATCH', `weight: expected ${expected}, got ${shapeText(w.shape)}${hint}`);
    }
    const outSize = w.shape[outAxis];
    const bias = frame.optional('bias', given.bias, [outSize]);
    const shape = check.shape('the result', [...input.shape.slice(0, -1), outSize]);
    const y = frame.output(shape);
    const rows = check.product(input.shape.slice(0, -1));
    const bytes = engine.memory.call('an_linear_packed_bytes', inSize, outSize) >>> 0;
    const packed = frame.room(bytes, 'the packed weight');
    engine.compute('linear', 'an_linear_pack', packed, w.address, layout === 'out_in' ? 0 : 1, inSize, outSize);
    engine.compute(
      'linear',
      'an_linear_fwd',
      y.address,
      input.address,
      packed,
      bias?.address ?? 0,
      ...act,
      rows,
      inSize,
      outSize,
    );
    return frame.results(input, { y }).y;
  });
}

/**
 * The sizes before, at and after an axis.
 * @param {readonly number[]} shape
 * @param {number} axis
 * @returns {[outer: number, n: number, inner: number]}
 */
export function around(shape, axis) {
  return [check.product(shape.slice(0, axis)), shape[axis], check.product(shape.slice(axis + 1))];
}

/**
 * @param {string} what
 * @param {readonly number[]} shape
 * @param {number} n
 */
export function notEmpty(what, shape, n) {
  if (n === 0) {
    throw new AddnormError(
      'SHAPE_MISMATCH',
      `${what}: ${shapeText(shape)} has no element along the axes of the operation`,
    );
  }
}
