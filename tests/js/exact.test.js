// Exactness of what ships: every wasm variant against the double-precision references. Activations over a stride through
// all 2^32 float32 bit patterns and over dense neighbourhoods of the points where bodies change their ways. A stride
// under-reports the maximum: the bounds are proven by the exhaustive native run (npm run test:exhaustive), and asserted
// here so that a wasm build cannot go wrong unseen. An activation or norm of the module without a reference fails.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { activations, defaults, moments, norm, rowNorms, rowsOf, softmax, ulps } from './reference.js';
import { distance, instance, randoms, values, variants, worst } from './shared.js';

const figures = new Map();
const note = (what, variant, error, text) => {
  const key = `${what}, ${variant}`;
  if (!(figures.get(key)?.error >= error)) figures.set(key, { error, text });
};

/* ---- Activations ---- */

// A prime, so that every residue of the low bits comes up.
const STRIDE = 20011;
const NEIGHBOURS = 24;

function sweep() {
  const words = [];
  for (let word = 0; word < 2 ** 32; word += STRIDE) words.push(word);
  const float = new Float32Array(1);
  const bits = new Uint32Array(float.buffer);
  const centres = [
    0,
    Number.POSITIVE_INFINITY,
    0.5,
    1,
    3,
    6,
    9.01,
    13.5,
    14.17,
    17.33,
    18.72,
    30,
    87.34,
    88.73,
    103.98,
    104,
  ];
  for (let k = 1; k < 40; k++) centres.push(k * Math.LN2, k * Math.SQRT1_2, (k * Math.LN2) / 1.702);
  for (let e = -149; e < 128; e++) centres.push(2 ** e);
  for (const centre of centres) {
    float[0] = centre;
    for (let i = -NEIGHBOURS; i <= NEIGHBOURS; i++) {
      const word = (bits[0] + i) & 0x7fffffff;
      words.push(word, (word | 0x80000000) >>> 0);
    }
  }
  return new Float32Array(Uint32Array.from(words).buffer);
}
const points = sweep();

const references = new Map();
function reference(name, params) {
  const key = `${name} ${params}`;
  if (!references.has(key))
    references.set(
      key,
      Float64Array.from(points, (x) => activations[name].f(x, ...params)),
    );
  return references.get(key);
}

function checkSweep(an, variant, name, params) {
  const { bound = 4, slack = () => 0, params: named = {} } = activations[name];
  const standard = defaults(name).every((value, i) => value === params[i]);
  const options = Object.fromEntries(Object.keys(named).map((key, i) => [key, params[i]]));
  const got = an.activation(name, points, standard ? {} : options);
  const want = reference(name, params);
  let top = { error: -1, i: 0 };
  for (let i = 0; i < points.length; i++) {
    if (Number.isNaN(points[i]) && Number.isNaN(got[i])) continue;
    const error = ulps(got[i], want[i]);
    const limit = standard ? bound : bound + slack(points[i], ...params);
    if (!(error <= limit)) {
      assert.fail(`${name}(${points[i]}; ${params}): got ${got[i]}, expected ${want[i]}: ${error} ULP, limit ${limit}`);
    }
    if (error > top.error) top = { error, i };
  }
  if (standard) note(`${name}, ULP`, variant, top.error, `at ${points[top.i]}`);
}

