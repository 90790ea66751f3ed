// The Wiring panel without a browser: what is drawn for a block, where it stands, its formulas, and the gradients at its
// lines against the package's own probe.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import temml from 'temml';
import { describe } from '../../web/demo/compute.js';
import { completed, resolved } from '../../web/demo/fields.js';
import { formulaLines, formulaOf } from '../../web/demo/formula.js';
import { seededNormal } from '../../web/demo/numbers.js';
import { gradientsOf, MAX_BYTES } from '../../web/demo/panels/wiring/gradients.js';
import { wiringJob } from '../../web/demo/panels/wiring/job.js';
import { strokeScale } from '../../web/demo/panels/wiring/scale.js';
import { initialState } from '../../web/demo/state.js';
import en from '../../web/demo/texts/en.js';
import { compare, diagramOf, partsOf } from '../../web/demo/wiring.js';
import { layout, WIDTH, widths } from '../../web/demo/wiring-layout.js';
import { instance } from './shared.js';

const an = await instance('simd');
const catalog = describe(an);
const words = en.wiring;
const full = (own) => resolved(completed(own, catalog.fields), catalog);
const draw = (own) => diagramOf(full(own), words);
const labels = (own) => partsOf(draw(own)).map(({ label }) => label);

const MIXINGS = [
  { mixing: 'none' },
  { mixing: 'mean' },
  { mixing: 'mean', causal: true },
  { mixing: 'attention', heads: 3 },
  { mixing: 'attention', heads: 2, causal: true, qk_norm: true },
];
function* blocks() {
  for (const { name: placement } of catalog.placements) {
    for (const norm of ['layer_norm', 'none']) {
      for (const mixing of MIXINGS) {
        for (const more of [
          {},
          { residual: false, gated: true, dropout: 0.1 },
          { gated: true, residual_dropout: 0.2 },
        ]) {
          yield { d_model: 12, d_ff: 30, layer: 3, depth: 2, alpha: 0.5, placement, norm, ...mixing, ...more };
        }
      }
    }
  }
}

test('what is drawn, from bottom to top', () => {
  const small = { d_model: 128, d_ff: 512 };
  assert.deepEqual(labels({ ...small, placement: 'post' }), ['up 128→512', 'GELU', 'down 512→128', 'LayerNorm', '+']);
  assert.deepEqual(labels({ ...small, placement: 'pre', gated: true, activation: 'silu', dropout: 0.1 }), [
    'LayerNorm',
    'gate',
    'up',
    'SiLU',
    'dropout 0.1',
    'down 512→128',
    '+',
  ]);
  assert.deepEqual(labels({ ...small, placement: 'peri', mixing: 'attention', causal: true, residual_dropout: 0.1 }), [
    ...['LayerNorm 1', 'Q', 'K', 'V', 'attention, 2 heads', 'out 128→128', 'dropout 0.1', 'LayerNorm 2', '+'],
    ...['LayerNorm 1', 'up 128→512', 'GELU', 'down 512→128', 'dropout 0.1', 'LayerNorm 2', '+'],
  ]);
  assert.deepEqual(labels({ ...small, placement: 'deepnorm', mixing: 'mean', depth: 12, residual: false }), [
    ...['mean over tokens', 'value 128→128 ×β', 'out 128→128 ×β', 'LayerNorm'],
    ...['up 128→512 ×β', 'GELU', 'down 512→128 ×β', 'LayerNorm'],
  ]);
  assert.ok(labels({ placement: 'deepnorm', depth: 24 }).includes('× α = 2.21'));
  assert.ok(labels({ placement: 'lns', layer: 12 }).includes('÷ √12'));
  assert.ok(labels({ placement: 'layer_scale' }).includes('⊙ γ = 1e-4'));
  assert.ok(labels({ placement: 'rezero', alpha: 0 }).includes('× a = 0'));
});

test('sizes that are none are drawn as equal ones', () => {
  const equal = widths({ d_model: 8, d_ff: 8 });
  for (const d_model of ['zz', -5, 0, Number.NaN]) assert.deepEqual(widths({ d_model, d_ff: 16 }), equal);
});

