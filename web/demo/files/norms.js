// Where an ONNX graph has the norms and the residual addition of a feed-forward layer that graph.js has found.
import { PASSING } from './evaluate.js';

const NEAR = 20; // nodes of a norm that is spelled out

/**
 * @returns {{ start: object, vectors: [string, tensor][], downBias?: tensor }} start: placement, norm, eps, residual and
 *   affine, as the graph has them; vectors: the norms' parameters, and a scale of the branch
 */
export async function wiringOf(graph, up, down) {
  const before = await normOf(graph, up.x);
  const branch = { value: down.result };
  const scale = scaled(graph, branch, down.out);
  const skip = skipNorm(graph, branch.value);
  if (skip) return skipped(graph, up, skip, before);
  const after = await normBehind(graph, branch.value);
  if (after) branch.value = after.value;
  const other = added(graph, branch.value);
  const parameters = (norm, prefix) =>
    norm
      ? [
          [`${prefix}_weight`, norm.weight],
          [`${prefix}_bias`, norm.bias],
        ].filter(([, tensor]) => tensor)
      : [];
  const said = (norm, placement, more) => ({
    placement,
    norm: norm.kind,
    eps: norm.eps,
    ...(norm.kind === 'layer_norm' && !norm.bias && { affine: 'weight' }),
    ...more,
  });
  const scaleOf = scale ? [['scale', scale]] : [];
  const none = { placement: 'none', norm: 'none' };

  if (other && before && isSame(graph, other.value, before.input)) {
    if (after)
      return { start: said(before, 'peri'), vectors: [...parameters(before, 'norm'), ...parameters(after, 'norm2')] };
    return { start: said(before, scale ? 'layer_scale' : 'pre'), vectors: [...parameters(before, 'norm'), ...scaleOf] };
  }
  if (other && isSame(graph, other.value, up.x)) {
    if (after) return { start: said(after, 'output'), vectors: parameters(after, 'norm') };
    const post = await normBehind(graph, other.sum);
    if (post) return { start: said(post, 'post'), vectors: parameters(post, 'norm') };
    return { start: none, vectors: [] };
  }
  if (before) return { start: said(before, 'pre', { residual: false }), vectors: parameters(before, 'norm') };
  return { start: { ...none, residual: false }, vectors: [] };
}

const isSame = (graph, a, b) => graph.through(a) === graph.through(b);

/** The consumers of a value, and of what is handed on as it. */
function uses(graph, value) {
  const found = [];
  const names = new Set([value]);
  for (const name of names) {
    for (const node of graph.consumersOf(name)) {
      if (PASSING.includes(node.op) && node.inputs[0] === name && names.size < NEAR) names.add(node.outputs[0]);
      else found.push({ node, name });
    }
  }
  return found;
}

const otherInput = (node, name) => node.inputs.find((input) => input !== name);

/** A vector that the branch is multiplied with (LayerScale); moves the branch behind it. */
function scaled(graph, branch, length) {
  for (const { node, name } of uses(graph, branch.value)) {
    const vector = node.op === 'Mul' && node.inputs.length === 2 && graph.vector(otherInput(node, name) ?? '', length);
    if (!vector) continue;
    branch.value = node.outputs[0];
    return vector;
  }
  return null;
}

/** The residual addition of a value: what else is added, and the sum. */
function added(graph, value) {
  for (const { node, name } of uses(graph, value)) {
    const other = node.op === 'Add' && node.inputs.length === 2 && otherInput(node, name);
    if (other && !graph.tensors.has(graph.through(other))) return { value: other, sum: node.outputs[0] };
  }
  return null;
}

// ---- ONNX Runtime's norm of a sum: (input, skip, gamma, beta, bias) → output, mean, 1 / std, sum

const SKIP = ['SkipLayerNormalization', 'SkipSimplifiedLayerNormalization'];

const skipNorm = (graph, value) => uses(graph, value).find(({ node }) => SKIP.includes(node.op));

function skipped(graph, up, { node, name }, before) {
  const other = otherInput({ inputs: node.inputs.slice(0, 2) }, name) ?? '';
  const norm = ofSkip(graph, node);
  const vectors = (own) =>
    [
      ['norm_weight', own.weight],
      ['norm_bias', own.bias],
    ].filter(([, tensor]) => tensor);
  const pre = before && isSame(graph, other, before.input);
  const post = isSame(graph, other, up.x);
  const own = pre ? before : norm;
  const placement = pre ? 'pre' : post ? 'post' : 'none';
  if (placement === 'none')
    return { start: { placement, norm: 'none', residual: false }, vectors: [], downBias: norm.bare };
  return { start: { placement, norm: own.kind, eps: own.eps }, vectors: vectors(own), downBias: norm.bare };
}

