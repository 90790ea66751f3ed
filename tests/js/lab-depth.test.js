// The Depth panel without its page: what runs in a configuration's place, what the run sends, the curves over seeds and
// what is predicted, the figures and what is said of them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describe } from '../../web/demo/compute.js';
import { around } from '../../web/demo/format.js';
import * as curves from '../../web/demo/panels/depth/curves.js';
import { depthJob, probeKey, seedOf } from '../../web/demo/panels/depth/job.js';
import { depthRun } from '../../web/demo/panels/depth/run.js';
import { fitted, MAX_WEIGHTS, MAX_WORK, tokensWithin } from '../../web/demo/panels/depth/sizes.js';
import { MATRICES, QUANTITIES } from '../../web/demo/panels/depth/state.js';
import { courseOf, figuresOf, lessons, noteKey, wiringOf } from '../../web/demo/panels/depth/summary.js';
import { tableOfCurves } from '../../web/demo/panels/depth/table.js';
import { familyOf, stackLike } from '../../web/demo/panels/depth/weights.js';
import { fieldsOf, PRESETS } from '../../web/demo/presets.js';
import { toCsv } from '../../web/demo/shell/export/csv.js';
import { initialState } from '../../web/demo/state.js';
import en from '../../web/demo/texts/en.js';
import zh from '../../web/demo/texts/zh.js';
import { instance } from './shared.js';

const an = await instance('simd');
const preset = (id, values = {}) => ({ name: id, preset: id, weights: '', values });

function jobOf(patch, configs) {
  const state = { ...initialState(), depthSeeds: 2, depthBlocks: 4, depthWidth: 16, ...patch };
  if (configs) state.configs = configs;
  return depthJob(state, { configs: state.configs.map((config) => ({ fields: fieldsOf(config) })) });
}

/** What the run leaves on the page, message after message, and how often it has let others in. */
async function run(job, { breathe = async () => {} } = {}) {
  const messages = [];
  let breaths = 0;
  await depthRun(job, {
    an,
    breathe: async () => {
      breaths++;
      await breathe(breaths);
    },
    progress() {},
    send: (patch) => messages.push(structuredClone(patch)),
  });
  const value = Object.assign({}, ...messages);
  return { value, messages, breaths, entries: curves.collected(value) };
}

const near = (got, want, tolerance, what) =>
  assert.ok(Math.abs(got - want) <= tolerance * Math.abs(want), `${what}: got ${got}, expected ${want}`);

// ---- What runs in a configuration's place

const job = (more = {}) => ({ depth: 24, width: 64, residual: 'own', mixing: 'own', ...more });
const fit = (fields, more) => fitted(fields, job(more), an.fields);

test('a wide block runs narrower, in proportion; a small one as it is', () => {
  const llama = fit(fieldsOf(preset('llama2_7b')));
  assert.deepEqual([llama.d_model, llama.d_ff], [64, Math.round((64 * 11008) / 4096)]);
  assert.deepEqual(llama.full, { d_model: 4096, d_ff: 11008 });
  const { init_std } = fieldsOf(preset('llama2_7b'));
  near(llama.config.init_std, init_std * 8, 1e-12, 'pre-activations of the same variance');
  assert.ok(llama.rescaled);
  const small = fit({ d_model: 10, d_ff: 7, init: 'normal', init_std: 0.1, alpha: 3, placement: 'deepnorm' });
  assert.deepEqual([small.d_model, small.d_ff, small.config.init_std, small.rescaled], [10, 7, 0.1, false]);
  assert.equal(small.config.alpha, 3);
  assert.equal(fit({ d_model: 128 }).d_ff, 256, 'four times, as AUTO has it');
});

test('pre-activations keep their variance when a block gets narrower', () => {
  for (const { id } of PRESETS) {
    const own = fieldsOf(preset(id));
    const { layer, ...whole } = { ...own, dropout: 0, residual_dropout: 0, depth: 24 };
    const [full, narrow] = [whole, fit(own).config].map((config) => an.theory(config).moments);
    // Biases of PyTorch's kind weigh more in a narrow layer: 1 / (3 d) beside 1 / 3.
    near(narrow.c, full.c, 0.05, `${id}, c`);
    near(narrow.cPrime, full.cPrime, 0.05, `${id}, c'`);
  }
});

