// The gradients that the API gives, in every variant, against differences of the double-precision references; which
// forward has which backward; dropout, random numbers, losses.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Addnorm, failure, instance, inUse, load, randoms, same, shaped, Tensor, variants } from './helpers.js';
import * as reference from './reference.js';

const { crossEntropy, gradient, indices, normOf, rowsOf } = reference;
const product = (shape) => shape.reduce((a, b) => a * b, 1);
const dot = (a, b) => a.reduce((sum, v, i) => sum + v * b[i], 0);
const without = (shape, axis) => shape.filter((_, i) => i !== axis);

/** |got - want| <= tolerance * max(1, the largest |want|). The tolerance is a few tens of float32 roundings. */
function near(got, want, what, tolerance = 5e-7) {
  const values = got instanceof Float32Array ? got : got.toArray();
  assert.equal(values.length, want.length, what);
  const limit = tolerance * want.reduce((most, v) => Math.max(most, Math.abs(v)), 1);
  for (const [i, v] of values.entries()) {
    assert.ok(Math.abs(v - want[i]) <= limit, `${what}[${i}]: got ${v}, expected ${want[i]}, limit ${limit}`);
  }
}

/** Where NaN stands, as a list of places. */
const missing = (values) => [...values.entries()].filter(([, v]) => Number.isNaN(v)).map(([i]) => i);

/** x of both signs where a function is smooth: there two steps of the difference agree. */
function smooth(f, n, seed, scale) {
  const slope = (x, step) => gradient(([v]) => f(v), [x], step)[0];
  const values = randoms(4 * n, seed, scale).filter((x) => Math.abs(slope(x, 1e-3) - slope(x, 4e-4)) < 1e-8);
  assert.ok(values.length > 2 * n, 'smooth nearly everywhere');
  return values.subarray(0, n);
}

// What has no backward of its own, and why. Whatever else Addnorm's prototype has is a forward.
const others = {
  'make tensors': ['tensor', 'zeros', 'random'],
  'make modules, which have their own': ['ffn', 'block', 'stack', 'optimizer'],
  'compute no function of a tensor': [
    'scope',
    'stats',
    'limits',
    'selfTest',
    'theory',
    'schedule',
    'clipGradNorm',
    'dispose',
  ],
  'its own backward': ['dropout'],
  'gives its gradient': ['loss'],
};

test('every forward has its backward', () => {
  const methods = Object.getOwnPropertyNames(Addnorm.prototype).filter((name) => name !== 'constructor');
  const none = new Set(Object.values(others).flat());
  const forwards = methods.filter((name) => !none.has(name) && !name.endsWith('Backward'));
  const wanted = ['activation', 'glu', 'softmax', 'norm', 'add', 'addNorm', 'linear'];
  assert.deepEqual(
    wanted.filter((name) => !forwards.includes(name)),
    [],
  );
  for (const name of forwards) {
    assert.ok(methods.includes(`${name}Backward`), `${name} has no ${name}Backward, and is not named as needing none`);
  }
  for (const name of methods.filter((method) => method.endsWith('Backward'))) {
    assert.ok(forwards.includes(name.replace(/Backward$/, '')), `${name} has no forward`);
  }
});

const across = new Map();
/** What must be the same bits in all variants. */
function everywhere(what, values) {
  if (!across.has(what)) across.set(what, values);
  same(values, across.get(what), what);
}

