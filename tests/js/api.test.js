// What each function of the API gives, in every variant: values against the double-precision references, shapes, kinds
// of results, lists, scopes, modules.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  AddnormError,
  Block,
  close,
  Ffn,
  instance,
  inUse,
  libURL,
  load,
  randoms,
  same,
  shaped,
  Tensor,
  variants,
} from './helpers.js';
import * as reference from './reference.js';
import { expected } from './self-test-reference.js';

const { rowsOf } = reference;

for (const variant of variants) {
  const an = await instance(variant);
  const check = (name, fn) =>
    test(`${variant}: ${name}`, async () => {
      const before = inUse(an);
      await fn();
      assert.deepEqual(inUse(an), before, 'something was left behind');
    });
  /** Runs fn in a scope, so that its tensors go. */
  const scoped = (name, fn) => check(name, () => an.scope(fn));

  check('limits: rates, and nothing left behind', () => {
    for (const options of [undefined, { bytes: 1 << 16 }, { bytes: 1 }]) {
      const { flops, read, copy, ...rest } = an.limits(options);
      assert.deepEqual(rest, {});
      // Far from what any machine does; an error of unit would show.
      assert.ok(flops > 1e7 && flops < 1e13, `${flops} FLOP/s`);
      assert.ok(read > 1e4 && read < 1e13 && copy > 1e4 && copy < 1e13, `${read} B/s read, ${copy} B/s copied`);
    }
    assert.throws(() => an.limits({ bytes: 0 }), { code: 'INVALID_ARGUMENT', message: /^bytes: expected / });
    assert.throws(() => an.limits({ size: 1 }), { code: 'UNKNOWN_OPTION', message: /size/ });
  });

  test(`${variant}: lists`, () => {
    for (const [list, least] of [
      [an.activations, 20],
      [an.norms, 9],
      [an.losses, 3],
      [an.placements, 9],
      [an.fields, 20],
    ]) {
      assert.ok(Object.isFrozen(list) && list.length >= least);
      for (const item of list) {
        assert.ok(Object.isFrozen(item));
        assert.equal(`${item}`, item.name);
        assert.deepEqual(JSON.parse(JSON.stringify(item)).name, item.name);
      }
      assert.equal(new Set(list.map(String)).size, list.length);
    }
    const elu = an.activations.find((a) => a.name === 'elu');
    assert.deepEqual(
      elu.params.map((p) => ({ ...p })),
      [{ name: 'alpha', default: 1 }],
    );
    assert.ok(elu.formula.length > 0 && elu.source.length > 0);
    assert.deepEqual(an.activations.find((a) => a.name === 'gelu_tanh').aliases, ['gelu_new', 'gelu_pytorch_tanh']);
    assert.deepEqual(
      { ...an.norms.find((n) => n.name === 'rms_norm'), formula: '', source: '' },
      {
        name: 'rms_norm',
        aliases: [],
        kind: 'row',
        eps: 1e-6,
        affine: 'weight',
        formula: '',
        source: '',
      },
    );
    const field = (name) => an.fields.find((f) => f.name === name);
    assert.equal(field('d_ff').default, null);
    assert.equal(field('bias').default, true);
    assert.equal(field('placement').default, 'pre');
    assert.deepEqual(field('placement').options, an.placements.map(String));
    assert.deepEqual(field('norm').options, an.norms.map(String));
    assert.deepEqual(field('affine').options, ['none', 'weight', 'weight_bias']);
    assert.equal(field('eps').options, null);
    assert.deepEqual([field('d_model').type, field('d_model').min, field('d_model').max], ['int', 1, 65536]);
    for (const f of an.fields) assert.ok(f.help.length > 10 && f.group.length > 0, f.name);
    assert.throws(() => {
      an.variant = 'x';
    }, TypeError);
  });

  check('tensors', () => {
    const data = Float32Array.of(1, 2, 3, 4, 5, 6);
    const x = an.tensor(data, [2, 3]);
    assert.ok(x instanceof Tensor);
    assert.deepEqual(x.shape, [2, 3]);
    assert.equal(x.size, 6);
    data[0] = 99;
    assert.deepEqual(x.toArray(), Float32Array.of(1, 2, 3, 4, 5, 6));
    x.data[1] = 7;
    assert.equal(x.toArray()[1], 7);
    assert.equal(x.set(Float32Array.of(6, 5, 4, 3, 2, 1)), x);
    const copy = an.tensor(x);
    assert.deepEqual(copy.shape, [2, 3]);
    copy.set({ data: Float32Array.of(0, 0, 0, 0, 0, 1), shape: [2, 3] });
    x.set(copy);
    assert.deepEqual(x.data, Float32Array.of(0, 0, 0, 0, 0, 1));
    const flat = an.tensor({ data, shape: [3, 2] }, [6]);
    assert.deepEqual(flat.shape, [6]);
    const single = an.tensor(Float32Array.of(5), []);
    assert.deepEqual([single.shape, single.size], [[], 1]);
    const empty = an.zeros([0, 4]);
    assert.deepEqual([empty.size, empty.toArray().length], [0, 0]);
    // Over memory that was used before.
    const zeros = an.zeros([5]);
    assert.deepEqual(zeros.toArray(), new Float32Array(5));
    assert.ok(Object.isFrozen(x.shape));
    for (const tensor of [x, copy, flat, single, empty, zeros]) {
      tensor.dispose();
      tensor.dispose();
    }
    assert.equal(typeof Tensor.prototype[Symbol.dispose], 'function');
    an.zeros([2])[Symbol.dispose]();
  });

  scoped('results are of the kind of the first argument', () => {
    const data = Float32Array.of(-1, 2, -3, 4);
    const tensor = an.tensor(data, [2, 2]);
    const calls = {
      activation: (x) => an.activation('relu', x),
      glu: (x) => an.glu('reglu', x, data),
      softmax: (x) => an.softmax(x),
      norm: (x) => an.norm('layer_norm', x),
      add: (x) => an.add(x, data),
      sum: (x) => an.addNorm('rms_norm', x, data).sum,
      stats: (x) => an.norm('layer_norm', x, { axes: [], stats: true }).rstd,
    };
    for (const [name, call] of Object.entries(calls)) {
      const fromTensor = call(tensor);
      assert.ok(fromTensor instanceof Tensor, name);
      assert.deepEqual(fromTensor.shape, [2, 2], name);
      for (const like of [{ data, shape: [2, 2] }, data]) {
        const result = call(like);
        assert.ok(result instanceof Float32Array, name);
        assert.notEqual(result.buffer, tensor.data.buffer, `${name}: aliases the memory`);
        if (like !== data) same(result, fromTensor.toArray(), name);
      }
    }
    // A view of the instance's own memory is read in place, also when memory has to grow for the result.
    same(an.add(tensor.data, tensor.data), an.add(data, data));
  });

  check('activations, gates, aliases and parameters', () => {
    const x = randoms(37, 1, 4);
    const up = randoms(37, 2);
    for (const { name, params, aliases } of an.activations) {
      const { f } = reference.activations[name];
      const values = params.map((p) => p.default * 1.5);
      const given = Object.fromEntries(params.map((p, i) => [p.name, values[i]]));
      const want = Array.from(x, (v) => f(v, ...values));
      close(an.activation(name, x, given), want, 2e-5, name);
      close(
        an.glu(name, x, up, given),
        want.map((v, i) => v * up[i]),
        2e-5,
        name,
      );
      for (const alias of aliases) same(an.activation(alias, x), an.activation(name, x), alias);
      same(
        an.activation(name, x, Object.fromEntries(params.map((p) => [p.name, p.default]))),
        an.activation(name, x),
        name,
      );
    }
    const gates = { glu: 'sigmoid', bilinear: 'identity', reglu: 'relu', geglu: 'gelu_erf', swiglu: 'silu' };
    for (const [alias, name] of Object.entries(gates)) same(an.glu(alias, x, up), an.glu(name, x, up), alias);
    same(an.activation('swish', x, { beta: 1 }), an.activation('silu', x));
    same(an.activation('selu', x, { alpha: null, gamma: undefined }), an.activation('selu', x));
  });

  check('softmax along each axis', () => {
    const x = { data: randoms(60, 3, 5), shape: [3, 4, 5] };
    for (const [axis, n, inner] of [
      [0, 3, 20],
      [1, 4, 5],
      [2, 5, 1],
      [-1, 5, 1],
      [-3, 3, 20],
    ]) {
      for (const log of [false, true]) {
        const got = an.softmax(x, { axis, log });
        for (let start = 0; start < 60; start++) {
          if (Math.floor(start / inner) % n !== 0) continue;
          const line = Array.from({ length: n }, (_, i) => x.data[start + i * inner]);
          const mine = Float32Array.from({ length: n }, (_, i) => got[start + i * inner]);
          close(mine, reference.softmax(line, log), 2e-6, `axis ${axis}`);
        }
      }
    }
    const masked = Float32Array.of(-Infinity, -Infinity);
    assert.deepEqual([...an.softmax(masked)], [NaN, NaN]);
    assert.deepEqual(an.softmax(masked, { maskedRow: 'zero' }), Float32Array.of(0, 0));
    assert.deepEqual(an.softmax(masked, { maskedRow: 'zero', log: true }), masked);
  });

  check('row norms over any axes', () => {
    const shape = [2, 3, 4];
    const x = { data: randoms(24, 4, 3, 1), shape };
    const at = (i) => [Math.floor(i / 12), Math.floor(i / 4) % 3, i % 4];
    for (const axes of [[2], [-1], [1, 2], [2, 1], [0], [1], [0, 2], [2, 0], [0, 1, 2], [1, 2, 0], []]) {
      const positive = axes.map((axis) => (axis + 3) % 3);
      const sizes = positive.map((axis) => shape[axis]);
      const d = sizes.reduce((a, b) => a * b, 1);
      const weight = { data: randoms(d, 5), shape: sizes };
      const bias = randoms(d, 6);
      const [rows, places] = [new Map(), new Map()];
      for (let i = 0; i < 24; i++) {
        const where = at(i);
        const row = where.map((v, axis) => (positive.includes(axis) ? 0 : v)).join();
        const place = positive.reduce((p, axis) => p * shape[axis] + where[axis], 0);
        if (!rows.has(row)) rows.set(row, []);
        rows.get(row)[place] = x.data[i];
        places.set(i, { row, place });
      }
      for (const name of ['layer_norm', 'rms_norm', 'layer_norm_std', 'dyt']) {
        const got = an.norm(name, x, { axes, weight, bias, stats: true, ...(name === 'dyt' ? {} : { eps: 0.1 }) });
        const done = new Map([...rows].map(([key, row]) => [key, reference.rowNorms[name](row, 0.1, 0.5)]));
        const want = Array.from(x.data, (_, i) => {
          const { row, place } = places.get(i);
          return done.get(row).y[place] * weight.data[place] + bias[place];
        });
        close(got.y, want, 2e-6, `${name} over [${axes}]`);
        if (name === 'dyt') continue;
        close(
          got.mean,
          [...done.values()].map((r) => r.mean),
          2e-6,
          `${name} mean`,
        );
        close(
          got.rstd,
          [...done.values()].map((r) => r.rstd),
          1e-5,
          `${name} rstd`,
        );
      }
    }
  });

  scoped('statistics keep their axes with length 1', () => {
    const x = an.zeros([2, 3, 4]);
    assert.deepEqual(an.norm('layer_norm', x, { axes: [2, 0], stats: true }).mean.shape, [1, 3, 1]);
    assert.deepEqual(an.norm('layer_norm', x, { stats: true }).rstd.shape, [2, 3, 1]);
    assert.deepEqual(an.norm('batch_norm', x, { stats: true, channelAxis: 1 }).mean.shape, [3]);
    assert.deepEqual(an.norm('group_norm', x, { stats: true, groups: 2 }).mean.shape, [2, 2]);
    assert.deepEqual(an.norm('instance_norm', x, { stats: true }).rstd.shape, [2, 4]);
    const { sum, y, mean } = an.addNorm('layer_norm', x, x, { stats: true });
    assert.deepEqual(
      [sum.shape, y.shape, mean.shape],
      [
        [2, 3, 4],
        [2, 3, 4],
        [2, 3, 1],
      ],
    );
    assert.deepEqual(
      an.norm('layer_norm', an.tensor(Float32Array.of(3), []), { axes: [] }).toArray(),
      Float32Array.of(0),
    );
  });

  scoped('norm options: eps, weightOffset, alpha', () => {
    const x = randoms(6, 7, 2);
    const weight = randoms(6, 8);
    const raised = Float32Array.from(weight, (w) => w + 1);
    close(an.norm('rms_norm', x, { weight, weightOffset: 1 }), an.norm('rms_norm', x, { weight: raised }), 1e-6);
    same(an.norm('layer_norm', x), an.norm('layer_norm', x, { eps: 1e-5, weightOffset: 0 }));
    const [row] = rowsOf(x, 6);
    close(an.norm('rms_norm', x, { eps: 0 }), reference.rowNorms.rms_norm(row, 0).y, 1e-6);
    const dyt = (alpha) => reference.rowNorms.dyt(row, 0, alpha).y;
    close(an.norm('dyt', x), dyt(0.5), 1e-6);
    for (const alpha of [2, Float32Array.of(2), an.tensor(Float32Array.of(2))]) {
      close(an.norm('dyt', x, { alpha }), dyt(2), 1e-6);
    }
    const none = new Float32Array(6);
    close(an.addNorm('dyt', none, x, { alpha: 3, normAlpha: 2 }).y, dyt(2), 1e-6);
    same(an.norm('none', x), x);
  });

  scoped('batch, group and instance norm over any channel axis', () => {
    const shape = [2, 3, 4, 5];
    const x = { data: randoms(120, 9, 2, 1), shape };
    const where = (i) => [Math.floor(i / 60), Math.floor(i / 20) % 3, Math.floor(i / 5) % 4, i % 5];
    for (const channelAxis of [1, 2, 3, -1]) {
      const axis = (channelAxis + 4) % 4;
      const channels = shape[axis];
      const [weight, bias] = [randoms(channels, 10), randoms(channels, 11)];
      const expect = (keyOf) => {
        const groups = new Map();
        for (const [i, v] of x.data.entries()) groups.set(keyOf(where(i)), [...(groups.get(keyOf(where(i))) ?? []), v]);
        const moments = new Map([...groups].map(([key, values]) => [key, reference.moments(values)]));
        return Array.from(x.data, (v, i) => {
          const { mean, variance } = moments.get(keyOf(where(i)));
          const c = where(i)[axis];
          return ((v - mean) / Math.sqrt(variance + 1e-5)) * weight[c] + bias[c];
        });
      };
      const options = { channelAxis, weight, bias };
      close(
        an.norm('batch_norm', x, options),
        expect((w) => w[axis]),
        4e-6,
        'batch_norm',
      );
      close(
        an.norm('instance_norm', x, options),
        expect((w) => `${w[0]} ${w[axis]}`),
        4e-6,
        'instance_norm',
      );
      for (const groups of [1, channels]) {
        const want = expect((w) => `${w[0]} ${Math.floor((w[axis] * groups) / channels)}`);
        close(an.norm('group_norm', x, { ...options, groups }), want, 4e-6, `group_norm ${groups}`);
      }
    }
  });

  scoped('batch norm updates running statistics in place, and only in training', () => {
    const x = shaped([1, 10, 2, 20, 3, 60], [3, 2]);
    const moments = [
      [1, 2, 3],
      [10, 20, 60],
    ].map((channel) => reference.moments(channel));
    for (const [biasedRunningVar, factor] of [
      [false, 1.5],
      [true, 1],
    ]) {
      const arrays = () => [Float32Array.of(5, 5), Float32Array.of(2, 2)];
      const [runningMean, runningVar] = arrays();
      const holders = { runningMean: an.tensor(runningMean), runningVar: { data: runningVar, shape: [2] } };
      const options = { ...holders, momentum: 0.25, biasedRunningVar };
      an.norm('batch_norm', x, { ...options, training: true });
      close(
        holders.runningMean.toArray(),
        moments.map((m) => 0.75 * 5 + 0.25 * m.mean),
        1e-5,
      );
      close(
        runningVar,
        moments.map((m) => 0.75 * 2 + 0.25 * factor * m.variance),
        1e-4,
      );
      const [mean, variance] = [holders.runningMean.toArray(), Float32Array.from(runningVar)];
      const y = an.norm('batch_norm', x, options);
      close(
        y,
        Array.from(x.data, (v, i) => (v - mean[i % 2]) / Math.sqrt(variance[i % 2] + 1e-5)),
        1e-5,
      );
      same(holders.runningMean.toArray(), mean);
      same(runningVar, variance);
    }
    const empty = an.norm('batch_norm', { data: new Float32Array(0), shape: [0, 2] }, { stats: true });
    assert.deepEqual([empty.y.length, ...empty.mean, ...empty.rstd], [0, NaN, NaN, NaN, NaN]);
  });

  check('add, and addNorm as add and then norm, bit for bit', () => {
    const shape = [3, 4, 5];
    const x = { data: randoms(60, 12, 2), shape };
    const residual = { data: randoms(60, 13, 2), shape };
    close(
      an.add(x, residual, { alpha: -0.5 }),
      Array.from(x.data, (v, i) => -0.5 * v + residual.data[i]),
      1e-6,
    );
    for (const { name, kind } of an.norms) {
      for (const axes of kind === 'row' ? [[-1], [1], [2, 1], [0, 2]] : [undefined]) {
        const { sum, y, mean, rstd } = an.addNorm(name, x, residual, { axes, alpha: 0.75, stats: true });
        const plain = an.add(x, residual, { alpha: 0.75 });
        same(sum, plain, name);
        const wanted = an.norm(name, { data: plain, shape }, { axes, stats: true });
        same(y, wanted.y, name);
        same(mean, wanted.mean, name);
        same(rstd, wanted.rstd, name);
        assert.deepEqual(Object.keys(an.addNorm(name, x, residual)), ['sum', 'y']);
      }
    }
  });

  scoped('linear, in both layouts, with bias and activation', () => {
    for (const [rows, inSize, out] of [
      [1, 1, 1],
      [3, 5, 7],
      [2, 33, 19],
      [17, 64, 9],
    ]) {
      const x = { data: randoms(rows * inSize, 14), shape: [rows, inSize] };
      const weight = { data: randoms(out * inSize, 15), shape: [out, inSize] };
      const bias = randoms(out, 16);
      const want = reference.linear(rowsOf(x.data, inSize), rowsOf(weight.data, inSize), bias).flat();
      const y = an.linear(x, weight, { bias });
      close(y, want, 1e-5);
      const turned = reference.transpose(rowsOf(weight.data, inSize)).flat();
      same(an.linear(x, shaped(turned, [inSize, out]), { bias, layout: 'in_out' }), y);
      const silu = an.linear(an.tensor(x), weight, { bias, activation: 'swish', params: { beta: 2 } });
      assert.deepEqual(silu.shape, [rows, out]);
      close(
        silu.toArray(),
        want.map((v) => reference.activations.swish.f(v, 2)),
        1e-5,
      );
    }
    const weight = shaped([1, 2, 3, 4, 5, 6], [3, 2]);
    assert.deepEqual(an.linear(an.tensor(Float32Array.of(1, 1), [2]), weight).shape, [3]);
    assert.deepEqual(an.linear(an.zeros([2, 0, 2]), weight).shape, [2, 0, 3]);
    assert.deepEqual(an.linear(an.zeros([2, 3, 2]), weight).shape, [2, 3, 3]);
    const nothing = { data: new Float32Array(0), shape: [3, 0] };
    const onlyBias = an.linear(an.zeros([2, 0]), nothing, { bias: Float32Array.of(1, 2, 3) });
    assert.deepEqual(onlyBias.toArray(), Float32Array.of(1, 2, 3, 1, 2, 3));
    assert.deepEqual(an.linear(an.zeros([2, 0]), nothing).toArray(), new Float32Array(6));
  });

  check('scope disposes what was made in it and not returned', () => {
    const before = an.stats().live;
    const kept = an.scope(() => {
      const x = an.tensor(Float32Array.of(1, 2));
      an.block({ d_model: 2, d_ff: 2 });
      const inner = an.scope(() => ({
        deep: [an.activation('relu', x), new Map([['a', an.zeros([1])]])],
        rest: an.zeros([3]).size,
      }));
      assert.deepEqual(inner.deep[0].toArray(), Float32Array.of(1, 2));
      return { inner, again: inner.deep[0], self: null, module: an.ffn({ d_model: 2, d_ff: 2 }) };
    });
    assert.equal(an.stats().live, before + 3);
    kept.inner.deep[0].dispose();
    kept.inner.deep[1].get('a').dispose();
    kept.module.dispose();
    let seen;
    assert.throws(
      () =>
        an.scope(() => {
          seen = an.zeros([2]);
          throw new Error('mine');
        }),
      /^Error: mine$/,
    );
    assert.throws(() => seen.data, { code: 'DISPOSED' });
    assert.throws(() => an.scope(async () => an.zeros([2])), { code: 'INVALID_ARGUMENT' });
    assert.equal(
      an.scope(() => 5),
      5,
    );
    // Disposed by hand inside, and a cycle in what is returned.
    const cycle = an.scope(() => {
      an.zeros([1]).dispose();
      const o = {};
      o.o = o;
      return o;
    });
    assert.equal(cycle.o, cycle);
  });

  check('a module is reproducible from its seed, its weights and its state', () => {
    const config = { d_model: 6, d_ff: 10, gated: true, activation: 'silu', norm: 'layer_norm', placement: 'peri' };
    const x = shaped(randoms(24, 17), [2, 2, 6]);
    const [a, b, other] = [an.block(config, { seed: 5 }), an.block(config, { seed: 5 }), an.block(config, { seed: 6 })];
    const y = a.forward(x);
    same(b.forward(x), y);
    assert.notDeepEqual(other.forward(x), y);
    const state = a.state();
    assert.deepEqual(Object.keys(state), [
      'gate',
      'gate_bias',
      'up',
      'up_bias',
      'down',
      'down_bias',
      'norm_weight',
      'norm_bias',
      'norm2_weight',
      'norm2_bias',
    ]);
    assert.deepEqual([state.up.shape, state.down.shape, state.down_bias.shape], [[10, 6], [6, 10], [6]]);
    assert.deepEqual(a.state(), state);
    assert.deepEqual(
      Object.fromEntries(Object.entries(a.parameters).map(([n, t]) => [n, { shape: [...t.shape], data: t.toArray() }])),
      state,
    );
    const c = an.block(config, { weights: state });
    same(c.forward(x), y);
    assert.deepEqual(c.state(), state);
    const inOut = Object.fromEntries(
      Object.entries(state).map(([name, { shape, data }]) => [
        name,
        shape.length === 2 ? shaped(reference.transpose(rowsOf(data, shape[1])).flat(), [...shape].reverse()) : data,
      ]),
    );
    const d = an.block(config, { weights: inOut, layout: 'in_out' });
    same(d.forward(x), y);
    assert.deepEqual(d.state(), state);
    other.loadState(state);
    same(other.forward(x), y);
    // From another module's tensors.
    const e = an.block(config, { weights: other.parameters });
    same(e.forward(x), y);
    e.loadState(b.parameters);
    same(e.forward(x), y);
    for (const module of [a, b, c, d, e, other]) module.dispose();
  });

  check('loadState: parameters may change places', () => {
    const ffn = an.ffn({ d_model: 2, d_ff: 3, gated: true }, { seed: 5 });
    const { up, gate } = ffn.state();
    ffn.loadState({ ...ffn.state(), up: ffn.parameters.gate, gate: ffn.parameters.up });
    assert.deepEqual([ffn.state().up, ffn.state().gate], [gate, up]);
    ffn.loadState({ ...ffn.state(), up: ffn.parameters.gate.data, gate: ffn.parameters.up.data });
    assert.deepEqual([ffn.state().up, ffn.state().gate], [up, gate]);
    ffn.dispose();
  });

  check('parameters: set() is seen by the next forward, a write through data after touch()', () => {
    const ffn = an.ffn({ d_model: 2, d_ff: 3, activation: 'identity' });
    assert.ok(ffn instanceof Ffn && !(ffn instanceof Block));
    const x = Float32Array.of(1, 1);
    const { up, up_bias, down, down_bias } = ffn.parameters;
    up.set(new Float32Array(6).fill(1));
    up_bias.set(new Float32Array(3));
    down.set({ data: new Float32Array(6).fill(1), shape: [2, 3] });
    down_bias.set(Float32Array.of(10, 20));
    assert.deepEqual(ffn.forward(x), Float32Array.of(16, 26));
    down_bias.data[0] = 100;
    ffn.touch();
    assert.deepEqual(ffn.forward(x), Float32Array.of(106, 26));
    assert.equal(ffn.parameters.up, up);
    assert.throws(() => up.dispose(), { code: 'INVALID_ARGUMENT' });
    assert.ok(Object.isFrozen(ffn.parameters));
    ffn.dispose();
    ffn.dispose();
    assert.throws(() => up.data, { code: 'DISPOSED' });
    assert.throws(() => ffn.forward(x), { code: 'DISPOSED' });
    assert.throws(() => ffn.parameters, { code: 'DISPOSED' });
    assert.throws(() => ffn.state(), { code: 'DISPOSED' });
  });

  check('the FFN is two linear layers and an activation or a gate', () => {
    const x = shaped(randoms(40, 18), [5, 8]);
    for (const gated of [false, true]) {
      const ffn = an.ffn({ d_model: 8, d_ff: 13, activation: 'gelu', gated }, { seed: 3 });
      const s = Object.fromEntries(
        Object.entries(ffn.state()).map(([name, { shape, data }]) => [
          name,
          shape.length === 2 ? rowsOf(data, shape[1]) : data,
        ]),
      );
      const rows = rowsOf(x.data, 8);
      const up = reference.linear(rows, s.up, s.up_bias);
      const gelu = reference.activations.gelu_erf.f;
      const hidden = gated
        ? reference.linear(rows, s.gate, s.gate_bias).map((row, i) => row.map((v, j) => gelu(v) * up[i][j]))
        : reference.map(up, (v) => gelu(v));
      close(ffn.forward(x), reference.linear(hidden, s.down, s.down_bias).flat(), 2e-6);
      ffn.dispose();
    }
  });

  check('configurations: names, aliases, auto and what it stands for', () => {
    const block = an.block({
      d_model: 8,
      activation: 'gelu_new',
      norm: 'rms_norm',
      eps: null,
      placement: 'deepnorm',
      depth: 16,
      alpha: undefined,
    });
    assert.ok(block instanceof Block && !(block instanceof Ffn));
    const { config } = block;
    assert.ok(Object.isFrozen(config));
    assert.deepEqual(Object.keys(config), an.fields.filter((field) => field.group !== 'stack').map(String));
    const { d_ff, activation, eps, affine, alpha, beta, bias, gated } = config;
    // Wang et al. 2022: (depth)^(1/4) for one sublayer a block, beta (4 depth)^(-1/4); config.def's help says so.
    assert.deepEqual(
      { d_ff, activation, eps, affine, alpha, bias, gated },
      {
        d_ff: 32,
        activation: 'gelu_tanh',
        eps: 1e-6,
        affine: 'weight',
        alpha: 2,
        bias: true,
        gated: false,
      },
    );
    assert.ok(Math.abs(beta - 64 ** -0.25) < 1e-15);
    const again = an.block(config);
    assert.deepEqual(again.config, config);
    const ffn = an.ffn({ d_model: 8 });
    assert.deepEqual(Object.keys(ffn.config), [
      'd_model',
      'd_ff',
      'activation',
      'activation_p0',
      'activation_p1',
      'gated',
      'bias',
      'init',
      'init_std',
      'dropout',
    ]);
    assert.deepEqual(Object.keys(ffn.parameters), ['up', 'up_bias', 'down', 'down_bias']);
    for (const module of [block, again, ffn]) module.dispose();
  });

  check("costs: BERT-base's FFN has 4718592 weights", () => {
    const ffn = an.ffn({ d_model: 768, d_ff: 3072, bias: false });
    const { parameters, flops, matmulFlops, bytes } = ffn.cost(10);
    assert.equal(parameters, 4718592);
    assert.equal(matmulFlops, 2 * 4718592 * 10);
    assert.ok(flops > matmulFlops && flops < 1.01 * matmulFlops);
    assert.equal(bytes, 4 * (4718592 + 2 * 768 * 10));
    assert.equal(ffn.cost(0).flops, 0);
    // A module that only runs has its parameters once: packed, which may pad them a little.
    assert.ok(an.stats().bytes < 1.05 * 4 * 4718592);
    ffn.dispose();
  });

  scoped('forward keeps the shape for every rank and number of rows', () => {
    const block = an.block({ d_model: 4, d_ff: 8 }, { seed: 1 });
    const data = randoms(4 * 130, 19);
    const single = Array.from({ length: 130 }, (_, i) => block.forward(data.subarray(4 * i, 4 * i + 4)));
    // Up and down, so that a workspace made for few rows would be found too small for many.
    for (const rows of [1, 64, 3, 128, 2, 130, 1]) {
      for (const shape of [
        [rows, 4],
        [1, rows, 4],
        [rows, 1, 4],
      ]) {
        const y = block.forward(an.tensor(data.subarray(0, rows * 4), shape));
        assert.deepEqual(y.shape, shape);
        for (let i = 0; i < rows; i++) same(y.toArray().subarray(4 * i, 4 * i + 4), single[i]);
      }
    }
    for (const shape of [
      [0, 4],
      [2, 0, 4],
      [0, 3, 4],
    ])
      assert.deepEqual(block.forward(an.zeros(shape)).shape, shape);
  });

  scoped('batch and sequence matter to the norms that go over the length', () => {
    const data = randoms(24, 20, 2);
    const run = (norm, shape) => {
      const block = an.block(
        { d_model: 4, d_ff: 8, norm, placement: 'pre', groups: norm === 'group_norm' ? 2 : 1 },
        { seed: 2 },
      );
      return block.forward({ data, shape }, { train: true });
    };
    for (const norm of ['instance_norm', 'group_norm']) {
      assert.notDeepEqual(run(norm, [6, 4]), run(norm, [2, 3, 4]));
      const halves = [data.subarray(0, 12), data.subarray(12)].map((half) => {
        const block = an.block({ d_model: 4, d_ff: 8, norm, groups: norm === 'group_norm' ? 2 : 1 }, { seed: 2 });
        return block.forward({ data: half, shape: [3, 4] });
      });
      same(run(norm, [2, 3, 4]), Float32Array.from([...halves[0], ...halves[1]]), norm);
    }
    same(run('batch_norm', [6, 4]), run('batch_norm', [2, 3, 4]));
  });

  scoped('batch_norm in a block: training updates the buffers, state() has them', () => {
    const config = { d_model: 2, d_ff: 4, norm: 'batch_norm', momentum: 0.5 };
    const x = shaped([1, 10, 3, 30, 5, 80], [3, 2]);
    const want = [
      [1, 3, 5],
      [10, 30, 80],
    ].map((channel) => reference.moments(channel));
    const means = want.map(({ mean }) => 0.5 * mean);
    const variances = want.map(({ variance }) => 0.5 + 0.5 * 1.5 * variance);
    for (const early of [true, false]) {
      const block = an.block(config, { seed: 4 });
      const buffers = early ? block.buffers : null;
      const inference = block.forward(x);
      same(block.forward(x), inference);
      block.forward(x, { train: true });
      const state = block.state();
      close(state.norm_running_mean.data, means, 1e-5);
      close(state.norm_running_var.data, variances, 1e-3);
      same((buffers ?? block.buffers).norm_running_mean.toArray(), state.norm_running_mean.data);
      assert.deepEqual(Object.keys(block.buffers), ['norm_running_mean', 'norm_running_var']);
      assert.ok(!('norm_running_mean' in block.parameters));
      const after = block.forward(x);
      assert.notDeepEqual(after, inference);
      // Packing everything anew must not bring the old statistics back.
      block.touch();
      same(block.forward(x), after);
      same(an.block(config, { weights: state }).forward(x), after);
    }
  });

  test(`B34 ${variant}: instances are independent, and dispose ends one`, async () => {
    const [one, two] = await Promise.all([load({ variant }), load({ variant })]);
    const [a, b] = [one.tensor(Float32Array.of(1)), two.tensor(Float32Array.of(2))];
    const block = one.block({ d_model: 2, d_ff: 2 });
    assert.equal(one.stats().live, 2);
    assert.throws(() => two.activation('relu', a), { code: 'WRONG_INSTANCE', message: /^x: / });
    assert.throws(() => two.add(b, a), { code: 'WRONG_INSTANCE', message: /^y: / });
    one.dispose();
    one.dispose();
    assert.deepEqual(one.stats(), { bytes: 0, peak: one.stats().peak, live: 0, collected: 0, memory: 0 });
    for (const use of [
      () => a.data,
      () => one.zeros([1]),
      () => block.forward(Float32Array.of(1, 2)),
      () => one.selfTest(),
      () => block.parameters,
    ]) {
      assert.throws(use, (error) => error instanceof AddnormError && error.code === 'DISPOSED');
    }
    a.dispose();
    block.dispose();
    assert.equal(one.stats().live, 0);
    assert.equal(one.activations.length, two.activations.length);
    assert.deepEqual(b.toArray(), Float32Array.of(2));
    two[Symbol.dispose]();
  });
}

test('the self-test expects what the references give', async () => {
  const { cases } = await import(new URL('self-test.js', libURL).href);
  const wanted = expected();
  assert.deepEqual(
    cases.map(([name]) => name),
    Object.keys(wanted),
  );
  for (const [name, sum] of cases) close([sum], [wanted[name]], 1e-8 * Math.abs(wanted[name]), name);
});

test('objects have tags of their own, so that no framework puts a Proxy around them', async () => {
  // Vue's reactive() takes what is tagged Object; through its Proxy private fields cannot be read.
  const an = await load();
  const block = an.block({ d_model: 4 });
  const tags = [an, block, an.ffn({ d_model: 4 }), an.optimizer('sgd', block), an.zeros([1])].map((value) =>
    Object.prototype.toString.call(value),
  );
  assert.deepEqual(tags, [
    '[object Addnorm]',
    ...['Module', 'Module', 'Optimizer', 'Tensor'].map((tag) => `[object ${tag}]`),
  ]);
  an.dispose();
});
