// Block Lab in Chromium: the list of configurations, the inspector's fields, presets, and the Wiring panel, with the
// figures that the package gives in Node.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { describe } from '../../web/demo/compute.js';
import { completed, resolved } from '../../web/demo/fields.js';
import { gradientsOf } from '../../web/demo/panels/wiring/gradients.js';
import { presetOf } from '../../web/demo/presets.js';
import { pytorchCode } from '../../web/demo/pytorch.js';
import en from '../../web/demo/texts/en.js';
import { eventually, openLab, settled, shots, skip, still, undo } from './harness.js';

let lab;
let an;
before(async () => {
  if (skip) return;
  lab = await openLab();
  const { load } = await import('../../dist/lib/index.js');
  an = await load();
});
after(async () => {
  await lab?.close();
  an?.dispose();
});

const names = (page) => page.$$eval('.config-card .config-text b', (all) => all.map((node) => node.textContent));
/** The configurations' colours, as they are drawn. */
const colors = (page) =>
  page.$$eval('.config-card .letter', (all) => all.map((node) => getComputedStyle(node).color.match(/\d+/g).join(' ')));
const hashHas = (page, text) => page.waitForFunction((part) => decodeURIComponent(location.hash).includes(part), text);
const openMenu = async (page, n) => {
  await page.focus(`.config-card >> nth=${n} >> .dots`);
  await page.keyboard.press('Enter');
};

test('configurations move, by keyboard and by dragging, and keep their colours', { skip }, async () => {
  const { page, finish } = await lab.open(
    'panel=wiring&rows=4&c=One,d_model:8&c=Two,d_model:8&c=Three,d_model:8&selected=0',
  );
  await page.waitForSelector('.wiring-card');
  const before = await colors(page);
  assert.equal(new Set(before).size, 3);
  await openMenu(page, 0);
  assert.deepEqual(await page.$$eval('[role=menuitem]', (all) => all.map((node) => node.textContent)), [
    'Rename',
    'Duplicate',
    'Move up',
    'Move down',
    'Remove',
  ]);
  assert.ok(await page.isDisabled('[role=menuitem]:has-text("Move up")'));
  for (let i = 0; i < 2; i++) await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter'); // Move down: Move up is disabled
  await still(page);
  assert.deepEqual(await names(page), ['Two', 'One', 'Three']);
  assert.deepEqual(await colors(page), [before[1], before[0], before[2]]);
  assert.ok(await page.isVisible('.config-card.selected >> text=One'), 'the selected one is still selected');
  await hashHas(page, 'c=Two,color:1,d_model:8&c=One,color:0,d_model:8&c=Three,d_model:8');

  await page.hover('.config-card >> nth=2');
  const handle = await page.locator('.handle >> nth=2').boundingBox();
  const first = await page.locator('.config-card >> nth=0').boundingBox();
  await page.mouse.move(handle.x + 5, handle.y + 20);
  await page.mouse.down();
  await page.mouse.move(handle.x + 5, first.y + 40, { steps: 4 });
  await page.mouse.move(handle.x + 5, first.y + 5, { steps: 4 });
  await still(page);
  assert.ok(await page.isVisible('.config-card.drop-before >> text=Two'));
  await page.mouse.up();
  await still(page);
  assert.deepEqual(await names(page), ['Three', 'Two', 'One']);
  assert.deepEqual(await colors(page), [before[2], before[1], before[0]]);
  await undo(page);
  assert.deepEqual(await names(page), ['Two', 'One', 'Three'], 'one step of undo');

  // A colour that another has is exchanged; the charts and drawings follow.
  await openMenu(page, 0);
  await page.screenshot({ path: join(shots, 'config-menu.png') });
  await page.click('[role=menuitemradio][aria-label^="blue"]');
  await still(page);
  assert.deepEqual(await colors(page), before);
  assert.equal(
    await page.$eval('.wiring-card:first-child .box', (node) => getComputedStyle(node).stroke),
    'rgb(0, 114, 178)',
  );
  await finish();
});