test('init_std is raised no further than its field goes; one that is out of range stays as it is', () => {
  const std = (init_std) => fit({ d_model: 768, init: 'normal', init_std });
  const { max } = an.fields.find(({ name }) => name === 'init_std');
  assert.deepEqual([std(max).config.init_std, std(max).held], [max, true]);
  assert.equal(std(1).held, false);
  for (const own of [2 * max, -1]) assert.deepEqual([std(own).config.init_std, std(own).held], [own, false]);
  an.stack(std(max).config, { seed: 1 }).dispose();
});

test('groups and heads divide the narrower width; what is wrong stays wrong', () => {
  assert.equal(fit({ d_model: 96, norm: 'group_norm', groups: 12 }).config.groups, 8);
  assert.equal(fit({ d_model: 96, norm: 'group_norm', groups: 5 }, { width: 50 }).config.groups, 5);
  assert.equal(fit({ d_model: 64, norm: 'group_norm', groups: 5 }).config.groups, 5);
  const attention = { d_model: 512, mixing: 'attention', heads: 16 };
  assert.equal(fit(attention).config.heads, 2, 'heads of 32');
  assert.equal(fit(attention, { width: 8 }).config.heads, 1);
  for (const width of [8, 13, 64, 256]) {
    const { config } = fit({ ...attention, norm: 'group_norm', groups: 32 }, { width, depth: 1 });
    an.stack(config, { seed: 1 }).dispose();
  }
});

test('depth and switches are the panel’s; what acts in training or at the ends is left out', () => {
  const own = {
    d_model: 8,
    depth: 3,
    layer: 5,
    residual: false,
    mixing: 'attention',
    dropout: 0.5,
    d_in: 4,
    positions: 9,
  };
  const { config } = fit({ ...own, final_norm: false }, { depth: 7 });
  assert.deepEqual([config.depth, config.residual, config.mixing, config.final_norm], [7, false, 'attention', false]);
  for (const name of ['layer', 'dropout', 'd_in', 'd_out', 'positions']) assert.ok(!(name in config), name);
  const switched = fit(own, { residual: 'on', mixing: 'mean' }).config;
  assert.deepEqual([switched.residual, switched.mixing], [true, 'mean']);
  assert.equal(fit(own, { residual: 'off', mixing: 'none' }).config.mixing, 'none');
});

test('no stack has more weights than the limit, whatever the fields', () => {
  for (const d_model of [1, 7, 768, 65536])
    for (const d_ff of [1, 300, 262144])
      for (const mixing of ['none', 'attention'])
        for (const depth of [1, 24, 96]) {
          const { weights, ...sizes } = fit({ d_model, d_ff, gated: true }, { width: 256, depth, mixing });
          assert.ok(sizes.d_model >= 1 && sizes.d_ff >= 1);
          if (sizes.d_model > 1) assert.ok(weights <= 1.05 * MAX_WEIGHTS, `${d_model} ${d_ff} ${depth}: ${weights}`);
        }
});

