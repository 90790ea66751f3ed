// @ts-check
// Element-wise operations, softmax and linear. What each does for its caller stands in core.js.
import * as check from './check.js';
import { AddnormError, mismatch, shapeText } from './errors.js';
import { Frame } from './frame.js';

/** @typedef {import('./engine.js').Engine} Engine */
/** @typedef {import('./frame.js').Operand} Operand */
/** @typedef {[index: number, p0: number, p1: number]} Activation as the module takes it */
/**
 * A linear layer's operands. shape: the result's.
 * @typedef {{ input: Operand, w: Operand, bias: Operand | null, act: Activation, inOut: boolean,
 *   shape: readonly number[], sizes: [rows: number, inSize: number, outSize: number] }} Linear
 */

/**
 * The gated linear units by their own names (Shazeer 2020), and the activation of their gate.
 * @type {Readonly<Record<string, string>>}
 */
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
  if (typeof value === 'string') {
    const number = numbers.get(more[value] ?? value);
    if (number !== undefined) return number;
    const unit = value.toLowerCase();
    const gate = gluAliases[unit];
    if (numbers.has(gate) && more !== gluAliases) {
      const text = `a gated FFN has activation: '${gate}', gated: true; the operation is an.glu('${unit}', gate, up)`;
      throw new AddnormError('UNKNOWN_NAME', `${what}: unknown name '${value}'; ${text}`);
    }
  }
  throw check.unknown(what, value, [...numbers.keys(), ...Object.keys(more)], 'UNKNOWN_NAME');
}

/**
 * An activation's index and parameters, as the module takes them.
 * @param {Engine} engine
 * @param {string} what
 * @param {unknown} name
 * @param {unknown} params
 * @param {Readonly<Record<string, string>>} [aliases]
 * @returns {Activation}
 */
function activationOf(engine, what, name, params, aliases) {
  const index = numberOf(what, engine.lists.numbers.activation, name, aliases);
  const known = engine.lists.activations[index].params;
  const given = check.options('params', params, known.map(String), 'parameter', 'params.');
  const [p0 = 0, p1 = 0] = known.map((param, i) => {
    const value = given[param.name];
    if (value === undefined) return param.default;
    const what = `params.${param.name}`;
    const expected = outsideDomain(engine, index, i, check.float(what, value));
    if (expected) throw check.invalid(what, value, expected);
    return value;
  });
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
    check.fills('shape:', sizes, input.size);
    return made(frame, sizes, (result) => input.copyTo(result.address));
  });
}

/** @type {(engine: Engine, shape: unknown) => import('./tensor.js').Tensor} */
export function zeros(engine, shape) {
  const sizes = check.shape('shape', shape);
  return Frame.run(engine, (frame) => made(frame, sizes, ({ numbers }) => numbers.fill(0)));
}

/**
 * A tensor for the caller.
 * @param {Frame} frame
 * @param {readonly number[]} shape
 * @param {(result: Operand) => void} fill
 */
function made(frame, shape, fill) {
  const result = frame.output(shape, 'the tensor');
  fill(result);
  return frame.adopt(result);
}

/**
 * An operation whose operands and results have one shape.
 * @param {Engine} engine
 * @param {string} kernel what it is called in the module: it takes results, operands and numbers
 * @param {Record<string, unknown>} operands by the names of the arguments
 * @param {(first: Operand) => number[]} numbers
 * @param {readonly string[]} [names] of the results, where there are several
 */
function alike(engine, kernel, operands, numbers, names) {
  return Frame.run(engine, (frame) => {
    const inputs = frame.alike(operands);
    const [first] = inputs;
    const rest = numbers(first);
    const results = (names ?? ['']).map(() => frame.output(first.shape));
    engine.compute(kernel, ...results, ...inputs, ...rest);
    if (!names) return frame.result(first, results[0]);
    return Object.fromEntries(names.map((name, i) => [name, frame.result(first, results[i])]));
  });
}

/** @type {(engine: Engine, name: unknown, x: unknown, params: unknown) => any} */
export function activation(engine, name, x, params) {
  const act = activationOf(engine, 'activation', name, params);
  return alike(engine, 'an_activation_fwd', { x }, ({ size }) => [size, ...act]);
}

/** @type {(engine: Engine, name: unknown, x: unknown, dy: unknown, params: unknown) => any} */
export function activationBackward(engine, name, x, dy, params) {
  const act = activationOf(engine, 'activation', name, params);
  return alike(engine, 'an_activation_bwd', { x, dy }, ({ size }) => [size, ...act]);
}

