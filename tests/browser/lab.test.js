// Block Lab in Chromium, from the built site under a path of its own: what it computes against the package in Node, every
// control, files, errors, languages, themes, widths. Each page fails on a console error and on a request to another host.
// Screenshots go to dist/screenshots; with ADDNORM_SCREENSHOT=1 the README's is made anew.
import assert from 'node:assert/strict';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { seededNormal } from '../../web/demo/numbers.js';
import {
  settled as atRest,
  eventually,
  openLab,
  openPage,
  root,
  shots,
  show,
  siteFolder,
  skip,
  still,
  undo,
} from './harness.js';

let lab;
before(async () => {
  if (!skip) lab = await openLab();
});
after(() => lab?.close());

/** Most of what is tested here is in the Forward panel. */
const open = (hash = '', options = {}) => lab.open(hash.includes('panel=') ? hash : `panel=forward&${hash}`, options);

const PANEL = '#panel';
/** Waits until nothing is computed and every row of the statistics is there. */
async function settled(page) {
  await atRest(page);
  await page.waitForFunction(
    () => document.querySelector('#panel tbody tr')?.closest('tbody').textContent.includes('…') === false,
  );
}
/** The cells of the first table, as text. */
const rowsOf = (page) =>
  page.$$eval(`${PANEL} .table-box tbody >> nth=0`, ([body]) =>
    [...body.rows].map((row) => [...row.cells].map((cell) => cell.textContent.trim())),
  );
/** A mean below rounding is shown as ≈ 0. */
const toNumber = (text) => Number(text.replace('≈ 0', '0').replaceAll('−', '-').replaceAll('\u202f', ''));
/** Three significant digits were shown; what is zero but for rounding may be anything as small. */
function near(shown, expected, what, zero = 1e-6) {
  const got = toNumber(shown);
  assert.ok(
    Math.abs(got - expected) <= 0.006 * Math.abs(expected) + zero,
    `${what}: shown ${shown}, expected ${expected}`,
  );
}

// The package in Node, with statistics of this test's own.
async function inNode(fields, { rows, seed, data, weights }) {
  const { load } = await import('../../dist/lib/index.js');
  const an = await load();
  const block = an.block(fields, { seed });
  for (const [name, values] of Object.entries(weights ?? {})) block.parameters[name].set(values);
  const x = data ?? seededNormal(seed, rows * fields.d_model, 0, 1);
  const y = block.forward({ data: x, shape: [1, rows, fields.d_model] });
  const mean = y.reduce((sum, value) => sum + value / y.length, 0);
  const std = Math.sqrt(y.reduce((sum, value) => sum + (value - mean) ** 2 / y.length, 0));
  an.dispose();
  return { mean, std, min: Math.min(...y), max: Math.max(...y) };
}

function compare(cells, { mean, std, min, max }, what) {
  near(cells[2], mean, `${what} mean`);
  near(cells[3], std, `${what} std`);
  near(cells[4], min, `${what} min`);
  near(cells[5], max, `${what} max`);
}

const small = { d_model: 128, d_ff: 512, init: 'xavier_normal' };

test('a first visit compares two configurations, with the figures that Node gives', { skip }, async () => {
  const { page, finish } = await open('', { timing: true });
  await settled(page);
  const rows = await rowsOf(page);
  assert.equal(rows.length, 2);
  compare(rows[0], await inNode({ ...small, placement: 'post' }, { rows: 256, seed: 7 }), 'A');
  compare(rows[1], await inNode({ ...small, placement: 'pre' }, { rows: 256, seed: 7 }), 'B');
  for (const row of rows) assert.match(row[row.length - 1], /^[\d.]+ ± [\d.]+\u202f[mµ]s$/, 'time with its spread');
  assert.equal(rows[0][2], '≈ 0', 'the mean after a norm is rounding');
  assert.match(await page.getAttribute('abbr[title*="e−"]', 'title'), /^−?[\d.]+e−\d+$/);
  assert.match(await page.textContent('.explain'), /seed 7\. A \(Post-Norm\).* B \(Pre-Norm\).*Xiong et al\. 2020/);
  assert.ok((await page.$$('.plot canvas')).length >= 2, 'two charts are drawn');
  await page.waitForSelector('math >> nth=2'); // formulas are MathML, and come later
  assert.match(
    await page.textContent('.status-bar'),
    /relaxed SIMD.*FLOP\/s = [\d.]+\u202f% of this browser’s peak.*wasm memory.*seed 7/s,
  );
  await page.screenshot({ path: join(shots, 'forward.png') });
  await finish();
});

