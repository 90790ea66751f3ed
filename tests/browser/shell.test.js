// Block Lab's shell in Chromium: its policy, one file, offline and updates, export and import, keys, small screens. The site is served
// with the Content Security Policy as a header too.
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { PANELS } from '../../web/demo/state.js';
import { POLICY } from '../../web/plugins/policy.js';
import { activations } from '../js/reference.js';
import { launch, oneFile, openLab, openPage, serve, settled, shots, show, siteFolder, skip, still } from './harness.js';

let lab;
before(async () => {
  if (!skip) lab = await openLab({ 'content-security-policy': POLICY });
});
after(() => lab?.close());

const hashOf = (page) => new URL(page.url()).hash.slice(1).split('&').sort().join('&');
/** What a click saves: its name and its content. */
async function saved(page, act) {
  const [download] = await Promise.all([page.waitForEvent('download'), act()]);
  return { name: download.suggestedFilename(), content: readFileSync(await download.path()) };
}
const drawn = (page) => page.waitForSelector('#panel .plot canvas');

// ---- Policy

test('B38 the policy is as agreed, in the page and as a header, and nothing breaks it', { skip }, async () => {
  const agreed =
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; worker-src 'self'; manifest-src 'self'; base-uri 'none'";
  assert.equal(POLICY, agreed);
  const html = readFileSync(join(siteFolder, 'index.html'), 'utf8');
  assert.ok(html.includes(`http-equiv="Content-Security-Policy" content="${agreed}"`));
  assert.ok(html.indexOf('Content-Security-Policy') < html.indexOf('<script'), 'before what it speaks of');
  assert.doesNotMatch(html, /<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=/);
  assert.doesNotMatch(html, /(src|href)="(\/|https?:)/, 'every address is relative');
  assert.match(readFileSync(join(siteFolder, 'NOTICE.txt'), 'utf8'), /PaddleOCR[\s\S]*Apache/);

  const { page, finish } = await openPage(lab.browser, lab.server.origin);
  await page.addInitScript(() => {
    globalThis.violations = [];
    addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI, sourceFile }) => {
      globalThis.violations.push([violatedDirective, blockedURI, sourceFile].join(' '));
    });
  });
  const configs = ['post_norm', 'dyt', 'rezero'].map((id) => `c=${id},preset:${id}`).join('&');
  await page.goto(`${lab.site}#panel=wiring&rows=4&blocks=4&dseeds=1&task=xor&steps=2&${configs}`);
  for (const panel of PANELS) {
    await show(page, panel);
    if (!['wiring', 'weights'].includes(panel)) await drawn(page);
  }
  await page.waitForSelector('math'); // formulas are elements
  await page.keyboard.press('t');
  await page.waitForSelector('.tour dl');
  assert.deepEqual(await page.evaluate(() => globalThis.violations), []);
  await finish();
});

// ---- Faults

test('a panel that throws says so, and the others work', { skip }, async () => {
  const { page, faults, finish } = await openPage(lab.browser, lab.server.origin);
  // The Speed panel's script, whose component throws as long as it is told to.
  const broken = 'function Broken(){if(!globalThis.mended)throw new RangeError("a fault of the test");return null}';
  await page.context().route(/\/speed-[^/]*\.js$/, async (route) => {
    const response = await route.fetch();
    const script = await response.text();
    assert.match(script, /\w+ as SpeedPanel/);
    await route.fulfill({
      response,
      body: `${script.replace(/[\w$]+ as SpeedPanel/, 'Broken as SpeedPanel')}\n${broken}`,
    });
  });
  await page.goto(`${lab.site}#panel=speed&rows=4`);
  const message = await page.waitForSelector('#panel [role=alert]');
  assert.match(await message.textContent(), /^Not computed: RangeError a fault of the test\s*Run again$/);
  for (const panel of ['forward', 'wiring']) {
    await show(page, panel);
    assert.equal(await page.$('#panel [role=alert]'), null);
  }
  // There it is shown again, in the other language too; once the cause is gone the button is enough.
  await page.click('#tab-speed');
  await page.keyboard.press('l');
  await page.waitForSelector('html[lang=zh-CN]');
  await page.waitForSelector('#panel [role=alert] >> text=/RangeError a fault of the test/');
  await page.evaluate(() => {
    globalThis.mended = true;
  });
  await page.click('#panel [role=alert] button');
  await page.waitForSelector('#panel [role=alert]', { state: 'detached' });
  const others = faults.splice(0).filter((fault) => !fault.includes('a fault of the test'));
  assert.deepEqual(others, []);
  await finish();
});

