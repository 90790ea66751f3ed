// Damaged files for the package's and the page's readers: what any of them may do with any bytes, as a property for
// fast-check. The files are written here from the formats' descriptions; those of ../shared are read where they are.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { FileError } from '../../web/demo/files/errors.js';
import { openWeights } from '../../web/demo/files/open.js';
import { readLayer } from '../../web/demo/files/read.js';
import { instance, randoms, sharedPath } from '../js/shared.js';
import * as write from '../js/weight-files.js';

const { AddnormError } = await import('../../dist/lib/index.js');
const { readGguf, readSafetensors } = await import('../../dist/lib/formats.js');

const an = await instance('simd');
/** The activations as the page's reader of graphs asks for them. */
export const known = {
  names: an.activations.map(({ name }) => name),
  activation(name, x, parameter) {
    const [first] = an.activations.find((entry) => entry.name === name).params;
    const options = parameter !== undefined && first ? { [first.name]: parameter } : {};
    return an.activation(name, Float32Array.of(x), options)[0];
  },
};

// ---- Whole files

const matrix = (name, shape, seed, dtype = 'F32') => ({
  name,
  shape,
  dtype,
  ...write.encoded(
    dtype,
    randoms(
      shape.reduce((a, b) => a * b, 1),
      seed,
    ),
  ),
});
const layer = (prefix, [gate, up, down, norm], dtype, d = 2, ff = 4) => [
  matrix(`${prefix}${gate}.weight`, [ff, d], 1, dtype),
  matrix(`${prefix}${up}.weight`, [ff, d], 2, dtype),
  matrix(`${prefix}${down}.weight`, [d, ff], 3, dtype),
  matrix(`${prefix}${norm}.weight`, [d], 4),
];
const llama = ['mlp.gate_proj', 'mlp.up_proj', 'mlp.down_proj', 'post_attention_layernorm'];
const ggml = ['ffn_gate', 'ffn_up', 'ffn_down', 'ffn_norm'];
const graph = (lines) => lines.map((line) => write.node(...[line].flat()));
const gelu = ['Div u root > r', 'Erf r > e', 'Add e one > f', 'Mul u f > g', 'Mul g half > h'];
const scalar = (name, value) => ({ name, shape: [], dtype: 'F32', ...write.encoded('F32', [value]) });
const weights = [matrix('up', [2, 4], 1), matrix('down', [4, 2], 2), matrix('norm', [2], 3), matrix('b', [4], 4)];

/** By format: { bytes, head: where its data begin, about }. */
const whole = [
  ['safetensors', write.safetensors(layer('m.layers.0.', llama), { format: 'pt' })],
  ['safetensors', write.safetensors([...layer('a.', llama, 'F16'), ...layer('b.', llama, 'BF16')])],
  ['gguf', write.gguf(layer('blk.0.', ggml), { 'general.architecture': 'llama', tokens: ['a', 'bc'], eps: 1e-5 })],
  ['gguf', write.gguf(layer('blk.0.', ggml, 'Q8_0', 32, 32), { 'general.alignment': 8 }, { version: 2 })],
  ['gguf', write.gguf([...layer('blk.0.', ggml, 'Q4_0', 32, 32), ...layer('blk.1.', ggml, 'F16')])],
  [
    'onnx',
    write.onnx(
      weights,
      graph([
        'SimplifiedLayerNormalization x norm > n',
        'MatMul n up > u',
        'Relu u > h',
        'MatMul h down > v',
        'Add x v > y',
      ]),
    ),
  ],
  [
    'onnx',
    write.onnx(
      [...weights, scalar('root', Math.SQRT2), scalar('one', 1), scalar('half', 0.5)],
      graph(['MatMul x up > p', 'Add p b > u', ...gelu, ['Gemm h down > y', { alpha: 1, transB: 0 }]]),
    ),
  ],
  [
    'onnx',
    write.onnx(
      weights.map((tensor) => ({ ...tensor, store: 'typed' })),
      [
        ...graph(['MatMul x up > u', ['LeakyRelu u > h', { alpha: 0.25 }], 'MatMul h down > y']),
        write.constant(scalar('c', 1)),
      ],
    ),
  ],
].map(([format, bytes]) => ({ format, bytes, head: bytes.length }));
for (const [format, name] of [
  ['safetensors', 'stories260K_l0.safetensors'],
  ['gguf', 'stories260K_l0.gguf'],
  ['onnx', 'stories260K_l0_ffn.onnx'],
]) {
  const path = sharedPath('models/files', name);
  if (path) whole.push({ format, bytes: readFileSync(path), head: 700 });
}

// ---- Damage