test('a preset is added, a field edited, all of it undone and redone', { skip }, async () => {
  const { page, finish } = await open('rows=16');
  await settled(page);
  await page.click('text=Add a configuration');
  await page.screenshot({ path: join(shots, 'add.png') });
  await page.fill('dialog input[type=search]', 'smol');
  await page.click('dialog li button:has-text("SmolLM2-135M")');
  await settled(page);
  const llama = { activation: 'silu', gated: true, bias: false, norm: 'rms_norm', placement: 'pre', init: 'normal' };
  const smol = { ...llama, d_model: 576, d_ff: 1536, eps: 1e-5, init_std: 0.0416667 };
  compare((await rowsOf(page))[2], await inNode(smol, { rows: 16, seed: 7 }), 'SmolLM2');

  await page.selectOption('#field-activation', 'relu');
  await settled(page);
  compare((await rowsOf(page))[2], await inNode({ ...smol, activation: 'relu' }, { rows: 16, seed: 7 }), 'edited');
  await page.waitForFunction(() => location.hash.includes('c=SmolLM2-135M,preset:smollm2_135m,activation:relu'));
  await page.waitForSelector('.field.differs .not-a'); // what differs from A is marked
  await page.screenshot({ path: join(shots, 'inspector.png') });

  const typed = page.locator('.field:has(#field-d_ff) .typed');
  await typed.fill('1.5');
  await typed.press('Enter');
  assert.match(await page.textContent('#field-d_ff-error'), /whole number/);
  assert.doesNotMatch(page.url(), /d_ff/);
  await typed.fill('512');
  await typed.press('Enter');
  await page.waitForFunction(() => location.hash.includes('d_ff:512'));
  await page.click('.field:has(#field-d_ff) button.reset');
  await page.waitForFunction(() => !location.hash.includes('d_ff'));

  const slider = page.locator('#field-d_ff');
  await slider.focus();
  await page.keyboard.press('ArrowLeft');
  await page.waitForFunction(() => /d_ff:\d+/.test(location.hash));

  await page.click('text=As many weights as A'); // 2 · 128 · 512 of A's, 3 · 576 a row of this
  await page.waitForFunction(() => location.hash.includes('d_ff:76&') || location.hash.endsWith('d_ff:76'));

  for (let i = 0; i < 8; i++) if (await page.isEnabled('[aria-label=Undo]')) await undo(page);
  await page.waitForFunction(() => !location.hash.includes('SmolLM2'));
  await page.click('[aria-label=Redo]');
  await page.waitForFunction(() => location.hash.includes('SmolLM2'));
  await finish();
});

test('a link with names that there are not still opens every panel', { skip }, async () => {
  const damaged =
    'rows=4&c=A,d_model:-5,norm:foo,placement:bar,activation:on,mixing:zz,init:on&c=B,preset:gone,d_model:16,placement:deepnorm,alpha:zz&c=C,init:normal,init_std:1000,placement:none';
  const { page, finish } = await open(damaged);
  await page.waitForSelector(`${PANEL} .explain`);
  assert.match(await page.textContent('.error-text >> nth=0'), /Not computed.*got -5/);
  await page.waitForSelector('.sidebar >> text=This page has no preset "gone"');
  for (const panel of ['wiring', 'activations', 'depth', 'weights', 'forward']) {
    await page.click(`#tab-${panel}`);
    await page.waitForSelector(`${PANEL}[aria-labelledby=tab-${panel}][aria-busy="false"]`);
    // Narrower it would need more than the field allows.
    if (panel === 'depth') await page.waitForSelector('.explain >> text=/init_std of C raised to 1000, the most that/');
  }
  await finish();
});

test('back and forward lead from link to link', { skip }, async () => {
  const { page, finish } = await open('panel=wiring&rows=4&c=First,preset:pre_norm');
  const card = (name) => page.waitForSelector(`.config-card >> nth=0 >> text=${name}`);
  await card('First');
  await page.waitForFunction(() => location.hash.startsWith('#v=2'));
  // As the page itself writes it: nothing is left to write.
  const second = '#v=2&c=Second,preset:post_norm&panel=wiring&rows=4&selected=0';
  await page.evaluate((hash) => {
    location.hash = hash;
  }, second);
  await card('Second');
  await page.goBack();
  await card('First');
  assert.match(page.url(), /c=First/);
  await page.goForward();
  await card('Second');
  assert.ok(page.url().endsWith(second), page.url());
  await finish();
});

test('links and keys that follow each other within a frame leave no error', { skip }, async () => {
  const { page, finish } = await open('panel=wiring&rows=4');
  await page.waitForSelector('.tex math');
  await page.evaluate(async () => {
    const press = (key) =>
      document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
    const acts = [
      ...['pre_norm', 'deepnorm', 'dyt'].map((preset) => () => {
        location.hash = `v=2&c=B,preset:${preset}&panel=wiring&rows=4&selected=0`;
      }),
      ...'t2t1tn3'.split('').map((key) => () => press(key)),
    ];
    for (let i = 0; i < 100; i++) {
      acts[i % acts.length]();
      await new Promise((resolve) => setTimeout(resolve, [0, 8, 16, 24, 32, 40, 48][i % 7]));
    }
  });
  await show(page, 'wiring');
  await atRest(page);
  await page.waitForSelector('.tex math');
  await finish();
});