for (const variant of variants) {
  test(`the module's activations are those with a reference, with its defaults, ${variant}`, async () => {
    const an = await instance(variant);
    for (const { name, params } of an.activations) {
      assert.ok(activations[name], `${name} has no reference in tests/js/reference.js`);
      const listed = Object.fromEntries(params.map((param) => [param.name, param.default]));
      assert.deepEqual(listed, activations[name].params ?? {}, name);
    }
    assert.deepEqual(Object.keys(activations).sort(), an.activations.map(({ name }) => name).sort());
  });

  for (const name of Object.keys(activations)) {
    test(`${name} over a stride of all float32, ${variant}`, async () => {
      const an = await instance(variant);
      checkSweep(an, variant, name, defaults(name));
      for (const params of activations[name].tries ?? []) checkSweep(an, variant, name, params);
    });
  }

  // The references give the limits, and keep the sign of zero where a function is odd or x times a gate.
  test(`activations at infinities and zeros, ${variant}`, async () => {
    const an = await instance(variant);
    const ends = [-Infinity, -0, 0, Infinity];
    for (const { name } of an.activations) {
      const want = ends.map((x) => Math.fround(activations[name].f(x, ...defaults(name))));
      assert.deepEqual(Array.from(an.activation(name, Float32Array.from(ends))), want, name);
    }
  });

  test(`a value does not depend on its position, ${variant}`, async () => {
    const an = await instance(variant);
    const x = points.filter((_, i) => i % 997 === 0);
    const words = (y) => new Uint32Array(y.buffer, y.byteOffset, y.length);
    for (const { name } of an.activations) {
      const whole = an.activation(name, x);
      const gates = an.glu(
        name,
        x,
        x.map(() => 3),
      );
      for (let n = 1; n <= 13; n++) {
        const at = (n * 37) % (x.length - n);
        const part = an.activation(name, x.slice(at, at + n));
        assert.deepEqual(words(part), words(whole.slice(at, at + n)), `${name}, ${n} values at ${at}`);
        const gated = an.glu(name, x.slice(at, at + n), new Float32Array(n).fill(3));
        assert.deepEqual(words(gated), words(gates.slice(at, at + n)), `glu ${name}, ${n} values at ${at}`);
      }
    }
  });

  test(`a gate is the activation times up, rounded once more, ${variant}`, async () => {
    const an = await instance(variant);
    const gate = randoms(1000, 5, 8);
    const up = randoms(1000, 6, 3);
    for (const { name } of an.activations) {
      const y = an.activation(name, gate);
      assert.deepEqual(
        an.glu(name, gate, up),
        y.map((value, i) => value * up[i]),
        name,
      );
    }
  });
}

/* ---- Norms ---- */

/** DESIGN's bound for normalised values, which are of the order of 1. */
const NORM_LIMIT = 5e-6;
const widths = [1, 2, 3, 5, 8, 13, 50, 64, 768, 1000];

// Rows whose statistics are hard in float32. Each is a scale and a shift of numbers in [-1, 1).
const rows = {
  plain: [2, 0],
  'mean 1e4': [1, 1e4],
  'mean -1e6': [1, -1e6],
  'tiny spread at 1e4': [0.01, 1e4],
  '1e19': [1e19, 0],
  '1e30 at 1e30': [1e30, 1e30],
  '3e38': [3e38, 0],
  '1e-30': [1e-30, 0],
};

function near(got, want, limit, what) {
  const { error, text } = worst(got, want);
  assert.ok(error <= limit, `${what}: ${text}; the limit is ${limit}`);
  return error;
}

// The mean within a few roundings of the largest element, rstd of itself (it may be subnormal, near 3e38).
function nearStatistics(got, want, x, what) {
  const top = x.reduce((a, b) => Math.max(a, Math.abs(b)), 0);
  want.forEach(({ mean, rstd }, i) => {
    const meanError = Math.abs(got.mean[i] - mean);
    assert.ok(meanError <= 2 ** -22 * top, `mean, ${what} [${i}]: got ${got.mean[i]}, expected ${mean}`);
    assert.ok(ulps(got.rstd[i], rstd) <= 8, `rstd, ${what} [${i}]: got ${got.rstd[i]}, expected ${rstd}`);
  });
}

