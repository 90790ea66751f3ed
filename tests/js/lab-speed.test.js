// What the Speed panel measures beside whole passes: every part of every kind of block runs, what cannot be says why, and
// nothing stays in memory; norms are compared at the tokens of a block; tables are saved as plain numbers.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import parts from '../../web/demo/panels/speed/en.js';
import {
  compareNorms,
  exactCosts,
  exactNorms,
  exactParts,
  exactSweep,
  exactTimings,
} from '../../web/demo/panels/speed/figures.js';
import { breakdown, partsOf } from '../../web/demo/panels/speed/parts.js';
import { speedRun } from '../../web/demo/panels/speed/run.js';
import { toCsv } from '../../web/demo/shell/export/csv.js';
import base from '../../web/demo/texts/en.js';
import { instance } from './helpers.js';

const an = await instance('simd');
const small = { d_model: 16, d_ff: 32 };
const namesOf = (fields) =>
  an.scope(() => {
    const subjects = partsOf(an, { ...small, ...fields }, 4);
    for (const { run } of subjects) run();
    return subjects.map(({ name, calls }) => (calls > 1 ? `${calls} ${name}` : name)).join(' ');
  });

test('a block is made of the parts that it has, whatever its norm, activation and placement', () => {
  for (const { name } of an.norms) {
    const has = name === 'none' ? '' : 'norm ';
    assert.equal(namesOf({ norm: name, placement: 'pre', groups: 4 }), `block ${has}products activation add`, name);
  }
  for (const { name } of an.activations) {
    for (const gated of [false, true]) assert.match(namesOf({ activation: name, gated }), /products activation/, name);
  }
  for (const { name } of an.placements) {
    const has = { none: '', rezero: '', peri: '2 norm ' }[name] ?? 'norm ';
    assert.equal(namesOf({ placement: name }), `block ${has}products activation add`, name);
  }
  assert.equal(namesOf({ residual: false }), 'block norm products activation');
  assert.match(namesOf({ mixing: 'attention', heads: 2 }), /^block unmixed /);
});

test('measured: parts, norms and growth; a reason where there is no such block; nothing stays in memory', async () => {
  const sent = {};
  const before = an.stats().live;
  let last = [0, 1];
  const configs = [
    { d_model: 24, d_ff: 48 },
    { d_model: 24, d_ff: 48, mixing: 'attention', heads: 12 },
    { d_model: 8192, d_ff: 32768 },
    { ...small, d_ff: -1 },
    { d_model: 8, d_ff: 16384 },
  ];
  await speedRun(
    { configs, rows: 4, variant: 'simd' },
    {
      an,
      undisturbed: async () => true,
      progress: (done, total) => {
        assert.ok(done >= last[0] && done <= total);
        last = [done, total];
      },
      send: (patch) => Object.assign(sent, structuredClone(patch)),
    },
  );
  const [plain, mixed, large, broken] = sent.parts;
  assert.deepEqual(
    plain.parts.map(({ name }) => name),
    ['norm', 'products', 'activation', 'add'],
  );
  assert.equal(mixed.parts[0].name, 'mixing');
  for (const { block, parts, rows } of [plain, mixed]) {
    assert.equal(rows, 4);
    for (const { name, low, median, high } of [block, ...parts])
      if (name !== 'mixing') assert.ok(low >= 0 && low <= median && median <= high, name);
    assert.ok(block.median > 0);
  }
  // 2 · 8192 · 32768 weights: one token is a billion operations.
  assert.deepEqual([large, broken], [{ reason: 'large', rows: 1, d: 8192 }, { reason: 'error' }]);
  assert.deepEqual(
    sent.norms.map(({ d, rows, layer, rms }) => [d, rows, layer.median > 0, rms.median > 0]),
    [
      [24, 4, true, true],
      [8192, 1, true, true],
      [8, 4, true, true],
    ],
    'each shape once, at the tokens of its block, and where the block is too large',
  );
  const [rows, width] = [sent.rows, sent.width];
  assert.ok(rows.lines[0].every((time) => time.median > 0));
  assert.ok([2, 3].every((i) => rows.lines[i].every((time) => time === null)));
  assert.deepEqual(rows.reasons, [null, null, 'large', 'impossible', null]);
  // 12 heads divide none of the widths that are not too long; 64 tokens by 4.2 million weights are, at the least width.
  assert.deepEqual(width.reasons, [null, 'impossible', null, 'impossible', 'long']);
  assert.deepEqual(
    width.sizes.filter((size, i) => size <= 512 && width.lines[1][i] === null),
    [32, 64, 128, 256, 512],
    'widths that 12 heads do not divide',
  );
  assert.ok(width.lines[0].findLast(Boolean).median > 20 * width.lines[0][0].median, 'a wide block takes longer');
  assert.equal(an.stats().live, before);
});