for (const variant of variants) {
  const an = await instance(variant);
  const check = (name, fn) =>
    test(`${variant}: ${name}`, () => {
      const before = inUse(an);
      an.scope(fn);
      assert.deepEqual(inUse(an), before, 'something was left behind');
    });

  check('activationBackward and gluBackward, for every activation', () => {
    const n = 37;
    const [dy, up] = [randoms(n, 1, 2), randoms(n, 2, 2)];
    for (const { name, params } of an.activations) {
      for (const values of [params.map((p) => p.default), params.map((p) => p.default * 1.5)]) {
        const f = (x) => reference.activations[name].f(x, ...values);
        const given = Object.fromEntries(params.map((p, i) => [p.name, values[i]]));
        const x = smooth(f, n, 3, 4);
        const slopes = gradient((v) => v.reduce((sum, u) => sum + f(u), 0), x);
        const what = `${name} ${values}`;
        near(
          an.activationBackward(name, x, dy, given),
          slopes.map((v, i) => v * dy[i]),
          what,
        );
        const { dGate, dUp } = an.gluBackward(name, x, up, dy, given);
        near(
          dGate,
          slopes.map((v, i) => v * dy[i] * up[i]),
          `${what} dGate`,
        );
        near(
          dUp,
          Array.from(x, (v, i) => f(v) * dy[i]),
          `${what} dUp`,
        );
      }
      // NaN stays where it is, in either argument.
      const at = (place, value) => Float32Array.from(dy, (v, i) => (i === place ? value : v));
      assert.deepEqual(missing(an.activationBackward(name, at(5, NaN), at(30, NaN))), [5, 30]);
    }
    for (const name of ['relu', 'relu_squared', 'leaky_relu']) {
      const slope = name === 'leaky_relu' ? Math.fround(0.01) : 0;
      const zeros = an.activationBackward(name, Float32Array.of(0, -0), Float32Array.of(1, 1));
      assert.deepEqual([...zeros].map(Math.abs), [slope, slope]);
    }
    for (const name of ['gelu_erf', 'gelu_tanh', 'silu', 'mish']) {
      const far = Float32Array.of(-Infinity, Infinity, -3.4e38, 3.4e38);
      assert.deepEqual(
        an.activationBackward(name, far, Float32Array.of(2, 2, 2, 2)).map(Math.abs),
        Float32Array.of(0, 2, 0, 2),
      );
    }
    for (const alias of ['gelu', 'gelu_new', 'relu2']) {
      const { name } = an.activations.find(({ aliases }) => aliases.includes(alias));
      same(an.activationBackward(alias, dy, up), an.activationBackward(name, dy, up));
    }
    same(an.gluBackward('swiglu', dy, up, dy).dGate, an.gluBackward('silu', dy, up, dy).dGate);
  });

  check('softmaxBackward along each axis', () => {
    const shape = [3, 4, 5];
    const [x, dy] = [randoms(60, 3, 5), randoms(60, 4, 2)];
    for (const axis of [0, 1, 2, -1]) {
      for (const log of [false, true]) {
        const options = { axis, log };
        const y = an.softmax({ data: x, shape }, options);
        const dx = an.softmaxBackward({ data: y, shape }, dy, options);
        const at = axis < 0 ? axis + 3 : axis;
        const lines = new Map();
        for (let i = 0; i < 60; i++) {
          const key = without(indices(i, shape), at).join();
          lines.set(key, [...(lines.get(key) ?? []), i]);
        }
        const want = Array(60);
        for (const line of lines.values()) {
          const gradients = line.map((i) => dy[i]);
          const slopes = gradient(
            (values) => dot(reference.softmax([...values], log), gradients),
            line.map((i) => x[i]),
          );
          for (const [k, i] of line.entries()) want[i] = slopes[k];
        }
        near(dx, want, `axis ${axis}, log ${log}`);
      }
    }
    const masked = shaped([-Infinity, -Infinity, 1, 2], [2, 2]);
    for (const log of [false, true]) {
      const options = { log, maskedRow: 'zero' };
      const y = an.softmax(masked, options);
      const dx = an.softmaxBackward(shaped(y, [2, 2]), Float32Array.of(1, 2, 3, 5), options);
      assert.deepEqual([...dx.subarray(0, 2)].map(Math.abs), [0, 0]);
      assert.ok(dx.subarray(2).every((v) => Number.isFinite(v) && v !== 0));
      const open = shaped(an.softmax(masked, { log }), [2, 2]);
      assert.deepEqual(missing(an.softmaxBackward(open, Float32Array.of(1, 2, 3, 5), { log })), [0, 1]);
      // NaN stays in its line, in either argument.
      const mixed = an.softmax(shaped([1, NaN, 2, 3, 4, 5], [2, 3]), { log, axis: 0 });
      const lines = an.softmaxBackward(shaped(mixed, [2, 3]), Float32Array.of(1, 2, NaN, 3, 4, 5), { log, axis: 0 });
      assert.deepEqual(missing(lines), [1, 2, 4, 5]);
      // Masked elements beside others: no gradient goes there, and none comes from there.
      const part = an.softmax(Float32Array.of(1, -Infinity, 2), { log });
      const got = an.softmaxBackward(part, Float32Array.of(1, 0, 5), { log });
      assert.equal(Math.abs(got[1]), 0);
      assert.deepEqual(missing(got), []);
    }
  });

  const linesOf = (kind) => (kind === 'row' ? [[-1], [1], [2, 1], [0, 2], [1, 2, 0], []] : [undefined]);
  const channelLayouts = [
    { channelAxis: 1 },
    { channelAxis: 2 },
    { channelAxis: -1 },
    { channelAxis: 1, weightOffset: 1 },
  ];

  /** Every norm in the ways that its operands may lie: `name, shape, options, affine shape`. */
  function* calls(shape) {
    for (const { name, kind } of an.norms) {
      if (kind === 'row') {
        for (const axes of linesOf(kind)) {
          const sizes = axes.map((axis) => shape[axis < 0 ? axis + shape.length : axis]);
          yield { name, kind, options: { axes, weightOffset: axes.length === 1 ? 1 : 0 }, affine: sizes };
        }
        continue;
      }
      for (const layout of channelLayouts) {
        const channels = shape[(layout.channelAxis + shape.length) % shape.length];
        const counts = kind === 'group' ? [1, channels] : [undefined];
        for (const groups of counts) {
          const options = groups === undefined ? layout : { ...layout, groups };
          yield { name, kind, options, affine: [channels] };
        }
      }
    }
  }

  check('normBackward and addNormBackward, for every norm and any axes', () => {
    const shape = [3, 4, 5];
    const n = product(shape);
    const [dy, dSum, residual] = [randoms(n, 5, 2), randoms(n, 6, 2), randoms(n, 7, 2, 1)];
    const x = { data: randoms(n, 8, 2, 1), shape };
    const eps = 0.01;
    // A small step: rms_norm_outside of one element bends sharply near 0.
    const slopes = (f, at) => gradient(f, at, 2e-5);
    for (const { name, options, affine } of calls(shape)) {
      const m = product(affine);
      const weight = { data: randoms(m, 9, 1, 1), shape: affine };
      const bias = randoms(m, 10);
      const alphas = name === 'dyt' ? [0.75] : [undefined];
      for (const alpha of alphas) {
        const what = `${name} ${JSON.stringify(options)}`;
        const given = { ...options, weight, bias, eps, alpha };
        const f = normOf(name, shape, { ...options, eps });
        const loss = (values, w = weight.data, b = bias, a = alpha) => dot(f(values, w, b, a), dy);

        const got = an.normBackward(name, x, { data: dy, shape }, given);
        assert.deepEqual(Object.keys(got), ['dx', 'dWeight', 'dBias', ...(name === 'dyt' ? ['dAlpha'] : [])], what);
        near(
          got.dx,
          slopes((v) => loss(v), x.data),
          `${what} dx`,
          3e-6,
        );
        near(
          got.dWeight,
          slopes((w) => loss(x.data, w), weight.data),
          `${what} dWeight`,
          3e-6,
        );
        near(
          got.dBias,
          slopes((b) => loss(x.data, weight.data, b), bias),
          `${what} dBias`,
          3e-6,
        );
        if (alpha) {
          near(
            got.dAlpha,
            slopes(([a]) => loss(x.data, weight.data, bias, a), [alpha]),
            `${what} dAlpha`,
            3e-6,
          );
        }

        // Without weight, which is ones and nothing added.
        const bare = { ...options, eps, alpha };
        const plain = (values) => dot(f(values, undefined, undefined, alpha), dy);
        near(an.normBackward(name, x, dy, bare).dx, slopes(plain, x.data), `${what} without weight`, 3e-6);

        // The residual sum: x and residual by themselves, the sum also used further.
        const scale = 0.75;
        const fused = { ...given, alpha: scale };
        if (alpha) fused.normAlpha = alpha;
        const { sum, y } = an.addNorm(name, x, residual, fused);
        const add = (a, b) => a.map((v, i) => scale * v + b[i]);
        near(y, f(add(Float64Array.from(x.data), residual), weight.data, bias, alpha), `${what} y`, 3e-6);
        const total = (a, b) => {
          const both = add(a, b);
          return loss(both) + dot(both, dSum);
        };
        const back = an.addNormBackward(name, { data: sum, shape }, dy, { ...fused, dSum });
        const [mine, its] = [Float64Array.from(x.data), Float64Array.from(residual)];
        near(
          back.dx,
          slopes((v) => total(v, its), mine),
          `${what} addNorm dx`,
          3e-6,
        );
        near(
          back.dResidual,
          slopes((v) => total(mine, v), its),
          `${what} dResidual`,
          3e-6,
        );
        const alone = an.normBackward(name, { data: sum, shape }, dy, given);
        for (const key of Object.keys(alone)) if (key !== 'dx') same(back[key], alone[key], `${what} ${key}`);
        same(an.addNormBackward(name, { data: sum, shape }, dy, fused).dResidual, alone.dx, `${what} without dSum`);
      }
    }
  });

  check('normBackward keeps NaN and Infinity in their row, channel or group', () => {
    const shape = [3, 4, 5];
    const clean = randoms(60, 11, 2, 1);
    const at = [1, 2, 3];
    const place = 33;
    for (const { name, kind, options } of calls(shape)) {
      const over = (options.axes ?? []).map((axis) => (axis + 3) % 3);
      const channel = ((options.channelAxis ?? -1) + 3) % 3;
      const groups = kind === 'instance' ? shape[channel] : (options.groups ?? 1);
      const group = (where) => Math.floor((where[channel] * groups) / shape[channel]);
      const together = {
        row: (where) => where.every((v, axis) => over.includes(axis) || v === at[axis]),
        batch: (where) => where[channel] === at[channel],
        group: (where) => where[0] === at[0] && group(where) === group(at),
        instance: (where) => where[0] === at[0] && group(where) === group(at),
      }[kind];
      const alone = name === 'dyt' || name === 'none';
      for (const bad of [NaN, Infinity]) {
        for (const which of ['x', 'dy']) {
          const dirty = Float32Array.from(clean, (v, i) => (i === place ? bad : v));
          const [x, dy] = which === 'x' ? [dirty, clean] : [clean, dirty];
          const { dx } = an.normBackward(name, { data: x, shape }, dy, options);
          const allowed = clean.map((_, i) => (alone ? i === place : together(indices(i, shape))));
          const found = [...dx.entries()].filter(([, v]) => !Number.isFinite(v)).map(([i]) => i);
          const what = `${name} ${JSON.stringify(options)}, ${bad} in ${which}`;
          assert.ok(
            found.every((i) => allowed[i]),
            `${what}: at ${found}`,
          );
          // Where statistics are of all elements, NaN is in all of them.
          if (Number.isNaN(bad) && !alone) assert.equal(found.length, allowed.filter(Boolean).length, what);
        }
      }
    }
  });

  check('batch norm under a mask, and with running statistics', () => {
    const eps = 0.01;
    for (const [shape, channelAxis] of [
      [[3, 4, 5], 2],
      [[3, 4, 5], 1],
      [[7, 3], -1],
    ]) {
      const axis = (channelAxis + shape.length) % shape.length;
      const [n, channels] = [product(shape), shape[axis]];
      const rest = without(shape, axis);
      const mask = {
        data: Float32Array.from({ length: n / channels }, (_, i) => Number(i % 3 !== 1) * 2),
        shape: rest,
      };
      const [weight, bias, dy] = [randoms(channels, 12, 1, 1), randoms(channels, 13), randoms(n, 14, 2)];
      const padded = (i) =>
        mask.data[
          indices(i, shape)
            .filter((_, a) => a !== axis)
            .reduce((p, v, a) => p * rest[a] + v, 0)
        ] === 0;
      const x = { data: randoms(n, 15, 2, 1), shape };
      // What stands in the padding is of no account, whatever it is.
      const dirty = { data: x.data.map((v, i) => (padded(i) ? NaN : v)), shape };
      const dirtyDy = dy.map((v, i) => (padded(i) ? Infinity : v));
      const running = { runningMean: randoms(channels, 16), runningVar: randoms(channels, 17, 0.5, 1) };
      for (const training of [true, false]) {
        for (const masks of [{ mask }, { mask: mask.data }, { mask: an.tensor(mask) }, {}]) {
          const what = `${shape} ${channelAxis} training ${training} ${Object.keys(masks)}`;
          const used = masks.mask ? { mask: mask.data } : {};
          const f = normOf('batch_norm', shape, { channelAxis, eps, ...used, ...(training ? {} : running) });
          const options = { channelAxis, eps, weight, bias, ...masks, ...(training ? {} : running) };
          const y = an.norm('batch_norm', x, options);
          near(y, f(x.data, weight, bias), what, 3e-6);
          const got = an.normBackward('batch_norm', x, dy, options);
          const loss = (v, w = weight, b = bias) => dot(f(v, w, b), dy);
          near(
            got.dx,
            gradient((v) => loss(v), x.data),
            `${what} dx`,
            3e-6,
          );
          near(
            got.dWeight,
            gradient((w) => loss(x.data, w), weight),
            `${what} dWeight`,
            3e-6,
          );
          near(
            got.dBias,
            gradient((b) => loss(x.data, weight, b), bias),
            `${what} dBias`,
            3e-6,
          );
          if (!masks.mask) continue;
          same(an.norm('batch_norm', dirty, options), y, `${what}: padding counts`);
          const back = an.normBackward('batch_norm', dirty, dirtyDy, options);
          for (const key of Object.keys(got)) same(back[key], got[key], `${what} ${key}: padding counts`);
          for (let i = 0; i < n; i++) if (padded(i)) assert.deepEqual([y[i], got.dx[i]].map(Math.abs), [0, 0], what);
        }
      }
      // In training the running statistics are those of the valid elements, and backward leaves them alone.
      const arrays = { runningMean: new Float32Array(channels), runningVar: new Float32Array(channels).fill(1) };
      const options = { channelAxis, mask, training: true, momentum: 1, ...arrays };
      const { mean, rstd } = an.norm('batch_norm', dirty, { ...options, stats: true });
      const sets = Array.from({ length: channels }, (_, c) =>
        Array.from(x.data).filter((_, i) => !padded(i) && indices(i, shape)[axis] === c),
      );
      const moments = sets.map(reference.moments);
      near(
        arrays.runningMean,
        moments.map((m) => m.mean),
        'running mean',
      );
      near(
        arrays.runningVar,
        moments.map((m, c) => (m.variance * sets[c].length) / (sets[c].length - 1)),
        'running variance',
      );
      near(
        mean,
        moments.map((m) => m.mean),
        'mean',
      );
      near(
        rstd,
        moments.map((m) => 1 / Math.sqrt(m.variance + 1e-5)),
        'rstd',
        3e-6,
      );
      const kept = [arrays.runningMean.slice(), arrays.runningVar.slice()];
      const frozen = an.normBackward('batch_norm', dirty, dy, options);
      same(arrays.runningMean, kept[0]);
      same(arrays.runningVar, kept[1]);
      const { training: _, runningMean: __, runningVar: ___, ...batch } = options;
      same(frozen.dx, an.normBackward('batch_norm', dirty, dy, batch).dx);
      // addNorm takes it as well.
      const zero = new Float32Array(n);
      same(
        an.addNorm('batch_norm', dirty, zero, { channelAxis, mask }).y,
        an.norm('batch_norm', dirty, { channelAxis, mask }),
      );

      // All of it padding: zeros, and no statistics.
      const none = { channelAxis, mask: new Float32Array(n / channels), stats: true };
      const nothing = an.norm('batch_norm', x, none);
      assert.ok(
        nothing.y.every((v) => v === 0),
        'y under a full mask',
      );
      assert.ok(nothing.mean.every(Number.isNaN));
      for (const [key, values] of Object.entries(an.normBackward('batch_norm', x, dy, none))) {
        assert.ok(
          values.every((v) => v === 0),
          `${key} under a full mask`,
        );
      }
    }
  });

  check('normBackward where there is no spread', () => {
    const dy = Float32Array.of(1, 2, 3, 6);
    const weight = Float32Array.of(1, 2, 0.5, -1);
    const constant = Float32Array.of(3, 3, 3, 3);
    const g = Array.from(dy, (v, i) => v * weight[i]);
    const mean = g.reduce((a, b) => a + b) / 4;
    const { dx, dWeight } = an.normBackward('layer_norm', constant, dy, { weight, eps: 1e-4 });
    near(
      dx,
      g.map((v) => (v - mean) * 100),
      'a constant row',
      1e-6,
    );
    assert.deepEqual([...dWeight].map(Math.abs), [0, 0, 0, 0]);
    near(
      an.normBackward('rms_norm', new Float32Array(4), dy, { weight, eps: 1e-4 }).dx,
      g.map((v) => v * 100),
      'zeros',
    );
    const one = an.normBackward('layer_norm', shaped([5, -2, 0.5], [3, 1]), Float32Array.of(1, 2, 3), {
      weight: Float32Array.of(2),
    });
    assert.deepEqual([...one.dx, ...one.dWeight, ...one.dBias].map(Math.abs), [0, 0, 0, 0, 6]);
    // A mean of a million leaves nothing of x - mean in a float32 statistic.
    const far = Float32Array.of(1e6, 1e6 + 1, 1e6 + 4, 1e6 - 2);
    const want = gradient((v) => dot(normOf('layer_norm', [4], { eps: 1e-5 })(v), dy), far, 1e-2);
    near(an.normBackward('layer_norm', far, dy).dx, want, 'far from 0', 3e-6);
  });

  check('addBackward', () => {
    const dOut = shaped(randoms(15, 18), [3, 5]);
    const { dx, dy } = an.addBackward(dOut, { alpha: -0.75 });
    same(
      dx,
      dOut.data.map((v) => v * -0.75),
    );
    same(dy, dOut.data);
    assert.notEqual(dy.buffer, dOut.data.buffer);
    same(an.addBackward(dOut).dx, dOut.data);
  });

  check('linearBackward, in both layouts, through activations', () => {
    for (const [rows, inSize, out] of [
      [1, 1, 1],
      [3, 5, 7],
      [17, 9, 4],
    ]) {
      const x = { data: randoms(rows * inSize, 19), shape: [rows, inSize] };
      const weight = randoms(out * inSize, 20, 1, 0.25);
      const [bias, dy] = [randoms(out, 21), { data: randoms(rows * out, 22, 2), shape: [rows, out] }];
      const turn = (values) => reference.transpose(rowsOf(values, inSize)).flat();
      for (const [activation, params] of [[undefined], ['gelu'], ['swish', { beta: 2 }], ['tanh']]) {
        const name = { gelu: 'gelu_erf' }[activation] ?? activation ?? 'identity';
        const f = (v) => reference.activations[name].f(v, ...Object.values(params ?? {}));
        const loss = (v, w, b) => dot(reference.linear(rowsOf(v, inSize), rowsOf(w, inSize), b).flat().map(f), dy.data);
        const options = { bias, activation, params };
        const got = an.linearBackward(x, { data: weight, shape: [out, inSize] }, dy, options);
        const what = `${rows} ${inSize} ${out} ${activation}`;
        assert.deepEqual(Object.keys(got), ['dx', 'dWeight', 'dBias']);
        near(
          got.dx,
          gradient((v) => loss(v, weight, bias), x.data),
          `${what} dx`,
          1e-6,
        );
        near(
          got.dWeight,
          gradient((w) => loss(x.data, w, bias), weight),
          `${what} dWeight`,
          1e-6,
        );
        near(
          got.dBias,
          gradient((b) => loss(x.data, weight, b), bias),
          `${what} dBias`,
          1e-6,
        );
        const turned = an.linearBackward(x, shaped(turn(weight), [inSize, out]), dy, { ...options, layout: 'in_out' });
        same(turned.dx, got.dx, what);
        same(turned.dBias, got.dBias, what);
        near(turned.dWeight, turn([...got.dWeight]), `${what} in_out`);
      }
    }
    const weight = shaped([1, 2, 3, 4, 5, 6], [3, 2]);
    const tensors = an.linearBackward(an.zeros([2, 2, 2]), an.tensor(weight), an.zeros([2, 2, 3]));
    assert.deepEqual(
      Object.values(tensors).map((t) => t.shape),
      [[2, 2, 2], [3, 2], [3]],
    );
    // Nothing is skipped, and NaN stays in its row.
    const dirty = an.linearBackward(shaped([1, NaN, 1, 1], [2, 2]), weight, shaped([1, 1, 1, NaN, 1, 1], [2, 3]));
    assert.deepEqual(missing(dirty.dx), [2, 3]);
    assert.deepEqual(missing(dirty.dBias), [0]);
    assert.deepEqual(missing(dirty.dWeight), [0, 1, 3, 5]);
    // Sizes of 0.
    const empty = an.linearBackward(an.zeros([0, 2]), weight, an.zeros([0, 3]), { activation: 'silu' });
    assert.deepEqual(
      [empty.dx.shape, [...empty.dWeight.data], [...empty.dBias.data]],
      [[0, 2], Array(6).fill(0), [0, 0, 0]],
    );
    const narrow = an.linearBackward(an.zeros([2, 0]), shaped([], [3, 0]), shaped([1, 2, 3, 4, 5, 6], [2, 3]));
    assert.deepEqual(
      [narrow.dx.shape, narrow.dWeight.shape, [...narrow.dBias.data]],
      [
        [2, 0],
        [3, 0],
        [5, 7, 9],
      ],
    );
    const closed = an.linearBackward(shaped([1, 2, 3, 4], [2, 2]), shaped([], [0, 2]), shaped([], [2, 0]));
    assert.deepEqual(closed.dx, new Float32Array(4));
  });

  check('gradients are of the kind of the first argument, in their own shapes', () => {
    const data = randoms(6, 23);
    const shape = [2, 3];
    const plain = { data, shape };
    const weight = { data: randoms(12, 24), shape: [4, 3] };
    const runs = {
      activationBackward: [(x) => ({ dx: an.activationBackward('gelu', x, data) }), { dx: shape }],
      gluBackward: [(x) => an.gluBackward('geglu', x, data, plain), { dGate: shape, dUp: shape }],
      softmaxBackward: [(y) => ({ dx: an.softmaxBackward(y, data, { axis: 0 }) }), { dx: shape }],
      normBackward: [(x) => an.normBackward('layer_norm', x, data), { dx: shape, dWeight: [3], dBias: [3] }],
      axes: [
        (x) => an.normBackward('dyt', x, data, { axes: [1, 0] }),
        { dx: shape, dWeight: [3, 2], dBias: [3, 2], dAlpha: [1] },
      ],
      batch: [(x) => an.normBackward('batch_norm', x, data), { dx: shape, dWeight: [3], dBias: [3] }],
      addBackward: [(x) => an.addBackward(x), { dx: shape, dy: shape }],
      addNormBackward: [
        (x) => an.addNormBackward('group_norm', x, data),
        { dx: shape, dResidual: shape, dWeight: [3], dBias: [3] },
      ],
      linearBackward: [(x) => an.linearBackward(x, weight, randoms(8, 25)), { dx: shape, dWeight: [4, 3], dBias: [4] }],
      dropout: [(x) => ({ y: an.dropout(x, 0.5) }), { y: shape }],
      loss: [(x) => an.loss('mse', x, data, { reduction: 'none' }), { value: shape, gradient: shape }],
    };
    for (const [name, [run, shapes]] of Object.entries(runs)) {
      const [tensors, arrays] = [run(an.tensor(plain)), run(plain)];
      assert.deepEqual(Object.keys(tensors), Object.keys(shapes), name);
      for (const [key, wanted] of Object.entries(shapes)) {
        assert.ok(tensors[key] instanceof Tensor && arrays[key] instanceof Float32Array, `${name} ${key}`);
        assert.deepEqual(tensors[key].shape, wanted, `${name} ${key}`);
        same(arrays[key], tensors[key].toArray(), `${name} ${key}`);
      }
    }
  });

  check('no rows: empty gradients, and zeros for the parameters', () => {
    const x = shaped([], [0, 3]);
    const zeros = new Float32Array(3);
    const nothing = new Float32Array(0);
    same(an.activationBackward('silu', x, x), nothing);
    same(an.softmaxBackward(x, x), nothing);
    for (const { name } of an.norms) {
      const { dx, dWeight, dBias } = an.normBackward(name, x, x);
      assert.deepEqual([dx, dWeight, dBias], [nothing, zeros, zeros], name);
      const back = an.addNormBackward(name, x, x, { dSum: x });
      assert.deepEqual([back.dx, back.dResidual, back.dWeight], [nothing, nothing, zeros], name);
    }
    for (const { name } of an.losses) {
      const { value, gradient: slopes } = an.loss(name, x, nothing, { reduction: 'sum' });
      assert.deepEqual([value, slopes], [0, nothing], name);
    }
    assert.equal(an.loss('cross_entropy', x, []).value, NaN);
    assert.equal(an.random([0, 2]).size, 0);
  });

  check('dropout: a share of zeros, the rest scaled, by seed and stream', () => {
    const x = randoms(5000, 26, 1, 2);
    for (const p of [0.1, 0.5, 0.9]) {
      const y = an.dropout(x, p, { seed: 3 });
      const dropped = y.filter((v) => v === 0).length;
      // Four standard deviations of a binomial.
      assert.ok(Math.abs(dropped - 5000 * p) < 4 * Math.sqrt(5000 * p * (1 - p)), `${dropped} of 5000 for ${p}`);
      for (const [i, v] of y.entries()) assert.ok(v === 0 || Math.abs(v - x[i] / (1 - p)) <= 2e-7 * Math.abs(v));
      same(an.dropout(x, p, { seed: 3, stream: 0 }), y);
      everywhere(`dropout ${p}`, y);
      // The gradient is the same call: zeros in the same places.
      const dx = an.dropout(new Float32Array(5000).fill(1), p, { seed: 3 });
      assert.ok(dx.every((v, i) => (v === 0) === (y[i] === 0)));
      for (const other of [{ seed: 4 }, { seed: 3, stream: 1 }]) assert.notDeepEqual(an.dropout(x, p, other), y);
      // An element's fate depends on its place alone.
      same(an.dropout(x.subarray(0, 77), p, { seed: 3 }), y.subarray(0, 77));
    }
    same(an.dropout(x, 0), x);
    const dirty = Float32Array.from(x, () => NaN);
    const kept = an.dropout(x, 0.5);
    assert.ok(an.dropout(dirty, 0.5).every((v, i) => (kept[i] === 0 ? v === 0 : Number.isNaN(v))));
  });

  check('random: moments, range, seeds', () => {
    const n = 20000;
    const normal = an.random([n / 4, 4], { mean: 3, std: 2, seed: 5 });
    assert.deepEqual(normal.shape, [n / 4, 4]);
    const { mean, variance } = reference.moments(normal.toArray());
    // Five standard errors.
    assert.ok(Math.abs(mean - 3) < (5 * 2) / Math.sqrt(n), `mean ${mean}`);
    assert.ok(Math.abs(variance - 4) < 5 * 4 * Math.sqrt(2 / n), `variance ${variance}`);
    const uniform = an.random([n], { distribution: 'uniform', low: -1, high: 3 }).toArray();
    assert.ok(uniform.every((v) => v >= -1 && v < 3));
    const u = reference.moments(uniform);
    assert.ok(Math.abs(u.mean - 1) < 5 * Math.sqrt(16 / 12 / n) && Math.abs(u.variance - 16 / 12) < 0.05);
    assert.ok(Math.min(...uniform) < -0.99 && Math.max(...uniform) > 2.99);
    everywhere('normal', normal.toArray());
    everywhere('uniform', uniform);
    const plain = an.random([50]).toArray();
    same(an.random([50], { distribution: 'normal', mean: 0, std: 1, seed: 0, stream: 0 }).toArray(), plain);
    for (const other of [{ seed: 1 }, { stream: 1 }, { seed: 2 ** 32 - 1 }]) {
      assert.notDeepEqual(an.random([50], other).toArray(), plain);
    }
    assert.deepEqual(an.random([3], { std: 0, mean: 2 }).toArray(), Float32Array.of(2, 2, 2));
    assert.deepEqual(an.random([3], { distribution: 'uniform', low: 2, high: 2 }).toArray(), Float32Array.of(2, 2, 2));
  });

  check('losses: the list', () => {
    assert.ok(Object.isFrozen(an.losses));
    assert.deepEqual(an.losses.map(String), ['mse', 'softmax_cross_entropy', 'nll']);
    for (const { name, aliases, help } of an.losses) {
      assert.ok(help.length > 10 && Object.isFrozen(aliases));
      const [x, target] = name === 'mse' ? [randoms(6, 27), randoms(6, 28)] : [randoms(6, 27), [4]];
      const { value, gradient: slopes } = an.loss(name, x, target);
      assert.ok(Number.isFinite(value) && slopes instanceof Float32Array && slopes.some((v) => v !== 0), name);
      for (const alias of aliases) assert.deepEqual(an.loss(alias, x, target), { value, gradient: slopes });
    }
  });

  check('mse', () => {
    const shape = [3, 5];
    const [x, target] = [shaped(randoms(15, 29, 3), shape), shaped(randoms(15, 30), shape)];
    const terms = (v) => Array.from(v, (p, i) => (p - target.data[i]) ** 2);
    const sum = (v) => terms(v).reduce((a, b) => a + b, 0);
    for (const [reduction, divisor] of [
      [undefined, 15],
      ['mean', 15],
      ['sum', 1],
    ]) {
      const { value, gradient: slopes } = an.loss('mse', x, target, { reduction });
      assert.ok(Math.abs(value - sum(x.data) / divisor) <= 1e-6 * value);
      near(
        slopes,
        gradient((v) => sum(v) / divisor, x.data),
        reduction,
      );
    }
    const each = an.loss('mse', x, target.data, { reduction: 'none' });
    near(each.value, terms(x.data), 'terms');
    near(each.gradient, gradient(sum, x.data), 'none');
    assert.deepEqual(missing(an.loss('mse', Float32Array.of(1, NaN, 2), new Float32Array(3)).gradient), [1]);
  });

  check('cross-entropy and nll, along any axis, with labels and probabilities', () => {
    const shape = [2, 5, 3];
    const [x, classWeights] = [{ data: randoms(30, 31, 4), shape }, randoms(5, 32, 0.5, 1)];
    for (const [axis, classes] of [
      [1, 5],
      [-1, 3],
      [0, 2],
    ]) {
      const at = (axis + 3) % 3;
      const rest = without(shape, at);
      const rows = 30 / classes;
      // rows[r][c], and where each stands.
      const places = Array.from({ length: rows }, () => Array(classes));
      for (let i = 0; i < 30; i++) {
        const where = indices(i, shape);
        const row = without(where, at).reduce((p, v, a) => p * rest[a] + v, 0);
        places[row][where[at]] = i;
      }
      const table = (v) => places.map((row) => row.map((i) => v[i]));
      const labels = Int32Array.from({ length: rows }, (_, i) => (i * 7 + 3) % classes);
      const ignoring = labels.map((label, i) => (i % 4 === 1 ? -100 : label));
      const raw = randoms(30, 33, 0.5, 0.75);
      const soft = Float32Array.from(raw);
      for (const row of places) {
        const total = row.reduce((sum, i) => sum + raw[i], 0);
        for (const i of row) soft[i] = raw[i] / total;
      }
      const targets = [
        [{ data: labels, shape: rest }, [...labels]],
        [ignoring, [...ignoring]],
        [{ data: soft, shape }, table(soft)],
      ];
      for (const [target, wanted] of targets) {
        for (const [labelSmoothing, weighted] of [
          [undefined, false],
          [0.1, false],
          [undefined, true],
          [0.1, true],
        ]) {
          const weights = weighted ? classWeights.slice(0, classes) : undefined;
          for (const name of ['softmax_cross_entropy', 'nll']) {
            const data = name === 'nll' ? x.data.map((v) => -Math.abs(v)) : x.data;
            const options = { weights, smoothing: labelSmoothing, probabilities: name === 'nll' };
            const f = (v) => crossEntropy(table(v), wanted, options);
            for (const reduction of ['mean', 'sum', 'none']) {
              const what = `${name} axis ${axis} ${reduction} smoothing ${labelSmoothing} weights ${weighted}`;
              const divisor = reduction === 'mean' ? f(data).divisor : 1;
              const given = { axis, reduction, labelSmoothing, classWeights: weights };
              const got = an.loss(name, { data, shape }, target, given);
              near(
                got.gradient,
                gradient((v) => f(v).total / divisor, data),
                what,
              );
              if (reduction === 'none') near(got.value, f(data).terms, what);
              else assert.ok(Math.abs(got.value - f(data).total / divisor) <= 2e-6 * Math.abs(got.value), what);
            }
          }
        }
      }
    }
  });

  check('labels in every form, ignored ones, far logits', () => {
    const logits = shaped(randoms(12, 34, 3), [3, 4]);
    const list = [2, 0, 3];
    const wanted = an.loss('cross_entropy', logits, Int32Array.from(list));
    for (const target of [
      list,
      Uint8Array.from(list),
      Int8Array.from(list),
      Uint32Array.from(list),
      BigInt64Array.from(list, BigInt),
      Float32Array.from(list),
      an.tensor(Float32Array.from(list)),
      { data: Int32Array.from(list), shape: [3] },
      { data: BigInt64Array.from(list, BigInt), shape: [3] },
      { data: Float32Array.from(list), shape: [3] },
    ]) {
      assert.deepEqual(an.loss('cross_entropy', logits, target), wanted);
    }
    const onehot = Float32Array.from({ length: 12 }, (_, i) => Number(list[i >> 2] === i % 4));
    near(an.loss('soft_cross_entropy', logits, onehot).gradient, [...wanted.gradient], 'one-hot', 1e-6);
    // A tensor's targets of rank 3 with a class axis of 1: the shape decides, not the number of elements.
    assert.deepEqual(an.loss('nll', shaped([-1, -2], [2, 1]), shaped([0, 0], [2])).value, 1.5);
    assert.deepEqual(an.loss('nll', shaped([-1, -2], [2, 1]), shaped([1, 0.5], [2, 1])).value, 1);
    // One row without any other axis.
    assert.deepEqual(an.loss('nll', Float32Array.of(-1, -2, -3), [2]).value, 3);

    const { value, gradient: slopes } = an.loss('cross_entropy', logits, [2, 7, 3], {
      ignoreIndex: 7,
      reduction: 'sum',
    });
    assert.deepEqual([...slopes.subarray(4, 8)].map(Math.abs), [0, 0, 0, 0]);
    assert.ok(value > 0);
    const none = an.loss('cross_entropy', logits, [-1, -1, -1], { ignoreIndex: -1 });
    assert.ok(Number.isNaN(none.value) && none.gradient.every((v) => v === 0));
    assert.equal(an.loss('cross_entropy', logits, [-1, -1, -1], { ignoreIndex: -1, reduction: 'sum' }).value, 0);

    const far = an.loss('cross_entropy', shaped([1e4, -1e4, 0, 3e38, -3e38, 1], [2, 3]), [1, 0], { reduction: 'none' });
    near(far.value, [2e4, 0], 'far');
    assert.deepEqual([...far.gradient], [1, -1, 0, 0, 0, 0]);
    const dirty = an.loss('cross_entropy', shaped([1, NaN, 2, 1, 2, 3], [2, 3]), [0, 1], { reduction: 'none' });
    assert.deepEqual([missing(dirty.value), missing(dirty.gradient)], [[0], [0, 1, 2]]);
    assert.ok(Number.isNaN(an.loss('cross_entropy', shaped([1, NaN, 2], [1, 3]), [0]).value));
  });

  check('labels that are no class are refused with their place', () => {
    const x = shaped(randoms(30, 35), [2, 5, 3]);
    const bad = Int32Array.of(0, 1, 2, 3, 5, 4);
    const text = /^target\[4\]: expected a label from 0 to 4, or ignoreIndex -100, got 5$/;
    assert.throws(() => an.loss('nll', x, bad, { axis: 1 }), failure('INVALID_ARGUMENT', text));
    const next = /^target\[0\]: .*, got -1$/;
    assert.throws(() => an.loss('cross_entropy', shaped([1, 2], [1, 2]), [-1]), failure('INVALID_ARGUMENT', next));
  });

  test(`${variant}: what does not fit is refused and leaves nothing behind`, async () => {
    const small = await load({ variant, maxBytes: 2 ** 22 });
    const x = { data: new Float32Array(720 * 512), shape: [720, 512] };
    const [y, weight] = [{ ...x }, { data: new Float32Array(512 * 512), shape: [512, 512] }];
    const refused = {
      activationBackward: () => small.activationBackward('silu', x, y),
      gluBackward: () => small.gluBackward('silu', x, y, y),
      softmaxBackward: () => small.softmaxBackward(x, y, { axis: 0 }),
      normBackward: () => small.normBackward('layer_norm', x, y, { axes: [0] }),
      'batch normBackward': () => small.normBackward('batch_norm', x, y),
      addNormBackward: () => small.addNormBackward('layer_norm', x, y, { dSum: x }),
      addBackward: () => small.addBackward({ data: new Float32Array(2 ** 19), shape: [2 ** 19] }),
      linearBackward: () => small.linearBackward(x, weight, y),
      dropout: () => small.dropout({ data: new Float32Array(2 ** 19), shape: [2 ** 19] }, 0.5),
      random: () => small.random([1024, 1024]),
      mse: () => small.loss('mse', x, y, { reduction: 'none' }),
      'soft targets': () => small.loss('soft_cross_entropy', x, y, { axis: 0 }),
    };
    const start = inUse(small);
    for (const [name, run] of Object.entries(refused)) {
      assert.throws(run, failure('OUT_OF_MEMORY', /no room for/), name);
      assert.deepEqual(inUse(small), start, name);
    }
    small.dispose();
  });
}