test('one pass has a bound: fewer sequences, then shorter ones, the same for all', () => {
  const tokens = (asked, ...stacks) => tokensWithin(asked, stacks);
  const most = { sequences: 64, length: 128 };
  const wide = fit({ d_model: 512 }, { depth: 96, width: 256 });
  assert.deepEqual(tokens({ sequences: 2, length: 16 }, fit({ d_model: 128 })), { sequences: 2, length: 16 });
  const few = tokens(most, fit({ d_model: 128 }));
  assert.ok(few.length === 128 && few.sequences > 1 && few.sequences < 64, JSON.stringify(few));
  assert.deepEqual(tokens(most, fit({ d_model: 128 }), wide), tokens(most, wide));
  // A damaged link's configuration is refused by itself; the others get their tokens.
  for (const damaged of [
    { mixing: 'zz', d_model: -5 },
    { d_model: 0 },
    { d_ff: -1 },
    { d_model: 0, mixing: 'attention' },
  ]) {
    assert.deepEqual(tokens(most, fit({ d_model: 16 }), fit(damaged)), tokens(most, fit({ d_model: 16 })));
    assert.equal(fit(damaged).config.d_model, Math.min(64, damaged.d_model ?? 64), JSON.stringify(damaged));
  }
  const slow = tokensWithin(most, [fit({ d_model: 128 })], 'scalar');
  assert.ok(slow.sequences < few.sequences, 'fewer yet where a pass takes longer');
  const flat = fit({ d_model: 1, d_ff: 262144 }, { depth: 96 });
  assert.deepEqual(tokens(most, flat), { sequences: 1, length: 1 }, 'more weights than the limit has operations');
  for (const mixing of ['none', 'attention'])
    for (const width of [8, 64, 256])
      for (const depth of [1, 24, 96]) {
        const stack = fit({ d_model: 768, gated: true }, { width, depth, mixing });
        const { sequences, length } = tokens(most, stack);
        assert.ok(sequences >= 1 && length >= 1);
        // Two operations a weight and token, as many again twice on the way back.
        assert.ok(6 * stack.weights * sequences * length <= MAX_WORK, `${width} ${depth}: ${sequences} × ${length}`);
      }
});

// ---- The run

test('fewer tokens than asked for: the page is told both', async () => {
  const { value } = await run(
    jobOf({ depthBlocks: 48, depthWidth: 64, depthSeeds: 1, depthSequences: 64, depthLength: 128 }, [
      preset('pre_norm'),
    ]),
  );
  const { sequences, length, asked } = value.job;
  assert.deepEqual(asked, { sequences: 64, length: 128 });
  assert.ok(sequences < 64 && length === 128);
  for (const { depth } of [en, zh])
    assert.match(depth.fewerTokens(sequences * length, 8192), new RegExp(`${sequences * length}.*8192`));
});

test('figures are those of the package, for an output gradient of norm 1', async () => {
  const asked = jobOf({ seed: 5, depthMixing: 'mean' });
  const { entries, value } = await run(asked);
  assert.equal(entries.length, 2);
  assert.equal(seedOf(asked, 1), 6);
  const shape = [asked.sequences, asked.length, 16];
  const norm = (values) => Math.hypot(...values);
  for (const { config, probes, index } of entries) {
    for (const [n, probe] of probes.entries()) {
      const seed = 5 + n;
      const x = an.random(shape, { seed, stream: 1001 });
      const dy = an.random(shape, { seed, stream: 1002 });
      const { d_model, d_ff } = { d_model: 16, d_ff: 64 };
      const own = { d_model, d_ff, depth: 4, init: 'xavier_normal', mixing: 'mean', placement: ['post', 'pre'][index] };
      assert.deepEqual([config.d_model, config.d_ff, config.placement], [16, 64, own.placement]);
      const want = an.stack(own, { seed }).probe(x, dy);
      const size = norm(dy.toArray());
      assert.deepEqual(
        probe.rms,
        [...want.sublayers, want.stream].map(({ rms }) => rms),
      );
      near(probe.gradient[3], want.sublayers[3].gradient / size, 1e-12, 'gradient of the stream');
      near(probe.weights.up[2], want.gradients['layers.2.up'] / size, 1e-12, 'gradient of up');
      assert.deepEqual(
        probe.ratio,
        want.sublayers.map(({ branchRatio }) => branchRatio),
      );
      assert.deepEqual(Object.keys(probe.weights), ['value', 'out', 'up', 'down']);
      assert.ok(probe.seconds > 0);
    }
  }
  assert.ok(value.finished);
});

