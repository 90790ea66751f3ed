// @ts-check
// One operation's operands: checked first, copied in when their address is asked for, freed at the end in any case.
import { detached, product } from './check.js';
import { mismatch, shapeText } from './errors.js';
import { addressOf, changed, copyOf, fits, isTensor, numbersOf, Tensor } from './tensor.js';

/** @typedef {import('./engine.js').Engine} Engine */

/** Numbers that a kernel reads or writes. */
export class Operand {
  #frame;
  /** @type {Float32Array | null} */
  #source = null;
  #address = 0;

  /**
   * @param {Frame} frame
   * @param {string} what
   * @param {readonly number[]} shape
   * @param {number | Float32Array | null} from its address, or the numbers to copy in, or null for room
   * @param {Tensor | null} [tensor]
   */
  constructor(frame, what, shape, from, tensor = null) {
    this.#frame = frame;
    this.what = what;
    this.shape = shape;
    this.size = product(shape);
    this.tensor = tensor;
    if (typeof from === 'number') this.#address = from;
    else this.#source = from;
  }

  /** Its address. The first time it may allocate, so views that were made before are dead then. */
  get address() {
    // Asked for anew: a getter of a later argument may have disposed it.
    if (this.tensor) return addressOf(this.tensor, this.#frame.engine, this.what);
    if (this.#address === 0 && this.size > 0) {
      this.#address = this.#frame.room(this.size * 4, this.what);
      if (this.#source) this.#frame.memory.floats(this.#address, this.size).set(this.#given(this.#source));
    }
    return this.#address;
  }

  /** The numbers, to be read at once: most often a view, which the next allocation ends. */
  get numbers() {
    return this.#source ? this.#given(this.#source) : this.#frame.memory.floats(this.address, this.size);
  }

  /**
   * An array that was given, if it is still what it was: a getter of a later argument may have detached or resized it.
   * Not by its length, which code that V8 11 has optimised takes for what it was before.
   * @param {Float32Array} source
   */
  #given(source) {
    if (source.byteLength === this.size * 4) return source;
    throw detached(this.what);
  }

  /**
   * Copies the numbers to an address, without another copy in between.
   * @param {number} address
   */
  copyTo(address) {
    this.#frame.memory.floats(address, this.size).set(this.numbers);
  }

  /** The same numbers in memory of the frame's own. */
  copy() {
    const copy = this.#frame.output(this.shape, this.what);
    this.copyTo(copy.address);
    return copy;
  }

  /** Copies the numbers back to where they came from, after a kernel has updated them in place. */
  writeBack() {
    this.#source?.set(this.#frame.memory.floats(this.#address, this.size));
    if (this.tensor) changed(this.tensor);
  }

  /**
   * True if both lie on common memory, in the instance or outside.
   * @param {unknown} other
   */
  overlaps(other) {
    if (!(other instanceof Operand) || this.size * other.size === 0) return false;
    const [a, b] = [this.#place, other.#place];
    const apart = a.byteOffset >= b.byteOffset + other.size * 4 || b.byteOffset >= a.byteOffset + this.size * 4;
    return a.buffer === b.buffer && !apart;
  }

  /** Where its numbers lie: in an array's buffer, or in null, the instance's memory. */
  get #place() {
    return this.#source ?? { buffer: null, byteOffset: this.#address };
  }
}

export class Frame {
  /** @type {Set<number>} */
  #temporaries = new Set();

  /** @param {Engine} engine */
  constructor(engine) {
    this.engine = engine;
  }

  get memory() {
    return this.engine.memory;
  }