test('every line of a drawing has its gradient, every part leads to a field, and nothing stands on another', () => {
  const fields = new Set(catalog.fields.map(({ name }) => name));
  for (const own of blocks()) {
    const what = JSON.stringify(own);
    const sublayers = draw(own);
    const { nodes, lines, height } = layout(sublayers, widths(full(own)));
    const { edges } = gradientsOf(an, own, { rows: 5, seed: 3, inputMean: 0, inputStd: 1 });
    for (const { edge, broken } of lines) assert.ok(broken || edges[edge] >= 0, `${what}: ${edge}`);
    for (const edge of Object.keys(edges)) assert.ok(words.edges[edge], edge);
    const ids = partsOf(sublayers).map(({ id }) => id);
    assert.equal(new Set(ids).size, ids.length, what);
    for (const { field, label } of partsOf(sublayers)) assert.ok(fields.has(field), `${what}: ${label}, ${field}`);
    const boxes = nodes.map(({ x, y, width, above = 0, below = 0, height: own = 16, shape }) => {
      const w = width ?? Math.max(above, below, 16);
      const top = ['sum', 'product'].includes(shape) ? y - 8 : y;
      return [x - w / 2, top, x + w / 2, top + own];
    });
    for (const [i, a] of boxes.entries()) {
      assert.ok(a[0] >= 20 && a[2] <= WIDTH && a[1] >= 0 && a[3] <= height, `${what}: ${nodes[i].label} at ${a}`);
      for (const b of boxes.slice(i + 1)) {
        const apart = a[2] <= b[0] || b[2] <= a[0] || a[3] <= b[1] || b[3] <= a[1];
        assert.ok(apart, `${what}: ${nodes[i].label} ${a} and ${b}`);
      }
    }
  }
});

test('what is compared is what differs', () => {
  const base = { d_model: 128, d_ff: 512, placement: 'post' };
  const changes = (own, other = base) => {
    const { changed, gone } = compare(draw({ ...base, ...own }), draw(other));
    return [[...changed], gone];
  };
  assert.deepEqual(changes({}), [[], []]);
  assert.deepEqual(changes({ placement: 'pre' }), [['norm'], []], 'moved, not gone');
  assert.deepEqual(changes({ norm: 'none' }), [[], ['LayerNorm']]);
  assert.deepEqual(changes({ activation: 'relu' }), [['activation'], []]);
  assert.deepEqual(changes({ norm: 'rms_norm' }), [['stream_norm'], []]);
  assert.deepEqual(changes({ d_ff: 256 }), [['up', 'down'], []]);
  assert.deepEqual(changes({ gated: true }), [['gate', 'up'], []]);
  assert.deepEqual(changes({ residual: false }), [[], ['+']]);
  assert.deepEqual(changes({ mixing: 'attention', causal: true }, { ...base, mixing: 'attention' }), [
    ['attention'],
    [],
  ]);
  assert.deepEqual(changes({ mixing: 'mean' })[0].length, 5, 'a whole sublayer');
});

test('formulas are TeX that becomes MathML, and say what the block has', () => {
  const reference = formulaLines(full({ placement: 'post', gated: true }), catalog);
  const all = [...blocks()].flatMap((own) => formulaOf(formulaLines(full(own), catalog), reference));
  const trust = ({ command }) => command === '\\class';
  for (const tex of new Set(all)) assert.match(temml.renderToString(tex, { throwOnError: true, trust }), /^<math/, tex);
  const tex = (own, reference) =>
    formulaOf(formulaLines(full(own), catalog), reference && formulaLines(full(reference), catalog)).join('\n');
  assert.match(
    tex({ placement: 'pre', mixing: 'attention', d_model: 128, heads: 4 }),
    /x\^\{\\prime\} = x \+ \\mathrm\{M\}\(\\mathrm\{N\}_\{\\mathrm m\}\(x\)\)\ny = x\^\{\\prime\} \+ .*o_\{4\}.*\\sqrt\{32\}/s,
  );
  assert.match(tex({ mixing: 'mean', causal: true }), /s \\le t/);
  assert.match(
    tex({ dropout: 0.1, residual_dropout: 0.2, gated: true }),
    /\\mathrm\{D\}_\{0\.2\}.*\\mathrm\{D\}_\{0\.1\}/,
  );
  assert.doesNotMatch(tex({ residual: false, placement: 'deepnorm' }), /\\alpha x/);
  assert.match(tex({ placement: 'post', norm: 'none' }), /^y = \\mathrm\{N\}.*\n\\mathrm\{N\}\(x\) = x$/s);
  assert.doesNotMatch(tex({ placement: 'none' }), /\\mathrm\{N\}/);
  assert.doesNotMatch(tex({}, {}), /changed/);
  const marked = tex({ placement: 'pre', activation: 'relu' }, { placement: 'post' });
  assert.equal(marked.match(/\\class\{changed\}/g).length, 2, marked);
});