/** @type {(engine: Engine, name: unknown, gate: unknown, up: unknown, params: unknown) => any} */
export function glu(engine, name, gate, up, params) {
  const act = activationOf(engine, 'glu', name, params, gluAliases);
  return alike(engine, 'an_glu_fwd', { gate, up }, ({ size }) => [size, ...act]);
}

/** @type {(engine: Engine, name: unknown, gate: unknown, up: unknown, dy: unknown, params: unknown) => any} */
export function gluBackward(engine, name, gate, up, dy, params) {
  const act = activationOf(engine, 'glu', name, params, gluAliases);
  return alike(engine, 'an_glu_bwd', { gate, up, dy }, ({ size }) => [size, ...act], ['dGate', 'dUp']);
}

/** @type {(engine: Engine, x: unknown, options: unknown) => any} */
export function softmax(engine, x, options) {
  return alike(engine, 'an_softmax_fwd', { x }, softmaxOf(options));
}

/** @type {(engine: Engine, y: unknown, dy: unknown, options: unknown) => any} */
export function softmaxBackward(engine, y, dy, options) {
  return alike(engine, 'an_softmax_bwd', { y, dy }, softmaxOf(options));
}

const softmaxOptions = { axis: null, log: check.boolean, maskedRow: ['nan', 'zero'] };

/**
 * Softmax's options: a function that gives what its kernels take besides the data.
 * @param {unknown} options
 * @returns {(operand: Operand) => [outer: number, n: number, inner: number, flags: number]}
 */
function softmaxOf(options) {
  const { axis = -1, log = false, maskedRow } = check.options('options', options, softmaxOptions);
  return ({ what, shape }) => {
    const sizes = around(shape, check.axis('axis', axis, shape.length, what));
    notEmpty(what, shape, sizes[1]);
    return [...sizes, Number(log) | (maskedRow === 'zero' ? 2 : 0)];
  };
}

const addOptions = { alpha: check.float };

/** @param {unknown} options */
const alphaOf = (options) => check.options('options', options, addOptions).alpha ?? 1;

/** @type {(engine: Engine, x: unknown, y: unknown, options: unknown) => any} */
export function add(engine, x, y, options) {
  const alpha = alphaOf(options);
  return alike(engine, 'an_add_fwd', { x, y }, ({ size }) => [alpha, size]);
}

/** @type {(engine: Engine, dOut: unknown, options: unknown) => any} */
export function addBackward(engine, dOut, options) {
  const alpha = alphaOf(options);
  return alike(engine, 'an_add_bwd', { dOut }, ({ size }) => [alpha, size], ['dx', 'dy']);
}

const sequence = { seed: check.word, stream: check.word };

/** @type {(engine: Engine, x: unknown, p: unknown, options: unknown) => any} */
export function dropout(engine, x, p, options) {
  const { seed = 0, stream = 0 } = check.options('options', options, sequence);
  const share = check.number('p', p, 0, 1);
  if (share === 1) throw check.invalid('p', p, 'a probability below 1');
  return alike(engine, 'an_dropout', { x }, ({ size }) => [share, seed, stream, size]);
}

/** @type {(engine: Engine, x: unknown, weight: unknown, options: unknown) => any} */
export function linear(engine, x, weight, options) {
  return Frame.run(engine, (frame) => {
    const args = linearOf(frame, x, weight, options);
    return frame.result(args.input, linearForward(frame, args, args.act));
  });
}

/** @type {(engine: Engine, x: unknown, weight: unknown, dy: unknown, options: unknown) => any} */
export function linearBackward(engine, x, weight, dy, options) {
  return Frame.run(engine, (frame) => {
    const args = linearOf(frame, x, weight, options);
    const { input, w, act, inOut, shape, sizes } = args;
    const [rows, inSize, outSize] = sizes;
    let gradient = frame.input('dy', dy, shape);
    const none = activationOf(engine, 'activation', 'identity', null);
    if (act[0] !== none[0]) {
      // Through the activation first, in the place of the values before it.
      const before = linearForward(frame, args, none);
      engine.compute('an_activation_bwd', before, before, gradient, before.size, ...act);
      gradient = before;
    }
    const results = {
      dx: frame.output(input.shape),
      dWeight: frame.filled(w.shape, 0),
      dBias: frame.filled([outSize], 0),
    };
    const packed = pack(frame, w, !inOut, outSize, inSize);
    const bytes = engine.memory.call('an_linear_bwd_workspace_bytes', rows, inSize, outSize) >>> 0;
    const inputs = [input, gradient, packed, frame.room(bytes, 'the workspace'), bytes, inOut];
    engine.compute('an_linear_bwd', ...Object.values(results), ...inputs, ...sizes);
    return frame.results(input, results);
  });
}

