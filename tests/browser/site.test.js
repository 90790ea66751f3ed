// The site as a whole: the page, the API reference and the charts of the benchmarks, under a path of its own on a plain
// static server. Its reference is made here, in 12 seconds of processor time: `npm test` builds the page alone.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { bundled, inReference, notices, onlyNamed } from '../../web/notices.js';
import { launch, openPage, root, serve, siteFolder, skip } from './harness.js';

let site;
let said;
before(async () => {
  site = mkdtempSync(join(tmpdir(), 'addnorm-site-'));
  cpSync(siteFolder, site, { recursive: true });
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [join(root, 'web/build-docs.js'), site]);
  said = stdout + stderr;
});
after(() => rmSync(site, { recursive: true }));

test('the reference is complete: typedoc finds nothing without documentation, not exported or linked wrongly', () => {
  const { validation, treatWarningsAsErrors } = JSON.parse(readFileSync(join(root, 'web/typedoc.json'), 'utf8'));
  assert.ok(treatWarningsAsErrors && validation.notDocumented && validation.notExported && validation.invalidLink);
  assert.equal(said, '');
  for (const page of ['index.html', 'classes/addnorm.Addnorm.html', 'functions/addnorm_formats.readSafetensors.html']) {
    assert.ok(existsSync(join(site, 'api', page)), page);
  }
});

test('every link within the site leads to a file, and nothing is loaded from elsewhere', () => {
  const pages = readdirSync(site, { recursive: true }).filter((file) => file.endsWith('.html'));
  const wrong = [];
  let links = 0;
  for (const page of pages) {
    const html = readFileSync(join(site, page), 'utf8');
    for (const [, element, attribute, address] of html.matchAll(/<(\w+)\b[^>]*?\s(href|src|content)="([^"]*)"/g)) {
      if (attribute === 'content' || /^(data:|#)/.test(address)) continue;
      links++;
      if (/^https?:/.test(address)) {
        if (element !== 'a') wrong.push(`${page}: <${element}> from ${address}`);
        continue;
      }
      const target = resolve(dirname(join(site, page)), decodeURI(address.replace(/[?#].*/, '')));
      const inside = !relative(site, target).startsWith('..');
      if (address.startsWith('/') || !inside || !existsSync(target)) wrong.push(`${page}: ${address}`);
    }
  }
  assert.deepEqual([...new Set(wrong)], []);
  assert.ok(pages.length > 50 && links > 5000, `${links} links of ${pages.length} pages`);
  for (const style of readdirSync(join(site, 'api/assets')).filter((file) => file.endsWith('.css'))) {
    const text = readFileSync(join(site, 'api/assets', style), 'utf8');
    const loaded = [...text.matchAll(/@import\s+(\S+)|url\(["']?([^)"']*)/g)].map(([, sheet, file]) => sheet ?? file);
    const wanted = (address) => !/^(data:|#)/.test(address) && !existsSync(join(site, 'api/assets', address));
    assert.deepEqual(loaded.filter(wanted), [], style);
  }
});

test('NOTICE.txt has the licence of every package whose code the site contains, and another cannot get in', () => {
  const text = readFileSync(join(site, 'NOTICE.txt'), 'utf8');
  assert.equal(text, notices());
  for (const name of [...bundled, ...inReference]) {
    const { version } = JSON.parse(readFileSync(join(root, 'node_modules', name, 'package.json'), 'utf8'));
    const [, licence] = text.split(`\n${name} ${version} (`);
    assert.match(licence.split('\n-----')[0], /Permission is hereby granted|TERMS AND CONDITIONS FOR USE/, name);
  }
  assert.match(text, /PaddleOCR[\s\S]*Apache License, Version 2\.0/);

  const bundle = (id) => () => {
    const error = (message) => {
      throw new Error(message);
    };
    onlyNamed.generateBundle.call(
      { error },
      {},
      { 'a.js': { modules: { [`${root}web/demo/app.jsx`]: {}, [id]: {} } } },
    );
  };
  bundle(`${root}node_modules/@preact/signals/dist/signals.module.js`)();
  bundle('\0vite/preload-helper.js')();
  assert.throws(bundle(`${root}node_modules/@some/where/index.js`), /@some\/where is bundled/);
  assert.throws(bundle(`${root}node_modules/comlink/node_modules/inner/index.js`), /inner is bundled/);
});

test('nothing of this machine is in the reference', () => {
  for (const file of readdirSync(join(site, 'api'), { recursive: true })) {
    if (!/\.(html|js)$/.test(file)) continue;
    assert.ok(!readFileSync(join(site, 'api', file), 'utf8').includes(root.slice(0, -1)), file);
  }
});

test('the page leads to the reference, which is searched, and the charts are shown', { skip }, async () => {
  if (!existsSync(join(site, 'bench'))) {
    // As `npm run bench` leaves it.
    mkdirSync(join(site, 'bench'));
    writeFileSync(join(site, 'bench/index.html'), '<!doctype html><link rel="icon" href="data:,"><h1>Benchmarks</h1>');
  }
  const server = await serve({ '/some/path/': site });
  const browser = await launch();
  try {
    // With its service worker, which answers for the page alone.
    const { page, finish } = await openPage(browser, server.origin, { serviceWorkers: 'allow' });
    await page.goto(`${server.origin}/some/path/`);
    await page.evaluate(async () => {
      await navigator.serviceWorker.ready;
      if (navigator.serviceWorker.controller) return;
      await new Promise((done) => navigator.serviceWorker.addEventListener('controllerchange', done, { once: true }));
    });
    await page.click('footer a[href*="api/"]');
    await page.waitForURL(/\/some\/path\/api\/(index\.html)?$/);
    assert.match(await page.title(), /^addnorm/);
    assert.ok(await page.locator('h1', { hasText: 'addnorm' }).count());

    await page.keyboard.press('/');
    await page.fill('#tsd-search-input', 'softmaxBackward');
    await page.click('#tsd-search-results a >> nth=0');
    await page.waitForSelector('text=The gradient of softmax');

    await page.click('a:has-text("Block Lab")');
    await page.waitForSelector('#panel');
    await page.goto(`${server.origin}/some/path/bench/`);
    assert.equal(await page.textContent('h1'), 'Benchmarks');
    await finish();
  } finally {
    await browser.close();
    await server.close();
  }
});