test('stacks of one family have the weights that their seed gives each of them', () => {
  const base = { d_model: 8, d_ff: 12, depth: 3, bias: true };
  const equal = (a, b) => {
    const [want, got] = [a.state(), b.state()];
    assert.deepEqual(Object.keys(got), Object.keys(want));
    for (const [name, { data }] of Object.entries(want)) assert.deepEqual(got[name].data, data, name);
  };
  const { placements } = describe(an);
  for (const more of [
    { init: 'gpt2' },
    { norm: 'dyt', mixing: 'mean' },
    { norm: 'rms_norm', gated: true, weight_offset: 1 },
  ]) {
    const donor = { ...base, ...more, placement: 'pre', activation: 'relu' };
    const state = an.stack(donor, { seed: 3 }).state();
    const family = placements
      .map(({ name }) => ({ ...donor, placement: name, activation: 'silu', residual: false }))
      .filter((config) => familyOf(config) === familyOf(donor));
    assert.deepEqual(family.map(({ placement }) => placement).sort(), ['lns', 'output', 'post', 'pre']);
    for (const config of family) equal(an.stack(config, { seed: 3 }), stackLike(an, config, 3, state));
  }
  for (const other of [{ norm: 'rms_norm' }, { init: 'zero' }, { depth: 4 }, { mixing: 'mean' }, { placement: 'none' }])
    assert.notEqual(familyOf({ ...base, placement: 'pre', ...other }), familyOf({ ...base, placement: 'pre' }));
});

test('what has been computed is not computed again: of an edit only what it changes', async () => {
  const first = await run(jobOf({ seed: 31 }));
  const again = await run(jobOf({ seed: 31 }));
  assert.equal(again.messages.length, 1, 'all at once');
  assert.deepEqual(again.entries, first.entries);
  const edited = await run(jobOf({ seed: 31 }, [preset('post_norm'), preset('pre_norm', { activation: 'silu' })]));
  assert.equal(edited.value[probeKey(0, 1)].seconds, first.value[probeKey(0, 1)].seconds);
  assert.notEqual(edited.value[probeKey(1, 1)].seconds, first.value[probeKey(1, 1)].seconds);
  const more = await run(jobOf({ seed: 31, depthSeeds: 3 }));
  assert.deepEqual(more.entries[0].probes.slice(0, 2), first.entries[0].probes);
  // The next seed of the former run is the first of this one.
  const shifted = await run(jobOf({ seed: 32 }));
  assert.equal(shifted.value[probeKey(0, 0)].seconds, first.value[probeKey(0, 1)].seconds);
});

test('a cancelled run ends where it is and leaves no memory behind', async () => {
  const { live } = an.stats();
  const stop = new Error('cancelled');
  for (const at of [1, 2, 3]) {
    const cancelled = run(jobOf({ seed: 70 + at }), {
      breathe: async (n) => {
        if (n === at) throw stop;
      },
    });
    await assert.rejects(cancelled, stop);
    assert.equal(an.stats().live, live);
  }
});

test('one that cannot run says why, the others run', async () => {
  const configs = [preset('post_norm'), preset('pre_norm', { d_model: 12, norm: 'group_norm', groups: 5 })];
  const { entries } = await run(jobOf({}, configs));
  assert.equal(entries[0].error, undefined);
  assert.equal(entries[0].probes.filter(Boolean).length, 2);
  assert.equal(entries[1].error.code, 'INVALID_ARGUMENT');
  assert.match(entries[1].error.message, /groups/);
  assert.equal(entries[1].probes.filter(Boolean).length, 0);
});

// ---- Curves

const what = (show, more = {}) => ({ show, matrix: 'down', sublayer: 'ffn', ...more });

