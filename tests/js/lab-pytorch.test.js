// The PyTorch code of a block. Without PyTorch: fixtures/run_block.py has what the code uses of it on lists of numbers, so
// that its wiring, norms and activations run, with the module's parameters, and give the module's own result.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { describe } from '../../web/demo/compute.js';
import { completed, resolved } from '../../web/demo/fields.js';
import { seededNormal } from '../../web/demo/numbers.js';
import { PRESETS } from '../../web/demo/presets.js';
import { pytorchCode } from '../../web/demo/pytorch.js';
import { instance, values, worst } from './shared.js';

const an = await instance('simd');
const catalog = describe(an);
const python = spawnSync('python3', ['--version']);
const skip = python.status !== 0 && 'python3 is not there';

const codeOf = (own, title = 'A block') => {
  const full = resolved(completed(own, catalog.fields), catalog);
  return pytorchCode(
    full,
    catalog.activations.find(({ name }) => name === full.activation),
    title,
  );
};

function inPython(cases) {
  const script = fileURLToPath(new URL('fixtures/run_block.py', import.meta.url));
  const { status, stdout, stderr } = spawnSync('python3', [script], {
    input: JSON.stringify(cases),
    maxBuffer: 1 << 28,
    encoding: 'utf8',
  });
  assert.equal(status, 0, stderr);
  return JSON.parse(stdout);
}

/** up_bias → ffn.up.bias, mixing_norm_alpha → mixing_norm.alpha, norm_running_mean → norm.norm.running_mean */
function nameInPython(name) {
  const running = /^(.*norm2?)_(running_\w+)$/.exec(name);
  if (running) return `${running[1]}.norm.${running[2]}`;
  const norm = /^((?:mixing_)?norm2?)_(weight|bias|alpha)$/.exec(name);
  if (norm) return `${norm[1]}.${norm[2]}`;
  if (/^(mixing_)?scale$/.test(name)) return name;
  const [, matrix, bias] = /^(.*?)(_bias)?$/.exec(name);
  const branch = /^(query|key|value|out)/.test(name) ? 'mixing' : 'ffn';
  const head = /^(query|key)_norm_weight$/.exec(name);
  return head ? `mixing.${head[1]}_norm.weight` : `${branch}.${matrix}.${bias ? 'bias' : 'weight'}`;
}

const MIXINGS = [
  { mixing: 'none' },
  { mixing: 'mean' },
  { mixing: 'mean', causal: true },
  { mixing: 'attention', heads: 3 },
  { mixing: 'attention', heads: 2, causal: true, qk_norm: true },
];

// Every pair of placement and norm, every activation; the rest in turns.
function* configurations() {
  let count = 0;
  const turn = (list, every) => list[Math.floor(count / every) % list.length];
  const sizes = { d_model: 12, d_ff: 20, depth: 3, layer: 3, groups: 3, init: 'xavier_normal', norm_alpha: 0.8 };
  const activations = catalog.activations.map(({ name }) => name);
  for (const { name: placement } of catalog.placements) {
    for (const { name: norm } of catalog.norms) {
      for (const [i, mixing] of MIXINGS.entries()) {
        if ((count + i) % 3 === 0) {
          yield {
            ...sizes,
            ...mixing,
            placement,
            norm,
            activation: turn(activations, 1),
            gated: turn([true, false], 2),
            residual: turn([true, true, false], 3),
            bias: turn([true, false], 5),
            affine: turn(['weight_bias', 'weight', 'none', null], 1),
            weight_offset: turn([0, 1], 7),
            dropout: turn([0, 0.1], 2),
            residual_dropout: turn([0, 0.2], 3),
            eps: 1e-3,
          };
        }
        count++;
      }
    }
  }
}

test('the code is Python that gives what the block gives', { skip }, () => {
  const configs = [...configurations()];
  const shape = [2, 4, 12];
  const expected = [];
  const cases = configs.map((own, i) => {
    const block = an.block(own, { seed: i });
    // Other values than the initial ones, so that nothing passes for being 0 or 1.
    for (const [n, parameter] of Object.values({ ...block.parameters, ...block.buffers }).entries()) {
      parameter.set(seededNormal(64 * i + n, parameter.size, 0.4, 0.3).map(Math.abs));
    }
    const data = seededNormal(i, 96, 0.2, 1);
    expected.push(values(block.forward({ data, shape })));
    const parameters = Object.entries({ ...block.parameters, ...block.buffers }).map(([name, tensor]) => [
      nameInPython(name),
      [...tensor.toArray()],
    ]);
    block.dispose();
    return { code: codeOf(own), parameters: Object.fromEntries(parameters), x: { shape, data: [...data] } };
  });
  const got = inPython(cases);
  const seen = new Set();
  for (const [i, own] of configs.entries()) {
    for (const entry of Object.entries(own)) seen.add(entry.join(' '));
    const { error } = worst(Float32Array.from(got[i].y), expected[i]);
    assert.ok(
      error <= 2e-5 * Math.max(...expected[i].map(Math.abs)),
      `${JSON.stringify(own)}: ${error}\n${cases[i].code}`,
    );
  }
  for (const list of ['activations', 'norms', 'placements'])
    for (const { name } of catalog[list]) assert.ok(seen.has(`${list.slice(0, -1)} ${name}`), name);
});