// ---- One file

test('the page in one file opens from file://, computes, trains and has the weights', { skip }, async () => {
  const { page, finish } = await openPage(lab.browser, 'file:');
  await page.goto(`${pathToFileURL(oneFile)}#panel=forward&rows=16`);
  await settled(page);
  const first = await page.textContent('#panel tbody tr');
  await page.selectOption('#weights', 'ppocr_0');
  await page.waitForFunction(
    (before) => document.querySelectorAll('#panel tbody tr')[1]?.textContent !== before,
    first,
  );
  await settled(page);
  assert.doesNotMatch(await page.textContent('#panel tbody'), /not computed/);
  await page.waitForSelector('math');
  await page.evaluate(() => {
    location.hash = '#panel=training&task=xor&steps=20&tdepth=2&c=A,preset:pre_norm';
  });
  await page.waitForFunction(() => document.querySelector('#panel')?.textContent.includes('step 20 of 20'));
  const href = await page.getAttribute('.status-bar a', 'href');
  assert.match(Buffer.from(href.split(',')[1], 'base64').toString(), /PaddleOCR[\s\S]*Apache/);
  await finish();
  const html = readFileSync(oneFile, 'utf8');
  assert.doesNotMatch(
    html.replace(/<script type="module">[\s\S]*<\/script>/, ''),
    /(src|href)="(?!data:)/,
    'nothing beside it',
  );
  assert.match(html, /http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'sha256-/);
});

// ---- Offline

test('after the first visit it works offline, and an update replaces it as a whole', { skip }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'addnorm-site-'));
  cpSync(siteFolder, folder, { recursive: true });
  const folders = { '/under/a/path/': folder };
  const server = await serve(folders);
  const browser = await launch();
  try {
    const { page, faults } = await openPage(browser, server.origin, { serviceWorkers: 'allow' });
    const site = `${server.origin}/under/a/path/`;
    await page.goto(site);
    await drawn(page);
    await page.waitForFunction(() => navigator.serviceWorker.controller !== null);

    // Offline: everything is there, also what has not been loaded before.
    folders['/under/a/path/'] = join(folder, 'nothing');
    await page.goto(`${site}#panel=forward&rows=8&lang=zh`);
    await settled(page);
    await page.reload();
    await settled(page);
    await page.selectOption('#weights', 'ppocr_1');
    await page.waitForSelector('math');
    await settled(page);
    await page.click('#tab-training');
    await page.waitForSelector('#panel .plot canvas');
    await page.click('button:has-text("导览")');
    await page.waitForSelector('.tour dl');
    assert.ok((await page.goto(`${site}NOTICE.txt`)).ok());

    // A new version: another title in a script and in the page, another hash in the worker.
    const next = mkdtempSync(join(tmpdir(), 'addnorm-site-'));
    cpSync(folder, next, { recursive: true });
    const edit = (file, change) => writeFileSync(join(next, file), change(readFileSync(join(next, file), 'utf8')));
    edit('index.html', (html) => html.replace('<title>Block Lab', '<title>Newer Lab'));
    edit('sw.js', (script) => script.replace(/VERSION = "\w+"/, 'VERSION = "newer"'));
    folders['/under/a/path/'] = next;
    await page.goto(site);
    assert.match(await page.title(), /^Block Lab/, 'the version that is complete');
    await page.waitForSelector('.notice >> text=newer version');
    assert.match(await page.title(), /^Block Lab/, 'an open page stays what it is');
    await page.click('.notice button');
    await page.waitForFunction(() => document.title.startsWith('Newer Lab'));
    await drawn(page);
    const names = await page.evaluate(() => caches.keys());
    assert.equal(names.length, 2, 'this version and the one before');
    assert.ok(
      names.every((name) => name.includes('/under/a/path/')),
      'named by its address',
    );
    rmSync(next, { recursive: true });
    // Offline the browser looks for a newer worker in vain.
    assert.deepEqual(
      faults.filter((fault) => !/status of 404/.test(fault)),
      [],
    );
  } finally {
    await browser.close();
    await server.close();
    rmSync(folder, { recursive: true });
  }
});

// ---- What is loaded when

