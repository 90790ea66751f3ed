// What an.theory predicts, against Gaussian moments from elsewhere, closed forms, and recurrences written out here.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failure, instance, inUse, variants } from './helpers.js';
import { activations, defaults } from './reference.js';

const an = await instance('simd');
/** Xavier without biases and d_ff = d_model: pre-activations of variance 1, and c = E[phi²], c' = E[phi'²]. */
const xavier = { d_model: 128, d_ff: 128, init: 'xavier_normal', bias: false, eps: 0, activation: 'relu' };
const depth = 24;
const stack = (config, options) => an.theory({ ...xavier, depth, ...config }, options);

function near(got, want, tolerance, what = '') {
  assert.ok(Math.abs(got - want) <= tolerance * Math.abs(want), `${what}: got ${got}, expected ${want}`);
}
function allNear(got, want, tolerance, what = '') {
  assert.equal(got.length, want.length, what);
  for (const [i, value] of got.entries()) near(value, want[i], tolerance, `${what}[${i}]`);
}

// E[phi], E[phi²], E[phi'²] for z ~ N(0, 1), by a quadrature with 64 000 points.
const table = {
  relu: [0.39894, 0.5, 0.5],
  leaky_relu: [0.39495, 0.50005, 0.50005],
  relu_squared: [0.5, 1.5, 2],
  gelu_erf: [0.28209, 0.42522, 0.45585],
  gelu_tanh: [0.28204, 0.42519, 0.45582],
  gelu_quick: [0.28233, 0.42195, 0.44955],
  silu: [0.20662, 0.35578, 0.37948],
  mish: [0.2404, 0.45234, 0.47908],
  tanh: [0, 0.39429, 0.4644],
  sigmoid: [0.5, 0.29338, 0.04484],
  elu: [0.16052, 0.64495, 0.6681],
  selu: [0, 1, 1.07158],
  softplus: [0.80606, 0.92125, 0.29338],
  hard_swish: [0.16622, 0.33157, 0.35853],
};
for (const variant of variants) {
  test(`Gaussian moments to five digits: ${variant}`, async () => {
    const module = await instance(variant);
    for (const [activation, wanted] of Object.entries(table)) {
      const { mean, c, cPrime } = module.theory({ ...xavier, activation }).moments;
      for (const [i, got] of [mean, c, cPrime].entries()) {
        assert.ok(Math.abs(got - wanted[i]) < 6e-6, `${activation}: got ${got}, expected ${wanted[i]}`);
      }
    }
  });
}

test('gated: the second moment is that of the gate', () => {
  const wanted = { sigmoid: 0.29338, identity: 1, relu: 0.5, gelu_erf: 0.42522, silu: 0.35578 };
  for (const [activation, c] of Object.entries(wanted)) {
    const { moments } = an.theory({ ...xavier, activation, gated: true });
    assert.ok(Math.abs(moments.c - c) < 6e-6, activation);
    // Back through the gate E[phi'²] E[up²], and through up E[phi²].
    const slope = activation === 'identity' ? 1 : table[activation][2];
    assert.ok(Math.abs(moments.cPrime - (c + slope)) < 2e-5, activation);
    assert.equal(moments.mean, 0);
  }
});

/** E[f(sigma z)] in doubles, by the midpoint rule in the cube root of z: its points are dense where f bends. */
function expectation(f, sigma) {
  const [n, end] = [40_000, 2.2];
  let [sum, total] = [0, 0];
  for (let i = 0; i < n; i++) {
    const root = ((2 * i + 1 - n) / n) * end;
    const z = root ** 3;
    const weight = Math.exp((-z * z) / 2) * root * root;
    sum += weight * f(sigma * z);
    total += weight;
  }
  return sum / total;
}

test('Gaussian moments of any width, parameters too', () => {
  const tries = [...Object.keys(activations).map((name) => [name, defaults(name)]), ['swish', [3]], ['elu', [0.5]]];
  for (const [name, parameters] of tries) {
    const { f } = activations[name];
    const value = (x) => f(x, ...parameters);
    for (const sigma of [0.05, 1.7, 30]) {
      const init_std = sigma / Math.sqrt(128);
      const [activation_p0 = null, activation_p1 = null] = parameters;
      const config = { ...xavier, activation: name, activation_p0, activation_p1, init: 'normal', init_std };
      const { mean, c, cPrime } = an.theory(config).moments;
      const step = 1e-6 * sigma;
      const slope = (x) => (value(x + step) - value(x - step)) / (2 * step);
      const what = `${name}(${parameters}) at ${sigma}`;
      assert.ok(Math.abs(mean - expectation(value, sigma)) < 2e-6 * Math.max(1, sigma ** 2), what);
      near(c, sigma ** 2 * expectation((x) => value(x) ** 2, sigma), 2e-5, what);
      // Where the derivative jumps elsewhere than at 0, a node is counted to one side of it.
      const tolerance = name.startsWith('hard') ? 2e-3 : 2e-5;
      near(cPrime, sigma ** 4 * expectation((x) => slope(x) ** 2, sigma), tolerance, what);
    }
  }
});

