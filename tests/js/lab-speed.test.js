// What the Speed panel measures beside whole passes: every part of every kind of block runs, what cannot be is left out, and
// nothing stays in memory.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { partsOf } from '../../web/demo/panels/speed/parts.js';
import { speedRun } from '../../web/demo/panels/speed/run.js';
import { instance } from './helpers.js';

const an = await instance('simd');
const small = { d_model: 16, d_ff: 32 };
const namesOf = (fields) =>
  an.scope(() => {
    const { subjects } = partsOf(an, { ...small, ...fields }, 4);
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

test('measured: parts, norms and growth; null where there is no such block; nothing stays in memory', async () => {
  const sent = {};
  const before = an.stats().live;
  let last = [0, 1];
  const configs = [
    small,
    { d_model: 24, d_ff: 48, mixing: 'attention', heads: 12 },
    { d_model: 8192, d_ff: 32768 },
    { ...small, d_ff: -1 },
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
    for (const { low, median, high } of [block, ...parts]) assert.ok(low >= 0 && low <= median && median <= high);
    assert.ok(block.median > 0);
  }
  assert.deepEqual([large, broken], [{ reason: 'large' }, { reason: 'error' }]);
  assert.deepEqual(
    sent.norms.map(({ d, layer, rms }) => [d, layer.median > 0, rms.median > 0]),
    [
      [16, true, true],
      [24, true, true],
    ],
  );
  const [rows, width] = [sent.rows, sent.width];
  assert.ok(rows.lines[0].every((time) => time.median > 0));
  assert.ok(rows.lines[2].at(-1) === null && rows.lines[3].every((time) => time === null));
  assert.deepEqual(
    width.sizes.filter((size, i) => size <= 512 && width.lines[1][i] === null),
    [32, 64, 128, 256, 512],
    'widths that 12 heads do not divide',
  );
  assert.ok(width.lines[0].findLast(Boolean).median > 20 * width.lines[0][0].median, 'a wide block takes longer');
  assert.equal(an.stats().live, before);
});