/** The files that a page fetches, by their names without the hash: sizes in bytes as a host sends them. */
function fetched(page) {
  const files = new Map();
  page.on('response', async (response) => {
    const name = response
      .url()
      .split('/')
      .at(-1)
      .replace(/-[\w-]{8}(?=\.\w+$)/, '');
    files.set(name, gzipSync(await response.body(), { level: 9 }).length);
  });
  return files;
}

test('the first visit is of at most 250 KB, in either language', { skip }, async () => {
  for (const [locale, heading] of [
    ['en-US', 'Depth'],
    ['zh-CN', '深度'],
  ]) {
    const { page, finish } = await openPage(lab.browser, lab.server.origin, { locale });
    const files = fetched(page);
    await page.addInitScript(() => {
      globalThis.tabs = new Set();
      const look = () => {
        globalThis.tabs.add(document.querySelector('#tab-depth')?.textContent);
        requestAnimationFrame(look);
      };
      look();
    });
    await page.goto(lab.site);
    await drawn(page);
    await page.waitForSelector('math');
    await settled(page);
    assert.deepEqual(
      await page.evaluate(() => [...globalThis.tabs].filter(Boolean)),
      [heading],
      'never in another language',
    );
    assert.equal(files.has('zh.js'), locale === 'zh-CN');
    const total = [...files.values()].reduce((sum, bytes) => sum + bytes, 0);
    assert.ok(total <= 250 * 1024, `${total} bytes: ${[...files].join(' ')}`);
    await finish();
  }
});

test('the other language is fetched when it is wanted; where that fails the page says so and stays as it is', {
  skip,
}, async () => {
  const { page, faults, finish } = await lab.open('panel=wiring&rows=4');
  await page.waitForSelector('.inspector');
  await page.route('**/zh-*.js', (route) => route.abort());
  await page.keyboard.press('l');
  await page.waitForSelector('.notice >> text=could not be loaded');
  assert.equal(await page.getAttribute('html', 'lang'), 'en');
  faults.length = 0; // what the browser says of the request
  await page.unroute('**/zh-*.js');
  await page.hover('nav >> text=中文');
  await page.waitForSelector('html[lang=zh-CN]');
  assert.equal(await page.textContent('#tab-wiring'), '结构');
  assert.equal(await page.$('.notice'), null);
  await finish();
});

test('where the formulas’ library cannot be loaded they are there as TeX, and the next ones try again', {
  skip,
}, async () => {
  const { page, faults, finish } = await lab.open('panel=wiring&rows=4');
  await page.route('**/temml-*.js', (route) => route.abort());
  await page.reload();
  await page.waitForSelector('.formula code >> text=y = ');
  assert.deepEqual(
    faults.filter((fault) => fault.startsWith('error')),
    [],
  );
  faults.length = 0; // what the browser says of the request
  await page.unroute('**/temml-*.js');
  await page.selectOption('#field-placement', 'peri');
  await page.waitForSelector('.formula math');
  await finish();
});

test('the manifest is relative, and its icon is there', { skip }, async () => {
  const manifest = JSON.parse(readFileSync(join(siteFolder, 'manifest.webmanifest'), 'utf8'));
  assert.deepEqual([manifest.start_url, manifest.scope], ['./', './']);
  for (const { src } of manifest.icons) assert.match(readFileSync(join(siteFolder, src), 'utf8'), /<svg/);
});

// ---- Export and import