const extremes = [
  0,
  1,
  2,
  7,
  8,
  31,
  32,
  33,
  127,
  128,
  255,
  256,
  65535,
  2 ** 16,
  2 ** 31 - 1,
  2 ** 31,
  2 ** 32 - 1,
  2 ** 32,
];
const large = [2n ** 40n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 60n, 2n ** 62n, 2n ** 63n - 1n, 2n ** 63n, 2n ** 64n - 1n];
const integer = fc.constantFrom(...extremes.map(BigInt), ...large);
const place = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const length = fc.oneof(fc.nat(4), fc.nat(40), fc.nat(400));
const words = [
  'F32',
  'F16',
  'Q4_K',
  'I64',
  '"',
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  '-1',
  '1e300',
  '9007199254740993',
  'null',
  '__proto__',
];
const edit = fc.oneof(
  fc.record({ kind: fc.constant('flip'), at: place, bit: fc.nat(7) }),
  fc.record({ kind: fc.constant('set'), at: place, bytes: fc.uint8Array({ minLength: 1, maxLength: 4 }) }),
  fc.record({ kind: fc.constant('number'), at: place, integer, size: fc.constantFrom(1, 2, 4, 8) }),
  fc.record({ kind: fc.constant('varint'), at: place, integer }),
  fc.record({ kind: fc.constant('insert'), at: place, bytes: fc.uint8Array({ minLength: 1, maxLength: 12 }) }),
  fc.record({ kind: fc.constant('text'), at: place, text: fc.constantFrom(...words), over: fc.boolean() }),
  fc.record({ kind: fc.constant('remove'), at: place, length }),
  fc.record({ kind: fc.constant('repeat'), at: place, length, times: fc.integer({ min: 1, max: 3 }) }),
  fc.record({ kind: fc.constant('splice'), at: place, from: place, length, other: fc.nat(whole.length - 1) }),
  fc.record({ kind: fc.constant('end'), at: place }),
);
/** Most where the header is. */
const damage = fc.record({
  file: fc.nat(whole.length - 1),
  edits: fc.array(fc.record({ edit, inHead: fc.nat(7) }), { minLength: 1, maxLength: 5 }),
});

const put = (bytes, at, over, part) => Buffer.concat([bytes.subarray(0, at), part, bytes.subarray(at + over)]);

function applied(bytes, head, { edit, inHead }) {
  const at = Math.floor(edit.at * (inHead > 0 ? Math.min(head, bytes.length) : bytes.length));
  const little = () => {
    const buffer = Buffer.alloc(8);
    buffer.writeBigUInt64LE(edit.integer);
    return buffer.subarray(0, edit.size);
  };
  switch (edit.kind) {
    case 'flip':
      return put(bytes, at, 1, Buffer.of((bytes[at] ?? 0) ^ (1 << edit.bit)));
    case 'set':
      return put(bytes, at, edit.bytes.length, edit.bytes);
    case 'number':
      return put(bytes, at, edit.size, little());
    case 'varint':
      return put(bytes, at, 1, write.varint(edit.integer));
    case 'insert':
      return put(bytes, at, 0, edit.bytes);
    case 'text':
      return put(bytes, at, edit.over ? edit.text.length : 0, Buffer.from(edit.text));
    case 'remove':
      return put(bytes, at, edit.length, Buffer.alloc(0));
    case 'repeat':
      return put(bytes, at, 0, Buffer.concat(Array(edit.times).fill(bytes.subarray(at, at + edit.length))));
    case 'splice': {
      const other = whole[edit.other];
      const from = Math.floor(edit.from * other.head);
      return put(bytes, at, 0, other.bytes.subarray(from, from + edit.length));
    }
    default:
      return bytes.subarray(0, at);
  }
}

// ---- What is asked

const product = (shape) => shape.reduce((a, b) => a * b, 1);

/** The package's reader: a result that is no larger than the file allows, or INVALID_FORMAT; null then. */
function readWhole(read, bytes) {
  const before = Buffer.from(bytes);
  let result = null;
  try {
    result = read(bytes);
  } catch (error) {
    assert.ok(error instanceof AddnormError, error?.stack);
    assert.equal(error.code, 'INVALID_FORMAT', error.message);
    assert.ok(error.message.length < 2000, 'a message, not the file');
  }
  assert.ok(before.equals(bytes), 'the file is as it was');
  if (!result) return null;
  let elements = 0;
  for (const { shape, data } of Object.values(result.tensors)) {
    assert.equal(data.length, product(shape));
    elements += data.length;
  }
  assert.ok(elements <= 2 * bytes.length, `${elements} elements out of ${bytes.length} bytes`);
  return result;
}

/** The page's: what openWeights gives, or null after a FileError. Each layer is read, or says what is wrong. */
async function readLayers(bytes, name) {
  const source = write.sourceOf(bytes);
  try {
    const { layers, summary } = await openWeights(source, name, known);
    structuredClone(summary); // as it goes to the page
    for (const each of layers) {
      if (each.problem) continue;
      for (const { data } of await readLayer(source, each)) assert.ok(data.length <= 2 * bytes.length + 8192);
    }
    return summary;
  } catch (error) {
    if (error instanceof FileError) return null;
    throw error;
  }
}

/** How long one file may take, in ms of the processor: some hundred times what it takes. */
const LONG = 5000;

/** Any reader withstands any bytes. */
export async function withstand(bytes, format) {
  const start = process.cpuUsage();
  const tensors = readWhole(readSafetensors, bytes) ?? readWhole(readGguf, bytes);
  const summary = await readLayers(bytes, `a.${format}`);
  // Where both have read it, it is the same file. The page also reads GGUF files with tensors that the package refuses.
  if (tensors && summary) assert.equal(summary.tensors, Object.keys(tensors.tensors).length);
  const { user, system } = process.cpuUsage(start);
  const took = (user + system) / 1000;
  assert.ok(took < LONG, `${took.toFixed(0)} ms for ${bytes.length} bytes`);
}

/** Without damage each is read, and a layer found. */
export async function asWritten() {
  for (const { bytes, format } of whole) {
    await withstand(bytes, format);
    const summary = await readLayers(bytes, `a.${format}`);
    assert.ok(summary.layers.length > 0 && summary.layers.every(({ usable }) => usable), format);
  }
  return whole.length;
}

/** For fast-check. */
export const property = fc.asyncProperty(damage, async ({ file, edits }) => {
  const { format, bytes, head } = whole[file];
  await withstand(
    edits.reduce((damaged, each) => applied(damaged, head, each), bytes),
    format,
  );
});
