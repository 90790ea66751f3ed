// onnxruntime-web on one thread: every operation is a graph of its own, weights as initialisers.
//
// A call copies its inputs into wasm memory and its results out of it; the API knows no other way (a preallocated output on
// the CPU is accepted and never filled). For large element-wise work that is half of the time, so a job has `idle`, the
// same call with nothing but Identity in it, for a runner that wants to know what the operation itself takes.
import { model } from './onnx.js';

const microsoft = (name) => `com.microsoft:${name}`;
const real = (value) => ({ float: value });

// Nodes from x to y. Gelu, com.microsoft's Gelu and BiasGelu take the same time alone; Gelu's tanh form and FastGelu too.
// x * sigmoid(x) by QuickGelu is as fast as Sigmoid and Mul; Swish of opset 24 is slower.
const unary = (operator, attributes) => (x, y) => [[operator, [x], [y], attributes]];
const activations = {
  relu: unary('Relu'),
  leaky_relu: unary('LeakyRelu', { alpha: real(0.01) }),
  relu_squared: (x, y) => [
    ['Relu', [x], [`${y}_relu`]],
    ['Mul', [`${y}_relu`, `${y}_relu`], [y]],
  ],
  elu: unary('Elu'),
  selu: unary('Selu'),
  celu: unary('Celu'),
  gelu_erf: unary('Gelu'),
  gelu_tanh: unary('Gelu', { approximate: 'tanh' }),
  gelu_quick: unary(microsoft('QuickGelu'), { alpha: real(1.702) }),
  silu: unary(microsoft('QuickGelu'), { alpha: real(1) }),
  swish: unary(microsoft('QuickGelu'), { alpha: real(1) }),
  mish: unary('Mish'),
  softplus: unary('Softplus'),
  softsign: unary('Softsign'),
  hard_sigmoid: unary('HardSigmoid', { alpha: real(0.2), beta: real(0.5) }),
  hard_swish: unary('HardSwish'),
  sigmoid: unary('Sigmoid'),
  log_sigmoid: (x, y) => [
    ['Neg', [x], [`${y}_minus`]],
    ['Softplus', [`${y}_minus`], [`${y}_soft`]],
    ['Neg', [`${y}_soft`], [y]],
  ],
  tanh: unary('Tanh'),
  identity: unary('Identity'),
};

/** Element-wise work is given as rows where n allows it: BiasGelu and its like need a last axis. */
const flat = (n) => (n % 1024 === 0 ? [n / 1024, 1024] : [n]);

function transpose(data, rows, columns) {
  const turned = new Float32Array(data.length);
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < columns; j++) turned[j * rows + i] = data[i * columns + j];
  }
  return turned;
}

// PyTorch's [out, in] turned to [in, out]: Gemm with transB and with MatMul and Add take the same time within the noise
// (both are packed once, when the session is made), as do gate and up in one product and two.
const matrix = (data, out, inner) => ({ data: transpose(data, out, inner), shape: [inner, out] });
const vector = (data) => ({ data, shape: [data.length] });

const graphs = {
  ffn({ rows, d, h, activation, gated, bias, x, weights: given }) {
    const weights = { up: matrix(given.up, h, d), down: matrix(given.down, d, h) };
    if (bias) Object.assign(weights, { up_bias: vector(given.up_bias), down_bias: vector(given.down_bias) });
    const up = bias ? ['x', 'up', 'up_bias'] : ['x', 'up'];
    const down = bias ? ['hidden', 'down', 'down_bias'] : ['hidden', 'down'];
    const inner = activations[activation];
    if (!inner) return null;
    let nodes;
    if (gated) {
      weights.gate = matrix(given.gate, h, d);
      const gate = ['x', 'gate'];
      if (bias && given.gate_bias) {
        weights.gate_bias = vector(given.gate_bias);
        gate.push('gate_bias');
      }
      nodes = [['Gemm', gate, ['g']], ['Gemm', up, ['u']], ...inner('g', 'a'), ['Mul', ['a', 'u'], ['hidden']]];
    } else if (bias && activation === 'gelu_erf') {
      // A few per cent faster than Gemm with the bias and Gelu.
      nodes = [
        ['MatMul', ['x', 'up'], ['u']],
        [microsoft('BiasGelu'), ['u', 'up_bias'], ['hidden']],
      ];
    } else if (bias && activation === 'gelu_tanh') {
      nodes = [
        ['MatMul', ['x', 'up'], ['u']],
        [microsoft('FastGelu'), ['u', 'up_bias'], ['hidden']],
      ];
    } else nodes = [['Gemm', up, ['u']], ...inner('u', 'hidden')];
    return {
      nodes: [...nodes, ['Gemm', down, ['y']]],
      weights,
      inputs: { x: [x, [rows, d]] },
      outputs: { y: [rows, d] },
    };
  },

  norm({ norm, rows, d, x, weight, bias, eps }) {
    const weights = { weight: vector(weight), ...(bias && { bias: vector(bias) }) };
    const operator = { layer_norm: 'LayerNormalization', rms_norm: 'RMSNormalization' }[norm];
    if (!operator || (norm === 'rms_norm' && bias)) return null;
    const nodes = [[operator, ['x', ...Object.keys(weights)], ['y'], { axis: 1, epsilon: real(eps) }]];
    return { nodes, weights, inputs: { x: [x, [rows, d]] }, outputs: { y: [rows, d] } };
  },

  add_norm({ norm, rows, d, x, residual, weight, bias, eps }) {
    const operator = {
      layer_norm: microsoft('SkipLayerNormalization'),
      rms_norm: microsoft('SkipSimplifiedLayerNormalization'),
    }[norm];
    if (!operator || (norm === 'rms_norm' && bias)) return null;
    const weights = { weight: vector(weight), ...(bias && { bias: vector(bias) }) };
    const inputs = ['x', 'residual', ...Object.keys(weights)];
    const shape = [rows, d];
    return {
      nodes: [[operator, inputs, ['y', '', '', 'sum'], { epsilon: real(eps) }]],
      weights,
      inputs: { x: [x, shape], residual: [residual, shape] },
      outputs: { sum: shape, y: shape },
    };
  },

  softmax: ({ log, rows, d, x }) => ({
    nodes: [[log ? 'LogSoftmax' : 'Softmax', ['x'], ['y'], { axis: 1 }]],
    inputs: { x: [x, [rows, d]] },
    outputs: { y: [rows, d] },
  }),

  activation({ activation, n, x }) {
    if (!activations[activation]) return null;
    return { nodes: activations[activation]('x', 'y'), inputs: { x: [x, flat(n)] }, outputs: { y: flat(n) } };
  },

  glu({ activation, n, gate, up }) {
    if (!activations[activation]) return null;
    const nodes = [...activations[activation]('gate', 'a'), ['Mul', ['a', 'up'], ['y']]];
    return { nodes, inputs: { gate: [gate, flat(n)], up: [up, flat(n)] }, outputs: { y: flat(n) } };
  },

  linear({ rows, in: inner, out, x, weight, bias, activation = 'identity' }) {
    if (!activations[activation]) return null;
    const weights = { weight: matrix(weight, out, inner), ...(bias && { bias: vector(bias) }) };
    const product = (y) => ['Gemm', ['x', ...Object.keys(weights)], [y]];
    const nodes = activation === 'identity' ? [product('y')] : [product('z'), ...activations[activation]('z', 'y')];
    return { nodes, weights, inputs: { x: [x, [rows, inner]] }, outputs: { y: [rows, out] } };
  },

  // It has no gradients; the two products are what a user would compose.
  linear_backward: ({ rows, in: inner, out, x, weight, dy }) => ({
    nodes: [
      ['MatMul', ['dy', 'weight'], ['dx']],
      ['Gemm', ['dy', 'x'], ['dweight'], { transA: 1 }],
    ],
    weights: { weight: { data: weight, shape: [out, inner] } },
    inputs: { x: [x, [rows, inner]], dy: [dy, [rows, out]] },
    outputs: { dx: [rows, inner], dweight: [out, inner] },
  }),
};

