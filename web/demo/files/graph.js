// Finds the feed-forward layers of an ONNX graph: two products with constant matrices, [d_model, d_ff] and back, and
// between them nothing but operators on single elements. Their function is found by computing it (evaluate.js); norm,
// residual addition and placement by where the graph has them. Layers are as in layers.js.
import { short } from './errors.js';
import { isElementwise, PASSING, recognise, resultOf } from './evaluate.js';
import { finished } from './layers.js';
import { wiringOf } from './norms.js';
import { elementsOf, readRows } from './read.js';
import { isRead } from './types.js';

const MAX_REGION = 40; // nodes between the two products
const MAX_LAYERS = 4096;
const MAX_CONSUMERS = 64;

/** What the searches ask of a graph. */
class Graph {
  constructor(source, { nodes, tensors }) {
    this.source = source;
    this.tensors = tensors;
    this.producers = new Map();
    this.consumers = new Map();
    this.scalars = new Map();
    for (const node of nodes) {
      for (const output of node.outputs) if (output) this.producers.set(output, node);
      for (const input of new Set(node.inputs)) {
        if (!this.consumers.has(input)) this.consumers.set(input, []);
        this.consumers.get(input).push(node);
      }
    }
  }

  producer(value) {
    return this.producers.get(value);
  }

  /** As many as a model has at one place. */
  consumersOf(value) {
    return (this.consumers.get(value) ?? []).slice(0, MAX_CONSUMERS);
  }

  /** The value that is handed on as this one. */
  through(value) {
    let name = value;
    for (let steps = 0; steps < 16; steps++) {
      const node = this.producer(name);
      if (!node || !PASSING.includes(node.op)) break;
      name = node.inputs[0];
    }
    return name;
  }

  /** A constant with more than one element, seen as a vector; undefined for anything else. */
  vector(value, length) {
    const tensor = this.tensors.get(this.through(value));
    const { shape = [] } = tensor ?? {};
    const n = elementsOf(shape);
    return n > 1 && shape[shape.length - 1] === n && (length === undefined || n === length) ? tensor : undefined;
  }

  isScalar(value) {
    const tensor = this.tensors.get(this.through(value));
    return tensor !== undefined && elementsOf(tensor.shape) === 1;
  }

  /** The number of a constant of one element; NaN if it cannot be read. */
  async scalar(value) {
    const name = this.through(value);
    if (!this.scalars.has(name)) this.scalars.set(name, await this.#number(this.tensors.get(name)));
    return this.scalars.get(name);
  }

  async #number({ dtype, parts, external, ...rest }) {
    if (external || parts.length !== 1) return Number.NaN;
    if (isRead(dtype)) return (await readRows(this.source, { dtype, parts, ...rest, shape: [1] }, null))[0];
    const bytes = await this.source.read(parts[0].offset, Math.min(8, parts[0].bytes));
    const view = new DataView(bytes.slice().buffer);
    if (dtype === 'F64' && bytes.length === 8) return view.getFloat64(0, true);
    if (dtype === 'I64' && bytes.length === 8) return Number(view.getBigInt64(0, true));
    if (dtype === 'I32' && bytes.length === 4) return view.getInt32(0, true);
    return Number.NaN;
  }
}

/**
 * @param header of readOnnxHeader
 * @param {{ names: string[], activation: (name: string, x: number, parameter?: number) => number }} known activations
 */
export async function findInGraph(source, header, known) {
  const graph = new Graph(source, header);
  const products = header.nodes.map((node) => productOf(graph, node)).filter(Boolean);
  const results = new Map(products.map((product) => [product.result, product]));
  const layers = [];
  for (const down of products) {
    if (layers.length >= MAX_LAYERS) break;
    const region = regionOf(graph, results, down.x);
    const ups = region && [...region.ups];
    if (!ups || !areUps(ups, down)) continue;
    layers.push(await layerOf(graph, region, ups, down, known));
  }
  const taken = new Map();
  for (const layer of layers) {
    const count = (taken.get(layer.key) ?? 0) + 1;
    taken.set(layer.key, count);
    if (count > 1) layer.key = `${layer.key} ${count}`;
  }
  return layers;
}

const areUps = (ups, down) =>
  (ups.length === 1 || (ups.length === 2 && ups[0].x === ups[1].x)) &&
  ups.every((up) => up !== down && up.out === down.in && up.in === down.out);

/** A product with a constant matrix, and the bias that follows it: { x, result, in, out, matrix, bias }. */
function productOf(graph, node) {
  const { op, inputs, attributes } = node;
  if (!['MatMul', 'Gemm', 'FusedMatMul'].includes(op) || inputs.length < 2) return null;
  if ((attributes.alpha ?? 1) !== 1 || (attributes.beta ?? 1) !== 1 || attributes.transA) return null;
  const matrix = constantMatrix(graph, inputs[1]);
  if (!matrix) return null;
  const outIn = Boolean(attributes.transB) !== matrix.turned; // stored as [out, in]
  const [rows, columns] = matrix.tensor.shape;
  const [out, width] = outIn ? [rows, columns] : [columns, rows];
  const product = {
    node,
    x: graph.through(inputs[0]),
    result: node.outputs[0],
    in: width,
    out,
    tensor: matrix.tensor,
    outIn,
  };
  if (op === 'Gemm' && inputs[2]) product.bias = graph.vector(inputs[2], out);
  for (const next of graph.consumersOf(product.result)) {
    if (product.bias || next.inputs.length !== 2) continue;
    const bias = graph.vector(next.inputs.find((input) => input !== product.result) ?? '', out);
    if (!bias) continue;
    product.bias = bias;
    if (next.op === 'Add') product.result = next.outputs[0];
    else if (!['BiasGelu', 'FastGelu'].includes(next.op)) product.bias = undefined;
  }
  return product;
}