test('a chart is saved as SVG, PNG and CSV, from its card and from the menu', { skip }, async () => {
  const { page, finish } = await lab.open('panel=forward&rows=64&c=A%20%3C%20B,preset:post_norm&c=Pre,preset:pre_norm');
  await settled(page);
  await page.click('.chart >> nth=1 >> .disclosure button');
  const svg = await saved(page, () => page.click('.chart >> nth=1 >> text=SVG'));
  assert.equal(svg.name, 'block-lab-size-of-the-signal-through-the-block.svg');
  // The browser itself reads it: two lines in the configurations' colours, their names, the axes, where it is from.
  const inside = await page.evaluate((text) => {
    const document = new DOMParser().parseFromString(text, 'image/svg+xml');
    return {
      error: document.querySelector('parsererror')?.textContent,
      texts: [...document.querySelectorAll('text')].map((node) => node.textContent),
      lines: [...document.querySelectorAll('path[stroke="#0072b2"]')].length,
      desc: document.querySelector('desc').textContent,
    };
  }, svg.content.toString());
  assert.equal(inside.error, undefined);
  for (const wanted of ['Size of the signal through the block', 'A A < B', 'B Pre', 'norm', '1']) {
    assert.ok(inside.texts.includes(wanted), `${wanted} is in ${inside.texts.join(' | ')}`);
  }
  assert.ok(inside.texts.some((text) => /^Block Lab · addnorm 0\.1\.0, relaxed, seed 7, \d{4}-\d\d-\d\d$/.test(text)));
  assert.ok(inside.lines >= 2, 'a line and its markers');
  assert.ok(inside.desc.startsWith(`${lab.site}#`), 'the link is in it');

  const open = () => page.click('nav button:has-text("Export")');
  await open();
  const png = await saved(page, () => page.click('.export-list li >> nth=0 >> text=PNG'));
  assert.equal(png.content.subarray(1, 4).toString(), 'PNG');
  const [width, height] = [16, 20].map((at) => png.content.readUInt32BE(at));
  const box = await (await page.$('.chart >> nth=0 >> .plot')).boundingBox();
  assert.ok(width >= 2 * Math.floor(box.width) && height > 2 * box.height, `${width} × ${height} is twice the chart`);
  writeFileSync(join(shots, 'export.png'), png.content);

  await open();
  const csv = await saved(page, () => page.click('.export-list li >> nth=1 >> text=CSV'));
  const rows = csv.content
    .toString()
    .slice(1)
    .trim()
    .split('\r\n')
    .map((line) => line.split(','));
  assert.deepEqual(rows[0], ['RMS', 'A A < B', 'B Pre']);
  const sum = rows.find(([name]) => name === 'sum');
  await page.click('.chart >> nth=1 >> button:has-text("Table")');
  await page.waitForSelector('.chart >> nth=1 >> tbody tr');
  const shown = await page.textContent('.chart >> nth=1 >> tbody tr:has-text("sum") td');
  assert.equal(Number(sum[1]).toPrecision(3), shown, 'the same number');
  assert.ok(sum[1].length > 10, 'with all its digits');

  // Where the table has some of the points: each with all digits, and in its own column.
  await show(page, 'activations');
  await settled(page);
  await open();
  const curves = await saved(page, () => page.click('.export-list li >> nth=0 >> text=CSV'));
  const [functions, ...points] = curves.content.toString().slice(1).trim().split('\r\n');
  assert.equal(functions, 'x,A B GELU φ,ReLU φ,SiLU φ');
  assert.ok(points.length > 30);
  for (const point of points) {
    const [x, ...values] = point.split(',').map(Number);
    for (const [c, name] of ['gelu_erf', 'relu', 'silu'].entries()) {
      const want = activations[name].f(x);
      assert.ok(Math.abs(values[c] - want) <= 1e-6 * Math.abs(want), `${name} at ${x}: ${values[c]}`);
    }
  }

  await page.click('#tab-wiring');
  await settled(page);
  await open();
  const drawing = await saved(page, () => page.click('.export-list li >> nth=0 >> text=SVG'));
  assert.match(drawing.content.toString(), /<svg viewBox="0 0 [^>]*>.*<text[^>]*font-size[^>]*>LayerNorm/s);
  await finish();
});

test('everything is saved as JSON and opened again; a damaged file says why', { skip }, async () => {
  const hash = 'panel=forward&c=One,preset:t5_base,eps:0.001&c=Two,d_model:96&rows=12&seed=99&signal=branch&theme=dark';
  const { page, finish } = await lab.open(hash);
  await settled(page);
  await page.waitForFunction(() => location.hash.includes('v=2'));
  const before = hashOf(page);
  await page.click('nav button:has-text("Export")');
  const { name, content } = await saved(page, () => page.click('text=Save JSON'));
  assert.match(name, /^block-lab-\d{4}-\d\d-\d\d\.json$/);
  const file = JSON.parse(content);
  assert.deepEqual([file.addnorm, file.variant, file.results.length], ['0.1.0', 'relaxed', 2]);
  assert.ok(file.results[1].output.std > 0 && file.results[1].times.relaxed.median > 0 && file.units.median);
  await finish();

  const again = await lab.open('panel=forward&rows=4');
  await again.page.waitForSelector('#seed');
  const give = async (buffer, named = 'x.json') => {
    if (!(await again.page.isVisible('.opened'))) await again.page.click('nav button:has-text("Export")');
    await again.page.setInputFiles('[data-import]', { name: named, mimeType: 'application/json', buffer });
  };
  await give(content.subarray(0, 500), 'cut.json');
  await again.page.waitForSelector('.notice[role=alert] >> text=/cut.json: Not valid JSON, or cut off/');
  await again.page.fill('#seed', '8');
  await again.page.press('#seed', 'Enter');
  await again.page.waitForFunction(() => !document.querySelector('.notice')); // gone with an edit of the input
  await give(Buffer.from('{"a": 1}'));
  await again.page.waitForSelector('.notice[role=alert] >> text=/Not a file saved by Block Lab/');
  await give(Buffer.from(JSON.stringify({ ...file, state: { ...file.state, rows: -3 } })));
  await again.page.waitForSelector('.notice[role=alert] >> text=/"rows" cannot be -3/');
  await again.page.screenshot({ path: join(shots, 'import-error.png') });
  await give(content);
  await again.page.waitForFunction(() => location.hash.includes('Two'));
  await still(again.page);
  assert.equal(hashOf(again.page), before);
  assert.equal(await again.page.$('.notice'), null);
  // Undo takes it back; dropped onto the page it is opened too.
  await again.page.click('[aria-label=Undo]');
  await again.page.waitForFunction(() => !location.hash.includes('Two'));
  await again.page.evaluate((text) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([text], 'saved.json'));
    document.body.dispatchEvent(new DragEvent('drop', { dataTransfer: transfer, bubbles: true, cancelable: true }));
  }, content.toString());
  await again.page.waitForFunction(() => location.hash.includes('Two'));
  await again.finish();
});

