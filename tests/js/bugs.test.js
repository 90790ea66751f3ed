// Public bug reports of this field as checks (../shared/cases/bugs.json): every numeric case, forward and backward, in every
// variant, with the file's own tolerance, and the behaviours that are about shapes, gradients and training. A report that
// is not mapped here fails. The other behaviours have their tests beside what they are about (loading, memory, packaging).
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { root } from './helpers.js';
import { distance, instance, load, randoms, readJson, skipWithout, values, variants } from './shared.js';

const KNOWN_CASES = 78;

const matrix = (data, rows, cols) => ({ data, shape: [rows, cols] });
const normed =
  (name) =>
  (an, { x, gamma, beta, dy, dres }, { rows, d, eps, calls }) => {
    const input = matrix(x, rows, d);
    const options = { weight: gamma, bias: name === 'rms_norm' ? undefined : beta, eps };
    if (calls) return accumulated(an, name, input, { gamma, beta, dy, eps, calls });
    const y = an.norm(name, input, options);
    if (!dy) return { y };
    // dres is the gradient that comes to x by the residual.
    if (dres) return { y, dx: an.addNormBackward(name, input, dy, { ...options, dSum: dres }).dResidual };
    const { dx, dWeight, dBias } = an.normBackward(name, input, dy, options);
    return { y, dx, dgamma: dWeight, dbeta: dBias };
  };
const layerNorm = normed('layer_norm');
const rmsNorm = normed('rms_norm');

// The gradients that several backward passes of a module add up to: a block that is its norm alone, since its network is
// the identity.
function accumulated(an, norm, input, { gamma, beta, dy, eps, calls }) {
  const d = gamma.length;
  const identity = matrix(new Float32Array(d * d), d, d);
  for (let i = 0; i < d; i++) identity.data[i * d + i] = 1;
  const config = { d_model: d, d_ff: d, activation: 'identity', bias: false, residual: false, placement: 'post' };
  const weights = { up: identity, down: identity, norm_weight: gamma, norm_bias: beta };
  const block = an.block({ ...config, norm, eps }, { weights });
  for (let call = 0; call < calls; call++) {
    block.forward(input, { train: true });
    block.backward({ ...input, data: dy });
  }
  const { norm_weight, norm_bias } = block.gradients;
  const sums = { dgamma: values(norm_weight), dbeta: values(norm_bias) };
  block.dispose();
  return sums;
}

const activation =
  (name, params) =>
  (an, { x, dy }) => ({
    y: an.activation(name, x, params),
    ...(dy ? { dx: an.activationBackward(name, x, dy, params) } : {}),
  });
const leakyRelu = (an, inputs, { slope }) => activation('leaky_relu', { negative_slope: slope })(an, inputs);
const softmax = (an, { x }, { rows, d, shape = [rows, d], axis }) => ({ y: an.softmax({ data: x, shape }, { axis }) });

// (M, K) times (K, N), onto C where beta is 1.
function gemm(an, { a, b, cInitial }, { M, K, N, beta = 0 }) {
  const product = an.linear(matrix(a, M, K), matrix(b, K, N), { layout: 'in_out' });
  return { c: beta === 1 ? an.add(product, cInitial) : product };
}

function swiglu(an, { x, w_gate, w_up, w_down }, { rows, d_model, d_ff, layout }) {
  const input = matrix(x, rows, d_model);
  const gate = an.linear(input, matrix(w_gate, d_model, d_ff), { layout });
  const up = an.linear(input, matrix(w_up, d_model, d_ff), { layout });
  const weights = {
    gate: matrix(w_gate, d_model, d_ff),
    up: matrix(w_up, d_model, d_ff),
    down: matrix(w_down, d_ff, d_model),
  };
  const ffn = an.ffn({ d_model, d_ff, activation: 'silu', gated: true, bias: false }, { weights, layout });
  const y = values(ffn.forward(input));
  ffn.dispose();
  return { gate, up, hidden: an.glu('swiglu', gate, up), y };
}