test('the initialisations have the variances that theory takes', () => {
  const inits = an.fields.find((field) => field.name === 'init').options;
  assert.ok(inits.length >= 8);
  const variance = (values) => values.reduce((sum, value) => sum + value * value, 0) / values.length;
  for (const init of inits) {
    for (const more of [{}, { beta: 0.5 }, { placement: 'deepnorm' }]) {
      const config = { d_model: 200, d_ff: 400, depth: 3, activation: 'identity', init, init_std: 0.1, ...more };
      const block = an.block(config, { seed: 5 });
      const of = Object.fromEntries(Object.entries(block.state()).map(([name, { data }]) => [name, variance(data)]));
      const z = 200 * of.up + of.up_bias;
      const { c, cPrime } = an.theory(config).moments;
      const what = `${init} ${JSON.stringify(more)}`;
      // 80 000 numbers: 0.5 % of a variance; 200 of a bias: 10 %, of a small part.
      if (init === 'zero') assert.deepEqual([c, cPrime], [0, 0], what);
      else {
        near(c, 400 * of.down * z + of.down_bias, 0.02, what);
        near(cPrime, 400 * of.down * 200 * of.up, 0.02, what);
      }
      block.dispose();
    }
  }
});

test('pre: the stream grows linearly, the gradient by a power law', () => {
  const { stream, gradient, weights } = stack();
  const layers = Array.from({ length: depth + 1 }, (_, l) => l);
  allNear(
    stream,
    layers.map((l) => 1 + l / 2),
    1e-7,
  );
  // The last norm divides by the stream's second moment, (depth + 2) / 2; c'/c is 1.
  allNear(
    gradient,
    layers.map((l) => 2 / (l + 2)),
    1e-7,
  );
  allNear(
    weights.down.ratio,
    layers.slice(1).map((l) => Math.sqrt((depth + 2) / (l + 2))),
    1e-7,
  );
  const rounded = [1, 3, 6, 12, 18, 24].map((l) => weights.down.ratio[l - 1].toFixed(2));
  assert.deepEqual(rounded, ['2.94', '2.28', '1.80', '1.36', '1.14', '1.00']);
  // E[dW²] a token of the last layer: gradient 2 / (depth + 2), hidden units 1/2.
  near(weights.down.rms[depth - 1], Math.sqrt(1 / (depth + 2)), 1e-7);
  const gelu = stack({ activation: 'gelu_erf' });
  near(gelu.gradient[0] / gelu.gradient[depth], (1 + 0.42522 * depth) ** 1.072, 0.02, 'the power, c / q summed');
});

test('post: nothing grows, and the gradient by (1 + c) / (1 + c) a block', () => {
  for (const [activation, input, ratio] of [
    ['relu', 1, 2.944],
    ['gelu_erf', 1.67, 2.804],
    ['silu', 1.52, 2.652],
  ]) {
    const post = stack({ activation, placement: 'post' });
    allNear(post.stream, new Array(depth + 1).fill(1), 1e-12, activation);
    near(post.gradient[0], input, 4e-3, activation);
    const [, c, cPrime] = table[activation];
    near(post.gradient[0], ((1 + cPrime) / (1 + c)) ** depth, 2e-4, activation);
    const pre = stack({ activation });
    near(post.weights.down.rms[depth - 1] / pre.weights.down.rms[depth - 1], ratio, 2e-4, activation);
  }
  for (const [layers, ratio] of [
    [6, 1.633],
    [12, 2.16],
    [48, 4.082],
    [96, 5.715],
  ]) {
    const [post, pre] = ['post', 'pre'].map((placement) => stack({ placement, depth: layers }).weights.down.rms.at(-1));
    near(post / pre, ratio, 2e-4, `${layers} layers`);
  }
});

test('no norm: powers, as far as doubles go', () => {
  const plain = stack({ placement: 'none' });
  near(plain.stream[depth], 1.5 ** depth, 1e-6);
  near(plain.gradient[0], 1.5 ** depth, 1e-6);
  const bare = stack({ placement: 'none', residual: false });
  near(bare.stream[depth], 5.96e-8, 2e-3);
  near(bare.gradient[0], 0.5 ** depth, 1e-6);
  const deep = stack({ placement: 'none', depth: 400 });
  near(deep.stream[400], 1.5 ** 400, 1e-4);
  near(deep.gradient[0], 1.5 ** 400, 1e-4);
  // Far out GELU is ReLU.
  const gelu = stack({ placement: 'none', depth: 400, activation: 'gelu_erf' });
  near(gelu.stream[400] / gelu.stream[300], 1.5 ** 100, 1e-4);
  // Squares of squares leave the doubles, and say so.
  assert.equal(stack({ placement: 'none', activation: 'relu_squared', depth: 12 }).stream[12], Infinity);
  // tanh saturates: each block adds 1 at most.
  const tanh = stack({ placement: 'none', activation: 'tanh', depth: 100, init: 'normal', init_std: 1e3 }).stream;
  near(tanh[100] - tanh[99], 128 * 1e6, 1e-4);
});