function constantMatrix(graph, value) {
  let name = value;
  let turned = false;
  for (let steps = 0; steps < 8; steps++) {
    const tensor = graph.tensors.get(name);
    if (tensor) return tensor.shape.length === 2 ? { tensor, turned } : null;
    const node = graph.producer(name);
    if (!node || !['Identity', 'Cast', 'Transpose'].includes(node.op)) return null;
    const { perm = [1, 0] } = node.attributes;
    if (node.op === 'Transpose' && perm.join() !== '1,0') return null;
    if (node.op === 'Transpose') turned = !turned;
    name = node.inputs[0];
  }
  return null;
}

/** The nodes between a value and the products it comes from; null if there is anything else. */
function regionOf(graph, results, value) {
  const region = { value, ups: new Set(), nodes: new Set(), scalars: new Set() };
  const within = new Set(); // what is being visited: a broken graph may feed itself
  const visit = (name) => {
    if (results.has(name)) {
      region.ups.add(results.get(name));
      return true;
    }
    if (graph.isScalar(name)) {
      region.scalars.add(name);
      return true;
    }
    const node = graph.producer(name);
    if (!node || !isElementwise(node.op) || region.nodes.size >= MAX_REGION) return false;
    if (region.nodes.has(node)) return !within.has(node);
    region.nodes.add(node);
    within.add(node);
    const { op, inputs } = node;
    const used = PASSING.includes(op) || ['BiasGelu', 'FastGelu'].includes(op) ? inputs.slice(0, 1) : inputs;
    const fits = used.filter(Boolean).every(visit);
    within.delete(node);
    return fits;
  };
  return visit(value) && region.ups.size > 0 ? region : null;
}

/** The region as a function of its products' results. */
async function functionOf(graph, { value, ups, scalars }, { activation }) {
  const constants = new Map();
  for (const name of scalars) constants.set(name, await graph.scalar(name));
  const places = new Map([...ups].map((up, i) => [up.result, i]));
  return (...numbers) => {
    const known = new Map(constants);
    const compute = (name) => {
      if (places.has(name)) return numbers[places.get(name)];
      if (known.has(name)) return known.get(name);
      const node = graph.producer(name);
      const own = node.op === 'Clip' ? node.inputs : node.inputs.filter(Boolean);
      const used = ['BiasGelu', 'FastGelu'].includes(node.op) || PASSING.includes(node.op) ? own.slice(0, 1) : own;
      const result = resultOf(
        node,
        used.map((input) => (input ? compute(input) : undefined)),
        activation,
      );
      known.set(name, result);
      return result;
    };
    return compute(value);
  };
}

/** Which of two products is the gate, and its activation: f(a, b) = activation(a) b, or the other way round. */
function recogniseGate(f, known) {
  const isLinear = (g) =>
    [-2, -0.5, 1, 3].every(
      (a) => Math.abs(g(a, 0)) < 1e-6 && Math.abs(g(a, 2) - 2 * g(a, 1)) <= 1e-6 * Math.abs(g(a, 2)) + 1e-9,
    );
  for (const order of [0, 1]) {
    const g = order === 0 ? f : (a, b) => f(b, a);
    const found = isLinear(g) && recognise((a) => g(a, 1), known.names, known.activation);
    if (found && found.activation !== 'identity') return { ...found, gate: order };
  }
  return isLinear(f) ? { activation: 'identity', gate: 0 } : null;
}

async function layerOf(graph, region, ups, down, known) {
  const f = await functionOf(graph, region, known);
  const gated = ups.length === 2;
  const found = gated ? recogniseGate(f, known) : recognise(f, known.names, known.activation);
  const { gate: place = 0, ...activation } = found ?? {};
  const gate = gated ? ups[place] : null;
  const up = gated ? ups[1 - place] : ups[0];
  const wiring = await wiringOf(graph, up, down);
  const bias = Boolean(up.bias || gate?.bias || down.bias || wiring.downBias);
  const parameters = [...(gate ? matrices('gate', gate, bias) : []), ...matrices('up', up, bias)];
  parameters.push(...matrices('down', { ...down, bias: down.bias ?? wiring.downBias }, bias));
  for (const [name, tensor] of wiring.vectors)
    parameters.push({ name, tensor, shape: [down.out], rows: null, transpose: false });
  const ops = [...new Set([...region.nodes].map(({ op }) => op))].join(', ');
  return finished({
    key: nameOf(up),
    family: '',
    fixed: { d_model: down.out, d_ff: down.in, gated, bias },
    start: { ...activation, ...wiring.start },
    guessed: [],
    omits: [],
    parameters,
    problem: found ? null : { code: 'FUNCTION', detail: { ops } },
  });
}

function matrices(role, { tensor, outIn, bias, in: width, out }, withBias) {
  const matrix = { name: role, tensor, shape: [out, width], rows: null, transpose: !outIn };
  const vector = { name: `${role}_bias`, tensor: bias ?? null, shape: [out], rows: null, transpose: false };
  return withBias ? [matrix, vector] : [matrix];
}

// PyTorch's exporter numbers the matrices that it turns round, and keeps the names of biases and nodes.
function nameOf({ tensor, bias, node }) {
  if (!/^onnx::|^\d+$|^$/.test(tensor.name)) return short(tensor.name.replace(/\.weight$/, ''), 200);
  return short(bias?.name.replace(/\.bias$/, '') || node.name.replace(/\/MatMul\w*$/, '') || tensor.name || 'ffn', 200);
}
