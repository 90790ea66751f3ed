// Block Lab's Activations panel and its walk through the norms, without a browser: their references against the tests'
// own, tails and shares against the formulas, errors against the documented bounds, the matrix's way through a link.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import { describe, makeBlock, makeInput } from '../../web/demo/compute.js';
import { completed } from '../../web/demo/fields.js';
import * as compute from '../../web/demo/panels/activations/compute.js';
import { activationsJob, shownCurves } from '../../web/demo/panels/activations/job.js';
import { FILE, MEASURED } from '../../web/demo/panels/activations/measured.js';
import { NAIVE } from '../../web/demo/panels/activations/naive.js';
import { MAX_VALUES, preactivations } from '../../web/demo/panels/activations/preactivations.js';
import { erf, REFERENCE } from '../../web/demo/panels/activations/reference.js';
import { points, ulps } from '../../web/demo/panels/activations/sample.js';
import { ACTIVATIONS_PROPS, NAMES, niceRange, paramProp, rangeOf } from '../../web/demo/panels/activations/state.js';
import { inputOf } from '../../web/demo/panels/norms/job.js';
import * as matrices from '../../web/demo/panels/norms/matrix.js';
import { NORMS_PROPS } from '../../web/demo/panels/norms/state.js';
import * as steps from '../../web/demo/panels/norms/steps.js';
import * as reference from './reference.js';
import { instance, variants } from './shared.js';

fc.configureGlobal({ seed: Number(process.env.ADDNORM_SEED ?? 20240607) });

const an = await instance('simd');
const catalog = describe(an);
const initial = Object.fromEntries([...ACTIVATIONS_PROPS, ...NORMS_PROPS].map(({ name, initial }) => [name, initial]));

// ---- Lists that are written down once more

test('activations and defaults are the module’s', () => {
  assert.deepEqual(
    NAMES,
    an.activations.map(({ name }) => name),
  );
  const state = initial;
  for (const { name, params } of an.activations)
    for (const { name: param, default: usual } of params) assert.equal(state[paramProp(name, param)], usual, name);
});

test('the measured errors are those of docs/accuracy.md', () => {
  const text = readFileSync(new URL(`../../${FILE}`, import.meta.url), 'utf8');
  for (const name of NAMES) {
    const row = text.match(new RegExp(`^\\| ${name} \\| (\\d+) \\| ([\\d.]+) \\| [^|]+ \\| ([\\d.]+) \\|`, 'm'));
    assert.deepEqual(MEASURED[name], row.slice(1, 4).map(Number), name);
  }
});

// ---- Errors in ULP

test('the page’s references agree with the tests’ to a ten-thousandth of an ULP', () => {
  const x = [...points(-8, 8, 40, 100), ...points(-120, 120, 40, 100)];
  for (const name of NAMES) {
    const { f } = reference.activations[name];
    for (const value of x) {
      const want = f(value, ...reference.defaults(name));
      const error = Math.abs(REFERENCE[name](value) - want) / reference.unit(want);
      assert.ok(error < 1e-4, `${name} at ${value}: ${error} ULP`);
    }
  }
  for (const [z, want] of [
    [0.5, 0.5204998778130465],
    [-1, -0.8427007929497149],
    [2.5, 0.999593047982555],
  ])
    assert.ok(Math.abs(erf(z) - want) < 2e-16 + 1e-15 * Math.abs(want), `erf ${z}`);
});

test('an error in ULP is what the other tests take for one', () => {
  const float = fc.float({ noNaN: true, noDefaultInfinity: true });
  const got = fc.oneof(float, fc.constantFrom(Number.NaN, Infinity, -Infinity, 0, -0));
  const near = fc
    .tuple(fc.double({ min: -1e30, max: 1e30, noNaN: true }), fc.integer({ min: -40, max: 40 }))
    .map(([want, by]) => [Math.fround(want + by * reference.unit(want)), want]);
  fc.assert(
    fc.property(fc.oneof(near, fc.tuple(got, float)), ([a, b]) => {
      assert.equal(ulps(a, b), reference.ulps(a, b), `${a} for ${b}`);
    }),
    { numRuns: 2000 },
  );
});