for (const variant of variants) {
  test(`the module's norms have a test here, ${variant}`, async () => {
    const an = await instance(variant);
    for (const { name, kind } of an.norms) {
      assert.ok(
        kind === 'row' ? rowNorms[name] : ['batch', 'group', 'instance'].includes(kind),
        `${name}, kind ${kind}`,
      );
    }
  });

  for (const name of Object.keys(rowNorms)) {
    test(`${name} of hard rows, ${variant}`, async () => {
      const an = await instance(variant);
      const { eps } = an.norms.find((entry) => entry.name === name);
      for (const [what, [scale, shift]] of Object.entries(rows)) {
        for (const d of widths) {
          const x = randoms(3 * d, d, scale, shift);
          const text = `${what}, d ${d}`;
          const want = rowsOf(x, d).map((row) => rowNorms[name](row, eps));
          const { y, ...statistics } = an.norm(name, { data: x, shape: [3, d] }, { stats: true });
          if (name === 'none') assert.deepEqual(y, x, text);
          else
            note(
              `${name}, absolute`,
              variant,
              near(
                y,
                want.flatMap((row) => row.y),
                NORM_LIMIT,
                text,
              ),
              text,
            );
          nearStatistics(statistics, want, x, text);
        }
      }
    });

    test(`${name} with weight, bias and offset, alone and after the addition, ${variant}`, async () => {
      const an = await instance(variant);
      for (const d of widths.filter((width) => width > 1)) {
        const shape = [4, d];
        const [x, residual, weight, bias] = [randoms(4 * d, 1, 2), randoms(4 * d, 2), randoms(d, 3), randoms(d, 4)];
        const options = { weight, bias, eps: 1e-5, weightOffset: 1 };
        const want = norm(name, rowsOf(x, d), options).flat();
        const y = an.norm(name, { data: x, shape }, options);
        near(y, want, 2 * NORM_LIMIT, `d ${d}`);
        const alpha = 1.5;
        const fused = an.addNorm(name, { data: x, shape }, { data: residual, shape }, { ...options, alpha });
        // The product is rounded before the sum, and the norm sees the rounded sum.
        const sum = x.map((value, i) => Math.fround(alpha * value) + residual[i]);
        assert.deepEqual(fused.sum, sum, `sum, d ${d}`);
        assert.deepEqual(fused.y, an.norm(name, { data: sum, shape }, options), `fused, d ${d}`);
      }
    });
  }

  // x is (batch, length, channels, inner); `statistics` names which elements share theirs.
  const grouped = {
    batch_norm: { options: {}, statistics: (_b, _l, c) => c },
    group_norm: { options: { groups: 2 }, statistics: (b, _l, c, channels) => b * 2 + Math.floor(c / (channels / 2)) },
    instance_norm: { options: {}, statistics: (b, _l, c, channels) => b * channels + c },
  };
  for (const [name, { options, statistics }] of Object.entries(grouped)) {
    test(`${name} of hard channels in both layouts, ${variant}`, async () => {
      const an = await instance(variant);
      for (const [what, [scale, shift]] of Object.entries(rows)) {
        for (const [batch, length, channels] of [
          [2, 5, 4],
          [3, 17, 6],
          [2, 40, 10],
          [1, 64, 2],
        ]) {
          const text = `${what}, ${batch} x ${length} x ${channels}`;
          const n = batch * length * channels;
          const x = randoms(n, n, scale, shift);
          const [weight, bias] = [randoms(channels, 8), randoms(channels, 9)];
          const place = (i) => [Math.floor(i / (length * channels)), Math.floor(i / channels) % length, i % channels];
          const members = [];
          x.forEach((value, i) => {
            members[statistics(...place(i), channels)] ??= [];
            members[statistics(...place(i), channels)].push(value);
          });
          const known = members.map((list) => {
            const { mean, variance } = moments(list);
            return { mean, rstd: 1 / Math.sqrt(variance + 1e-5) };
          });
          const want = Array.from(x, (value, i) => {
            const [b, l, c] = place(i);
            const { mean, rstd } = known[statistics(b, l, c, channels)];
            return (value - mean) * rstd * weight[c] + bias[c];
          });
          const given = { ...options, weight, bias, eps: 1e-5 };
          const last = an.norm(name, { data: x, shape: [batch, length, channels] }, { ...given, stats: true });
          note(`${name}, absolute`, variant, near(last.y, want, NORM_LIMIT, text), text);
          nearStatistics(last, known, x, text);

          const swap = (data, from, to) => {
            const out = new Float32Array(n);
            for (let b = 0; b < batch; b++) {
              for (let i = 0; i < from; i++) {
                for (let j = 0; j < to; j++) out[(b * to + j) * from + i] = data[(b * from + i) * to + j];
              }
            }
            return out;
          };
          const first = { data: swap(x, length, channels), shape: [batch, channels, length] };
          const y = an.norm(name, first, { ...given, channelAxis: 1 });
          near(swap(y, channels, length), want, NORM_LIMIT, `channels first, ${text}`);
        }
      }
    });
  }

  test(`batch_norm with running statistics, ${variant}`, async () => {
    const an = await instance(variant);
    const [n, channels] = [21, 5];
    const x = randoms(n * channels, 1, 3);
    const [mean, deviation] = [randoms(channels, 2), randoms(channels, 3, 0.5, 1)];
    const shape = [n, channels];
    const inference = an.norm(
      'batch_norm',
      { data: x, shape },
      { runningMean: mean, runningVar: deviation, eps: 1e-5, training: false },
    );
    const want = Array.from(x, (v, i) => (v - mean[i % channels]) / Math.sqrt(deviation[i % channels] + 1e-5));
    near(inference, want, NORM_LIMIT, 'inference');
    for (const biasedRunningVar of [false, true]) {
      const runningMean = an.tensor(mean);
      const runningVar = an.tensor(deviation);
      const options = { runningMean, runningVar, momentum: 0.25, training: true, biasedRunningVar };
      an.norm('batch_norm', { data: x, shape }, options);
      for (let c = 0; c < channels; c++) {
        const own = moments(Array.from(x.filter((_, i) => i % channels === c)));
        const spread = biasedRunningVar ? own.variance : (own.variance * n) / (n - 1);
        const [gotMean, gotVar] = [values(runningMean)[c], values(runningVar)[c]];
        assert.ok(distance(gotMean, 0.75 * mean[c] + 0.25 * own.mean) <= 1e-6, `running mean ${gotMean}`);
        assert.ok(distance(gotVar, 0.75 * deviation[c] + 0.25 * spread) <= 1e-6, `running variance ${gotVar}`);
      }
      runningMean.dispose();
      runningVar.dispose();
    }
  });
}

