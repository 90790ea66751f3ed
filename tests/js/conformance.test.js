// The forward cases of ../shared/conformance, values of 15 public projects, in every variant: each output within the
// case's `tight_atol`. Every operator is mapped to the API here or skipped by name with a reason; an operator, attribute
// or output that is neither fails.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { instance, list, readJson, skipWithout, values, variants, worst } from './shared.js';

/** At least so many cases were there when this was written: a folder that lost some fails. */
const KNOWN_CASES = 612;

const later = 'later issue';
const skips = {
  dropout: later,
  nll_loss: later,
  soft_cross_entropy: later,
  softmax_cross_entropy: later,
  adagrad_onnx: later,
  adam_onnx: later,
  momentum_onnx: later,
  optimizer_given_gradients: later,
  optimizer_linear_regression: later,
  optimizer_linear_sum: later,
  optimizer_trajectory: later,
  prelu: 'a slope per channel is not offered',
  thresholded_relu: 'not offered',
  exp: 'not offered (inside other operators only)',
  erf: 'not offered (inside gelu only)',
  ...Object.fromEntries(
    ['affine', 'clamp', 'div', 'log', 'lp_norm', 'mul', 'reciprocal', 'sqrt', 'sub'].map((op) => [op, 'not offered']),
  ),
  ...Object.fromEntries(
    ['l2', 'log_sum_exp', 'max', 'mean', 'sum', 'sum_square'].map((op) => [
      `reduce_${op}`,
      'reductions are not offered',
    ]),
  ),
};

const size = (shape) => shape.reduce((a, b) => a * b, 1);
const axisOf = (axis, rank) => (axis < 0 ? axis + rank : axis);

// NumPy's broadcasting of a tensor to a shape.
function broadcast({ data, shape }, to) {
  const out = new Float32Array(size(to));
  const padded = [...Array(to.length - shape.length).fill(1), ...shape];
  for (let i = 0; i < out.length; i++) {
    let [rest, from, stride] = [i, 0, 1];
    for (let axis = to.length - 1; axis >= 0; axis--) {
      if (padded[axis] !== 1) from += (rest % to[axis]) * stride;
      rest = Math.floor(rest / to[axis]);
      stride *= padded[axis];
    }
    out[i] = data[from];
  }
  return { data: out, shape: to };
}

const broadcastShape = (a, b) => {
  const rank = Math.max(a.length, b.length);
  const at = (shape, i) => shape[i - rank + shape.length] ?? 1;
  return Array.from({ length: rank }, (_, i) => Math.max(at(a, i), at(b, i)));
};

// The two halves of a tensor along an axis.
function halves({ data, shape }, axis) {
  const inner = size(shape.slice(axis + 1));
  const half = shape[axis] / 2;
  const halfShape = shape.with(axis, half);
  const take = (from) => ({
    shape: halfShape,
    data: Float32Array.from({ length: size(halfShape) }, (_, i) => {
      const outer = Math.floor(i / (half * inner));
      return data[outer * 2 * half * inner + from * half * inner + (i % (half * inner))];
    }),
  });
  return [take(0), take(1)];
}

const transposed = ({ data, shape: [rows, cols] }) => ({
  shape: [cols, rows],
  data: Float32Array.from({ length: rows * cols }, (_, i) => data[(i % rows) * cols + Math.floor(i / rows)]),
});

// a (..., M, K) times b (..., K, N) as NumPy has it, one `linear` a pair of matrices.
function matmul(an, a, b) {
  const left = a.shape.length === 1 ? { data: a.data, shape: [1, ...a.shape] } : a;
  const [m, k] = left.shape.slice(-2);
  const n = b.shape.at(-1);
  const batch = broadcastShape(left.shape.slice(0, -2), b.shape.slice(0, -2));
  const wideA = broadcast(left, [...batch, m, k]).data;
  const wideB = broadcast(b, [...batch, k, n]).data;
  const y = new Float32Array(size(batch) * m * n);
  for (let i = 0; i < size(batch); i++) {
    const rows = { data: wideA.slice(i * m * k, (i + 1) * m * k), shape: [m, k] };
    const weight = { data: wideB.slice(i * k * n, (i + 1) * k * n), shape: [k, n] };
    y.set(values(an.linear(rows, weight, { layout: 'in_out' })), i * m * n);
  }
  return y;
}

// alpha A B + beta C: `linear` gives A B, with C as its bias where it is one row and alpha is 1.
function gemm(an, { a, b, c }, { alpha, beta, trans_a, trans_b }) {
  const x = trans_a ? transposed(a) : a;
  const layout = trans_b ? 'out_in' : 'in_out';
  const n = b.shape[trans_b ? 0 : 1];
  const scaled = c && { data: c.data.map((v) => v * beta), shape: c.shape };
  if (c && alpha === 1 && size(c.shape) === n && c.shape.at(-1) === n) {
    return an.linear(x, b, { layout, bias: scaled.data });
  }
  const shape = [x.shape[0], n];
  const product = { data: values(an.linear(x, b, { layout })), shape };
  const zero = { data: new Float32Array(1), shape: [1] };
  return alpha === 1 && !c ? product.data : an.add(product, broadcast(scaled ?? zero, shape), { alpha });
}