test('equal parameters sizes every FFN by A’s, shows it, and gives it back', { skip }, async () => {
  const { page, finish } = await lab.open(
    'panel=wiring&rows=4&c=A,d_model:96&c=B,d_model:96,gated:on&c=C,d_model:96,d_ff:100',
  );
  await page.waitForSelector('.wiring-card');
  const summaries = () => page.$$eval('.config-card small', (all) => all.map((node) => node.textContent));
  await page.click('text=Equal parameters');
  await hashHas(page, 'equal=on');
  assert.match((await summaries())[1], /96 × 384 → 256$/);
  assert.match((await summaries())[2], /96 × 100 → 384$/);
  assert.match(await page.textContent('.equal-parameters'), /d_ff: B 384 → 256, C 100 → 384/);
  await page.waitForSelector('.wiring-card >> nth=1 >> text=down 256→96');
  await page.click('.config-card >> nth=1 >> .config-main');
  await still(page);
  assert.ok(await page.isDisabled('#field-d_ff'));
  assert.match(await page.textContent('.field:has(#field-d_ff)'), /256 in place of 384, by equal parameters/);
  await page.click('text=Equal parameters');
  await still(page);
  assert.match((await summaries())[2], /96 × 100$/);
  assert.ok(await page.isEnabled('#field-d_ff'));
  await finish();
});

test('presets are found by what they are made of, and come with their attention', { skip }, async () => {
  const { page, finish } = await lab.open('panel=wiring&rows=4');
  await page.waitForSelector('.wiring-card');
  await page.click('text=Add a configuration');
  await page.waitForFunction(() => document.querySelectorAll('.preset-item').length >= 50);
  await page.fill('dialog input[type=search]', 'swiglu 576');
  const found = () => page.$$eval('.preset-item b', (all) => all.map((node) => node.textContent));
  await eventually(async () => assert.deepEqual(await found(), ['SmolLM2-135M']));
  assert.match(await page.getAttribute('.preset-item a', 'href'), /huggingface\.co\/HuggingFaceTB\/SmolLM2-135M/);
  await page.fill('dialog input[type=search]', 'electra');
  await page.screenshot({ path: join(shots, 'add-search.png') });
  await eventually(async () => assert.ok((await found()).every((name) => /electra/i.test(name))));
  await page.click('text=+ attention');
  await page.waitForSelector('.config-card >> text=ELECTRA-small, layer');
  await hashHas(page, 'preset:electra_small_layer');
  await still(page);
  assert.equal(await page.inputValue('#field-mixing'), 'attention');
  assert.match(
    await page.textContent('.field:has(#preset)'),
    /Left out: dropout of the attention weights.*Source: config\.json/s,
  );
  await page.uncheck('text=with its attention');
  await page.waitForSelector('.config-card >> text=/^ELECTRA-small$/');
  await still(page);
  assert.equal(await page.inputValue('#field-mixing'), 'none');
  await finish();
});

test('every field is there; what has no effect says why and can be set', { skip }, async () => {
  const { page, finish } = await lab.open('panel=wiring&rows=4&c=A,d_model:8&c=B,d_model:8&selected=1');
  await settled(page);
  const listed = await page.$$eval('.inspector [id^="field-"]', (all) =>
    all.map(({ id }) => id).filter((id) => !/-(help|error)$/.test(id)),
  );
  assert.deepEqual(
    listed.sort(),
    describe(an)
      .fields.map(({ name }) => `field-${name}`)
      .sort(),
  );
  const group = page.locator('.group:has(legend:has-text("Around the stack"))');
  await group.locator('summary').click();
  assert.match(await group.textContent(), /final_norm.*only Depth and Training use it/s);
  await page.selectOption('#field-final_norm', 'false');
  await hashHas(page, 'final_norm:off');
  assert.deepEqual(await page.$$eval('#field-final_norm option', (all) => all.map((node) => node.textContent)), [
    'auto: on',
    'on',
    'off',
  ]);
  await page.selectOption('#field-mixing', 'attention');
  await page.waitForSelector('#panel .wiring >> nth=1 >> text=attention, 1 head');
  await still(page); // the fields follow the drawing
  await page.locator('.field:has(#field-heads) .typed').fill('3');
  await page.keyboard.press('Enter');
  await page.waitForSelector('#field-heads-error');
  assert.match(await page.textContent('#field-heads-error'), /divides d_model/);
  await finish();
});

const HASH =
  'rows=6&seed=5&c=Post,preset:post_norm&c=Layer,d_model:24,placement:pre,gated:on,mixing:attention,heads:3,causal:on,dropout:0.1';
const LAYER = { d_model: 24, placement: 'pre', gated: true, mixing: 'attention', heads: 3, causal: true, dropout: 0.1 };

