// GGUF (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md), versions 2 and 3: the header alone.
import { FileError, short } from './errors.js';
import { Cursor } from './source.js';
import { blockOf, bytesOf } from './types.js';

// By their numbers in ggml.h.
const TYPES = {
  0: 'F32',
  1: 'F16',
  2: 'Q4_0',
  3: 'Q4_1',
  6: 'Q5_0',
  7: 'Q5_1',
  8: 'Q8_0',
  9: 'Q8_1',
  10: 'Q2_K',
  11: 'Q3_K',
  12: 'Q4_K',
  13: 'Q5_K',
  14: 'Q6_K',
  15: 'Q8_K',
  16: 'IQ2_XXS',
  17: 'IQ2_XS',
  18: 'IQ3_XXS',
  19: 'IQ1_S',
  20: 'IQ4_NL',
  21: 'IQ3_S',
  22: 'IQ2_S',
  23: 'IQ4_XS',
  24: 'I8',
  25: 'I16',
  26: 'I32',
  27: 'I64',
  28: 'F64',
  29: 'IQ1_M',
  30: 'BF16',
  34: 'TQ1_0',
  35: 'TQ2_0',
  39: 'MXFP4',
};

// A vocabulary of 250 000 words takes some 10 MB.
export const MAX_HEADER = 100_000_000;
const MAX_PAIRS = 50_000;
const MAX_TENSORS = 200_000;
const MAX_NAME = 1024;
const MAX_TEXT = 2048; // of a metadata value that is kept
const MAX_AXES = 8;
const MAX_DEPTH = 4; // arrays of arrays
const SMALLEST = { pair: 13, tensor: 24 }; // bytes of one that has an empty name

export async function readGgufHeader(source) {
  const cursor = new Cursor(source);
  await need(cursor, 24);
  cursor.u32(); // "GGUF"
  const version = cursor.u32();
  if (version === 0x02000000 || version === 0x03000000) throw new FileError('BIG_ENDIAN');
  if (version !== 2 && version !== 3) throw new FileError('VERSION', { version });
  const count = u64(cursor);
  const pairs = u64(cursor);
  const least = SMALLEST.tensor * count + SMALLEST.pair * pairs;
  if (cursor.at + least > source.size) {
    throw new FileError('TRUNCATED', { expected: cursor.at + least, got: source.size });
  }
  if (pairs > MAX_PAIRS || count > MAX_TENSORS) throw new FileError('HEADER', { reason: 'many' });
  const metadata = [];
  let alignment = 32;
  for (let i = 0; i < pairs; i++) {
    const key = await text(cursor, MAX_NAME);
    await need(cursor, 4);
    const value = await readValue(cursor, cursor.u32(), 0);
    if (key === 'general.alignment') alignment = value;
    if (value !== undefined) metadata.push([key, value]);
  }
  if (!Number.isInteger(alignment) || alignment < 1 || alignment > 1 << 20) {
    throw new FileError('HEADER', { reason: 'alignment' });
  }
  const entries = [];
  for (let i = 0; i < count; i++) entries.push(await readEntry(cursor, alignment));
  const start = Math.ceil(cursor.at / alignment) * alignment;
  return { format: 'GGUF', version: String(version), metadata, tensors: placed(entries, start, source.size) };
}

async function need(cursor, length) {
  if (cursor.has(length)) return;
  if (cursor.at > MAX_HEADER) throw new FileError('HEADER_SIZE', { bytes: cursor.at, limit: MAX_HEADER });
  await cursor.fill(length);
}

function u64(cursor) {
  const value = cursor.u32() + cursor.u32() * 2 ** 32;
  if (!Number.isSafeInteger(value)) throw new FileError('HEADER', { reason: 'number' });
  return value;
}

/** A text; undefined, and skipped, if it is longer than what is kept of a value. */
async function text(cursor, limit, keep = true) {
  await need(cursor, 8);
  const length = u64(cursor);
  if (length > cursor.size - cursor.at) {
    throw new FileError('TRUNCATED', { expected: cursor.at + length, got: cursor.size });
  }
  if (length > limit || !keep) {
    if (length > limit && limit === MAX_NAME) throw new FileError('HEADER', { reason: 'name' });
    cursor.at += length;
    return undefined;
  }
  await need(cursor, length);
  return new TextDecoder().decode(cursor.bytes(length));
}