// ---- What is shown and saved

const timed = (low, median, high) => ({ low, median, high, half: (high - low) / 2, count: 7, repeats: 10 });
/** Two blocks of one width and a third that is too large, with both norms at the tokens of each. */
const block = (rows, median) => ({ d: 512, rows, block: { calls: 1, ...timed(median, median, median) }, parts: [] });
const measured = [block(200, 1e-3), block(7000, 4e-3), { reason: 'large', rows: 3, d: 4096 }, { reason: 'error' }];
const norms = [
  { d: 512, rows: 200, layer: timed(2.9e-5, 3e-5, 3.1e-5), rms: timed(1.9e-5, 2e-5, 2.1e-5) },
  { d: 512, rows: 7000, layer: timed(7e-4, 8e-4, 9e-4), rms: timed(8e-4, 8.4e-4, 8.6e-4) },
  { d: 4096, rows: 3, layer: timed(3e-6, 4e-6, 5e-6), rms: timed(1e-6, 2e-6, 2.5e-6) },
];
const near = (actual, expected) => assert.ok(Math.abs(actual / expected - 1) < 1e-12, `${actual}, not ${expected}`);

test('what LayerNorm takes longer is of the block with as many tokens, negative where it was, unclear where quartiles meet', () => {
  const [few, many, large, broken] = measured.map((one) => compareNorms(one, norms));
  near(few.share, 0.01); // 10 µs of 1 ms
  near(many.share, -0.01); // -40 µs of 4 ms
  near(few.ratio, 1.5);
  assert.deepEqual([few.unclear, many.unclear, large.unclear], [false, true, false]);
  near(large.ratio, 2);
  assert.equal(large.share, null);
  assert.equal(broken, null);
});

test('the mixing sublayer is what the block takes longer with it, even if that is less', () => {
  const subjects = ['block', 'unmixed', 'norm'].map((name) => ({ name, calls: 1 }));
  const { parts } = breakdown(subjects, [timed(4, 5, 6), timed(5, 6, 7), timed(1, 2, 3)]);
  assert.deepEqual(
    parts.map(({ name, median }) => [name, median]),
    [
      ['mixing', -1],
      ['norm', 2],
    ],
  );
});

const t = { ...base, parts };
/** As a spreadsheet has it: columns by their heads, numbers as numbers. */
function columnsOf([head, ...rows]) {
  const cellOf = (value) => {
    const text = toCsv([[value]]).slice(1, -2);
    return text === '' || Number.isNaN(Number(text)) ? text : Number(text);
  };
  for (const cells of rows) assert.equal(cells.length, head.length);
  assert.equal(new Set(head).size, head.length, 'no head stands twice');
  return Object.fromEntries(head.map((name, i) => [name, rows.map((cells) => cellOf(cells[i]))]));
}

/** Nothing but numbers and gaps in every column that is not of words. */
function areNumbers(columns, words) {
  for (const [name, cells] of Object.entries(columns)) {
    if (!words.includes(name))
      for (const cell of cells) assert.ok(cell === '' || Number.isFinite(cell), `${name}: ${cell}`);
  }
}

