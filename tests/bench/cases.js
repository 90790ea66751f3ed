// What is measured: shapes of real models, their data, how much work each is, and who takes part.

export const own = ['relaxed', 'simd'];
export const peers = ['ort', 'tfjs', 'jax', 'plain'];
const everyone = [...own, ...peers];
const withScalar = [...own, 'scalar', ...peers];
/** `arrays`: the same call with Float32Arrays in and out, as the peers that copy are called. */
const elementwise = [...own, 'scalar', 'relaxed arrays', ...peers];

// ---- Specifications -------------------------------------------------------------------------------------------------

const bert = (rows, more) => ({
  op: 'ffn',
  rows,
  d: 768,
  h: 3072,
  activation: 'gelu_erf',
  gated: false,
  bias: true,
  ...more,
});
const gpt2 = (rows) => bert(rows, { activation: 'gelu_tanh' });
const swiglu = (d, h) => (rows) => ({ op: 'ffn', rows, d, h, activation: 'silu', gated: true, bias: false });
const smol = swiglu(576, 1536);
const tiny = swiglu(2048, 5632);
const small = (rows, more) => bert(rows, { d: 64, h: 256, ...more });

const norm = (op, name) => ({ op, norm: name, rows: 512, d: 768, eps: name === 'rms_norm' ? 1e-6 : 1e-5 });
const softmax = (log, uniform = false) => ({ op: 'softmax', log, rows: 512, d: 768, uniform });
const activation = (name, uniform) => ({ op: 'activation', activation: name, n: 1 << 20, uniform });
const linear = (op, rows) => ({ op, rows, in: 768, out: 3072 });

// ---- Groups: what is measured together, and can be compared ------------------------------------------------------------

/**
 * @typedef {{ label: string, spec: any, systems: string[] }} Item
 * @typedef {{ name: string, items: Item[], limits: string[], quick?: boolean }} Group
 */

export const rowsText = (rows) => (rows === 1 ? '1 row' : `${rows} rows`);

/** An FFN at some number of rows; beside it, other items of ours alone. */
const ffn = (name, spec, { systems = everyone, beside = [], quick = false } = {}) => ({
  name: `ffn ${name} ${spec.rows}`,
  quick,
  items: [
    { label: rowsText(spec.rows), spec, systems },
    ...beside.map((other) => ({ label: `${rowsText(other.rows)}, d = ${other.d}`, spec: other, systems: own })),
  ],
  limits: ['peak', 'read'],
});

const powers = (from, to) => Array.from({ length: Math.log2(to / from) + 1 }, (_, i) => from * 2 ** i);
const sweep = (name, specs) => ({
  name: `sweep ${name}`,
  items: specs.map((spec) => ({ label: `${spec.rows} x ${spec.d}/${spec.h}`, spec, systems: own })),
  limits: ['peak'],
});