test('every quantity has its places: the stream between sublayers, their deeds behind them', async () => {
  const { entries } = await run(jobOf({ depthMixing: 'mean' }));
  const [{ config, probes }] = entries;
  const places = (of) => curves.placesOf(of, config);
  assert.deepEqual(places(what('rms')), [0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4]);
  assert.deepEqual(places(what('weights')), [1, 2, 3, 4]);
  assert.deepEqual(places(what('weights', { matrix: 'out' })), [0.5, 1.5, 2.5, 3.5]);
  assert.deepEqual(places(what('ratio', { sublayer: 'mixing' })), [0.5, 1.5, 2.5, 3.5]);
  assert.deepEqual(places(what('dead', { sublayer: 'mixing' })), [1, 2, 3, 4]);
  const [probe] = probes;
  assert.deepEqual(
    curves.valuesOf(what('cosine', { sublayer: 'mixing' }), probe, config),
    [0, 2, 4, 6].map((k) => probe.cosine[k]),
  );
  assert.deepEqual(
    curves.valuesOf(what('ratio'), probe, config),
    [1, 3, 5, 7].map((k) => probe.ratio[k]),
  );
  for (const show of QUANTITIES)
    assert.equal(curves.valuesOf(what(show), probe, config).length, places(what(show)).length, show);
  const plain = (await run(jobOf({}))).entries[0];
  assert.deepEqual(curves.placesOf(what('gradient'), plain.config), [0, 1, 2, 3, 4]);
  assert.equal(curves.valuesOf(what('ratio', { sublayer: 'mixing' }), plain.probes[0], plain.config), undefined);
  assert.deepEqual(curves.axisOf([plain, entries[0]]), [0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4]);
  const curve = curves.curveOf(plain, what('weights'), curves.axisOf([plain, entries[0]]));
  assert.deepEqual(
    curve.median.map((value) => value !== null),
    [0, 0, 1, 0, 1, 0, 1, 0, 1].map(Boolean),
  );
});

/** An entry whose probes have these streams. */
const made = (...rms) => ({
  index: 0,
  config: { depth: rms[0].length - 1, mixing: 'none' },
  probes: rms.map((list) => ({
    rms: list,
    gradient: list,
    nonFinite: list.map((value) => Number(!Number.isFinite(value))),
  })),
});

test('medians and bands over the seeds, place by place', () => {
  const entry = made([1, 4], [1, 1], [1, 2], [1, 3], [1, 10]);
  const quartiles = curves.curveOf(entry, what('rms'), [0, 1]);
  assert.deepEqual(
    [quartiles.median, quartiles.low, quartiles.high],
    [
      [1, 3],
      [1, 2],
      [1, 4],
    ],
  );
  const range = curves.curveOf(entry, what('rms'), [0, 1], { band: 'range' });
  assert.deepEqual([range.median, range.low, range.high, range.count], [[1, 3], [1, 1], [1, 10], 5]);
  assert.equal(range.predicted, null);
});

test('relative to A: ratios seed by seed, differences of cosines; A itself is 1', () => {
  const a = made([1, 2], [1, 4], [1, 8]);
  const b = made([2, 2], [2, 8], [0, 24]);
  a.theory = { supported: true, rms: [1, 4] };
  b.theory = { supported: true, rms: [2, 6] };
  const relative = (entry) => curves.curveOf(entry, what('rms'), [0, 1], { reference: a });
  assert.deepEqual(relative(b).median, [2, 2]);
  assert.deepEqual(relative(b).predicted, [2, 1.5]);
  assert.deepEqual(
    [relative(a).median, relative(a).low, relative(a).high],
    [
      [1, 1],
      [1, 1],
      [1, 1],
    ],
  );
  assert.ok(!curves.isScaled('cosine') && !curves.isScaled('dead'));
  const shifted = { config: a.config, probes: [{ cosine: [0.5] }] };
  const other = { config: a.config, probes: [{ cosine: [0.75] }] };
  const difference = curves.curveOf({ ...other, index: 1 }, what('cosine'), [0, 1], { reference: shifted });
  assert.deepEqual(difference.median, [null, 0.25]);
});