test('CSV: both norms in µs with their quartiles, whose block it is, and why there is no share', () => {
  const columns = columnsOf(exactNorms(measured, norms, ['A a', 'B b', 'C c', 'D d'], t));
  areNumbers(columns, ['configuration', 'remark']);
  assert.deepEqual(columns.configuration, ['A a', 'B b', 'C c', 'D d']);
  assert.deepEqual(columns.tokens, [200, 7000, 3, '']);
  near(columns['LayerNorm (µs)'][0], 30);
  near(columns['RMSNorm, upper quartile (µs)'][1], 860);
  near(columns['difference, of the block’s time (%)'][1], -1);
  assert.deepEqual(columns.remark, ['', 'quartiles overlap', 'not measured: over 16 million weights', '']);
});

test('CSV: times, rates and sizes in one unit a column, with all digits', () => {
  const names = ['A', 'B'];
  const third = 1e-3 / 3;
  const limits = { peak: timed(9e9, 1e10, 1.1e10), read: { bytes: 1e6, ...timed(1e9, 2e9, 3e9) } };
  const result = { rows: 24000, cost: { parameters: 4260, flops: 1e6, bytes: 17040 }, memory: 65536 };
  const results = [{ result, times: { simd: { ...timed(2e-4, third, 5e-4), limits } } }, { error: new Error('why') }];
  const capabilities = {
    relaxed: { available: false, reason: 'too old' },
    simd: { available: true },
    scalar: { available: true },
  };
  const timings = columnsOf(exactTimings(results, names, capabilities, t));
  areNumbers(timings, ['configuration', 'variant', 'remark']);
  const at = timings.variant.indexOf('simd');
  near(timings['time per forward (µs)'][at], 1000 / 3);
  near(timings['time per forward, lower quartile (µs)'][at], 200);
  near(timings['GFLOP/s'][at], 3);
  near(timings['of the peak (%)'][at], 30);
  near(timings['tokens/s'][at], 7.2e7);
  assert.deepEqual(timings.remark[timings.variant.indexOf('relaxed')], 'refused here: too old');
  assert.deepEqual(timings.remark.at(-1), 'why');

  const costs = columnsOf(exactCosts(results, names, t));
  areNumbers(costs, ['configuration']);
  assert.deepEqual(
    ['parameters', 'FLOPs', 'weights (B)', 'read and written (B)', 'wasm memory (B)'].map((name) => costs[name]),
    [4260, 1e6, 17040, 17040, 65536].map((value) => [value, '']),
  );

  const norm = { name: 'norm', calls: 2, bytes: 3e3, ...timed(1e-6, 2e-6, 3e-6) };
  const products = { name: 'products', calls: 1, flops: 2e6, ...timed(7e-5, 8e-5, 9e-5) };
  const one = { ...block(24000, 1e-4), parts: [norm, products] };
  const where = columnsOf(exactParts([one, { reason: 'large' }], names, t));
  areNumbers(where, ['configuration', 'kernel', 'remark']);
  assert.deepEqual(where['calls in the block'], [2, 1, 1, '']);
  near(where['of the block’s time (%)'][0], 4);
  near(where['rate (GB/s)'][0], 1.5);
  near(where['rate (GFLOP/s)'][1], 25);
  near(where['time of one, upper quartile (µs)'][1], 90);
  assert.equal(where.remark.at(-1), 'more than 16 million weights: measured as a whole only');

  const line = [timed(1e-4, third, 5e-4), null];
  const growth = columnsOf(exactSweep('tokens', [1, 1024], [{ name: 'A', line }], ['B: too large'], t));
  areNumbers(growth, []);
  assert.deepEqual(
    [growth.tokens, growth['B: too large']],
    [
      [1, 1024],
      ['', ''],
    ],
  );
  near(growth['A (µs)'][0], 1000 / 3);
  assert.equal(growth['A, upper quartile (µs)'][1], '');
});
