// Memory: growth under live views, refusal, and that nothing leaks.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import {
  close,
  failure,
  instance,
  inUse,
  libURL,
  load,
  randoms,
  same,
  shaped,
  variants,
  wasmBytes,
} from './helpers.js';

const MiB = 2 ** 20;

for (const variant of variants) {
  test(`B32 ${variant}: memory grows under live views, and no number is lost`, async () => {
    const an = await load({ variant });
    const x = an.tensor(Float32Array.of(1, 2, 3));
    const view = x.data;
    assert.equal(an.stats().memory, MiB);
    const large = an.zeros([16 * MiB]);
    assert.ok(an.stats().memory > 64 * MiB);
    assert.equal(view.length, 0, 'the engine detaches views when the memory grows');
    assert.deepEqual(x.data, Float32Array.of(1, 2, 3));
    assert.throws(
      () => an.activation('relu', view),
      failure('INVALID_ARGUMENT', /x: its buffer is detached.*of a tensor pass itself/),
    );
    assert.throws(
      () => an.tensor({ data: view, shape: [0] }),
      failure('INVALID_ARGUMENT', /data\.data: its buffer is detached/),
    );

    // Two views of the instance's own memory, with a result that makes it grow between reading one and the other.
    const [a, b] = [an.tensor(large), an.tensor(large)];
    a.data.fill(1);
    b.data.fill(2);
    const sum = an.add({ data: a.data, shape: [MiB, 16] }, b.data);
    assert.ok(sum.every((value) => value === 3));
    assert.ok(
      an
        .tensor(a.data)
        .toArray()
        .every((value) => value === 1),
    );
    an.dispose();
  });

  test(`${variant}: what does not fit is refused and changes nothing`, async () => {
    const an = await load({ variant, maxBytes: 4 * MiB + 5 });
    const x = an.tensor(randoms(1000, 1), [10, 100]);
    const module = an.ffn({ d_model: 100, d_ff: 200 });
    const y = module.forward(x).toArray();
    const before = inUse(an);
    const many = { data: new Float32Array(MiB), shape: [MiB / 4, 4] };
    const refused = {
      zeros: () => an.zeros([2, MiB]),
      tensor: () => an.tensor(many),
      activation: () => an.activation('relu', many),
      'the second operand': () => an.add(randoms(600 * 1024, 2), randoms(600 * 1024, 3)),
      linear: () => an.linear(new Float32Array(1), { data: new Float32Array(MiB), shape: [MiB, 1] }),
      norm: () => an.norm('layer_norm', many, { axes: [0] }),
      softmax: () => an.softmax(many, { axis: 0 }),
      block: () => an.block({ d_model: 1024 }),
      'block with weights': () => an.ffn({ d_model: 400, d_ff: 1000 }, { weights: large }),
      forward: () => module.forward({ data: new Float32Array(9e5), shape: [9000, 100] }),
    };
    const large = {
      up: new Float32Array(400000),
      down: new Float32Array(400000),
      up_bias: new Float32Array(1000),
      down_bias: new Float32Array(400),
    };
    for (const [what, run] of Object.entries(refused)) {
      assert.throws(
        run,
        failure('OUT_OF_MEMORY', /no room for \d+ bytes; \d+ are in use, the limit is 4194304 \(load's maxBytes\)/),
        what,
      );
      assert.deepEqual(inUse(an), before, what);
    }
    // More than any 32-bit memory has; products that wrap around to a small number, or overflow a double.
    for (const shape of [
      [2 ** 30],
      [65536, 65536],
      [65536, 65536, 65536, 65536],
      [2 ** 32 - 1, 2 ** 32 - 1],
      Array(8).fill(2 ** 31),
    ]) {
      assert.throws(() => an.zeros(shape), failure('OUT_OF_MEMORY', /more than a 32-bit memory has/));
    }
    for (const config of [
      { d_model: 65536, d_ff: 262144 },
      { d_model: 65536, d_ff: 16384 },
    ]) {
      assert.throws(() => an.ffn(config), failure('OUT_OF_MEMORY'));
    }
    assert.deepEqual(inUse(an), before);
    assert.ok(an.stats().memory <= 4 * MiB);
    same(module.forward(x).toArray(), y);
    assert.ok(an.stats().peak > before.bytes);
  });

  test(`B46 ${variant}: up to 4 GiB a block lies inside the memory or is refused`, async () => {
    const { instantiate, MAX_BYTES } = await import(new URL('loader.js', libURL).href);
    const memory = await instantiate(await WebAssembly.compile(wasmBytes(variant)), variant, MAX_BYTES);
    // Reserved and never written, so these pages cost the machine nothing.
    const blocks = [];
    for (let bytes = 2 ** 30; bytes >= 1024; bytes /= 2) {
      for (;;) {
        try {
          blocks.push([memory.alloc(bytes, 'a block'), bytes]);
        } catch (error) {
          failure('OUT_OF_MEMORY', new RegExp(`a block: no room for ${bytes} bytes`))(error);
          break;
        }
      }
    }
    assert.ok(memory.bytes > 0.999 * MAX_BYTES);
    assert.ok(memory.size <= MAX_BYTES);
    blocks.sort(([a], [b]) => a - b);
    for (const [i, [pointer, bytes]] of blocks.entries()) {
      assert.ok(pointer + bytes <= (i + 1 < blocks.length ? blocks[i + 1][0] : memory.size));
    }
    // Addresses above 2 GiB are no negative numbers.
    const [last] = blocks.at(-1);
    assert.ok(last > 2 ** 31);
    memory.floats(last, 2).set([1, -2]);
    memory.call('an_activation_fwd', last, last, 2, 0, 0, 0);
    assert.deepEqual(memory.floats(last, 2), Float32Array.of(1, 0));
    for (const [pointer] of blocks) memory.free(pointer);
    assert.equal(memory.bytes, 0);
    memory.free(memory.alloc(2 ** 31, 'a block'));
  });

  test(`${variant}: thousands of calls leave nothing behind`, async () => {
    const an = await instance(variant);
    const x = an.tensor(randoms(96, 4), [6, 16]);
    const weight = { data: randoms(16 * 16, 5), shape: [16, 16] };
    const module = an.block({ d_model: 16, d_ff: 24, gated: true }, { seed: 1 });
    const round = () => {
      an.activation('gelu_erf', x).dispose();
      an.activation('silu', randoms(10, 6));
      an.glu('swiglu', x, x).dispose();
      an.softmax(x, { axis: 0 }).dispose();
      an.scope(() => an.norm('layer_norm', x, { axes: [0], stats: true }).y.size);
      an.norm('group_norm', { data: weight.data, shape: [4, 8, 8] }, { groups: 4, stats: true });
      const { sum, y } = an.addNorm('rms_norm', x, x);
      sum.dispose();
      y.dispose();
      an.linear(x, weight, { bias: randoms(16, 7) }).dispose();
      module.forward(x).dispose();
      const other = an.ffn({ d_model: 4, d_ff: 8 }, { seed: 2 });
      other.loadState(other.state());
      other.forward(randoms(8, 8).subarray(0, 4));
      other.dispose();
      assert.throws(() => an.linear(x, { data: randoms(8, 6), shape: [1, 8] }), { code: 'SHAPE_MISMATCH' });
      assert.throws(() => an.ffn({ d_model: 2, d_ff: 2 }, { weights: { up: x } }), { code: 'INVALID_ARGUMENT' });
    };
    for (let i = 0; i < 50; i++) round();
    const before = an.stats();
    for (let i = 0; i < 1000; i++) round();
    assert.deepEqual(an.stats(), before);
    x.dispose();
    module.dispose();
    assert.deepEqual(inUse(an), { bytes: 0, live: 0 });
  });

  test(`${variant}: results do not depend on what the memory held before`, async () => {
    const run = async (dirt) => {
      const an = await load({ variant });
      if (dirt) {
        const tensors = [3, 1000, 17, 60000].map((n) => an.tensor(new Float32Array(n).fill(Number.NaN)));
        for (const tensor of tensors) tensor.dispose();
      }
      const x = shaped(randoms(120, 9), [2, 3, 20]);
      const block = an.block({ d_model: 20, d_ff: 30, norm: 'batch_norm', placement: 'peri' });
      const results = [
        an.softmax(x, { axis: 1 }),
        ...an.norms.flatMap(({ name }) => Object.values(an.norm(name, x, { stats: true }))),
        ...Object.values(an.addNorm('layer_norm', x, x, { stats: true, axes: [1] })),
        an.linear(x, shaped(randoms(140, 10), [7, 20])),
        block.forward(x, { train: true }),
        block.forward(x),
        an.zeros([50]).toArray(),
      ];
      return results;
    };
    const [clean, dirty] = [await run(false), await run(true)];
    for (const [i, result] of clean.entries()) {
      assert.ok(result.every(Number.isFinite));
      same(dirty[i], result, `result ${i}`);
    }
  });
}

test('B42 twenty instances and their ends leave no listeners', async () => {
  const listeners = () => process.eventNames().map((name) => [name, process.listenerCount(name)]);
  const before = listeners();
  for (let i = 0; i < 20; i++) {
    const an = await load();
    close(an.activation('tanh', Float32Array.of(0.5)), [Math.tanh(0.5)], 1e-7);
    an.dispose();
  }
  assert.deepEqual(listeners(), before);
});

test('what is lost without dispose() is freed when the garbage collector has it, and counted', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc');
  const an = await load({ variant: 'simd' });
  const x = randoms(64, 1);
  let kept;
  (() => {
    for (let i = 0; i < 50; i++) an.tensor(x);
    const model = an.block({ d_model: 8, d_ff: 16 });
    model.backward(model.forward(an.tensor({ data: x, shape: [8, 8] }), { train: true }));
    an.optimizer('adam', model);
    // Its gradient alone keeps a module.
    const other = an.ffn({ d_model: 8, d_ff: 16 });
    other.backward(other.forward(an.tensor({ data: x, shape: [8, 8] }), { train: true }), { dx: false });
    kept = other.gradients.up;
    an.scope(() => void an.tensor(x));
    an.tensor(x).dispose();
  })();
  assert.deepEqual([an.stats().collected, an.stats().live], [0, 58]);
  const before = kept.toArray();
  for (let i = 0; i < 100 && an.stats().collected < 57; i++) {
    collect();
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  assert.deepEqual([an.stats().collected, an.stats().live], [57, 1]);
  // Nobody has been given the memory of what lives.
  an.scope(() => {
    for (let i = 0; i < 100; i++) an.tensor(new Float32Array(200).fill(Number.NaN));
  });
  same(kept.toArray(), before);
  const { bytes } = an.stats();
  assert.ok(bytes > 0 && bytes < 20_000, `${bytes} bytes are the module's that lives`);
  an.dispose();
});

test('B40 every allocation that fails leaves a typed error, nothing behind, and an instance that works', async (t) => {
  // The module's malloc, which says no at one call.
  let countdown = Number.POSITIVE_INFINITY;
  const { instantiate } = WebAssembly;
  t.after(() => {
    WebAssembly.instantiate = instantiate;
  });
  WebAssembly.instantiate = async (module, imports) => {
    const { exports } = await instantiate.call(WebAssembly, module, imports);
    return { exports: { ...exports, malloc: (bytes) => (--countdown < 0 ? 0 : exports.malloc(bytes)) } };
  };
  const an = await load({ variant: 'simd' });
  const data = randoms(96, 1);
  const x = shaped(data, [2, 3, 16]);
  const config = { d_model: 16, d_ff: 24, gated: true, mixing: 'attention', heads: 2, depth: 2, d_in: 16, d_out: 4 };
  const weight = shaped(randoms(16 * 16, 2), [16, 16]);
  const actions = {
    element: () => an.activation('gelu_erf', an.tensor(data)),
    glu: () => an.gluBackward('swiglu', x, x, x),
    'softmax along an axis': () => an.softmaxBackward(x, x, { axis: 0 }),
    norm: () => an.norm('layer_norm', an.tensor(x), { axes: [0], stats: true }),
    'norm backward': () => an.normBackward('batch_norm', x, x, { weight: randoms(16, 3) }),
    'add and norm': () => an.addNorm('group_norm', x, x, { groups: 1 }),
    'add and norm backward': () => an.addNormBackward('rms_norm', x, x, { axes: [1], dSum: x }),
    linear: () => an.linearBackward(an.tensor(x), weight, x, { activation: 'silu', bias: randoms(16, 4) }),
    random: () => an.dropout(an.random([5, 5]), 0.5),
    loss: () => an.loss('softmax_cross_entropy', x, [1, 2, 3, 4, 5, 6], { reduction: 'none', axis: 2 }),
    stack: () => {
      const model = an.stack(config, { seed: 1 });
      const optimizer = an.optimizer('adamw', model, { clip: 1 });
      const y = model.forward(an.tensor(x), { train: true, mask: new Float32Array(6).fill(1) });
      model.backward(y);
      optimizer.step();
      model.probe(x, (given) => given);
      model.loadState(model.state());
      optimizer.loadState(optimizer.state());
      const same = an.block({ d_model: 16, d_ff: 24 }, { weights: an.block({ d_model: 16, d_ff: 24 }).state() });
      same.forward(x, { train: true });
      same.backward(x);
      same.cost(4);
    },
    theory: () => an.theory({ depth: 3, mixing: 'mean' }),
    limits: () => an.limits({ bytes: 4096 }),
    'self-test': () => an.selfTest(),
  };
  let points = 0;
  for (const [what, run] of Object.entries(actions)) {
    const whole = () => an.scope(() => void run());
    whole();
    const before = inUse(an);
    for (let failing = 0; ; failing++) {
      countdown = failing;
      let error = null;
      try {
        whole();
      } catch (caught) {
        error = caught;
      }
      const reached = countdown < 0;
      countdown = Number.POSITIVE_INFINITY;
      if (!reached) {
        assert.equal(error, null);
        break;
      }
      points++;
      failure('OUT_OF_MEMORY', /no room for \d+ bytes/)(error);
      assert.deepEqual(inUse(an), before, `${what}, allocation ${failing}`);
      if (what === 'limits') break; // each run of it measures for 50 ms; it allocates once
    }
    whole();
    assert.deepEqual(inUse(an), before);
  }
  t.diagnostic(`${points} allocations made to fail`);
  assert.ok(points > 150);
  an.selfTest();
});