test('a picture’s CSV: every cell is what the package gives for its column, with all digits', async () => {
  const seeds = [5, 6, 7];
  const asked = jobOf({ seed: 5, depthSeeds: 3 });
  const { entries } = await run(asked);
  const sources = ['post', 'pre'].map((placement) => {
    const own = { d_model: 16, d_ff: 64, depth: 4, init: 'xavier_normal', placement };
    const probes = seeds.map((seed) =>
      an.scope(() => {
        const [x, dy] = [1001, 1002].map((stream) => an.random([asked.sequences, asked.length, 16], { seed, stream }));
        const { sublayers, stream } = an.stack(own, { seed }).probe(x, dy);
        return { rms: [...sublayers, stream].map(({ rms }) => rms), cosine: sublayers.map(({ cosine }) => cosine) };
      }),
    );
    return { probes, predicted: an.theory(own, { length: asked.length }).stream.map(Math.sqrt) };
  });
  const [a] = sources;
  // Of three values the quartiles lie halfway between neighbours.
  const spreadOf = (band, values) => {
    const [least, middle, most] = values.toSorted((p, q) => p - q);
    return band === 'range' ? [middle, least, most] : [middle, (least + middle) / 2, (middle + most) / 2];
  };
  const drawnNow = (show, reference, band) =>
    entries.map((entry) => ({
      index: entry.index,
      ...curves.curveOf(entry, what(show), [0, 1, 2, 3, 4], { reference, band }),
    }));
  for (const [relation, show, band, layers, heads] of [
    [null, 'rms', 'quartiles', [0, 1, 2, 3, 4], ['Post', 'lower quartile', 'upper quartile', 'predicted']],
    ['scaled', 'rms', 'range', [0, 1, 2, 3, 4], ['Post ÷ A', 'min ÷ A', 'max ÷ A', 'predicted ÷ A']],
    [null, 'cosine', 'quartiles', [1, 2, 3, 4], ['Post', 'lower quartile', 'upper quartile']],
    ['shifted', 'cosine', 'range', [1, 2, 3, 4], ['Post - A', 'min - A', 'max - A']],
  ]) {
    const list = drawnNow(show, relation && entries[0], band);
    const look = { names: ['A Post', 'B Pre'], letters: 'AB', band, relation };
    const { head, rows } = tableOfCurves([0, 1, 2, 3, 4], list, look, en.depth);
    const [top, ...lines] = toCsv([head, ...rows])
      .slice(1)
      .trim()
      .split('\r\n');
    const own = (letter) => heads.map((text) => `${letter} ${text.replace('Post', letter === 'A' ? 'Post' : 'Pre')}`);
    assert.equal(top, ['block', ...own('A'), ...own('B')].join());
    assert.equal(lines.length, layers.length);
    for (const [k, layer] of layers.entries()) {
      const [at, ...cells] = lines[k].split(',').map(Number);
      assert.equal(at, layer);
      const expected = sources.flatMap(({ probes, predicted }) => {
        const values = probes.map((probe, n) => {
          const [value, reference] = [probe, a.probes[n]].map((of) => of[show][k]);
          return { scaled: value / reference, shifted: value - reference }[relation] ?? value;
        });
        const foreseen = relation ? predicted[k] / a.predicted[k] : predicted[k];
        return [...spreadOf(band, values), ...(show === 'rms' ? [foreseen] : [])];
      });
      assert.equal(cells.length, expected.length);
      for (const [c, value] of expected.entries())
        assert.ok(Math.abs(cells[c] - value) <= 1e-14, `${show} ${relation}, block ${at}, column ${c}: ${cells[c]}`);
    }
  }
});

