// @ts-check
// An instance's linear memory and the calls into its module. No other file touches `memory.buffer`: whoever needs a
// view asks for a fresh one and drops it before the next allocation, which may grow the memory and detach every view.
import { AddnormError } from './errors.js';

/** The unit in which WebAssembly counts memory. */
export const PAGE_BYTES = 65536;

const decoder = new TextDecoder();

export class Memory {
  /** Null once it is disposed. @type {{ exports: Record<string, (...args: number[]) => number>, memory: { readonly buffer: ArrayBuffer } } | null} */
  #instance;
  #limit;
  /** Bytes of every block that is allocated, by its address. @type {Map<number, number>} */
  #blocks = new Map();
  /** @type {string | null} */
  #trapped = null;

  /** What the module says of how it was built. */
  build = '';
  /** Bytes allocated now. */
  bytes = 0;
  /** The most bytes that were allocated at one time. */
  peak = 0;

  /**
   * @param {{ readonly exports: object }} instance a WebAssembly.Instance
   * @param {{ readonly buffer: ArrayBuffer }} memory its WebAssembly.Memory
   * @param {number} limit bytes
   */
  constructor(instance, memory, limit) {
    this.#instance = { exports: /** @type {any} */ (instance.exports), memory };
    this.#limit = limit;
  }

  /** Bytes of the memory itself, which grows and never shrinks. */
  get size() {
    return this.#instance?.memory.buffer.byteLength ?? 0;
  }

  /** True once the instance is disposed or has trapped. */
  get dead() {
    return this.#instance === null || this.#trapped !== null;
  }

  #alive() {
    if (!this.#instance) {
      throw new AddnormError('DISPOSED', 'this instance of addnorm has been disposed; load() gives another');
    }
    if (this.#trapped) throw this.#trap();
    return this.#instance;
  }

  /** @param {unknown} [cause] */
  #trap(cause) {
    const text = `this instance is unusable since ${this.#trapped} trapped; load() gives another`;
    return new AddnormError('TRAP', text, { cause });
  }

  /**
   * Calls an exported function. Numbers above 2^31 may be given; an address or size that comes back needs `>>> 0`.
   * @param {string} name
   * @param {...number} args
   * @returns {number}
   */
  call(name, ...args) {
    const { exports } = this.#alive();
    try {
      return exports[name](...args);
    } catch (cause) {
      // The module's stack pointer and whatever it was writing are in an unknown state.
      this.#trapped = name;
      throw this.#trap(cause);
    }
  }

  /**
   * @param {number} bytes
   * @param {string} what the bytes are for
   * @returns {number} an address; 0 for no bytes
   */
  alloc(bytes, what) {
    this.#alive();
    if (bytes === 0) return 0;
    // malloc's argument has 32 bits: a larger number would wrap around and "succeed".
    const pointer = bytes < 2 ** 32 ? this.call('malloc', bytes) >>> 0 : 0;
    if (pointer === 0 || pointer + bytes > this.size) {
      if (pointer !== 0) this.call('free', pointer);
      throw new AddnormError(
        'OUT_OF_MEMORY',
        `${what}: no room for ${bytes} bytes; ${this.bytes} are in use, the limit is ${this.#limit} (load's maxBytes)`,
      );
    }
    this.#blocks.set(pointer, bytes);
    this.bytes += bytes;
    this.peak = Math.max(this.peak, this.bytes);
    return pointer;
  }

  /**
   * Does nothing for 0, and after the end of the instance.
   * @param {number} pointer
   */
  free(pointer) {
    if (pointer === 0 || this.dead) return;
    this.bytes -= this.#blocks.get(pointer) ?? 0;
    this.#blocks.delete(pointer);
    this.call('free', pointer);
  }

  /** @param {Iterable<number>} pointers */
  freeAll(pointers) {
    for (const pointer of pointers) this.free(pointer);
  }

  /**
   * @param {number} pointer
   * @param {number} length
   * @returns {Float32Array} a view
   */
  floats(pointer, length) {
    return new Float32Array(this.#alive().memory.buffer, pointer, length);
  }

  /**
   * @param {number} pointer
   * @param {number} length
   * @returns {Float64Array} a view
   */
  doubles(pointer, length) {
    return new Float64Array(this.#alive().memory.buffer, pointer, length);
  }

  /**
   * @param {number} pointer
   * @param {number} length
   * @returns {Uint32Array} a view
   */
  words(pointer, length) {
    return new Uint32Array(this.#alive().memory.buffer, pointer, length);
  }

  /**
   * Calls a function that returns a C string.
   * @param {string} name
   * @param {...number} args
   * @returns {string | null} null for NULL
   */
  text(name, ...args) {
    const pointer = this.call(name, ...args) >>> 0;
    if (pointer === 0) return null;
    const bytes = new Uint8Array(this.#alive().memory.buffer, pointer);
    return decoder.decode(bytes.subarray(0, bytes.indexOf(0)));
  }

  /**
   * True if the array is a view of this memory, so that it can be read in place.
   * @param {Float32Array} array
   */
  owns(array) {
    return array.buffer === this.#alive().memory.buffer;
  }

  /** Gives the memory back to the engine, as soon as nobody holds a view. */
  dispose() {
    this.#instance = null;
    this.#blocks.clear();
    this.bytes = 0;
  }
}
