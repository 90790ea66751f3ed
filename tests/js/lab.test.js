// Block Lab without a browser: its state and link, the readers of input files, presets against the module's own field
// list, the steps inside a block against the block itself, timing, figures as text, and the weights taken from PP-OCRv4.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import { describe, estimate, forward, makeBlock, makeInput, measure } from '../../web/demo/compute.js';
import { explanations } from '../../web/demo/explain.js';
import * as fields from '../../web/demo/fields.js';
import * as format from '../../web/demo/format.js';
import { checkWidth, InputError, parseCsv, parseJson, parseNpy, parseNumbers } from '../../web/demo/input.js';
import { agree, histograms, medianSpread, seededNormal, summarize } from '../../web/demo/numbers.js';
import { preactivations } from '../../web/demo/panels/activations/preactivations.js';
import { print as printMatrix, vectorTextOf } from '../../web/demo/panels/norms/matrix.js';
import { gradientsOf } from '../../web/demo/panels/wiring/gradients.js';
import { counterpart, fieldsOf, LAYERS, PRESET_GROUPS, PRESETS, presetOf, TRAINED } from '../../web/demo/presets.js';
import { Gauge, standing, workingSet } from '../../web/demo/roofline.js';
import * as state from '../../web/demo/state.js';
import en from '../../web/demo/texts/en.js';
import zh from '../../web/demo/texts/zh.js';
import { distance, STAGES, trace } from '../../web/demo/trace.js';
import { BLOCKS, modelFile, readBlock, readTensors } from '../../web/models/extract.js';
import { add, linear, map, normOf, rowsOf, transpose } from './reference.js';
import { instance, readFloats, skipWithout, values, variants, worst } from './shared.js';

// The same cases at every run; other ones by ADDNORM_SEED.
fc.configureGlobal({ seed: Number(process.env.ADDNORM_SEED ?? 20240607) });

const an = await instance('simd');
const catalog = describe(an);

// ---- State

const fieldNames = catalog.fields.map(({ name }) => name);
const anyName = fc.string({ unit: 'binary', maxLength: 60 }).map(state.cleanName);
const anyValue = fc.oneof(
  fc.boolean(),
  fc.constant(null),
  fc.double({ noNaN: true, noDefaultInfinity: true }).filter((value) => !Object.is(value, -0)),
  fc.constantFrom('gelu_erf', 'rms_norm', 'post', 'weight_bias', 'none'),
);
const anyConfig = fc.record(
  {
    name: anyName,
    preset: fc.constantFrom('', ...[...PRESETS, ...LAYERS].map(({ id }) => id)),
    weights: fc.constantFrom('', ...TRAINED.map(({ id }) => id)),
    values: fc.dictionary(fc.constantFrom(...fieldNames), anyValue).map((values) => ({ ...values })),
    color: fc.integer({ min: 0, max: 5 }),
  },
  { noNullPrototype: true, requiredKeys: ['name', 'preset', 'weights', 'values'] },
);
// Of every property what its type takes.
const anyFloat = fc.double({ min: -3e38, max: 3e38, noNaN: true });
const anyMatrix = ({ b, l, d }) =>
  fc
    .tuple(fc.integer({ min: 1, max: b }), fc.integer({ min: 1, max: l }), fc.integer({ min: 1, max: d }))
    .chain(([b, l, d]) => {
      const list = (of, length) => fc.array(of, { minLength: length, maxLength: length });
      return fc.record({ data: list(anyFloat, b * l * d), padding: list(fc.boolean(), b * l) }).map((cells) => {
        return printMatrix({ b, l, d, ...cells });
      });
    });
const anyOf = ({ options, several, min, max, whole, matrix, vector }) => {
  if (matrix) return anyMatrix(matrix);
  if (vector) return fc.array(anyFloat, { maxLength: vector }).map(vectorTextOf);
  if (several) return fc.subarray(options);
  if (options) return fc.constantFrom(...options);
  if (whole) return fc.integer({ min, max });
  if (max !== undefined) return fc.double({ min, max, noNaN: true }).map((value) => value + 0); // -0 is 0 in a link
  return fc.boolean();
};
const anyState = fc
  .record(
    {
      ...Object.fromEntries(state.PROPS.map(({ name, type }) => [name, anyOf(type)])),
      configs: fc.array(anyConfig, { minLength: 1, maxLength: state.MAX_CONFIGS }),
    },
    { noNullPrototype: true },
  )
  .map((any) => ({ ...any, selected: Math.min(any.selected, any.configs.length - 1) }));

test('every state survives the way through its link', () => {
  fc.assert(
    fc.property(anyState, (any) => {
      const hash = state.encodeState(any);
      assert.match(hash, /^[\x21-\x7e]*$/, 'a link is ASCII without blanks');
      assert.deepEqual(state.decodeState(`#${hash}`), any);
    }),
    { numRuns: 500 },
  );
});

test('any text opens as a state that its link gives again', () => {
  const pieces = fc.constantFrom(
    'c=',
    '&',
    ',',
    ':',
    'rows=',
    'seed=-1',
    'mean=1e999',
    '%',
    '%zz',
    'preset:',
    'eps:1e-5',
    '=',
    'lang=zh',
    '__proto__:1',
    'constructor:on',
    'color:5',
    'color:7',
  );
  const text = fc.oneof(
    fc.string(),
    fc.array(fc.oneof(pieces, fc.string({ maxLength: 4 }))).map((parts) => parts.join('')),
  );
  fc.assert(
    fc.property(text, (hash) => {
      const once = state.decodeState(hash);
      assert.ok(once.configs.length >= 1 && once.configs.length <= state.MAX_CONFIGS);
      assert.ok(once.selected < once.configs.length);
      assert.deepEqual(state.decodeState(state.encodeState(once)), once);
      assert.equal(Object.getPrototypeOf(once.configs[0].values), Object.prototype);
    }),
    { numRuns: 1000 },
  );
});

test('the first visit has an empty link but for its configurations, and every property is in it', () => {
  const first = state.initialState();
  assert.equal(state.encodeState(first), 'v=2&c=Post-Norm,preset:post_norm&c=Pre-Norm,preset:pre_norm');
  assert.deepEqual(state.decodeState(''), first);
  assert.deepEqual(Object.keys(first).sort(), [...state.PROPS.map(({ name }) => name), 'configs'].sort());
});

test('what every object has is neither a field nor the name of anything', () => {
  const [config] = state.decodeState('c=A,toString:1,norm:toString,activation:constructor,d_model:8').configs;
  assert.deepEqual(config.values, { d_model: 8 });
  const odd = { alpha: 'zz', d_model: true, gated: 1, norm: false, eps: null, d_ff: 12, mixing: 'mean' };
  const { alpha, d_model, gated, norm, eps, d_ff, mixing } = fields.completed(odd, catalog.fields);
  assert.deepEqual(
    [alpha, d_model, gated, norm, eps, d_ff, mixing],
    [null, 768, false, 'layer_norm', null, 12, 'mean'],
  );
});