test('points: floats of every bin, half of them evenly among all floats', () => {
  const x = points(-1, 3, 8, 64);
  assert.equal(x.length, 512);
  for (const [i, value] of x.entries()) {
    const bin = Math.floor(i / 64);
    assert.ok(value >= -1 + bin / 2 && value <= -0.5 + bin / 2, `${i}: ${value}`);
  }
  assert.ok(x.filter((value) => value !== 0 && Math.abs(value) < 1e-30).length > 10, 'the tiny ones are met');
  assert.ok(new Set(points(2, 3, 1, 64)).size >= 60, 'different ones');
});

const RANGES = [
  [-4, 4],
  [-15, 5],
  [-110, 110],
];

test('over any range the package stays within its bound, in every variant', async () => {
  for (const variant of variants) {
    const own = await instance(variant);
    for (const name of NAMES) {
      for (const range of variant === 'simd' ? RANGES : RANGES.slice(1, 2)) {
        const { lines, points: count } = await compute.errors(own, name, range);
        assert.equal(count, 61440);
        assert.equal(lines[0].infinite, 0, name);
        const worst = Math.max(...lines[0].max);
        assert.equal(worst, lines[0].largest);
        assert.ok(worst <= MEASURED[name][0], `${variant} ${name} in ${range}: ${worst}`);
        assert.ok(worst <= Math.max(...MEASURED[name].slice(1)) + 0.01, `${name}: more than was measured anywhere`);
      }
    }
  }
});

test('the usual formulas lose what the text says', async () => {
  const [, naive] = (await compute.errors(an, 'gelu_erf', [-6, -4])).lines;
  assert.ok(naive.largest > 1e5, `1 + erf in the left tail: ${naive.largest}`);
  const [, byExp] = (await compute.errors(an, 'tanh', [40, 50])).lines;
  assert.ok(byExp.infinite > 0 && Number.isNaN(byExp.first.got) && byExp.first.at > 44 && byExp.first.at < 45);
  const [, nearZero] = (await compute.errors(an, 'tanh', [-0.01, 0.01])).lines;
  assert.ok(nearZero.largest > 1e7);
  const formula = (name, i = 0) => NAIVE[name][i][1];
  assert.equal(formula('gelu_erf')(-7), -0);
  assert.equal(formula('softplus')(-20), 0);
  assert.equal(formula('sigmoid', 1)(100), Number.NaN);
  for (const [name, formulas] of Object.entries(NAIVE)) {
    for (const [, f] of formulas) {
      for (const x of [-1.5, 0.75, 2]) {
        const want = REFERENCE[name](x);
        assert.ok(Math.abs(f(x) - want) <= 2e-6 * Math.max(1, Math.abs(want)), `${name} at ${x}: the right formula`);
      }
    }
  }
});

// ---- Curves and where they are flat

test('function and derivative are the package’s', () => {
  const { x, y, slope } = compute.curve(an, 'swish', { beta: 2 }, [-3, 3]);
  assert.equal(x.length, compute.CURVE_POINTS);
  assert.deepEqual([x[0], x[x.length - 1]], [-3, 3]);
  for (const i of [0, 200, 300, 471]) {
    const s = 1 / (1 + Math.exp(-2 * x[i]));
    assert.ok(Math.abs(y[i] - x[i] * s) < 1e-6);
    assert.ok(Math.abs(slope[i] - s * (1 + 2 * x[i] * (1 - s))) < 2e-6);
  }
});