/**
 * A linear layer's operands and sizes.
 * @param {Frame} frame
 * @param {unknown} x
 * @param {unknown} weight
 * @param {unknown} options
 * @returns {Linear}
 */
function linearOf(frame, x, weight, options) {
  const layouts = ['out_in', 'in_out'];
  const given = check.options('options', options, { bias: null, activation: null, params: null, layout: layouts });
  const inOut = given.layout === layouts[1];
  const act = activationOf(frame.engine, 'activation', given.activation ?? 'identity', given.params);
  const input = frame.input('x', x);
  const w = frame.input('weight', weight);
  if (input.shape.length === 0) throw mismatch('x', '[..., in]', []);
  const leading = input.shape.slice(0, -1);
  const inSize = input.shape[leading.length];
  const [outAxis, inAxis] = inOut ? [1, 0] : [0, 1];
  if (w.shape.length !== 2 || w.shape[inAxis] !== inSize) {
    const turned = w.shape.length === 2 && w.shape[outAxis] === inSize;
    const hint = turned ? `; for that order pass layout: '${layouts[inAxis]}'` : '';
    throw mismatch('weight', inOut ? `[${inSize}, out]` : `[out, ${inSize}]`, w.shape, hint);
  }
  const outSize = w.shape[outAxis];
  const bias = frame.optional('bias', given.bias, [outSize]);
  const shape = check.shape('the result', [...leading, outSize]);
  return { input, w, bias, act, inOut, shape, sizes: [check.product(leading), inSize, outSize] };
}

/**
 * @param {Frame} frame
 * @param {Linear} args
 * @param {Activation} act in place of the layer's own
 */
function linearForward(frame, { input, w, bias, inOut, shape, sizes }, act) {
  const y = frame.output(shape);
  const packed = pack(frame, w, inOut, sizes[1], sizes[2]);
  frame.engine.compute('an_linear_fwd', y, input, packed, bias, ...act, ...sizes);
  return y;
}

/**
 * @param {Frame} frame
 * @param {Operand} weight
 * @param {boolean} inOut its layout
 * @param {number} inSize
 * @param {number} outSize
 * @returns {number} the address of the weight as the kernels read it
 */
function pack(frame, weight, inOut, inSize, outSize) {
  const bytes = frame.memory.call('an_linear_packed_bytes', inSize, outSize) >>> 0;
  const packed = frame.room(bytes, 'the packed weight');
  frame.engine.compute('an_linear_pack', packed, weight, inOut, inSize, outSize);
  return packed;
}

/**
 * The distributions in the module's order: their two numbers, with defaults.
 * @type {Record<string, Record<string, number>>}
 */
const distributions = { uniform: { low: 0, high: 1 }, normal: { mean: 0, std: 1 } };

/** @type {(engine: Engine, shape: unknown, options: unknown) => import('./tensor.js').Tensor} */
export function random(engine, shape, options) {
  const sizes = check.shape('shape', shape);
  const kinds = Object.keys(distributions);
  const numbers = { low: check.float, high: check.float, mean: check.float, std: check.float };
  const table = { distribution: kinds, ...sequence, ...numbers };
  const { distribution = 'normal', seed = 0, stream = 0, ...given } = check.options('options', options, table);
  const defaults = distributions[distribution];
  const names = Object.keys(defaults);
  const [a, b] = Object.values({ ...defaults, ...check.options(distribution, given, names) });
  check.number(names[1], b, distribution === 'normal' ? 0 : a);
  return Frame.run(engine, (frame) =>
    made(frame, sizes, (result) => {
      engine.compute('an_random', result, result.size, kinds.indexOf(distribution), a, b, seed, stream);
    }),
  );
}

/**
 * A shape without one axis.
 * @param {readonly number[]} shape
 * @param {number} axis
 */
export function without(shape, axis) {
  return shape.filter((_, i) => i !== axis);
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