// What the API gives for each expected output of a case.
const reports = {
  B01: layerNorm,
  B02: layerNorm,
  B03: rmsNorm,
  B04: rmsNorm,
  B05: layerNorm,
  B06: layerNorm,
  B07: (an, inputs, params) => ('beta' in inputs ? layerNorm : rmsNorm)(an, inputs, params),
  B08: (an, inputs, params) => ({ ...layerNorm(an, inputs, params), rms: rmsNorm(an, inputs, params).y }),
  B09: layerNorm,
  B10: layerNorm,
  B11: rmsNorm,
  B12: rmsNorm,
  B13: activation('gelu_tanh'),
  B14: activation('gelu_erf'),
  B15: activation('gelu_tanh'),
  B16: activation('gelu_erf'),
  B17: (an, inputs, _params, { op }) => activation(op === 'gelu_tanh_bwd' ? 'gelu_tanh' : 'gelu_erf')(an, inputs),
  B18: softmax,
  B19: softmax,
  B20: softmax,
  B21: softmax,
  B22: (an, { y, dy }, { rows, d }) => ({ dx: an.softmaxBackward(matrix(y, rows, d), dy) }),
  B23: activation('silu'),
  B24: (an, inputs, _params, { name }) => activation(name)(an, inputs),
  B25: leakyRelu,
  B26: leakyRelu,
  B27: activation('relu'),
  B28: gemm,
  B29: gemm,
  B30: swiglu,
  B31: activation('softplus'),
};

// Expectations of the file that are not what its own text and the definition say: gelu(+-3.4e38) is 3.4e38 and -0, not
// NaN ("gelu(-Infinity) is 0, never NaN").
const errata = { 'B14 all finite specials': { y: { 1: -0, 3: 3.3999999521443642e38 } } };

const numbers = (data) => Float32Array.from(data, Number);
const counts = {};

// null, or what is wrong. Where the file leaves an expectation open ("any") it is NaN, as documented. Without a tolerance
// the nearest float32 is expected.
function verify(id, got, want, tol) {
  if (got.length !== want.length) return `${got.length} values, not ${want.length}`;
  for (let i = 0; i < want.length; i++) {
    const expected = tol ? Number(want[i]) : Math.fround(Number(want[i]));
    const limit = (tol?.abs ?? 0) + (tol?.rel ?? 0) * (Number.isFinite(expected) ? Math.abs(expected) : 0);
    const error = distance(got[i], expected);
    if (!(error <= limit)) return `[${i}]: got ${got[i]}, expected ${expected}, limit ${limit}`;
    if (error > 0) counts[id].error = Math.max(counts[id].error, error / limit);
  }
  return null;
}

