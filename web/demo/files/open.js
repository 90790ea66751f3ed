// Opens a file of weights: what it is, what it holds, and which feed-forward layers are in it.
import { FileError, short } from './errors.js';
import { readGgufHeader } from './gguf.js';
import { findInGraph } from './graph.js';
import { findLayers } from './layers.js';
import { readOnnxHeader } from './onnx.js';
import { referenceTo } from './reference.js';
import { readSafetensorsHeader } from './safetensors.js';
import { HEAD, looksLike, unlike } from './sniff.js';

const MAX_METADATA = 60; // entries that are shown
const IN_FULL = 2000; // layers whose tensors the page hears of

/**
 * @param source { size, read(offset, length) }
 * @param {string} name the file's name, which decides where the content does not
 * @param known the module's activations, as graph.js wants them
 * @returns {Promise<{ source, layers, summary }>} layers as of layers.js, for readLayer(); summary: plain, for the page
 */
export async function openWeights(source, name, known) {
  if (source.size === 0) throw new FileError('EMPTY');
  const head = await source.read(0, Math.min(HEAD, source.size));
  const format = looksLike(head, name, source.size);
  if (!format) throw (await asIndex(source, head)) ?? new FileError('UNRELATED', unlike(head, name));
  const read = { safetensors: readSafetensorsHeader, gguf: readGgufHeader, onnx: readOnnxHeader }[format];
  const header = await read(source);
  const layers = format === 'onnx' ? await findInGraph(source, header, known) : findLayers(header);
  return { source, layers, summary: summaryOf(source, name, header, layers) };
}

const MAX_INDEX = 2 ** 26; // bytes; of the largest models it has ten million
const NAMED = 6; // parts that are named

/** What is said of model.safetensors.index.json, which names a model's parts: an error, or null for another file. */
async function asIndex(source, head) {
  if (unlike(head, '').kind !== 'json' || source.size > MAX_INDEX) return null;
  try {
    const { weight_map: parts } = JSON.parse(new TextDecoder().decode(await source.read(0, source.size)));
    const files = [...new Set(Object.values(parts))].filter((file) => typeof file === 'string').sort();
    const named = files.slice(0, NAMED).map((file) => short(file));
    return files.length > 0 ? new FileError('INDEX', { files: named, more: files.length - named.length }) : null;
  } catch {
    return null;
  }
}

function summaryOf(source, name, header, layers) {
  const same = interned();
  const dtypes = new Map();
  for (const { dtype } of header.tensors.values()) dtypes.set(dtype, (dtypes.get(dtype) ?? 0) + 1);
  return {
    format: header.format,
    version: header.version,
    size: source.size,
    tensors: header.tensors.size,
    dtypes: [...dtypes].sort((a, b) => b[1] - a[1]).slice(0, 12),
    metadata: shown(header.metadata),
    quantised: quantised(header.nodes),
    layers: layers.map((layer) => plain(layer, name, layers.length <= IN_FULL, same)),
  };
}

// What tells the model apart first.
const FIRST = [
  'general.name',
  'general.architecture',
  'general.size_label',
  'general.quantized_by',
  'producer',
  'graph',
];
const rank = (key) => (FIRST.includes(key) ? FIRST.indexOf(key) : FIRST.length);

const shown = (metadata) =>
  metadata
    .filter(([, value]) => value !== '')
    .sort(([a], [b]) => rank(a) - rank(b))
    .slice(0, MAX_METADATA)
    .map(([key, value]) => [short(key), short(value, 200)]);

// Where no layer is found, the products of integers that the graph has instead say why.
const quantised = (nodes = []) =>
  [...new Set(nodes.map(({ op }) => op))].filter((op) =>
    /Integer|NBits|QLinear|DequantizeLinear|QAttention|QGemm/.test(op),
  );

// What all layers have in common goes to the page once.
function interned() {
  const known = new Map();
  return (value) => {
    const text = JSON.stringify(value);
    if (!known.has(text)) known.set(text, value);
    return known.get(text);
  };
}

/** As the page has it; `usable`: whole, of a type that is read, and a link can name it. */
function plain(layer, file, inFull, same) {
  const { key, family, fixed, start, guessed, doubt, omits, initial, unused, dtypes, bytes, problem, parameters } =
    layer;
  return {
    key,
    family,
    bytes,
    fixed: same(fixed),
    start: same(start),
    guessed: same(guessed),
    doubt,
    omits: same(omits),
    initial: same(initial),
    unused: same(unused),
    dtypes: same(dtypes),
    problem,
    usable: !problem && referenceTo(file, layer) !== '',
    parameters: inFull ? parameters.map(({ name, tensor }) => parameterOf(name, tensor)) : [],
  };
}

const parameterOf = (name, tensor) => ({
  name,
  tensor: tensor ? short(tensor.name, 120) : '',
  dtype: tensor?.dtype ?? '',
});