/** @type {Group[]} */
export const groups = [
  { name: 'limits', quick: true, items: [], limits: ['peak', 'read', 'copy'] },
  ffn('bert', bert(1), { quick: true }),
  ffn('bert', bert(2)),
  ffn('bert', bert(5)),
  ffn('bert', bert(8), { beside: [bert(7)], quick: true }),
  ffn('bert', bert(32)),
  ffn('bert', bert(128), { systems: withScalar, beside: [bert(127), bert(128, { d: 767 })], quick: true }),
  ffn('bert', bert(512)),
  ffn('gpt2', gpt2(1)),
  ffn('gpt2', gpt2(128)),
  ffn('smollm2', smol(1)),
  ffn('smollm2', smol(8)),
  ffn('smollm2', smol(128), { quick: true }),
  ffn('tinyllama', tiny(1)),
  ffn('tinyllama', tiny(8)),
  ffn('tinyllama', tiny(128)),
  ffn('small', small(1)),
  ffn('small', small(8)),
  ffn('small', small(128)),
  ffn('small', small(512)),
  {
    name: 'norm',
    quick: true,
    items: [
      { label: 'layer_norm', spec: norm('norm', 'layer_norm'), systems: elementwise },
      { label: 'rms_norm', spec: norm('norm', 'rms_norm'), systems: elementwise },
      { label: 'add + layer_norm', spec: norm('add_norm', 'layer_norm'), systems: elementwise },
      { label: 'add + rms_norm', spec: norm('add_norm', 'rms_norm'), systems: elementwise },
    ],
    limits: ['copy'],
  },
  {
    name: 'softmax',
    quick: true,
    items: [
      { label: 'softmax', spec: softmax(false), systems: elementwise },
      { label: 'softmax, uniform +-8', spec: softmax(false, true), systems: elementwise },
      { label: 'log_softmax', spec: softmax(true), systems: elementwise },
    ],
    limits: ['copy'],
  },
  ...[false, true].map((uniform) => ({
    name: `activation ${uniform ? 'uniform +-8' : 'N(0,1)'}`,
    quick: !uniform,
    items: ['gelu_erf', 'gelu_tanh', 'silu'].map((name) => ({
      label: name,
      spec: activation(name, uniform),
      systems: elementwise,
    })),
    limits: ['copy'],
  })),
  {
    name: 'glu',
    items: [{ label: 'swiglu', spec: { op: 'glu', activation: 'silu', n: 1 << 20 }, systems: elementwise }],
    limits: ['copy'],
  },
  {
    name: 'linear',
    items: [{ label: 'linear', spec: linear('linear', 128), systems: ['relaxed kernel', 'simd kernel', ...everyone] }],
    limits: ['peak'],
  },
  {
    name: 'linear backward',
    items: [
      {
        label: 'dX and dW',
        spec: linear('linear_backward', 128),
        systems: ['relaxed kernel', 'simd kernel', ...everyone],
      },
    ],
    limits: ['peak'],
  },
  {
    name: 'step',
    items: [
      {
        label: 'forward, backward, Adam',
        spec: { op: 'step', rows: 512, d: 256, h: 1024, activation: 'gelu_erf', rate: 1e-3 },
        systems: everyone,
      },
      { label: 'forward', spec: bert(512, { d: 256, h: 1024 }), systems: own },
    ],
    limits: ['peak'],
  },
  {
    name: 'call',
    quick: true,
    items: [
      {
        label: '16 values',
        spec: { op: 'activation', activation: 'gelu_erf', n: 16 },
        systems: ['relaxed kernel', 'relaxed', 'relaxed arrays', ...peers],
      },
    ],
    limits: [],
  },
  {
    name: 'load',
    items: [{ label: 'module cached', spec: { op: 'load' }, systems: [...own, 'ort', 'tfjs'] }],
    limits: [],
  },
  {
    // Nothing flushes them to zero in WebAssembly, and processors are slow with them.
    name: 'subnormal',
    items: [1, 1e-40].flatMap((scale) =>
      [
        { label: 'gelu_erf', spec: { ...activation('gelu_erf'), scale } },
        { label: 'rms_norm', spec: { ...norm('norm', 'rms_norm'), scale } },
        { label: 'add + layer_norm', spec: { ...norm('add_norm', 'layer_norm'), scale } },
        { label: 'ffn, 8 rows', spec: bert(8, { bias: false, scale }) },
        { label: 'ffn, 128 rows', spec: bert(128, { bias: false, scale }) },
      ].map((item) => ({ ...item, label: `${item.label}, x N(0, 1) * ${scale}`, systems: [...own, 'plain'] })),
    ),
    limits: [],
  },
  sweep(
    'rows',
    powers(1, 1024).map((rows) => bert(rows)),
  ),
  sweep(
    'size',
    [64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048].map((d) => bert(128, { d, h: 4 * d })),
  ),
];

// ---- Work -----------------------------------------------------------------------------------------------------------

/**
 * Floating-point operations of the matrix products, and the bytes that have to move at least: every operand read once,
 * every result written once; of them `weights` those of the weights.
 */
