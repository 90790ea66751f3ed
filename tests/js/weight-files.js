// Writes small files of weights for the tests, each format from its own description, and numbers in the types that these
// have: https://github.com/huggingface/safetensors, https://github.com/ggml-org/ggml/blob/master/docs/gguf.md, ggml's
// quantize_row_q8_0_ref and quantize_row_q4_0_ref, https://github.com/onnx/onnx/blob/main/onnx/onnx.proto.

/** What a reader reads from, and how many bytes it asked for. */
export function sourceOf(bytes) {
  const source = { size: bytes.length, asked: 0 };
  source.read = async (offset, length) => {
    if (!(offset >= 0 && length >= 0 && offset + length <= bytes.length)) throw new RangeError(`${offset} + ${length}`);
    source.asked += length;
    return Uint8Array.from(bytes.subarray(offset, offset + length));
  };
  return source;
}

// ---- Numbers

/** The nearest float16 of a number that is one of its normal ones, or 0. */
export function half(value) {
  if (value === 0) return Object.is(value, -0) ? 0x8000 : 0;
  const size = Math.abs(value);
  let exponent = Math.floor(Math.log2(size));
  let fraction = Math.round((size / 2 ** exponent - 1) * 1024);
  if (fraction === 1024) {
    exponent++;
    fraction = 0;
  }
  return (value < 0 ? 0x8000 : 0) | ((exponent + 15) << 10) | fraction;
}

/** The number of a float16's bits. */
export function ofHalf(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 31) return fraction ? Number.NaN : sign * Infinity;
  return sign * (exponent === 0 ? fraction * 2 ** -24 : (1 + fraction / 1024) * 2 ** (exponent - 15));
}

const words = (type, values) => Buffer.from(type.from(values).buffer);
const brain = (value) => new Uint32Array(Float32Array.of(value).buffer)[0] >>> 16;

// Blocks of 32 numbers that share a scale; what they stand for is the scale as float16 times the integers.
function quantised(values, toIntegers) {
  const bytes = [];
  const numbers = [];
  for (let at = 0; at < values.length; at += 32) {
    const { scale, integers, packed } = toIntegers(Array.from(values.slice(at, at + 32)));
    bytes.push(...words(Uint16Array, [half(scale)]), ...packed(integers));
    numbers.push(...integers.map((n) => Math.fround(ofHalf(half(scale)) * n)));
  }
  return { bytes: Buffer.from(bytes), numbers: Float32Array.from(numbers) };
}

function toQ8(block) {
  const scale = Math.max(...block.map(Math.abs)) / 127;
  const integers = block.map((value) => (scale === 0 ? 0 : Math.round(value / scale) + 0));
  return { scale, integers, packed: (list) => list.map((n) => n & 255) };
}

function toQ4(block) {
  const largest = block.reduce((best, value) => (Math.abs(value) > Math.abs(best) ? value : best), 0);
  const scale = largest / -8;
  const integers = block.map((value) => Math.min(15, Math.floor((scale === 0 ? 0 : value / scale) + 8.5)) - 8 + 0);
  return {
    scale,
    integers,
    packed: (list) => list.slice(0, 16).map((low, i) => (low + 8) | ((list[i + 16] + 8) << 4)),
  };
}

/** Numbers in a type: { bytes, numbers: what they stand for there }. */
export function encoded(dtype, values) {
  if (dtype === 'F32') return { bytes: words(Float32Array, values), numbers: Float32Array.from(values) };
  if (dtype === 'F16') {
    const bits = Array.from(values, half);
    return { bytes: words(Uint16Array, bits), numbers: Float32Array.from(bits, ofHalf) };
  }
  if (dtype === 'BF16') {
    const bits = Array.from(values, brain);
    const wide = Uint32Array.from(bits, (n) => n << 16);
    return { bytes: words(Uint16Array, bits), numbers: new Float32Array(wide.buffer) };
  }
  return quantised(values, dtype === 'Q8_0' ? toQ8 : toQ4);
}

// ---- safetensors

/** @param tensors [{ name, dtype, shape, bytes }] */
export function safetensors(tensors, metadata) {
  const header = metadata ? { __metadata__: metadata } : {};
  let at = 0;
  for (const { name, dtype, shape, bytes } of tensors) {
    header[name] = { dtype, shape, data_offsets: [at, at + bytes.length] };
    at += bytes.length;
  }
  return safetensorsOf(header, Buffer.concat(tensors.map(({ bytes }) => bytes)));
}