test('a link of the first version opens as it did', () => {
  const old = state.decodeState('c=Own,d_model:64&rows=64&seed=3');
  assert.equal(old.panel, 'forward');
  assert.equal(old.rows, 64);
  assert.equal(state.decodeState('c=Own,d_model:64&panel=speed').panel, 'speed');
  assert.equal(state.decodeState('v=2&c=Own,d_model:64').panel, 'depth');
});

test('edits leave the former state as it was', () => {
  const first = state.initialState();
  const frozen = structuredClone(first);
  const edited = state.editField(first, 1, 'eps', 1e-3);
  assert.equal(edited.configs[1].values.eps, 1e-3);
  assert.deepEqual(state.editField(edited, 1, 'eps', undefined), first);
  let many = first;
  for (let i = 0; i < 9; i++) many = state.duplicateConfig(many, 0);
  assert.equal(many.configs.length, state.MAX_CONFIGS);
  assert.equal(new Set(many.configs.map(({ name }) => name)).size, state.MAX_CONFIGS);
  while (many.configs.length > 1) many = state.removeConfig(many, 0);
  assert.equal(state.removeConfig(many, 0), many, 'the last one stays');
  assert.equal(many.selected, 0);
  assert.deepEqual(first, frozen);
});

test('a configuration keeps its colour wherever it goes, and no two have the same', () => {
  const named = (letters) => ({
    ...state.initialState(),
    selected: 0,
    configs: [...letters].map((name) => ({ name, preset: '', weights: '', values: {} })),
  });
  const shown = ({ configs }) => configs.map(({ name }, i) => `${name}${state.colorsOf(configs)[i]}`).join(' ');
  const four = named('abcd');
  assert.equal(shown(four), 'a0 b1 c2 d3');
  const moved = state.moveConfig(four, 0, 2);
  assert.equal(shown(moved), 'b1 c2 a0 d3');
  assert.equal(moved.selected, 2, 'the selected one is still a');
  assert.deepEqual(state.moveConfig(moved, 2, 0), four, 'colours of their own place are not said');
  assert.equal(state.moveConfig(four, 3, 4), four);
  assert.equal(shown(state.removeConfig(four, 1)), 'a0 c2 d3');
  const refilled = state.duplicateConfig(state.removeConfig(four, 1), 0);
  assert.equal(shown(refilled), 'a0 c2 d3 a 21', 'a new one takes what is free');
  const red = state.recolorConfig(four, 0, 3);
  assert.equal(shown(red), 'a3 b1 c2 d0', 'exchanged');
  assert.equal(shown(state.recolorConfig(four, 0, 5)), 'a5 b1 c2 d3');
  assert.equal(shown(state.decodeState('c=a,color:1&c=b&c=c,color:1&c=d,color:9')), 'a1 b0 c2 d3');
  fc.assert(
    fc.property(anyState, ({ configs }) => {
      const colors = state.colorsOf(configs);
      assert.equal(new Set(colors).size, configs.length);
      for (const color of colors) assert.ok(color >= 0 && color < state.MAX_CONFIGS);
    }),
  );
});

// ---- Input files

function npy({ descr = '<f4', fortran = 'False', shape = '2, 3', version = 1, numbers = [1, 2, 3, 4, 5, 6] } = {}) {
  const text = `{'descr': '${descr}', 'fortran_order': ${fortran}, 'shape': (${shape}), }`;
  const start = version === 1 ? 10 : 12;
  const header = `${text.padEnd(64 * Math.ceil((start + text.length + 1) / 64) - start - 1)}\n`;
  const bytes = new Uint8Array(start + header.length + 4 * numbers.length);
  bytes.set([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, version, 0]);
  const view = new DataView(bytes.buffer);
  if (version === 1) view.setUint16(8, header.length, true);
  else view.setUint32(8, header.length, true);
  bytes.set(new TextEncoder().encode(header), start);
  for (const [i, value] of numbers.entries()) view.setFloat32(start + header.length + 4 * i, value, descr[0] !== '>');
  return bytes;
}

const fails = (code) => (error) => {
  assert.ok(error instanceof InputError, error.stack);
  assert.equal(error.code, code);
  for (const { inputErrors } of [en, zh]) assert.ok(inputErrors[code](error.detail).length > 4);
  return true;
};

test('.npy: versions 1 to 3, both byte orders, one axis', () => {
  for (const version of [1, 2, 3]) {
    for (const descr of ['<f4', '>f4']) {
      const { data, shape } = parseNpy(npy({ version, descr }));
      assert.deepEqual([...data], [1, 2, 3, 4, 5, 6]);
      assert.deepEqual(shape, [2, 3]);
    }
  }
  assert.deepEqual(parseNpy(npy({ shape: '6,' })).shape, [6]);
  assert.deepEqual(parseNpy(npy({ shape: '6,', fortran: 'True' })).shape, [6], 'one axis has one order');
});

test('.npy: what cannot be read says why', () => {
  assert.throws(() => parseNpy(npy({ descr: '<f8' })), fails('NPY_DTYPE'));
  assert.throws(() => parseNpy(npy({ descr: '|u1' })), fails('NPY_DTYPE'));
  assert.throws(() => parseNpy(npy({ fortran: 'True' })), fails('NPY_FORTRAN'));
  assert.throws(() => parseNpy(npy({ version: 4 })), fails('NPY_VERSION'));
  assert.throws(() => parseNpy(npy({ shape: '' })), fails('SCALAR'));
  assert.throws(() => parseNpy(npy({ shape: '0, 3' })), fails('EMPTY'));
  assert.throws(() => parseNpy(npy({ shape: '-2, 3' })), fails('NPY_HEADER'));
  assert.throws(() => parseNpy(npy({ shape: '4294967296, 4294967296' })), fails('TOO_LARGE'));
  assert.throws(() => parseNpy(npy({ shape: '1, 1, 1, 1, 1, 1, 1, 2, 3' })), fails('AXES'));
  assert.throws(() => parseNumbers('x.npy', new TextEncoder().encode('hello').buffer), fails('NPY_MAGIC'));
});

test('.npy: every shorter file is refused, no other error comes out', () => {
  const whole = npy();
  for (let length = 0; length < whole.length; length++) {
    assert.throws(() => parseNpy(whole.slice(0, length)), InputError, `${length} bytes`);
  }
});

test('JSON: nested arrays of one shape; words for what JSON has no numbers for', () => {
  assert.deepEqual(parseJson('[[1, 2], [3, -4.5e2]]'), { data: Float32Array.of(1, 2, 3, -450), shape: [2, 2] });
  assert.deepEqual(parseJson('[null, "NaN", "-Infinity", "1e3"]'), {
    data: Float32Array.of(Number.NaN, Number.NaN, -Infinity, 1000),
    shape: [4],
  });
  assert.throws(() => parseJson('[1, 2'), fails('JSON_SYNTAX'));
  assert.throws(() => parseJson('7'), fails('SCALAR'));
  for (const text of ['{}', 'null']) assert.throws(() => parseJson(text), fails('NOT_AN_ARRAY'));
  assert.throws(() => parseJson('[]'), fails('EMPTY'));
  assert.throws(() => parseJson('[[1, 2], [3]]'), fails('RAGGED'));
  assert.throws(() => parseJson('[[1, 2], 3]'), fails('RAGGED'));
  assert.throws(() => parseJson('[1, [2]]'), fails('NOT_A_NUMBER'));
  assert.throws(() => parseJson('["__proto__"]'), fails('NOT_A_NUMBER'));
  assert.throws(() => parseJson('[true]'), fails('NOT_A_NUMBER'));
  assert.throws(() => parseJson(`${'['.repeat(5000)}${']'.repeat(5000)}`), fails('AXES'));
});