  /**
   * Runs an operation. Whatever it allocated and did not give away is freed.
   * @template T
   * @param {Engine} engine
   * @param {(frame: Frame) => T} operation
   * @returns {T}
   */
  static run(engine, operation) {
    const frame = new Frame(engine);
    try {
      return operation(frame);
    } finally {
      engine.memory.freeAll(frame.#temporaries);
    }
  }

  /**
   * @param {number} bytes
   * @param {string} [what]
   * @returns {number} an address, valid until the operation ends
   */
  room(bytes, what = 'the operation') {
    const pointer = this.memory.alloc(bytes, what);
    if (pointer !== 0) this.#temporaries.add(pointer);
    return pointer;
  }

  /**
   * An argument. With a shape wanted, a Tensor or `{ data, shape }` must have it, and a plain Float32Array, which does
   * not say its own, must have as many elements.
   * @param {string} what
   * @param {unknown} value
   * @param {readonly number[]} [wanted]
   * @param {string} [hint] what follows the message of a mismatch
   * @returns {Operand}
   */
  input(what, value, wanted, hint = '') {
    const tensor = isTensor(value) ? value : null;
    const address = tensor && addressOf(tensor, this.engine, what);
    // A tensor's data would be a view that nobody reads.
    /** @type {{ data: any, shape: readonly number[] | null }} */
    const { data, shape: own } = tensor ? { data: null, shape: tensor.shape } : numbersOf(value, what);
    if (wanted && !fits(wanted, data, own)) {
      throw mismatch(what, shapeText(wanted), own ?? [data.length], hint);
    }
    const shape = wanted ?? own ?? [data.length];
    // A view of the instance's own memory is read in place: a copy might grow the memory and detach the view.
    const from = address ?? (this.memory.owns(data) ? data.byteOffset : data);
    return new Operand(this, what, shape, from, tensor);
  }

  /**
   * Arguments of one shape, which is the first one's.
   * @param {Record<string, unknown>} values by their names
   */
  alike(values) {
    /** @type {Operand[]} */
    const operands = [];
    for (const what of Object.keys(values)) operands.push(this.input(what, values[what], operands[0]?.shape));
    return operands;
  }

  /**
   * As input, or null where there is none.
   * @param {string} what
   * @param {unknown} value
   * @param {readonly number[]} [wanted]
   */
  optional(what, value, wanted) {
    return value === undefined || value === null ? null : this.input(what, value, wanted);
  }

  /**
   * Room for a result.
   * @param {readonly number[]} shape
   * @param {string} [what]
   */
  output(shape, what = 'the result') {
    return new Operand(this, what, shape, null);
  }

  /**
   * Room for a result that a kernel adds to, or perhaps does not write.
   * @param {readonly number[]} shape
   * @param {number} value
   */
  filled(shape, value) {
    const result = this.output(shape);
    result.numbers.fill(value);
    return result;
  }

  /**
   * Axes as rows: kernels take rows, so these axes are brought to the end first, in the order of the list, and results
   * back.
   * @param {readonly number[]} shape
   * @param {readonly number[]} axes
   */
  rows(shape, axes) {
    const leading = shape.length - axes.length;
    /** @type {<T extends Operand | null>(operand: T) => T | Operand} */
    const same = (operand) => operand;
    if (axes.every((axis, i) => axis === leading + i)) return { shape, there: same, back: same };
    const order = [...shape.keys()].filter((axis) => !axes.includes(axis)).concat(axes);
    const inverse = order.map((_, axis) => order.indexOf(axis));
    /** @type {<T extends Operand | null>(operand: T, by: number[]) => T | Operand} */
    const permuted = (operand, by) => {
      if (!operand) return operand;
      const result = this.output(by.map((axis) => operand.shape[axis]));
      this.permute(result.address, operand, by);
      return result;
    };
    return {
      shape: order.map((axis) => shape[axis]),
      /** @type {<T extends Operand | null>(operand: T) => T | Operand} operand of the shape */
      there: (operand) => permuted(operand, order),
      /** @type {<T extends Operand | null>(operand: T) => T | Operand} operand of the rows' shape */
      back: (operand) => permuted(operand, inverse),
    };
  }

  /**
   * Writes an operand with its axes in another order: axis i of the result is the operand's axis order[i].
   * @param {number} address
   * @param {Operand} operand
   * @param {readonly number[]} order
   */
  permute(address, operand, order) {
    const rank = order.length;
    const from = operand.address;
    const plan = this.room(rank * 8);
    this.memory.words(plan, rank * 2).set([...operand.shape, ...order]);
    this.engine.compute('an_permute', address, from, plan, plan + rank * 4, rank);
  }

  /**
   * Gives a result to the caller: a Tensor if `like` is one, else a Float32Array.
   * @param {Operand} like
   * @param {Operand} result
   * @returns {any}
   */
  result(like, result) {
    return like.tensor ? this.adopt(result) : copyOf(result.numbers);
  }

  /**
   * Several results. Leaves out what is null.
   * @param {Operand} like
   * @param {Record<string, Operand | null>} results
   * @returns {any}
   */
  results(like, results) {
    /** @type {Record<string, Tensor | Float32Array>} */
    const given = {};
    for (const [name, result] of Object.entries(results)) if (result) given[name] = this.result(like, result);
    return given;
  }

  /**
   * Makes an operand's memory a tensor's.
   * @param {Operand} operand
   */
  adopt(operand) {
    this.#temporaries.delete(operand.address);
    return new Tensor(this.engine, operand.address, Object.freeze(operand.shape));
  }
}