test('tails begin where the derivative reaches the threshold, and say what the function goes to', () => {
  const at = (name, params = {}, flat = 0.01) => compute.tails(an, name, params, flat);
  const near = (got, kind, want) => {
    assert.equal(got?.kind, kind);
    assert.ok(Math.abs(got.at - want) <= 1e-4 * Math.max(1, Math.abs(want)), `${got.at}, not ${want}`);
  };
  assert.deepEqual(at('relu'), { left: { at: 0, kind: 'dead' }, right: null });
  assert.deepEqual(at('hard_swish').left, { at: -3, kind: 'dead' });
  for (const name of ['leaky_relu', 'identity']) assert.deepEqual(at(name), { left: null, right: null }, name);
  // tanh' = 1 - tanh² = 0.01; sigmoid' = s (1 - s) = 0.01; e^x = 0.01
  const tanhEnd = Math.atanh(Math.sqrt(0.99));
  near(at('tanh').left, 'saturated', -tanhEnd);
  near(at('tanh').right, 'saturated', tanhEnd);
  const half = (1 - Math.sqrt(0.96)) / 2;
  near(at('sigmoid').left, 'dead', Math.log(half / (1 - half)));
  near(at('sigmoid').right, 'saturated', -Math.log(half / (1 - half)));
  near(at('elu').left, 'saturated', Math.log(0.01));
  near(at('softplus', { beta: 4 }).left, 'dead', Math.log(0.01 / 0.99) / 4);
  near(at('softsign').right, 'saturated', 9);
  near(at('softcap', { cap: 5 }).right, 'saturated', 5 * tanhEnd);
  // A mirrored activation has its tail on the other side.
  const { left } = at('swish', { beta: 1.5 });
  near(at('swish', { beta: -1.5 }).right, 'dead', -left.at);
  // GELU: Φ(x) + x φ(x) = -0.01 for the first time
  const slope = (x) => 0.5 * reference.erfc(-x * Math.SQRT1_2) + (x * Math.exp((-x * x) / 2)) / Math.sqrt(2 * Math.PI);
  let [low, high] = [-6, -2];
  for (let i = 0; i < 60; i++)
    [low, high] = slope((low + high) / 2) < -0.01 ? [low, (low + high) / 2] : [(low + high) / 2, high];
  near(at('gelu_erf').left, 'dead', low);
  // Flat means smaller: at the float itself, and not at the next.
  const end = at('silu').left.at;
  const [inside, outside] = an.activationBackward(
    'silu',
    Float32Array.of(end, end * (1 - 2 ** -20)),
    Float32Array.of(1, 1),
  );
  assert.ok(Math.abs(inside) < 0.01 && Math.abs(outside) >= Math.fround(0.01), `${inside} ${outside}`);
  assert.deepEqual(compute.byKind(at('hard_sigmoid', { alpha: 0 }), { left: 1, right: 1 }), { dead: 0, saturated: 1 });
  assert.equal(at('gelu_erf', {}, 0).left.at < -13, true, 'exactly 0 only far out');
});

// ---- Pre-activations

const silu = { d_model: 32, d_ff: 64, activation: 'silu', gated: true, norm: 'rms_norm', placement: 'pre' };
const relu = { d_model: 48, d_ff: 96, activation: 'relu', norm: 'layer_norm', placement: 'post' };
const given = { rows: 40, seed: 3, inputMean: 0.5, inputStd: 2, file: null };

// Row by row in double precision, from the block's own parameters.
function expected(fields, matrix) {
  const values = completed(fields, an.fields);
  const { block } = makeBlock(an, fields, given.seed);
  const d = values.d_model;
  const weight = reference.rowsOf(block.parameters[matrix].toArray(), d);
  const bias = block.parameters[`${matrix}_bias`]?.toArray();
  const rows = reference.rowsOf(makeInput(values, given).data, d);
  const entering = values.placement === 'pre' ? reference.norm(values.norm, rows, { eps: 1e-6 }) : rows;
  const result = reference.linear(entering, weight, bias).flat();
  block.dispose();
  return result;
}

test('what enters an activation: of the gate where there is one, behind the norm where it stands before', () => {
  for (const [fields, matrix] of [
    [silu, 'gate'],
    [relu, 'up'],
  ]) {
    const { sorted, summary, rows, gate, units } = preactivations(an, { fields }, given);
    assert.deepEqual([rows, units, gate], [40, fields.d_ff, matrix === 'gate']);
    const want = expected(fields, matrix).sort((a, b) => a - b);
    assert.equal(sorted.length, want.length);
    for (const [i, value] of sorted.entries()) assert.ok(Math.abs(value - want[i]) < 2e-5, `${matrix} ${i}`);
    assert.ok(Math.abs(summary.mean - want.reduce((a, b) => a + b) / want.length) < 1e-5);
  }
});

test('shares in the tails and histograms count every value once', () => {
  const { sorted } = preactivations(an, { fields: relu }, given);
  const want = expected(relu, 'up');
  const limits = compute.tails(an, 'relu', {}, 0.01);
  const { dead, saturated } = compute.byKind(limits, compute.tailShares(sorted, limits));
  assert.ok(Math.abs(dead - want.filter((value) => value <= 0).length / want.length) <= 2 / want.length);
  assert.equal(saturated, 0);
  const both = compute.tails(an, 'tanh', {}, 0.01);
  const ends = compute.tailShares(sorted, both);
  const beyond = want.filter((value) => Math.abs(value) >= both.right.at).length / want.length;
  assert.ok(beyond > 0.001 && Math.abs(compute.byKind(both, ends).saturated - beyond) <= 2 / want.length);
  const { counts, below, above, total } = compute.histogram(sorted, [-1, 2], 12);
  assert.equal(
    counts.reduce((a, b) => a + b, below + above),
    total,
  );
  for (const [bin, count] of counts.entries()) {
    const [low, high] = [-1 + bin / 4, -1 + (bin + 1) / 4];
    const own = want.filter((value) => value >= low && (value < high || (bin === 11 && value === 2))).length;
    assert.ok(Math.abs(count - own) <= 2, `bin ${bin}: ${count}, not ${own}`);
  }
});