const geluName = ({ approximate }) => ({ none: 'gelu_erf', tanh: 'gelu_tanh' })[approximate];

const activation = (name, params = {}) => ({
  attrs: Object.keys(params),
  run: (an, { x }, attrs) => ({
    y: an.activation(name, x, Object.fromEntries(Object.entries(attrs).map(([attr, value]) => [params[attr], value]))),
  }),
});

// layer_norm and rms_norm over a list of axes; `axis` is what ONNX derives the list from.
const axesNorm = (name) => ({
  attrs: ['axis', 'axes', 'epsilon'],
  run(an, { x, scale, bias }, { axes, epsilon }) {
    const { y, mean, rstd } = an.norm(name, x, { weight: scale, bias, axes, eps: epsilon, stats: true });
    return { y, mean, inv_std_dev: rstd };
  },
});

const operators = {
  relu: activation('relu'),
  leaky_relu: activation('leaky_relu', { alpha: 'negative_slope' }),
  elu: activation('elu', { alpha: 'alpha' }),
  celu: activation('celu', { alpha: 'alpha' }),
  selu: activation('selu', { alpha: 'alpha', gamma: 'gamma' }),
  silu: activation('silu'),
  mish: activation('mish'),
  softplus: activation('softplus', { beta: 'beta' }),
  softsign: activation('softsign'),
  sigmoid: activation('sigmoid'),
  log_sigmoid: activation('log_sigmoid'),
  tanh: activation('tanh'),
  hard_sigmoid: activation('hard_sigmoid', { alpha: 'alpha', beta: 'beta' }),
  hard_swish: activation('hard_swish'),
  gelu: { attrs: ['approximate'], run: (an, { x }, attrs) => ({ y: an.activation(geluName(attrs), x) }) },
  bias_gelu: {
    attrs: ['approximate'],
    run(an, { x, bias }, attrs) {
      const sum = values(an.add(x, broadcast(bias, x.shape)));
      return { y: an.activation(geluName(attrs), { data: sum, shape: x.shape }) };
    },
  },
  softmax: { attrs: ['axis'], run: (an, { x }, { axis }) => ({ y: an.softmax(x, { axis }) }) },
  softmin: {
    attrs: ['axis'],
    run: (an, { x }, { axis }) => ({ y: an.softmax({ data: x.data.map((v) => -v), shape: x.shape }, { axis }) }),
  },
  log_softmax: { attrs: ['axis'], run: (an, { x }, { axis }) => ({ y: an.softmax(x, { axis, log: true }) }) },
  // PyTorch's GLU: the gate is the second half.
  glu: {
    attrs: ['axis'],
    run(an, { x }, { axis }) {
      const [up, gate] = halves(x, axisOf(axis, x.shape.length));
      return { y: an.glu('glu', gate, up) };
    },
  },
  // ONNX's SwiGLU: the gate is the first input, alpha is swish's beta.
  swiglu: { attrs: ['alpha'], run: (an, { a, b }, { alpha }) => ({ y: an.glu('swish', a, b, { beta: alpha }) }) },
  swiglu_dense: {
    attrs: [],
    run(an, { x, w_gate, w_up, b_gate, b_up }) {
      const gate = an.linear(x, w_gate, { bias: b_gate, layout: 'in_out' });
      const up = an.linear(x, w_up, { bias: b_up, layout: 'in_out' });
      return { y: an.glu('swiglu', gate, up) };
    },
  },
  dense: {
    attrs: ['weight_layout'],
    run: (an, { x, w, b }, attrs) => ({ y: an.linear(x, w, { bias: b, layout: attrs.weight_layout }) }),
  },
  gemm: {
    attrs: ['alpha', 'beta', 'trans_a', 'trans_b'],
    run: (an, inputs, attrs) => ({ y: gemm(an, inputs, attrs) }),
  },
  matmul: { attrs: [], run: (an, { a, b }) => ({ y: matmul(an, a, b) }) },
  add: {
    attrs: [],
    run(an, { a, b }) {
      const shape = broadcastShape(a.shape, b.shape);
      return { y: an.add(broadcast(a, shape), broadcast(b, shape)) };
    },
  },
  layer_norm: axesNorm('layer_norm'),
  rms_norm: axesNorm('rms_norm'),
  mean_variance_norm: {
    attrs: ['axes', 'epsilon'],
    run: (an, { x }, { axes, epsilon }) => ({ y: an.norm('layer_norm', x, { axes, eps: epsilon }) }),
  },
  // The attribute's momentum weighs the old value, the API's the new one, as PyTorch's.
  batch_norm: {
    attrs: ['axis', 'epsilon', 'training', 'momentum', 'running_var'],
    run(an, { x, scale, bias, mean, var: variance }, { axis, epsilon, training, momentum, running_var }) {
      const runningMean = an.tensor(mean.data);
      const runningVar = an.tensor(variance.data);
      const options = { weight: scale, bias, eps: epsilon, channelAxis: axis, runningMean, runningVar, training };
      if (training) Object.assign(options, { momentum: 1 - momentum, biasedRunningVar: running_var === 'biased' });
      const y = an.norm('batch_norm', x, options);
      return { y, running_mean: runningMean, running_var: runningVar };
    },
  },
  group_norm: {
    attrs: ['num_groups', 'epsilon'],
    run(an, { x, scale, bias }, { num_groups, epsilon }) {
      const options = { weight: scale, bias, eps: epsilon, groups: num_groups, channelAxis: 1, stats: true };
      const { y, mean, rstd } = an.norm('group_norm', x, options);
      return { y, mean, inv_std_dev: rstd };
    },
  },
  instance_norm: {
    attrs: ['layout', 'epsilon'],
    run(an, { x, scale, bias }, { layout, epsilon }) {
      const channelAxis = { channels_first: 1, channels_last: -1 }[layout];
      return { y: an.norm('instance_norm', x, { weight: scale, bias, eps: epsilon, channelAxis }) };
    },
  },
  skip_layer_norm: {
    attrs: ['epsilon'],
    run(an, { x, skip, scale, bias, skip_bias }, { epsilon }) {
      const biased = skip_bias ? { data: values(an.add(x, broadcast(skip_bias, x.shape))), shape: x.shape } : x;
      return an.addNorm('layer_norm', biased, skip, { weight: scale, bias, eps: epsilon });
    },
  },
};

