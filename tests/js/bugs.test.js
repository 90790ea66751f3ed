// Public bug reports of this field as checks (../shared/cases/bugs.json): every numeric forward case in every variant, with
// the file's own tolerance, and the behaviours that are about shapes. A report or case that is neither mapped here nor
// named as backward fails. The other behaviours have their tests beside what they are about (loading, memory, packaging).
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { distance, instance, randoms, readJson, skipWithout, values, variants } from './shared.js';

const KNOWN_CASES = 78;

const matrix = (data, rows, cols) => ({ data, shape: [rows, cols] });
const norm = (an, name, { x, gamma, beta }, { rows, d, eps }) =>
  an.norm(name, matrix(x, rows, d), { weight: gamma, bias: beta, eps });
const layerNorm = (an, inputs, params) => ({ y: norm(an, 'layer_norm', inputs, params) });
const rmsNorm = (an, { beta: _, ...inputs }, params) => ({ y: norm(an, 'rms_norm', inputs, params) });
const activation =
  (name) =>
  (an, { x }) => ({ y: an.activation(name, x) });
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

// A case's forward half: what the API gives for each expected output. `null`: the report is about backward alone.
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
  B10: null,
  B11: null,
  B12: rmsNorm,
  B13: activation('gelu_tanh'),
  B14: activation('gelu_erf'),
  B15: activation('gelu_tanh'),
  B16: activation('gelu_erf'),
  B17: null,
  B18: softmax,
  B19: softmax,
  B20: softmax,
  B21: softmax,
  B22: null,
  B23: activation('silu'),
  // Of the two cases, the sigmoid's has a forward half.
  B24: (an, { x }) => ({ y: an.activation('sigmoid', x) }),
  B25: (an, { x }, { slope }) => ({ y: an.activation('leaky_relu', x, { negative_slope: slope }) }),
  B26: null,
  B27: activation('relu'),
  B28: gemm,
  B29: gemm,
  B30: swiglu,
  B31: activation('softplus'),
};

// Expectations of the file that are not what its own text and the definition say: gelu(+-3.4e38) is 3.4e38 and -0, not
// NaN ("gelu(-Infinity) is 0, never NaN").
const errata = { 'B14 all finite specials': { y: { 1: -0, 3: 3.3999999521443642e38 } } };

const backward = /^d(x|gamma|beta)$/;
const numbers = (data) => Float32Array.from(data, Number);
const counts = {};

// null, or what is wrong. "any" in an expectation is no check, by the file's own words.
function verify(got, want, tol = {}) {
  if (got.length !== want.length) return `${got.length} values, not ${want.length}`;
  for (let i = 0; i < want.length; i++) {
    const expected = Number(want[i]);
    const limit = (tol.abs ?? 0) + (tol.rel ?? 0) * (Number.isFinite(expected) ? Math.abs(expected) : 0);
    if (!(distance(got[i], expected) <= limit)) return `[${i}]: got ${got[i]}, expected ${expected}, limit ${limit}`;
  }
  return null;
}

const skip = skipWithout('cases', `${KNOWN_CASES} cases of public bug reports in ${variants.length} variants`);
if (skip) test('bug reports', { skip });
else {
  const { bugs } = readJson('cases', 'bugs.json');
  const numeric = bugs.filter((bug) => bug.numeric);

  test('all cases are there', () => {
    assert.ok(numeric.reduce((n, { cases }) => n + cases.length, 0) >= KNOWN_CASES);
  });

  for (const { id, title, cases } of numeric) {
    counts[id] = { passed: 0, backward: 0, title };
    test(`${id} ${title}`, async () => {
      assert.ok(id in reports, 'neither mapped to the API nor named as backward');
      const failures = [];
      for (const { name, inputs, params = {}, expected, alternativeExpected, tol } of cases) {
        const outputs = Object.keys(expected).filter((key) => !backward.test(key));
        if (outputs.length === 0) counts[id].backward++;
        else assert.ok(reports[id], `${name}: has a forward half`);
        if (outputs.length === 0) continue;
        const arrays = Object.fromEntries(Object.entries(inputs).map(([key, data]) => [key, numbers(data)]));
        for (const variant of variants) {
          const an = await instance(variant);
          const got = reports[id](an, arrays, params);
          for (const output of outputs) {
            assert.ok(got[output], `${name}: output ${output} is not mapped`);
            const want = Object.assign([...expected[output]], errata[`${id} ${name}`]?.[output]);
            const wrong = verify(got[output], want, tol);
            if (wrong) failures.push(`${name}, ${variant}, ${output}${wrong}`);
          }
          if (alternativeExpected) {
            const { rows, d } = params;
            const zero = an.softmax(matrix(arrays.x, rows, d), { maskedRow: 'zero' });
            const wrong = verify(zero, alternativeExpected.y, tol);
            if (wrong) failures.push(`${name}, ${variant}, maskedRow zero${wrong}`);
          }
        }
        counts[id].passed++;
      }
      assert.deepEqual(failures, []);
    });
  }

  after(() => {
    console.log('bug reports: cases run in every variant, cases about backward (later issue)');
    for (const [id, { passed, backward: rest, title }] of Object.entries(counts)) {
      console.log(`  ${id} ${String(passed).padStart(2)} run, ${rest} backward: ${title}`);
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
    block.dispose();
    const tensor = an.zeros([0, 7]);
    assert.equal(tensor.toArray().length, 0);
    tensor.dispose();
    assert.equal(an.stats().live, before);
  });

  test(`B27 NaN goes through every activation, in each lane and in the tail, ${variant}`, async () => {
    const an = await instance(variant);
    for (const { name } of an.activations) {
      for (let n = 1; n <= 9; n++) {
        for (let at = 0; at < n; at++) {
          const x = new Float32Array(n).fill(0.5);
          x[at] = Number.NaN;
          for (const y of [an.activation(name, x), an.glu(name, x, new Float32Array(n).fill(1))]) {
            assert.deepEqual(nans(y), [at], `${name}, ${n} values`);
          }
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
}