test('rename, duplicate and remove by the menu, with the keyboard', { skip }, async () => {
  const { page, finish } = await open('rows=4');
  await settled(page);
  await page.focus('.config-card >> nth=0 >> .dots');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Enter'); // the first entry: rename
  await page.keyboard.type('Été 块 & co, x:1');
  await page.keyboard.press('Enter');
  await page.waitForSelector('.config-card >> text=Été 块 & co, x:1');
  await page.focus('.config-card >> nth=0 >> .dots');
  await page.keyboard.press('Enter');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.waitForSelector('.config-card >> nth=2');
  assert.match(await page.textContent('.config-card >> nth=2'), /x:1 2/);
  await page.focus('.config-card >> nth=2 >> .dots');
  await page.keyboard.press('Enter');
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.querySelectorAll('.config-card').length === 2);
  await finish();
});

test('the link restores the state', { skip }, async () => {
  const hash =
    'v=2&panel=forward&c=One,preset:t5_base,eps:0.001&c=Two,d_model:96,norm:dyt,residual:off&rows=12&seed=99&signal=branch&log=on&lang=en&theme=dark';
  const { page, finish } = await open(hash);
  await settled(page);
  assert.equal(new URL(page.url()).hash.slice(1).split('&').sort().join('&'), hash.split('&').sort().join('&'));
  assert.equal(await page.getAttribute('html', 'data-theme'), 'dark');
  assert.ok(await page.isChecked('input[name=signal][value=branch]'));
  assert.equal(await page.inputValue('#seed'), '99');
  assert.equal(await page.inputValue('#field-norm'), 'dyt');
  assert.equal(await page.getAttribute('#field-residual', 'aria-checked'), 'false');
  const rows = await rowsOf(page);
  compare(rows[1], await inNode({ d_model: 96, norm: 'dyt', residual: false }, { rows: 12, seed: 99 }), 'Two');
  await page.evaluate(() => {
    location.hash = '#c=Pasted,d_model:32&rows=3';
  });
  await page.waitForSelector('.config-card >> text=Pasted');
  await finish();
});

test('language and theme', { skip }, async () => {
  const { page, finish } = await open('rows=16');
  await settled(page);
  await page.click('text=中文');
  await page.waitForSelector('html[lang=zh-CN]');
  assert.equal(await page.textContent('[role=tab][aria-selected=true]'), '前向');
  await still(page);
  assert.match(await page.textContent('.inspector'), /残差连接[\s\S]*前馈网络[\s\S]*激活函数/);
  await page.screenshot({ path: join(shots, 'forward-zh.png') });
  await page.click('text=English');
  await page.click('[aria-label^="Theme"]');
  await page.click('[aria-label^="Theme"]');
  await page.waitForSelector('html[data-theme=dark]');
  await settled(page);
  await page.screenshot({ path: join(shots, 'forward-dark.png') });
  await finish();
});

test('the browser’s language and colour scheme are taken up', { skip }, async () => {
  const { page, finish } = await open('', { locale: 'zh-CN', colorScheme: 'dark' });
  await settled(page);
  assert.equal(await page.getAttribute('html', 'lang'), 'zh-CN');
  assert.equal(await page.getAttribute('html', 'data-theme'), 'dark');
  await finish();
});

test('scales that differ widely: the spike is named, and ÷ σ shows its shape', { skip }, async () => {
  const { page, finish } = await open('rows=32&signal=branch&c=A,preset:pre_norm&c=B,preset:layer_scale');
  await settled(page);
  const note = () => page.textContent('.chart >> nth=0 >> .note');
  assert.match(await note(), /B too narrow/);
  await page.check('.chart >> nth=0 >> [aria-label*="standard deviation"]');
  await page.waitForFunction(() => /std of its own/.test(document.querySelector('.chart .note').textContent));
  assert.doesNotMatch(await note(), /too narrow/);
  await page.waitForFunction(() => location.hash.includes('sigma=on'));
  await page.screenshot({ path: join(shots, 'sigma.png') });
  await finish();
});

// ---- Files

function npy(shape, data, descr = '<f4') {
  const text = `{'descr': '${descr}', 'fortran_order': False, 'shape': (${shape.join(', ')},), }`;
  const header = Buffer.alloc(10 + Math.ceil((text.length + 11) / 64) * 64 - 10, ' ');
  header.write('\x93NUMPY\x01\0', 'latin1');
  header.writeUInt16LE(header.length - 10, 8);
  header.write(text, 10);
  header.write('\n', header.length - 1);
  return Buffer.concat([header, Buffer.from(data.buffer)]);
}
const choose = (page, name, buffer) =>
  page.setInputFiles('input[type=file]', { name, mimeType: 'application/octet-stream', buffer });