const skip = skipWithout('cases', `${KNOWN_CASES} cases of public bug reports in ${variants.length} variants`);
if (skip) test('bug reports', { skip });
else {
  const { bugs } = readJson('cases', 'bugs.json');
  const numeric = bugs.filter((bug) => bug.numeric);

  test('the reports of behaviour from B32 on have tests or figures beside what they are about', () => {
    const read = (folder) =>
      readdirSync(join(root, folder))
        .filter((file) => file.endsWith('.test.js'))
        .map((file) => readFileSync(join(root, folder, file), 'utf8'));
    const titles = ['tests/js', 'tests/browser', 'tests/c']
      .flatMap(read)
      .flatMap((text) => text.match(/\btest\(\s*['`](B\d+[,:]? )+/g) ?? []);
    const known = `${titles.join()} ${readFileSync(join(root, 'docs/benchmarks.md'), 'utf8')}`;
    const behaviours = bugs.filter(({ id, numeric: has }) => !has && Number(id.slice(1)) >= 32).map(({ id }) => id);
    assert.ok(behaviours.length >= 17);
    assert.deepEqual(
      behaviours.filter((id) => !new RegExp(`\\b${id}\\b`).test(known)),
      [],
    );
  });

  test('all cases are there', () => {
    assert.ok(numeric.reduce((n, { cases }) => n + cases.length, 0) >= KNOWN_CASES);
  });

  for (const { id, title, cases } of numeric) {
    counts[id] = { passed: 0, error: 0, title };
    test(`${id} ${title}`, async () => {
      assert.ok(id in reports, 'not mapped to the API');
      const failures = [];
      for (const { name, op, inputs, params = {}, expected, alternativeExpected, tol } of cases) {
        const arrays = Object.fromEntries(Object.entries(inputs).map(([key, data]) => [key, numbers(data)]));
        for (const variant of variants) {
          const an = await instance(variant);
          const got = reports[id](an, arrays, params, { name, op });
          for (const output of Object.keys(expected)) {
            assert.ok(got[output], `${name}: output ${output} is not mapped`);
            const want = Object.assign([...expected[output]], errata[`${id} ${name}`]?.[output]);
            const wrong = verify(id, got[output], want, tol);
            if (wrong) failures.push(`${name}, ${variant}, ${output}${wrong}`);
          }
          if (alternativeExpected) {
            const { rows, d } = params;
            const zero = an.softmax(matrix(arrays.x, rows, d), { maskedRow: 'zero' });
            const wrong = verify(id, zero, alternativeExpected.y, tol);
            if (wrong) failures.push(`${name}, ${variant}, maskedRow zero${wrong}`);
          }
        }
        counts[id].passed++;
      }
      assert.deepEqual(failures, []);
    });
  }

  after(() => {
    const total = Object.values(counts).reduce((sum, { passed }) => sum + passed, 0);
    console.log(`bug reports: ${total} cases, run in every variant, none skipped; largest error / tolerance`);
    for (const [id, { passed, error, title }] of Object.entries(counts)) {
      console.log(`  ${id} ${String(passed).padStart(2)} run, ${error.toFixed(3)}: ${title}`);
    }
  });
}

const nans = (y) => Array.from(y.keys()).filter((i) => Number.isNaN(y[i]));

for (const variant of variants) {
  test(`B05 a constant row gives bias exactly, ${variant}`, async () => {
    const an = await instance(variant);
    for (const value of [0, 5, 1e4, -3.7e8, 1e-30, 3e38]) {
      for (const eps of [1e-5, 1e-12]) {
        for (const d of [1, 2, 3, 8, 13, 768]) {
          const bias = randoms(d, d);
          const y = an.norm('layer_norm', new Float32Array(d).fill(value), { weight: randoms(d, 1), bias, eps });
          assert.deepEqual(y, bias, `${value}, eps ${eps}, d ${d}`);
        }
      }
    }
  });

  test(`B09 empty tensors, ${variant}`, async () => {
    const an = await instance(variant);
    const before = an.stats().live;
    const none = new Float32Array(0);
    const empty = (...shape) => ({ data: none, shape });
    const full = (...shape) => ({ data: new Float32Array(shape.reduce((a, b) => a * b, 1)).fill(1), shape });
    const shapeMismatch = { code: 'SHAPE_MISMATCH' };
    for (const { name, kind } of an.norms) {
      assert.equal(an.norm(name, empty(0, 10)).length, 0, name);
      if (kind === 'row') {
        assert.equal(an.addNorm(name, empty(0, 10), empty(0, 10)).y.length, 0, name);
        assert.throws(() => an.norm(name, empty(3, 0)), shapeMismatch, name);
      }
    }
    for (const { name } of an.activations) {
      assert.equal(an.activation(name, none).length, 0);
      assert.equal(an.glu(name, none, none).length, 0);
    }
    assert.equal(an.softmax(empty(0, 4)).length, 0);
    assert.throws(() => an.softmax(empty(4, 0)), shapeMismatch);
    assert.equal(an.add(none, none).length, 0);
    // Zero rows, zero inputs (the bias alone), zero outputs.
    assert.equal(an.linear(empty(0, 3), full(2, 3)).length, 0);
    assert.deepEqual(an.linear(empty(2, 0), empty(3, 0)), new Float32Array(6));
    const bias = Float32Array.of(1, -2, 3);
    assert.deepEqual(an.linear(empty(2, 0), empty(3, 0), { bias }), Float32Array.of(1, -2, 3, 1, -2, 3));
    assert.equal(an.linear(full(2, 3), empty(0, 3)).length, 0);
    const block = an.block({ d_model: 8, d_ff: 16 }, { seed: 1 });
    assert.equal(block.forward(empty(0, 8)).length, 0);
    assert.equal(block.forward(empty(0, 5, 8)).length, 0);
    // No rows add nothing to a gradient.
    block.forward(full(2, 8), { train: true });
    block.backward(full(2, 8));
    const gradients = () => Object.values(block.gradients).map((gradient) => gradient.toArray());
    const sums = gradients();
    assert.equal(block.forward(empty(0, 5, 8), { train: true }).length, 0);
    assert.equal(block.backward(empty(0, 5, 8)).length, 0);
    assert.deepEqual(gradients(), sums);
    block.dispose();
    for (const { name, kind } of an.norms) {
      if (kind !== 'row') continue;
      const { dx, dWeight, dBias } = an.normBackward(name, empty(0, 10), empty(0, 10));
      assert.deepEqual([dx, dWeight, dBias], [none, new Float32Array(10), new Float32Array(10)], name);
      assert.equal(an.addNormBackward(name, empty(0, 10), empty(0, 10)).dResidual.length, 0, name);
    }
    for (const { name } of an.activations) {
      assert.equal(an.activationBackward(name, none, none).length, 0);
      assert.equal(an.gluBackward(name, none, none, none).dUp.length, 0);
    }
    assert.equal(an.softmaxBackward(empty(0, 4), empty(0, 4)).length, 0);
    assert.deepEqual(an.linearBackward(empty(0, 3), full(2, 3), empty(0, 2)), {
      dx: none,
      dWeight: new Float32Array(6),
      dBias: new Float32Array(2),
    });
    assert.deepEqual(an.linearBackward(empty(2, 0), empty(3, 0), full(2, 3)), {
      dx: none,
      dWeight: none,
      dBias: Float32Array.of(2, 2, 2),
    });
    assert.deepEqual(an.linearBackward(full(2, 3), empty(0, 3), empty(2, 0)).dx, new Float32Array(6));
    assert.deepEqual(an.loss('mse', none, none, { reduction: 'sum' }), { value: 0, gradient: none });
    assert.ok(Number.isNaN(an.loss('softmax_cross_entropy', empty(0, 4), []).value));
    const tensor = an.zeros([0, 7]);
    assert.equal(tensor.toArray().length, 0);
    tensor.dispose();
    assert.equal(an.stats().live, before);
  });

  test(`B10 a norm's rows are all its leading axes, ${variant}`, async () => {
    const an = await instance(variant);
    const [x, dy, weight] = [randoms(84, 1, 2, 1), randoms(84, 2), randoms(7, 3)];
    for (const { name, kind } of an.norms) {
      if (kind !== 'row') continue;
      const flat = an.normBackward(name, matrix(x, 12, 7), dy, { weight });
      for (const shape of [
        [2, 6, 7],
        [2, 3, 2, 7],
        [1, 12, 1, 7],
      ]) {
        assert.deepEqual(an.normBackward(name, { data: x, shape }, dy, { weight }), flat, `${name}, ${shape}`);
      }
    }
  });

  test(`B27 NaN goes through every activation, in each lane and in the tail, ${variant}`, async () => {
    const an = await instance(variant);
    for (const { name } of an.activations) {
      for (let n = 1; n <= 9; n++) {
        for (let at = 0; at < n; at++) {
          const x = new Float32Array(n).fill(0.5);
          x[at] = Number.NaN;
          const ones = new Float32Array(n).fill(1);
          const forward = [an.activation(name, x), an.glu(name, x, ones)];
          const { dGate, dUp } = an.gluBackward(name, ones, ones, x);
          const backward = [an.activationBackward(name, ones, x), dGate, dUp, an.gluBackward(name, x, ones, ones).dUp];
          for (const y of [...forward, ...backward]) assert.deepEqual(nans(y), [at], `${name}, ${n} values`);
        }
      }
    }
  });

  test(`B29 products of NaN and infinity with zero are NaN wherever they stand, ${variant}`, async () => {
    const an = await instance(variant);
    for (const [rows, into, out] of [
      [1, 1, 1],
      [1, 7, 5],
      [6, 9, 17],
      [3, 64, 33],
    ]) {
      for (const special of [Number.NaN, Number.POSITIVE_INFINITY]) {
        for (let k = 0; k < into; k += 3) {
          const x = new Float32Array(rows * into);
          const w = new Float32Array(out * into).fill(1);
          const o = (k * 5) % out;
          w[o * into + k] = special;
          const y = an.linear(matrix(x, rows, into), matrix(w, out, into));
          assert.deepEqual(
            nans(y),
            Array.from({ length: rows }, (_, r) => r * out + o),
            `${rows}x${into}x${out}, k ${k}`,
          );
          // Backward, with a gradient of zeros: column k of dx, and nothing of the weight's.
          const { dx, dWeight } = an.linearBackward(matrix(x, rows, into), matrix(w, out, into), {
            data: new Float32Array(rows * out),
            shape: [rows, out],
          });
          assert.deepEqual(
            nans(dx),
            Array.from({ length: rows }, (_, r) => r * into + k),
          );
          assert.deepEqual(nans(dWeight), []);
        }
      }
    }
  });

  test(`B29 sums of integers are exact at odd sizes, ${variant}`, async () => {
    const an = await instance(variant);
    for (const [rows, into, out] of [
      [3, 5, 7],
      [1, 1, 13],
      [5, 31, 9],
      [7, 100, 18],
      [2, 257, 3],
      [13, 3, 65],
    ]) {
      const integers = (n, seed) => randoms(n, seed, 10).map((v) => Math.round(v) + 0);
      const [x, w, bias] = [integers(rows * into, 1), integers(out * into, 2), integers(out, 3)];
      const want = Float32Array.from({ length: rows * out }, (_, i) => {
        let sum = bias[i % out];
        for (let k = 0; k < into; k++) sum += x[Math.floor(i / out) * into + k] * w[(i % out) * into + k];
        return sum;
      });
      assert.deepEqual(an.linear(matrix(x, rows, into), matrix(w, out, into), { bias }), want);

      const dy = integers(rows * out, 4);
      const sum = (n, term) => Array.from({ length: n }, (_, i) => term(i)).reduce((a, b) => a + b, 0);
      const at = (list, columns) => (i, j) => list[i * columns + j];
      const [X, W, G] = [at(x, into), at(w, into), at(dy, out)];
      const filled = (length, f) => Float32Array.from({ length }, (_, i) => f(i));
      assert.deepEqual(an.linearBackward(matrix(x, rows, into), matrix(w, out, into), dy, { bias }), {
        dx: filled(rows * into, (i) => sum(out, (o) => G(Math.floor(i / into), o) * W(o, i % into))),
        dWeight: filled(out * into, (i) => sum(rows, (r) => G(r, Math.floor(i / into)) * X(r, i % into))),
        dBias: filled(out, (o) => sum(rows, (r) => G(r, o))),
      });
    }
  });

  test(`B47 a block whose input changes its shape from call to call gives what a fresh one gives, ${variant}`, async () => {
    const an = await instance(variant);
    const configs = [
      { d_model: 12, d_ff: 40, activation: 'gelu_tanh' },
      { d_model: 7, d_ff: 19, gated: true, norm: 'rms_norm', placement: 'peri', activation: 'silu' },
      { d_model: 10, d_ff: 20, norm: 'instance_norm', placement: 'post' },
      { d_model: 64, d_ff: 256, placement: 'deepnorm', depth: 12 },
    ];
    for (const config of configs) {
      const block = an.block(config, { seed: 3 });
      let bytes = 0;
      for (const [turn, rows] of [1, 64, 3, 128, 2, 300, 1, 65, 128, 7, 300, 1].entries()) {
        const shape = turn % 2 ? [rows, config.d_model] : [1, rows, config.d_model];
        const x = { data: randoms(rows * config.d_model, turn), shape };
        const fresh = an.block(config, { seed: 3 });
        assert.deepEqual(block.forward(x), fresh.forward(x), `${JSON.stringify(config)}, ${rows} rows`);
        fresh.dispose();
        if (turn === 5) bytes = an.stats().bytes;
      }
      assert.ok(an.stats().bytes <= bytes, 'memory grows from call to call');
      block.dispose();
    }
  });

  test(`B47 so does its backward, ${variant}`, async () => {
    const an = await instance(variant);
    const configs = [
      { d_model: 12, d_ff: 40, activation: 'gelu_tanh', dropout: 0.2 },
      { d_model: 7, d_ff: 19, gated: true, norm: 'rms_norm', placement: 'peri', activation: 'silu' },
      { d_model: 8, d_ff: 20, norm: 'batch_norm', placement: 'post', mixing: 'attention', heads: 2 },
    ];
    for (const config of configs) {
      const block = an.block(config, { seed: 3 });
      let bytes = 0;
      for (const [turn, rows] of [1, 64, 3, 128, 2, 200, 1, 65, 128, 7, 200, 1].entries()) {
        const shape = turn % 2 ? [rows, config.d_model] : [1, rows, config.d_model];
        const [x, dy] = [1, 2].map((seed) => ({ data: randoms(rows * config.d_model, turn * seed), shape }));
        const fresh = an.block(config, { seed: 3 });
        const [mine, other] = [block, fresh].map((one) => {
          one.zeroGrad();
          const y = one.forward(x, { train: true, seed: turn });
          const dx = one.backward(dy);
          const gradients = Object.entries(one.gradients).map(([name, gradient]) => [name, gradient.toArray()]);
          return { y, dx, ...Object.fromEntries(gradients) };
        });
        assert.deepEqual(mine, other, `${JSON.stringify(config)}, ${rows} rows`);
        fresh.dispose();
        if (turn === 5) bytes = an.stats().bytes;
      }
      assert.ok(an.stats().bytes <= bytes, 'memory grows from call to call');
      block.dispose();
    }
  });

  const cycles = variant === 'simd' ? 10_000 : 1000; // what is freed is JavaScript's and heap.c's to do, in all alike
  test(`B42 ${cycles} blocks that are made, trained and disposed leave nothing, ${variant}`, async () => {
    const an = await load({ variant });
    const x = { data: randoms(12, 1), shape: [3, 4] };
    const once = () => {
      const block = an.block({ d_model: 4, d_ff: 6 });
      block.backward({ ...x, data: block.forward(x, { train: true }) });
      block.dispose();
    };
    for (let i = 0; i < 100; i++) once();
    const before = an.stats();
    for (let i = 0; i < cycles; i++) once();
    assert.deepEqual(an.stats(), before);
    assert.deepEqual([before.bytes, before.live], [0, 0]);
    an.dispose();
  });
}
