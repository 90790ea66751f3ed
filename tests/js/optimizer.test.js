// Optimisers against PyTorch's formulas in double, groups, clipping, divergence, resuming; learning-rate schedules.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { close, failure, instance, inUse, load, Optimizer, randoms, same, shaped, variants } from './helpers.js';

/**
 * torch/optim/{sgd,adam,adamw}.py of PyTorch 2.4, the `_single_tensor_` functions, line by line for one number in double.
 * epsilonFirst: Adam of ONNX's ai.onnx.preview.training, as its reference implementation has it.
 */
const references = {
  sgd({ rate = 1e-3, momentum = 0, dampening = 0, nesterov = false, weightDecay = 0 }) {
    let buffer = null;
    return (value, gradient) => {
      let g = gradient + weightDecay * value;
      if (momentum !== 0) {
        buffer = buffer === null ? g : momentum * buffer + (1 - dampening) * g;
        g = nesterov ? g + momentum * buffer : buffer;
      }
      return value - rate * g;
    };
  },
  adam(options, decoupled = false) {
    const { rate = 1e-3, betas = [0.9, 0.999], eps = 1e-8, epsilonFirst = false } = options;
    const { weightDecay = decoupled ? 1e-2 : 0 } = options;
    let [m, v, t] = [0, 0, 0];
    return (value, gradient) => {
      t++;
      const g = decoupled ? gradient : gradient + weightDecay * value;
      const decayed = decoupled ? value * (1 - rate * weightDecay) : value;
      m = betas[0] * m + (1 - betas[0]) * g;
      v = betas[1] * v + (1 - betas[1]) * g * g;
      const [bias1, bias2] = [1 - betas[0] ** t, 1 - betas[1] ** t];
      if (epsilonFirst) return decayed - (((rate * Math.sqrt(bias2)) / bias1) * m) / (Math.sqrt(v) + eps);
      return decayed - ((rate / bias1) * m) / (Math.sqrt(v) / Math.sqrt(bias2) + eps);
    };
  },
  adamw: (options) => references.adam(options, true),
};

/** Tensors and their gradients by name, as an.optimizer takes them. */
const tensors = (an, shapes, scale = 1) =>
  Object.fromEntries(
    Object.entries(shapes).map(([name, shape], i) => {
      const n = shape.reduce((a, b) => a * b, 1);
      return [name, { value: an.tensor(randoms(n, i + 1, scale), shape), gradient: an.zeros(shape) }];
    }),
  );
const free = (parameters) => {
  for (const { value, gradient } of Object.values(parameters)) {
    value.dispose();
    gradient.dispose();
  }
};
const small = { d_model: 6, d_ff: 10 };