test('a file of numbers is the input; one that is not says why and changes nothing', { skip }, async () => {
  const { page, finish } = await open();
  await settled(page);
  const data = Float32Array.from({ length: 5 * 128 }, (_, i) => Math.fround(3 * Math.sin(i)));
  await choose(page, 'good.npy', npy([5, 128], data));
  await page.waitForSelector('.file-chip >> text=5 × 128');
  await settled(page);
  const expected = await inNode({ ...small, placement: 'pre' }, { rows: 5, seed: 7, data });
  compare((await rowsOf(page))[1], expected, 'file');
  await page.screenshot({ path: join(shots, 'file.png') });

  for (const [name, content, message] of [
    ['double.npy', npy([5, 128], data, '<f8'), /dtype is <f8.*float32/],
    ['narrow.json', Buffer.from(JSON.stringify([[1, 2, 3]])), /last axis has 3 .*d_model is 128/],
    ['ragged.csv', Buffer.from('1,2\n3'), /line 2/],
    ['cut.npy', npy([5, 128], data).subarray(0, 900), /cut off/],
  ]) {
    await choose(page, name, content);
    await page.waitForSelector(`#input-error >> text=${name}`);
    assert.match(await page.textContent('#input-error'), message);
    compare((await rowsOf(page))[1], expected, `after ${name}`);
  }
  await page.screenshot({ path: join(shots, 'file-error.png') });

  await page.click('[aria-label="Remove the file"]');
  await settled(page);
  compare(
    (await rowsOf(page))[1],
    await inNode({ ...small, placement: 'pre' }, { rows: 256, seed: 7 }),
    'seeded again',
  );
  assert.equal(await page.$('#input-error'), null);
  await choose(page, 'cut.json', Buffer.from('[[1, 2'));
  await page.waitForSelector('#input-error >> text=cut.json');
  await page.click('[aria-label="Another seed"]');
  assert.equal(await page.$('#input-error'), null, 'an edit of the input takes the error away');
  await finish();
});

test('a dropped file is taken; NaN in it is counted and named', { skip }, async () => {
  const { page, finish } = await open();
  await settled(page);
  const rows = [Array(128).fill(1), Array.from({ length: 128 }, (_, i) => i)];
  rows[0][3] = null;
  await page.evaluate((text) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([text], 'dropped.json'));
    for (const type of ['dragenter', 'dragover', 'drop']) {
      document.body.dispatchEvent(new DragEvent(type, { dataTransfer: transfer, bubbles: true, cancelable: true }));
    }
  }, JSON.stringify(rows));
  await page.waitForSelector('.file-chip >> text=dropped.json');
  await settled(page);
  const cells = (await rowsOf(page))[0];
  assert.ok(cells.includes('NaN 128 of 256'), cells.join(' | '));
  await page.screenshot({ path: join(shots, 'not-finite.png') });
  await finish();
});

// ---- Trained weights, errors, cancel

test('the trained blocks run', { skip }, async () => {
  const { page, finish } = await open('rows=40&c=Seeded,preset:pre_norm');
  await settled(page);
  for (const block of [0, 1]) {
    await page.selectOption('#weights', `ppocr_${block}`);
    await page.waitForSelector(`.config-card >> text=PP-OCRv4 block ${block + 1}`);
    await settled(page);
    const file = (extension) => readFileSync(join(siteFolder, `models/ppocrv4_rec_block${block}.${extension}`));
    const bytes = file('bin');
    const numbers = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
    const weights = Object.fromEntries(
      JSON.parse(file('json')).parameters.map(({ name, shape, offset }) => [
        name,
        numbers.slice(offset, offset + shape.reduce((a, b) => a * b)),
      ]),
    );
    const fields = { d_model: 120, d_ff: 240, activation: 'silu', norm: 'layer_norm', eps: 1e-5, placement: 'pre' };
    compare((await rowsOf(page))[0], await inNode(fields, { rows: 40, seed: 7, weights }), `block ${block + 1}`);
    assert.ok(await page.isDisabled('#field-d_model'), 'its sizes are fixed');
    assert.ok(await page.isEnabled('#field-placement'));
  }
  await page.screenshot({ path: join(shots, 'trained.png') });
  await finish();
});

test('an error stands at its configuration and its control, the others run', { skip }, async () => {
  const { page, finish } = await open(
    'rows=8&c=Good,preset:pre_norm&c=Groups,preset:pre_norm,norm:group_norm,groups:5&c=Huge,d_model:65536,d_ff:65536',
  );
  await settled(page);
  const rows = await rowsOf(page);
  compare(rows[0], await inNode({ ...small, placement: 'pre' }, { rows: 8, seed: 7 }), 'the good one');
  assert.match(await page.textContent('.config-card >> nth=1'), /groups.*divides d_model.*INVALID_ARGUMENT/s);
  assert.match(await page.textContent('.config-card >> nth=2'), /OUT_OF_MEMORY/);
  assert.match(await page.textContent('#field-groups-error'), /divides d_model/);
  await page.screenshot({ path: join(shots, 'errors.png') });
  await page.evaluate(() => location.assign(`${location.hash}&lang=zh`));
  await page.waitForSelector('.config-card >> nth=1 >> text=“组数”的取值无效');
  await still(page);
  assert.match(
    await page.textContent('.config-card >> nth=1 >> small >> nth=-1'),
    /divides d_model/,
    'its own words too',
  );
  assert.match(await page.textContent('.config-card >> nth=2'), /内存不足/);
  await page.screenshot({ path: join(shots, 'errors-zh.png') });
  await page.evaluate(() => location.assign(location.hash.replace('lang=zh', 'lang=en')));
  await page.waitForSelector('text=Configurations');
  await page.click('.config-card >> nth=1 >> .config-main');
  await still(page);
  const typed = page.locator('.field:has(#field-groups) .typed');
  await typed.fill('4');
  await typed.press('Enter');
  await page.waitForFunction(() => !document.querySelectorAll('.config-card')[1].querySelector('.config-error'));
  await finish();
});