test('a wide layer gives fewer tokens, a huge one fewer units, and both say so', () => {
  const wide = preactivations(an, { fields: { ...relu, d_ff: 8192 } }, { ...given, rows: 4096 });
  assert.equal(wide.rows, MAX_VALUES / 8192);
  // So narrow a limit that a quarter of the units is left; the distribution is the same.
  for (const init of ['pytorch', 'xavier_normal', 'kaiming_uniform', 'normal']) {
    const fields = { ...silu, d_ff: 1024, init };
    const whole = preactivations(an, { fields }, given);
    const part = preactivations(an, { fields }, given, 4 * 3 * 32 * 256);
    assert.deepEqual([part.units, part.of, whole.units], [256, 1024, 1024]);
    assert.ok(
      Math.abs(part.summary.std / whole.summary.std - 1) < 0.05,
      `${init}: ${part.summary.std}, ${whole.summary.std}`,
    );
  }
  const before = an.stats().bytes;
  const huge = { fields: { ...silu, d_model: 4096, d_ff: 11008, mixing: 'attention' } };
  assert.throws(() => preactivations(an, huge, given), { code: 'TOO_LARGE', bytes: 4 * 4096 * (3 * 11008 + 4 * 4096) });
  assert.equal(an.stats().bytes, before, 'nothing is left behind');
});

test('of a trained layer that is too large the first units are looked at', () => {
  const values = completed(silu, an.fields);
  const { block } = makeBlock(an, silu, 11);
  const trained = Object.entries(block.parameters).map(([name, tensor]) => ({ name, data: tensor.toArray() }));
  block.dispose();
  const input = { ...given, rows: 8 };
  const part = preactivations(an, { fields: silu, trained }, input, 4 * 3 * 32 * 16);
  const rows = reference.rowsOf(makeInput(values, input).data, 32);
  const weight = reference.rowsOf(trained.find(({ name }) => name === 'gate').data, 32).slice(0, 16);
  const bias = trained.find(({ name }) => name === 'gate_bias')?.data;
  const wanted = reference.linear(reference.norm('rms_norm', rows, { eps: 1e-6 }), weight, bias).flat();
  wanted.sort((a, b) => a - b);
  assert.equal(part.sorted.length, wanted.length);
  for (const [i, value] of part.sorted.entries()) assert.ok(Math.abs(value - wanted[i]) < 2e-5, `${i}`);
});

// ---- GELU's approximations

test('the approximations of GELU differ by what is known', () => {
  const { lines } = compute.differences(an, [-5, 5]);
  const [tanh, quick, own] = lines;
  const exact = reference.activations.gelu_erf.f;
  for (const { name, largest, at } of lines) {
    const want = reference.activations[name].f(at, ...reference.defaults(name)) - exact(at);
    assert.ok(Math.abs(largest - want) < 1e-6, name);
  }
  assert.ok(Math.abs(Math.abs(tanh.largest) - 4.73e-4) < 1e-6 && Math.abs(Math.abs(quick.largest) - 0.02034) < 1e-5);
  assert.ok(Math.abs(own.largest) < 5e-7, 'GELU itself differs by its rounding');
});

// ---- What is drawn

