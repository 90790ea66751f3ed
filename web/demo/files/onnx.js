// ONNX (https://github.com/onnx/onnx/blob/main/onnx/onnx.proto): the graph's nodes, and where its tensors lie. Tensors are
// initializers or the values of Constant nodes. Subgraphs and functions are not looked into.
import { FileError, short } from './errors.js';
import { fields, integers, payload, text } from './protobuf.js';
import { Cursor } from './source.js';
import { bytesOf } from './types.js';

// TensorProto.DataType
const TYPES = {
  1: 'F32',
  2: 'U8',
  3: 'I8',
  4: 'U16',
  5: 'I16',
  6: 'I32',
  7: 'I64',
  8: 'STRING',
  9: 'BOOL',
  10: 'F16',
  11: 'F64',
  12: 'U32',
  13: 'U64',
  16: 'BF16',
  17: 'F8_E4M3',
  19: 'F8_E5M2',
  21: 'U4',
  22: 'I4',
  23: 'F4',
};

const MAX_NODES = 200_000;
const MAX_TENSORS = 200_000;
const MAX_INPUTS = 4096; // of a node
const MAX_AXES = 16;
const MAX_PARTS = 4096; // of one tensor's numbers
const MAX_FIELDS = 5_000_000;

/** @returns header as of the other formats, and `nodes`: [{ op, domain, name, inputs, outputs, attributes }] */
export async function readOnnxHeader(source) {
  const cursor = new Cursor(source);
  const model = { metadata: [], nodes: [], tensors: new Map(), inputs: [], count: 0 };
  let version = '';
  let graphs = 0;
  for await (const field of fields(cursor, source.size)) {
    count(model);
    if (field.field === 1 && field.wire === 0) version = `IR ${field.value}`;
    else if (field.field === 2 && field.wire === 2) model.metadata.push(['producer', await text(cursor, field)]);
    else if (field.field === 3 && field.wire === 2)
      model.metadata.push(['producer version', await text(cursor, field)]);
    else if (field.field === 8 && field.wire === 2) await readOpset(cursor, field, model);
    else if (field.field === 7 && field.wire === 2) {
      graphs++;
      await readGraph(cursor, field, model);
    }
  }
  if (graphs === 0) throw new FileError('PROTOBUF', { at: 0, reason: 'graph' });
  const { metadata, tensors, nodes } = model;
  return { format: 'ONNX', version, metadata, tensors, nodes };
}

// A file of nothing but empty fields would keep us for long.
function count(model) {
  if (++model.count > MAX_FIELDS) throw new FileError('HEADER', { reason: 'many' });
}

async function readOpset(cursor, { at, length }, model) {
  let domain = '';
  let version = '';
  cursor.at = at;
  for await (const field of fields(cursor, at + length)) {
    count(model);
    if (field.field === 1 && field.wire === 2) domain = await text(cursor, field);
    else if (field.field === 2) version = field.value;
  }
  model.metadata.push([domain ? `opset ${short(domain)}` : 'opset', version]);
}

async function readGraph(cursor, { at, length }, model) {
  cursor.at = at;
  for await (const field of fields(cursor, at + length)) {
    count(model);
    if (field.wire !== 2) continue;
    if (field.field === 1) await readNode(cursor, field, model);
    else if (field.field === 2) model.metadata.push(['graph', await text(cursor, field)]);
    else if (field.field === 5) add(model, await readTensor(cursor, field, model));
  }
}

function add(model, tensor) {
  if (model.tensors.size >= MAX_TENSORS) throw new FileError('HEADER', { reason: 'many' });
  if (model.tensors.has(tensor.name)) throw new FileError('TENSOR', { name: short(tensor.name), reason: 'twice' });
  model.tensors.set(tensor.name, tensor);
}

async function readNode(cursor, { at, length }, model) {
  if (model.nodes.length >= MAX_NODES) throw new FileError('HEADER', { reason: 'many' });
  const node = { op: '', domain: '', name: '', inputs: [], outputs: [], attributes: {} };
  let constant = null;
  cursor.at = at;
  for await (const field of fields(cursor, at + length)) {
    count(model);
    if (field.wire !== 2) continue;
    if (field.field === 1 || field.field === 2) {
      const list = field.field === 1 ? node.inputs : node.outputs;
      if (list.length >= MAX_INPUTS) throw new FileError('HEADER', { reason: 'many' });
      list.push(await text(cursor, field));
    } else if (field.field === 3) node.name = await text(cursor, field);
    else if (field.field === 4) node.op = await text(cursor, field);
    else if (field.field === 7) node.domain = await text(cursor, field);
    else if (field.field === 5) constant = (await readAttribute(cursor, field, node.attributes, model)) ?? constant;
  }
  if (node.op !== 'Constant') model.nodes.push(node);
  else if (constant && node.outputs.length > 0) add(model, { ...constant, name: node.outputs[0] });
}