test('a long run shows how far it is, and can be cancelled and run again', { skip }, async () => {
  const { page, finish } = await open('panel=speed&rows=2000&c=A,preset:bert_base&c=B,preset:bert_base');
  await page.waitForSelector('.run-note button');
  await page.screenshot({ path: join(shots, 'progress.png') });
  await page.click('.run-note button');
  await page.waitForSelector('.run-note >> text=Cancelled.');
  await page.waitForSelector(`${PANEL}[aria-busy="false"]`);
  // Small again: it runs to its end.
  await page.evaluate(() => {
    location.hash = '#panel=speed&rows=4&c=A,preset:pre_norm';
  });
  await page.waitForSelector('.bar-row.scalar .bar');
  await settled(page);
  await finish();
});

const ROOFLINE = '.chart:has(canvas), .chart:has(table)'; // the first in the Speed panel
const rooflineRows = (page) =>
  page.$$eval(`${PANEL} .chart tbody tr`, (all) => all.map((row) => [...row.cells].map((cell) => cell.textContent)));
/** "44.3 ± 0.6 GFLOP/s" → 44.3e9 */
const quantity = (text) => {
  const [, digits, prefix] = text.match(/^([\d.]+)(?: ± [\d.]+)?\u202f([kMGT]?)/);
  return Number(digits) * { '': 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12 }[prefix];
};
/** A share of at least two digits, out of figures of three. */
function isShare(shown, part, whole, what) {
  const share = toNumber(shown.replace('%', '')) / 100;
  const expected = part / whole;
  const rounding = expected < 0.1 ? 0.05 * expected : 0.005;
  assert.ok(Math.abs(share - expected) <= rounding + 0.011 * expected, `${what}: ${shown}, not ${part} / ${whole}`);
}