test('CSV: separators, header, comments, quotes, line ends', () => {
  const expected = { data: Float32Array.of(1, 2.5, -3, 4), shape: [2, 2] };
  for (const text of [
    '1,2.5\n-3,4',
    '\ufeff"a","b"\r\n1;2.5\r\n-3;4\r\n',
    '# c\n1\t2.5\n\n-3\t4\n',
    ' 1   2.5\n-3 4',
    '1, 2.5,\n-3, 4,\n',
  ]) {
    assert.deepEqual(parseCsv(text), expected, JSON.stringify(text));
  }
  assert.deepEqual([...parseCsv('nan,inf').data], [Number.NaN, Infinity]);
  assert.throws(() => parseCsv('1,2\n3'), fails('RAGGED'));
  assert.throws(() => parseCsv('1,2\n3,x'), fails('NOT_A_NUMBER'));
  assert.throws(() => parseCsv('1,,2'), fails('NOT_A_NUMBER'));
  assert.throws(() => parseCsv('0x10,2'), fails('NOT_A_NUMBER'));
  assert.throws(() => parseCsv('a,b\n'), fails('EMPTY'));
});

test('a JSON object in place of a number is named, whatever it holds', () => {
  const content = new TextEncoder().encode('[{"toString":""}]').buffer;
  assert.throws(() => parseNumbers('a', content), fails('NOT_A_NUMBER'));
});

test('any bytes under any name give numbers or an InputError', () => {
  const head = Buffer.from(npy());
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    fc.uint8Array({ maxLength: 90 }).map((noise) => Buffer.concat([head.subarray(0, 8), noise])),
    fc.string().map((text) => new TextEncoder().encode(text)),
    fc.json().map((text) => new TextEncoder().encode(text)),
  );
  fc.assert(
    fc.property(bytes, fc.constantFrom('a.npy', 'a.json', 'a.csv', 'a'), (content, name) => {
      const buffer = Uint8Array.from(content).buffer;
      try {
        const { data, shape } = parseNumbers(name, buffer);
        assert.equal(
          data.length,
          shape.reduce((a, b) => a * b, 1),
        );
      } catch (error) {
        fails(error.code)(error);
      }
    }),
    { numRuns: 2000 },
  );
});

test('an input whose last axis is not d_model is refused', () => {
  checkWidth({ shape: [4, 128] }, 128);
  assert.throws(() => checkWidth({ shape: [4, 100] }, 128), fails('WIDTH'));
  const wide = { data: new Float32Array(8), shape: [2, 4] };
  assert.throws(() => makeInput({ d_model: 2 }, { file: wide }), { code: 'SHAPE_MISMATCH' }, 'rows are not cut up');
});

// ---- Presets and fields against the module

