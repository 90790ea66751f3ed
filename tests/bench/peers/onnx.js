// Writes ONNX models: the little of protobuf and of onnx.proto3 that a graph of float32 tensors needs. The numbers are the
// field numbers of onnx.proto3 (github.com/onnx/onnx, onnx/onnx.proto3).

const utf8 = new TextEncoder();
const FLOAT = 1; // TensorProto.DataType

// A message is a list of byte chunks, joined once at the end: weights are not copied at every level.
const size = (chunks) => chunks.reduce((sum, chunk) => sum + chunk.length, 0);

function varint(value) {
  const bytes = [];
  // Division, not shifts: sizes may exceed 31 bits. No negative number is written.
  for (; value >= 0x80; value = Math.floor(value / 0x80)) bytes.push((value % 0x80) | 0x80);
  bytes.push(value);
  return Uint8Array.from(bytes);
}

const integer = (field, value) => [varint(field << 3), varint(value)];
const bytes = (field, chunks) => [varint((field << 3) | 2), varint(size(chunks)), ...chunks];
const text = (field, value) => bytes(field, [utf8.encode(value)]);
const float = (field, value) => [varint((field << 3) | 5), new Uint8Array(Float32Array.of(value).buffer)];

/** An attribute's kind follows from its value: text, integer, a list of integers, or `{ float }`. */
function attribute([name, value]) {
  const [kind, chunks] =
    typeof value === 'string'
      ? [3, text(4, value)]
      : Array.isArray(value)
        ? [7, value.flatMap((one) => integer(8, one))]
        : typeof value === 'object'
          ? [1, float(2, value.float)]
          : [2, integer(3, value)];
  return bytes(5, [...text(1, name), ...chunks, ...integer(20, kind)]);
}

function node([operator, inputs, outputs, attributes = {}]) {
  const [domain, name] = operator.includes(':') ? operator.split(':') : ['', operator];
  return bytes(1, [
    ...inputs.flatMap((input) => text(1, input)),
    ...outputs.flatMap((output) => text(2, output)),
    ...text(4, name),
    ...Object.entries(attributes).flatMap(attribute),
    ...text(7, domain),
  ]);
}

const initializer = ([name, { data, shape }]) =>
  bytes(5, [
    ...shape.flatMap((length) => integer(1, length)),
    ...integer(2, FLOAT),
    ...text(8, name),
    ...bytes(9, [new Uint8Array(data.buffer, data.byteOffset, data.byteLength)]),
  ]);

function value(field, name, shape) {
  const dimensions = shape.flatMap((length) => bytes(1, integer(1, length)));
  return bytes(field, [...text(1, name), ...bytes(2, bytes(1, [...integer(1, FLOAT), ...bytes(2, dimensions)]))]);
}

/**
 * A model's bytes. `inputs` and `outputs` map names to shapes, `weights` names to `{ data, shape }`; a node is
 * `[operator, inputs, outputs, attributes]`, its operator `Name` or, of another domain than ONNX's own, `domain:Name`.
 */
export function model({ nodes, inputs, outputs, weights = {}, opset = 23 }) {
  const graph = [
    ...nodes.flatMap(node),
    ...text(2, 'graph'),
    ...Object.entries(weights).flatMap(initializer),
    ...Object.entries(inputs).flatMap(([name, shape]) => value(11, name, shape)),
    ...Object.entries(outputs).flatMap(([name, shape]) => value(12, name, shape)),
  ];
  const chunks = [
    ...integer(1, 10), // the format's version, that of opset 23
    ...bytes(7, graph),
    ...bytes(8, [...text(1, ''), ...integer(2, opset)]),
    ...bytes(8, [...text(1, 'com.microsoft'), ...integer(2, 1)]),
  ];
  const result = new Uint8Array(size(chunks));
  let at = 0;
  for (const chunk of chunks) {
    result.set(chunk, at);
    at += chunk.length;
  }
  return result;
}
