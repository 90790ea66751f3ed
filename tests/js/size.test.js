// Size budgets, gzipped. A budget is raised by a decision, with its reason in the commit.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'vite';
import { libURL } from './helpers.js';

const lib = fileURLToPath(libURL);
const sizeOf = (files) => files.reduce((sum, file) => sum + gzipSync(readFileSync(lib + file), { level: 9 }).length, 0);
const KB = 1024;

const budgets = {
  'addnorm.simd.wasm': 45 * KB,
  'addnorm.relaxed.wasm': 45 * KB,
  'addnorm.scalar.wasm': 45 * KB,
};
for (const [file, budget] of Object.entries(budgets)) {
  test(`${file} is at most ${budget / KB} KB`, (t) => {
    const size = sizeOf([file]);
    t.diagnostic(`${file}: ${(size / KB).toFixed(1)} KB gzipped`);
    assert.ok(size <= budget, `${size} bytes`);
  });
}

test('the JavaScript is at most 14 KB in a bundle, and 40 KB as it is shipped, with its comments', async (t) => {
  const { output } = await build({
    configFile: false,
    logLevel: 'error',
    build: {
      write: false,
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      rollupOptions: { input: `${lib}index.js`, preserveEntrySignatures: 'strict' },
    },
  });
  const scripts = output.filter((file) => file.type === 'chunk');
  const modules = output.filter((file) => file.fileName.endsWith('.wasm'));
  assert.deepEqual([scripts.length, modules.length, output.length], [1, 3, 4], 'one script and three modules');
  const bundled = gzipSync(scripts[0].code, { level: 9 }).length;
  const shipped = sizeOf(readdirSync(lib).filter((file) => file.endsWith('.js')));
  t.diagnostic(`${(bundled / KB).toFixed(1)} KB in a bundle, ${(shipped / KB).toFixed(1)} KB as shipped, gzipped`);
  assert.ok(bundled <= 14 * KB, `${bundled} bytes in a bundle`);
  assert.ok(shipped <= 40 * KB, `${shipped} bytes as shipped`);
});

test('the modules import their memory and its growth, and nothing else', async () => {
  for (const file of Object.keys(budgets)) {
    const module = await WebAssembly.compile(readFileSync(lib + file));
    const names = WebAssembly.Module.imports(module).map(({ module: from, name, kind }) => `${from}.${name} ${kind}`);
    assert.deepEqual(names.sort(), ['env.emscripten_notify_memory_growth function', 'env.memory memory'], file);
  }
});
