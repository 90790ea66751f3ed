// The Weights panel in Chromium: the example, files that are chosen and dropped, broken ones, links that need a file.
// Figures are compared with the package in Node. Screenshots go to dist/screenshots.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { seededNormal } from '../../web/demo/numbers.js';
import { readFloats, sharedPath, skipWithout } from '../js/shared.js';
import { encoded, gguf, safetensors } from '../js/weight-files.js';
import { openLab, settled, shots, siteFolder, skip, still } from './harness.js';

let lab;
before(async () => {
  if (!skip) lab = await openLab();
});
after(() => lab?.close());

const open = (hash = '', options = {}) => lab.open(`panel=weights&${hash}`, options);

const rowsOf = (page, caption) =>
  page.$$eval(`table[aria-label="${caption}"] tbody tr`, (rows) =>
    rows.map((row) => [...row.cells].map((cell) => cell.textContent.trim())),
  );
const toNumber = (text) => Number(text.replaceAll('−', '-').replaceAll(/[\u202f%]/g, ''));
function near(shown, expected, what) {
  const got = toNumber(shown);
  assert.ok(
    Math.abs(got - expected) <= 0.006 * Math.abs(expected) + 1e-9,
    `${what}: shown ${shown}, expected ${expected}`,
  );
}

const COMPARE = 'The same weights, wired otherwise';
const FIGURES = 'Figures of the weights';
/** Waits until a table has this many rows, all computed. */
async function computed(page, caption, count) {
  await page.waitForFunction(
    ([name, n]) => {
      const rows = document.querySelectorAll(`table[aria-label="${name}"] tbody tr`);
      return rows.length === n && [...rows].every((row) => !row.textContent.includes('…'));
    },
    [caption, count],
  );
  await settled(page);
}
const compared = (page, count) => computed(page, COMPARE, count);

/** The trained block that the page ships, by name. */
function shipped(block) {
  const file = (extension) => readFileSync(join(siteFolder, `models/ppocrv4_rec_block${block}.${extension}`));
  const numbers = new Float32Array(Uint8Array.from(file('bin')).buffer);
  return Object.fromEntries(
    JSON.parse(file('json')).parameters.map(({ name, shape, offset }) => [
      name,
      numbers.slice(offset, offset + shape.reduce((a, b) => a * b)),
    ]),
  );
}

/** The output of a block in Node, in double precision where it is summed up. */
async function outputOf(fields, weights, rows, seed = 7) {
  const { load } = await import('../../dist/lib/index.js');
  const an = await load();
  const block = an.block(fields);
  for (const [name, data] of Object.entries(weights)) block.parameters[name]?.set(data);
  const y = block.forward({ data: seededNormal(seed, rows * fields.d_model, 0, 1), shape: [1, rows, fields.d_model] });
  an.dispose();
  return y;
}
const norm = (list) => Math.sqrt(list.reduce((sum, value) => sum + value * value, 0));
const difference = (a, b) => norm(a.map((value, i) => value - b[i])) / norm(b);
const cosine = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0) / norm(a) / norm(b);

const drop = (page, name, content) =>
  page.evaluate(
    ([file, base64]) => {
      const bytes = Uint8Array.from(atob(base64), (sign) => sign.charCodeAt(0));
      const transfer = new DataTransfer();
      transfer.items.add(new File([bytes], file));
      for (const type of ['dragenter', 'dragover', 'drop']) {
        document.body.dispatchEvent(new DragEvent(type, { dataTransfer: transfer, bubbles: true, cancelable: true }));
      }
    },
    [name, Buffer.from(content).toString('base64')],
  );
const choose = (page, name, buffer) =>
  page.setInputFiles('.weights-picker >> nth=0', { name, mimeType: 'application/octet-stream', buffer });

const PP = { d_model: 120, d_ff: 240, activation: 'silu', norm: 'layer_norm', eps: 1e-5, placement: 'pre' };

