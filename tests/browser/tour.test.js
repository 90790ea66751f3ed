// The guided tour of Block Lab in Chromium: every stop sets its state, measures, and says the figures that the package
// gives in Node for the same state; both languages, keyboard, phone.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fieldsOf } from '../../web/demo/presets.js';
import en from '../../web/demo/shell/tour/en.js';
import { stateOfStop } from '../../web/demo/shell/tour/stop-state.js';
import { STOPS } from '../../web/demo/shell/tour/stops.js';
import zh from '../../web/demo/shell/tour/zh.js';
import { openLab, shots, skip, still, undo } from './harness.js';

let lab;
before(async () => {
  if (!skip) lab = await openLab();
});
after(() => lab?.close());

const measured = (page) => page.waitForSelector('.tour-measured[aria-busy=false] dd', { timeout: 120_000 });
/** [[what, figures], ...] as the card has them. */
const rowsOf = (page) =>
  page.$$eval('.tour dl > div', (all) => all.map((row) => [...row.children].map(({ textContent }) => textContent)));
/** Of each configuration, when the run began in which its forward pass was timed. */
async function begunOf(page) {
  await page.click('nav >> text=Export');
  const [download] = await Promise.all([page.waitForEvent('download'), page.click('text=Save JSON')]);
  const { results } = JSON.parse(readFileSync(await download.path(), 'utf8'));
  return results.map(({ variant, times }) => times[variant].begun);
}
const title = (page) => page.textContent('.tour h2');

test('every stop sets its state, names its sources and measures', { skip }, async () => {
  const { page, finish } = await lab.open('tour=1');
  for (const [i, { panel, configs }] of STOPS.entries()) {
    await page.waitForSelector(`.tour [aria-current=step] >> text="${i + 1}"`);
    await page.waitForSelector(`.tour h2 >> text=${en.stops[i].title}`);
    await measured(page);
    assert.match(await title(page), new RegExp(`${i + 1} of 8\\s*${en.stops[i].title.replace('?', '\\?')}`));
    assert.equal(await page.getAttribute('[role=tab][aria-selected=true]', 'id'), `tab-${panel}`);
    assert.deepEqual(
      await page.$$eval('.config-card .config-text b', (all) => all.map(({ textContent }) => textContent)),
      configs.map(({ name }) => name),
    );
    assert.ok((await page.$$('.tour-links a[href^="https://arxiv.org/abs/"]')).length > 0, 'its sources');
    const rows = await rowsOf(page);
    assert.ok(rows.length >= 3, `${rows.length} figures`);
    for (const [what, figures] of rows) {
      assert.match(figures, /\d/, what);
      assert.doesNotMatch(figures, /NaN|undefined|–/, what);
    }
    if (i === 4)
      assert.equal(new Set(await begunOf(page)).size, 1, 'A, which stop 4 has timed, is timed anew beside B and C');
    await page.screenshot({ path: join(shots, `tour-${i + 1}.png`) });
    await page.click('.tour-steps >> text=/^(Next|End)$/');
  }
  await page.waitForFunction(() => !document.querySelector('.tour'));
  await page.click('[aria-label=Undo]'); // what the tour has replaced comes back
  await finish();
});

test('the figures of a stop are those of the package in Node', { skip }, async () => {
  const { page, finish } = await lab.open('tour=3&variant=simd');
  await page.waitForSelector('.tour-measured >> text=/have been changed/'); // another variant is another state
  await page.click('.tour-measured button');
  await measured(page);
  const [post, pre, last] = (await rowsOf(page)).map(([, figures]) => Number.parseFloat(figures));

  const { load } = await import('../../dist/lib/index.js');
  const an = await load();
  const state = stateOfStop(3);
  const median = (list) => {
    const sorted = [...list].sort((a, b) => a - b);
    return (sorted[3] + sorted[4]) / 2;
  };
  const width = state.depthWidth;
  const probes = state.configs.map((config) =>
    Array.from({ length: state.depthSeeds }, (_, n) => {
      const seed = state.seed + n;
      const { d_ff, d_model } = fieldsOf(config);
      const fields = { ...fieldsOf(config), depth: state.depthBlocks, d_model: width, d_ff: (d_ff * width) / d_model };
      const model = an.stack(fields, { seed });
      const [x, dy] = [1001, 1002].map((stream) =>
        an.random([state.depthSequences, state.depthLength, width], { seed, stream }),
      );
      const { sublayers, stream, gradients } = model.probe(x, dy);
      model.dispose();
      return {
        ratio: sublayers[0].gradient / stream.gradient,
        down: gradients[`layers.${state.depthBlocks - 1}.down`],
      };
    }),
  );
  an.dispose();
  const near = (shown, expected, what) =>
    assert.ok(Math.abs(shown / expected - 1) < 0.006, `${what}: shown ${shown}, in Node ${expected}`);
  near(post, median(probes[0].map(({ ratio }) => ratio)), 'Post-Norm, first by last');
  near(pre, median(probes[1].map(({ ratio }) => ratio)), 'Pre-Norm, first by last');
  near(last, median(probes[0].map(({ down }, n) => down / probes[1][n].down)), 'the last W2, post by pre');

  // What it leads on to: the card and the panel say the same of the run.
  await page.click('.tour-links >> text=Train both without warm-up');
  await page.waitForSelector('.tour-measured dt >> text=Accuracy, held out', { timeout: 120_000 });
  assert.match((await rowsOf(page))[0][1], /^step 1: 1\.34, last ten: 0\.00/);
  assert.match(await page.textContent('.tour-holds'), /has vanished since.*B.*has kept it/);
  await page.waitForSelector('.explain >> text=/It vanishes in the first steps/');
  await page.screenshot({ path: join(shots, 'tour-3-warmup.png') });
  await page.click('.tour-measured button');
  await page.waitForSelector('.tour-measured >> text=Gradient of the last W₂');
  await finish();
});

