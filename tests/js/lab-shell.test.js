// The shell of Block Lab without a browser: tables as CSV, the page as a file and back, charts as SVG, the tour's stops and
// what they measure against formulas of this file.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Curves } from '../../web/demo/panels/training/curves.js';
import { planOf } from '../../web/demo/panels/training/plan.js';
import { Trainer } from '../../web/demo/panels/training/trainer.js';
import { fieldsOf, presetOf } from '../../web/demo/presets.js';
import { flag } from '../../web/demo/props.js';
import { toCsv } from '../../web/demo/shell/export/csv.js';
import { fromFile, ImportError, toFile } from '../../web/demo/shell/export/everything.js';
import { SvgContext, SvgPath } from '../../web/demo/shell/export/svg-context.js';
import tourEn from '../../web/demo/shell/tour/en.js';
import { MEASURES, measuredOf } from '../../web/demo/shell/tour/measures.js';
import { SOURCES } from '../../web/demo/shell/tour/sources.js';
import { shownOf, stateBeyond, stateOfStop } from '../../web/demo/shell/tour/stop-state.js';
import { FURTHER, STOPS } from '../../web/demo/shell/tour/stops.js';
import tourZh from '../../web/demo/shell/tour/zh.js';
import { decodeState, encodeState, initialState, PANELS, PROPS } from '../../web/demo/state.js';
import { instance } from './shared.js';

fc.configureGlobal({ seed: Number(process.env.ADDNORM_SEED ?? 20240607) });

// ---- State

test('every property has a key of its own in the link', () => {
  for (const part of ['name', 'key']) {
    const all = PROPS.map((prop) => prop[part]);
    assert.deepEqual(
      all.filter((one, i) => all.indexOf(one) !== i),
      [],
      part,
    );
  }
  assert.ok(PROPS.every(({ key }) => /^[\w.]+$/.test(key) && !['v', 'c'].includes(key)));
});

// ---- CSV

/** RFC 4180, by a reader of this test's own. */
function parseCsv(text) {
  assert.ok(text.startsWith('\ufeff'), 'the mark by which spreadsheets know UTF-8');
  const rows = [[]];
  const field = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/gy;
  field.lastIndex = 1;
  for (let found = field.exec(text); found; found = field.exec(text)) {
    rows.at(-1).push(found[1] === undefined ? found[2] : found[1].replaceAll('""', '"'));
    if (found[3] === '\r\n') rows.push([]);
    if (field.lastIndex === text.length) break;
  }
  assert.equal(field.lastIndex, text.length, 'all of it is fields');
  assert.deepEqual(rows.pop(), []);
  return rows;
}

