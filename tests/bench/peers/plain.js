// Plain JavaScript as a careful author writes it: typed arrays, products in tiles of 4 rows x 4 outputs, two passes for a
// norm, Math.exp, and the usual approximation of erf.
//
// Sums are doubles: a 4 x 4 tile of them runs at 2.2 GFLOP/s, rounding every product and sum by Math.fround at 1.9,
// one output at a time at 0.7; tiles of 2 x 4 and 4 x 2 at 1.8, weights kept as doubles are no faster.

// Abramowitz and Stegun 7.1.26, |error| < 1.5e-7.
function erf(x) {
  const t = 1 / (1 + 0.3275911 * Math.abs(x));
  const polynomial = ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t;
  const y = 1 - polynomial * Math.exp(-x * x);
  return x < 0 ? -y : y;
}

const sigmoid = (x) => 1 / (1 + Math.exp(-x));
const softplus = (x) => Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)));
const elu = (x) => (x > 0 ? x : Math.expm1(x));
const clamp = (x, low, high) => Math.min(Math.max(x, low), high);

const functions = {
  relu: (x) => Math.max(x, 0),
  leaky_relu: (x) => (x > 0 ? x : 0.01 * x),
  relu_squared: (x) => Math.max(x, 0) * Math.max(x, 0),
  elu,
  selu: (x) => 1.0507009873554805 * (x > 0 ? x : 1.6732632423543772 * Math.expm1(x)),
  celu: elu,
  gelu_erf: (x) => 0.5 * x * (1 + erf(x * Math.SQRT1_2)),
  // 0.5 (1 + tanh(u)) as sigmoid(2u): one exp instead of Math.tanh, in a fifth of its time.
  gelu_tanh: (x) => x * sigmoid(1.5957691216057308 * (x + 0.044715 * x * x * x)),
  gelu_quick: (x) => x * sigmoid(1.702 * x),
  silu: (x) => x * sigmoid(x),
  swish: (x) => x * sigmoid(x),
  mish: (x) => x * Math.tanh(softplus(x)),
  softplus,
  softsign: (x) => x / (1 + Math.abs(x)),
  hard_sigmoid: (x) => clamp(0.2 * x + 0.5, 0, 1),
  hard_swish: (x) => (x * clamp(x + 3, 0, 6)) / 6,
  sigmoid,
  log_sigmoid: (x) => -softplus(-x),
  tanh: Math.tanh,
  identity: (x) => x,
};

// A loop for every function, so that the engine inlines it: one loop that is given different functions calls them.
const loop = (name) =>
  new Function('f', 'return (y, x) => { for (let i = 0; i < x.length; i++) y[i] = f(x[i]); };')(functions[name]);
const loops = Object.fromEntries(Object.keys(functions).map((name) => [name, loop(name)]));