test('gradients at the lines are those of the package, drawn and in a table', { skip }, async () => {
  const { page, finish } = await lab.open(`panel=wiring&${HASH}`);
  await settled(page);
  await page.check('input[name=wiring-show][value=gradient]');
  await settled(page);
  await page.waitForFunction(() => /\d/.test(document.querySelector('.gradient-table tbody')?.textContent ?? ''));
  const rows = await page.$$eval('.gradient-table tbody tr', (all) =>
    all.map((row) => [...row.cells].map((cell) => cell.textContent)),
  );
  const input = { rows: 6, seed: 5, inputMean: 0, inputStd: 1 };
  const expected = [presetOf('post_norm').values, LAYER].map((own) => gradientsOf(an, own, input).edges);
  const edgeOf = Object.fromEntries(Object.entries(en.wiring.edges).map(([edge, name]) => [name, edge]));
  let compared = 0;
  for (const [place, ...cells] of rows) {
    for (const [i, cell] of cells.entries()) {
      const want = expected[i][edgeOf[place]];
      if (want === undefined) assert.equal(cell, '');
      else assert.ok(Math.abs(Number(cell) / want - 1) < 0.006, `${place}: ${cell}, not ${want}`);
      compared += want !== undefined;
    }
  }
  assert.equal(compared, Object.keys(expected[0]).length + Object.keys(expected[1]).length);
  const widths = await page.$$eval('.wiring.gradient .branch', (all) =>
    all.map((node) => Number.parseFloat(getComputedStyle(node).strokeWidth)),
  );
  assert.ok(new Set(widths).size > 5 && Math.max(...widths) <= 9, widths.join());
  assert.match(await page.textContent('.explain'), /on 6 tokens of seed 5/);
  await hashHas(page, 'wshow=gradient');
  await page.screenshot({ path: join(shots, 'wiring-gradient.png') });
  await finish();
});

test('what differs is shaded and listed; the code is copied', { skip }, async () => {
  const { page, finish } = await lab.open(`panel=wiring&${HASH}&selected=1`, {
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  await page.waitForSelector('.wiring-card');
  const card = page.locator('.wiring-card >> nth=1');
  const shaded = () => card.locator('.node.changed .label').allTextContents();
  assert.ok((await shaded()).includes('attention, 3 heads'));
  assert.match(await card.locator('.changes').textContent(), /≠ A: d_model 128 → 24; .*placement post → pre/);
  await page.waitForSelector('.wiring-card >> nth=1 >> math .changed');
  await page.check('input[name=wiring-against][value=none]');
  await still(page);
  assert.deepEqual(await shaded(), []);
  assert.equal(await card.locator('math .changed').count(), 0);

  await page.click('.wiring-code >> text=Copy');
  await page.waitForSelector('.wiring-code >> text=Copied');
  const catalog = describe(an);
  const full = resolved(completed(LAYER, catalog.fields), catalog);
  const activation = catalog.activations.find(({ name }) => name === full.activation);
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), pytorchCode(full, activation, 'Layer'));
  await finish();
});

for (const [name, width, height, options] of [
  ['wide', 1440, 1200, { colorScheme: 'dark' }],
  ['narrow-zh', 390, 844, { locale: 'zh-CN', hasTouch: true, isMobile: true, deviceScaleFactor: 2 }],
]) {
  test(`the Wiring panel, ${name}: nothing scrolls sideways`, { skip }, async () => {
    const configs =
      'c=ELECTRA,preset:electra_small_layer&c=Peri,preset:peri,gated:on,residual:off&c=DeepNorm,preset:deepnorm,mixing:mean,causal:on';
    const { page, finish } = await lab.open(`panel=wiring&rows=8&wshow=gradient&${configs}`, {
      viewport: { width, height },
      ...options,
    });
    await settled(page);
    await page.waitForSelector('.wiring-card >> nth=2 >> math');
    const sizes = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    assert.ok(sizes[0] <= sizes[1], `${sizes}`);
    await page.screenshot({ path: join(shots, `wiring-${name}.png`), fullPage: width < 900 });
    if (width < 900) {
      await page.click('.chip >> nth=1');
      await page.click('.chip.selected');
      await page.waitForSelector('.sheet .swatch');
      await page.click('.sheet >> text=上移');
      await still(page);
      assert.match(await page.textContent('.chip >> nth=0'), /Peri/);
      await page.screenshot({ path: join(shots, 'wiring-sheet.png') });
    }
    await finish();
  });
}
