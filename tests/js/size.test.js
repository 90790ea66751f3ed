// Size budgets, of what is largest: gzip -9, Node's zlib at level 9 (one percent more for a module) or at its default, 6. A
// budget is raised by a decision, with its reason in the commit.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'vite';
import { libURL } from './helpers.js';

const lib = fileURLToPath(libURL);
const ways = [(input) => execFileSync('gzip', ['-9c'], { input }), (input) => gzipSync(input, { level: 9 }), gzipSync];
const gzipped = (input) => Math.max(...ways.map((way) => way(input).length));
const sizeOf = (files) => files.reduce((sum, file) => sum + gzipped(readFileSync(lib + file)), 0);
const KB = 1024;

/** What a page loads: any one module, and the default entry in a bundle. */
const BUDGET = 60 * KB;
/** The entry that has its module inside. */
const INLINE = 75 * KB;
/** Guards near the figures of today, so that neither grows unseen at the cost of the other. */
const MODULE = 39 * KB;
const BUNDLE = 21.3 * KB;
/** All files of the package's JavaScript that somebody writes, formats and tasks included: half of it is comments, the manual. */
const SHIPPED = 80 * KB;

const modules = ['addnorm.simd.wasm', 'addnorm.relaxed.wasm', 'addnorm.scalar.wasm'];
const text = (/** @type {number} */ size) => `${(size / KB).toFixed(1)} KB (${size} bytes) gzipped`;

/** What a bundler makes of an entry. */
async function bundle(entry) {
  const { output } = await build({
    configFile: false,
    logLevel: 'error',
    build: {
      write: false,
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      rollupOptions: {
        input: lib + entry,
        preserveEntrySignatures: 'strict',
        output: { assetFileNames: '[name]-12345678[extname]' }, // as long as with a hash, which moves the figure by bytes
      },
    },
  });
  return output;
}

test('a module and the JavaScript are at most 60 KB, in a bundle of one script and three modules', async (t) => {
  const output = await bundle('index.js');
  const scripts = output.filter((file) => file.type === 'chunk');
  const assets = output.filter((file) => file.fileName.endsWith('.wasm'));
  assert.deepEqual([scripts.length, assets.length, output.length], [1, 3, 4]);
  const bundled = gzipped(scripts[0].code);
  t.diagnostic(`JavaScript in a bundle: ${text(bundled)}`);
  assert.ok(bundled <= BUNDLE, `JavaScript in a bundle: ${text(bundled)}`);
  for (const file of modules) {
    const size = sizeOf([file]);
    t.diagnostic(`${file}: ${text(size)}, with the JavaScript ${text(size + bundled)}`);
    assert.ok(size <= MODULE, `${file}: ${text(size)}`);
    assert.ok(size + bundled <= BUDGET, `${file} with the JavaScript: ${text(size + bundled)}`);
  }
});

test('addnorm/inline is one script of at most 75 KB', async (t) => {
  const output = await bundle('inline.js');
  assert.equal(output.length, 1);
  const size = gzipped(output[0].code);
  t.diagnostic(`addnorm/inline: ${text(size)}`);
  assert.ok(size <= INLINE, text(size));
});

test(`the JavaScript as it is shipped is at most ${SHIPPED / KB} KB`, (t) => {
  const shipped = sizeOf(readdirSync(lib).filter((file) => file.endsWith('.js') && file !== 'addnorm.simd.js'));
  t.diagnostic(`as shipped: ${text(shipped)}`);
  assert.ok(shipped <= SHIPPED, text(shipped));
});

test('the modules import their memory and nothing else', async () => {
  for (const file of modules) {
    const module = await WebAssembly.compile(readFileSync(lib + file));
    const names = WebAssembly.Module.imports(module).map(({ module: from, name, kind }) => `${from}.${name} ${kind}`);
    assert.deepEqual(names, ['env.memory memory'], file);
  }
});