// ---- Keys

test('single keys: panels, configurations, language, theme, the list; none while typing, none if switched off', {
  skip,
}, async () => {
  const { page, finish } = await lab.open('panel=wiring&rows=4');
  await settled(page);
  const tab = () => page.getAttribute('[role=tab][aria-selected=true]', 'id');
  for (const [i, panel] of PANELS.entries()) {
    await page.keyboard.press(String(i + 1));
    assert.equal(await tab(), `tab-${panel}`);
  }
  await page.keyboard.press('2');
  await settled(page);
  await page.keyboard.press('k');
  assert.equal(await page.textContent('.config-card.selected .letter'), 'A');
  const cards = (count) =>
    page.waitForFunction((wanted) => document.querySelectorAll('.config-card').length === wanted, count);
  await page.keyboard.press('d');
  await page.keyboard.press('d');
  await cards(4);
  await page.keyboard.press('Control+z'); // one of them, however fast they came
  await cards(3);
  await page.keyboard.press('Control+z');
  await cards(2);
  await page.keyboard.press('Control+Shift+z');
  await cards(3);
  await page.keyboard.press('l');
  await page.waitForSelector('html[lang=zh-CN]');
  await page.keyboard.press('l');
  await page.keyboard.press('m');
  await page.keyboard.press('m');
  await page.waitForSelector('html[data-theme=dark]');
  await page.keyboard.press('s');
  await page.waitForFunction(() => !document.querySelector('.sidebar'));
  await page.keyboard.press('s');
  await page.waitForSelector('.sidebar');
  await page.keyboard.press('a');
  await page.waitForSelector('dialog[open] input[type=search]');
  await page.keyboard.press('Escape');
  await still(page); // the focus is back

  await page.focus('#seed');
  await page.keyboard.press('3');
  assert.equal(await tab(), 'tab-forward', 'typed, not obeyed');
  await page.focus('#field-norm');
  await page.keyboard.press('d');
  assert.equal((await page.$$('.config-card')).length, 3, 'a letter chooses in a list');

  await page.focus('[role=tab][aria-selected=true]');
  await page.keyboard.press('?');
  await page.waitForSelector('dialog[open] kbd');
  await page.keyboard.press('3');
  assert.equal(await tab(), 'tab-forward', 'none behind a dialog');
  await page.screenshot({ path: join(shots, 'shortcuts.png') });
  await page.click('dialog input[type=checkbox]');
  await page.keyboard.press('Escape');
  await page.waitForFunction(() => document.activeElement?.id === 'tab-forward');
  await still(page);
  await page.keyboard.press('3');
  assert.equal(await tab(), 'tab-forward', 'switched off');
  await finish();
});

