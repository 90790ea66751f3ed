// @ts-check
import { shape as checkShape, detached, fills, invalid, product } from './check.js';
import { Engine } from './engine.js';
import { AddnormError, mismatch, shapeText } from './errors.js';

/**
 * The address of a tensor's data, for this package's other files.
 * @type {(tensor: Tensor, engine: Engine, what: string) => number}
 */
export let addressOf;

/**
 * True for a real Tensor: not for a Proxy of one, nor for what only has its prototype.
 * @type {(value: unknown) => value is Tensor}
 */
export let isTensor;

/**
 * Disposes a module's tensor, which its own dispose() refuses. The memory is the module's to free.
 * @type {(tensor: Tensor) => void}
 */
export let release;

/**
 * Says that a tensor's numbers are others now, for the module that it may belong to.
 * @type {(tensor: Tensor) => void}
 */
export let changed;

/**
 * float32 numbers in an instance's memory, row-major. Made by `an.tensor`, `an.zeros` and every operation; freed by
 * `dispose()`, by `using`, or at the end of an `an.scope`.
 *
 * ```js
 * const t = an.zeros([2, 3]);
 * t.data[0] = 1; // in place
 * t.set(Float32Array.of(1, 2, 3, 4, 5, 6));
 * console.log(t.size, t.toArray()[5]); // prints `6 6`
 * t.dispose();
 * ```
 */
export class Tensor {
  #engine;
  #pointer;
  #shape;
  #owner;
  #disposed = false;

  static {
    addressOf = (tensor, engine, what) => {
      if (tensor.#engine !== engine) {
        throw new AddnormError('WRONG_INSTANCE', `${what}: this tensor belongs to another instance of addnorm`);
      }
      return tensor.#address(what);
    };
    isTensor = /** @type {typeof isTensor} */ (
      (value) => typeof value === 'object' && value !== null && #engine in value
    );
    release = (tensor) => {
      tensor.#disposed = true;
    };
    changed = (tensor) => tensor.#owner?.();
  }

  /**
   * For this package only: it takes over memory that is already allocated.
   * @hideconstructor
   * @param {Engine} engine
   * @param {number} pointer
   * @param {readonly number[]} shape
   * @param {(() => void) | null} [owner] of a module's tensor, which lies in memory of the module: called after set()
   */
  constructor(engine, pointer, shape, owner = null) {
    this.#engine = Engine.of(engine, 'Tensor: made by an.tensor(data, shape)');
    this.#pointer = pointer;
    this.#shape = shape;
    this.#owner = owner;
    if (!owner) engine.track(this, [pointer]);
  }

  /** @param {string} what */
  #address(what) {
    if (this.#disposed) throw new AddnormError('DISPOSED', `${what}: this tensor has been disposed`);
    return this.#pointer;
  }

  /** The sizes of the axes. @returns {readonly number[]} */
  get shape() {
    return this.#shape;
  }

  /** The number of elements. @returns {number} */
  get size() {
    return product(this.#shape);
  }

  /**
   * The numbers in place: a fresh view of the instance's memory, for reading and writing without a copy. It is dead
   * (its length is 0) as soon as anything is allocated in the instance, so use it at once and never keep it.
   * @returns {Float32Array}
   */
  get data() {
    return this.#engine.memory.floats(this.#address('data'), this.size);
  }

  /** A copy of the numbers. @returns {Float32Array} */
  toArray() {
    return copyOf(this.data);
  }

  /**
   * Replaces the numbers.
   * @param {import('./types.js').TensorLike} data as many numbers; a Tensor or `{ data, shape }` must have this shape
   * @returns {this}
   */
  set(data) {
    this.#address('data');
    const source = numbersOf(data, 'data');
    if (!fits(this.#shape, source.data, source.shape)) {
      throw mismatch('data', shapeText(this.#shape), source.shape ?? [source.data.length]);
    }
    // A view made now: a getter of data may have grown the memory, or disposed this tensor.
    this.data.set(source.data);
    this.#owner?.();
    return this;
  }

  /** Frees the memory. More than once is fine; using the tensor afterwards is an error with code `DISPOSED`. */
  dispose() {
    if (this.#disposed) return;
    if (this.#owner) {
      throw new AddnormError(
        'INVALID_ARGUMENT',
        'dispose: this tensor is a parameter or gradient; dispose the module it belongs to',
      );
    }
    release(this);
    this.#engine.memory.free(this.#pointer);
    this.#engine.untrack(this);
  }

  /** For `using`: dispose(). */
  [Symbol.dispose]() {
    this.dispose();
  }

  /** For Object.prototype.toString. */
  get [Symbol.toStringTag]() {
    return 'Tensor';
  }
}

/**
 * @param {Float32Array} numbers
 * @returns {Float32Array}
 */
export function copyOf(numbers) {
  try {
    return numbers.slice();
  } catch (cause) {
    throw new AddnormError('OUT_OF_MEMORY', `the engine gives no array of ${numbers.length} numbers`, { cause });
  }
}

/**
 * True for a Float32Array of any realm.
 * @param {unknown} value
 * @returns {value is Float32Array}
 */
function isFloats(value) {
  return ArrayBuffer.isView(value) && /** @type {any} */ (value)[Symbol.toStringTag] === 'Float32Array';
}

/**
 * The numbers and shape of whatever is taken for a tensor; a plain Float32Array has no shape.
 * @param {unknown} value
 * @param {string} what
 * @returns {{ data: Float32Array, shape: readonly number[] | null }}
 */
export function numbersOf(value, what) {
  if (isTensor(value)) return { data: value.data, shape: value.shape };
  if (isFloats(value)) return { data: attached(value, what), shape: null };
  if (value instanceof Tensor || value === Tensor.prototype) {
    throw new AddnormError('INVALID_ARGUMENT', `${what}: expected a Tensor, got a Proxy of one: pass what it wraps`);
  }
  if (typeof value === 'object' && value !== null && 'data' in value && 'shape' in value) {
    // Read once: a getter may give something else the next time.
    const { data, shape } = value;
    if (isFloats(data)) {
      const sizes = checkShape(`${what}.shape`, shape);
      fills(`${what}: shape`, sizes, attached(data, `${what}.data`).length);
      return { data, shape: sizes };
    }
  }
  throw invalid(what, value, 'a Tensor, a Float32Array or { data: Float32Array, shape }');
}

/**
 * @param {readonly number[]} a
 * @param {readonly number[]} b
 */
export const sameShape = (a, b) => a.length === b.length && a.every((size, axis) => size === b[axis]);

/**
 * True if numbers are of a shape: by their own, or by their count where they have none.
 * @param {readonly number[]} wanted
 * @param {ArrayLike<unknown>} data
 * @param {readonly number[] | null} own
 */
export function fits(wanted, data, own) {
  return own ? sameShape(own, wanted) : data.length === product(wanted);
}

/**
 * An array whose buffer is detached, or has shrunk below its end, looks empty. Most often it is a Tensor's `data` that
 * was kept for too long.
 * @param {Float32Array} array
 * @param {string} what
 */
function attached(array, what) {
  // Not by its length, which code that V8 11 has optimised takes for what it was before.
  if (array.byteLength > 0) return array;
  try {
    array.keys();
  } catch {
    throw detached(what);
  }
  return array;
}
