// safetensors (https://github.com/huggingface/safetensors): the header alone. Tensors must cover the rest of the file
// without gap or overlap, as the reference implementation demands it.
import { FileError, short } from './errors.js';
import { bytesOf } from './types.js';

const METADATA = '__metadata__';
// The reference implementation takes 100 MB. That many names would need gigabytes here; models have some 100 kB.
export const MAX_HEADER = 32_000_000;
const MAX_AXES = 8;
const MAX_DEPTH = 4; // { name: { shape: [..] } }, and one to spare

export async function readSafetensorsHeader(source) {
  if (source.size < 8) throw new FileError('TRUNCATED', { expected: 8, got: source.size });
  const view = new DataView((await source.read(0, 8)).slice().buffer);
  const length = view.getUint32(0, true) + view.getUint32(4, true) * 2 ** 32;
  const start = 8 + length;
  if (start > source.size) throw new FileError('TRUNCATED', { expected: start, got: source.size });
  if (length > MAX_HEADER) throw new FileError('HEADER_SIZE', { bytes: length, limit: MAX_HEADER });
  const header = parse(await source.read(8, length));
  const { [METADATA]: metadata, ...entries } = header;
  const tensors = Object.entries(entries).map(([name, entry]) => tensorOf(name, entry));
  checkCover(tensors, source.size - start);
  return {
    format: 'safetensors',
    version: '',
    metadata: Object.entries(isObject(metadata) ? metadata : {}).filter(([, text]) => typeof text === 'string'),
    tensors: new Map(
      tensors.map(({ name, dtype, shape, begin, end }) => [
        name,
        { name, dtype, shape, parts: [{ offset: start + begin, bytes: end - begin }] },
      ]),
    ),
  };
}

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const isSize = (value) => Number.isSafeInteger(value) && value >= 0;

function parse(bytes) {
  const names = countNames(bytes);
  let text;
  let header;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    header = JSON.parse(text);
  } catch {
    throw new FileError('HEADER', { reason: text === undefined ? 'utf8' : 'json' });
  }
  if (!isObject(header)) throw new FileError('HEADER', { reason: 'json' });
  if (Object.keys(header).length !== names) throw new FileError('HEADER', { reason: 'names' });
  return header;
}

// Asked before the parser builds what is nested a million times, and takes the last of two entries of one name.
function countNames(bytes) {
  let names = 0;
  let depth = 0;
  let quoted = false;
  for (let i = 0; i < bytes.length; i++) {
    const sign = bytes[i];
    if (sign === 0x22) quoted = !quoted;
    else if (quoted)
      i += sign === 0x5c ? 1 : 0; // what a backslash stands before
    else if (sign === 0x7b || sign === 0x5b) depth++;
    else if (sign === 0x7d || sign === 0x5d) depth--;
    else if (sign === 0x3a && depth === 1) names++;
    if (depth > MAX_DEPTH) throw new FileError('HEADER', { reason: 'deep' });
  }
  return names;
}

function tensorOf(name, entry) {
  const wrong = (reason) => new FileError('TENSOR', { name: short(name), reason });
  if (!isObject(entry)) throw wrong('entry');
  const { dtype, shape, data_offsets: offsets } = entry;
  if (typeof dtype !== 'string') throw wrong('dtype');
  if (!Array.isArray(shape) || shape.length > MAX_AXES || !shape.every(isSize)) throw wrong('shape');
  if (!Array.isArray(offsets) || offsets.length !== 2 || !offsets.every(isSize)) throw wrong('offsets');
  const [begin, end] = offsets;
  const expected = bytesOf(
    dtype,
    shape.reduce((a, b) => a * b, 1),
  );
  if (begin > end || (expected !== undefined && expected !== end - begin)) throw wrong('offsets');
  return { name, dtype: short(dtype, 20), shape, begin, end };
}

function checkCover(tensors, available) {
  let covered = 0;
  let before = '';
  for (const { name, begin, end } of [...tensors].sort((a, b) => a.begin - b.begin || a.end - b.end)) {
    if (begin < covered) throw new FileError('OVERLAP', { name: short(name), other: short(before) });
    if (begin > covered) throw new FileError('TENSOR', { name: short(name), reason: 'gap' });
    covered = end;
    before = name;
  }
  if (covered > available) throw new FileError('CUT', { missing: covered - available, tensors: covered });
  if (covered < available) throw new FileError('HEADER', { reason: 'rest' });
}