/* ---- Softmax ---- */

for (const variant of variants) {
  test(`softmax and log-softmax, ${variant}`, async () => {
    const an = await instance(variant);
    for (const scale of [1, 10, 90]) {
      for (const d of [1, 2, 3, 7, 16, 33, 128, 1000, 6625]) {
        const x = randoms(2 * d, d, scale);
        const lists = rowsOf(x, d);
        const y = an.softmax({ data: x, shape: [2, d] });
        const log = an.softmax({ data: x, shape: [2, d] }, { log: true });
        lists.forEach((row, r) => {
          const top = Math.max(...row);
          const [want, wantLog] = [softmax(row), softmax(row, true)];
          let total = 0;
          for (let j = 0; j < d; j++) {
            // x - max is rounded to float32, which costs up to |x - max| 2^-24 of y, up to so many units where y is just
            // below a power of two; the rest is what exp, the sum and the division round.
            const limit = Math.abs(row[j] - top) + 6;
            const error = ulps(y[r * d + j], want[j]);
            assert.ok(error <= limit, `d ${d}, scale ${scale}: ${y[r * d + j]}, not ${want[j]}: ${error} ULP`);
            note('softmax, ULP above |x - max|', variant, error - Math.abs(row[j] - top), `d ${d}`);
            const logError = distance(log[r * d + j], wantLog[j]);
            const logLimit = 3e-7 * Math.max(1, Math.abs(wantLog[j]));
            assert.ok(logError <= logLimit, `log, d ${d}, scale ${scale}: ${log[r * d + j]}, not ${wantLog[j]}`);
            note('log-softmax, absolute', variant, logError, `${wantLog[j]}`);
            total += y[r * d + j];
          }
          assert.ok(Math.abs(total - 1) <= 1e-6, `sum ${total}`);
        });
      }
    }
  });
}

after(() => {
  console.log('exactness: the largest error of this sweep');
  for (const [key, { error, text }] of figures) console.log(`  ${key.padEnd(44)} ${error.toPrecision(3)} ${text}`);
});