export function work(spec) {
  const { op, rows, d, h, n } = spec;
  const bytes = (count) => ({ flops: 0, bytes: 4 * count });
  switch (op) {
    case 'ffn': {
      const products = spec.gated ? 3 : 2;
      const weights = 4 * (products * d * h + (spec.bias ? d + h : 0));
      return { flops: 2 * products * rows * d * h, bytes: weights + 8 * rows * d, weights };
    }
    case 'norm':
    case 'softmax':
      return bytes(2 * rows * d);
    case 'add_norm':
      return bytes(4 * rows * d);
    case 'activation':
      return bytes(2 * n);
    case 'glu':
      return bytes(3 * n);
    case 'linear':
      return { flops: 2 * rows * spec.in * spec.out, bytes: 4 * (spec.in * spec.out + rows * (spec.in + spec.out)) };
    case 'linear_backward':
      return {
        flops: 4 * rows * spec.in * spec.out,
        bytes: 4 * (2 * spec.in * spec.out + rows * (2 * spec.in + spec.out)),
      };
    case 'step': // forward 2 products, backward 3: the gradient by x is not needed
      return { flops: 10 * rows * d * h, bytes: 4 * (2 * d * h * 7) };
    default:
      return { flops: 0, bytes: 0 };
  }
}

// ---- Data -----------------------------------------------------------------------------------------------------------

/** Uniform numbers in [-1, 1), the same for the same seed (Steele and Vigna's mix of a counter). */
function generator(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let z = Math.imul(state ^ (state >>> 15), state | 1);
    z ^= z + Math.imul(z ^ (z >>> 7), z | 61);
    return (z ^ (z >>> 14)) / 2 ** 31;
  };
}

const uniform = (n, seed, scale) => {
  const next = generator(seed);
  const result = new Float32Array(n);
  for (let i = 0; i < n; i++) result[i] = next() * scale;
  return result;
};

/** N(0, 1), by Box and Muller. */
const normal = (n, seed) => {
  const next = generator(seed);
  const result = new Float32Array(n);
  for (let i = 0; i < n; i++) {
    result[i] = Math.sqrt(-2 * Math.log((next() + 1) / 2 + 2 ** -33)) * Math.cos(Math.PI * next());
  }
  return result;
};

/** @param {{ scale?: number }} spec */
const scaledNormal = (n, seed, { scale = 1 }) => normal(n, seed).map((value) => value * scale);

/** The specification with its data. Weights as PyTorch initialises them, so that activations see usual values. */
export function filled(spec) {
  const { op, rows, d, h, n } = spec;
  const matrix = (out, input, seed) => uniform(out * input, seed, 1 / Math.sqrt(input));
  switch (op) {
    case 'ffn':
    case 'step': {
      const biased = op === 'step' || spec.bias;
      const weights = {
        up: matrix(h, d, 1),
        gate: spec.gated ? matrix(h, d, 2) : null,
        down: matrix(d, h, 3),
        up_bias: biased ? uniform(h, 4, 0.1) : null,
        down_bias: biased ? uniform(d, 5, 0.1) : null,
      };
      return {
        ...spec,
        x: scaledNormal(rows * d, 6, spec),
        weights,
        target: op === 'step' ? normal(rows * d, 7) : null,
      };
    }
    case 'norm':
    case 'add_norm': {
      const bias = spec.norm === 'layer_norm' ? normal(d, 9) : null;
      const residual = op === 'add_norm' ? scaledNormal(rows * d, 10, spec) : null;
      return { ...spec, x: scaledNormal(rows * d, 6, spec), weight: normal(d, 8), bias, residual };
    }
    case 'softmax':
      return { ...spec, x: spec.uniform ? uniform(rows * d, 6, 8) : normal(rows * d, 6) };
    case 'activation':
      return { ...spec, x: spec.uniform ? uniform(n, 6, 8) : scaledNormal(n, 6, spec) };
    case 'glu':
      return { ...spec, gate: normal(n, 6), up: normal(n, 11) };
    case 'linear':
      return { ...spec, x: normal(rows * spec.in, 6), weight: matrix(spec.out, spec.in, 1) };
    case 'linear_backward': {
      const dy = normal(rows * spec.out, 12);
      return { ...spec, x: normal(rows * spec.in, 6), weight: matrix(spec.out, spec.in, 1), dy };
    }
    default:
      return spec;
  }
}