test('an edit hides the figures until the stop is restored; looking around does not', { skip }, async () => {
  const { page, finish } = await lab.open('tour=2');
  await measured(page);
  await page.click('[aria-label^="Theme"]');
  await page.click('nav >> text=中文');
  await page.waitForSelector(`.tour h2 >> text=${zh.stops[1].title}`);
  await measured(page);
  assert.match((await rowsOf(page))[0][0], /残差流/);
  await page.screenshot({ path: join(shots, 'tour-zh.png') });
  await page.click('nav >> text=English');
  await page.selectOption('#field-activation', 'relu');
  await page.waitForSelector('.tour-measured >> text=/have been changed/');
  await page.click('[aria-label=Undo]');
  await measured(page);
  for (let left = 2; left > 0; left--) {
    await page.click('.config-card >> nth=0 >> .dots');
    await page.click('[role=menuitem] >> text=Remove');
    await page.waitForFunction((n) => document.querySelectorAll('.config-card').length === n, left);
  }
  await page.waitForSelector('.tour-measured >> text=/have been changed/');
  for (let i = 0; i < 3 && (await page.$$('.config-card')).length < 3; i++) await undo(page);
  await measured(page);
  await page.keyboard.press('1');
  await page.waitForSelector('.tour-measured >> text=/have been changed/');
  await page.click('.tour-measured button');
  await measured(page);
  assert.equal(await page.getAttribute('[role=tab][aria-selected=true]', 'id'), 'tab-depth');
  await finish();
});

test('by keyboard: begin, on, back, end; the title has the focus', { skip }, async () => {
  const { page, finish } = await lab.open('panel=wiring&c=Mine,d_model:32&rows=4');
  await page.waitForSelector('#panel .wiring');
  await page.keyboard.press('t');
  await page.waitForSelector('.tour h2 >> text=Why residuals');
  await still(page);
  assert.equal(await page.evaluate(() => document.activeElement?.localName), 'h2');
  await page.keyboard.press('n');
  await page.waitForSelector('.tour h2 >> text=Why normalise');
  await page.keyboard.press('p');
  await page.waitForSelector('.tour h2 >> text=Why residuals');
  await still(page);
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab'); // Back cannot be pressed at the first stop: the links follow
  await page.keyboard.press('Enter');
  await page.waitForSelector('.tour h2 >> text=Why normalise');
  await page.waitForFunction(() => location.hash.includes('tour=2'));
  await page.keyboard.press('t');
  await page.waitForFunction(() => !document.querySelector('.tour'));
  for (let i = 0; i < 4 && (await page.isEnabled('[aria-label=Undo]')); i++) await undo(page);
  await page.waitForSelector('.config-card >> text=Mine');
  await finish();
});

for (const [name, options] of [
  [
    '390',
    { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true, locale: 'zh-CN', colorScheme: 'dark' },
  ],
  ['1280', { viewport: { width: 1280, height: 720 } }],
]) {
  test(`${name} px: the card does not cover the picture`, { skip }, async () => {
    const { page, finish } = await lab.open('tour=7', options);
    await measured(page);
    await page.waitForFunction(() => {
      const canvas = document.querySelector('#panel .chart canvas')?.getBoundingClientRect();
      const card = document.querySelector('.tour').getBoundingClientRect();
      return canvas && canvas.top >= 0 && canvas.bottom <= card.top + 1;
    });
    const { width } = options.viewport;
    assert.deepEqual(await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]), [width, width]);
    await page.screenshot({ path: join(shots, `tour-${name}.png`) });

    // What the browser scrolls is put right; where the visitor has scrolled to, the page stays.
    const place = () => page.$eval('#panel .chart', (chart) => Math.round(chart.getBoundingClientRect().top));
    const lower = () =>
      page.$eval('#panel', (panel) => panel.insertAdjacentHTML('afterbegin', '<p>more<br>than before</p>'));
    const before = await place();
    await lower();
    await page.waitForFunction(
      (top) => Math.abs(document.querySelector('#panel .chart').getBoundingClientRect().top - top) <= 1,
      before,
    );
    await page.mouse.move(width / 2, 300);
    await page.mouse.wheel(0, -60);
    await page.waitForFunction(
      (top) => document.querySelector('#panel .chart').getBoundingClientRect().top > top + 30,
      before,
    );
    const after = await place();
    await lower();
    await still(page);
    assert.ok((await place()) >= after - 1, 'the visitor’s place is kept');
    await finish();
  });
}