test('presets are configurations of this module', () => {
  const all = [...PRESETS, ...LAYERS];
  assert.equal(new Set(all.map(({ id }) => id)).size, all.length);
  assert.ok(PRESETS.filter(({ group }) => group !== 'wiring').length >= 25);
  for (const { id, name: title, group, values: own, omits, source } of all) {
    assert.ok(PRESET_GROUPS.includes(group), `${id}: ${group}`);
    assert.equal(state.cleanName(title), title, id);
    assert.match(source[1], /^https:\/\/(huggingface\.co|arxiv\.org|github\.com)\//, id);
    assert.ok(source[0].length > 2, id);
    for (const [name, value] of Object.entries(own)) {
      const field = catalog.fields.find((candidate) => candidate.name === name);
      assert.ok(field, `${id}: ${name} is a field`);
      if (field.options) assert.ok(field.options.includes(value), `${id}: ${name} has ${value}`);
      else if (field.type === 'bool') assert.equal(typeof value, 'boolean', `${id}: ${name}`);
      else assert.ok(value >= field.min && value <= field.max, `${id}: ${name} = ${value}`);
    }
    for (const key of omits) for (const { omits: known } of [en, zh]) assert.ok(known[key], `${id}: ${key}`);
    const config = fields.valuesOf({ preset: id, weights: '', values: {} }, catalog.fields);
    if (!id.endsWith('_layer')) assert.equal(estimate(config).bytes > 200e6, group === 'large', id);
    an.block({ ...own, d_model: 2 * (own.heads ?? 1), d_ff: 3 }, { seed: 1 }).dispose();
  }
});

test('presets of models have the sizes of the models', () => {
  const parameters = (id, bias) => {
    const { d_model, d_ff, gated } = presetOf(id).values;
    return d_model * d_ff * (gated ? 3 : 2) + (bias ? d_model + d_ff : 0);
  };
  assert.equal(parameters('bert_base', false), 4_718_592);
  assert.equal(parameters('smollm2_135m', false), 2_654_208);
  assert.equal(parameters('llama2_7b', false), 135_266_304);
  // GPT-2's layer: 124 439 808 of the model less embeddings and last norm, by 12.
  const block = an.block(presetOf('gpt2_small_layer').values, { seed: 1 });
  assert.equal(block.cost(1).parameters, (124_439_808 - 50_257 * 768 - 1024 * 768 - 2 * 768) / 12);
  block.dispose();
});

test('a model’s block with its attention is the same block but for the attention', () => {
  assert.ok(LAYERS.length >= 15);
  for (const layer of LAYERS) {
    const without = counterpart(layer.id);
    assert.equal(counterpart(without.id), layer);
    const { mixing, heads, causal, init, depth, residual_dropout, ...rest } = layer.values;
    assert.equal(mixing, 'attention');
    assert.equal(layer.values.d_model % heads, 0, layer.id);
    for (const [name, value] of Object.entries(rest)) assert.equal(value, without.values[name], `${layer.id}: ${name}`);
    assert.ok(!layer.omits.includes('attention'));
  }
  assert.equal(counterpart('post_norm'), undefined);
  assert.equal(counterpart('llama3_2_1b'), undefined, 'grouped queries');
});

test('every field has a group of the inspector, and a slider position for its values', () => {
  for (const field of catalog.fields) {
    assert.ok(fields.GROUPS.includes(field.group), `${field.name}: group ${field.group}`);
    if (field.options || field.type === 'bool') continue;
    let before = -Infinity;
    for (let i = 0; i <= 240; i++) {
      const value = fields.fromPosition(field, i / 240);
      assert.ok(value >= field.min && value <= field.max, `${field.name} at ${i}: ${value}`);
      assert.ok(value >= before, `${field.name} grows`);
      if (field.type === 'int') assert.ok(Number.isInteger(value));
      const back = fields.toPosition(field, value);
      assert.ok(back >= 0 && back <= 1 && Math.abs(back - i / 240) < 0.07, `${field.name} at ${i}: ${back}`);
      before = value;
    }
  }
});

test('a typed value is taken, or refused with a reason', () => {
  const field = (name) => catalog.fields.find((candidate) => candidate.name === name);
  assert.deepEqual(fields.parseField(field('d_model'), ' 512 '), { value: 512 });
  assert.deepEqual(fields.parseField(field('eps'), '1e-12'), { value: 1e-12 });
  assert.deepEqual(fields.parseField(field('eps'), 'auto'), { value: null });
  assert.deepEqual(fields.parseField(field('alpha'), '−2'), { value: -2 });
  assert.equal(fields.parseField(field('d_model'), '1.5').error, 'integer');
  assert.equal(fields.parseField(field('d_model'), '0').error, 'range');
  assert.equal(fields.parseField(field('d_model'), '').error, 'number');
  assert.equal(fields.parseField(field('d_model'), 'auto').error, 'number', 'd_model has no auto');
  assert.equal(fields.parseField(field('eps'), '-1').error, 'range');
});

test('AUTO on the page is what the module resolves', () => {
  for (const own of [
    {},
    { norm: 'rms_norm' },
    { placement: 'deepnorm', depth: 24 },
    { placement: 'layer_scale' },
    { placement: 'rezero', activation: 'elu' },
    { activation: 'leaky_relu', norm: 'layer_norm_std' },
    { placement: 'deepnorm', depth: 24, mixing: 'mean' },
    { mixing: 'attention', d_model: 192 },
    { norm: 'none' },
  ]) {
    const config = { preset: '', weights: '', values: { d_model: 16, ...own } };
    const shown = fields.valuesOf(config, catalog.fields);
    const block = an.block(fieldsOf(config), { seed: 1 });
    const guesses = fields.resolved(shown, catalog);
    for (const { name } of catalog.fields) {
      if (shown[name] !== null || guesses[name] === null || !(name in block.config)) continue;
      assert.equal(guesses[name], block.config[name], `${JSON.stringify(own)}: ${name}`);
    }
    block.dispose();
    const stack = an.stack({ ...own, d_model: 16, heads: 1 });
    assert.equal(guesses.final_norm, stack.config.final_norm, `${JSON.stringify(own)}: final_norm`);
    stack.dispose();
  }
});

test('a field is said to have no effect only where it has none', () => {
  const base = { d_model: 8, d_ff: 16, init: 'xavier_normal', affine: 'weight_bias', alpha: 0.5 };
  const tries = {
    eps: 0.3,
    weight_offset: 0.7,
    groups: 2,
    norm_alpha: 0.9,
    alpha: 1.7,
    beta: 0.3,
    layer: 5,
    depth: 9,
    init_std: 0.5,
    activation_p0: 0.6,
    activation_p1: 0.7,
    momentum: 0.9,
    heads: 2,
    causal: true,
    qk_norm: true,
    dropout: 0.5,
    residual_dropout: 0.5,
  };
  const input = makeInput({ d_model: 8, d_ff: 16 }, { rows: 5, seed: 3, inputMean: 0.3, inputStd: 1 });
  const run = (own) => {
    const block = an.block(own, { seed: 2 });
    const y = values(block.forward({ data: input.data, shape: input.shape }));
    block.dispose();
    return y;
  };
  let checked = 0;
  for (const placement of catalog.placements.map(({ name }) => name)) {
    for (const norm of ['layer_norm', 'rms_norm', 'group_norm', 'dyt', 'none']) {
      for (const [activation, mixing] of [
        ['relu', 'none'],
        ['elu', 'mean'],
        ['hard_sigmoid', 'attention'],
      ]) {
        const own = { ...base, placement, norm, activation, mixing };
        const before = run(own);
        const shown = fields.valuesOf({ preset: '', weights: '', values: own }, catalog.fields);
        for (const [name, value] of Object.entries(tries)) {
          const changed = () => run({ ...own, [name]: value });
          const what = `${placement}, ${norm}, ${activation}, ${mixing}: ${name}`;
          if (fields.noEffect(name, shown, catalog, false)) {
            checked++;
            assert.deepEqual(changed(), before, what);
          } else if (['heads', 'causal', 'qk_norm'].includes(name)) assert.notDeepEqual(changed(), before, what);
        }
      }
    }
  }
  assert.ok(checked > 500, `${checked} pairs`);
  const shown = fields.valuesOf({ preset: '', weights: '', values: { norm: 'batch_norm' } }, catalog.fields);
  for (const name of ['dropout', 'residual_dropout', 'momentum', 'd_in', 'd_out', 'positions', 'final_norm']) {
    const inTraining = fields.noEffect(name, shown, catalog, false, 'training');
    assert.equal(inTraining, name.startsWith('d_') ? 'task' : undefined, name);
    const reason = fields.noEffect(name, shown, catalog, false, 'wiring');
    for (const { noEffect } of [en, zh]) assert.ok(noEffect[reason], `${name}: ${reason}`);
  }
});

test('the languages have the same texts', async () => {
  const keys = (object, path = '') =>
    Object.entries(object).flatMap(([key, value]) =>
      path === '.fields'
        ? []
        : typeof value === 'object'
          ? keys(value, `${path}.${key}`)
          : [`${path}.${key}:${typeof value}`],
    );
  const panels = ['activations', 'norms', 'speed', 'training'].map((name) => `panels/${name}`);
  for (const folder of ['texts', 'shell', 'shell/tour', ...panels]) {
    const [english, chinese] = await Promise.all(
      ['en', 'zh'].map(async (language) => (await import(`../../web/demo/${folder}/${language}.js`)).default),
    );
    assert.deepEqual(keys(chinese).sort(), keys(english).sort(), folder);
  }
  for (const { name } of catalog.fields) assert.equal(zh.fields[name]?.length, 2, `zh: ${name}`);
});

// ---- Compute

const MIXINGS = [
  { mixing: 'none' },
  { mixing: 'mean' },
  { mixing: 'mean', causal: true },
  { mixing: 'attention', heads: 3 },
  { mixing: 'attention', heads: 2, causal: true, qk_norm: true },
];

/** Every placement with every norm and mixing, with and without the residual; every other one gated. */
function* wirings() {
  let count = 0;
  const sizes = { d_model: 12, d_ff: 20, depth: 3, layer: 3, groups: 3, init: 'xavier_normal' };
  for (const { name: placement } of catalog.placements) {
    for (const { name: norm } of catalog.norms) {
      for (const mixing of MIXINGS) {
        for (const residual of [false, true]) {
          const gated = count++ % 4 > 1;
          yield { ...sizes, ...mixing, placement, norm, residual, gated, bias: !gated, weight_offset: gated ? 1 : 0 };
        }
      }
    }
  }
}

test('the steps through a block end in the block’s own output, in every wiring and variant', async () => {
  let runs = 0;
  for (const variant of variants) {
    const instanceOf = await instance(variant);
    for (const own of wirings()) {
      const { block } = makeBlock(instanceOf, own, 5);
      const input = makeInput(own, { rows: 6, seed: 1, inputMean: 1, inputStd: 2 });
      const { result, signals } = forward(instanceOf, block, input); // throws where they differ
      const train = own.norm === 'batch_norm'; // there is no dropout, so that is all that training changes
      const y = values(block.forward({ data: input.data, shape: input.shape }, { train }));
      assert.equal(distance(signals.output, y), 0);
      assert.equal(result.output.count, 72);
      assert.equal(result.rows, 6);
      for (const stage of Object.keys(result.stages)) {
        assert.ok(STAGES.includes(stage), stage);
        for (const { stages } of [en, zh]) assert.ok(stages[stage], stage);
      }
      assert.equal('middle' in result.stages, own.mixing !== 'none');
      block.dispose();
      runs++;
    }
    assert.equal(instanceOf.stats().live, 0, 'nothing is left behind');
  }
  assert.equal(runs, variants.length * catalog.placements.length * catalog.norms.length * 2 * MIXINGS.length);
});

test('the way back through the steps is the block’s own gradient', () => {
  for (const own of wirings()) {
    const { block } = makeBlock(an, own, 5);
    const { data, shape } = makeInput(own, { rows: 6, seed: 1, inputMean: 1, inputStd: 2 });
    const dy = seededNormal(2, data.length, 0, 1);
    an.scope(() => {
      const { back, y } = trace(an, block, an.tensor(data, shape));
      assert.ok(distance(y.toArray(), values(block.forward({ data, shape }, { train: true }))) < 1e-5);
      const { dx, edges } = back(an.tensor(dy, shape));
      const want = values(block.backward({ data: dy, shape }));
      // Where all tokens are alike batch norm's gradient is what rounding leaves of large numbers.
      const zero = 1e-6 * Math.max(...Object.values(edges));
      const { error } = worst(dx.toArray(), want);
      assert.ok(error <= 1e-5 * Math.max(...want.map(Math.abs)) + zero, `${JSON.stringify(own)}: ${error}`);
      assert.equal('skip' in edges, own.residual);
      const square = dx.toArray().reduce((sum, value) => sum + value * value, 0);
      assert.ok(Math.abs(edges.x ** 2 - square) <= 1e-9 * square);
    });
    block.dispose();
  }
});

test('batch norm takes the statistics of the tokens that are shown, forwards, backwards and in every panel', async () => {
  const [rows, d] = [37, 6];
  const given = { rows, seed: 4, inputMean: 0.5, inputStd: 2 };
  const x = rowsOf(seededNormal(4, rows * d, 0.5, 2), d);
  const normed = (stream) => rowsOf(normOf('batch_norm', [1, rows, d], { eps: 1e-5 })(stream.flat()), d);
  const isClose = (got, want, what) => {
    const { error, text } = worst(got, want.flat());
    assert.ok(error < 2e-6 * Math.max(1, ...want.flat().map(Math.abs)), `${what}: ${text}`);
  };
  const own = { d_model: d, d_ff: 10, norm: 'batch_norm', activation: 'relu', dropout: 0.5, residual_dropout: 0.5 };
  for (const placement of ['pre', 'post', 'peri', 'rezero']) {
    const { block } = makeBlock(an, { ...own, placement, alpha: 0.5 }, 4);
    const input = makeInput(block.config, given);
    const { up, up_bias: upBias, down, down_bias: downBias } = block.parameters;
    const isBefore = placement === 'pre' || placement === 'peri';
    const before = linear(isBefore ? normed(x) : x, rowsOf(up.toArray(), d), upBias.toArray());
    const hidden = map(before, (value) => Math.max(0, value));
    const branch = linear(hidden, rowsOf(down.toArray(), 10), downBias.toArray());
    const after = { peri: normed, rezero: (sum) => map(sum, (value) => value / 2) }[placement] ?? ((sum) => sum);
    const want = placement === 'post' ? normed(add(x, branch)) : add(x, after(branch));
    for (const time of ['first', 'second']) {
      const { result, signals } = forward(an, block, input);
      isClose(signals.output, want, `${placement}, ${time}`);
      isClose(signals.branch, after(branch), `the branch of ${placement}, ${time}`);
      isClose([result.stages.y.rms], [Math.hypot(...want.flat()) / Math.sqrt(rows * d)], `${placement}, its RMS`);
    }
    block.dispose();
    const { sorted } = preactivations(an, { fields: { ...own, placement, alpha: 0.5 } }, given);
    const entering = before.flat().sort((a, b) => a - b);
    isClose(sorted, entering, `what enters the activation, ${placement}`);
  }

  // A branch of nothing: what the norm of the stream makes of the gradient, feature by feature.
  const { edges } = gradientsOf(an, { ...own, placement: 'post', init: 'zero' }, given);
  const dy = an.random([1, rows, d], { seed: 4, stream: 3001 });
  const g = transpose(rowsOf(dy.toArray(), d));
  dy.dispose();
  const n = transpose(normed(x));
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / rows;
  const dx = transpose(x).map((feature, c) => {
    const variance = mean(feature.map((value) => (value - mean(feature)) ** 2));
    const [shift, slope] = [mean(g[c]), mean(g[c].map((value, t) => value * n[c][t]))];
    return g[c].map((value, t) => (value - shift - slope * n[c][t]) / Math.sqrt(variance + 1e-5));
  });
  isClose([edges.sum], [Math.hypot(...dx.flat()) / Math.hypot(...g.flat())], 'the gradient before the norm');
  assert.equal(an.stats().live, 0);
});

test('where tokens are hardly apart the norms over them show what rounding leaves, not a fault of the steps', () => {
  let amplified = 0;
  for (const norm of ['batch_norm', 'instance_norm']) {
    for (const placement of ['post', 'deepnorm', 'peri', 'output']) {
      for (const inputMean of [0, 1000]) {
        const own = { d_model: 16, norm, placement, mixing: 'attention', heads: 2 };
        const given = { rows: 37, seed: 1, inputMean, inputStd: 1e-4 };
        const { block } = makeBlock(an, own, 1);
        const input = makeInput(block.config, given);
        assert.equal(forward(an, block, input).result.output.finite, 592);
        an.scope(() => {
          const traced = trace(an, block, an.tensor(input.data, input.shape));
          const y = values(block.forward({ data: input.data, shape: input.shape }, { train: true }));
          if (distance(traced.y.toArray(), y) > 1e-5) amplified++;
        });
        block.dispose();
        assert.equal(gradientsOf(an, own, given).edges.y, 1);
      }
    }
  }
  assert.ok(amplified > 4, `${amplified} of 16 differ by more than steps do`);
});

test('a value that is not finite goes through the norms over tokens, which are no fault of the steps', () => {
  for (const norm of ['batch_norm', 'instance_norm']) {
    for (const wrong of [Number.NaN, Infinity]) {
      const data = Float32Array.from({ length: 32 }, (_, i) => (i === 5 ? wrong : Math.sin(i)));
      const { block } = makeBlock(an, { norm, placement: 'pre', d_model: 4, d_ff: 8 }, 1);
      const input = makeInput(block.config, { rows: 8, seed: 1, file: { data, shape: [8, 4] } });
      const { count, finite } = forward(an, block, input).result.output;
      assert.deepEqual([count, finite], [32, 0], 'every token meets it, by the statistics and the matrices');
      block.dispose();
    }
  }
});

test('values that are not finite are counted and do not spoil the rest', () => {
  const data = Float32Array.of(1, Number.NaN, 3, Infinity, -Infinity, Number.NaN);
  const summary = summarize(data);
  assert.deepEqual(
    { ...summary, std: 0, rms: 0 },
    { count: 6, finite: 2, nan: 2, plusInfinity: 1, minusInfinity: 1, mean: 2, std: 0, rms: 0, min: 1, max: 3 },
  );
  assert.equal(summary.std, 1);
  assert.equal(summary.rms, Math.sqrt(5));
  const { series } = histograms([data, null], [summary, null], { bins: 4 });
  assert.deepEqual(series[0].counts, [1, 0, 0, 1]);
  assert.equal(series[1], null);
  assert.deepEqual(summarize(Float32Array.of(Number.NaN)).mean, null);
  assert.equal(histograms([Float32Array.of(Number.NaN)], [summarize(Float32Array.of(Number.NaN))]), null);
});

test('a histogram counts every finite value once, and equal values have an axis too', () => {
  fc.assert(
    fc.property(
      fc.array(fc.float32Array({ minLength: 1, maxLength: 60 }), { minLength: 1, maxLength: 4 }),
      (arrays) => {
        const summaries = arrays.map((data) => summarize(data));
        const shared = histograms(arrays, summaries, { bins: 7 });
        if (!shared) return assert.ok(summaries.every(({ finite }) => finite === 0));
        assert.ok(shared.low < shared.high);
        shared.series.forEach(({ counts, below, above }, i) => {
          assert.equal(counts.reduce((a, b) => a + b, 0) + below + above, summaries[i].finite);
        });
      },
    ),
  );
});

test('in units of its own deviation every scale shows the same shape', () => {
  const data = Float32Array.from({ length: 4096 }, (_, i) => ((i * 37) % 101) ** 2 - 2000);
  const tiny = data.map((value) => value * 2 ** -30);
  const summaries = [data, tiny].map(summarize);
  const { low, high, series } = histograms([data, tiny], summaries, { sigma: true });
  assert.deepEqual(series[1].counts, series[0].counts);
  const { mean, std, min, max } = summaries[0];
  assert.ok(Math.abs(low - (min - mean) / std) < 1e-12 && Math.abs(high - (max - mean) / std) < 1e-12);
  // On a common axis the small one is a spike.
  const common = histograms([data, tiny], summaries);
  assert.ok(common.series[1].counts.includes(4096));
  // Equal values have no deviation; what has no finite value has no place.
  const flat = Float32Array.of(3, 3, 3);
  const none = Float32Array.of(Number.NaN);
  const mixed = histograms([flat, none, null], [summarize(flat), summarize(none), null], { sigma: true });
  assert.equal(
    mixed.series[0].counts.reduce((a, b) => a + b),
    3,
  );
  assert.equal(mixed.series[2], null);
});

test('the d_ff of as many weights', () => {
  const gelu = { d_model: 768, d_ff: 3072, gated: false };
  assert.equal(fields.matchingWidth(gelu, { d_model: 768, d_ff: null, gated: true }), 2048);
  assert.equal(fields.matchingWidth(gelu, { d_model: 768, d_ff: 2048, gated: true }), undefined);
  assert.equal(fields.matchingWidth(gelu, { d_model: 768, d_ff: null, gated: false }), undefined, 'AUTO is 4 d_model');
  assert.equal(
    fields.matchingWidth({ d_model: 64, d_ff: null, gated: true }, { d_model: 128, d_ff: 1, gated: false }),
    192,
  );
});

test('equal parameters: every FFN but A’s is sized, what a configuration has of its own comes back', () => {
  const config = (name, own, weights = '') => ({ name, preset: '', weights, values: { d_model: 96, ...own } });
  const first = {
    ...state.initialState(),
    configs: [
      config('dense', { d_ff: 384 }),
      config('gated', { gated: true }),
      config('equal', { d_ff: 256, gated: true }),
      config('wide', { d_model: 192, d_ff: 7 }),
      config('tiny', { d_model: 65536 }),
      config('trained', {}, 'ppocr_0'),
    ],
  };
  const widths = (any) => any.configs.map((each) => fieldsOf(each).d_ff ?? null);
  assert.deepEqual(fields.equalised(first, catalog.fields), first);
  const on = fields.equalised({ ...first, equalParameters: true }, catalog.fields);
  assert.deepEqual(widths(on), [384, 256, 256, 192, 1, 240]);
  assert.deepEqual(
    on.configs.map(({ matched }) => matched),
    [undefined, 256, undefined, 192, 1, undefined],
  );
  assert.equal(fields.ownWidth(on.configs[1], catalog.fields), 384, 'AUTO is 4 d_model');
  assert.equal(fields.ownWidth(on.configs[3], catalog.fields), 7);
  assert.equal(state.encodeState(on), state.encodeState({ ...first, equalParameters: true }), 'no part of the link');
  assert.deepEqual(fields.equalised({ ...on, equalParameters: false }, catalog.fields), first);
  assert.deepEqual(
    widths(fields.equalised(state.editField(on, 0, 'd_ff', 768), catalog.fields)),
    [768, 512, 512, 384, 1, 240],
    'they follow A',
  );
});

test('what is said about the blocks follows their fields', () => {
  const of = (...configs) => configs.map((values) => fields.completed(values, catalog.fields));
  const say = (values, { trained = values.map(() => false), selected = 1 } = {}) =>
    explanations(values, trained, selected).map(({ key, letters, toOne }) => `${key} ${letters} ${toOne}`);
  assert.deepEqual(say(of({ placement: 'post' }, { placement: 'pre' })), ['post 0 true', 'pre 1 true']);
  assert.deepEqual(say(of({ placement: 'post', norm: 'dyt' }, { placement: 'post' })), ['post 0,1 false']);
  const values = of({ placement: 'post' }, { placement: 'peri' }, { placement: 'deepnorm' });
  assert.deepEqual(say(values, { selected: 2 }), ['post 0 true', 'deepnorm 2 true']);
  assert.deepEqual(say(values, { selected: 0 }), ['post 0 true', 'peri 1 true'], 'the next one that differs');
  assert.deepEqual(say(of({ norm: 'none' }, { residual: false })), ['none 0 false', 'no_residual 1 true']);
  assert.deepEqual(say(of({ placement: 'post' }), { trained: [true], selected: 0 }), ['post 0 false']);
  const peri = of({ placement: 'post', eps: 1 }, { placement: 'peri' });
  const measured = [{ output: { rms: 0.7 } }, { output: { rms: 1.4 }, stages: { branch: { rms: 1 } } }];
  const said = explanations(peri, [false, false], 1, measured).map(({ toOne }) => toOne);
  assert.deepEqual(said, [false, true], 'what was measured has the last word');
  for (const { name } of catalog.placements) {
    const [{ key, source }] = explanations(of({ placement: name }), [false], 0);
    assert.equal(key, name);
    assert.match(source?.[1] ?? 'https://arxiv.org/abs/', /^https:\/\/arxiv\.org\/abs\//);
    for (const language of [en, zh]) {
      for (const toOne of [true, false]) assert.match(language.forward.placements[key]('A, C', toOne), /A, C.*[.。]$/);
    }
  }
});

test('seeded input: normal, and each number from seed and place alone', () => {
  const data = seededNormal(7, 100_000, 2, 3);
  const { mean, std } = summarize(data);
  assert.ok(Math.abs(mean - 2) < 0.04 && Math.abs(std - 3) < 0.03, `${mean} ± ${std}`);
  let cube = 0;
  let fourth = 0;
  for (const value of data) {
    cube += ((value - 2) / 3) ** 3 / data.length;
    fourth += ((value - 2) / 3) ** 4 / data.length;
  }
  assert.ok(Math.abs(cube) < 0.04 && Math.abs(fourth - 3) < 0.08, `${cube}, ${fourth}`);
  assert.deepEqual(seededNormal(7, 10, 2, 3), data.slice(0, 10));
  const other = seededNormal(8, 100_000, 0, 1);
  let product = 0;
  for (let i = 0; i < other.length; i++) product += (((data[i] - 2) / 3) * other[i]) / other.length;
  assert.ok(Math.abs(product) < 0.02, `neighbouring seeds: ${product}`);
});

/** A clock that a test moves on itself. */
function ownClock(t) {
  let now = 0;
  t.mock.method(performance, 'now', () => now);
  return (milliseconds) => {
    now += milliseconds;
  };
}

test('timing: batches are long enough, in turns, and a disturbed one is repeated', async (t) => {
  const order = [];
  const pass = ownClock(t);
  const spin = (name, milliseconds) => ({
    run() {
      order.push(name);
      pass(milliseconds);
    },
  });
  let disturbed = 1;
  const pause = async () => disturbed-- !== -3;
  const rounds = [];
  const times = await measure([spin('a', 0.5), spin('b', 2)], {
    batches: 3,
    milliseconds: 4,
    pause,
    onRound: (sofar) => rounds.push(sofar),
  });
  assert.equal(times.length, 2);
  for (const { median, count, repeats } of times) {
    assert.equal(count, 3);
    assert.ok(median * repeats >= 0.004, `${median} s × ${repeats}`);
  }
  assert.ok(times[0].median >= 0.0005 && times[1].median >= 0.002);
  assert.equal(rounds.length, 3);
  await assert.rejects(
    measure([spin('a', 1)], {
      milliseconds: 1,
      pause: async () => {
        throw new Error('cancelled');
      },
    }),
    /cancelled/,
  );
  assert.deepEqual(medianSpread([5, 1, 2, 4, 3]), { median: 3, low: 2, high: 4, half: 1, count: 5 });
  assert.deepEqual(medianSpread([7]), { median: 7, low: 7, high: 7, half: 0, count: 1 });
});

test('timing: what comes before two batches agree is no sample', async (t) => {
  // Each pass is faster than the one before, as while the engine compiles, down to a floor.
  const pass = ownClock(t);
  let cost = 40;
  const run = () => {
    cost = Math.max(5, cost * 0.6);
    pass(cost);
  };
  const [time] = await measure([{ run }], { batches: 3, milliseconds: 5 });
  assert.equal(cost, 5, 'the floor was reached before the first sample');
  assert.equal(time.count, 3);
  assert.ok(agree(10, 10.9) && agree(10.9, 10) && !agree(10, 11.2) && !agree(1, 0) && !agree(undefined, 0));
  // What never settles is sampled all the same.
  let batch = 0;
  const [uneven] = await measure(
    [
      {
        run: () => pass(++batch % 2 ? 2 : 6),
      },
    ],
    { batches: 2, milliseconds: 1 },
  );
  assert.equal(uneven.count, 2);
});

// ---- The roof

test('a working set is 1, 2 or 5 × 10ⁿ, the next to the block’s bytes, and neither tiny nor huge', () => {
  const cases = [
    [788_000, 1e6],
    [526_000, 5e5],
    [18_900_000, 2e7],
    [11_500_000, 1e7],
    [3_000_000, 2e6],
    [3_300_000, 5e6],
    [7_500_000, 1e7],
    [12, 1e5],
    [541e6, 5e7],
  ];
  for (const [bytes, set] of cases) assert.equal(workingSet(bytes), set, `${bytes}`);
});

test('a block stands under the lower of peak and slope', () => {
  const limits = {
    peak: { median: 40e9, half: 1e9, count: 5 },
    read: { bytes: 1e6, median: 20e9, half: 1e9, count: 5 },
  };
  const right = standing({ flops: 3e9, bytes: 1e8 }, { median: 0.1, limits });
  assert.deepEqual(
    [right.intensity, right.rate, right.roof, right.ofPeak, right.ofRoof, right.bound],
    [30, 30e9, 40e9, 0.75, 0.75, 'arithmetic'],
  );
  const left = standing({ flops: 1e9, bytes: 2e9 }, { median: 0.125, limits });
  assert.deepEqual(
    [left.intensity, left.rate, left.roof, left.ofPeak, left.ofRoof, left.bound],
    [0.5, 8e9, 10e9, 0.2, 0.8, 'memory'],
  );
  for (const time of [undefined, { median: 1 }, { median: 1, limits: null }, { median: 1, limits: { error: {} } }])
    assert.equal(standing({ flops: 1, bytes: 1 }, time), null);
});

test('limits: warmed up, every set in turn, a disturbed measurement is repeated, an error ends it', async () => {
  const asked = [];
  let disposed = 0;
  const rates = [10, 20, 21]; // slow until the engine has compiled
  const fake = {
    limits: ({ bytes }) => {
      asked.push(bytes);
      return { flops: rates[asked.length - 1] ?? 40, read: bytes / 10 };
    },
    dispose: () => disposed++,
  };
  const gauge = new Gauge(async () => fake, [1000, 2000]);
  assert.equal(gauge.figures(1000), null);
  const quiet = async () => true;
  await gauge.sample(quiet);
  assert.deepEqual(asked, [1000, 1000, 1000, 1000], 'three that do not count, then one');
  assert.deepEqual(gauge.figures(1000).peak, { median: 40, low: 40, high: 40, half: 0, count: 1 });
  assert.equal(gauge.figures(2000), null);
  let calls = 0;
  await gauge.sample(async () => calls++ > 0);
  assert.deepEqual(asked.slice(4), [2000, 2000]);
  await gauge.sample(quiet);
  const { peak, read } = gauge.figures(1000);
  assert.deepEqual([peak.count, read.count, read.bytes, read.median], [3, 2, 1000, 100]);
  assert.equal(gauge.figures(2000).read.count, 1);
  fake.limits = () => {
    throw Object.assign(new Error('no room'), { code: 'OUT_OF_MEMORY' });
  };
  await gauge.sample(quiet);
  assert.deepEqual(gauge.figures(1000), { error: { code: 'OUT_OF_MEMORY', message: 'no room' } });
  gauge.dispose();
  assert.equal(disposed, 1);
  // Six sets are all there after three turns.
  const many = new Gauge(async () => ({ limits: () => ({ flops: 1, read: 1 }), dispose() {} }), [1, 2, 3, 4, 5, 6]);
  for (let i = 0; i < 3; i++) await many.sample(quiet);
  for (let bytes = 1; bytes <= 6; bytes++) assert.equal(many.figures(bytes).read.count, 1);
  await assert.rejects(
    new Gauge(async () => ({ limits: () => ({ flops: 1, read: 1 }) }), [1]).sample(async () => {
      throw new Error('cancelled');
    }),
    /cancelled/,
  );
});

test('limits of the package itself', async () => {
  const gauge = new Gauge(() => instance('simd'), [1e5]);
  await gauge.sample(async () => true);
  const { peak, read } = gauge.figures(1e5);
  assert.ok(peak.median > 0 && read.median > 0 && peak.count === 1 && read.bytes === 1e5);
});

// ---- Figures as text

test('figures have three digits, SI prefixes and a real minus sign', () => {
  const plain = (text) => text.replaceAll('\u202f', ' ');
  const numbers = [
    [0.9123, '0.912'],
    [41.25, '41.3'],
    [0.99951, '1.00'],
    [-3.4156, '−3.42'],
    [1234, '1230'],
    [0, '0'],
    [1.2e-7, '1.20e−7'],
    [-4.5e12, '−4.50e12'],
    [Number.NaN, 'NaN'],
    [-Infinity, '−∞'],
    [null, '–'],
  ];
  for (const [value, text] of numbers) assert.equal(format.number(value), text);
  const units = [
    [31.2e9, 'FLOP/s', '31.2 GFLOP/s'],
    [999.6e6, 'B', '1.00 GB'],
    [0.00123, 's', '1.23 ms'],
    [4718592, '', '4.72 M'],
    [0, 'B', '0 B'],
  ];
  for (const [value, unit, text] of units) assert.equal(plain(format.si(value, unit)), text);
  assert.equal(plain(format.spread({ median: 0.0412, half: 0.0006, count: 5 }, 's')), '41.2 ± 0.6 ms');
  assert.equal(plain(format.spread({ median: 1.234e-6, half: 2e-9, count: 5 }, 's')), '1.23 ± 0.00 µs');
  assert.equal(plain(format.spread({ median: 0.0412, half: 0, count: 1 }, 's')), '41.2 ms', 'one sample has no spread');
  assert.equal(plain(format.count(1234567)), '1 234 567');
  assert.equal(plain(format.percent(0.0512)), '5.12 %');
  const shares = [0.0034, 0.0344, 0.0996, 0.894, 0.997, 1.234].map((share) => plain(format.roughPercent(share)));
  assert.deepEqual(shares, ['0.34 %', '3.4 %', '10 %', '89 %', '100 %', '123 %']);
  assert.deepEqual(format.powers(0.4, 340), [1, 10, 100]);
  assert.deepEqual([1, 0.001, 1e12].map(format.power), ['10⁰', '10⁻³', '10¹²']);
  assert.equal(format.fieldValue(1e-5), '1e-5');
  assert.equal(format.axisNumber(-0.30000000000000004), '−0.3');
  const plainFormulas = catalog.placements.map(({ formula }) => format.plainFormula(formula));
  assert.ok(
    plainFormulas.includes('x + F(N(x))') && plainFormulas.includes('x + N₂(F(N₁(x)))'),
    plainFormulas.join('; '),
  );
  for (const formula of plainFormulas) assert.doesNotMatch(formula, /[\\{}]/, 'no TeX is left');
});

// ---- Colours

test('text and figures have a contrast of 4.5 : 1 in both themes', () => {
  const css = readFileSync(new URL('../../web/demo/styles.css', import.meta.url), 'utf8');
  const luminance = (hex) => {
    const [r, g, b] = [1, 3, 5]
      .map((at) => Number.parseInt(hex.slice(at, at + 2), 16) / 255)
      .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => {
    const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x);
    return (high + 0.05) / (low + 0.05);
  };
  for (const theme of [/:root \{[^}]*\}/, /:root\[data-theme="dark"\] \{[^}]*\}/]) {
    const color = Object.fromEntries(
      [...css.match(theme)[0].matchAll(/--([\w-]+): (#[0-9a-f]{6})/g)].map(([, name, hex]) => [name, hex]),
    );
    for (const text of ['ink', 'muted', 'accent', 'error', ...[0, 1, 2, 3, 4, 5].map((i) => `text-${i}`)]) {
      for (const ground of ['surface', 'page', 'raised']) {
        const ratio = contrast(color[text], color[ground]);
        assert.ok(ratio >= 4.5, `${theme} ${text} on ${ground}: ${ratio.toFixed(2)}`);
      }
    }
    for (let i = 0; i < 6; i++) assert.ok(contrast(color[`line-${i}`], color.surface) >= 2, `line ${i}`);
  }
});

// ---- Trained weights

const tensors = readTensors(readFileSync(modelFile()));

test('both PP-OCRv4 blocks are in the model, and their weights run', () => {
  for (const [i, trained] of TRAINED.entries()) {
    const parameters = readBlock(tensors, BLOCKS[i]);
    assert.equal(BLOCKS[i].file, trained.file);
    const { block, seeded } = makeBlock(an, fieldsOf({ preset: '', weights: trained.id, values: {} }), 1, parameters);
    assert.deepEqual(seeded, []);
    assert.deepEqual(Object.keys(block.parameters).sort(), parameters.map(({ name }) => name).sort());
    for (const { name, shape, data } of parameters) {
      assert.deepEqual([...block.parameters[name].shape], shape);
      assert.deepEqual(block.parameters[name].toArray(), data);
    }
    block.dispose();
  }
});

test('the extracted block gives the reference output', {
  skip: skipWithout('models', 'the PP-OCRv4 reference'),
}, () => {
  const file = (name) => readFloats('models', 'ppocr_svtr_block0', `${name}.f32.bin`);
  const raw = (name) => new Uint8Array(tensors.get(name).data);
  for (const [name, of] of Object.entries({
    ln_gamma: 'layer_norm_44.w_0',
    ln_beta: 'layer_norm_44.b_0',
    w1: 'linear_79.w_0',
    b1: 'linear_79.b_0',
    w2: 'linear_80.w_0',
    b2: 'linear_80.b_0',
  })) {
    assert.deepEqual(raw(of), new Uint8Array(file(name).buffer), of);
  }
  const { block } = makeBlock(
    an,
    fieldsOf({ preset: '', weights: 'ppocr_0', values: {} }),
    1,
    readBlock(tensors, BLOCKS[0]),
  );
  const y = values(block.forward({ data: file('x'), shape: [40, 120] }));
  const want = file('y_f64ref');
  const { error, text } = worst(y, want);
  assert.ok(error <= 2e-6 * Math.max(...want.map(Math.abs)), text);
  block.dispose();
});
