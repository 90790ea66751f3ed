// Which file is one of weights, by its first bytes and its name; what another file seems to be. No DOM.

/** As many bytes of a file are looked at. */
export const HEAD = 64;

const ascii = (head, from, length) => String.fromCharCode(...head.subarray(from, from + length));
const endsWith = (name, ...endings) => endings.some((ending) => name.toLowerCase().endsWith(ending));

function isSafetensors(head, size) {
  if (head.length < 9 || head[8] !== 0x7b) return false;
  const view = new DataView(head.buffer, head.byteOffset, 8);
  const length = view.getUint32(0, true) + view.getUint32(4, true) * 2 ** 32;
  return length >= 2 && length < 2 ** 40 && size > 8;
}

// ModelProto begins with its IR version, a small number; then come producer, graph or opset.
const isOnnx = (head) =>
  head.length > 4 && head[0] === 0x08 && head[1] < 64 && [0x12, 0x1a, 0x22, 0x28, 0x32, 0x3a, 0x42].includes(head[2]);

/** 'safetensors', 'gguf', 'onnx' or null. */
export function looksLike(head, name, size) {
  if (ascii(head, 0, 4) === 'GGUF') return 'gguf';
  if (isSafetensors(head, size)) return 'safetensors';
  if (known(head)) return null;
  if (isOnnx(head)) return 'onnx';
  // Broken files get the message of what their name says.
  if (endsWith(name, '.safetensors')) return size < 9 || head[7] === 0 ? 'safetensors' : null;
  return endsWith(name, '.onnx') && isProtobuf(head) ? 'onnx' : null;
}

// A first field of a model: 1 to 25, a number or bytes.
const isProtobuf = (head) => [0, 2].includes(head[0] & 7) && head[0] >> 3 >= 1 && head[0] >> 3 <= 14 && head[0] < 0x80;

// Files that are taken for weights: key of texts.weights.kinds, and how they begin.
const KINDS = [
  ['lfs', (head) => ascii(head, 0, 19) === 'version https://git'],
  ['zip', (head) => ascii(head, 0, 2) === 'PK'],
  ['pickle', (head) => head[0] === 0x80 && head[1] >= 2 && head[1] <= 5],
  ['hdf5', (head) => ascii(head, 1, 3) === 'HDF'],
  ['tflite', (head) => ascii(head, 4, 4) === 'TFL3'],
  ['ggml', (head) => ['lmgg', 'fmgg', 'tjgg', 'algg'].includes(ascii(head, 0, 4))],
  ['numpy', (head) => ascii(head, 1, 5) === 'NUMPY'],
  ['html', (head) => /^\s*<(!doctype|html|\?xml)/i.test(ascii(head, 0, 32))],
  ['json', (head) => /^\s*[{[]/.test(ascii(head, 0, 32))],
  ['image', (head) => ['PNG', 'ÿØÿ', 'GIF8'].some((magic) => ascii(head, 0, 8).includes(magic))],
  ['pdf', (head) => ascii(head, 0, 4) === '%PDF'],
  ['gzip', (head) => head[0] === 0x1f && head[1] === 0x8b],
  ['wasm', (head) => ascii(head, 0, 4) === '\0asm'],
];

const known = (head) => KINDS.find(([, test]) => test(head))?.[0];

/** What is said of a file that is none of weights: what it seems to be, its first bytes, what its name promises. */
export function unlike(head, name) {
  const bytes = [...head.subarray(0, 8)].map((byte) => byte.toString(16).padStart(2, '0')).join(' ');
  const expected = ['safetensors', 'gguf', 'onnx'].find((format) => endsWith(name, `.${format}`)) ?? '';
  return { kind: known(head) ?? '', bytes, expected };
}

const NUMBERS = ['.npy', '.json', '.csv', '.tsv', '.txt'];
const WEIGHTS = [
  '.safetensors',
  '.gguf',
  '.onnx',
  '.bin',
  '.pt',
  '.pth',
  '.ckpt',
  '.h5',
  '.tflite',
  '.pb',
  '.ggml',
  '.npz',
];

/** Whether a chosen file goes to the reader of weights, not to that of numbers. */
export async function isWeights(blob, panel) {
  const { name, size } = blob;
  if (endsWith(name, ...NUMBERS)) return endsWith(name, '.index.json');
  if (endsWith(name, ...WEIGHTS)) return true;
  const start = blob.slice(0, HEAD);
  const head = new Uint8Array(await start.arrayBuffer().catch(() => new ArrayBuffer(0)));
  if (looksLike(head, name, size)) return true;
  return panel === 'weights' && !['numpy', 'json'].includes(known(head));
}