test('a norm over one feature gives its bias, as in the package', { skip }, () => {
  const own = { d_model: 1, d_ff: 4, norm: 'layer_norm_std', placement: 'post' };
  const block = an.block(own, { seed: 1 });
  block.parameters.norm_bias.set(Float32Array.of(0.25));
  const data = seededNormal(1, 6, 0.2, 1);
  assert.deepEqual([...values(block.forward({ data, shape: [2, 3, 1] }))], Array(6).fill(0.25));
  const parameters = Object.entries(block.parameters).map(([name, tensor]) => [
    nameInPython(name),
    [...tensor.toArray()],
  ]);
  block.dispose();
  const [got] = inPython([
    { code: codeOf(own), parameters: Object.fromEntries(parameters), x: { shape: [2, 3, 1], data: [...data] } },
  ]);
  assert.deepEqual(got.y, Array(6).fill(0.25));
});

test('the code’s initial weights are of the module’s distribution', { skip }, () => {
  const inits = catalog.fields.find(({ name }) => name === 'init').options;
  const configs = inits.flatMap((init) => [
    { d_model: 24, d_ff: 40, init, init_std: 0.3, gated: true, bias: init !== 'normal' },
    { d_model: 24, d_ff: 40, init, init_std: 0.3, mixing: 'attention', depth: 3, beta: 0.5 },
  ]);
  const got = inPython(configs.map((own) => ({ code: codeOf(own) })));
  for (const [i, own] of configs.entries()) {
    const block = an.block(own, { seed: 3 });
    for (const [name, tensor] of Object.entries(block.parameters)) {
      const initial = got[i].parameters[nameInPython(name)];
      const data = tensor.toArray();
      const what = `${JSON.stringify(own)}: ${name}`;
      const uniform = /uniform|pytorch|zero/.test(own.init);
      const size = uniform
        ? Math.max(...data.map(Math.abs))
        : Math.sqrt(data.reduce((sum, value) => sum + value * value, 0) / data.length);
      assert.ok(Math.abs(size - Math.abs(initial[0])) <= 0.12 * size, `${what}: ${size}, in Python ${initial[0]}`);
      assert.equal(initial.length, data.length, what);
    }
    block.dispose();
  }
});

test('every preset’s code compiles, and is as long as its lines', { skip }, () => {
  const codes = PRESETS.map(({ name, values: own }) => codeOf(own, name));
  const check = 'import ast, json, sys\nfor code in json.load(sys.stdin): ast.parse(code)';
  const { status, stderr } = spawnSync('python3', ['-c', check], { input: JSON.stringify(codes), encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  for (const code of codes) {
    for (const line of code.split('\n')) assert.ok(line.length <= 110 && !/\s$|undefined|NaN|null/.test(line), line);
  }
});

test('special parameters and odd values are written out', () => {
  const act = (own) => /hidden = (.*)/.exec(codeOf(own))[1];
  assert.equal(act({ activation: 'selu' }), 'F.selu(up)');
  assert.equal(act({ activation: 'selu', activation_p0: 2 }), '1.0507009873554805 * F.elu(up, 2)');
  assert.equal(act({ activation: 'gelu_erf' }), 'F.gelu(up)');
  assert.equal(act({ activation: 'gelu_tanh', gated: true }), 'F.gelu(gate, approximate="tanh") * self.up(x)');
  assert.equal(act({ activation: 'hard_sigmoid', gated: true }), '(0.2 * gate + 0.5).clamp(0, 1) * self.up(x)');
  assert.match(codeOf({ norm: 'layer_norm' }), /nn\.LayerNorm\(768, eps=1e-5\)/);
  assert.match(codeOf({ norm: 'rms_norm', weight_offset: 1 }), /x \* \(self\.weight \+ 1\)/);
  assert.match(codeOf({ placement: 'deepnorm', depth: 24 }), /self\.norm\(2\.21336\d* \* x \+ self\.ffn\(x\)\)/);
  assert.doesNotMatch(codeOf({ norm: 'none' }), /norm/i);
});