/** y = x W^T + b, W as [out, in]. */
function product(y, x, weight, bias, rows, n, out) {
  const columns = out - (out % 4);
  const whole = rows - (rows % 4);
  for (let o = 0; o < columns; o += 4) {
    const [w0, w1, w2, w3] = [o * n, (o + 1) * n, (o + 2) * n, (o + 3) * n];
    const [b0, b1, b2, b3] = bias ? [bias[o], bias[o + 1], bias[o + 2], bias[o + 3]] : [0, 0, 0, 0];
    for (let i = 0; i < whole; i += 4) tile(i, o, w0, w1, w2, w3, b0, b1, b2, b3);
    for (let i = whole; i < rows; i++) {
      let [s0, s1, s2, s3] = [b0, b1, b2, b3];
      for (let k = 0, at = i * n; k < n; k++) {
        const p = x[at + k];
        s0 += p * weight[w0 + k];
        s1 += p * weight[w1 + k];
        s2 += p * weight[w2 + k];
        s3 += p * weight[w3 + k];
      }
      const to = i * out + o;
      y[to] = s0;
      y[to + 1] = s1;
      y[to + 2] = s2;
      y[to + 3] = s3;
    }
  }
  for (let o = columns; o < out; o++) {
    for (let i = 0; i < rows; i++) {
      let sum = bias ? bias[o] : 0;
      for (let k = 0; k < n; k++) sum += x[i * n + k] * weight[o * n + k];
      y[i * out + o] = sum;
    }
  }
  function tile(i, o, w0, w1, w2, w3, b0, b1, b2, b3) {
    let [a0, a1, a2, a3] = [b0, b1, b2, b3];
    let [c0, c1, c2, c3] = [b0, b1, b2, b3];
    let [d0, d1, d2, d3] = [b0, b1, b2, b3];
    let [e0, e1, e2, e3] = [b0, b1, b2, b3];
    const [x0, x1, x2, x3] = [i * n, (i + 1) * n, (i + 2) * n, (i + 3) * n];
    for (let k = 0; k < n; k++) {
      const [p0, p1, p2, p3] = [x[x0 + k], x[x1 + k], x[x2 + k], x[x3 + k]];
      const q0 = weight[w0 + k];
      a0 += p0 * q0;
      c0 += p1 * q0;
      d0 += p2 * q0;
      e0 += p3 * q0;
      const q1 = weight[w1 + k];
      a1 += p0 * q1;
      c1 += p1 * q1;
      d1 += p2 * q1;
      e1 += p3 * q1;
      const q2 = weight[w2 + k];
      a2 += p0 * q2;
      c2 += p1 * q2;
      d2 += p2 * q2;
      e2 += p3 * q2;
      const q3 = weight[w3 + k];
      a3 += p0 * q3;
      c3 += p1 * q3;
      d3 += p2 * q3;
      e3 += p3 * q3;
    }
    const sums = [a0, a1, a2, a3, c0, c1, c2, c3, d0, d1, d2, d3, e0, e1, e2, e3];
    for (let r = 0; r < 4; r++) for (let c = 0; c < 4; c++) y[(i + r) * out + o + c] = sums[4 * r + c];
  }
}

function transpose(turned, x, rows, columns) {
  for (let i = 0; i < rows; i++) for (let j = 0; j < columns; j++) turned[j * rows + i] = x[i * columns + j];
  return turned;
}

function layerNorm(y, x, weight, bias, rows, d, eps) {
  for (let r = 0, at = 0; r < rows; r++, at += d) {
    let mean = 0;
    for (let j = 0; j < d; j++) mean += x[at + j];
    mean /= d;
    let variance = 0;
    for (let j = 0; j < d; j++) variance += (x[at + j] - mean) * (x[at + j] - mean);
    const factor = 1 / Math.sqrt(variance / d + eps);
    if (bias) for (let j = 0; j < d; j++) y[at + j] = (x[at + j] - mean) * factor * weight[j] + bias[j];
    else for (let j = 0; j < d; j++) y[at + j] = (x[at + j] - mean) * factor * weight[j];
  }
}

function rmsNorm(y, x, weight, bias, rows, d, eps) {
  for (let r = 0, at = 0; r < rows; r++, at += d) {
    let sum = 0;
    for (let j = 0; j < d; j++) sum += x[at + j] * x[at + j];
    const factor = 1 / Math.sqrt(sum / d + eps);
    if (bias) for (let j = 0; j < d; j++) y[at + j] = x[at + j] * factor * weight[j] + bias[j];
    else for (let j = 0; j < d; j++) y[at + j] = x[at + j] * factor * weight[j];
  }
}

const norms = { layer_norm: layerNorm, rms_norm: rmsNorm };

function softmax(y, x, rows, d, log) {
  for (let r = 0, at = 0; r < rows; r++, at += d) {
    let top = -Infinity;
    for (let j = 0; j < d; j++) if (x[at + j] > top) top = x[at + j];
    let sum = 0;
    if (log) {
      for (let j = 0; j < d; j++) sum += Math.exp(x[at + j] - top);
      const shift = top + Math.log(sum);
      for (let j = 0; j < d; j++) y[at + j] = x[at + j] - shift;
      continue;
    }
    for (let j = 0; j < d; j++) {
      const power = Math.exp(x[at + j] - top);
      y[at + j] = power;
      sum += power;
    }
    const share = 1 / sum;
    for (let j = 0; j < d; j++) y[at + j] *= share;
  }
}

