// Modules as the binding makes them: names and memory of parameters and gradients, forward and backward belonging
// together, masks and seeds, probe. That the gradients are right to the last digits is tests/c/block_test.c's; here a
// difference quotient in each parameter's direction shows that every one goes by its name.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  Block,
  close,
  Ffn,
  failure,
  instance,
  inUse,
  load,
  randoms,
  Stack,
  same,
  shaped,
  variants,
} from './helpers.js';

const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);
const mean = (values) => values.reduce((a, b) => a + b, 0) / values.length;
const rms = (values) => Math.sqrt(mean(Array.from(values, (v) => v * v)));
const norm = (values) => Math.sqrt(dot(Array.from(values), values));
const gradientsOf = (module) =>
  Object.fromEntries(Object.entries(module.gradients).map(([name, tensor]) => [name, tensor.toArray()]));

/** What is made, by name: a function of (an, init), and the shape of its input. */
const small = { d_model: 6, d_ff: 10 };
const kinds = {
  ffn: [(an, init) => an.ffn({ ...small, activation: 'silu', gated: true }, init), [2, 4, 6]],
  'ffn with dropout': [(an, init) => an.ffn({ ...small, activation: 'tanh', dropout: 0.5 }, init), [2, 4, 6]],
  block: [
    (an, init) => an.block({ ...small, norm: 'layer_norm', placement: 'peri', activation: 'tanh' }, init),
    [5, 6],
  ],
  'block with batch_norm': [
    (an, init) => an.block({ ...small, norm: 'batch_norm', activation: 'silu' }, init),
    [3, 4, 6],
  ],
  'block with attention': [
    (an, init) =>
      an.block({ ...small, mixing: 'attention', heads: 2, qk_norm: true, norm: 'rms_norm', activation: 'silu' }, init),
    [2, 4, 6],
  ],
  stack: [
    (an, init) =>
      an.stack(
        { ...small, depth: 2, mixing: 'mean', causal: true, norm: 'dyt', activation: 'silu', residual_dropout: 0.25 },
        init, //
      ),
    [2, 3, 6],
  ],
  'stack with head': [
    (an, init) =>
      an.stack(
        {
          ...small,
          depth: 2,
          placement: 'layer_scale',
          alpha: 0.5,
          d_in: 3,
          d_out: 2,
          positions: 4,
          activation: 'tanh',
        },
        init,
      ),
    [2, 4, 3],
  ],
};

