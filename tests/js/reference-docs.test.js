// What the comments of web/lib promise: every example runs and gives what stands behind it, every method has one, and what
// is said of names, fields and sources is what the module says.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { format } from 'node:util';
import { Addnorm, AddnormError, instance, load, root } from './helpers.js';
import { gguf, safetensors } from './weight-files.js';

const formats = await import('../../dist/lib/formats.js');
const tasks = await import('../../dist/lib/tasks.js');
const lib = join(root, 'web/lib');

/** The comments of a file, without their stars, each with the line of code that follows it. */
const comments = (file) =>
  [...readFileSync(join(lib, file), 'utf8').matchAll(/\/\*\*\n(.*?)\*\/\n([^\n]*)/gs)].map(([, text, next]) => ({
    text: text.replace(/^ *\* ?/gm, ''),
    next: next.trim(),
  }));
const examples = readdirSync(lib)
  .filter((file) => file.endsWith('.js'))
  .flatMap((file) =>
    comments(file).flatMap(({ text, next }) =>
      [...text.matchAll(/^```js\n(.*?)^```$/gms)].map(([, code]) => ({ name: `${file}: ${next}`, code })),
    ),
  );

// In the package's folder, so that its name resolves to it.
mkdirSync(join(root, 'dist'), { recursive: true });
const folder = mkdtempSync(join(root, 'dist/examples-'));
after(() => rmSync(folder, { recursive: true }));

/** The file that an example reads. */
const tensors = Object.entries({ gate: [172, 64], up: [172, 64], down: [64, 172], norm: [64] }).map(([name, shape]) => {
  const bytes = Buffer.alloc(shape.reduce((a, b) => a * b) * 4);
  return { name: `blk.0.ffn_${name}.weight`, dtype: 'F32', shape, bytes };
});
const files = {
  readGguf: gguf(tensors, { 'llama.attention.layer_norm_rms_epsilon': 1e-5 }),
  readSafetensors: safetensors(tensors),
};

/** What the examples speak of without making it. */
function given(an, code) {
  const model = an.ffn({ d_model: 64 }, { seed: 1 });
  const stack = an.stack({ d_model: 64 }, { seed: 1 });
  const reader = Object.keys(files).find((name) => code.includes(`${name}(await file`));
  return {
    an,
    AddnormError,
    ...formats,
    ...tasks,
    x: an.random([8, 64], { seed: 1 }),
    logits: an.random([3, 4], { seed: 1 }),
    ffn: model,
    model,
    stack,
    optimizer: an.optimizer('adamw', stack),
    step: 1,
    rows: 8,
    seconds: 1e-3,
    file: reader && new Blob([files[reader]]),
  };
}

const shown = (value) => {
  if (value instanceof Float32Array) return `Float32Array [${[...value].join(', ')}]`;
  return Array.isArray(value) ? `[${value.join(', ')}]` : String(value);
};

for (const { name, code } of examples) {
  test(`the example of ${name} runs, and gives what it says`, async () => {
    const an = await load({ variant: 'simd' });
    const names = given(an, code);
    const imports = [];
    const body = code
      .replace(/^import .*;$/gm, (line) => imports.push(line) && '')
      // `expression; // Float32Array [1, 2]`, `... // [2, 1]`
      .replace(/^([\w.]+(?:\(.*\))?); \/\/ ((?:Float32Array )?\[[^\]]*\])$/gm, (_, value, text) => {
        return `check(${value}, ${JSON.stringify(text)});`;
      });
    const module = join(folder, `${examples.findIndex((one) => one.name === name && one.code === code)}.mjs`);
    const parameters = [...Object.keys(names), 'check', 'console'];
    writeFileSync(module, `${imports.join('\n')}\nexport default async ({ ${parameters} }) => {{\n${body}\n}};\n`);
    const { default: run } = await import(module);
    const printed = [];
    const check = (value, text) => assert.equal(shown(value), text);
    const log = (...values) => printed.push(format(...values));
    await run({ ...names, check, console: { log } });
    for (const [, text] of code.matchAll(/\/\/ prints `(.*?)`/g))
      assert.ok(printed.includes(text), `${text}: ${printed}`);
    an.dispose();
  });
}

test('the examples are many, and some say what they give', () => {
  assert.ok(examples.length >= 35, `${examples.length}`);
  assert.ok(examples.filter(({ code }) => /\/\/ (prints|Float32Array \[)/.test(code)).length >= 8);
});

test('every method of an instance has an example, but for what only ends it, and the plainest', () => {
  const plain = ['constructor', 'dispose', 'zeros', 'stats', 'gluBackward', 'addBackward', 'linearBackward'];
  const like = ['softmaxBackward', 'addNormBackward']; // as normBackward
  const without = Object.getOwnPropertyNames(Addnorm.prototype).filter((method) => {
    return !examples.some(({ name }) => name.startsWith(`core.js: ${method}(`));
  });
  assert.deepEqual(without.sort(), [...plain, ...like].sort());
});

const types = readFileSync(join(lib, 'types.d.ts'), 'utf8');
/** The comment of a configuration's field, on one line. */
const said = (field) => {
  const end = types.indexOf(`  ${field}?: `, types.indexOf('interface FfnConfig'));
  assert.ok(end > 0, field);
  return types.slice(types.lastIndexOf('/**', end), end).replace(/\s*\n\s*\*\s?/g, ' ');
};

test('the tables of names have every name of the module with its source', async () => {
  const an = await instance('simd');
  for (const [declaration, list] of [
    ['export type ActivationName', an.activations],
    ['export type NormName', an.norms],
    ['export type PlacementName', an.placements],
  ]) {
    const rows = types
      .slice(types.lastIndexOf('/**', types.indexOf(declaration)), types.indexOf(declaration))
      .split('\n')
      .map((line) => line.match(/^ \* \| (\w+) \|.*\| (.*?) ?\|$/))
      .filter((row) => row && row[1] !== 'name');
    assert.deepEqual(
      rows.map(([, name]) => name),
      list.map(({ name }) => name),
    );
    for (const [i, [, name, source]] of rows.entries()) {
      if ('source' in list[i]) assert.equal(source, list[i].source, name);
    }
  }
});

test('every field of a configuration is described as the module does it, with its range and default', async () => {
  const an = await instance('simd');
  for (const { name, type, help, min, max, default: normal } of an.fields) {
    const text = said(name).replaceAll('  ', ' ');
    assert.ok(text.includes(help), `${name}: ${text}`);
    if (type === 'int' || type === 'float') assert.ok(text.includes(`From ${min} to ${max}.`), `${name}: ${text}`);
    const value = typeof normal === 'string' ? `\`'${normal}'\`` : normal;
    assert.equal(text.includes('Default '), normal !== null, name);
    if (normal !== null) assert.ok(text.includes(`Default ${value}.`), `${name}: ${text}`);
  }
});

test('defaults of parameters are those of the module', async () => {
  const an = await instance('simd');
  for (const { name, params } of an.activations) {
    for (const { name: param, default: normal } of params) {
      const text = types.slice(types.indexOf('interface ActivationParams'));
      const comment = text
        .slice(0, text.indexOf(`  ${param}?:`))
        .split('/**')
        .at(-1);
      assert.match(comment, new RegExp(`\\b${name}\\b[^.]*: (> 0; )?default ${String(normal).replace('.', '\\.')}\\.`));
    }
  }
});