test('where numbers end: the curve where half of the seeds do, the place named', async () => {
  const some = made([1, 2, Infinity], [1, 2, 3], [1, 2, 4]);
  assert.deepEqual(curves.curveOf(some, what('rms'), [0, 1, 2]).median, [1, 2, 3.5]);
  assert.equal(curves.curveOf(some, what('rms'), [0, 1, 2]).broken, false);
  const most = made([1, 2, Infinity], [1, 2, Number.NaN], [1, 2, 4]);
  const curve = curves.curveOf(most, what('rms'), [0, 1, 2]);
  assert.deepEqual([curve.median, curve.broken], [[1, 2, null], true]);
  assert.deepEqual(curves.brokenOf(most), { way: 'forward', layer: 2, sublayer: 'ffn', seeds: 2, of: 3 });
  assert.equal(curves.brokenOf(made([1, 2])), null);
  const back = made([1, 1, 1, 1]);
  back.probes[0].gradient = [Number.NaN, Infinity, 5, 1];
  assert.deepEqual(curves.brokenOf(back), { way: 'backward', layer: 2, sublayer: 'ffn', seeds: 1, of: 1 });

  // x², squared again in each block, leaves float32; the sublayer is the one whose output is not finite.
  const configs = [preset('pre_norm', { placement: 'none', activation: 'relu_squared', init_std: 1, init: 'normal' })];
  const { entries } = await run(jobOf({ depthBlocks: 12, depthMixing: 'mean' }, configs));
  const end = curves.brokenOf(entries[0]);
  const places = entries[0].probes[0].nonFinite.map((n) => n > 0);
  assert.equal(end.way, 'forward');
  const first = Math.min(...entries[0].probes.map(({ nonFinite }) => nonFinite.findIndex((n) => n > 0)));
  assert.equal(end.layer, Math.floor((first - 1) / 2) + 1);
  assert.equal(end.sublayer, (first - 1) % 2 === 0 ? 'mixing' : 'ffn');
  const [probe] = entries[0].probes;
  const stop = places.indexOf(true);
  for (const name of ['ratio', 'cosine', 'dead']) {
    assert.ok(Number.isFinite(probe[name][stop - 2]), name);
    assert.ok(probe[name].slice(stop - 1).every(Number.isNaN), name);
  }
});

// ---- The prediction

test('the prediction is in the measurement’s units: within the scatter of a wide stack', async () => {
  // Width 128, twelve seeds: docs/training.md has how far it may be off.
  const patch = { depthBlocks: 6, depthWidth: 128, depthSeeds: 12, depthMixing: 'mean' };
  const relu = { activation: 'relu', d_ff: 256 };
  const configs = [preset('post_norm', relu), preset('pre_norm', relu)];
  const { entries } = await run(jobOf(patch, configs));
  const axis = curves.axisOf(entries);
  for (const entry of entries) {
    for (const of of [
      what('rms'),
      what('gradient'),
      ...['up', 'down', 'value', 'out'].map((matrix) => what('weights', { matrix })),
    ]) {
      const { median, predicted } = curves.curveOf(entry, of, axis);
      assert.deepEqual(
        median.map((value) => value !== null),
        predicted.map((value) => value !== null),
      );
      for (const [i, value] of median.entries()) {
        if (value === null) continue;
        const where = `${entry.config.placement} ${of.show} ${of.matrix} at ${axis[i]}`;
        near(value, predicted[i], of.show === 'rms' ? 0.05 : 0.25, where);
      }
    }
  }
});

test('every note of the theory has its words in every language', () => {
  const base = { d_model: 16, depth: 2 };
  const keys = new Set();
  for (const more of [
    { mixing: 'mean' },
    { mixing: 'attention' },
    { mixing: 'mean', causal: true },
    { norm: 'dyt' },
    { norm: 'batch_norm' },
    { placement: 'none' },
  ]) {
    for (const note of an.theory({ ...base, ...more }, { length: 4 }).notes) {
      const key = noteKey(note);
      assert.ok(key, note);
      keys.add(key);
      for (const { depth } of [en, zh]) assert.ok(key === 'wide' || depth.theoryNotes[key], note);
    }
  }
  assert.equal(keys.size, 7);
});

// ---- Figures and what is said

test('figures: first by last seed by seed, the stream’s growth', () => {
  const entry = made([1, 2, 4], [2, 2, 16], [1, 3, 6]);
  for (const probe of entry.probes) {
    probe.weights = { down: probe.rms };
    probe.ratio = [0.5, probe.rms[2]];
  }
  entry.theory = { supported: true, rms: [1, 2, 5], weights: { down: [6, 4, 2] } };
  const got = figuresOf(entry, what('cosine'));
  assert.deepEqual([got.first.median, got.last.median, got.ratio.median], [1, 6, 1 / 6]);
  assert.deepEqual([got.growth.median, got.predicted, got.predictedGrowth, got.branch.median], [6, 3, 5, 6]);
  const without = figuresOf(entry, what('weights', { matrix: 'gate' }));
  assert.deepEqual([without.first, without.ratio, without.predicted], [null, null, null]);
  assert.equal(figuresOf(entry, what('gradient')).last.median, 6);
});

