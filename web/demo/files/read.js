// The numbers of chosen tensors, and of nothing else: piece by piece, as float32.
import { FileError, short } from './errors.js';
import { blockOf, bytesOf, decode, isRead } from './types.js';

const MB = 2 ** 20;
// In one piece, of the file.
const PIECE = 4 * MB;
/** As float32: a matrix, and all of a layer. */
export const MAX_TENSOR = 512 * MB;
/** A layer is held once here and once in the module's memory; devices that say they have little get less. */
export const maxLayer = (gigabytes = 8) => (gigabytes > 4 ? 1024 : 256) * MB;

export const elementsOf = (shape) => shape.reduce((a, b) => a * b, 1);

/** Why a tensor cannot be read, or null. */
export function faultOf({ name, dtype, shape, external }) {
  if (external) return { code: 'EXTERNAL', detail: { name: short(name), location: external } };
  if (!isRead(dtype)) return { code: 'TYPE', detail: { name: short(name), dtype } };
  const bytes = 4 * elementsOf(shape);
  if (bytes > MAX_TENSOR) return { code: 'TOO_LARGE', detail: { name: short(name), bytes, limit: MAX_TENSOR } };
  return null;
}

/**
 * Rows [from, to) of a matrix, or of what has more axes, seen as [all but the last, the last]; all of a vector.
 * @param breathe awaited between pieces
 * @returns {Promise<Float32Array>}
 */
export async function readRows(source, tensor, rows, breathe = async () => {}) {
  const { dtype, shape, parts, name } = tensor;
  const width = shape[shape.length - 1] ?? 1;
  const [from, to] = rows ?? [0, elementsOf(shape) / (width || 1)];
  const fault = faultOf({ ...tensor, shape: [to - from, width] });
  if (fault) throw new FileError(fault.code, fault.detail);
  const out = allocate((to - from) * width, name);
  if (tensor.varints) return readVarints(source, tensor, out, breathe);
  // Of all parts one after the other, this range of bytes.
  const first = bytesOf(dtype, from * width);
  const last = bytesOf(dtype, to * width);
  const size = bytesOf(dtype, blockOf(dtype));
  let before = 0;
  let filled = 0;
  for (const { offset, bytes } of parts) {
    const begin = Math.max(first - before, 0);
    const end = Math.min(last - before, bytes);
    for (let at = begin; at < end; ) {
      const length = Math.min(end - at, Math.floor(PIECE / size) * size);
      if (length % size !== 0) throw new FileError('TENSOR', { name: short(name), reason: 'parts' });
      const numbers = decode(dtype, await source.read(offset + at, length));
      out.set(numbers, filled);
      filled += numbers.length;
      at += length;
      await breathe();
    }
    before += bytes;
  }
  if (filled !== out.length) throw new FileError('TENSOR', { name: short(name), reason: 'bytes' });
  return out;
}

function allocate(length, name) {
  try {
    return new Float32Array(length);
  } catch {
    throw new FileError('MEMORY', { name: short(name), bytes: 4 * length });
  }
}

// ONNX's int32_data: the 16 bits of each number as a varint.
async function readVarints(source, { name, dtype, parts }, out, breathe) {
  const wrong = () => new FileError('TENSOR', { name: short(name), reason: 'bytes' });
  const halves = new Uint8Array(2 * out.length);
  let filled = 0;
  let value = 0;
  let shift = 0;
  for (const { offset, bytes } of parts) {
    for (let at = 0; at < bytes; at += PIECE) {
      for (const byte of await source.read(offset + at, Math.min(PIECE, bytes - at))) {
        if (shift > 14 || filled >= halves.length) throw wrong();
        value |= (byte & 0x7f) << shift;
        shift += 7;
        if (byte >= 0x80) continue;
        if (value > 0xffff) throw wrong();
        halves[filled++] = value & 255;
        halves[filled++] = value >> 8;
        value = 0;
        shift = 0;
      }
      await breathe();
    }
  }
  if (filled !== halves.length) throw wrong();
  out.set(decode(dtype, halves));
  return out;
}

const STRIP = 256;

/** [rows, columns] → [columns, rows], in strips that stay in the cache. */
export async function transposed(matrix, rows, columns, breathe = async () => {}) {
  const out = new Float32Array(matrix.length);
  for (let top = 0; top < rows; top += STRIP) {
    const bottom = Math.min(rows, top + STRIP);
    for (let j = 0; j < columns; j++) {
      for (let i = top; i < bottom; i++) out[j * rows + i] = matrix[i * columns + j];
    }
    await breathe();
  }
  return out;
}

/**
 * The parameters of a layer as the block takes them.
 * @param layer of layers.js or graph.js
 * @returns {Promise<{ name: string, data: Float32Array }[]>}
 */
export async function readLayer(source, layer, { breathe, gigabytes } = {}) {
  if (layer.problem) throw new FileError(layer.problem.code, layer.problem.detail);
  const bytes = 4 * layer.parameters.reduce((sum, { shape }) => sum + elementsOf(shape), 0);
  const limit = maxLayer(gigabytes);
  if (bytes > limit) throw new FileError('TOO_LARGE', { name: short(layer.key), bytes, limit });
  const list = [];
  for (const { name, tensor, rows, shape, transpose } of layer.parameters) {
    if (!tensor) {
      list.push({ name, data: new Float32Array(elementsOf(shape)) });
      continue;
    }
    const data = await readRows(source, tensor, rows, breathe);
    list.push({ name, data: transpose ? await transposed(data, shape[1], shape[0], breathe) : data });
  }
  return list;
}
