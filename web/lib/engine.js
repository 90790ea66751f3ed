// @ts-check
// What all objects of one instance share: its memory, its lists, who is alive, and the open scopes.
import { AddnormError } from './errors.js';
import { readLists } from './lists.js';

/** @typedef {{ dispose(): void }} Disposable */

/**
 * The code of an an_status that is not INVALID_ARGUMENT. Most arguments are checked before the module sees them.
 * @type {Record<string, import('./errors.js').ErrorCode>}
 */
const codes = { INVALID_SHAPE: 'SHAPE_MISMATCH', SIZE_OVERFLOW: 'OUT_OF_MEMORY' };

export class Engine {
  /**
   * What a constructor was given, if it is an engine: only this package's own files have one.
   * @param {unknown} value
   * @param {string} what who is constructed, and how it is done
   */
  static of(value, what) {
    if (value instanceof Engine) return value;
    throw new AddnormError('INVALID_ARGUMENT', `${what}, not by new`);
  }

  /** Tensors, modules and optimizers that have not been disposed. */
  live = 0;
  /** Those that nobody could dispose any more: the garbage collector had them. */
  collected = 0;
  /** A safety net, which holds what they have allocated. @type {FinalizationRegistry<Iterable<number>>} */
  #lost = new FinalizationRegistry((pointers) => {
    if (this.memory.dead) return;
    this.memory.freeAll(pointers);
    this.live--;
    this.collected++;
  });
  /** Made since the last microtask, with what they hold: most are disposed soon, and the registry is slow. @type {Map<Disposable, Iterable<number>>} */
  #young = new Map();
  #waiting = false;
  /** What was made in each open scope, the innermost last. @type {Set<Disposable>[]} */
  #scopes = [];

  /** @param {import('./memory.js').Memory} memory */
  constructor(memory) {
    this.memory = memory;
    this.lists = readLists(memory);
  }

  /**
   * @param {Disposable} made
   * @param {Iterable<number>} pointers to what it has allocated; they may still change
   */
  track(made, pointers) {
    this.live++;
    this.#young.set(made, pointers);
    if (!this.#waiting) {
      this.#waiting = true;
      queueMicrotask(() => {
        this.#waiting = false;
        for (const [lasting, held] of this.#young) this.#lost.register(lasting, held, lasting);
        this.#young.clear();
      });
    }
    this.#scopes.at(-1)?.add(made);
  }

  /** @param {Disposable} gone */
  untrack(gone) {
    if (!this.#young.delete(gone)) this.#lost.unregister(gone);
    if (this.memory.dead) return;
    this.live--;
    for (const scope of this.#scopes) scope.delete(gone);
  }

  dispose() {
    this.memory.dispose();
    this.live = 0;
  }

  /**
   * Calls a function that returns an an_status.
   * @param {string} name
   * @param {...(number | boolean | null | undefined | { address: number })} args an operand stands for its address, null
   *   for 0, undefined for nothing
   * @returns {boolean} false if a result would not be finite and is therefore refused, where that was asked for
   */
  compute(name, ...args) {
    const numbers = [];
    for (const arg of args) {
      if (arg !== undefined) numbers.push(typeof arg === 'object' ? (arg?.address ?? 0) : Number(arg));
    }
    return this.succeeded(name, this.memory.call(name, ...numbers));
  }

  /**
   * The same of an an_status that has come back.
   * @param {string} name
   * @param {number} status
   */
  succeeded(name, status) {
    if (status === 0) return true;
    const text = this.memory.text('an_status_name', status) ?? '';
    if (text === 'NOT_FINITE') return false;
    throw new AddnormError(codes[text] ?? 'INVALID_ARGUMENT', `${name}: refused by the module (${text})`);
  }

  /**
   * Runs fn and disposes what it made, except what it returns.
   * @template T
   * @param {() => T} fn
   * @returns {T}
   */
  scope(fn) {
    const made = new Set();
    this.#scopes.push(made);
    /** @type {Set<unknown>} */
    let kept = new Set();
    try {
      const result = fn();
      if (typeof (/** @type {any} */ (result)?.then) === 'function') {
        // It goes on without its tensors and will fail; this error is the one to see.
        Promise.resolve(result).catch(() => {});
        throw new AddnormError('INVALID_ARGUMENT', 'scope: the function must not be asynchronous');
      }
      kept = reachable(result);
      return result;
    } finally {
      this.#scopes.pop();
      for (const disposable of made) {
        if (kept.has(disposable)) this.#scopes.at(-1)?.add(disposable);
        else disposable.dispose();
      }
    }
  }
}

/**
 * Everything in a value, through arrays, maps, sets and plain objects.
 * @param {unknown} value
 * @param {Set<unknown>} [seen]
 */
function reachable(value, seen = new Set()) {
  if (typeof value !== 'object' || value === null || seen.has(value)) return seen;
  seen.add(value);
  const prototype = Object.getPrototypeOf(value);
  const isList = Array.isArray(value) || value instanceof Set || value instanceof Map;
  const plain = prototype === Object.prototype || prototype === null ? Object.values(value) : [];
  for (const element of isList ? value.values() : plain) reachable(element, seen);
  return seen;
}