test('gradients are those that the package’s probe finds', () => {
  for (const own of [
    { d_model: 24, d_ff: 50, placement: 'pre', mixing: 'attention', heads: 4, causal: true, gated: true },
    { d_model: 24, placement: 'post', norm: 'rms_norm', mixing: 'mean', dropout: 0.3, residual_dropout: 0.3 },
    { d_model: 24, placement: 'deepnorm', norm: 'batch_norm', depth: 6 },
    { d_model: 24, placement: 'rezero' },
  ]) {
    const seed = 11;
    const { edges, rows } = gradientsOf(an, own, { rows: 9, seed, inputMean: 0.3, inputStd: 2 });
    assert.equal(rows, 9);
    const block = an.block({ ...own, dropout: 0, residual_dropout: 0 }, { seed });
    const shape = [1, 9, 24];
    const dy = an.random(shape, { seed, stream: 3001 });
    const { sublayers, stream } = block.probe({ data: seededNormal(seed, 216, 0.3, 2), shape }, dy);
    const streams = [...sublayers, stream].map(({ gradient }) => gradient / stream.gradient);
    const names = own.mixing ? ['x', 'middle', 'y'] : ['x', 'y'];
    for (const [i, name] of names.entries()) {
      assert.ok(Math.abs(edges[name] / streams[i] - 1) < 1e-5, `${JSON.stringify(own)}: ${name} ${edges[name]}`);
    }
    assert.equal(edges.y, 1);
    if (own.placement === 'rezero') assert.equal(edges.enter, 0, 'nothing flows through a gate of 0');
    block.dispose();
    dy.dispose();
  }
  assert.equal(an.stats().live, 0);
  assert.throws(
    () => gradientsOf(an, { d_model: 2048, d_ff: 2 ** 13 }, { rows: 1, seed: 1, inputMean: 0, inputStd: 1 }),
    ({ code, detail }) => code === 'TOO_LARGE' && detail.bytes > 2 * MAX_BYTES,
  );
  assert.equal(an.stats().live, 0);
});

test('gradients are computed where they are shown, and not for a name or a colour', () => {
  const context = { configs: [{ fields: { d_model: 8 }, trained: '' }], file: 0 };
  const state = { ...initialState(), panel: 'wiring' };
  assert.equal(wiringJob(state, context), null);
  const shown = { ...state, wiringShow: 'gradient' };
  const job = JSON.stringify(wiringJob(shown, context));
  assert.ok(job.includes('"d_model":8'));
  assert.equal(JSON.stringify(wiringJob({ ...shown, selected: 0, wiringAgainst: 'none' }, context)), job);
  assert.notEqual(JSON.stringify(wiringJob({ ...shown, seed: 8 }, context)), job);
});

test('wider and darker is more, on one scale for all', () => {
  const { scale, steps } = strokeScale([{ edges: { a: 0.02, b: 1 } }, null, { edges: { a: 4, b: 0 } }]);
  assert.ok(Math.abs(steps[0] - 0.02) < 1e-9 && Math.abs(steps[3] - 4) < 1e-9);
  const looks = [0.001, 0.02, 0.1, 1, 4, 9].map(scale);
  for (let i = 1; i < looks.length; i++) {
    assert.ok(looks[i].width >= looks[i - 1].width && looks[i].opacity >= looks[i - 1].opacity);
  }
  assert.ok(looks[1].width < looks[2].width && looks[3].width < looks[4].width);
  assert.ok(scale(0).dash && scale(Number.NaN).dash);
  assert.equal(strokeScale([]), null);
  assert.equal(strokeScale([{ error: {} }]), null);
  const alike = strokeScale([{ edges: { a: 1, b: 1 } }]);
  assert.ok(alike.scale(1).width > 4 && alike.scale(1).width < 6);
});
