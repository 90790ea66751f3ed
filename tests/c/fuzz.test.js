// The C library under libFuzzer with AddressSanitizer and UBSan: the committed inputs and some thousand others, always the
// same ones. `npm run fuzz` looks for new ones.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { before, test } from 'node:test';
import { build, fuzz, missing, targets } from '../fuzz/native.js';

const skip = missing();
if (skip && process.env.CI === 'true') throw new Error(`CI needs libFuzzer: ${skip}`);
if (!skip) before(build);

/** Each input is run twice, in two layouts of its buffers. */
const runs = { lists: 500, elements: 6000, norms: 4000, linear: 1500, losses: 2000, optimisers: 2000, module: 1000 };
const reached = new Map();

for (const target of targets) {
  test(`any ${target}`, { skip }, async (t) => {
    const { executions, failure, reached: here } = await fuzz(target, ['-seed=1', `-runs=${runs[target]}`]);
    assert.equal(failure, null, failure ?? '');
    assert.ok(executions >= runs[target], `${executions} executions`);
    t.diagnostic(`${executions} executions`);
    for (const [name, counts] of here) {
      const known = reached.get(name) ?? { good: 0, refused: 0 };
      reached.set(name, { good: known.good + counts.good, refused: known.refused + counts.refused });
    }
  });
}

test('every function of the header is reached, and if it has a status, is refused too', { skip }, () => {
  const header = readFileSync(new URL('../../include/addnorm.h', import.meta.url), 'utf8');
  const declared = [...header.matchAll(/^AN_API (.+?)\*?\b(an_\w+)\(/gm)].map(([, type, name]) => ({ type, name }));
  assert.ok(declared.length > 80);
  const unreached = declared.filter(({ name }) => !reached.has(name)).map(({ name }) => name);
  assert.deepEqual(unreached, []);
  const onesided = declared
    .filter(({ type, name }) => type.trim() === 'an_status' && !(reached.get(name).good && reached.get(name).refused))
    .map(({ name }) => name);
  // It takes nothing but a place to write to.
  assert.deepEqual(onesided, ['an_config_default']);
});