test('the example is there at once; a swap is one click, its distance that of Node', { skip }, async () => {
  const { page, finish } = await open('rows=40');
  await settled(page);
  const weights = shipped(0);
  for (const [name, shape, rms, largest] of await rowsOf(page, FIGURES)) {
    near(rms, norm(weights[name]) / Math.sqrt(weights[name].length), `${name} RMS`);
    near(largest, Math.max(...weights[name].map(Math.abs)), `${name} largest`);
    if (name === 'up') assert.equal(shape, '240 × 120');
  }
  await page.click('.weights-swaps >> text=ReLU');
  await compared(page, 2);
  await page.click('.weights-swaps >> text=Post-Norm');
  await compared(page, 3);
  const rows = await rowsOf(page, COMPARE);
  const model = await outputOf(PP, weights, 40);
  for (const [i, [changed, fields]] of [
    ['nothing', {}],
    ['ReLU', { activation: 'relu' }],
    ['Post-Norm', { placement: 'post' }],
  ].entries()) {
    const y = await outputOf({ ...PP, ...fields }, weights, 40);
    assert.equal(rows[i][1], changed);
    near(rows[i][2], difference(y, model), `${changed}: distance`);
    near(rows[i][3], cosine(y, model), `${changed}: cosine`);
    near(rows[i][6], norm(y) / Math.sqrt(y.length), `${changed}: RMS`);
  }
  assert.match(await page.textContent('.config-card.selected'), /PP-OCRv4 block 1, Post-Norm/);

  // The same in the inspector: any field of it.
  await page.selectOption('#field-norm', 'none');
  await compared(page, 3);
  const again = await outputOf({ ...PP, placement: 'post', norm: 'none' }, weights, 40);
  near((await rowsOf(page, COMPARE))[2][2], difference(again, model), 'by the inspector');
  assert.match((await rowsOf(page, COMPARE))[2][1], /no norm, Post-Norm|Post-Norm, no norm/);

  await still(page);
  await page.focus('.chart .plot');
  await page.keyboard.press('ArrowRight');
  await page.waitForFunction(() => /up .*down .*normal/.test(document.querySelector('.readout').textContent));
  await page.screenshot({ path: join(shots, 'weights.png') });
  await finish();
});

test('the share of units that are never active is that of Node', { skip }, async () => {
  const { page, finish } = await open('rows=64&c=PP,weights:ppocr_1');
  await compared(page, 1);
  const { load } = await import('../../dist/lib/index.js');
  const an = await load();
  const weights = shipped(1);
  const x = { data: seededNormal(7, 64 * 120, 0, 1), shape: [64, 120] };
  const n = an.norm('layer_norm', x, { weight: weights.norm_weight, bias: weights.norm_bias, eps: 1e-5 });
  const up = an.linear(
    { data: n, shape: [64, 120] },
    { data: weights.up, shape: [240, 120] },
    { bias: weights.up_bias },
  );
  an.dispose();
  const active = new Set([...up.keys()].filter((i) => up[i] > 0).map((i) => i % 240));
  const note = await page.textContent('.chart >> nth=1 >> .note');
  assert.equal(Number(/never active: (\d+)/.exec(note)[1]), 240 - active.size);
  await finish();
});

// ---- Files

const samples = ['stories260K_l0.safetensors', 'stories260K_l0.gguf', 'stories260K_l0_ffn.onnx'];
const needsSamples = skip || skipWithout('models/files', `${samples.length} sample files`);

test('each sample file, dropped: its layer becomes a configuration that runs in the other panels', {
  skip: needsSamples,
}, async () => {
  const { page, finish } = await open('rows=32&c=PP,weights:ppocr_0');
  await compared(page, 1);
  const part = (name) => readFloats('models/stories260K_layer0_swiglu', `${name}.f32.bin`);
  const weights = { gate: part('w1_gate'), up: part('w3_up'), down: part('w2_down'), norm_weight: part('rms_gamma') };
  const fields = {
    d_model: 64,
    d_ff: 172,
    activation: 'silu',
    gated: true,
    bias: false,
    norm: 'rms_norm',
    eps: 1e-5,
    placement: 'pre',
  };
  const y = await outputOf(fields, weights, 32);
  for (const [i, name] of samples.entries()) {
    await drop(page, name, readFileSync(sharedPath('models/files', name)));
    await page.waitForSelector(`.weights-file:has-text("${name}")`);
    await compared(page, 1);
    const [row] = await rowsOf(page, COMPARE);
    near(row[6], norm(y) / Math.sqrt(y.length), `${name}: RMS of y`);
    assert.match(await page.textContent('.config-card.selected'), /stories260K_l0.*RMSNorm · SwiGLU · 64 × 172/);
    assert.ok(await page.isDisabled('#field-d_ff'), 'its sizes are fixed');
    assert.equal(await page.locator('.config-card').count(), i + 2);
    assert.match(await page.textContent('.weights-file >> nth=0'), i === 2 ? /read off the graph/ : /a guess/);
  }
  await page.screenshot({ path: join(shots, 'weights-file.png') });
  await page.click('[role=tab]:has-text("Forward")');
  await computed(page, 'Output of the block', 4);
  const outputs = await rowsOf(page, 'Output of the block');
  const std = Math.sqrt(
    y.reduce((sum, value) => sum + value ** 2, 0) / y.length - (y.reduce((a, b) => a + b, 0) / y.length) ** 2,
  );
  for (const row of outputs.slice(1)) {
    near(row[3], std, `${row[0]}: std`);
    near(row[5], Math.max(...y), `${row[0]}: max`);
  }
  await finish();
});

