// The package itself in Chromium, without a bundler: in a page and in a module worker, in every variant.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { launch, openPage, root, serve, skip } from './harness.js';

// Runs in the browser; what comes back can be cloned.
const program = `
  import { load } from '/lib/index.js';
  export async function run(variant) {
    const an = await load({ variant });
    const block = an.block({ d_model: 16, d_ff: 32, activation: 'silu', gated: true, norm: 'rms_norm' }, { seed: 3 });
    const x = Float32Array.from({ length: 48 }, (_, i) => Math.fround((i % 7) - 3));
    const result = { variant: an.variant, gelu: Array.from(an.activation('gelu_erf', x)),
      y: Array.from(block.forward({ data: x, shape: [3, 16] })), capable: an.capabilities[variant].available };
    an.selfTest();
    an.dispose();
    return result;
  }`;
const worker = `
  import { run } from '/run.js';
  onmessage = ({ data }) => run(data).then(postMessage, (error) => postMessage({ error: String(error) }));`;
const pages = {
  '/': '<!doctype html><link rel="icon" href="data:,"><title>addnorm</title>',
  '/run.js': program,
  '/worker.js': worker,
};

let server;
let browser;
before(async () => {
  if (skip) return;
  server = await serve({ '/lib/': join(root, 'dist/lib') }, pages);
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await server?.close();
});

const inPage = async (variant) => (await import('/run.js')).run(variant);
const inWorker = (variant) =>
  new Promise((resolve, reject) => {
    const own = new Worker('/worker.js', { type: 'module' });
    own.onmessage = ({ data }) => resolve(data);
    own.onerror = (event) => reject(new Error(event.message));
    own.postMessage(variant);
  });

test('B43, B45 page and worker run every variant; simd with the same bits as here, the others within a tolerance', {
  skip,
}, async () => {
  const { page, finish } = await openPage(browser, server.origin);
  await page.goto(`${server.origin}/`);
  const results = {};
  for (const variant of ['scalar', 'simd', 'relaxed']) {
    results[variant] = await page.evaluate(inPage, variant);
    assert.equal(results[variant].variant, variant);
    assert.equal(results[variant].capable, true);
    assert.deepEqual(await page.evaluate(inWorker, variant), results[variant], `${variant} in a worker`);
  }
  // In Node, by the same package: simd gives the same bits on every engine.
  const { load } = await import('../../dist/lib/index.js');
  const an = await load({ variant: 'simd' });
  const block = an.block({ d_model: 16, d_ff: 32, activation: 'silu', gated: true, norm: 'rms_norm' }, { seed: 3 });
  const x = Float32Array.from({ length: 48 }, (_, i) => Math.fround((i % 7) - 3));
  assert.deepEqual(results.simd.y, Array.from(block.forward({ data: x, shape: [3, 16] })));
  assert.deepEqual(results.simd.gelu, Array.from(an.activation('gelu_erf', x)));
  const size = Math.max(...results.simd.y.map(Math.abs));
  for (const variant of ['scalar', 'relaxed']) {
    const errors = results[variant].y.map((value, i) => Math.abs(value - results.simd.y[i]));
    assert.ok(Math.max(...errors) <= 1e-6 * size, `${variant}: ${Math.max(...errors)}`);
  }
  await finish();
});

test('`auto` takes relaxed SIMD', { skip }, async () => {
  const { page, finish } = await openPage(browser, server.origin);
  await page.goto(`${server.origin}/`);
  assert.equal((await page.evaluate(inPage, 'relaxed')).variant, 'relaxed');
  assert.equal(await page.evaluate(async () => (await (await import('/lib/index.js')).load()).variant), 'relaxed');
  await finish();
});