for (const variant of variants) {
  for (const [name, [make, shape]] of Object.entries(kinds)) {
    test(`${variant}: ${name}: every gradient is that of its parameter, and of x`, async () => {
      const an = await instance(variant);
      const before = inUse(an);
      const module = make(an, { seed: 3 });
      const x = randoms(
        shape.reduce((a, b) => a * b),
        1,
      );
      const run = (values) => module.forward({ data: values, shape }, { train: true, seed: 5 });
      const dy = randoms(run(x).length, 2);
      const loss = (values = x) => dot(Array.from(run(values)), dy);
      // Larger than float32's noise, smaller than what curves.
      const step = 2 ** -7;
      const checkDirection = (what, gradient, direction, at) => {
        const quotient = (at(step) - at(-step)) / (2 * step);
        const want = dot(Array.from(gradient), direction);
        const scale = norm(gradient) * norm(direction) + 1e-3;
        assert.ok(Math.abs(quotient - want) <= 4e-3 * scale, `${what}: ${want}, difference quotient ${quotient}`);
      };
      loss();
      const dx = module.backward(dy);
      const gradients = gradientsOf(module);
      assert.deepEqual(Object.keys(gradients), Object.keys(module.parameters));
      const moved = (values, direction, h) => values.map((value, i) => value + h * direction[i]);
      const direction = randoms(x.length, 4);
      checkDirection('x', dx, direction, (h) => loss(moved(x, direction, h)));
      for (const [parameter, tensor] of Object.entries(module.parameters)) {
        const values = tensor.toArray();
        const way = randoms(values.length, 7);
        assert.deepEqual(module.gradients[parameter].shape, tensor.shape);
        // A key's bias moves all scores of a query alike, which softmax does not see.
        if (parameter !== 'key_bias') assert.ok(norm(gradients[parameter]) > 1e-6, `${parameter} has a gradient`);
        checkDirection(parameter, gradients[parameter], way, (h) => {
          tensor.set(moved(values, way, h));
          return loss();
        });
        tensor.set(values);
      }
      module.dispose();
      assert.deepEqual(inUse(an), before);
    });
  }

  test(`${variant}: gradients add up until zeroGrad`, async () => {
    const an = await instance(variant);
    for (const [make, shape] of Object.values(kinds)) {
      const module = make(an, { seed: 1 });
      const x = shaped(
        randoms(
          shape.reduce((a, b) => a * b),
          1,
        ),
        shape,
      );
      const y = module.forward(x, { train: true });
      const dy = randoms(y.length, 2);
      const dx = module.backward(dy);
      const once = gradientsOf(module);
      module.forward(x, { train: true });
      same(module.backward(dy), dx, 'gradients of inputs overwrite');
      for (const [name, twice] of Object.entries(gradientsOf(module))) {
        close(
          twice,
          once[name].map((value) => 2 * value),
          1e-5 * norm(once[name]),
          name,
        );
      }
      module.zeroGrad();
      for (const values of Object.values(gradientsOf(module))) assert.ok(values.every((value) => value === 0));
      module.forward(x, { train: true });
      assert.equal(module.backward(dy, { dx: false }), undefined);
      for (const [name, again] of Object.entries(gradientsOf(module))) same(again, once[name], name);
      module.dispose();
    }
  });

  test(`${variant}: backward needs a forward that goes with the parameters`, async () => {
    const an = await instance(variant);
    const block = an.block({ ...small }, { seed: 1 });
    const x = shaped(randoms(30, 1), [5, 6]);
    const dy = randoms(30, 2);
    const refused = (reason) => assert.throws(() => block.backward(dy), failure('NO_FORWARD', reason));
    refused(/needs a forward with train: true; there is none yet/);
    block.forward(x);
    refused(/there is none yet/);
    block.forward(x, { train: true });
    const dx = block.backward(dy);
    refused(/backward has used the last one/);
    const optimizer = an.optimizer('sgd', block, { rate: 0 });
    const changes = {
      set: () => block.parameters.up.set(block.parameters.up.toArray()),
      touch: () => block.touch(),
      loadState: () => block.loadState(block.state()),
      'an optimizer': () => optimizer.step(),
    };
    for (const [what, change] of Object.entries(changes)) {
      block.forward(x, { train: true });
      change();
      refused(/parameters have changed since the last one, by set\(\), touch\(\), loadState\(\) or an optimizer/, what);
      block.forward(x);
      refused(/parameters have changed/, what);
    }
    // What does not change parameters leaves it: inference, on other shapes too, and calls that are refused.
    block.forward(x, { train: true });
    block.forward(shaped(randoms(60, 3), [10, 6]));
    assert.throws(() => block.forward(shaped(randoms(30, 1), [6, 5]), { train: true }), failure('SHAPE_MISMATCH'));
    assert.throws(() => block.forward(x, { train: true, seed: -1 }), failure('INVALID_ARGUMENT'));
    assert.throws(() => block.backward(randoms(29, 1)), failure('SHAPE_MISMATCH', /dy: expected \[5, 6\], got \[29\]/));
    assert.throws(() => block.backward(shaped(dy, [6, 5])), failure('SHAPE_MISMATCH'));
    block.zeroGrad();
    block.state();
    same(block.backward(dy), dx);
    optimizer.dispose();
    block.dispose();
    assert.throws(() => block.backward(dy), failure('DISPOSED'));
    assert.throws(() => block.zeroGrad(), failure('DISPOSED'));
    assert.throws(() => block.gradients, failure('DISPOSED'));
    assert.throws(() => block.probe(x, dy), failure('DISPOSED'));
  });

  test(`${variant}: a forward without room leaves the one before to its backward`, async () => {
    const an = await load({ variant, maxBytes: 2 ** 21 });
    const block = an.block({ d_model: 16 }, { seed: 1 });
    const x = shaped(randoms(160, 1), [10, 16]);
    const dy = randoms(160, 2);
    block.forward(x, { train: true });
    const dx = block.backward(dy);
    block.forward(x, { train: true });
    const before = inUse(an);
    assert.throws(
      () => block.forward(shaped(new Float32Array(48000), [3000, 16]), { train: true }),
      failure('OUT_OF_MEMORY'),
    );
    assert.equal(an.stats().live, before.live);
    same(block.backward(dy), dx);
    // A module that has no room for training runs on as it did.
    const large = an.ffn({ d_model: 256, d_ff: 256 }, { seed: 1 });
    const row = randoms(256, 3);
    const y = large.forward(row);
    assert.throws(() => large.forward(row, { train: true }), failure('OUT_OF_MEMORY'));
    same(large.forward(row), y);
    an.dispose();
  });

  test(`${variant}: results are like what comes: Tensors for Tensors`, async () => {
    const an = await instance(variant);
    const before = inUse(an);
    const stack = an.stack({ ...small, d_out: 2 }, { seed: 1 });
    const data = randoms(24, 1);
    const x = an.tensor(data, [2, 2, 6]);
    const y = stack.forward(x, { train: true });
    assert.deepEqual(y.shape, [2, 2, 2]);
    const dx = stack.backward(y);
    assert.deepEqual(dx.shape, [2, 2, 6]);
    same(stack.forward(shaped(data, [2, 2, 6]), { train: true }), y.toArray());
    const array = stack.backward(y.toArray());
    assert.ok(array instanceof Float32Array);
    same(array, dx.toArray());
    for (const one of [x, y, dx, stack]) one.dispose();
    assert.deepEqual(inUse(an), before);
    // No rows: nothing to learn from.
    const ffn = an.ffn(small);
    assert.equal(ffn.forward(shaped([], [0, 6]), { train: true }).length, 0);
    assert.equal(ffn.backward(shaped([], [0, 6])).length, 0);
    assert.ok(ffn.gradients.up.toArray().every((value) => value === 0));
    ffn.dispose();
  });

  test(`${variant}: the mask's tokens give nothing to the others, and it is kept for backward`, async () => {
    const an = await instance(variant);
    const config = { ...small, mixing: 'attention', heads: 3, norm: 'batch_norm', placement: 'post' };
    const block = an.block(config, { seed: 4 });
    const x = randoms(48, 1);
    const other = x.map((value, i) => (Math.floor(i / 6) % 4 === 3 ? value + 1 : value));
    const valid = (values) => values.filter((_, i) => Math.floor(i / 6) % 4 !== 3);
    const mask = Float32Array.of(1, 1, 1, 0, 1, 1, 1, 0);
    const [shape, flat] = [[2, 4, 6], mask.slice()];
    const dy = randoms(48, 2).map((value, i) => (Math.floor(i / 6) % 4 === 3 ? 0 : value));
    const pass = (values, given) => {
      block.zeroGrad();
      const y = block.forward({ data: values, shape }, { train: true, mask: given });
      given?.fill?.(1);
      return [y, block.backward(dy), ...Object.values(gradientsOf(block))];
    };
    const first = pass(x, mask.slice());
    const second = pass(other, { data: flat, shape: [2, 4] });
    const tensor = an.tensor(mask, [8]);
    const third = pass(x, tensor);
    for (const [i, result] of first.entries()) {
      same(third[i], result, `${i}: a Tensor as mask`);
      if (i < 2) same(valid(second[i]), valid(result), `${i}: what is masked does not count`);
      else same(second[i], result, `gradient ${i}: what is masked does not count`);
    }
    assert.notDeepEqual(pass(x)[0], first[0]);
    assert.throws(
      () => block.forward({ data: x, shape }, { mask: new Float32Array(7) }),
      failure('SHAPE_MISMATCH', /mask: expected \[2, 4\], got \[7\]/),
    );
    // In inference too.
    const y = block.forward({ data: x, shape }, { mask });
    same(valid(block.forward({ data: other, shape }, { mask })), valid(y));
    tensor.dispose();
    block.dispose();
  });

  test(`${variant}: running statistics that an.norm updates in place are the next forward's`, async () => {
    const an = await instance(variant);
    const block = an.block({ ...small, norm: 'batch_norm' }, { seed: 4 });
    const x = shaped(randoms(30, 1), [5, 6]);
    const { norm_running_mean: runningMean, norm_running_var: runningVar } = block.buffers;
    block.forward(x, { train: true });
    an.norm('batch_norm', x, { runningMean, runningVar, training: true, momentum: 1 });
    assert.throws(() => block.backward(x), failure('NO_FORWARD', /parameters have changed/));
    const again = an.block({ ...small, norm: 'batch_norm' }, { weights: block.state() });
    same(block.forward(x), again.forward(x));
    for (const one of [block, again]) one.dispose();
  });

  test(`${variant}: dropout follows the seed, in training only`, async () => {
    const an = await instance(variant);
    const p = 0.25;
    const plain = { d_model: 40, d_ff: 60, placement: 'none', activation: 'tanh' };
    const block = an.block({ ...plain, residual_dropout: p }, { seed: 1 });
    const without = an.block(plain, { seed: 1 });
    const x = shaped(randoms(4000, 1), [100, 40]);
    const y = block.forward(x);
    same(without.forward(x), y);
    const trained = (seed) => block.forward(x, { train: true, seed });
    const first = trained(1);
    same(trained(1), first);
    same(block.forward(x, { train: true }), trained(0));
    assert.notDeepEqual(trained(2), first);
    let dropped = 0;
    for (const [i, value] of first.entries()) {
      const branch = y[i] - x.data[i];
      if (value === x.data[i]) dropped++;
      else assert.ok(Math.abs(value - x.data[i] - branch / (1 - p)) < 1e-5);
    }
    assert.ok(Math.abs(dropped / 4000 - p) < 0.04, `${dropped} of 4000 dropped`);
    block.dispose();
    without.dispose();
  });

  test(`${variant}: a stack is its blocks one after another`, async () => {
    const an = await instance(variant);
    for (const config of [
      { ...small, depth: 3, placement: 'lns', final_norm: false, mixing: 'attention', causal: true },
      { ...small, depth: 3, placement: 'deepnorm', mixing: 'mean' },
      { ...small, depth: 2, placement: 'rezero', alpha: 0.5, init: 'gpt2' },
    ]) {
      const stack = an.stack(config, { seed: 9 });
      const { final_norm, ...layer } = config;
      const x = shaped(randoms(60, 1), [2, 5, 6]);
      let values = x.data;
      for (let l = 1; l <= config.depth; l++) {
        const block = an.block({ ...layer, layer: l }, { seed: 9 });
        for (const [name, { data }] of Object.entries(block.state())) {
          same(stack.parameters[`layers.${l - 1}.${name}`].toArray(), data, `layers.${l - 1}.${name}`);
        }
        values = block.forward({ data: values, shape: x.shape });
        block.dispose();
      }
      same(stack.forward(x), values);
      const again = an.stack(config, { weights: stack.state() });
      same(again.forward(x), values);
      again.dispose();
      stack.dispose();
    }
  });

  test(`${variant}: 10,000 steps take no memory`, async () => {
    const an = await load({ variant });
    const config = { d_model: 4, d_ff: 6, depth: 2, mixing: 'attention', dropout: 0.1, norm: 'layer_norm' };
    const stack = an.stack(config, { seed: 1 });
    const optimizer = an.optimizer('adamw', stack, { rate: 1e-4, clip: 1 });
    const x = an.tensor(randoms(24, 1), [2, 3, 4]);
    const mask = Float32Array.of(1, 1, 1, 1, 1, 0);
    const step = (i) => {
      const y = stack.forward(x, { train: true, seed: i, mask });
      stack.backward(y).dispose();
      y.dispose();
      optimizer.step();
      stack.zeroGrad();
    };
    step(0);
    const before = an.stats();
    for (let i = 1; i < 10000; i++) step(i);
    assert.deepEqual(an.stats(), before);
    // Fewer rows fit in what more have needed.
    const few = an.tensor(randoms(8, 1), [2, 4]);
    stack.forward(few, { train: true }).dispose();
    few.dispose();
    assert.deepEqual(an.stats(), before);
    for (const one of [x, optimizer, stack]) one.dispose();
    assert.deepEqual(inUse(an), { bytes: 0, live: 0 });
    an.dispose();
  });

  test(`${variant}: parameters and gradients lie in one piece each and belong to the module`, async () => {
    const an = await load({ variant });
    const stack = an.stack({ ...small, depth: 2, norm: 'batch_norm' }, { seed: 1 });
    const packed = an.stats().bytes;
    const { parameters, gradients, buffers } = stack;
    assert.ok(an.stats().bytes > packed);
    assert.equal(an.stats().live, 1, 'they are no tensors of the caller');
    assert.equal(Object.keys(parameters)[0], 'layers.0.up');
    assert.equal(Object.keys(buffers)[0], 'layers.0.norm_running_mean');
    assert.ok(Object.isFrozen(gradients));
    assert.deepEqual(Object.keys(gradients), Object.keys(parameters));
    for (const tensors of [{ ...parameters, ...buffers }, gradients]) {
      const views = Object.values(tensors).map((tensor) => tensor.data);
      views.sort((a, b) => a.byteOffset - b.byteOffset);
      for (let i = 1; i < views.length; i++) {
        const gap = views[i].byteOffset - views[i - 1].byteOffset - views[i - 1].byteLength;
        // Buffers have their room among the gradients, which stays empty.
        assert.ok(gap >= 0 && (gap < 16 || tensors === gradients), `a gap of ${gap}`);
      }
      for (const tensor of Object.values(tensors)) {
        const refusal = failure('INVALID_ARGUMENT', /a parameter or gradient; dispose the module it belongs to/);
        assert.throws(() => tensor.dispose(), refusal);
      }
    }
    an.scope(() => stack.gradients);
    gradients['layers.1.down'].set(new Float32Array(60).fill(2));
    assert.equal(stack.gradients['layers.1.down'].data[59], 2);
    stack.dispose();
    stack.dispose();
    for (const tensor of [parameters['layers.0.up'], gradients['layers.0.up'], buffers['layers.0.norm_running_var']]) {
      assert.throws(() => tensor.data, failure('DISPOSED'));
      assert.throws(() => an.activation('relu', tensor), failure('DISPOSED'));
      tensor.dispose();
    }
    const kept = an.scope(() => {
      an.optimizer('adam', an.ffn(small));
      const block = an.block(small);
      return [block, block.parameters.up];
    });
    assert.equal(an.stats().live, 1);
    assert.equal(kept[1].size, 60);
    kept[0].dispose();
    assert.deepEqual(inUse(an), { bytes: 0, live: 0 });
    an.dispose();
  });

  test(`${variant}: probe tells of the signal and its gradient, and leaves everything as it was`, async () => {
    const an = await instance(variant);
    const before = inUse(an);
    const x = shaped(randoms(120, 1, 2, 0.5), [4, 5, 6]);
    const dy = randoms(120, 2);
    for (const config of [
      { ...small, norm: 'batch_norm', activation: 'relu' },
      {
        ...small,
        norm: 'layer_norm',
        mixing: 'attention',
        activation: 'tanh',
        placement: 'peri',
        residual_dropout: 0.3,
      },
    ]) {
      const block = an.block(config, { seed: 1 });
      const y = block.forward(x, { train: true, seed: 3 });
      const state = block.state();
      const found = block.probe(x, dy, { seed: 3 });
      assert.deepEqual(block.state(), state, 'running statistics are as they were');
      for (const values of Object.values(gradientsOf(block))) assert.ok(values.every((value) => value === 0));
      const dx = block.backward(dy);
      const bytes = inUse(an);
      assert.deepEqual(
        block.probe(
          x,
          (got) => {
            same(got, y, 'the function gets y');
            return dy;
          },
          { seed: 3 },
        ),
        found,
      );
      assert.deepEqual(inUse(an), bytes);

      const mixes = config.mixing !== undefined;
      const kindsOf = found.sublayers.map(({ layer, sublayer }) => [layer, sublayer]);
      assert.deepEqual(
        kindsOf,
        mixes
          ? [
              [1, 'mixing'],
              [1, 'ffn'],
            ]
          : [[1, 'ffn']],
      );
      const first = found.sublayers[0];
      close([first.mean, first.rms, first.gradient], [mean(x.data), rms(x.data), norm(dx)], 1e-4);
      close([first.std], [Math.sqrt(first.rms ** 2 - first.mean ** 2)], 1e-4);
      close([found.stream.rms, found.stream.mean, found.stream.gradient], [rms(y), mean(y), norm(dy)], 1e-4);
      for (const [name, gradient] of Object.entries(gradientsOf(block))) {
        close([found.gradients[name]], [norm(gradient)], 1e-5 * norm(gradient) + 1e-7, name);
      }
      if (!mixes) {
        const branch = y.map((value, i) => value - x.data[i]);
        const cosines = Array.from({ length: 20 }, (_, t) => {
          const [a, b] = [x.data, y].map((values) => Array.from(values.slice(6 * t, 6 * t + 6)));
          return dot(a, b) / norm(a) / norm(b);
        });
        close([first.branchRms, first.cosine], [rms(branch), mean(cosines)], 1e-5);
        close([first.branchRatio], [rms(branch) / rms(x.data)], 1e-5);
        block.parameters.up_bias.set(Float32Array.from({ length: 10 }, (_, i) => (i < 4 ? -1e3 : 1e3)));
        assert.equal(block.probe(x, dy).sublayers[0].dead, 0.4);
      } else {
        block.parameters.up_bias.set(Float32Array.from({ length: 10 }, (_, i) => (i < 4 ? 0 : 1e3)));
        block.parameters.up.set(new Float32Array(60));
        assert.equal(block.probe(x, dy).sublayers[1].saturated, 0.6);
      }
      const broken = shaped(x.data, x.shape);
      broken.data[7] = Number.NaN;
      broken.data[8] = Number.POSITIVE_INFINITY;
      assert.equal(block.probe(broken, dy).sublayers[0].nonFinite, 2);
      block.dispose();
    }
    const stack = an.stack({ ...small, depth: 3, mixing: 'mean', d_in: 3, d_out: 2 }, { seed: 1 });
    const { sublayers, stream, gradients } = stack.probe(shaped(randoms(12, 1), [4, 3]), (y) => y);
    assert.deepEqual(
      sublayers.map(({ layer, sublayer }) => `${layer} ${sublayer}`),
      ['1 mixing', '1 ffn', '2 mixing', '2 ffn', '3 mixing', '3 ffn'],
    );
    const keys = 'mean std rms gradient branchRms branchRatio cosine dead saturated nonFinite layer sublayer'.split(
      ' ',
    );
    assert.deepEqual(Object.keys(sublayers[0]).sort(), keys.sort());
    assert.deepEqual(Object.keys(stream), ['mean', 'std', 'rms', 'gradient', 'nonFinite']);
    assert.deepEqual(Object.keys(gradients), Object.keys(stack.parameters));
    // A function that fails, or gives something else, leaves nothing behind; one that disposes the module is noticed.
    const bytes = inUse(an);
    const row = randoms(3, 1);
    const thrown = new Error('mine');
    assert.throws(
      () =>
        stack.probe(row, () => {
          throw thrown;
        }),
      thrown,
    );
    assert.throws(() => stack.probe(row, () => 1), failure('INVALID_ARGUMENT', /dy: expected/));
    assert.throws(() => stack.probe(row, row), failure('SHAPE_MISMATCH', /dy: expected \[2\], got \[3\]/));
    assert.deepEqual(inUse(an), bytes);
    assert.throws(
      () =>
        stack.probe(row, (y) => {
          stack.dispose();
          return y;
        }),
      failure('DISPOSED'),
    );
    assert.deepEqual(inUse(an), before);
  });

  test(`${variant}: probe's branch in every placement, and what a mask leaves out of a probe`, async () => {
    const an = await instance(variant);
    const base = { ...small, activation: 'silu', norm: 'layer_norm', depth: 4 };
    const x = shaped(randoms(30, 1, 2, 0.5), [5, 6]);
    const unnormed = { post: 'x', deepnorm: 'x', none: 'x', pre: 'normed', lns: 'scaled' };
    for (const { name: placement } of an.placements) {
      const block = an.block({ ...base, placement, alpha: 0.7, layer: 4 }, { seed: 2 });
      const { up, up_bias, down, down_bias } = block.state();
      const ffn = an.ffn({ ...small, activation: 'silu' }, { weights: { up, up_bias, down, down_bias } });
      const normed = an.norm('layer_norm', x);
      const given = {
        x,
        normed: shaped(normed, x.shape),
        scaled: shaped(
          normed.map((v) => v / 2),
          x.shape,
        ),
      };
      const y = block.forward(x, { train: true });
      // The sum that post and deepnorm norm cannot be had from y: there the branch is the network itself.
      const branch = unnormed[placement]
        ? ffn.forward(given[unnormed[placement]])
        : y.map((value, i) => value - x.data[i]);
      close([block.probe(x, x).sublayers[0].branchRms], [rms(branch)], 1e-5, placement);
      for (const one of [block, ffn]) one.dispose();
    }
    // Without mixing a probe under a mask is that of the other rows.
    const wide = shaped(randoms(60, 3, 8), [2, 5, 6]);
    const dy = randoms(60, 4);
    const mask = Float32Array.of(1, 0, 1, 1, 0, 0, 1, 1, 0, 1);
    const left = (values) =>
      shaped(
        values.filter((_, i) => mask[Math.floor(i / 6)] !== 0),
        [6, 6],
      );
    const others = (values, wrong) => values.map((v, i) => (mask[Math.floor(i / 6)] === 0 ? wrong(v, i) : v));
    for (const config of [
      { ...base, activation: 'tanh', init: 'normal', init_std: 1 },
      { ...base, activation: 'relu', norm: 'dyt', norm_alpha: 2, init: 'normal', init_std: 1 },
      { ...base, activation: 'sigmoid', placement: 'deepnorm' },
    ]) {
      const stack = an.stack({ ...config, depth: 2 }, { seed: 1 });
      const rows = shaped(
        others(wide.data, (v) => 30 * v),
        wide.shape,
      );
      const got = stack.probe(rows, dy, { mask });
      const want = stack.probe(left(wide.data), left(dy));
      for (const [i, { layer, sublayer, ...numbers }] of [...got.sublayers, got.stream].entries()) {
        for (const [name, value] of Object.entries(numbers)) {
          const wanted = [...want.sublayers, want.stream][i][name];
          close([value], [wanted], 1e-6 * Math.max(1, Math.abs(wanted)), `${config.activation} ${i} ${name}`);
        }
      }
      assert.ok(config.activation === 'sigmoid' || got.sublayers[0].saturated > 0.05);
      stack.dispose();
    }
  });

  test(`${variant}: a block drops what the stack drops in its layer`, async () => {
    const an = await instance(variant);
    const config = { ...small, depth: 3, mixing: 'mean', final_norm: false, dropout: 0.3, residual_dropout: 0.4 };
    const { final_norm, ...layer } = config;
    const x = shaped(randoms(60, 1), [2, 5, 6]);
    const stack = an.stack(config, { seed: 9 });
    let values = x.data;
    for (let l = 1; l <= config.depth; l++) {
      const block = an.block({ ...layer, layer: l }, { seed: 9 });
      values = block.forward({ data: values, shape: x.shape }, { train: true, seed: 5 });
      block.dispose();
    }
    same(stack.forward(x, { train: true, seed: 5 }), values);
    stack.dispose();
  });

  test(`${variant}: what a module refuses`, async () => {
    const an = await instance(variant);
    const before = inUse(an);
    const stack = an.stack({ ...small, positions: 3, d_in: 2 });
    const x = shaped(randoms(6, 1), [3, 2]);
    const refused = {
      UNKNOWN_OPTION: [
        [/config: unknown field 'd_in'/, () => an.block({ d_in: 3 })],
        [/config: unknown field 'final_norm'/, () => an.block({ final_norm: true })],
        [/config: unknown field 'mixing'/, () => an.ffn({ mixing: 'mean' })],
        [/config: unknown field 'layer'/, () => an.stack({ layer: 1 })],
        [/options: unknown option 'trian'; did you mean 'train'/, () => stack.forward(x, { trian: true })],
        [/options: unknown option 'train'/, () => stack.probe(x, x, { train: true })],
      ],
      INVALID_ARGUMENT: [
        [/config.layer: expected an integer from 1 to 1024, got 0/, () => an.block({ layer: 0 })],
        [
          /config.heads: 5 does not go with the other fields/,
          () => an.stack({ ...small, mixing: 'attention', heads: 5 }),
        ],
        [/config.dropout: expected a finite number from 0 to 0.999, got 1/, () => an.ffn({ dropout: 1 })],
        [/dx: expected true or false/, () => stack.backward(x, { dx: 1 })],
        [/seed: expected an integer from 0 to 4294967295/, () => stack.forward(x, { seed: 2 ** 32 })],
        [/mask: expected a Tensor/, () => stack.forward(x, { mask: [1, 1, 1] })],
        [/made by an.ffn, an.block or an.stack/, () => new Stack()],
      ],
      UNKNOWN_NAME: [
        [/config.mixing: unknown name 'atention'; did you mean 'attention'/, () => an.stack({ mixing: 'atention' })],
        [/weights: unknown name 'layers.1.up'/, () => an.stack(small, { weights: { 'layers.1.up': x } })],
      ],
      SHAPE_MISMATCH: [
        [/x: a length of 4, where there are 3 positions/, () => stack.forward(shaped(randoms(8, 1), [4, 2]))],
        [/x: expected \[\.\.\., 2\], got \[6\]/, () => stack.forward(new Float32Array(6))],
      ],
    };
    const bytes = inUse(an);
    for (const [code, cases] of Object.entries(refused)) {
      for (const [message, run] of cases) assert.throws(run, failure(code, message));
    }
    assert.deepEqual(inUse(an), bytes);
    assert.ok(stack instanceof Stack && !(stack instanceof Block) && !(stack instanceof Ffn));
    assert.deepEqual(
      Object.keys(stack.config),
      an.fields.map(String).filter((name) => name !== 'layer'),
    );
    stack.dispose();
    assert.deepEqual(inUse(an), before);
  });
}