export function safetensorsOf(header, data = []) {
  const text = Buffer.from(typeof header === 'string' ? header : JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  return Buffer.concat([length, text, Buffer.from(data)]);
}

// ---- GGUF

const u32 = (n) => words(Uint32Array, [n]);
const u64 = (n) => words(BigUint64Array, [BigInt(n)]);
const text = (string) => Buffer.concat([u64(Buffer.byteLength(string)), Buffer.from(string)]);
export const GGML = { F32: 0, F16: 1, Q4_0: 2, Q8_0: 8, Q4_K: 12, BF16: 30 };

/** Values by their JavaScript type: text, number (float32), boolean, list of texts. */
function value(given) {
  if (typeof given === 'string') return [u32(8), text(given)];
  if (typeof given === 'boolean') return [u32(7), Buffer.of(given ? 1 : 0)];
  if (Array.isArray(given)) return [u32(9), u32(8), u64(given.length), ...given.map(text)];
  return [u32(6), words(Float32Array, [given])];
}

/** @param tensors as above, shapes as PyTorch has them */
export function gguf(tensors, metadata = {}, { version = 3, alignment = 32 } = {}) {
  const pad = (length) => Buffer.alloc((alignment - (length % alignment)) % alignment);
  const pairs = Object.entries(metadata).map(([key, given]) => Buffer.concat([text(key), ...value(given)]));
  const infos = [];
  const data = [];
  let at = 0;
  for (const { name, dtype, shape, bytes, type = GGML[dtype] } of tensors) {
    const dims = [...shape].reverse().map(u64);
    infos.push(Buffer.concat([text(name), u32(shape.length), ...dims, u32(type), u64(at)]));
    data.push(bytes, pad(bytes.length));
    at += bytes.length + pad(bytes.length).length;
  }
  const head = Buffer.concat([
    Buffer.from('GGUF'),
    u32(version),
    u64(tensors.length),
    u64(pairs.length),
    ...pairs,
    ...infos,
  ]);
  return Buffer.concat([head, pad(head.length), ...data]);
}

// ---- ONNX: messages of a protocol buffer

export function varint(number) {
  const bytes = [];
  let rest = BigInt.asUintN(64, BigInt(number));
  for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  return Buffer.of(...bytes, Number(rest));
}
const number = (field, given) => Buffer.concat([varint(field * 8), varint(given)]);
export const message = (field, ...parts) => {
  const body = Buffer.concat(parts.map((part) => Buffer.from(part)));
  return Buffer.concat([varint(field * 8 + 2), varint(body.length), body]);
};

const ONNX = { F32: 1, U8: 2, I64: 7, F16: 10, BF16: 16 };

/** @param store 'raw', 'typed' (the list of its type) or 'external' */
export function tensorOf({ name, dtype = 'F32', shape, bytes, store = 'raw', location = 'weights.bin' }) {
  const parts = [...shape.map((size) => number(1, size)), number(2, ONNX[dtype]), message(8, name)];
  if (store === 'raw') parts.push(message(9, bytes));
  else if (store === 'external') parts.push(message(13, message(1, 'location'), message(2, location)), number(14, 1));
  else if (dtype === 'F32') parts.push(message(4, bytes));
  else {
    const bits = new Uint16Array(Uint8Array.from(bytes).buffer);
    parts.push(message(5, ...Array.from(bits, varint)));
  }
  return parts;
}

function attribute(name, given) {
  if (typeof given === 'string') return message(5, message(1, name), message(4, given), number(20, 3));
  if (Array.isArray(given)) return message(5, message(1, name), ...given.map((n) => number(8, n)), number(20, 7));
  if (Number.isInteger(given)) return message(5, message(1, name), number(3, given), number(20, 2));
  return message(5, message(1, name), Buffer.of(2 * 8 + 5), words(Float32Array, [given]), number(20, 1));
}

/** 'Add a b > c' with attributes */
export function node(line, attributes = {}) {
  const [left, right] = line.split('>').map((part) => part.trim().split(/\s+/));
  const [op, ...inputs] = left;
  const [domain, type] = op.includes(':') ? op.split(':') : ['', op];
  return message(
    1,
    ...inputs.map((name) => message(1, name === '_' ? '' : name)),
    ...right.map((name) => message(2, name)),
    message(3, `node of ${right[0]}`),
    message(4, type),
    ...Object.entries(attributes).map(([name, given]) => attribute(name, given)),
    message(7, domain),
  );
}

/** A node that is a tensor itself. */
export const constant = (tensor) =>
  message(
    1,
    message(2, tensor.name),
    message(4, 'Constant'),
    message(5, message(1, 'value'), message(5, ...tensorOf({ ...tensor, name: '' })), number(20, 4)),
  );

/** @param tensors of tensorOf; @param nodes of node() */
export const onnx = (tensors, nodes) =>
  Buffer.concat([
    number(1, 8),
    message(2, 'test'),
    message(7, ...nodes, message(2, 'main'), ...tensors.map((tensor) => message(5, ...tensorOf(tensor)))),
    message(8, number(2, 17)),
  ]);
