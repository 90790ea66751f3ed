// @ts-check
/**
 * Files of weights. This entry needs no module of WebAssembly.
 *
 * ```js
 * import { readSafetensors, writeSafetensors } from 'addnorm/formats';
 *
 * const file = writeSafetensors({ up: { data: Float32Array.of(1, 2), shape: [1, 2] } }, { by: 'hand' });
 * const { tensors, metadata } = readSafetensors(file);
 * console.log(tensors.up.shape, metadata.by); // prints `[ 1, 2 ] hand`
 * ```
 * @module addnorm/formats
 */
import * as check from './check.js';
import { AddnormError, describe, isPlain } from './errors.js';
import { isTensor, numbersOf } from './tensor.js';

/** @import { FileEntry, TensorLike } from './types.js' */
/** @typedef {import('./types.js').GgufFile} GgufFile */
/** @typedef {import('./types.js').GgufValue} GgufValue */
/** @typedef {import('./types.js').Numbers} Numbers */
/** @typedef {import('./types.js').ReadOptions} ReadOptions */
/** @typedef {import('./types.js').SafetensorsFile} SafetensorsFile */
/** @typedef {import('./types.js').State} State */
/** @typedef {import('./types.js').StateTensor} StateTensor */
/** @typedef {import('./types.js').TensorInfo} TensorInfo */

/** As long as the reference implementation lets a header be. */
const MAX_HEADER = 100_000_000;
const METADATA = '__metadata__';

/**
 * Reads a safetensors file (https://github.com/huggingface/safetensors). Every tensor becomes float32: F32 as it is, F16,
 * BF16, BOOL (0 and 1) and the integers exactly, F64 rounded to the nearest, beyond float32 to Infinity. An integer that
 * float32 does not hold is refused, and so is any other type; `filter` leaves such a tensor out.
 *
 * The whole header is checked before any tensor is made, as strictly as the reference implementation does it and beyond:
 * tensors must cover the rest of the file without gap or overlap, and no name may come twice.
 *
 * ```js
 * const { tensors, metadata } = readSafetensors(await file.arrayBuffer());
 * const ffn = an.ffn({ d_model: 64, d_ff: 172, activation: 'silu', gated: true, bias: false }, {
 *   weights: {
 *     gate: tensors['blk.0.ffn_gate.weight'], up: tensors['blk.0.ffn_up.weight'], down: tensors['blk.0.ffn_down.weight'],
 *   },
 * });
 * ```
 * @param {ArrayBufferLike | ArrayBufferView} bytes the whole file
 * @param {ReadOptions} [options]
 * @returns {SafetensorsFile}
 * @throws {AddnormError} `INVALID_FORMAT`, with the tensor's name; `INVALID_ARGUMENT`; `OUT_OF_MEMORY`
 */
export function readSafetensors(bytes, options) {
  const file = bytesOf(bytes);
  const { filter } = check.options('options', options, ['filter']);
  if (filter !== undefined && typeof filter !== 'function') throw check.invalid('filter', filter, 'a function');
  const { header, start } = readHeader(file);
  const metadata = metadataOf(header[METADATA]);
  const entries = Object.keys(header)
    .filter((name) => name !== METADATA)
    .map((name) => entryOf(name, header[name]))
    .sort((a, b) => a.begin - b.begin || a.end - b.end);
  let covered = 0;
  for (const { name, begin, end } of entries) {
    if (begin !== covered) {
      const problem = begin < covered ? 'overlaps the tensor before it' : 'leaves a gap behind what comes before it';
      throw malformed(`tensor ${quote(name)} ${problem}: it begins at ${begin}, not ${covered}`);
    }
    covered = end;
  }
  if (covered !== file.length - start) {
    throw malformed(`its tensors take ${covered} bytes, and ${file.length - start} follow the header`);
  }
  /** @type {State} */
  const tensors = Object.create(null);
  for (const { name, dtype, shape, begin, end } of entries) {
    if (filter && !filter(name, { dtype, shape: [...shape] })) continue;
    tensors[name] = { shape, data: toFloats(name, dtype, file, start + begin, end - begin) };
  }
  return { tensors, metadata };
}

