// Training as a whole: dead units, clipping, divergence, going on from a file, memory, and bits. docs/training.md says what was found.
//
// When training's bits change on purpose, write the hashes anew and say why in the commit:
//   node tests/js/training.test.js --write
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { AddnormError, instance, load, variants } from './helpers.js';
import { an, fixed, mean, probe, seeds, train } from './train.js';
import { trajectories } from './trajectory.js';

const { makeTask } = await import('../../dist/lib/tasks.js');
const { readSafetensors, writeSafetensors } = await import('../../dist/lib/formats.js');

if (process.argv.includes('--write')) {
  const stored = fileURLToPath(new URL('../trajectory.json', import.meta.url));
  writeFileSync(stored, `${JSON.stringify(trajectories(an), null, 2)}\n`);
  console.log(stored);
} else {
  test('a high rate kills units of ReLU, and none of leaky ReLU or GELU', (t) => {
    /** Shares of the last layer's units: what probe calls dead, and those whose weights get no gradient at all. */
    const after = (activation, rate, seed) =>
      an.scope(() => {
        const task = makeTask(an, 'teacher_student', { seed, batch: 64 });
        const model = an.stack({ ...task.config, activation }, { seed });
        train(model, an.optimizer('adam', model, { rate }), task, 0, 100);
        const { dead } = probe(model, task).sublayers[1];
        const { x, target } = task.test;
        model.zeroGrad();
        model.backward(an.loss('mse', model.forward(an.tensor(x), { train: true }), target).gradient);
        const { shape, data } = model.gradients['layers.1.up'];
        const [units, width] = shape;
        const still = Array.from({ length: units }, (_, i) => data.subarray(i * width, (i + 1) * width));
        return [dead, still.filter((row) => row.every((value) => value === 0)).length / units];
      });
    const shares = (activation, rate) => {
      const list = seeds.map((seed) => after(activation, rate, seed));
      t.diagnostic(
        `${activation}, rate ${rate}: dead ${fixed(list.map(([dead]) => dead))}; ` +
          `without gradient ${fixed(list.map(([, still]) => still))}`,
      );
      return list;
    };
    for (const [dead, still] of shares('relu', 0.003)) {
      assert.ok(dead < 0.02);
      assert.equal(still, dead);
    }
    for (const [dead, still] of shares('relu', 0.03)) {
      assert.ok(dead > 0.1);
      assert.equal(still, dead, 'a unit that is 0 at every position learns nothing');
    }
    for (const activation of ['leaky_relu', 'gelu_erf']) {
      for (const dead of shares(activation, 0.03)) assert.deepEqual(dead, [0, 0]);
    }
  });

  test('one bad batch: with clipping the loss stays where it was', (t) => {
    const [spike, end] = [100, 160];
    /** The loss before the bad batch, in the ten steps after it, and at the end; the norm of its gradient. */
    const run = (name, settings, clip, seed) =>
      an.scope(() => {
        const task = makeTask(an, 'teacher_student', { seed, batch: 64 });
        const model = an.stack(task.config, { seed });
        const optimizer = an.optimizer(name, model, settings);
        const change = (target, step) => {
          return step === spike ? { ...target, data: target.data.map((value) => value * 1000) } : target;
        };
        let norm = 0;
        const before = (step) => {
          const was = an.clipGradNorm(model, clip);
          if (step === spike) norm = was;
        };
        const losses = train(model, optimizer, task, 0, spike, { before });
        train(model, optimizer, task, spike, spike + 1, { before, change });
        losses.push(...train(model, optimizer, task, spike + 1, end, { before }));
        return [losses.slice(spike - 10, spike), losses.slice(spike, spike + 10), losses.slice(-10)]
          .map(mean)
          .concat(norm);
      });
    const NEVER = 1e30;
    for (const [name, settings] of [
      ['adam', { rate: 0.003 }],
      ['sgd', { rate: 0.05, momentum: 0.9 }],
    ]) {
      for (const seed of seeds.slice(0, 4)) {
        const [before, after, late, norm] = run(name, settings, 1, seed);
        t.diagnostic(
          `${name}, seed ${seed}: a gradient of norm ${norm.toFixed(0)}; loss with clipping ${fixed([before, after, late])}`,
        );
        assert.ok(norm > 500);
        assert.ok(after < 1.5 * before && late < 1.1 * before);
        if (name === 'sgd') {
          assert.throws(
            () => run(name, settings, NEVER, seed),
            ({ code, step }) => {
              t.diagnostic(`  without: ${code} in step ${step}`);
              return code === 'DIVERGED' && step > spike && step <= spike + 20;
            },
          );
          continue;
        }
        const without = run(name, settings, NEVER, seed);
        t.diagnostic(`  without ${fixed(without.slice(0, 3))}`);
        assert.ok(without[1] > 3 * without[0] && without[2] > 3 * without[0]);
      }
    }
  });

  for (const variant of variants) {
    test(`${variant}: broken off, stored in a file and taken up again, training gives the same bits`, async () => {
      const recipe = (on, model) => {
        const rate = on.schedule('warmup_cosine', { rate: 0.01, warmup: 5, total: 30 });
        return on.optimizer('adamw', model, { rate, clip: 0.5, decay: 'matrices' });
      };
      const start = (on, init) => {
        const task = makeTask(on, 'copy', { seed: 4, length: 3, symbols: 4, batch: 6 });
        const config = {
          ...task.config,
          d_model: 16,
          d_ff: 24,
          norm: 'batch_norm',
          dropout: 0.1,
          residual_dropout: 0.1,
        };
        const model = on.stack(config, init);
        return { on, task, model, optimizer: recipe(on, model) };
      };
      const go = ({ on, task, model, optimizer }, from, to) => train(model, optimizer, task, from, to, { on });
      const file = ({ model, optimizer }) => writeSafetensors({ ...model.state(), ...optimizer.state() });

      const through = start(await instance(variant), { seed: 4 });
      const losses = go(through, 0, 30);
      const end = file(through);

      const first = await load({ variant });
      const half = start(first, { seed: 4 });
      assert.deepEqual(go(half, 0, 13), losses.slice(0, 13));
      const bytes = file(half);
      first.dispose();

      const second = await load({ variant });
      const { tensors } = readSafetensors(bytes);
      const again = start(second, { seed: 99 });
      const names = Object.keys(again.model.state());
      const pick = (choose) =>
        Object.fromEntries(Object.entries(tensors).filter(([name]) => choose(names.includes(name))));
      again.model.loadState(pick((own) => own));
      again.optimizer.loadState(pick((own) => !own));
      assert.deepEqual(go(again, 13, 30), losses.slice(13));
      assert.deepEqual(file(again), end);
      second.dispose();
      through.model.dispose();
      through.optimizer.dispose();
    });
  }

  test('10,000 steps of everything that training does need no more memory than ten', async () => {
    const own = await load({ variant: 'simd' });
    const task = makeTask(own, 'xor', { seed: 1, batch: 4 });
    const model = own.stack({ ...task.config, d_model: 4, d_ff: 6, norm: 'batch_norm', dropout: 0.1 }, { seed: 1 });
    const optimizer = own.optimizer('adamw', model, { rate: own.schedule('constant', { rate: 1e-3 }), clip: 1 });
    const before = (step) => {
      own.clipGradNorm(model, 10);
      if (step % 10 !== 0) return;
      const { x } = task.batch(step);
      model.forward(x);
      model.probe(x, (y) => y);
      const state = [model.state(), optimizer.state()];
      model.loadState(state[0]);
      optimizer.loadState(state[1]);
      model.forward(own.tensor(x), { train: true });
      model.backward(own.zeros([4, 2]));
    };
    train(model, optimizer, task, 0, 10, { on: own, before });
    const early = own.stats();
    train(model, optimizer, task, 10, 10_000, { on: own, before });
    assert.deepEqual(own.stats(), early);
    assert.equal(optimizer.steps, 10_000);
    own.dispose();
  });

  test('an absurd rate stops by an error that names step, layer and tensor, and leaves the state before it', (t) => {
    for (const [name, rate, placement, whole] of [
      ['sgd', 1e4, 'none', false],
      ['sgd', 1e4, 'none', true],
      ['sgd', 1e30, 'post', false],
      ['adam', 1e25, 'none', false],
      ['adam', 1e38, 'pre', true],
    ]) {
      an.scope(() => {
        const task = makeTask(an, 'teacher_student', { seed: 2 });
        const { d_in: d_model, ...config } = task.config;
        const own = whole ? task.config : { ...config, d_model, d_out: 0 };
        const model = an.stack({ ...own, depth: 3, placement, final_norm: false }, { seed: 2 });
        const optimizer = an.optimizer(name, model, { rate });
        const everything = () => ({ model: model.state(), optimizer: optimizer.state() });
        let kept;
        const before = () => {
          kept = everything();
        };
        let error;
        assert.throws(
          () => train(model, optimizer, task, 0, 100, { before }),
          (thrown) => {
            error = thrown;
            return thrown instanceof AddnormError && thrown.code === 'DIVERGED';
          },
        );
        t.diagnostic(`${name}, rate ${rate}, ${placement}: ${error.message}; layer ${error.layer}`);
        const { step, layer, tensor } = error;
        assert.ok(step >= 1 && step <= 100);
        assert.equal(optimizer.steps, step - 1);
        assert.ok(Object.hasOwn(model.parameters, tensor), tensor);
        for (const part of [`step ${step}`, `'${tensor}'`]) assert.ok(error.message.includes(part));
        // Without a head all that is learned stands in layers.
        const [, index] = /^layers\.(\d+)\./.exec(tensor) ?? [];
        if (!whole) assert.equal(layer, Number(index) + 1);
        else assert.ok(layer === null || (layer >= 0 && layer <= 3));
        assert.deepEqual(everything(), kept);
        assert.ok(
          Object.values(kept.model).every(({ data }) => data.every(Number.isFinite)),
          'what is kept is finite',
        );
      });
    }
  });

  const stored = JSON.parse(readFileSync(new URL('../trajectory.json', import.meta.url), 'utf8'));
  test('the same seed gives the stored parameters after 40 steps', () => {
    assert.equal(Object.keys(stored).length, 3);
    assert.deepEqual(trajectories(an), stored);
    const others = trajectories(an, 39);
    for (const [name, hash] of Object.entries(stored)) assert.notEqual(others[name], hash, name);
  });
}