const [D, F] = [32, 64];
const layerTensors = (i, dtype = 'F32') =>
  ['gate', 'up', 'down'].map((role, k) => {
    const values = seededNormal(10 * i + k, D * F, 0, 0.1);
    return {
      name: `model.layers.${i}.mlp.${role}_proj.weight`,
      dtype,
      shape: role === 'down' ? [D, F] : [F, D],
      ...encoded(dtype, values),
    };
  });

test('a model of many layers: one is found, used in place of another, and added beside it, by the keyboard', {
  skip,
}, async () => {
  const { page, finish } = await open('rows=8&c=A,preset:pre_norm');
  await settled(page);
  await choose(
    page,
    'my model.safetensors',
    safetensors(Array.from({ length: 14 }, (_, i) => layerTensors(i, 'BF16')).flat()),
  );
  await page.waitForSelector('.weights-file >> text=14 feed-forward layers');
  await compared(page, 1);
  assert.match(await page.textContent('.config-card >> nth=1'), /my model layers.0/);
  await page.fill('.weights-find', '12');
  await still(page);
  await page.keyboard.press('Tab'); // the box that scrolls
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement.textContent), 'model.layers.12.mlp');
  await page.keyboard.press('Enter');
  await page.waitForSelector('.config-card >> nth=1 >> text=my model layers.12');
  assert.equal(await page.locator('.config-card').count(), 2);
  await page.fill('.weights-find', '3');
  await page.click('[aria-label="Add model.layers.3.mlp as another configuration"]');
  await page.waitForSelector('.config-card >> nth=2 >> text=my model layers.3');
  await compared(page, 1);
  const rms = norm(layerTensors(3, 'BF16')[1].numbers) / Math.sqrt(D * F);
  near((await rowsOf(page, FIGURES)).find(([name]) => name === 'up')[4], rms, 'RMS of up');
  await page.waitForFunction(() => location.hash.includes('file~my%20model.safetensors~model.layers.3.mlp~d_model!32'));
  await page.click('[aria-label=Undo]');
  await page.waitForFunction(() => document.querySelectorAll('.config-card').length === 2);
  // The Add dialog offers the file's layers too.
  await page.click('text=/Add a configuration/');
  const group = page.locator('.add-dialog section', { hasText: 'my model.safetensors' });
  await group.waitFor();
  await still(page);
  assert.equal(await group.locator('.preset-item').count(), 12);
  assert.match(await group.textContent(), /2 more/);
  await page.fill('.add-dialog input', 'layers.13');
  await page.waitForFunction(() => document.querySelectorAll('.add-dialog .preset-item').length === 1);
  await group.locator('.preset-item button').click();
  await page.waitForSelector('.config-card >> nth=2 >> text=my model layers.13');
  await page.click('[aria-label=Undo]');
  await page.waitForFunction(() => document.querySelectorAll('.config-card').length === 2);
  await page.click('[aria-label="Close my model.safetensors"]');
  await page.waitForSelector('.weights-needed >> text=B needs the file my model.safetensors');
  await finish();
});