/**
 * Writes a safetensors file, all tensors as F32, sorted by name and aligned to 8 bytes, as the reference implementation
 * does it.
 *
 * A whole run, to go on with another day:
 *
 * ```js
 * const prefixed = (prefix, state) => Object.fromEntries(Object.entries(state).map(([name, t]) => [prefix + name, t]));
 * const part = (prefix, tensors) =>
 *   Object.fromEntries(Object.entries(tensors).flatMap(([name, t]) =>
 *     name.startsWith(prefix) ? [[name.slice(prefix.length), t]] : []));
 *
 * const bytes = writeSafetensors(
 *   { ...prefixed('model.', stack.state()), ...prefixed('optimizer.', optimizer.state()) },
 *   { config: JSON.stringify(stack.config), step: String(step) },
 * );
 *
 * const { tensors, metadata } = readSafetensors(bytes);
 * const again = an.stack(JSON.parse(metadata.config), { weights: part('model.', tensors) });
 * const optimizerAgain = an.optimizer('adamw', again, { rate: 1e-3 });
 * optimizerAgain.loadState(part('optimizer.', tensors));
 * ```
 * @param {Readonly<Record<string, TensorLike>>} tensors by name
 * @param {Readonly<Record<string, string>>} [metadata] texts by name
 * @returns {Uint8Array<ArrayBuffer>}
 * @throws {AddnormError} `INVALID_ARGUMENT`, with the tensor's name; `SHAPE_MISMATCH`; `OUT_OF_MEMORY`
 */
export function writeSafetensors(tensors, metadata) {
  if (!isPlain(tensors)) throw check.invalid('tensors', tensors, 'an object of named tensors');
  /** @type {[string, unknown][]} */
  const header = [];
  if (metadata !== undefined && metadata !== null) header.push([METADATA, textsOf(metadata)]);
  const names = Object.keys(tensors).sort(byCodePoint);
  let size = 0;
  const parts = names.map((name) => {
    const fault = faultOf(name);
    if (fault) throw new AddnormError('INVALID_ARGUMENT', `tensors: ${quote(name)} ${fault}`);
    const tensor = tensors[name];
    const { data, shape } = numbersOf(tensor, `tensors.${name}`);
    const begin = size;
    size += data.length * 4;
    header.push([name, { dtype: 'F32', shape: shape ?? [data.length], data_offsets: [begin, size] }]);
    return { from: isTensor(tensor) ? tensor : data, bytes: size - begin };
  });
  // Not by Object.fromEntries: there a name such as '1' would come before the others.
  const json = `{${header.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join()}}`;
  const text = new TextEncoder().encode(json);
  const start = 8 + Math.ceil(text.length / 8) * 8;
  if (start - 8 > MAX_HEADER) throw new AddnormError('INVALID_ARGUMENT', 'tensors: the header exceeds 100 MB');
  const file = allocate(Uint8Array, start + size, 'the file');
  new DataView(file.buffer).setUint32(0, start - 8, true);
  file.fill(0x20, 8 + text.length, start);
  file.set(text, 8);
  let at = start;
  for (const [i, { from, bytes }] of parts.entries()) {
    // Asked for anew: a getter of a later tensor may have grown the memory, disposed this one, or resized its buffer.
    const { data } = numbersOf(from, `tensors.${names[i]}`);
    if (data.byteLength !== bytes) {
      throw new AddnormError('INVALID_ARGUMENT', `tensors.${names[i]}: its buffer was resized while it was read`);
    }
    file.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), at);
    at += data.byteLength;
  }
  return file;
}