test('speed: every variant is measured, with its spread, its cost and its place under the roof', { skip }, async () => {
  const hash = 'c=A,preset:post_norm&c=Bee,preset:smollm2_135m&panel=speed&rows=4&variant=simd';
  const { page, finish } = await open(hash, { timing: true }); // its pictures show speeds
  await page.waitForSelector('.bars .bar');
  // Another theme does not begin anew.
  await page.keyboard.press('m');
  await page.keyboard.press('m');
  await page.waitForFunction(() => document.documentElement.dataset.theme === 'dark');
  // Nor does what has been measured get lost where another panel is looked at meanwhile.
  const bars = (await page.$$('.bars .bar')).length;
  assert.ok(bars > 0);
  await page.click('#tab-wiring');
  await page.waitForSelector(`${PANEL}[aria-labelledby=tab-wiring] .wiring`);
  await page.click('#tab-speed');
  await page.waitForSelector('.bars');
  await page.waitForTimeout(200); // a new run has begun
  assert.ok((await page.$$('.bars .bar')).length >= bars);
  await settled(page);
  await page.keyboard.press('m');
  await still(page);
  assert.equal((await page.$$('.bars .bar')).length, 6);
  const timings = await rowsOf(page);
  assert.equal(timings.length, 6);
  for (const row of timings) {
    assert.match(row[3], /^[\d.]+ ± [\d.]+\u202f[mµ]s$/);
    assert.match(row[7], /^9 × /);
    assert.ok(toNumber(row[4]) > 0);
  }
  const below = (title) => page.locator(`${PANEL} section:has(h2:text-is("${title}"))`);
  const cost = await below('What a forward pass costs').textContent();
  assert.match(cost, /132\u202fk/, 'parameters: 2 · 128 · 512 + 512 + 128 + 2 · 128');
  await page.screenshot({ path: join(shots, 'speed.png') });
  // The parts: the shares are of the block's own time, in the last row of each configuration.
  const parts = await below('Where the time goes').evaluate((card) =>
    [...card.querySelectorAll('tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent)),
  );
  const kernels = ['norm', 'matrix products', 'activation', 'residual addition', 'block'];
  assert.deepEqual(
    parts.map((row) => row[1]),
    [...kernels, ...kernels],
  );
  const seconds = (text) => toNumber(text.split(' ')[0]) * (text.endsWith('µs') ? 1e-6 : 1e-3);
  for (const [i, [, kernel, , time, share]] of parts.entries()) {
    if (kernel !== 'block') isShare(share, seconds(time), seconds(parts[i < 5 ? 4 : 9][3]), kernel);
  }
  const norms = below('LayerNorm against RMSNorm').locator('tbody tr');
  assert.deepEqual(
    await norms.evaluateAll((rows) => rows.map((row) => row.cells[1].textContent)),
    ['4 × 128', '4 × 576'],
    'of each configuration',
  );
  for (const title of ['Time against tokens', 'Time against width'])
    assert.equal(await below(title).locator('canvas').count(), 1);
  // Saved: the figures of the table and of the chart in plain numbers, in one unit.
  const savedFrom = async (title) => {
    await page.click('nav button:has-text("Export")');
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.click(`.export-list li:has-text("${title}") >> text=CSV`),
    ]);
    const [head, ...lines] = readFileSync(await download.path(), 'utf8')
      .slice(1)
      .trim()
      .split('\r\n');
    return [head, ...lines.map((line) => line.split(','))];
  };
  const [head, ...saved] = await savedFrom('Every variant in figures');
  assert.match(head, /^configuration,variant,tokens,time per forward \(µs\),/);
  assert.equal(saved.length, timings.length);
  for (const [i, cells] of saved.entries()) {
    const shown = seconds(timings[i][3]);
    assert.ok(Math.abs((1e-6 * cells[3]) / shown - 1) < 0.006, `${cells[3]} µs are ${shown} s`);
  }
  const [sizes, ...sweep] = await savedFrom('Time against tokens');
  assert.match(sizes, /^tokens,A A \(µs\),/);
  assert.deepEqual(
    sweep.map(([rows]) => rows),
    ['1', '2', '4', '8', '16', '64', '256', '1024'].slice(0, sweep.length),
  );
  assert.ok(sweep.length > 0 && sweep.every(([, time]) => Number(time) > 0));
  await below('Where the time goes').scrollIntoViewIfNeeded();
  await page.screenshot({ path: join(shots, 'speed-parts.png') });

  // The roofline: every share is of the limit shown.
  await page.focus('.chart .plot');
  await page.keyboard.press('ArrowRight');
  await page.waitForFunction(() =>
    /FLOP\/B; .*A\s[\d.]+\s=\s[\d.]+\u202f%/.test(document.querySelector('.readout').textContent),
  );
  await page.keyboard.press('Escape');
  await page.screenshot({ path: join(shots, 'roofline.png') });
  await page.click(`${ROOFLINE} >> button`);
  await page.waitForSelector(`${PANEL} .chart tbody tr`);
  await settled(page);
  const rows = await rooflineRows(page);
  assert.deepEqual(
    rows.map(([name, variant]) => `${name.trim()[0]} ${variant}`),
    ['A', 'B'].flatMap((letter) => ['relaxed', 'simd', 'scalar'].map((variant) => `${letter} ${variant}`)),
  );
  // Operations and bytes by the shapes: the matrices' products are nearly all of it.
  const intensities = [
    [2 * 128 * 512, 128],
    [3 * 576 * 1536, 576],
  ].map(([weights, d]) => (2 * weights * 4) / (4 * (weights + 2 * 4 * d)));
  for (const [i, row] of rows.entries()) {
    const [name, variant, ofRoof, bound, ofPeak, rate, roof, intensity, peak, reading, times] = row;
    const what = `${name} ${variant}`;
    isShare(ofPeak, Number(rate) * 1e9, quantity(peak), `${what}, of the peak`);
    isShare(ofRoof, Number(rate), Number(roof), `${what}, of its roof`);
    const slope = Number(intensity) * quantity(reading);
    near(roof, Math.min(slope, quantity(peak)) / 1e9, `${what}, roof`, 0.01 * Number(roof));
    if (slope < 0.97 * quantity(peak)) assert.equal(bound, 'memory', what);
    if (slope > 1.03 * quantity(peak)) assert.equal(bound, 'arithmetic', what);
    const expected = intensities[Math.floor(i / 3)];
    assert.ok(Math.abs(intensity / expected - 1) < 0.03, `${what}: ${intensity} FLOP/B, by the shapes ${expected}`);
    assert.match(reading, /± .* over (500\u202fk|10\u202fM)B$/);
    assert.match(times, /^9 · [4-9]$/, `${what}: ${times}`);
  }
  // The status bar says the same of the selected configuration.
  const selected = rows[3 + 1];
  const bar = page.locator('.status-bar .share');
  assert.ok((await bar.textContent()).startsWith(` = ${selected[4]} of this browser’s peak`), await bar.textContent());
  assert.ok((await bar.getAttribute('title')).startsWith(`Peak ${selected[8]}, `));
  const shown = (await page.textContent('.status-bar')).match(/B ([\d.]+\u202f[GM])FLOP/)[1];
  near(String(quantity(shown) / 1e9), Number(selected[5]), 'status bar');

  await page.click('text=中文');
  await page.waitForSelector('html[lang^=zh]');
  await still(page);
  assert.match(await page.textContent('.status-bar'), /FLOP\/s = 本浏览器峰值的 [\d.]+\u202f%/);
  const chinese = await rooflineRows(page);
  assert.deepEqual(
    chinese.map((row) => row[8]),
    rows.map((row) => row[8]),
  );
  assert.match(chinese.map((row) => row[3]).join(' '), /^(算力|内存)( (算力|内存)){5}$/);
  await page.waitForFunction(() => location.hash.includes('lang=zh'));
  const { hash: link } = new URL(page.url());

  // The same times in the Forward panel: it does not measure what has been measured better.
  const times = [timings[1][3], timings[4][3]];
  await page.click('#tab-forward');
  await settled(page);
  assert.deepEqual(
    (await rowsOf(page)).map((row) => row.at(-1)),
    times,
  );
  await finish();

  const again = await open(link.slice(1));
  await again.page.waitForFunction(() => /本浏览器峰值的/.test(document.querySelector('.status-bar')?.textContent));
  assert.ok(await again.page.isChecked('input[name=variant][value=simd]'));
  assert.equal(await again.page.getAttribute('#tab-speed', 'aria-selected'), 'true');
  assert.match(await again.page.textContent('.status-bar'), /^SIMD.*B [\d.]+\u202f[GM]FLOP\/s = 本浏览器峰值的/);
  assert.equal((await rowsOf(again.page)).length, 6);
  await again.finish();
});