const STRING = 8;
const ARRAY = 9;
// By the type's number: bytes, and how they are read.
const SCALARS = {
  0: [1, (view) => view.getUint8(0)],
  1: [1, (view) => view.getInt8(0)],
  2: [2, (view) => view.getUint16(0, true)],
  3: [2, (view) => view.getInt16(0, true)],
  4: [4, (view) => view.getUint32(0, true)],
  5: [4, (view) => view.getInt32(0, true)],
  6: [4, (view) => view.getFloat32(0, true)],
  7: [1, (view) => view.getUint8(0) !== 0],
  10: [8, (view) => Number(view.getBigUint64(0, true))],
  11: [8, (view) => Number(view.getBigInt64(0, true))],
  12: [8, (view) => view.getFloat64(0, true)],
};

/** A metadata value; undefined for arrays and long texts, which are skipped. */
async function readValue(cursor, type, depth) {
  if (type === STRING) return text(cursor, MAX_TEXT);
  if (type === ARRAY) return skipArray(cursor, depth);
  const [size, read] = SCALARS[type] ?? [];
  if (!size) throw new FileError('HEADER', { reason: 'valueType' });
  await need(cursor, size);
  return read(new DataView(cursor.bytes(size).buffer));
}

async function skipArray(cursor, depth) {
  if (depth >= MAX_DEPTH) throw new FileError('HEADER', { reason: 'deep' });
  await need(cursor, 12);
  const type = cursor.u32();
  const length = u64(cursor);
  const least = type === STRING ? 8 : type === ARRAY ? 12 : SCALARS[type]?.[0];
  if (!least) throw new FileError('HEADER', { reason: 'valueType' });
  if (least * length > cursor.size - cursor.at) {
    throw new FileError('TRUNCATED', { expected: cursor.at + least * length, got: cursor.size });
  }
  if (type === STRING) for (let i = 0; i < length; i++) await text(cursor, MAX_TEXT, false);
  else if (type === ARRAY) for (let i = 0; i < length; i++) await skipArray(cursor, depth + 1);
  else cursor.at += least * length;
}

async function readEntry(cursor, alignment) {
  const name = await text(cursor, MAX_NAME);
  const wrong = (reason) => new FileError('TENSOR', { name: short(name), reason });
  await need(cursor, 4);
  const axes = cursor.u32();
  if (axes > MAX_AXES) throw wrong('shape');
  await need(cursor, 8 * axes + 12);
  const dims = Array.from({ length: axes }, () => u64(cursor)); // the fastest first
  const type = cursor.u32();
  const offset = u64(cursor);
  const dtype = TYPES[type] ?? `type ${type}`;
  const elements = dims.reduce((a, b) => a * b, 1);
  if (!Number.isSafeInteger(elements)) throw wrong('shape');
  if ((dims[0] ?? 1) % (blockOf(dtype) ?? 1) !== 0) throw wrong('block');
  if (offset % alignment !== 0) throw wrong('aligned');
  return { name, dtype, shape: dims.reverse(), offset, bytes: bytesOf(dtype, elements) ?? 0 };
}

function placed(entries, start, size) {
  const tensors = new Map();
  for (const { name, dtype, shape, offset, bytes } of entries) {
    if (tensors.has(name)) throw new FileError('TENSOR', { name: short(name), reason: 'twice' });
    tensors.set(name, { name, dtype, shape, parts: [{ offset: start + offset, bytes }] });
  }
  let end = start;
  let before = '';
  for (const { name, parts } of [...tensors.values()].sort((a, b) => a.parts[0].offset - b.parts[0].offset)) {
    const [{ offset, bytes }] = parts;
    if (bytes > 0 && offset < end) throw new FileError('OVERLAP', { name: short(name), other: short(before) });
    end = Math.max(end, offset + bytes);
    before = name;
  }
  if (end > size) throw new FileError('CUT', { missing: end - size, tensors: end - start });
  return tensors;
}