test('a key finds the dialog that the key before it opened, however soon it comes', { skip }, async () => {
  const { page, finish } = await lab.open('panel=forward&rows=4');
  await settled(page);
  for (const [key, dialog] of [
    ['a', 'add-dialog'],
    ['?', 'shortcut-dialog'],
  ]) {
    // Where it is when the dialog comes to be, and whether Escape closes it then.
    const seen = await page.evaluate(
      ([opening, look]) =>
        new Promise((done) => {
          const press = (pressed) =>
            (document.activeElement ?? document.body).dispatchEvent(
              new KeyboardEvent('keydown', { key: pressed, bubbles: true, cancelable: true }),
            );
          const observer = new MutationObserver(() => {
            const opened = document.querySelector(`.${look}`);
            if (!opened) return;
            observer.disconnect();
            const inside = opened.contains(document.activeElement);
            press('Escape');
            requestAnimationFrame(() => done([inside, document.querySelectorAll(`.${look}`).length]));
          });
          observer.observe(document.body, { subtree: true, childList: true });
          press(opening);
        }),
      [key, dialog],
    );
    assert.deepEqual(seen, [true, 0], dialog);
    await still(page);
  }
  // What is found first is added by Enter, though the list follows what is typed a frame later.
  await page.keyboard.press('a');
  await page.keyboard.type('smol');
  await page.keyboard.press('Enter');
  await page.waitForSelector('.config-card >> nth=2 >> text=SmolLM2-135M');
  assert.equal(await page.$('dialog[open]'), null);
  await finish();
});

test('by keyboard alone: skip link, a field, a chart, a menu, and the focus comes back', { skip }, async () => {
  const { page, finish } = await lab.open('panel=forward&rows=4');
  await settled(page);
  const focused = () => page.evaluate(() => document.activeElement.id || document.activeElement.textContent.trim());
  await page.keyboard.press('Tab');
  assert.equal(await focused(), 'Skip to the panel');
  await page.keyboard.press('Enter');
  assert.equal(await focused(), 'panel');
  // What is focused by keyboard can be seen.
  for (let i = 0; i < 12; i++) {
    await page.keyboard.press('Tab');
    const outline = await page.evaluate(() => {
      const node = document.activeElement;
      const shown = node.matches('.segmented input') ? node.nextElementSibling : node;
      return getComputedStyle(shown).outlineStyle;
    });
    assert.notEqual(outline, 'none', await focused());
  }
  await page.focus('nav button:has-text("Export")');
  await page.keyboard.press('Enter');
  await page.waitForSelector('.opened:focus');
  await page.keyboard.press('Tab');
  assert.equal(await focused(), 'Save JSON');
  await page.keyboard.press('Escape');
  await still(page);
  assert.equal(await page.$('.opened'), null);
  assert.equal(await focused(), 'Export');
  // A panel that goes away does not take the focus with it.
  await page.focus('#panel .plot');
  await page.keyboard.press('6');
  await page.waitForSelector('#panel .bars');
  await page.waitForFunction(() => document.activeElement.id === 'panel');
  await finish();
});

// ---- Small screens

for (const [width, language] of [
  [390, 'zh'],
  [320, 'en'],
]) {
  test(`${width} px: seven tabs, the shown one in view, and nothing scrolls sideways`, { skip }, async () => {
    const options = { viewport: { width, height: 780 }, isMobile: true, hasTouch: true, deviceScaleFactor: 2 };
    const { page, finish } = await lab.open(`panel=wiring&rows=4&steps=2&blocks=4&dseeds=1&lang=${language}`, options);
    for (const panel of PANELS) {
      await show(page, panel);
      const { left, right } = await page.$eval(`#tab-${panel}`, (node) => node.getBoundingClientRect());
      assert.ok(left >= 0 && right <= width, `${panel}: ${left} to ${right}`);
      // A phone would widen its window to what does not fit.
      const widths = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
      assert.deepEqual(widths, [width, width], panel);
    }
    const beyond = await page.$$eval(
      '.top-bar *',
      (all, edge) =>
        all.filter((node) => node.getBoundingClientRect().right > edge).map((node) => node.outerHTML.slice(0, 80)),
      width,
    );
    assert.deepEqual(beyond, []);
    await page.click('#tab-speed');
    await page.click(`[aria-label=${language === 'en' ? 'Export' : '导出'}]`);
    await page.waitForSelector('.opened .export-list li');
    await page.screenshot({ path: join(shots, `${width}-export.png`) });
    await finish();
  });
}
