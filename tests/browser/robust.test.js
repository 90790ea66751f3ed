// What the web does to a page and a package: isolation by headers, storage that is refused, and servers that send
// something else than the module. That it comes back from a browser's cache: engines.test.js.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { eventually, launch, openPage, quickly, root, serve, settled, siteFolder, skip } from './harness.js';

const wasm = readFileSync(join(root, 'dist/lib/addnorm.simd.wasm'));
const isolation = {
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-embedder-policy': 'require-corp',
  'cross-origin-resource-policy': 'same-origin',
};
const empty = '<!doctype html><link rel="icon" href="data:,"><title>addnorm</title>';

let plain;
let isolated;
let browser;
before(async () => {
  if (skip) return;
  assert.ok(existsSync(join(siteFolder, 'index.html')), `${siteFolder} is not there: npm run build makes it`);
  const folders = { '/site/': siteFolder, '/lib/': join(root, 'dist/lib') };
  const texts = { '/': empty, ...quickly('/site/') };
  plain = await serve(folders, texts);
  isolated = await serve(folders, texts, isolation);
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await plain?.close();
  await isolated?.close();
});

const figures = (page) =>
  page.$$eval('#panel tbody tr', (rows) =>
    rows.map((row) => [...row.cells].slice(0, 6).map((cell) => cell.textContent)),
  );

test('B39 isolated by headers and with its storage refused, the page shows the same', { skip }, async () => {
  const hash = '#rows=16';
  const shown = [];
  for (const server of [plain, isolated]) {
    const { page, finish } = await openPage(browser, server.origin);
    if (server === isolated) {
      await page.addInitScript(() => {
        const refuse = () => {
          throw new DOMException('The operation is insecure.', 'SecurityError');
        };
        for (const name of ['localStorage', 'sessionStorage', 'indexedDB', 'caches', 'cookieStore']) {
          Object.defineProperty(window, name, { get: refuse });
        }
        Object.defineProperty(Navigator.prototype, 'serviceWorker', { get: refuse });
        Object.defineProperty(Document.prototype, 'cookie', { get: refuse, set: refuse });
      });
    }
    await page.goto(`${server.origin}/site/${hash}`);
    await settled(page);
    assert.equal(await page.evaluate(() => crossOriginIsolated), server === isolated);
    shown.push(await figures(page));
    await finish();
  }
  assert.ok(shown[0].length >= 2);
  assert.deepEqual(shown[1], shown[0]);
});

test('B37 a server that sends something else than the module is named, and the next load works', { skip }, async () => {
  const { page, finish, faults } = await openPage(browser, plain.origin);
  await page.goto(`${plain.origin}/`);
  const html = '<!doctype html><title>Not found</title>';
  const answers = [
    [{ status: 404, contentType: 'text/html', body: html }, /status 404, content type text\/html\): got HTML/],
    [{ status: 200, contentType: 'text/html', body: html }, /status 200.* is no WebAssembly: got HTML/],
    [{ status: 200, contentType: 'application/wasm', body: wasm.subarray(0, 20_000) }, /does not compile: truncated/],
    [{ status: 200, contentType: 'application/wasm', body: '' }, /is no WebAssembly: got nothing/],
    ['failed', /could not fetch http:.*addnorm\.simd\.wasm: Failed to fetch/],
    [{ status: 200, contentType: 'text/plain', body: wasm }, null],
  ];
  for (const [answer, message] of answers) {
    const path = '**/addnorm.simd.wasm';
    await page.route(path, (route) => (answer === 'failed' ? route.abort('failed') : route.fulfill(answer)));
    const result = await page.evaluate(async () => {
      const { load, AddnormError } = await import('/lib/index.js');
      try {
        return [...(await load({ variant: 'simd' })).activation('relu', Float32Array.of(-1, 2))];
      } catch (error) {
        return { typed: error instanceof AddnormError, code: error.code, text: error.message };
      }
    });
    await page.unroute(path);
    if (!message) {
      assert.deepEqual(result, [0, 2], 'whatever type it is sent with, the module is the module');
      continue;
    }
    assert.deepEqual([result.typed, result.code], [true, 'WASM_LOAD']);
    assert.match(result.text, message);
    assert.match(result.text, /addnorm\/inline/);
  }
  // What the browser itself writes of the answers that failed.
  await eventually(() => assert.equal(faults.length, 3, faults.join('\n')));
  faults.length = 0;
  await finish();
});