/** Puts a number, a text or a list of integers among the attributes; returns a tensor. */
async function readAttribute(cursor, { at, length }, attributes, model) {
  let name = '';
  let value;
  let tensor = null;
  cursor.at = at;
  for await (const field of fields(cursor, at + length)) {
    count(model);
    if (field.field === 1 && field.wire === 2) name = await text(cursor, field);
    else if (field.field === 2 && field.wire === 5) value = await float(cursor, field);
    else if (field.field === 3 && field.wire === 0) value = field.value;
    else if (field.field === 4 && field.wire === 2 && field.length <= 64) value = await text(cursor, field);
    else if (field.field === 5 && field.wire === 2) tensor = await readTensor(cursor, field, model);
    else if (field.field === 8)
      value = [...(value ?? []), ...(await integers(cursor, field, MAX_AXES))].slice(0, MAX_AXES);
  }
  if (value !== undefined && name !== '__proto__') attributes[name] = value;
  return tensor;
}

async function float(cursor, field) {
  return new DataView((await payload(cursor, field, 4)).buffer).getFloat32(0, true);
}

async function readTensor(cursor, { at, length }, model) {
  const tensor = { name: '', dtype: '', shape: [], parts: [], external: null, varints: false };
  let type = 0;
  cursor.at = at;
  for await (const field of fields(cursor, at + length)) {
    count(model);
    const { wire } = field;
    if (field.field === 1) tensor.shape.push(...(await integers(cursor, field, MAX_AXES)));
    else if (field.field === 2 && wire === 0) type = field.value;
    else if (field.field === 8 && wire === 2) tensor.name = await text(cursor, field);
    else if ([4, 9].includes(field.field) && wire !== 0) tensor.parts.push({ offset: field.at, bytes: field.length });
    else if (field.field === 5 && wire === 2) {
      tensor.parts.push({ offset: field.at, bytes: field.length });
      tensor.varints = true;
    } else if (field.field === 13 && wire === 2) tensor.external = await readLocation(cursor, field, model, tensor);
    else if (field.field === 14 && field.value === 1) tensor.external ??= '?';
    if (tensor.parts.length > MAX_PARTS || tensor.shape.length > MAX_AXES) {
      throw new FileError('TENSOR', { name: short(tensor.name), reason: 'parts' });
    }
  }
  tensor.dtype = TYPES[type] ?? `type ${type}`;
  return checked(tensor);
}

// StringStringEntryProto: key 1, value 2
async function readLocation(cursor, { at, length }, model, { external }) {
  let key = '';
  let value = '';
  cursor.at = at;
  for await (const field of fields(cursor, at + length)) {
    count(model);
    if (field.wire !== 2) continue;
    if (field.field === 1) key = await text(cursor, field);
    else if (field.field === 2) value = await text(cursor, field);
  }
  return key === 'location' ? short(value) : external;
}

function checked(tensor) {
  const { name, dtype, shape, parts, external, varints } = tensor;
  const wrong = (reason) => new FileError('TENSOR', { name: short(name), reason });
  if (!shape.every((size) => Number.isSafeInteger(size) && size >= 0)) throw wrong('shape');
  const elements = shape.reduce((a, b) => a * b, 1);
  if (!Number.isSafeInteger(elements)) throw wrong('shape');
  const expected = bytesOf(dtype, elements);
  const got = parts.reduce((sum, { bytes }) => sum + bytes, 0);
  if (external !== null) return tensor;
  // Numbers of 16 bits stand among the 32-bit ones as varints, of 1 to 3 bytes each if they are not negative.
  if (varints) tensor.varints = dtype === 'F16' || dtype === 'BF16';
  else if (['F32', 'F16', 'BF16'].includes(dtype) && got !== expected) throw wrong('bytes');
  return tensor;
}
