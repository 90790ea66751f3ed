// @ts-check
// Checks of plain arguments: options objects, numbers, names. Each names the argument, what came and what was expected.
import { AddnormError, describe, isPlain, shapeText, suggestion } from './errors.js';

/**
 * @param {string} what
 * @param {unknown} value
 * @param {string} expected
 * @returns {AddnormError}
 */
export function invalid(what, value, expected) {
  return new AddnormError('INVALID_ARGUMENT', `${what}: expected ${expected}, got ${describe(value)}`);
}

/**
 * @param {string} what an array whose buffer is detached, or has shrunk below its end
 * @param {unknown} [cause]
 */
export function detached(what, cause) {
  const text =
    'its buffer is detached or has shrunk; of a tensor pass itself: its data is dead after the next allocation';
  return new AddnormError('INVALID_ARGUMENT', `${what}: ${text}`, { cause });
}

/**
 * How an option is checked: by a function that gets its name and value and returns the value, by a list of names, or
 * later.
 * @typedef {((what: string, value: unknown) => unknown) | readonly string[] | null} Check
 */

/**
 * A checked copy of an options object, without what is undefined or null: getters run once, here, before anything is
 * done. Defaults are the caller's.
 * @param {string} what the argument's name
 * @param {unknown} value
 * @param {readonly string[] | Readonly<Record<string, Check>>} known the names it may have, or a table of their checks
 * @param {string} [noun] what such a name is called
 * @param {string} [prefix] what stands before a name in messages
 * @returns {Record<string, any>}
 */
export function options(what, value, known, noun = 'option', prefix = '') {
  if (value === undefined || value === null) return none;
  /** @type {Record<string, any>} */
  const result = Object.create(null);
  if (!isPlain(value)) throw invalid(what, value, 'an object');
  const names = isNames(known) ? known : Object.keys(known);
  for (const key of Object.keys(value)) {
    const option = value[key];
    if (option === undefined) continue;
    name(what, key, names, 'UNKNOWN_OPTION', noun);
    if (option === null) continue;
    const check = isNames(known) ? null : known[key];
    if (isNames(check)) result[key] = name(prefix + key, option, check);
    else result[key] = check ? check(prefix + key, option) : option;
  }
  return result;
}

/** @type {Readonly<Record<string, any>>} */
const none = Object.freeze(Object.create(null));

/** @type {(value: unknown) => value is readonly string[]} */
const isNames = Array.isArray;

/**
 * @param {string} what
 * @param {unknown} value
 * @param {number} [min]
 * @param {number} [max]
 * @returns {number} a finite number
 */
export function number(what, value, min = -Infinity, max = Infinity) {
  const given = /** @type {number} */ (value);
  if (Number.isFinite(given) && given >= min && given <= max) return given;
  throw invalid(what, value, `a finite number${range(min, max)}`);
}

/**
 * The check of an option that is a finite number in this range.
 * @param {number} min
 * @param {number} [max]
 */
export const between = (min, max) => (/** @type {string} */ what, /** @type {unknown} */ value) =>
  number(what, value, min, max);

/** The module takes numbers that it rounds to float32 up to this. */
const MAX_FLOAT = 3.4e38;

/**
 * @param {string} what
 * @param {unknown} value
 * @returns {number} a number that float32 can hold
 */
export function float(what, value) {
  return number(what, value, -MAX_FLOAT, MAX_FLOAT);
}

/**
 * @param {string} what
 * @param {unknown} value
 * @param {number} min
 * @param {number} [max]
 * @returns {number} an integer
 */
export function integer(what, value, min, max = Number.MAX_SAFE_INTEGER) {
  const given = /** @type {number} */ (value);
  if (Number.isSafeInteger(given) && given >= min && given <= max) return given;
  throw invalid(what, value, `an integer${range(min, max)}`);
}

/**
 * @param {string} what
 * @param {unknown} value
 * @returns {number} an integer of 32 bits, such as a seed
 */
export function word(what, value) {
  return integer(what, value, 0, 2 ** 32 - 1);
}

/**
 * @param {number} min
 * @param {number} max
 */
function range(min, max) {
  if (max !== Infinity && max !== Number.MAX_SAFE_INTEGER) return ` from ${min} to ${max}`;
  return min === -Infinity ? '' : ` >= ${min}`;
}

/**
 * @param {string} what
 * @param {unknown} value
 * @returns {boolean}
 */
export function boolean(what, value) {
  if (typeof value === 'boolean') return value;
  throw invalid(what, value, 'true or false');
}

/**
 * @template {string} T
 * @param {string} what
 * @param {unknown} value
 * @param {readonly T[]} names
 * @param {'UNKNOWN_NAME' | 'UNKNOWN_OPTION' | 'INVALID_ARGUMENT'} [code]
 * @param {string} [noun]
 * @returns {T}
 */
export function name(what, value, names, code, noun) {
  if (names.includes(/** @type {T} */ (value))) return /** @type {T} */ (value);
  throw unknown(what, value, names, code, noun);
}

/**
 * The error of what is none of these names.
 * @param {string} what
 * @param {unknown} value
 * @param {readonly string[]} names
 * @param {'UNKNOWN_NAME' | 'UNKNOWN_OPTION' | 'INVALID_ARGUMENT'} [code]
 * @param {string} [noun]
 */
export function unknown(what, value, names, code = 'INVALID_ARGUMENT', noun = 'name') {
  if (typeof value !== 'string') return invalid(what, value, 'a name');
  return new AddnormError(code, `${what}: unknown ${noun} ${describe(value)}; ${suggestion(value, names)}`);
}

/** As many axes as the module permutes. */
export const MAX_RANK = 8;

/**
 * @param {string} what
 * @param {unknown} value
 * @returns {readonly number[]} a frozen copy
 */
export function shape(what, value) {
  if (!Array.isArray(value) || value.length > MAX_RANK) {
    throw invalid(what, value, `an array of at most ${MAX_RANK} sizes`);
  }
  let bytes = 4;
  const sizes = [];
  for (let i = 0; i < value.length; i++) {
    const size = integer(`${what}[${i}]`, value[i], 0, 2 ** 32 - 1);
    sizes.push(size);
    bytes *= size;
  }
  if (bytes >= 2 ** 32 && !sizes.includes(0)) {
    throw new AddnormError(
      'OUT_OF_MEMORY',
      `${what}: ${shapeText(sizes)} is ${bytes} bytes, more than a 32-bit memory has`,
    );
  }
  return Object.freeze(sizes);
}

/**
 * @param {readonly number[]} sizes
 * @returns {number} their product; 1 for none
 */
export function product(sizes) {
  let n = 1;
  for (const size of sizes) n *= size;
  return n;
}

/**
 * Refuses data that does not fill its shape.
 * @param {string} what whose shape, with the word shape
 * @param {readonly number[]} sizes
 * @param {number} length of the data
 */
export function fills(what, sizes, length) {
  if (product(sizes) === length) return;
  const text = `${what} ${shapeText(sizes)} has ${product(sizes)} elements, data has ${length}`;
  throw new AddnormError('SHAPE_MISMATCH', text);
}

/**
 * @param {string} what
 * @param {unknown} value
 * @param {number} rank
 * @param {string} [of] the argument whose axis it is
 * @returns {number} an axis, counted from the front
 */
export function axis(what, value, rank, of = 'x') {
  if (rank === 0) throw new AddnormError('SHAPE_MISMATCH', `${what}: ${of} is a single number and has no axis`);
  const at = integer(what, value, -rank, rank - 1);
  return at < 0 ? at + rank : at;
}