const shapes = (tensors) => Object.fromEntries(Object.entries(tensors).map(([name, [, shape]]) => [name, shape]));

/** Identity in place of the work, if results have the inputs' shape; an input that is left over is copied all the same. */
function idleGraph({ inputs, outputs }) {
  const given = Object.entries(inputs);
  const nodes = Object.keys(outputs).map((name, i) => ['Identity', [given[i % given.length][0]], [name]]);
  const [, [, shape]] = given[0];
  const alike = [...Object.values(shapes(inputs)), ...Object.values(outputs)].every((one) => `${one}` === `${shape}`);
  return alike ? { nodes, inputs, outputs } : null;
}

export async function create({ base }) {
  const node = typeof process === 'object' && process.versions?.node;
  const start = performance.now();
  const ort = await import(`${base}onnxruntime-web/dist/ort.${node ? 'node.min' : 'wasm.bundle.min'}.mjs`);
  ort.env.wasm.numThreads = 1;
  ort.env.logLevel = 'error';
  const session = (bytes) => ort.InferenceSession.create(bytes, { graphOptimizationLevel: 'all' });
  const first = await session(model({ nodes: activations.relu('x', 'y'), inputs: { x: [1] }, outputs: { y: [1] } }));
  const initialised = performance.now() - start;
  await first.release();

  async function job({ nodes, weights, inputs, outputs }) {
    const bytes = model({ nodes, weights, inputs: shapes(inputs), outputs });
    const made = await session(bytes);
    const feeds = Object.fromEntries(
      Object.entries(inputs).map(([name, [data, shape]]) => [name, new ort.Tensor('float32', data, shape)]),
    );
    const names = Object.keys(outputs);
    let last = null;
    const run = async () => {
      last = await made.run(feeds);
    };
    return {
      run,
      async result() {
        if (!last) await run();
        return names.length === 1 ? last[names[0]].data : names.map((name) => last[name].data);
      },
      dispose: () => made.release(),
    };
  }

  async function make(spec) {
    if (spec.op === 'load') return loading();
    const graph = graphs[spec.op]?.(spec);
    if (!graph) return null;
    const made = await job(graph);
    const idle = idleGraph(graph);
    if (!idle) return made;
    const nothing = await job(idle);
    return { ...made, idle: nothing.run, dispose: () => Promise.all([made.dispose(), nothing.dispose()]) };
  }

  // A session of an FFN of 64/256, the runtime being there already.
  function loading() {
    const [rows, d, h] = [1, 64, 256];
    const data = (n) => new Float32Array(n).fill(0.01);
    const weights = { up: data(d * h), up_bias: data(h), down: data(d * h), down_bias: data(d) };
    const graph = graphs.ffn({ rows, d, h, activation: 'gelu_erf', bias: true, x: data(d), weights });
    const bytes = model({ ...graph, inputs: shapes(graph.inputs) });
    const made = [];
    return {
      async run() {
        made.push(await session(bytes));
      },
      result: async () => new Float32Array([made.length > 0 ? 1 : 0]),
      dispose: () => Promise.all(made.splice(0).map((one) => one.release())),
    };
  }

  return {
    name: 'onnxruntime-web',
    version: ort.env.versions.web,
    note: `wasm, 1 thread, weights as initialisers, graph optimisation "all"; every call copies inputs and results; import, 14 MB of wasm and the first session took ${Math.round(initialised)} ms`,
    make,
    async dispose() {},
  };
}