// Each gives [the results' arrays, the work].
const works = {
  ffn({ rows, d, h, activation, gated, bias, x, weights }) {
    const act = loops[activation];
    if (!act) return null;
    const { up, gate, down } = weights;
    const [upBias, gateBias, downBias] = [weights.up_bias, weights.gate_bias, weights.down_bias].map(
      (values) => (bias && values) || null,
    );
    const [u, g, y] = [rows * h, gated ? rows * h : 0, rows * d].map((n) => new Float32Array(n));
    const work = () => {
      product(u, x, up, upBias, rows, d, h);
      if (gated) {
        product(g, x, gate, gateBias, rows, d, h);
        act(g, g);
        for (let i = 0; i < u.length; i++) u[i] *= g[i];
      } else act(u, u);
      product(y, u, down, downBias, rows, h, d);
    };
    return [[y], work];
  },
  norm({ norm, rows, d, x, weight, bias, eps }) {
    if (!norms[norm]) return null;
    const y = new Float32Array(rows * d);
    return [[y], () => norms[norm](y, x, weight, bias, rows, d, eps)];
  },
  add_norm({ norm, rows, d, x, residual, weight, bias, eps }) {
    if (!norms[norm]) return null;
    const [sum, y] = [new Float32Array(rows * d), new Float32Array(rows * d)];
    const work = () => {
      for (let i = 0; i < sum.length; i++) sum[i] = x[i] + residual[i];
      norms[norm](y, sum, weight, bias, rows, d, eps);
    };
    return [[sum, y], work];
  },
  softmax({ log, rows, d, x }) {
    const y = new Float32Array(rows * d);
    return [[y], () => softmax(y, x, rows, d, log)];
  },
  activation({ activation, n, x }) {
    if (!loops[activation]) return null;
    const y = new Float32Array(n);
    return [[y], () => loops[activation](y, x)];
  },
  glu({ activation, n, gate, up }) {
    if (!loops[activation]) return null;
    const y = new Float32Array(n);
    const work = () => {
      loops[activation](y, gate);
      for (let i = 0; i < n; i++) y[i] *= up[i];
    };
    return [[y], work];
  },
  linear({ rows, in: inner, out, x, weight, bias, activation = 'identity' }) {
    if (!loops[activation]) return null;
    const y = new Float32Array(rows * out);
    const work = () => {
      product(y, x, weight, bias, rows, inner, out);
      if (activation !== 'identity') loops[activation](y, y);
    };
    return [[y], work];
  },
  linear_backward({ rows, in: inner, out, x, weight, dy }) {
    const [dx, dweight] = [new Float32Array(rows * inner), new Float32Array(out * inner)];
    const turnedWeight = transpose(new Float32Array(out * inner), weight, out, inner);
    const [turnedDy, turnedX] = [new Float32Array(dy.length), new Float32Array(x.length)];
    const work = () => {
      product(dx, dy, turnedWeight, null, rows, out, inner);
      transpose(turnedDy, dy, rows, out);
      transpose(turnedX, x, rows, inner);
      product(dweight, turnedDy, turnedX, null, out, rows, inner);
    };
    return [[dx, dweight], work];
  },
};

export async function create() {
  return {
    name: 'plain JavaScript',
    version: '',
    note: 'Float32Array, sums in double precision, products in 4 x 4 tiles; results written to an array made once',
    async make(spec) {
      const made = works[spec.op]?.(spec);
      if (!made) return null;
      const [results, run] = made;
      let done = false;
      return {
        run() {
          run();
          done = true;
        },
        async result() {
          if (!done) run();
          const copies = results.map((one) => one.slice());
          return copies.length === 1 ? copies[0] : copies;
        },
        dispose() {},
      };
    },
    async dispose() {},
  };
}