for (const variant of variants) {
  const trajectories = [
    ['sgd', {}],
    ['sgd', { rate: 0.1, momentum: 0.9 }],
    ['sgd', { rate: 0.05, momentum: 0.8, dampening: 0.3, weightDecay: 0.02 }],
    ['sgd', { rate: 0.05, momentum: 0.9, nesterov: true, weightDecay: 0.1 }],
    ['adam', {}],
    ['adam', { rate: 0.01, betas: [0.5, 0.9], eps: 1e-3, weightDecay: 0.1 }],
    ['adam', { rate: 0.01, eps: 1e-2, epsilonFirst: true }],
    ['adamw', {}],
    ['adamw', { rate: 0.02, betas: [0.8, 0.95], weightDecay: 0.3 }],
  ];
  for (const [name, options] of trajectories) {
    test(`${variant}: ${name} ${JSON.stringify(options)}: 60 steps as PyTorch takes them`, async () => {
      const an = await instance(variant);
      const parameters = tensors(an, { w: [7, 3], b: [5], one: [] });
      const optimizer = an.optimizer(name, parameters, options);
      assert.ok(optimizer instanceof Optimizer);
      const want = Object.fromEntries(
        Object.entries(parameters).map(([key, { value }]) => {
          return [key, Array.from(value.toArray(), (v) => ({ v, step: references[name](options) }))];
        }),
      );
      for (let step = 1; step <= 60; step++) {
        for (const [i, [key, { value, gradient }]] of Object.entries(parameters).entries()) {
          // Of very different sizes, and now and then nothing.
          const g = randoms(value.size, 100 * step + i, 10 ** ((step % 5) - 3)).map((x) => (step % 7 ? x : 0));
          gradient.set({ data: g, shape: value.shape });
          for (const [j, number] of want[key].entries()) number.v = number.step(number.v, g[j]);
        }
        optimizer.step();
        assert.equal(optimizer.steps, step);
      }
      for (const [key, { value }] of Object.entries(parameters)) {
        const got = value.toArray();
        // A rounding or two a step, of numbers as large as the values.
        const largest = Math.max(1, ...want[key].map(({ v }) => Math.abs(v)));
        close(
          got,
          want[key].map(({ v }) => v),
          120 * 2 ** -24 * largest,
          key,
        );
      }
      optimizer.dispose();
      optimizer.dispose();
      assert.throws(() => optimizer.step(), failure('DISPOSED'));
      free(parameters);
    });
  }

  test(`${variant}: groups have settings of their own, the first that matches`, async () => {
    const an = await instance(variant);
    const parameters = tensors(an, { up: [2, 3], up_bias: [3], norm_weight: [3], head: [1, 3] });
    for (const { gradient, value } of Object.values(parameters)) {
      gradient.set(new Float32Array(value.size).fill(1));
      value.set(new Float32Array(value.size).fill(1));
    }
    const seen = [];
    const optimizer = an.optimizer('sgd', parameters, {
      rate: (step) => step / 4,
      weightDecay: 0.5,
      decay: 'matrices',
      groups: [
        { match: ['head'], rate: 0, momentum: 0.5 },
        { match: (name, shape) => seen.push([name, shape]) && name.startsWith('up'), weightDecay: 0.25 },
        { match: () => true, decay: 'all' },
      ],
    });
    assert.deepEqual(seen.slice(0, 2), [
      ['up', [2, 3]],
      ['up_bias', [3]],
    ]);
    assert.equal(optimizer.rate, 0.25);
    optimizer.step();
    assert.equal(optimizer.rate, 0.5);
    const found = Object.fromEntries(Object.entries(parameters).map(([name, { value }]) => [name, value.data[0]]));
    // 1 - rate (gradient + decay value)
    assert.deepEqual(found, { up: 1 - 0.25 * 1.25, up_bias: 0.75, norm_weight: 1 - 0.25 * 1.5, head: 1 });
    assert.deepEqual(Object.keys(optimizer.state()), ['m.head', 'step']);
    optimizer.dispose();
    free(parameters);
  });

  test(`${variant}: clipping scales all gradients to a norm, and tells the norm before`, async () => {
    const an = await instance(variant);
    const parameters = tensors(an, { a: [2], b: [1, 2] });
    const { a, b } = parameters;
    const set = (...values) => {
      a.gradient.set(Float32Array.from(values.slice(0, 2)));
      b.gradient.set(shaped(values.slice(2), [1, 2]));
    };
    const gradients = () => [...a.gradient.data, ...b.gradient.data];
    set(1, 2, 2, 4);
    assert.equal(an.clipGradNorm(parameters, 10), 5);
    assert.equal(an.clipGradNorm(parameters, Infinity), 5);
    assert.deepEqual(gradients(), [1, 2, 2, 4]);
    assert.equal(an.clipGradNorm(parameters, 1), 5);
    close(gradients(), [0.2, 0.4, 0.4, 0.8], 1e-6);
    // Squares beyond float32 are no infinity.
    set(3e38, 0, 0, 0);
    close([an.clipGradNorm(parameters, 2) / 3e38], [1], 1e-6);
    close(gradients(), [2, 0, 0, 0], 1e-6);
    for (const bad of [Number.NaN, Number.POSITIVE_INFINITY]) {
      set(1, bad, 2, 3);
      assert.ok(!Number.isFinite(an.clipGradNorm(parameters, 1)));
      assert.deepEqual(gradients(), [1, bad, 2, 3]);
    }
    // In a step: the gradients stay as they are.
    const value = a.value.toArray();
    const optimizer = an.optimizer('sgd', parameters, { rate: 1, clip: 2.5 });
    set(1, 2, 2, 4);
    optimizer.step();
    close(a.value.toArray(), [value[0] - 0.5, value[1] - 1], 1e-6);
    assert.deepEqual(gradients(), [1, 2, 2, 4]);
    // A module's.
    const ffn = an.ffn(small, { seed: 1 });
    const y = ffn.forward(randoms(6, 1), { train: true });
    ffn.backward(y);
    const before = Object.values(ffn.gradients).flatMap((tensor) => [...tensor.data]);
    const norm = Math.sqrt(before.reduce((sum, g) => sum + g * g, 0));
    close([an.clipGradNorm(ffn, norm / 3)], [norm], 1e-6 * norm);
    const after = Object.values(ffn.gradients).flatMap((tensor) => [...tensor.data]);
    close(
      after,
      before.map((g) => g / 3),
      1e-5 * norm,
    );
    for (const one of [optimizer, ffn]) one.dispose();
    free(parameters);
  });

  test(`${variant}: what diverges is named, and nothing has changed`, async () => {
    const an = await instance(variant);
    const stack = an.stack(
      { ...small, depth: 3, d_in: 3, d_out: 2, final_norm: false, placement: 'none' },
      { seed: 1 },
    );
    const x = randoms(3, 1);
    const everything = (optimizer) =>
      JSON.stringify([stack.state(), optimizer.state()], (_, v) => (v?.buffer ? [...v] : v));
    const step = (input = x) => {
      stack.zeroGrad();
      stack.backward(stack.forward(input, { train: true }));
    };
    for (const name of ['sgd', 'adam', 'adamw']) {
      const optimizer = an.optimizer(name, stack, name === 'sgd' ? { momentum: 0.9 } : { clip: 1 });
      const diverges = (message, wanted) => {
        const before = everything(optimizer);
        const bytes = inUse(an);
        assert.throws(
          () => optimizer.step(),
          (error) => {
            failure('DIVERGED', message)(error);
            const { step, tensor, layer } = error;
            assert.deepEqual({ step, tensor, layer }, { step: optimizer.steps + 1, ...wanted });
            return true;
          },
        );
        assert.equal(everything(optimizer), before);
        assert.deepEqual(inUse(an), bytes);
      };
      step();
      optimizer.step();
      // One gradient alone.
      step();
      stack.gradients['layers.1.up'].data[4] = Number.NaN;
      diverges(/step 2: the gradient of 'layers.1.up' is not finite; nothing has changed/, {
        tensor: 'layers.1.up',
        layer: 2,
      });
      // A layer whose forward overflows makes the ones behind it so; all gradients are.
      const down = stack.parameters['layers.1.down'];
      const values = down.toArray();
      down.data[3] = Number.POSITIVE_INFINITY;
      stack.touch();
      step();
      diverges(/step 2: the gradient of 'layers\.1\.\w+' is not finite; the stream is not finite from layer 2 on/, {
        tensor: 'layers.1.down_bias',
        layer: 2,
      });
      down.set(values);
      // The input.
      step(Float32Array.of(0, Number.NaN, 0));
      diverges(/the stream is not finite from the input on/, { tensor: 'head_bias', layer: 0 });
      // It goes on from where it was.
      step();
      optimizer.step();
      assert.equal(optimizer.steps, 2);
      // A value that leaves float32.
      const large = tensors(an, { a: [4], b: [2] });
      large.a.value.data.set([0, 3e38, 0, 0]);
      large.a.gradient.data.set([0, -3e38, 0, 0]);
      large.b.gradient.data.set([1, 1]);
      const [a, b] = [large.a.value.toArray(), large.b.value.toArray()];
      const other = an.optimizer(name, large, { rate: 1e30 });
      assert.throws(() => other.step(), failure('DIVERGED', /'a' would become NaN or infinite; nothing has changed/));
      same(large.a.value.toArray(), a);
      same(large.b.value.toArray(), b);
      assert.equal(other.steps, 0);
      other.dispose();
      optimizer.dispose();
      free(large);
    }
    stack.dispose();
  });

  test(`${variant}: training goes on bit for bit from a stored state`, async () => {
    const an = await instance(variant);
    const config = { ...small, depth: 2, norm: 'batch_norm', dropout: 0.2, d_in: 3, d_out: 2, activation: 'silu' };
    const x = shaped(randoms(36, 1), [3, 4, 3]);
    const rate = an.schedule('warmup_cosine', { rate: 0.05, warmup: 5, total: 25 });
    for (const [name, options] of [
      ['sgd', { momentum: 0.9, nesterov: true }],
      ['adamw', { decay: 'matrices', clip: 0.5 }],
      ['adam', { groups: [{ match: ['head'], rate: 1e-3 }] }],
    ]) {
      const start = (init) => {
        const stack = an.stack(config, init);
        return { stack, optimizer: an.optimizer(name, stack, { rate, ...options }) };
      };
      const train = ({ stack, optimizer }, from, to) => {
        for (let i = from; i < to; i++) {
          stack.zeroGrad();
          stack.backward(stack.forward(x, { train: true, seed: i }), { dx: false });
          optimizer.step();
        }
        return { model: stack.state(), optimizer: optimizer.state() };
      };
      const through = start({ seed: 3 });
      const whole = train(through, 0, 20);
      const first = start({ seed: 3 });
      const half = train(first, 0, 10);
      assert.notDeepEqual(half.model, whole.model);
      const second = start({ weights: half.model });
      second.optimizer.loadState(half.optimizer);
      assert.equal(second.optimizer.steps, 10);
      assert.deepEqual(train(second, 10, 20), whole);
      // Into a module that has learned something else.
      first.stack.loadState(half.model);
      first.optimizer.loadState(half.optimizer);
      assert.deepEqual(train(first, 10, 20), whole);
      // One file holds both: names do not meet.
      const names = [...Object.keys(whole.model), ...Object.keys(whole.optimizer)];
      assert.equal(new Set(names).size, names.length);
      assert.deepEqual(whole.optimizer.step, { shape: [], data: Float32Array.of(20) });
      for (const { stack, optimizer } of [through, first, second]) {
        optimizer.dispose();
        stack.dispose();
      }
    }
  });

  test(`${variant}: an optimiser is refused what it cannot do, and then has done nothing`, async () => {
    const an = await instance(variant);
    const other = await load({ variant });
    const before = inUse(an);
    const ffn = an.ffn(small);
    const p = tensors(an, { w: [2, 3] });
    const x = an.zeros([2, 3]);
    const turned = an.zeros([3, 2]);
    const make =
      (options, name = 'adam', parameters = p) =>
      () =>
        an.optimizer(name, parameters, options);
    const refused = {
      UNKNOWN_NAME: [
        [/optimizer: unknown name 'adams'; did you mean 'adam'/, make({}, 'adams')],
        [/groups\[0\]\.match: unknown name 'v'; did you mean 'w'/, make({ groups: [{ match: ['v'] }] })],
      ],
      UNKNOWN_OPTION: [
        [/adam: unknown option 'momentum'/, make({ momentum: 0.9 })],
        [/sgd: unknown option 'betas'/, make({ betas: [0.9, 0.99] }, 'sgd')],
        [/groups\[1\]: unknown option 'clip'/, make({ groups: [{ match: [] }, { match: [], clip: 1 }] })],
        [/w: unknown option 'grad'/, make({}, 'adam', { w: { value: x, grad: x } })],
      ],
      INVALID_ARGUMENT: [
        [/rate: expected a finite number >= 0, got -1/, make({ rate: -1 })],
        [/rate\(1\): expected a finite number >= 0, got NaN/, () => make({ rate: () => Number.NaN })().step()],
        [/betas: expected two numbers, from 0 to below 1, got \[0.9, 1\]/, make({ betas: [0.9, 1] })],
        [/betas: expected two numbers/, make({ betas: [0.9] })],
        [/betas: expected two numbers/, make({ betas: ['0.9', 0.99] })],
        [/betas: expected two numbers/, make({ betas: [0n, 0.99] })],
        [/betas: expected two numbers/, make({ betas: Array(2) })],
        [/groups\[0\]\.match: expected a function or an array/, make({ groups: Array(1) })],
        [/groups\[0\]\.eps: expected a finite number >= 0, got -1/, make({ groups: [{ match: [], eps: -1 }] })],
        [/groups\[0\]\.match: expected a function or an array/, make({ groups: [{ rate: 1 }] })],
        [/groups: expected an array, got an object/, make({ groups: {} })],
        [/momentum: expected a finite number from 0 to 1/, make({ momentum: 2 }, 'sgd')],
        [/nesterov: expected false where momentum is 0/, make({ nesterov: true }, 'sgd')],
        [/epsilonFirst: expected true or false/, make({ epsilonFirst: 1 })],
        [/decay: unknown name 'none'/, make({ decay: 'none' })],
        [/clip: expected a finite number >= 0/, make({ clip: -1 })],
        [/parameters: expected an Ffn, Block or Stack/, make({}, 'sgd', x)],
        [/w.gradient: expected a Tensor, got undefined/, make({}, 'sgd', { w: { value: x } })],
        [/w.value: expected a Tensor, got a Float32Array/, make({}, 'sgd', { w: { value: x.data, gradient: x } })],
        [/a tensor comes twice/, make({}, 'sgd', { w: { value: x, gradient: x } })],
        [/a tensor comes twice/, make({}, 'sgd', { ...p, v: { value: p.w.value, gradient: x } })],
        [/Optimizer: made by an.optimizer/, () => new Optimizer()],
      ],
      SHAPE_MISMATCH: [
        [/w.gradient: expected \[2, 3\], got \[3, 2\]/, make({}, 'sgd', { w: { value: x, gradient: turned } })],
      ],
      WRONG_INSTANCE: [
        [
          /w.gradient: this tensor belongs to another/,
          make({}, 'sgd', { w: { value: x, gradient: other.zeros([2, 3]) } }),
        ],
        [/another instance/, make({}, 'sgd', other.ffn(small))],
      ],
    };
    for (const [code, cases] of Object.entries(refused)) {
      for (const [message, run] of cases) {
        assert.throws(() => an.scope(run), failure(code, message));
      }
    }
    const optimizer = an.optimizer('adam', ffn);
    ffn.backward(ffn.forward(randoms(6, 1), { train: true }));
    optimizer.step();
    const state = optimizer.state();
    const { 'm.up': up, ...without } = state;
    for (const [given, code, message] of [
      [without, 'INVALID_ARGUMENT', /state: 'm.up' missing/],
      [{ ...state, 'm.upp': up }, 'UNKNOWN_NAME', /unknown name 'm.upp'; did you mean 'm.up'/],
      [
        { ...state, 'm.up': { ...up, shape: [6, 10] } },
        'SHAPE_MISMATCH',
        /state.m.up: expected \[10, 6\], got \[6, 10\]/,
      ],
      [{ ...state, step: Float32Array.of(1.5) }, 'INVALID_ARGUMENT', /state.step: expected an integer/],
      [null, 'INVALID_ARGUMENT', /state: expected an object/],
    ]) {
      assert.throws(() => optimizer.loadState(given), failure(code, message));
      assert.deepEqual(optimizer.state(), state);
    }
    // A module that is gone.
    ffn.dispose();
    assert.throws(() => optimizer.step(), failure('DISPOSED', /up: this tensor has been disposed/));
    optimizer.dispose();
    free(p);
    for (const one of [x, turned]) one.dispose();
    other.dispose();
    assert.deepEqual(inUse(an), before);
  });
}

