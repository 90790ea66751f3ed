// Who learns without warm-up in stacks of 20 and 24 blocks and who does not. docs/training.md says what was found, of more
// seeds than are taken here: with the same bits everywhere a seed ends as it did there, or the arithmetic has changed, which
// trajectory.json tells too.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { an, fixed, gradientRatio, mean, train } from './train.js';

const { makeTask } = await import('../../dist/lib/tasks.js');

const seeds = [1, 2, 3, 4];
const modes = { pre: ['pre', 0], post: ['post', 0], 'post with warm-up': ['post', 50] };
/** A stack of 20 blocks that mixes tokens by their mean, and Adam, for the task majority. */
const majority = (mode, seed) => {
  const [placement, warmup] = modes[mode];
  const task = makeTask(an, 'majority', { seed, length: 7, batch: 16 });
  const config = { ...task.config, d_model: 24, d_ff: 48, depth: 20, placement };
  const model = an.stack(config, { seed });
  const optimizer = an.optimizer('adam', model, { rate: an.schedule('warmup', { rate: 0.003, warmup }) });
  return { task, model, optimizer };
};

test('20 blocks without warm-up: pre learns and post does not; with warm-up it does', (t) => {
  const last = Object.fromEntries(
    Object.keys(modes).map((mode) => {
      const losses = seeds.map((seed) =>
        an.scope(() => {
          const { task, model, optimizer } = majority(mode, seed);
          return mean(train(model, optimizer, task, 0, 120).slice(-10));
        }),
      );
      t.diagnostic(`${mode}: loss of the last 10 of 120 steps, by seed: ${fixed(losses)}`);
      return [mode, losses];
    }),
  );
  // Two classes: guessing gives ln 2 = 0.693.
  for (const [mode, losses] of Object.entries(last)) {
    for (const loss of losses) assert.ok(mode === 'post' ? loss > 0.6 : loss < 0.1, `${mode}: ${loss}`);
  }
});

test('the gradient of post does not vanish at the start, but in the first steps, with or without mixing', (t) => {
  const spiral = (mode, seed) => {
    const [placement, warmup] = modes[mode];
    const task = makeTask(an, 'spiral', { seed, batch: 64 });
    const model = an.stack({ ...task.config, activation: 'relu', depth: 24, placement }, { seed });
    const optimizer = an.optimizer('adam', model, {
      rate: an.schedule('warmup', { rate: 0.01, warmup: 2 * warmup }),
    });
    return { task, model, optimizer };
  };
  for (const [name, make] of Object.entries({ 'mean mixing, 20 blocks': majority, 'FFN alone, 24 blocks': spiral })) {
    for (const mode of ['post', 'post with warm-up', 'pre']) {
      const ratios = seeds.map((seed) =>
        an.scope(() => {
          const { task, model, optimizer } = make(mode, seed);
          const start = gradientRatio(model, task);
          train(model, optimizer, task, 0, 20);
          return [start, gradientRatio(model, task)];
        }),
      );
      const [start, after] = [0, 1].map((i) => ratios.map((ratio) => ratio[i]));
      t.diagnostic(`${name}, ${mode}: first by last gradient at the start ${fixed(start, 2)}`);
      t.diagnostic(`  after 20 steps ${after.map((ratio) => ratio.toExponential(1)).join(' ')}`);
      assert.ok(Math.min(...start) > 0.3, `${name}, ${mode}`);
      if (mode === 'post') assert.ok(Math.max(...after) < 0.01, `${name}, ${mode}`);
      else assert.ok(Math.min(...after) > 0.1, `${name}, ${mode}`);
    }
  }
});