function ofSkip(graph, { op, inputs, outputs, attributes }) {
  const simplified = op.includes('Simplified');
  return {
    kind: simplified ? 'rms_norm' : 'layer_norm',
    weight: graph.vector(inputs[2] ?? ''),
    bias: simplified ? undefined : graph.vector(inputs[3] ?? ''),
    bare: graph.vector(inputs[simplified ? 3 : 4] ?? ''),
    eps: tidy(attributes.epsilon ?? 1e-12),
    input: outputs[3] || '',
  };
}

// ---- Norms

/** The norm whose result a value is: { kind, weight, bias, eps, input }, or null. */
async function normOf(graph, value) {
  const name = graph.through(value);
  const node = graph.producer(name);
  if (!node) return null;
  const { op, inputs, attributes } = node;
  if (SKIP.includes(op)) return name === node.outputs[0] ? ofSkip(graph, node) : null;
  if (['LayerNormalization', 'SimplifiedLayerNormalization', 'RMSNormalization'].includes(op)) {
    return {
      kind: op === 'LayerNormalization' ? 'layer_norm' : 'rms_norm',
      weight: graph.vector(inputs[1] ?? ''),
      bias: graph.vector(inputs[2] ?? ''),
      eps: tidy(attributes.epsilon ?? 1e-5),
      input: inputs[0],
    };
  }
  return spelledOut(graph, name);
}

/** weight (x - mean) / sqrt(variance + eps) + bias, or without mean and bias. */
async function spelledOut(graph, value) {
  const place = { name: value };
  const bias = peel(graph, place, 'Add');
  const weight = peel(graph, place, 'Mul');
  const node = graph.producer(place.name);
  if (!weight || !node || !['Div', 'Mul'].includes(node.op) || node.inputs.length !== 2) return null;
  for (const [top, below] of node.op === 'Div'
    ? [[0, 1]]
    : [
        [0, 1],
        [1, 0],
      ]) {
    const chain = ancestors(graph, node.inputs[below]);
    if (!chain.some(({ op }) => op === 'ReduceMean') || !chain.some(({ op }) => ['Sqrt', 'Pow'].includes(op))) continue;
    const numerator = graph.through(node.inputs[top]);
    const centred = graph.producer(numerator);
    const isCentred = centred?.op === 'Sub' && graph.producer(graph.through(centred.inputs[1]))?.op === 'ReduceMean';
    return {
      kind: isCentred ? 'layer_norm' : 'rms_norm',
      weight,
      bias,
      eps: await epsOf(graph, chain),
      input: isCentred ? centred.inputs[0] : numerator,
    };
  }
  return null;
}

/** The vector of an addition or multiplication, if a value is that; moves to what it is applied to. */
function peel(graph, place, op) {
  const node = graph.producer(graph.through(place.name));
  if (node?.op !== op || node.inputs.length !== 2) return undefined;
  for (const [own, rest] of [
    [0, 1],
    [1, 0],
  ]) {
    const vector = graph.vector(node.inputs[own]);
    if (!vector) continue;
    place.name = graph.through(node.inputs[rest]);
    return vector;
  }
  return undefined;
}

/** The nodes that a value is computed by, back to the mean. */
function ancestors(graph, value) {
  const found = new Set();
  const visit = (name) => {
    const node = graph.producer(name);
    if (!node || found.has(node) || found.size >= NEAR) return;
    found.add(node);
    if (node.op !== 'ReduceMean') for (const input of node.inputs) if (input) visit(input);
  };
  visit(value);
  return [...found];
}

async function epsOf(graph, chain) {
  for (const { op, inputs } of chain) {
    if (op !== 'Add') continue;
    const scalar = inputs.find((input) => input && graph.isScalar(input));
    if (scalar) return tidy(await graph.scalar(scalar));
  }
  return 0;
}

/** The norm that is applied to a value, and its result. */
async function normBehind(graph, value) {
  const seen = new Set();
  const queue = [value];
  let best = null;
  while (queue.length > 0 && seen.size < NEAR) {
    for (const node of graph.consumersOf(queue.shift())) {
      if (seen.has(node) || seen.size >= NEAR) continue;
      seen.add(node);
      const [result] = node.outputs;
      const norm = result && (await normOf(graph, result));
      // The last of its steps is the whole of it.
      if (norm?.input !== undefined && isSame(graph, norm.input, value)) best = { ...norm, value: result };
      if (result && !['MatMul', 'Gemm'].includes(node.op)) queue.push(result);
    }
  }
  return best;
}

// 1e-5 as float32 is 9.99999974e-6.
const tidy = (eps) => (Number.isFinite(eps) && eps >= 0 && eps <= 1 ? Number(eps.toPrecision(6)) : 1e-5);