/**
 * Reads a GGUF file (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md), version 2 or 3, little-endian. Every
 * tensor becomes float32: F32 as it is, F16 and BF16 exactly, Q8_0 and Q4_0 as ggml dequantises them. Another type is
 * refused; `filter` leaves such a tensor out. Shapes are as PyTorch has them, [out, in] of a matrix: the file's dimensions,
 * of which the first is the fastest, in reverse.
 *
 * The whole header is checked before any tensor is made: tensors may not overlap, nor reach beyond the end, and no name
 * may come twice. Bytes between and behind them are of no account.
 *
 * ```js
 * const { tensors, metadata } = readGguf(await file.arrayBuffer(), {
 *   filter: (name) => name.startsWith('blk.0.ffn_'),
 * });
 * const block = an.block({
 *   d_model: 64, d_ff: 172, activation: 'silu', gated: true, bias: false,
 *   norm: 'rms_norm', eps: metadata['llama.attention.layer_norm_rms_epsilon'],
 * }, {
 *   weights: {
 *     gate: tensors['blk.0.ffn_gate.weight'], up: tensors['blk.0.ffn_up.weight'], down: tensors['blk.0.ffn_down.weight'],
 *     norm_weight: tensors['blk.0.ffn_norm.weight'],
 *   },
 * });
 * ```
 * @param {ArrayBufferLike | ArrayBufferView} bytes the whole file
 * @param {ReadOptions} [options]
 * @returns {GgufFile}
 * @throws {AddnormError} `INVALID_FORMAT`, with the tensor's name and type; `INVALID_ARGUMENT`; `OUT_OF_MEMORY`
 */
export function readGguf(bytes, options) {
  const file = bytesOf(bytes);
  const { filter } = check.options('options', options, ['filter']);
  if (filter !== undefined && typeof filter !== 'function') throw check.invalid('filter', filter, 'a function');
  const { metadata, entries } = readGgufHeader(file);
  /** @type {State} */
  const tensors = Object.create(null);
  for (const { name, dtype, shape, begin, end } of entries) {
    if (filter && !filter(name, { dtype, shape: [...shape] })) continue;
    if (!Object.hasOwn(blocks, dtype)) {
      throw brokenGguf(`tensor ${quote(name)}: ${dtype} cannot be read; options.filter can leave it out`);
    }
    tensors[name] = { shape, data: dequantised(name, dtype, file, begin, end) };
  }
  return { tensors, metadata };
}

/** In full where it is no tale. @param {string} name */
const quote = (name) => `'${name.length > 200 ? `${name.slice(0, 200)}...` : name}'`;

/** @param {string} problem */
const malformed = (problem) => new AddnormError('INVALID_FORMAT', `safetensors: ${problem}`);

/**
 * @param {unknown} source
 * @returns {Uint8Array}
 */
function bytesOf(source) {
  try {
    if (ArrayBuffer.isView(source)) {
      // Of an array whose buffer is detached, or has shrunk below its end, this throws.
      if (source.byteLength === 0) new Uint8Array(source.buffer, source.byteOffset).keys();
      return new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
    }
    if (/^\[object (Shared)?ArrayBuffer\]$/.test(Object.prototype.toString.call(source))) {
      return new Uint8Array(/** @type {ArrayBuffer} */ (source));
    }
  } catch (cause) {
    throw new AddnormError('INVALID_ARGUMENT', 'bytes: its buffer is detached or has shrunk', { cause });
  }
  throw check.invalid('bytes', source, 'an ArrayBuffer or a Uint8Array');
}

/**
 * What follows a message about a file that is a text: often the page with which a server says that there is no file.
 * @param {Uint8Array} file
 */
function textIn(file) {
  const start = String.fromCharCode(...file.subarray(0, 24));
  return /^[\t\n\r -~]{8,}$/.test(start) ? `; it is a text: ${quote(start.trim())}...` : '';
}

/**
 * @param {Uint8Array} file
 * @returns {{ header: Record<string, unknown>, start: number }} start: where the data begins
 */
function readHeader(file) {
  if (file.length < 8) throw malformed(`expected at least 8 bytes, got ${file.length}`);
  const view = new DataView(file.buffer, file.byteOffset, 8);
  const size = view.getUint32(0, true) + view.getUint32(4, true) * 2 ** 32;
  if (size > MAX_HEADER) {
    throw malformed(`its header would have ${size} bytes; at most ${MAX_HEADER} are allowed${textIn(file)}`);
  }
  const start = 8 + size;
  if (start > file.length) throw malformed(`its header would end at ${start}, the file at ${file.length}`);
  let text;
  let header;
  try {
    // A copy: TextDecoder takes no shared memory.
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(file.slice(8, start));
    header = JSON.parse(text);
  } catch (cause) {
    const reason = text === undefined ? 'UTF-8' : 'JSON';
    throw new AddnormError('INVALID_FORMAT', `safetensors: its header is no ${reason}`, { cause });
  }
  if (!text.startsWith('{')) throw malformed('its header does not start with {');
  const repeated = repeatedKey(text);
  if (repeated !== null) throw malformed(`the name ${quote(repeated)} comes twice in its header`);
  return { header, start };
}