test('timing waits while the page is hidden, and goes on', { skip }, async () => {
  const { page, finish } = await openPage(lab.browser, lab.server.origin);
  await page.addInitScript(() => {
    Object.defineProperty(Document.prototype, 'hidden', { get: () => window.away === true });
    // Away as soon as the first figure is drawn: from here it might be after the last one.
    new MutationObserver((_, observer) => {
      if (!document.querySelector('.bar')) return;
      observer.disconnect();
      window.away = true;
      document.dispatchEvent(new Event('visibilitychange'));
    }).observe(document, { childList: true, subtree: true });
  });
  const go = (away) =>
    page.evaluate((value) => {
      window.away = value;
      document.dispatchEvent(new Event('visibilitychange'));
    }, away);
  await page.goto(`${lab.asBuilt}#rows=4&panel=speed&c=A,preset:post_norm`);
  await page.waitForFunction(() => window.away === true);
  // What was on its way arrives, and then nothing is measured.
  await eventually(async () => {
    const timings = await rowsOf(page);
    await page.waitForTimeout(1000);
    assert.deepEqual(await rowsOf(page), timings);
  });
  assert.ok((await rowsOf(page)).some((row) => row.includes('…')));
  assert.equal(await page.getAttribute(PANEL, 'aria-busy'), 'true');
  await go(false);
  await page.waitForSelector('.parts .part'); // which comes after every variant has been timed
  for (const row of await rowsOf(page)) assert.match(row.join(' '), /% .* 9 × /);
  await finish();
});

test('a variant that the browser refuses says why, the others run', { skip }, async () => {
  const { page, finish } = await openPage(lab.browser, lab.server.origin);
  // As Safari has it: relaxed SIMD does not validate.
  const refuse = '{ const can = WebAssembly.validate; WebAssembly.validate = (b) => !b.includes(0x85) && can(b); }';
  await page.addInitScript(refuse);
  await page.context().route(/worker-[^/]*\.js$/, async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, body: `${refuse}\n${await response.text()}` });
  });
  await page.goto(`${lab.site}#panel=speed&rows=4`);
  await page.waitForSelector('.bar-row.scalar .bar');
  await settled(page);
  assert.match(await page.textContent('.bar-row.relaxed'), /refused here: .*relaxed SIMD/);
  assert.equal((await page.$$('.bars .bar')).length, 4);
  assert.ok(await page.isDisabled('input[name=variant][value=relaxed]'));
  assert.match(await page.textContent('.status-bar'), /^SIMD/);
  await page.screenshot({ path: join(shots, 'refused.png') });
  await finish();
});

test('wiring: the drawing follows, a box leads to its field', { skip }, async () => {
  const { page, finish } = await open(
    'panel=wiring&rows=8&c=A,preset:post_norm&c=B,preset:smollm2_135m&c=C,preset:deepnorm&c=D,preset:peri,residual:off',
  );
  await atRest(page);
  const labels = (n) =>
    page.$$eval(
      `${PANEL} .wiring`,
      (all, i) => [...all[i].querySelectorAll('.label')].map((label) => label.textContent),
      n,
    );
  assert.deepEqual(await labels(0), ['up 128→512', 'GELU', 'down 512→128', 'LayerNorm']);
  assert.deepEqual(await labels(1), ['RMSNorm', 'gate', 'up', 'SiLU', 'down 1536→576']);
  assert.ok((await labels(2)).includes('× α = 2.21'));
  assert.deepEqual(
    (await labels(3)).filter((label) => label.startsWith('LayerNorm')),
    ['LayerNorm 1', 'LayerNorm 2'],
  );
  assert.equal((await page.$$(`${PANEL} .stream.broken`)).length, 1, 'without residual the line is broken');
  const covered = await page.$$eval(`${PANEL} .wiring-card`, (cards) =>
    cards.filter((card) => {
      const [head, drawing] = ['header', '.wiring'].map((part) => card.querySelector(part).getBoundingClientRect());
      return drawing.top < head.bottom || drawing.bottom > card.getBoundingClientRect().bottom;
    }),
  );
  assert.equal(covered.length, 0, 'each drawing is below its head and in its card');
  await page.screenshot({ path: join(shots, 'wiring.png') });
  await page.click(`${PANEL} .wiring >> nth=2 >> text=GELU`);
  await page.waitForFunction(() => document.activeElement?.id === 'field-activation');
  assert.ok(await page.isVisible('.config-card.selected >> text=C'));
  await finish();
});