test('deepnorm, peri, output, lns, rezero, layer_scale', () => {
  const deep = stack({ placement: 'deepnorm' });
  const post = stack({ placement: 'post' });
  allNear(deep.stream, new Array(depth + 1).fill(1), 1e-12);
  near(deep.gradient[0], 1, 1e-6);
  const [alpha, beta] = [depth ** 0.25, (4 * depth) ** -0.25];
  const less = beta * Math.sqrt(1.5 / (alpha ** 2 + beta ** 4 / 2));
  near(deep.weights.down.rms[3] / post.weights.down.rms[3], less, 1e-6);
  near(less, 0.177, 2e-3);

  near(stack({ placement: 'peri' }).stream[depth], 25, 1e-6);
  const output = stack({ placement: 'output' });
  near(output.stream[depth], 25, 1e-6);
  // Each branch's norm divides by what F gives, q / 2, and c' is 1/2: a factor 1 + 1 / q a block, q = 1 + l.
  near(output.gradient[0] / output.gradient[depth], 25, 1e-6);

  const lns = stack({ placement: 'lns' }).stream;
  allNear(
    [1, 3, 6, 12, 18, 24].map((l) => lns[l]),
    [1.5, 1.917, 2.225, 2.552, 2.748, 2.888],
    2e-4,
  );

  const rezero = stack({ placement: 'rezero' });
  assert.deepEqual(rezero.stream, new Array(depth + 1).fill(1));
  assert.deepEqual(rezero.gradient, new Array(depth + 1).fill(1));
  assert.ok(rezero.weights.up.rms.every((value) => value === 0));
  assert.ok(rezero.weights.up.ratio.every(Number.isNaN));
  near(stack({ placement: 'rezero', alpha: 0.5 }).stream[depth], 1.125 ** depth, 1e-6);
  near(stack({ placement: 'layer_scale', alpha: 0.5 }).stream[depth], 1 + depth / 8, 1e-6);
});

test('dyt', () => {
  const { stream, gradient } = stack({ norm: 'dyt', norm_alpha: 0.5 });
  allNear(
    [1, 3, 6, 12, 18, 24].map((l) => stream[l]),
    [1.087, 1.276, 1.601, 2.4, 3.389, 4.55],
    5e-4,
  );
  near(gradient[0] / gradient[depth], 5.23, 2e-3);
});

test('norms, eps and no residual', () => {
  for (const norm of ['rms_norm', 'rms_norm_outside', 'layer_norm_std', 'group_norm']) {
    assert.deepEqual(stack({ norm }).stream, stack({ norm: 'layer_norm' }).stream);
  }
  // A stream of second moment 1 is divided by 1 + eps, or its root by that.
  near(stack({ eps: 0.5, depth: 1 }).stream[1], 1 + 0.5 / 1.5, 1e-6);
  near(stack({ norm: 'rms_norm_outside', eps: 0.5, depth: 1 }).stream[1], 1 + 0.5 / 1.5 ** 2, 1e-6);
  const bare = stack({ residual: false });
  allNear(bare.stream.slice(1), new Array(depth).fill(0.5), 1e-6);
  near(bare.gradient[0], 1, 1e-6); // each norm's 2 takes back the branch's 1/2, and the first norm has nothing to divide
  assert.deepEqual(stack({ norm: 'none' }).stream, stack({ placement: 'none' }).stream);
});

test('biases and dropout', () => {
  // U(-1/sqrt(n), 1/sqrt(n)) has the variance 1 / (3n).
  const config = { d_model: 100, d_ff: 300, activation: 'identity', bias: true, init: 'pytorch', eps: 0 };
  const z = 1 / 3 + 1 / 300;
  near(an.theory(config).moments.c, z / 3 + 1 / 900, 1e-6);
  near(an.theory(config).moments.cPrime, 1 / 9, 1e-6);
  const { stream, gradient } = stack({ dropout: 0.5, residual_dropout: 0.75, placement: 'none' });
  near(stream[depth], 5 ** depth, 1e-6);
  near(gradient[0], 5 ** depth, 1e-6);
});