/**
 * The first key that an object of a JSON text has twice, or null. JSON.parse silently takes the last.
 * @param {string} json valid
 */
function repeatedKey(json) {
  /** The keys so far of each object that is open; null for an array. @type {(Set<string> | null)[]} */
  const open = [];
  const token = /[{}[\]"]/g;
  const colon = /\s*:/y;
  for (let at = token.exec(json); at; at = token.exec(json)) {
    if (at[0] === '{') open.push(new Set());
    else if (at[0] === '[') open.push(null);
    else if (at[0] !== '"') open.pop();
    else {
      const end = endOfString(json, at.index);
      token.lastIndex = end;
      colon.lastIndex = end;
      if (!colon.test(json)) continue;
      const keys = open.at(-1);
      const key = JSON.parse(json.slice(at.index, end));
      if (keys?.has(key)) return String(key);
      keys?.add(key);
    }
  }
  return null;
}

/**
 * By hand: a pattern for a whole string takes the engine's stack where that has some MB.
 * @param {string} json valid
 * @param {number} begin of a string in it
 * @returns {number} the place behind it
 */
function endOfString(json, begin) {
  let end = begin;
  let escapes = 1;
  while (escapes % 2 === 1) {
    end = json.indexOf('"', end + 1);
    escapes = 0;
    while (json[end - 1 - escapes] === '\\') escapes++;
  }
  return end + 1;
}

/**
 * What is wrong with a name, or null. An object takes '__proto__' for its prototype where it is assigned.
 * @param {string} name
 */
function faultOf(name) {
  if (name === '__proto__' || name === METADATA) return 'cannot be a name';
  return /\p{Surrogate}/u.test(name) ? 'is no valid Unicode' : null;
}

/** @param {unknown} value */
function metadataOf(value) {
  /** @type {Record<string, string>} */
  const result = Object.create(null);
  // null is what the reference implementation reads as absent.
  if (value === undefined || value === null) return result;
  if (!isPlain(value)) throw malformed(`${METADATA}: expected an object, got ${describe(value)}`);
  for (const name of Object.keys(value)) {
    const text = value[name];
    const fault = faultOf(name);
    if (fault) throw malformed(`${METADATA}: ${quote(name)} ${fault}`);
    if (typeof text !== 'string') throw malformed(`${METADATA}.${name}: expected a string, got ${describe(text)}`);
    result[name] = text;
  }
  return result;
}

/** @param {unknown} metadata */
function textsOf(metadata) {
  if (!isPlain(metadata)) throw check.invalid('metadata', metadata, 'an object of texts');
  const entries = Object.keys(metadata).map((name) => {
    const text = metadata[name];
    const fault = faultOf(name);
    if (fault) throw new AddnormError('INVALID_ARGUMENT', `metadata: ${quote(name)} ${fault}`);
    if (typeof text !== 'string') throw check.invalid(`metadata.${name}`, text, 'a string');
    if (/\p{Surrogate}/u.test(text)) throw check.invalid(`metadata.${name}`, text, 'valid Unicode');
    return [name, text];
  });
  return Object.fromEntries(entries);
}

/**
 * @param {string} name
 * @param {unknown} value
 * @returns {FileEntry}
 */
function entryOf(name, value) {
  const what = `tensor ${quote(name)}`;
  const fault = faultOf(name);
  if (fault) throw malformed(`${what} ${fault}`);
  if (!isPlain(value)) throw malformed(`${what}: expected an object, got ${describe(value)}`);
  const { dtype, shape, data_offsets: offsets } = value;
  if (typeof dtype !== 'string' || !Object.hasOwn(bits, dtype)) {
    throw malformed(`${what}: unknown dtype ${describe(dtype)}`);
  }
  if (!Array.isArray(shape) || !shape.every(isSize)) throw malformed(`${what}: its shape is no list of sizes`);
  if (!Array.isArray(offsets) || offsets.length !== 2 || !offsets.every(isSize) || offsets[0] > offsets[1]) {
    throw malformed(`${what}: its data_offsets are not [begin, end]`);
  }
  const [begin, end] = offsets;
  const bytes = (shape.includes(0) ? 0 : check.product(shape)) * (bits[dtype] / 8);
  if (end - begin !== bytes) {
    throw malformed(`${what}: ${dtype} [${shape.join(', ')}] takes ${bytes} bytes, its data_offsets ${end - begin}`);
  }
  return { name, dtype, shape, begin, end };
}

/** @param {unknown} value */
const isSize = (value) => Number.isSafeInteger(value) && Number(value) >= 0 && !Object.is(value, -0);

/** Of one element; all that the format knows. @type {Readonly<Record<string, number>>} */
const bits = {
  BOOL: 8,
  F4: 4,
  F6_E2M3: 6,
  F6_E3M2: 6,
  U8: 8,
  I8: 8,
  F8_E5M2: 8,
  F8_E4M3: 8,
  F8_E8M0: 8,
  I16: 16,
  U16: 16,
  F16: 16,
  BF16: 16,
  I32: 32,
  U32: 32,
  F32: 32,
  C64: 64,
  F64: 64,
  I64: 64,
  U64: 64,
};

/** How those are read that become float32. @type {Readonly<Record<string, new (buffer: ArrayBuffer) => any>>} */
const arrays = {
  BOOL: Uint8Array,
  U8: Uint8Array,
  I8: Int8Array,
  I16: Int16Array,
  U16: Uint16Array,
  F16: Uint16Array,
  BF16: Uint16Array,
  I32: Int32Array,
  U32: Uint32Array,
  F32: Float32Array,
  F64: Float64Array,
  I64: BigInt64Array,
  U64: BigUint64Array,
};

/**
 * @param {string} name
 * @param {string} dtype
 * @param {Uint8Array} file
 * @param {number} at
 * @param {number} size in bytes
 * @returns {Float32Array}
 */
function toFloats(name, dtype, file, at, size) {
  const what = `tensor ${quote(name)}`;
  if (!Object.hasOwn(arrays, dtype)) {
    throw malformed(`${what}: ${dtype} cannot be read as float32; options.filter can leave it out`);
  }
  // A copy, which starts at a multiple of the element's size and is nobody else's.
  const copy = allocate(Uint8Array, size, what);
  copy.set(file.subarray(at, at + size));
  const source = new arrays[dtype](copy.buffer);
  if (dtype === 'F32') return source;
  const result = allocate(Float32Array, source.length, what);
  if (dtype === 'F64') result.set(source);
  else if (dtype === 'F16') fromHalf(result, source);
  else if (dtype === 'BF16') fromBrain(result, source);
  else fromIntegers(result, source, what, dtype === 'BOOL' ? 1 : Infinity);
  return result;
}

/**
 * @param {Float32Array} result
 * @param {ArrayLike<number | bigint>} integers
 * @param {string} what
 * @param {number} max
 */
function fromIntegers(result, integers, what, max) {
  for (let i = 0; i < integers.length; i++) {
    const value = integers[i];
    result[i] = Number(value);
    if (value > max) throw malformed(`${what}: expected 0 or 1, got ${value}`);
    if (value !== (typeof value === 'bigint' ? BigInt(result[i]) : result[i])) {
      throw malformed(`${what}: ${value} is no float32; options.filter can leave the tensor out`);
    }
  }
}

/**
 * bfloat16 is the upper half of a float32.
 * @param {Float32Array} result
 * @param {Uint16Array} halves
 */
function fromBrain(result, halves) {
  const words = new Uint32Array(result.buffer);
  for (let i = 0; i < halves.length; i++) words[i] = halves[i] << 16;
}

/**
 * IEEE 754 binary16 to binary32, which holds every such number: the exponent and fraction take their new places, and a
 * product with 2^112 makes up for the other bias, subnormals too.
 * @param {Float32Array} result
 * @param {Uint16Array} halves
 */
function fromHalf(result, halves) {
  const words = new Uint32Array(result.buffer);
  for (let i = 0; i < halves.length; i++) {
    const half = halves[i];
    const sign = (half & 0x8000) << 16;
    const magnitude = (half & 0x7fff) << 13;
    words[i] = magnitude;
    if (magnitude < 0x0f800000) result[i] *= 2 ** 112;
    else words[i] = magnitude | 0x7f800000;
    words[i] |= sign;
  }
}

// ---- GGUF

/** @param {string} problem */
const brokenGguf = (problem) => new AddnormError('INVALID_FORMAT', `GGUF: ${problem}`);

/** By their numbers in ggml.h; those that have been removed are not named. */
const ggmlTypes = `F32 F16 Q4_0 Q4_1 . . Q5_0 Q5_1 Q8_0 Q8_1
  Q2_K Q3_K Q4_K Q5_K Q6_K Q8_K IQ2_XXS IQ2_XS IQ3_XXS IQ1_S
  IQ4_NL IQ3_S IQ2_S IQ4_XS I8 I16 I32 I64 F64 IQ1_M
  BF16 . . . TQ1_0 TQ2_0 . . . MXFP4`.split(/\s+/);

/** Elements and bytes of a block, of the types that are read. @type {Readonly<Record<string, readonly [number, number]>>} */
const blocks = { F32: [1, 4], F16: [1, 2], BF16: [1, 2], Q8_0: [32, 34], Q4_0: [32, 18] };

/**
 * How the numbers of metadata are read, by their types' numbers.
 * @type {Readonly<Record<number, { new (buffer: ArrayBuffer): Numbers, readonly BYTES_PER_ELEMENT: number }>>}
 */
const ggufArrays = {
  0: Uint8Array,
  1: Int8Array,
  2: Uint16Array,
  3: Int16Array,
  4: Uint32Array,
  5: Int32Array,
  6: Float32Array,
  10: BigUint64Array,
  11: BigInt64Array,
  12: Float64Array,
};
const [BOOL, STRING, ARRAY] = [7, 8, 9];
/** Arrays in arrays; and values that are no numbers, which take more memory here than in the file. */
const MAX_DEPTH = 8;
const MAX_VALUES = 10_000_000;

/** Goes through a header. What it is asked for is there, or it throws. */
class GgufHeader {
  at = 0;
  #file;
  #values = 0;

  /** @param {Uint8Array} file */
  constructor(file) {
    this.#file = file;
  }

  /**
   * @param {number} length
   * @returns {Uint8Array<ArrayBuffer>} a copy
   */
  bytes(length) {
    const end = this.at + length;
    if (end > this.#file.length) {
      throw brokenGguf(`its header would reach ${end} bytes at least, and the file has ${this.#file.length}`);
    }
    if (end > MAX_HEADER) throw brokenGguf(`its header has more than ${MAX_HEADER} bytes`);
    const copy = allocate(Uint8Array, length, 'the header');
    copy.set(this.#file.subarray(this.at, end));
    this.at = end;
    return copy;
  }

  word() {
    return new DataView(this.bytes(4).buffer).getUint32(0, true);
  }

  /** A count, size or offset. @param {string} what */
  count(what) {
    const value = new DataView(this.bytes(8).buffer).getBigUint64(0, true);
    if (value > Number.MAX_SAFE_INTEGER) throw brokenGguf(`${what}: ${value} is beyond any file`);
    return Number(value);
  }

  /**
   * @param {string} what
   * @param {boolean} fatal whether it has to be UTF-8: names are, and tokens of a vocabulary may be parts of a letter
   */
  text(what, fatal) {
    const bytes = this.bytes(this.count(`the length of ${what}`));
    try {
      return new TextDecoder('utf-8', { fatal, ignoreBOM: true }).decode(bytes);
    } catch (cause) {
      throw new AddnormError('INVALID_FORMAT', `GGUF: ${what} is no UTF-8`, { cause });
    }
  }

  /**
   * @param {string} what
   * @param {number} type
   * @param {number} [depth]
   * @returns {GgufValue}
   */
  value(what, type, depth = 0) {
    if (type === STRING) return this.text(what, false);
    if (type === BOOL) {
      const [byte] = this.bytes(1);
      if (byte > 1) throw brokenGguf(`${what}: expected 0 or 1, got ${byte}`);
      return byte === 1;
    }
    if (type === ARRAY) return this.#array(what, depth);
    const [value] = /** @type {Iterable<number | bigint>} */ (this.#numbers(what, type, 1));
    return Number.isSafeInteger(Number(value)) ? Number(value) : value;
  }

  /**
   * @param {string} what
   * @param {number} type
   * @param {number} length
   */
  #numbers(what, type, length) {
    if (!Object.hasOwn(ggufArrays, type)) throw brokenGguf(`${what}: there are no values of type ${type}`);
    const numbers = ggufArrays[type];
    return new numbers(this.bytes(numbers.BYTES_PER_ELEMENT * length).buffer);
  }

  /**
   * @param {string} what
   * @param {number} depth
   */
  #array(what, depth) {
    if (depth === MAX_DEPTH) throw brokenGguf(`${what}: arrays in more than ${MAX_DEPTH} arrays`);
    const type = this.word();
    const length = this.count(`the length of ${what}`);
    if (![BOOL, STRING, ARRAY].includes(type)) return this.#numbers(what, type, length);
    this.#values += length;
    if (this.#values > MAX_VALUES) throw brokenGguf(`its arrays have more than ${MAX_VALUES} texts and truth values`);
    /** @type {any[]} */
    const list = [];
    for (let i = 0; i < length; i++) list.push(this.value(what, type, depth + 1));
    return list;
  }
}

/**
 * @param {Uint8Array} file
 * @returns {{ metadata: Record<string, GgufValue>, entries: FileEntry[] }} begin, end: bytes of the file; of a type that is not
 *   read end is not known, and begin
 */
function readGgufHeader(file) {
  const header = new GgufHeader(file);
  if (String.fromCharCode(...file.subarray(0, 4)) !== 'GGUF')
    throw brokenGguf(`it does not begin with GGUF${textIn(file)}`);
  header.word();
  const version = header.word();
  if (version === 0x02000000 || version === 0x03000000) throw brokenGguf('it is big-endian, which is not read');
  if (version !== 2 && version !== 3) throw brokenGguf(`version ${version} is not read; 2 and 3 are`);
  const count = header.count('the number of tensors');
  const pairs = header.count('the number of metadata');
  /** @type {Record<string, GgufValue>} */
  const metadata = Object.create(null);
  for (let i = 0; i < pairs; i++) {
    const name = nameOf(header, 'a name in the metadata', metadata);
    metadata[name] = header.value(`metadata ${quote(name)}`, header.word());
  }
  const alignment = metadata['general.alignment'] ?? 32;
  if (typeof alignment !== 'number' || !(alignment > 0) || alignment % 8 !== 0) {
    throw brokenGguf(`general.alignment: expected a multiple of 8, got ${describe(alignment)}`);
  }
  /** @type {Record<string, true>} */
  const known = Object.create(null);
  /** @type {FileEntry[]} */
  const entries = [];
  for (let i = 0; i < count; i++) {
    const name = nameOf(header, "a tensor's name", known);
    known[name] = true;
    entries.push(ggufEntry(header, name, alignment));
  }
  // Behind the header, which is known only now.
  const start = Math.ceil(header.at / alignment) * alignment;
  for (const entry of entries) {
    entry.begin += start;
    entry.end += start;
    if (entry.end > file.length) {
      throw brokenGguf(`tensor ${quote(entry.name)} would end at ${entry.end}, the file at ${file.length}`);
    }
  }
  entries.sort((a, b) => a.begin - b.begin || a.end - b.end);
  let covered = start;
  for (const { name, begin, end } of entries) {
    if (begin < covered && begin < end) throw brokenGguf(`tensor ${quote(name)} overlaps the tensor before it`);
    covered = Math.max(covered, end);
  }
  return { metadata, entries };
}

/**
 * @param {GgufHeader} header
 * @param {string} what
 * @param {Record<string, unknown>} known
 */
function nameOf(header, what, known) {
  const name = header.text(what, true);
  const fault = faultOf(name);
  if (fault) throw brokenGguf(`${quote(name)} ${fault}`);
  if (name in known) throw brokenGguf(`the name ${quote(name)} comes twice`);
  return name;
}

/**
 * @param {GgufHeader} header
 * @param {string} name
 * @param {number} alignment
 * @returns {FileEntry} begin, end: bytes from where the data begin
 */
function ggufEntry(header, name, alignment) {
  const what = `tensor ${quote(name)}`;
  const rank = header.word();
  if (rank > check.MAX_RANK) throw brokenGguf(`${what}: ${rank} dimensions; at most ${check.MAX_RANK} are allowed`);
  const shape = Array.from({ length: rank }, () => header.count(what)).reverse();
  const type = header.word();
  const named = ggmlTypes[type] ?? '.';
  const dtype = named === '.' ? `type ${type}` : named;
  const begin = header.count(what);
  if (begin % alignment !== 0) throw brokenGguf(`${what}: its offset ${begin} is no multiple of ${alignment}`);
  const [elements, bytes] = Object.hasOwn(blocks, dtype) ? blocks[dtype] : [1, 0];
  if ((shape.at(-1) ?? 1) % elements !== 0) {
    throw brokenGguf(`${what}: ${dtype} comes in blocks of ${elements}, which [${shape.join(', ')}] is not`);
  }
  const size = shape.includes(0) ? 0 : (check.product(shape) / elements) * bytes;
  return { name, dtype, shape, begin, end: begin + size };
}

/**
 * Quantised types as ggml's dequantize_row_* define them: 32 numbers that share a scale, a float16 before them. Of Q4_0
 * the lower halves of the 16 bytes are the first 16 numbers, the upper ones the others, and 8 is zero.
 * @param {string} name
 * @param {string} dtype
 * @param {Uint8Array} file
 * @param {number} begin
 * @param {number} end
 */
function dequantised(name, dtype, file, begin, end) {
  if (dtype !== 'Q8_0' && dtype !== 'Q4_0') return toFloats(name, dtype, file, begin, end - begin);
  const what = `tensor ${quote(name)}`;
  const size = blocks[dtype][1];
  const halves = allocate(Uint16Array, (end - begin) / size, what);
  for (let i = 0, at = begin; at < end; i++, at += size) halves[i] = file[at] | (file[at + 1] << 8);
  const scales = allocate(Float32Array, halves.length, what);
  fromHalf(scales, halves);
  const result = allocate(Float32Array, halves.length * 32, what);
  for (let block = 0; block < scales.length; block++) {
    const scale = scales[block];
    const at = begin + block * size + 2;
    const to = block * 32;
    if (dtype === 'Q8_0') for (let i = 0; i < 32; i++) result[to + i] = scale * ((file[at + i] << 24) >> 24);
    else {
      for (let i = 0; i < 16; i++) {
        result[to + i] = scale * ((file[at + i] & 15) - 8);
        result[to + 16 + i] = scale * ((file[at + i] >> 4) - 8);
      }
    }
  }
  return result;
}

/**
 * @template {Uint8Array<ArrayBuffer> | Uint16Array<ArrayBuffer> | Float32Array<ArrayBuffer>} T
 * @param {new (length: number) => T} type
 * @param {number} length
 * @param {string} what
 * @returns {T}
 */
function allocate(type, length, what) {
  try {
    return new type(length);
  } catch (cause) {
    throw new AddnormError('OUT_OF_MEMORY', `${what}: the engine gives no array of ${length} elements`, { cause });
  }
}

/**
 * The order of the names' UTF-8, in which the reference implementation sorts.
 * @param {string} a
 * @param {string} b
 */
function byCodePoint(a, b) {
  let i = 0;
  while (i < a.length && i < b.length && a[i] === b[i]) i++;
  return (a.codePointAt(i) ?? -1) - (b.codePointAt(i) ?? -1);
}