test('broken files: each is named with what came and what was expected, and nothing else changes', {
  skip,
}, async () => {
  const { page, finish } = await open('rows=8&c=PP,weights:ppocr_0');
  await compared(page, 1);
  const good = gguf(
    layerTensors(0).map((tensor, i) => ({ ...tensor, name: `blk.0.ffn_${['gate', 'up', 'down'][i]}.weight` })),
  );
  const whole = safetensors(layerTensors(0));
  const huge = Buffer.from(whole);
  huge.writeBigUInt64LE(10n ** 12n);
  for (const [name, content, message] of [
    ['empty.gguf', Buffer.alloc(0), /The file is empty/],
    [
      'cut.safetensors',
      whole.subarray(0, whole.length - 1000),
      /cut off: of 24\.6\u202fkB of tensors the last 1\u202fkB are missing/,
    ],
    ['huge.safetensors', huge, /at least 1\u202fTB, and it has 2[45]\.\d\u202fkB/],
    ['cut.gguf', good.subarray(0, 100), /cut off/],
    ['page.onnx', Buffer.from('<!DOCTYPE html><title>'), /a web page.*\.onnx/],
    ['model.pt', Buffer.from('PK\x03\x04....'), /a ZIP archive.*\.safetensors/],
    ['what', Buffer.from('hello there'), /begins with 68 65 6c 6c/],
  ]) {
    await drop(page, name, content);
    await page.waitForSelector(`#weights-error >> text=${name}:`);
    await still(page);
    assert.match(await page.textContent('#weights-error'), message, name);
  }
  assert.equal(await page.locator('.config-card').count(), 1);
  await page.screenshot({ path: join(shots, 'weights-error.png') });
  const unread = gguf(
    layerTensors(0).map((tensor, i) => ({
      ...tensor,
      name: `blk.0.ffn_${['gate', 'up', 'down'][i]}.weight`,
      type: 41,
    })),
  );
  await drop(page, 'new type.gguf', unread);
  await page.waitForSelector('.weights-problem');
  await still(page);
  assert.match(await page.textContent('.weights-problem'), /blk\.0\.ffn_gate\.weight has the type type 41/);
  assert.equal(await page.$('#weights-error'), null);
  await drop(
    page,
    'nothing.safetensors',
    safetensors([{ name: 'a', dtype: 'F32', shape: [1], bytes: Buffer.alloc(4) }]),
  );
  await page.waitForSelector('.weights-file >> text=No feed-forward layer was found');
  await finish();
});

test('a link that names a file says so, the rest runs, and the file completes it', { skip }, async () => {
  const layer =
    'file~my.safetensors~model.layers.0.mlp~d_model!32~d_ff!64~gated!on~bias!off~activation!silu~norm!rms_norm~eps!0.00001~placement!pre';
  const { page, finish } = await open(
    `rows=8&selected=1&lang=en&c=PP,weights:ppocr_0&c=Mine,weights:${layer},activation:relu`,
  );
  await page.waitForSelector('.weights-needed >> text=B needs the file my.safetensors');
  await page.waitForSelector('.config-card >> nth=1 >> text=These weights are in the file my.safetensors');
  await still(page);
  assert.match(
    await page.textContent('.config-card >> nth=1'),
    /RMSNorm · ReGLU · 32 × 64/,
    'its fields are in the link',
  );
  await settled(page);
  await page.screenshot({ path: join(shots, 'weights-needed.png') });
  await drop(
    page,
    'my.safetensors',
    safetensors(layerTensors(1).map((tensor) => ({ ...tensor, shape: [...tensor.shape].reverse() }))),
  );
  await page.waitForSelector('.weights-file');
  await drop(page, 'my.safetensors', safetensors(layerTensors(0)));
  await compared(page, 1);
  assert.equal(await page.$('.weights-needed'), null);
  const [row] = await rowsOf(page, COMPARE);
  const weights = Object.fromEntries(layerTensors(0).map(({ numbers }, i) => [['gate', 'up', 'down'][i], numbers]));
  const fields = {
    d_model: D,
    d_ff: F,
    gated: true,
    bias: false,
    activation: 'silu',
    norm: 'rms_norm',
    eps: 1e-5,
    placement: 'pre',
  };
  const model = await outputOf(fields, weights, 8);
  near(row[2], difference(await outputOf({ ...fields, activation: 'relu' }, weights, 8), model), 'distance');
  assert.equal(await page.locator('.config-card').count(), 2, 'nothing was added');
  await finish();
});

test('wide and narrow, light and dark, English and Chinese', { skip }, async () => {
  const hash =
    'rows=256&c=PP-OCRv4%20block%201,weights:ppocr_0&c=PP-OCRv4%20block%201%2C%20ReLU,weights:ppocr_0,activation:relu';
  for (const [name, options] of [
    ['weights-zh-dark', { locale: 'zh-CN', colorScheme: 'dark' }],
    ['weights-390', { viewport: { width: 390, height: 844 } }],
    ['weights-390-zh-dark', { viewport: { width: 390, height: 844 }, locale: 'zh-CN', colorScheme: 'dark' }],
  ]) {
    const { page, finish } = await open(hash, options);
    await page.waitForFunction(() => document.querySelectorAll('#panel canvas').length === 2);
    await settled(page);
    const wide = await page.evaluate(
      () => document.getElementById('panel').scrollWidth - document.getElementById('panel').clientWidth,
    );
    assert.ok(wide <= 0, `${name}: ${wide} px too wide`);
    await page.screenshot({ path: join(shots, `${name}.png`), fullPage: true });
    await finish();
  }
});