/**
 * Mixing by the mean over T tokens, ReLU, Xavier, post or pre: the recurrence with its own arithmetic. Two tokens'
 * pre-activations have the correlation r, and E[relu relu] = (sin t + (pi - t) cos t) / 2 pi, E[relu' relu'] =
 * (pi - t) / 2 pi, t = acos r (Cho and Saul 2009).
 */
function meanStack(T, post) {
  let [q, k] = [1, 0];
  const stream = [q];
  const back = [];
  const add = (aq, ak, way) => {
    const norm = post ? q + aq : 1;
    back.push((G, K) => {
      const [g, h] = [G / norm, K / norm];
      const [a, b] = way(g, h);
      return [g + a, h + b];
    });
    [q, k] = [(q + aq) / norm, (k + ak) / norm];
    stream.push(q);
  };
  for (let l = 0; l < depth; l++) {
    const scale = post ? 1 : q;
    const mean = (q + (T - 1) * k) / T / scale;
    add(mean, mean, (G, K) => new Array(2).fill((G + (T - 1) * K) / T / scale));
    const [r, size] = post ? [k / q, q] : [k / q, 1];
    const scale2 = post ? 1 : q;
    const t = Math.acos(Math.min(1, r));
    const both = (Math.PI - t) / (2 * Math.PI);
    add(size / 2, (size * (Math.sin(t) + (Math.PI - t) * Math.cos(t))) / (2 * Math.PI), (G, K) => [
      G / 2 / scale2,
      (K * both) / scale2,
    ]);
  }
  let [G, K] = post ? [1, 0] : [1 / q, 0];
  const gradient = [G];
  for (const step of back.reverse()) {
    [G, K] = step(G, K);
    gradient.unshift(G);
  }
  return { stream, gradient };
}

test('mixing by the mean: the gradient of post fades towards the input', () => {
  for (const placement of ['post', 'pre']) {
    for (const length of [1, 2, 16]) {
      const got = stack({ placement, mixing: 'mean' }, { length });
      const want = meanStack(length, placement === 'post');
      allNear(got.stream, want.stream, 2e-4, `${placement}, ${length} tokens`);
      allNear(got.gradient, want.gradient, 2e-3, `${placement}, ${length} tokens`);
    }
  }
  const post = stack({ placement: 'post', mixing: 'mean', positions: 16 });
  assert.ok(post.gradient[0] < 0.3);
  assert.deepEqual(Object.keys(post.weights).sort(), ['down', 'out', 'up', 'value']);
  assert.deepEqual([post.stream.length, post.weights.out.rms.length], [2 * depth + 1, depth]);
  const gpt2 = stack({ init: 'gpt2', init_std: 1 / Math.sqrt(128), mixing: 'mean', depth: 2 });
  near(gpt2.moments.c, 1 / 8, 1e-6, 'four residual additions');
});

test('what it does not cover it says', () => {
  for (const [config, reason] of [
    [{ mixing: 'attention' }, /attention/],
    [{ mixing: 'mean', causal: true }, /causal/],
    [{ norm: 'batch_norm' }, /over tokens/],
    [{ norm: 'instance_norm' }, /over tokens/],
  ]) {
    const { supported, notes, stream, gradient, weights, moments } = stack(config);
    assert.equal(supported, false);
    assert.deepEqual([stream, gradient, weights], [[], [], {}]);
    assert.equal(notes.length, 1);
    assert.match(notes[0], reason);
    near(moments.c, 0.5, 1e-6);
  }
  assert.ok(stack({ norm: 'batch_norm', placement: 'none' }).supported, 'no norm is used');
  const said = (config) => stack(config, { length: 4 }).notes.join(' ');
  assert.match(said({}), /^Expected over seeds/);
  assert.doesNotMatch(said({}), /dyt|dropout|tokens|scatter widely|projection/);
  assert.match(said({ placement: 'none' }), /scatter widely/);
  assert.match(said({ norm: 'dyt' }), /dyt/);
  assert.match(said({ mixing: 'mean' }), /of 4 tokens/);
  assert.match(said({ d_in: 5 }), /projection/);
  assert.match(said({ dropout: 0.1 }), /dropout/);
});

test('arguments, and nothing is left behind', () => {
  const before = inUse(an);
  assert.throws(() => an.theory({ depht: 3 }), failure('UNKNOWN_OPTION', /did you mean 'depth'/));
  assert.throws(() => an.theory({ layer: 3 }), failure('UNKNOWN_OPTION'));
  assert.throws(() => an.theory({ depth: 0 }), failure('INVALID_ARGUMENT'));
  assert.throws(() => an.theory({}, { length: 0 }), failure('INVALID_ARGUMENT'));
  assert.throws(() => an.theory({}, { tokens: 2 }), failure('UNKNOWN_OPTION'));
  const { stream } = an.theory();
  assert.equal(stream.length, 2);
  assert.deepEqual(inUse(an), before);
});