test('a table comes out of its CSV as it went in', () => {
  const cell = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 12 }).filter((text) => !/[\u2212\u202f\u00a0–…]/.test(text)),
    fc.constantFrom('a,b', 'say "x"', 'two\nlines', '中文，逗号'),
  );
  const table = fc.tuple(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 5 })).chain(([rows, columns]) => {
    const row = fc.array(cell, { minLength: columns, maxLength: columns });
    return fc.array(row, { minLength: rows, maxLength: rows });
  });
  fc.assert(
    fc.property(table, (rows) => {
      const back = parseCsv(toCsv(rows));
      assert.deepEqual(
        back.map((cells) => cells.map((text) => text.replace(/^'(?=[=+@\t\r-])/, ''))),
        rows.map((cells) => cells.map((text) => text.trim())),
      );
    }),
  );
});

test('CSV: figures are numbers for a spreadsheet, and no text is a formula', () => {
  const cells = [
    '−3.20e−7',
    '12.5\u202f%',
    '65\u202f536',
    '41.2 ± 0.6\u202fms',
    '–',
    '…',
    1 / 3,
    '=1+1',
    '+x',
    '-2',
    '@a',
  ];
  const [row] = parseCsv(toCsv([cells]));
  const third = '0.3333333333333333';
  assert.deepEqual(row, ['-3.20e-7', '12.5%', '65536', '41.2 ± 0.6 ms', '', '', third, "'=1+1", "'+x", '-2', "'@a"]);
});

// ---- Everything

const page = (state, more = {}) => ({
  state,
  link: `https://example.org/#${encodeState(state)}`,
  date: '2026-01-02T03:04:05.000Z',
  version: '0.1.0',
  variant: 'simd',
  results: [
    { result: { output: { rms: 1.5, max: Number.POSITIVE_INFINITY } }, times: { simd: { median: 1e-3 } } },
    null,
  ],
  panels: { depth: { key: '1', value: { rms: Float64Array.of(1, Number.NaN) } } },
  input: null,
  ...more,
});

// Of a type that a panel has for itself its first value.
const anyOf = ({ type, initial }) => {
  const { options, several, min, max, whole } = type;
  if (several) return fc.subarray(options);
  if (options) return fc.constantFrom(...options);
  if (whole) return fc.integer({ min, max });
  if (max !== undefined) return fc.double({ min, max, noNaN: true }).map((value) => value + 0);
  return type === flag ? fc.boolean() : fc.constant(initial);
};

test('any state comes back from its file, with the input’s numbers', () => {
  const anyState = fc.record(
    Object.fromEntries(PROPS.filter(({ name }) => name !== 'selected').map((prop) => [prop.name, anyOf(prop)])),
    { noNullPrototype: true },
  );
  fc.assert(
    fc.property(anyState, (given) => {
      const state = { ...initialState(), ...given };
      assert.deepEqual(fromFile(toFile(page(state))).state, state);
    }),
  );
  const configs = stateOfStop(8).configs.map((config, i) => ({
    ...config,
    color: 5 - i,
    values: { eps: 1e-5, d_ff: null },
  }));
  const input = { name: 'x.npy', shape: [1, 3], data: Float32Array.of(1, Number.NaN, 0.1) };
  const back = fromFile(toFile(page({ ...initialState(), configs, selected: 2 }, { input })));
  assert.deepEqual(back, { state: { ...initialState(), configs, selected: 2 }, input });
});

test('the file has results with their units, version, variant and date', () => {
  const file = JSON.parse(toFile(page(initialState())));
  assert.deepEqual(
    [file.addnorm, file.variant, file.date, file.units.median],
    ['0.1.0', 'simd', '2026-01-02T03:04:05.000Z', 's (FLOP/s in peak, B/s in read)'],
  );
  assert.deepEqual(file.results[0], {
    name: 'Post-Norm',
    output: { rms: 1.5, max: 'Infinity' },
    times: { simd: { median: 1e-3 } },
    error: null,
  });
  assert.deepEqual(file.panels.depth.value.rms, [1, 'NaN']);
  assert.deepEqual(decodeState(new URL(file.link).hash), initialState());
});

test('a damaged file says why, whatever is wrong with it', () => {
  const text = toFile(page(initialState(), { input: { name: 'x', shape: [2], data: Float32Array.of(1, 2) } }));
  const refused = (given, code, detail) =>
    assert.throws(
      () => fromFile(given),
      (error) => error instanceof ImportError && error.code === code && (!detail || error.detail.name === detail),
      `${code}: ${given.slice(0, 40)}`,
    );
  for (let length = 0; length < text.trimEnd().length; length += 97) refused(text.slice(0, length), 'SYNTAX');
  const changed = (change) => {
    const file = JSON.parse(text);
    change(file);
    return JSON.stringify(file);
  };
  for (const other of ['[1, 2]', '{}', 'null', '"block-lab"', '{"format":"npy"}']) refused(other, 'FORMAT');
  refused(
    changed((file) => (file.formatVersion = 2)),
    'VERSION',
  );
  refused(
    changed((file) => delete file.formatVersion),
    'VERSION',
  );
  refused(
    changed((file) => delete file.state),
    'MISSING',
    'state',
  );
  refused(
    changed((file) => (file.state.configs = [])),
    'MISSING',
    'state.configs',
  );
  refused(
    changed((file) => (file.state.configs[1] = { name: 'x' })),
    'PROPERTY',
    'state.configs[1]',
  );
  refused(
    changed((file) => (file.state.configs[0].values.eps = [1])),
    'PROPERTY',
    'state.configs[0]',
  );
  for (const { name } of PROPS) {
    refused(
      changed((file) => (file.state[name] = { not: 'this' })),
      'PROPERTY',
      name,
    );
  }
  refused(
    changed((file) => (file.state.rows = 1e9)),
    'PROPERTY',
    'rows',
  );
  for (const version of [null, 0, 0.5, '1']) {
    refused(
      changed((file) => (file.formatVersion = version)),
      'VERSION',
    );
  }
  refused(
    changed((file) => (file.state.configs = Array(8).fill(file.state.configs[0]))),
    'PROPERTY',
    'state.configs.length',
  );
  for (const shape of [[-1, -2], [0.5, 4], ['2'], [2, 0]]) {
    refused(
      changed((file) => (file.input.shape = shape)),
      'INPUT',
    );
  }
  refused(
    changed((file) => file.input.data.pop()),
    'INPUT',
  );
  refused(
    changed((file) => (file.input.shape = 'wide')),
    'INPUT',
  );
});

test('any JSON gives a state or an ImportError', () => {
  const file = fc.record({
    format: fc.constant('block-lab'),
    formatVersion: fc.constant(1),
    state: fc.jsonValue(),
    input: fc.jsonValue(),
  });
  fc.assert(
    fc.property(fc.oneof(fc.json(), file.map(JSON.stringify)), (text) => {
      try {
        assert.deepEqual(Object.keys(fromFile(text)), ['state', 'input']);
      } catch (error) {
        assert.ok(error instanceof ImportError, error.stack);
      }
    }),
  );
});

// ---- SVG

const type = {
  measureText: (text) => ({ width: 7 * text.length }),
  baseline: (_, name) => (name === 'middle' ? 4 : 0),
};

test('what is drawn on a context is in the SVG: paths, transforms, clips, dashes, text', () => {
  const ctx = new SvgContext({}, type);
  ctx.save();
  ctx.beginPath();
  ctx.rect(10, 20, 30, 40);
  ctx.clip();
  ctx.strokeStyle = '#123456';
  ctx.lineWidth = 1.5;
  ctx.setLineDash([4, 2]);
  const line = new SvgPath();
  line.moveTo(0, 0);
  line.lineTo(1.23456, 2);
  ctx.stroke(line);
  ctx.restore();
  ctx.translate(5, 6);
  ctx.rotate(Math.PI / 2);
  ctx.font = '600 12px system-ui, "Noto Sans"';
  ctx.textAlign = 'right';
  ctx.textBaseline = 'middle';
  ctx.globalAlpha = 0.5;
  ctx.fillStyle = '#abc';
  ctx.fillText('a < b', 1, 2);
  const svg = ctx.content();
  assert.match(svg, /<clipPath id="c0"><path d="M10 20h30v40h-30z"\/><\/clipPath>/);
  assert.match(
    svg,
    /<path d="M0 0L1.23 2" fill="none" stroke="#123456" stroke-width="1.5" [^>]*stroke-dasharray="4 2" clip-path="url\(#c0\)"\/>/,
  );
  assert.match(
    svg,
    /<text x="1" y="6" text-anchor="end" font-size="12" font-family="system-ui, &#34;Noto Sans&#34;" font-weight="600"/,
  );
  assert.match(svg, /transform="matrix\(0 1 -1 0 5 6\)" opacity="0.5">a &#60; b<\/text>/);
});

test('a marker keeps its size: a path added under a transform, its line as thick as before', () => {
  const ctx = new SvgContext({}, type);
  const shape = new SvgPath();
  shape.addPath(new SvgPath('M1 0A1 1 0 1 1-1 0Z'), { a: 4, d: 4, e: 10, f: 20 });
  ctx.lineWidth = 2;
  ctx.stroke(shape);
  assert.match(
    ctx.content(),
    /<path d="M1 0A1 1 0 1 1-1 0Z" [^>]*stroke-width="0.5"[^>]* transform="matrix\(4 0 0 4 10 20\)"/,
  );
});

test('arcs end where they should', () => {
  const ctx = new SvgContext({}, type);
  ctx.beginPath();
  ctx.arc(10, 10, 5, 0, 2 * Math.PI);
  ctx.fill();
  ctx.beginPath();
  ctx.arc(0, 0, 2, 0, Math.PI / 2);
  ctx.fill();
  assert.match(ctx.content(), /M15 10A5 5 0 0 1 5 10A5 5 0 0 1 15 10"/);
  assert.match(ctx.content(), /M2 0A2 2 0 0 1 0 2"/);
});

// ---- The tour

test('every stop is a short link that sets what it says, and survives its own link', () => {
  assert.equal(STOPS.length, 8);
  for (const [i, wanted] of STOPS.entries()) {
    const state = stateOfStop(i + 1);
    assert.equal(state.tour, i + 1);
    for (const [name, value] of Object.entries(wanted)) assert.deepEqual(state[name], value, `${i + 1}, ${name}`);
    assert.deepEqual(decodeState(encodeState(state)), state);
    assert.ok(PANELS.includes(state.panel));
    for (const config of state.configs) assert.ok(presetOf(config.preset), config.preset);
    assert.equal(shownOf(state), i + 1);
    const around = { sidebar: false, language: 'zh', selected: 0 };
    assert.equal(shownOf({ ...state, ...around }), i + 1, 'looking around changes nothing');
    assert.equal(shownOf({ ...state, seed: 8 }), null);
    assert.equal(shownOf({ ...state, configs: state.configs.slice(1) }), null);
    assert.equal(shownOf({ ...state, panel: 'wiring' }), null);
    for (const name of Object.keys(FURTHER[i + 1] ?? {})) {
      const beyond = stateBeyond(i + 1, name);
      assert.equal(shownOf(beyond), name);
      assert.equal(shownOf({ ...beyond, seed: 8 }), null);
    }
  }
  for (const text of ['tour=9', 'v=2&tour=99', 'tour=-1', 'tour=1.5', 'tour=1e1', 'tour=', 'tour=none'])
    assert.deepEqual(decodeState(text), decodeState(text.includes('v=2') ? 'v=2' : 'v=1'), `${text} is no stop`);
  assert.equal(decodeState('tour=3&seed=5').seed, 5);
});

test('the tour says the same in both languages, with its sources', () => {
  const shape = (value) =>
    value && typeof value === 'object'
      ? Object.fromEntries(
          Object.keys(value)
            .sort()
            .map((key) => [key, shape(value[key])]),
        )
      : typeof value;
  assert.deepEqual(shape(tourZh), shape(tourEn));
  assert.equal(tourEn.stops.length, STOPS.length);
  assert.equal(SOURCES.length, STOPS.length);
  for (const source of SOURCES.flat()) assert.match(source.join(' '), /\d{4} https:\/\/arxiv\.org\/abs\/\d{4}\.\d{5}$/);
  const names = Object.values(FURTHER).flatMap(Object.keys);
  assert.deepEqual(names.sort(), Object.keys(tourEn.further).sort());
  for (const { told, see, holds } of tourZh.stops)
    assert.match(told + see + (typeof holds === 'function' ? holds(null) : holds), /[\u4e00-\u9fff]{12}/);
});

// What the Depth panel sends for a stop, from probes of this test's own over fewer seeds.
const values = new Map();
const depthValue = (stop) => {
  if (!values.has(stop)) values.set(stop, makeValue(stop));
  return values.get(stop);
};

async function makeValue(stop) {
  const an = await instance('simd');
  const { depthBlocks: depth, configs } = stateOfStop(stop);
  const value = { job: { depth, seeds: 3 }, plan: [], finished: true };
  for (const [index, config] of configs.entries()) {
    const fields = { ...fieldsOf(config), depth, d_model: 64, d_ff: 256 };
    const { supported, stream, gradient, weights } = an.theory(fields);
    const [rms, norms] = [stream, gradient].map((list) => list.map(Math.sqrt));
    value.plan.push({
      config: fields,
      theory: { supported, rms, gradient: norms, weights: { down: weights.down.rms } },
    });
    for (let n = 0; n < 3; n++) value[`${index}/${n}`] = probe(an, fields, n);
  }
  return value;
}

function probe(an, fields, seed) {
  const model = an.stack(fields, { seed });
  const [x, dy] = [1, 2].map((stream) => an.random([32, 64], { seed, stream }));
  const { sublayers, stream, gradients } = model.probe(x, dy);
  const places = [...sublayers, stream];
  const of = (name) => Array.from({ length: fields.depth }, (_, l) => gradients[`layers.${l}.${name}`]);
  const found = {
    rms: places.map(({ rms }) => rms),
    gradient: places.map(({ gradient }) => gradient),
    ratio: sublayers.map(({ branchRatio }) => branchRatio),
    saturated: sublayers.map(({ saturated }) => saturated),
    weights: { up: of('up'), down: of('down') },
  };
  model.dispose();
  return found;
}

const near = (got, expected, share, what) =>
  assert.ok(Math.abs(got / expected - 1) <= share, `${what}: ${got}, expected ${expected}`);

test('what the stops in the Depth panel measure is what theory says', async () => {
  const one = MEASURES[1]({ depth: await depthValue(1) });
  assert.ok(
    one.without.median < 1e-8 && one.with.median > 10 && one.growth.median > 10,
    'fades without a path, grows with one',
  );
  assert.ok(Math.abs(Math.log(one.without.median / one.predicted)) < 1, 'about as predicted');

  const two = MEASURES[2]({ depth: await depthValue(2) });
  near(two.post.median, 1, 0.02, 'Post-Norm holds the stream');
  near(two.pre.median, two.predicted, 0.1, 'Pre-Norm’s growth');
  assert.ok(two.none.median > 4 * two.pre.median);

  const three = MEASURES[3]({ depth: await depthValue(3) });
  near(three.last.median, three.predicted, 0.15, 'the last W2 of post by that of pre');
  assert.ok(three.post.median > 0.8, 'Post-Norm does not vanish');

  const seven = MEASURES[7]({ depth: await depthValue(7) });
  near(seven.byPost.median, seven.predicted, 0.15, 'the last W2 of deepnorm by that of post');
  near(seven.deep.median, 1, 0.1, 'DeepNorm is flat');

  const eight = MEASURES[8]({ depth: await depthValue(8) });
  assert.equal(eight.rezero.median, 1);
  assert.equal(eight.growth[2].median, 1);
  assert.ok(eight.still, 'no weight of ReZero has a gradient');
  assert.ok(eight.dyt.median < eight.layer.median && eight.saturated.median < 0.01);
});

test('a stop whose configurations were changed has no figures, whatever is left of them', async () => {
  for (const stop of [1, 2, 3, 7, 8]) {
    const state = stateOfStop(stop);
    const depth = await depthValue(stop);
    assert.ok(measuredOf(state, { depth }));
    const left = { ...state, configs: state.configs.slice(0, 1) };
    assert.equal(measuredOf(left, { depth: { ...depth, plan: depth.plan.slice(0, 1) } }), null);
  }
});

test('a stop waits for what is missing', async () => {
  const depth = await depthValue(3);
  for (const stop of [1, 2, 3, 7, 8]) {
    assert.equal(MEASURES[stop]({ depth: null }), null);
    assert.equal(MEASURES[stop]({ depth: { ...depth, finished: false } }), null);
  }
  const run = { status: 'learning', steps: 10, end: 300, tests: [[10, 0.5]], parameters: 100 };
  assert.deepEqual(MEASURES[4]({ training: [run, run] }), { progress: [10, 10], end: 300 });
  assert.equal(MEASURES[4]({ training: [] }), null);
  const done = {
    ...run,
    steps: 300,
    tests: [
      [10, 0.5],
      [300, 0.9],
    ],
  };
  const broken = { ...run, status: 'diverged', steps: 40 };
  assert.deepEqual(MEASURES[4]({ training: [done, broken], results: [] }).scores, [0.9, Number.NaN]);
  const outcome = (...results) => MEASURES[6]({ results })?.outcome;
  assert.equal(outcome(timed(2, 0.1), timed(1.9, 0.1)), 'same');
  assert.equal(outcome(timed(2, 0.1), timed(1, 0.1)), 'less');
  assert.equal(outcome(timed(1, 0.1), timed(2, 0.1)), 'more');
  assert.equal(outcome(timed(1, 0.1), timed(2, 0.1, 5)), undefined);
  assert.equal(outcome(timed(1, 0.1), timed(2, 0.1, 9, 1002)), undefined, 'not in turns');
});

/** What the page knows of a configuration whose forward pass was timed. */
const timed = (median, half, count = 9, begun = 1001) => ({
  result: { variant: 'simd' },
  times: { simd: { median, half, count, begun } },
});

const figures = { number: String, count: String, percent: String, score: String, time: String, ratio: String };
const trainedTo = (...scores) =>
  scores.map((score) => ({ status: 'learning', steps: 300, end: 300, tests: [[300, score]], parameters: 100 }));

test('what stop 4 says of time and gain is what was measured', () => {
  const training = trainedTo(0.5, 0.75, 0.625, 0.625);
  const results = [1, 2, 4, 6].map((seconds) => timed(seconds, 0.1));
  const before = MEASURES[4]({ training, results: [...results.slice(1), timed(6, 0.1, 8)] });
  assert.equal(before.times, null, 'eight batches are not enough');
  const after = MEASURES[4]({ training, results });
  assert.deepEqual([after.range, after.longer.median, after.longer.half], [0.25, 6, 0.2]);
  for (const { stops } of [tourEn, tourZh]) {
    const { holds, rows } = stops[3];
    const [none, gain, both] = [null, before, after].map((m) => holds(m, figures));
    assert.doesNotMatch(none, /\d R²|0\.25/);
    assert.ok(gain.includes('0.25') && !/八倍|eight/.test(gain));
    assert.ok(both.includes('0.25') && /(takes|时间为) 6 /.test(both), both);
    assert.deepEqual(
      rows(before, figures)
        .slice(-2)
        .map(([, value]) => value),
      [undefined, null],
    );
  }
});

test('what stop 5 says of its gates is what was measured', () => {
  const said = (stops, scores, ...results) => stops[4].holds(MEASURES[5]({ training: trainedTo(...scores), results }));
  const times = (...seconds) => seconds.map((median) => timed(median, 0.1));
  const outcomes = (seconds) => [tourEn, tourZh].map(({ stops }) => said(stops, [0.5, 0.6, 0.6], ...times(...seconds)));
  const [same, faster, slower] = [
    [2, 2.1, 2.15],
    [2, 1, 0.5],
    [2, 3, 4],
  ].map(outcomes);
  assert.match(same[0], /B.*takes within the spread as long as A.*C.*takes within the spread as long as B/);
  assert.match(faster[0], /B.*takes less time than A.*C.*takes less time than B/);
  assert.match(slower[0], /B.*takes more time than A.*C.*takes more time than B/);
  assert.match(same[1], /B.*与 A 用时相当.*C.*与 B 用时相当/);
  assert.match(faster[1], /B.*比 A 快.*C.*比 B 快/);
  assert.match(slower[1], /B.*比 A 慢.*C.*比 B 慢/);
  const untimed = [0.4, 0.5].flatMap((b) => [0.4, 0.6].map((c) => said(tourEn.stops, [0.45, b, c])));
  for (const [i, start] of ['No gate', 'One of', 'One of', 'Both'].entries()) {
    assert.ok(untimed[i].startsWith(start), untimed[i]);
    assert.doesNotMatch(untimed[i], /takes/);
  }
});

test('the sizes in the words are those of the stops', () => {
  for (const stop of [4, 5]) {
    const { trainDepth, trainWidth, rows, configs } = stateOfStop(stop);
    assert.deepEqual([trainDepth, trainWidth, rows], [6, 32, 256]);
    for (const config of configs) assert.equal(fieldsOf(config).d_model, 128);
    assert.match(tourEn.stops[stop - 1].see, /six blocks of width 32, .* width 128 on 256 tokens/);
    assert.match(tourZh.stops[stop - 1].see, /六个宽度为 32 的块.*宽度为 128 的块，输入 256 个词元/);
  }
  const { trainDepth, trainRate, trainWarmup } = stateBeyond(3, 'warmup');
  assert.equal(trainWarmup, 0);
  for (const { beyond } of [tourEn, tourZh])
    for (const number of [trainDepth, trainRate]) assert.ok(beyond.warmup.see.includes(String(number)));
});

// 20 of its 100 steps, which takes less time.
for (const variant of ['simd', 'relaxed']) {
  test(`stop 3: without warm-up Post-Norm's gradient vanishes and its answers become alike, ${variant}`, async () => {
    const an = await instance(variant);
    for (const seed of [7, 1, 2]) {
      const state = { ...stateBeyond(3, 'warmup'), seed };
      const trainer = new Trainer(an);
      trainer.apply(planOf(state, state.configs.map(fieldsOf)));
      while (trainer.turn(20));
      const runs = trainer.frame();
      const alike = trainer.runs.map(({ learner }) =>
        an.scope(() => variety(learner.model.forward(an.tensor(trainer.task.test.x)))),
      );
      const curves = new Curves();
      for (const { id, depth, points } of runs) curves.push(id, depth, points);
      trainer.dispose();
      const training = runs.map((run) => ({ ...run, end: 20, ratio: () => curves.ratio(run.id) }));
      const measured = MEASURES.warmup({ training });
      assert.ok(measured.post.first > 0.5, `it is there in step 1: ${measured.post.first}`);
      assert.deepEqual(measured.vanished, [true, false], `seed ${seed}: ${measured.post.now}, ${measured.pre.now}`);
      assert.ok(alike[0] < 0.01 * alike[1], `seed ${seed}: share that differs ${alike}`);
      assert.match(tourEn.beyond.warmup.holds(measured), /has vanished since.*B.*has kept it/);
      const other = { ...measured, vanished: [false, false] };
      assert.match(tourEn.beyond.warmup.holds(other), /has not vanished in this run/);
      assert.match(tourZh.beyond.warmup.holds(other), /A 的梯度没有消失/);
    }
  });
}

/** The share of the answers' second moment that differs from input to input. */
function variety({ data, shape: [rows, width] }) {
  const means = Array.from({ length: width }, (_, j) => {
    let sum = 0;
    for (let i = 0; i < rows; i++) sum += data[i * width + j];
    return sum / rows;
  });
  let [all, differing] = [0, 0];
  for (const [k, value] of data.entries()) {
    all += value ** 2;
    differing += (value - means[k % width]) ** 2;
  }
  return differing / all;
}
