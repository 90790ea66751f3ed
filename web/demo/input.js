// Reads a file of numbers as { data: Float32Array, shape: number[] }: .npy (float32), JSON (nested arrays), CSV. No DOM.

export class InputError extends Error {
  constructor(code, detail = {}) {
    super(`${code} ${JSON.stringify(detail)}`);
    this.name = 'InputError';
    this.code = code;
    this.detail = detail;
  }
}

export const MAX_BYTES = 256 * 1024 * 1024;
const MAX_AXES = 8;

/** @param {string} name the file's name, which decides when the content does not @param {ArrayBuffer} buffer */
export function parseNumbers(name, buffer) {
  if (buffer.byteLength > MAX_BYTES) throw new InputError('TOO_LARGE', { bytes: buffer.byteLength, limit: MAX_BYTES });
  if (buffer.byteLength === 0) throw new InputError('EMPTY');
  const bytes = new Uint8Array(buffer);
  if (isNpy(bytes) || /\.npy$/i.test(name)) return parseNpy(bytes);
  let text;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new InputError('NOT_TEXT');
  }
  return /\.json$/i.test(name) || /^\s*\[/.test(text) ? parseJson(text) : parseCsv(text);
}

/** The last axis is the width of the stream, all others together the rows; refuses what does not fit `width`. */
export function checkWidth(input, width) {
  const last = input.shape[input.shape.length - 1];
  if (last !== width) throw new InputError('WIDTH', { shape: input.shape, last, width });
}

// ---- .npy: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html

const MAGIC = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59]; // \x93NUMPY
const isNpy = (bytes) => MAGIC.every((byte, i) => bytes[i] === byte);

export function parseNpy(bytes) {
  if (!isNpy(bytes)) throw new InputError('NPY_MAGIC');
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const major = bytes[6];
  if (![1, 2, 3].includes(major)) throw new InputError('NPY_VERSION', { version: major ?? '?' });
  const start = major === 1 ? 10 : 12; // the header's length has 2 bytes in version 1 and 4 since version 2
  if (bytes.length < start) throw new InputError('TRUNCATED', { expected: start, got: bytes.length });
  const length = major === 1 ? view.getUint16(8, true) : view.getUint32(8, true);
  const end = start + length;
  if (bytes.length < end) throw new InputError('TRUNCATED', { expected: end, got: bytes.length });
  const header = new TextDecoder(major === 3 ? 'utf-8' : 'latin1').decode(bytes.subarray(start, end));

  const dtype = /'descr'\s*:\s*'([^']*)'/.exec(header)?.[1];
  const fortran = /'fortran_order'\s*:\s*(True|False)/.exec(header)?.[1];
  const shapeText = /'shape'\s*:\s*\(([^)]*)\)/.exec(header)?.[1];
  if (fortran === undefined || shapeText === undefined) throw new InputError('NPY_HEADER');
  if (dtype !== '<f4' && dtype !== '>f4') throw new InputError('NPY_DTYPE', { dtype: dtype ?? 'a structure' });
  const shape = shapeText
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean)
    .map(Number);
  if (fortran === 'True' && shape.length > 1) throw new InputError('NPY_FORTRAN');

  const count = checkedCount(shape);
  if (bytes.length < end + 4 * count)
    throw new InputError('TRUNCATED', { expected: end + 4 * count, got: bytes.length });
  const data = new Float32Array(count);
  for (let i = 0; i < count; i++) data[i] = view.getFloat32(end + 4 * i, dtype === '<f4');
  return { data, shape };
}

function checkedCount(shape) {
  if (shape.length === 0) throw new InputError('SCALAR');
  if (shape.length > MAX_AXES) throw new InputError('AXES', { axes: shape.length, limit: MAX_AXES });
  let count = 1;
  for (const size of shape) {
    if (!Number.isSafeInteger(size) || size < 0) throw new InputError('NPY_HEADER');
    count *= size;
  }
  if (count === 0) throw new InputError('EMPTY');
  if (4 * count > MAX_BYTES) throw new InputError('TOO_LARGE', { bytes: 4 * count, limit: MAX_BYTES });
  return count;
}

// ---- JSON

export function parseJson(text) {
  let root;
  try {
    root = JSON.parse(text);
  } catch (error) {
    throw new InputError('JSON_SYNTAX', { message: error.message });
  }
  if (typeof root === 'object' && !Array.isArray(root)) throw new InputError('NOT_AN_ARRAY');
  const shape = [];
  for (let value = root; Array.isArray(value); value = value[0]) {
    if (shape.length === MAX_AXES) throw new InputError('AXES', { axes: `> ${MAX_AXES}`, limit: MAX_AXES });
    shape.push(value.length);
  }
  const data = new Float32Array(checkedCount(shape));
  let next = 0;
  const walk = (value, axis, path) => {
    if (axis === shape.length) {
      data[next++] = toNumber(value, path);
      return;
    }
    if (!Array.isArray(value) || value.length !== shape[axis]) {
      throw new InputError('RAGGED', {
        at: path || '[]',
        expected: shape[axis],
        got: Array.isArray(value) ? value.length : 1,
      });
    }
    for (let i = 0; i < value.length; i++) walk(value[i], axis + 1, `${path}[${i}]`);
  };
  walk(root, 0, '');
  return { data, shape };
}

// JSON has no NaN or infinity: writers use null or strings.
const WORDS = {
  nan: Number.NaN,
  inf: Infinity,
  '+inf': Infinity,
  infinity: Infinity,
  '-inf': -Infinity,
  '-infinity': -Infinity,
};

function toNumber(value, at) {
  if (typeof value === 'number') return value;
  if (value === null) return Number.NaN;
  if (typeof value === 'string') {
    const text = value.trim().toLowerCase();
    if (Object.hasOwn(WORDS, text)) return WORDS[text];
    // Number() would also take hexadecimal and binary notation.
    if (/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/.test(text)) return Number(text);
  }
  // Not String(): a JSON object may bring a toString of its own that is no function.
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  throw new InputError('NOT_A_NUMBER', { at, text: text.slice(0, 40) });
}

// ---- CSV: numbers separated by commas, semicolons, tabs or blanks; a first line of words is a header

export function parseCsv(text) {
  const lines = text.replace(/^\ufeff/, '').split(/\r\n|\n|\r/);
  const rows = [];
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i].trim();
    if (line === '' || line.startsWith('#')) continue;
    const cells = /[,;\t]/.test(line) ? line.split(/[,;\t]/) : line.split(/\s+/);
    if (cells[cells.length - 1].trim() === '') cells.pop(); // a separator at the end of the line
    const isHeader = rows.length === 0 && cells.every((cell) => /[a-z_]/i.test(cell) && !isNumber(cell));
    if (isHeader) continue;
    if (rows.length > 0 && cells.length !== rows[0].length) {
      throw new InputError('RAGGED', { at: `line ${i + 1}`, expected: rows[0].length, got: cells.length });
    }
    rows.push(
      cells.map((cell, column) =>
        toNumber(cell.replace(/^\s*"(.*)"\s*$/, '$1'), `line ${i + 1}, column ${column + 1}`),
      ),
    );
  }
  if (rows.length === 0) throw new InputError('EMPTY');
  const shape = [rows.length, rows[0].length];
  checkedCount(shape);
  return { data: Float32Array.from(rows.flat()), shape };
}

function isNumber(text) {
  try {
    toNumber(text, '');
    return true;
  } catch {
    return false;
  }
}