test('what is said follows what was measured', async () => {
  const told = async (patch, configs, selected = 1) => {
    const { entries } = await run(jobOf({ depthBlocks: 24, depthWidth: 32, depthSeeds: 4, ...patch }, configs));
    const figures = entries.map((entry) => figuresOf(entry, what('weights')));
    return lessons(entries, figures, selected, what('weights')).map(({ indices, wiring, course }) =>
      [indices.join(), wiring, course].join(' '),
    );
  };
  assert.deepEqual(await told({}), ['0 post flat', '1 pre grows']);
  assert.deepEqual(
    await told(
      {},
      ['post_norm', 'post_norm', 'deepnorm'].map((id) => preset(id)),
    ),
    ['0,1 post flat', '2 deepnorm flat'],
  );
  assert.deepEqual(await told({}, [preset('rezero')]), ['0 rezero zero']);
  assert.deepEqual(await told({ depthResidual: 'off' }), ['0,1 no_residual grows']);
  const sigmoid = { activation: 'sigmoid', init_std: 0.05, init: 'normal' };
  assert.deepEqual(await told({}, [preset('post_norm', sigmoid)]), ['0 post fades']);
  const overflow = { placement: 'none', activation: 'relu_squared' };
  assert.deepEqual(await told({}, [preset('pre_norm', overflow)]), ['0 none unknown']);
  assert.equal(courseOf({ ratio: null }), 'unknown');

  // Queries and keys have a reason of their own, and a source.
  const { entries } = await run(jobOf({ depthBlocks: 12, depthWidth: 32, depthSeeds: 4, depthMixing: 'attention' }));
  const query = what('weights', { matrix: 'query' });
  const figures = entries.map((entry) => figuresOf(entry, query));
  for (const { topic, course, source } of lessons(entries, figures, 0, query))
    assert.deepEqual([topic, course, source[0]], ['scores', 'grows', 'Noci et al. 2022']);
});

test('every wiring, course and matrix has words in every language', () => {
  const { placements, norms } = describe(an);
  const wirings = new Set(
    placements.flatMap(({ name: placement }) =>
      norms.flatMap(({ name: norm }) => [true, false].map((residual) => wiringOf({ placement, norm, residual }))),
    ),
  );
  for (const { depth } of [en, zh]) {
    for (const wiring of wirings) {
      assert.ok(depth.wirings[wiring], wiring);
      if (wiring === 'post')
        for (const course of ['flat', 'grows', 'fades']) {
          assert.ok(depth.because.post[course] && depth.because.postMean[course], course);
        }
      else assert.ok(depth.because[wiring]('2').length > 4, wiring);
    }
    assert.ok(depth.because.postAttention.fades && depth.because.scores());
    for (const matrix of MATRICES) assert.ok(depth.matrices[matrix] && depth.symbols[matrix], matrix);
    for (const show of QUANTITIES)
      for (const list of [depth.titles, depth.notes]) assert.ok(list[show]('W').length > 1, show);
  }
});

test('a figure with its spread', () => {
  const figure = (median, half, count = 5) => around({ median, half, count });
  assert.equal(figure(1.284, 0.0512), '1.28 ± 0.05');
  assert.equal(figure(12.84, 1.26), '12.8 ± 1.3');
  assert.equal(figure(0.104, 0.0003), '0.104 ± 0.0003');
  assert.equal(figure(1.284, 0.0512, 2), '1.28');
  assert.equal(figure(0, 0), '0');
  assert.equal(figure(1.5e-9, 1e-10), '1.50e−9');
});