test('configurations with the same activation share a curve, others have their own', () => {
  const config = (values) => ({ name: 'x', preset: '', weights: '', values });
  const state = {
    ...initial,
    ...{ rows: 1, seed: 1, inputMean: 0, inputStd: 1, variant: 'auto' },
    activations: ['relu', 'swish'],
    'swish.beta': 2,
    configs: [
      config({ activation: 'gelu_erf' }),
      config({ activation: 'swish', activation_p0: 3 }),
      config({}),
      config({ activation: 'swish' }),
    ],
  };
  const shown = (of) => shownCurves(of, catalog).map(({ id, owners }) => `${id}: ${owners}`);
  assert.deepEqual(shown(state), ['gelu_erf: 0,2', 'swish 3: 1', 'swish 1: 3', 'relu: ']);
  assert.deepEqual(shown({ ...state, configs: state.configs.slice(0, 1) }), ['gelu_erf: 0', 'relu: ', 'swish 2: ']);
  assert.deepEqual(shown({ ...state, activationsOff: ['gelu_erf', 'relu', 'swish'] }), []);
  const job = activationsJob(state, { catalog, configs: state.configs.map(() => ({ key: 'k' })), file: 0 });
  assert.deepEqual(
    job.configs.map(({ curve }) => curve.params),
    [{}, { beta: 3 }, {}, { beta: 1 }],
  );
  assert.deepEqual(JSON.parse(JSON.stringify(job)), job, 'it is its own key');
});

test('any range that a link can say is one that can be drawn', () => {
  const end = fc.double({ min: -1e6, max: 1e6, noNaN: true });
  fc.assert(
    fc.property(end, end, (actLow, actHigh) => {
      const [low, high] = rangeOf({ actLow, actHigh });
      assert.ok(low < high && Math.fround(low) < Math.fround(high));
      const next = rangeOf(niceRange(low, high));
      assert.ok(Math.abs(next[0] - low) <= 0.01 * (high - low) && Math.abs(next[1] - high) <= 0.01 * (high - low));
    }),
  );
});

// ---- The walk through the norms

const taken = (patch) => steps.takes(inputOf({ ...initial, ...patch }));

test('a matrix survives the way through its text; what is none is refused', () => {
  for (const [name, example] of Object.entries(matrices.EXAMPLES)) {
    assert.equal(matrices.print(example), name);
    assert.equal(matrices.parse(name), example);
  }
  assert.equal(matrices.matrixText.read('1_2~3_-0.5!*5_6~7_1e30'), '1_2~3_-0.5!*5_6~7_1e30');
  assert.deepEqual(matrices.parse('1_2~3_-0.5!'), {
    b: 1,
    l: 2,
    d: 2,
    data: [1, 2, 3, -0.5],
    padding: [false, true],
  });
  const broken = [
    '',
    '1_2~3',
    '1_2*3~4',
    '1_x',
    '1__2',
    '1_2_3_4_5_6_7',
    '1~2~3~4~5',
    '1*2*3*4',
    '1e39',
    'NaN',
    'toString',
  ];
  for (const text of broken) assert.equal(matrices.matrixText.read(text), undefined, text);
  assert.equal(matrices.vectorText.read('1_0.50_-0'), '1_0.5_0');
  assert.equal(matrices.vectorText.read('1_2_3_4_5_6_7'), undefined);
  assert.deepEqual(matrices.vectorOf('2', 3, 1), [2, 1, 1]);
  const grown = matrices.resized(matrices.EXAMPLES.padding, { b: 3, l: 2, d: 5 });
  assert.deepEqual(grown.data.slice(0, 5), [...matrices.EXAMPLES.padding.data.slice(0, 4), 0]);
  assert.deepEqual(grown.padding, [false, false, false, true, false, false]);
});

// The same statistics by the tests' own reference.
function want(name, input, masked) {
  const { b, l, d, data, weight, bias, eps, groups, padding } = input;
  const mask = masked && name === 'batch_norm' ? padding.map((is) => Number(!is)) : undefined;
  return reference.normOf(name, [b, l, d], { eps, groups, mask })(data, weight, name === 'rms_norm' ? undefined : bias);
}