test('the defaults cannot be changed', async () => {
  const an = await instance('simd');
  for (const { defaults } of an.optimizers)
    for (const value of [defaults, ...Object.values(defaults)]) assert.ok(Object.isFrozen(value));
});

test('schedules: the rates of their formulas, and the same bits everywhere', async () => {
  const an = await instance('simd');
  const rates = (name, options, steps) => steps.map(an.schedule(name, options));
  assert.deepEqual(rates('constant', { rate: 0.5 }, [1, 2, 1000]), [0.5, 0.5, 0.5]);
  assert.deepEqual(rates('warmup', { rate: 1, warmup: 4 }, [1, 2, 3, 4, 5, 100]), [0.25, 0.5, 0.75, 1, 1, 1]);
  assert.deepEqual(rates('warmup', { rate: 1 }, [1, 2]), [1, 1]);
  assert.deepEqual(rates('warmup_inverse_sqrt', { rate: 1, warmup: 4 }, [1, 4, 16, 64]), [0.25, 1, 0.5, 0.25]);
  assert.deepEqual(rates('warmup_inverse_sqrt', { rate: 1 }, [1, 4]), [1, 0.5]);
  const cosine = { rate: 1, warmup: 10, total: 110, min: 0.1 };
  close(rates('warmup_cosine', cosine, [5, 10, 60, 110, 111]), [0.5, 1, 0.55, 0.1, 0.1], 1e-15);
  assert.deepEqual(rates('warmup_cosine', { rate: 1, total: 4 }, [4, 5]), [0, 0]);
  const at = an.schedule('warmup_cosine', { rate: 1, warmup: 0, total: 1000 });
  for (let step = 1; step <= 1000; step++) {
    close([at(step)], [0.5 * (1 + Math.cos((Math.PI * step) / 1000))], 3e-16, `step ${step}`);
  }
  assert.deepEqual(an.schedules.map(String), ['constant', 'warmup', 'warmup_cosine', 'warmup_inverse_sqrt']);
  for (const { name, options, help } of an.schedules) {
    assert.ok(help.length > 10, name);
    assert.equal(an.schedule(name, { rate: 1, ...(options.includes('total') && { total: 9 }) })(1) <= 1, true);
  }
  assert.deepEqual(an.optimizers.map(String), ['sgd', 'adam', 'adamw']);
  for (const [code, message, name, options] of [
    ['UNKNOWN_NAME', /schedule: unknown name 'cosine'/, 'cosine', { rate: 1 }],
    ['UNKNOWN_OPTION', /constant: unknown option 'warmup'/, 'constant', { rate: 1, warmup: 2 }],
    ['INVALID_ARGUMENT', /rate: expected a finite number >= 0, got undefined/, 'warmup', {}],
    ['INVALID_ARGUMENT', /total: expected an integer >= 5/, 'warmup_cosine', { rate: 1, warmup: 5, total: 4 }],
    [
      'INVALID_ARGUMENT',
      /min: expected a finite number from 0 to 1, got 2/,
      'warmup_cosine',
      { rate: 1, total: 4, min: 2 },
    ],
  ]) {
    assert.throws(() => an.schedule(name, options), failure(code, message));
  }
  assert.throws(() => at(0), failure('INVALID_ARGUMENT', /step: expected an integer >= 1, got 0/));
});
