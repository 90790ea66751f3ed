// @ts-check
// Errors, and the words in which they speak of what was given.

/** @typedef {import('./types.js').ErrorCode} ErrorCode */

/**
 * Every error that this package throws on purpose. `code` is for programs, `message` for people: it names the argument, what
 * came and what was expected.
 *
 * ```js
 * try {
 *   an.linear(new Float32Array(3), { data: new Float32Array(8), shape: [2, 4] });
 * } catch (error) {
 *   if (!(error instanceof AddnormError)) throw error;
 *   console.log(error.code); // prints `SHAPE_MISMATCH`
 * }
 * ```
 */
export class AddnormError extends Error {
  /**
   * @param {ErrorCode} code
   * @param {string} message
   * @param {{ cause?: unknown }} [options]
   */
  constructor(code, message, options) {
    super(message, options);
    /** `'AddnormError'`, also where a copy of the package makes instanceof fail. */
    this.name = 'AddnormError';
    /**
     * What is wrong.
     * @readonly
     * @type {ErrorCode}
     */
    this.code = code;
  }
}

/**
 * The error of a shape that is not the one expected.
 * @param {string} what the argument
 * @param {string} expected
 * @param {readonly number[]} shape
 * @param {string} [hint] what follows
 */
export function mismatch(what, expected, shape, hint = '') {
  return new AddnormError('SHAPE_MISMATCH', `${what}: expected ${expected}, got ${shapeText(shape)}${hint}`);
}

/**
 * What a value is, in a few words; never throws.
 * @param {unknown} value
 * @returns {string}
 */
export function describe(value) {
  if (typeof value === 'string') return `'${value.length > 40 ? `${value.slice(0, 40)}...` : value}'`;
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'function') return 'a function';
  if (typeof value !== 'object' || value === null) return String(value);
  const tag = tagOf(value);
  if (tag === 'Array' && Array.isArray(value)) {
    const short = value.length <= 8 && value.every((element) => typeof element === 'number');
    return short ? shapeText(value) : `an array of ${value.length}`;
  }
  return tag === 'Object' ? 'an object' : `a ${tag}`;
}

/** @param {unknown} value */
function tagOf(value) {
  try {
    return Object.prototype.toString.call(value).slice(8, -1);
  } catch {
    return 'value that cannot be read'; // a revoked Proxy
  }
}

/**
 * True for an object that is no array, Map, Tensor, ...; also for one of another realm.
 * @param {unknown} value
 * @returns {value is Record<string, unknown>}
 */
export function isPlain(value) {
  return typeof value === 'object' && value !== null && tagOf(value) === 'Object';
}

/**
 * @param {readonly number[]} shape
 * @returns {string} `[2, 3]`
 */
export function shapeText(shape) {
  return `[${Array.from(shape, String).join(', ')}]`;
}

/**
 * @param {readonly string[]} names
 * @returns {string} `'a', 'b'`
 */
export function quoted(names) {
  return names.map((name) => `'${name}'`).join(', ');
}

/**
 * A hint that follows "unknown name": the nearest known one, or the whole list where none is near.
 * @param {string} name
 * @param {readonly string[]} known
 * @returns {string}
 */
export function suggestion(name, known) {
  // A name longer than this is no slip of the pen, and the distance is quadratic.
  const candidates = name.length > 64 ? [] : known.map((other) => ({ other, d: distance(name.toLowerCase(), other) }));
  candidates.sort((a, b) => a.d - b.d);
  const best = candidates[0];
  if (best && best.d <= Math.max(2, name.length / 3)) return `did you mean '${best.other}'?`;
  return known.length > 0 ? `known: ${quoted(known)}` : 'there are none here';
}

/**
 * Levenshtein distance.
 * @param {string} a
 * @param {string} b
 */
function distance(a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      next[j] = Math.min(next[j - 1] + 1, row[j] + 1, row[j - 1] + Number(a[i - 1] !== b[j - 1]));
    }
    row = next;
  }
  return row[b.length];
}