test('the steps are the norms, and the package gives them within its bound', async () => {
  const anyCase = fc.record({
    size: fc.record({
      b: fc.integer({ min: 1, max: 3 }),
      l: fc.integer({ min: 1, max: 4 }),
      d: fc.constantFrom(2, 4, 6),
    }),
    seed: fc.integer({ min: 1, max: 1e6 }),
    shift: fc.constantFrom(0, 3, 1e4, -1e6),
    eps: fc.constantFrom(0, 1e-12, 1e-5, 1),
    masked: fc.boolean(),
  });
  for (const variant of variants) {
    const own = await instance(variant);
    fc.assert(
      fc.property(anyCase, ({ size: { b, l, d }, seed, shift, eps, masked }) => {
        const next = (i) => Math.sin(seed * (i + 1)) * 3 + shift;
        const padding = Array.from({ length: b * l }, (_, i) => i > 0 && Math.sin(seed + i) > 0.3);
        const data = Array.from({ length: b * l * d }, (_, i) => next(i));
        const input = steps.takes({
          ...{ b, l, d, data, padding, eps, groups: 2 },
          weight: Array.from({ length: d }, (_, i) => 1 + i / 4),
          bias: Array.from({ length: d }, (_, i) => i - 1),
        });
        const results = steps.byPackage(own, input, masked);
        for (const name of steps.NORMS) {
          const walked = steps.walk(name, input, masked);
          const reference = want(name, input, masked);
          // A single value, or equal ones, without eps: 0/0 in the reference.
          for (const [i, y] of walked.y.entries())
            if (Number.isFinite(reference[i])) assert.ok(Math.abs(y - reference[i]) <= 1e-7 * (1 + Math.abs(y)), name);
          const units = steps.inUnits(results[name].y, walked, input);
          assert.ok(units <= steps.BOUND, `${variant} ${name}: ${units} units`);
        }
      }),
      { numRuns: variant === 'simd' ? 200 : 60 },
    );
  }
});

test('which cells share their statistics', () => {
  const input = taken({});
  const sizes = Object.fromEntries(
    steps.NORMS.map((name) => [
      name,
      steps
        .walk(name, input, true)
        .stats.map(({ count }) => count)
        .join(' '),
    ]),
  );
  assert.deepEqual(sizes, {
    layer_norm: '4 4 4 4 4 4',
    rms_norm: '4 4 4 4 4 4',
    batch_norm: '6 6 6 6',
    group_norm: '6 6 6 6',
    instance_norm: '3 3 3 3 3 3 3 3',
  });
  const padded = taken({ normMatrix: 'padding' });
  assert.equal(steps.walk('batch_norm', padded, true).stats[0].count, 4);
  assert.equal(steps.walk('batch_norm', padded, true).groups[5 * 4], -1);
  assert.equal(steps.walk('batch_norm', padded, false).stats[0].count, 6);
});

test('a batch of one gives the bias; padding and running statistics change the result', () => {
  const one = taken({ normMatrix: 'one' });
  assert.deepEqual([...steps.byPackage(an, one, true).batch_norm.y], [0, 0.5, 0, -1]);
  assert.equal(steps.channelCount(one, true), 1);

  const padded = taken({ normMatrix: 'padding' });
  const [masked, counted, inference] = steps.batchNormWays(an, padded, 3);
  const close = (got, expected, what) =>
    got.forEach((y, i) => {
      assert.ok(
        Math.abs(y - expected[i]) < 5e-6 * Math.max(1, Math.abs(expected[i])),
        `${what} [${i}]: ${y}, ${expected[i]}`,
      );
    });
  close(masked.y, want('batch_norm', padded, true), 'masked');
  close(counted.y, want('batch_norm', padded, false), 'counted');
  assert.ok(steps.realDifference(counted.y, masked.y, padded) > 1);
  // Three steps of momentum 0.1 from mean 0 and variance 1, the variance as n / (n - 1) has it.
  const { stats } = steps.walk('batch_norm', padded, true);
  const kept = 0.9 ** 3;
  const runningMean = stats.map(({ mean }) => (1 - kept) * mean);
  const runningVar = stats.map(({ variance, count }) => kept + ((1 - kept) * variance * count) / (count - 1));
  close(inference.runningVar, runningVar, 'running variance');
  const mask = padded.padding.map((is) => Number(!is));
  const options = { eps: padded.eps, mask, runningMean, runningVar };
  const expectedY = reference.normOf('batch_norm', [2, 3, 4], options)(padded.data, padded.weight, padded.bias);
  close(inference.y, expectedY, 'inference');
});

test('one pass in float32 loses the variance where the mean is large', () => {
  const row = taken({ normMatrix: 'large_mean' }).data.slice(0, 4);
  const { variance } = steps.statistics([...row], 0, true);
  assert.ok(Math.abs(variance - 0.985) < 0.01, `${variance}`);
  assert.ok(Math.abs(steps.onePass([...row]) - variance) > 1);
  assert.ok(Math.abs(steps.onePass([0.5, -1.2, 0.8, 1.5]) - 0.985) < 1e-6);
});

test('groups that do not divide the features are an error of GroupNorm alone', () => {
  const results = steps.byPackage(an, taken({ normGroups: 3 }), true);
  assert.equal(results.group_norm.error.code, 'SHAPE_MISMATCH');
  assert.ok(results.layer_norm.y);
});