const numbers = (data) => Float32Array.from(data, Number);
const tensors = (entries) =>
  Object.fromEntries(entries.map(({ name, shape, data }) => [name, { shape, data: numbers(data) }]));

// Runs one case: null, or what is wrong with it.
function verify(an, op, attrs, inputs, outputs, limit) {
  const unknown = Object.keys(attrs).filter((attr) => !operators[op].attrs.includes(attr));
  if (unknown.length > 0) return `attribute ${unknown.join(', ')} is not mapped`;
  let got;
  try {
    got = operators[op].run(an, inputs, attrs);
  } catch (error) {
    return String(error);
  }
  for (const { name, data } of outputs) {
    if (!got[name]) return `output ${name} is not mapped`;
    const { error, text } = worst(values(got[name]), numbers(data));
    if (!(error <= limit)) return `${name}: ${text}; the limit is ${limit}`;
    row(op).error = Math.max(row(op).error, error / limit);
  }
  return null;
}

const skip = skipWithout('conformance', `about ${KNOWN_CASES} conformance cases in ${variants.length} variants`);
const table = new Map();
const row = (op) => {
  if (!table.has(op)) table.set(op, { passed: 0, failed: 0, skipped: 0, error: 0, reason: '' });
  return table.get(op);
};

if (skip) test('conformance', { skip });
else {
  const files = list('conformance').filter((file) => file.endsWith('.json'));
  const families = files.map((file) => ({ file, ...readJson('conformance', file) }));

  test('the folder has all its cases', () => {
    assert.ok(families.reduce((n, { cases }) => n + cases.length, 0) >= KNOWN_CASES);
  });

  for (const { file, op, cases } of families) {
    const reason = op.endsWith('_backward') ? 'backward: later issue' : skips[op];
    if (reason) {
      Object.assign(row(op), { skipped: row(op).skipped + cases.length, reason });
      continue;
    }
    test(file.replace(/\.json$/, ''), async () => {
      assert.ok(operators[op], `${op}: neither mapped to the API nor skipped with a reason`);
      const failures = [];
      for (const variant of variants) {
        const an = await instance(variant);
        for (const { name, attrs, inputs, outputs, check } of cases) {
          const wrong = an.scope(() => verify(an, op, attrs, tensors(inputs), outputs, check.tight_atol));
          row(op)[wrong ? 'failed' : 'passed']++;
          if (wrong) failures.push(`${name}, ${variant}: ${wrong}`);
        }
      }
      assert.deepEqual(failures, []);
    });
  }

  after(() => {
    console.log('conformance: operator, passed and failed (cases x variants), largest error / limit, skipped cases');
    for (const [op, { passed, failed, skipped, error, reason }] of [...table].sort()) {
      if (skipped > 0) console.log(`  ${op.padEnd(28)} skipped ${skipped}: ${reason}`);
      else console.log(`  ${op.padEnd(28)} passed ${passed}, failed ${failed}, ${error.toFixed(3)}`);
    }
    const total = (key) => [...table.values()].reduce((n, entry) => n + entry[key], 0);
    console.log(`  total: passed ${total('passed')}, failed ${total('failed')}, skipped ${total('skipped')}`);
  });
}