// ---- Access

test('keyboard: tabs, charts, and a name for every control', { skip }, async () => {
  const { page, finish } = await open('rows=16');
  await settled(page);
  await page.focus('[role=tab][aria-selected=true]');
  await page.keyboard.press('ArrowRight');
  assert.equal(await page.textContent('[role=tab][aria-selected=true]'), 'Activations');
  await page.keyboard.press('Home');
  assert.equal(await page.textContent('[role=tab][aria-selected=true]'), 'Wiring');
  await page.keyboard.press('ArrowRight');
  await settled(page);

  await page.focus('.plot >> nth=1');
  await page.keyboard.press('ArrowRight');
  await page.waitForFunction(() =>
    /^x: +A [\d.]+ +B [\d.]+/.test(document.querySelectorAll('.readout')[1].textContent),
  );
  for (const node of await page.$$('.inspector .wiring .node')) {
    await node.focus();
    assert.ok(await node.evaluate((element) => element === document.activeElement), 'a box takes the focus');
  }
  await page.click('.chart >> nth=0 >> button:has-text("Table")');
  await page.waitForSelector('.chart >> nth=0 >> tbody tr');
  await still(page);
  assert.equal((await page.$$('.chart >> nth=0 >> tbody tr')).length, 25);

  for (const panel of ['wiring', 'forward', 'speed']) {
    await show(page, panel);
    const nameless = await page.$$eval(
      'button, input, select, [role=button], [role=switch], svg[role], [role=img]',
      (all) =>
        all
          .filter((node) => node.offsetParent !== null || node instanceof SVGElement)
          .filter((node) => !(node.getAttribute('aria-label') || node.labels?.length || node.textContent.trim()))
          .map((node) => node.outerHTML.slice(0, 120)),
    );
    assert.deepEqual(nameless, [], panel);
    const ids = await page.$$eval('[id]', (all) => all.map(({ id }) => id));
    assert.equal(new Set(ids).size, ids.length, 'ids are unique');
  }
  await finish();
});

const phone = { locale: 'zh-CN', hasTouch: true, isMobile: true, deviceScaleFactor: 2 };
for (const [what, sizes, options] of [
  ['on a phone', { 320: 640, 390: 844 }, phone],
  ['in a window', { 768: 1024, 1440: 900, 3840: 2160 }, {}],
]) {
  test(`${what}, ${Object.keys(sizes).join(', ')} px: nothing scrolls sideways`, { skip }, async () => {
    const configs = ['post_norm', 'pre_norm', 'deepnorm', 'smollm2_135m', 'peri', 'dyt']
      .map((preset) => `c=A rather long name ${preset},preset:${preset}`)
      .join('&');
    const [[first, tall]] = Object.entries(sizes);
    const { page, finish } = await open(`rows=8&${configs}`, { viewport: { width: +first, height: tall }, ...options });
    for (const panel of ['wiring', 'forward', 'speed']) {
      await show(page, panel);
      if (panel === 'speed') await page.keyboard.press('x'); // the rest looks the same
      await atRest(page);
      for (const [width, height] of Object.entries(sizes)) {
        await page.setViewportSize({ width: +width, height });
        await page.emulateMedia({ colorScheme: +width > 2000 ? 'dark' : 'light' });
        await still(page);
        const fitting = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
        assert.ok(fitting[0] <= fitting[1], `${panel}, ${width} px: ${fitting}`);
        const wide = await page.$$eval('#panel > *', (all) =>
          all.filter((node) => node.getBoundingClientRect().right > innerWidth + 0.5).map((node) => node.className),
        );
        assert.deepEqual(wide, [], `${panel}, ${width} px`);
        if (width < 3000 || panel === 'forward')
          await page.screenshot({ path: join(shots, `${width}-${panel}.png`), fullPage: width < 600 });
      }
    }
    for (const [width, height] of options === phone ? Object.entries(sizes) : []) {
      await page.setViewportSize({ width: +width, height });
      await page.click('.chip.selected');
      await page.waitForSelector('.sheet #field-norm');
      await still(page);
      await page.screenshot({ path: join(shots, `${width}-sheet.png`) });
      await page.keyboard.press('Escape');
      await page.waitForFunction(() => !document.querySelector('.sheet'));
    }
    await finish();
  });
}

if (process.env.ADDNORM_SCREENSHOT) {
  test('the README’s screenshot', { skip }, async () => {
    const hash = 'c=Post-Norm,preset:post_norm&c=Pre-Norm,preset:pre_norm&c=DeepNorm,preset:deepnorm&selected=1';
    const { page, finish } = await open(hash, { viewport: { width: 1440, height: 860 } });
    await settled(page);
    const path = join(root, 'docs/screenshot.png');
    writeFileSync(path, await page.screenshot());
    assert.ok(statSync(path).size <= 200_000, `${statSync(path).size} bytes`);
    await finish();
  });
}
