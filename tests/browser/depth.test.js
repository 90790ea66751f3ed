// The Depth panel in Chromium: the first visit against the package in Node, its switches, cursors, faults and sizes.
// Screenshots go to dist/screenshots.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { openLab, openPage, settled, shots, skip, still } from './harness.js';

let lab;
before(async () => {
  if (!skip) lab = await openLab();
});
after(() => lab?.close());

const open = (hash, options) => lab.open(hash && `v=2&${hash}`, options);
/** The panel's own run is over and drawn: the rest of the page may still be timing blocks. */
async function finished(page) {
  await page.waitForSelector('.table-note:has-text("stacks in"), .table-note:has-text("个堆叠")');
  await settled(page);
}
const summary = (page) =>
  page.$$eval('.table-box[aria-label="Summary"] tbody tr', (all) =>
    all.map((row) => [...row.cells].map((cell) => cell.textContent.trim())),
  );
const figure = (text) => Number(text.split(' ± ')[0].replaceAll('−', '-'));
/** Three significant digits were shown. */
const near = (shown, expected, what) =>
  assert.ok(Math.abs(figure(shown) / expected - 1) < 0.006, `${what}: shown ${shown}, expected ${expected}`);

const quantile = (list, share) => {
  const sorted = list.toSorted((a, b) => a - b);
  const at = share * (sorted.length - 1);
  const low = Math.floor(at);
  return sorted[low] + (at - low) * ((sorted[low + 1] ?? 0) - sorted[low] || 0);
};
const median = (list) => quantile(list, 0.5);

/** What a chart is saved as, from the menu of its card. */
async function saved(page, card, format) {
  await page.click(`${card} .disclosure button`);
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.click(`${card} .formats button:text-is("${format}")`),
  ]);
  return readFileSync(await download.path(), 'utf8');
}

/** The stacks of a configuration in Node: for each seed the probe, gradients for an output gradient of norm 1. */
async function inNode(config, seeds, shape = [2, 16]) {
  const { load } = await import('../../dist/lib/index.js');
  const an = await load({ variant: 'simd' }); // the same bits everywhere
  const full = { d_model: 64, d_ff: 256, depth: 24, init: 'xavier_normal', ...config };
  const probes = seeds.map((seed) =>
    an.scope(() => {
      const [x, dy] = [1001, 1002].map((stream) => an.random([...shape, full.d_model], { seed, stream }));
      const { sublayers, stream, gradients } = an.stack(full, { seed }).probe(x, dy);
      const norm = Math.hypot(...dy.toArray());
      return {
        rms: [...sublayers, stream].map(({ rms }) => rms),
        branch: sublayers.at(-1).branchRatio,
        of: (name) => Array.from({ length: full.depth }, (_, l) => gradients[`layers.${l}.${name}`] / norm),
      };
    }),
  );
  const theory = an.theory(full, { length: shape[1] });
  an.dispose();
  return { probes, theory };
}
const seedsFrom = (first, count) => Array.from({ length: count }, (_, n) => first + n);

/** A row of the summary against Node. */
function compare(row, { probes, theory }, matrix, what) {
  const lists = probes.map((probe) => probe.of(matrix));
  const of = (get) => median(lists.map(get));
  near(
    row[2],
    of((list) => list[0]),
    `${what}, first`,
  );
  near(
    row[3],
    of((list) => list.at(-1)),
    `${what}, last`,
  );
  near(
    row[4],
    of((list) => list[0] / list.at(-1)),
    `${what}, ratio`,
  );
  near(row[5], theory.weights[matrix].ratio[0], `${what}, predicted`);
  near(row[6], median(probes.map(({ rms }) => rms.at(-1) / rms[0])), `${what}, growth`);
  near(row[7], Math.sqrt(theory.stream.at(-1)), `${what}, predicted growth`);
  near(row[8], median(probes.map(({ branch }) => branch)), `${what}, branch`);
}

test('a first visit: two stacks of 24 are drawn, with the figures that Node gives', { skip }, async (t) => {
  const { page, finish } = await openPage(lab.browser, lab.server.origin);
  await page.addInitScript(() => {
    const watch = () => {
      if (!document.querySelector('.depth-main canvas')) return requestAnimationFrame(watch);
      requestAnimationFrame(() => performance.mark('drawn'));
    };
    requestAnimationFrame(watch);
  });
  await page.goto(lab.site);
  await finished(page);
  const drawn = await page.evaluate(() => performance.getEntriesByName('drawn')[0].startTime);
  const took = await page.textContent('.table-note');
  t.diagnostic(`from navigation to the drawn chart ${drawn.toFixed(0)} ms; ${took}`);
  assert.equal(await page.textContent('[role=tab][aria-selected=true]'), 'Depth');
  const [post, pre] = await Promise.all(['post', 'pre'].map((placement) => inNode({ placement }, seedsFrom(7, 8))));
  const rows = await summary(page);
  assert.equal(rows.length, 2);
  compare(rows[0], post, 'down', 'Post-Norm');
  compare(rows[1], pre, 'down', 'Pre-Norm');
  assert.match(rows[0].join(' '), /^A Post-Norm 64 × 256 [\d.]+ ± [\d.]+ /);
  assert.equal((await page.$$('.chart.small canvas')).length, 4, 'the other quantities');
  const said = await page.textContent('.explain');
  assert.match(said, /A \(Post-Norm\): the gradient of W₂ is about as large in the first block as in the last/);
  assert.match(said, /does not vanish at initialisation\. B \(Pre-Norm\): .*grows towards the input/);
  assert.match(said, /Xiong et al\. 2020.*seeds 7 to 14.*A, B at 64 × 256 .*in place of 128 × 512/s);
  await page.screenshot({ path: join(shots, 'depth.png') });

  // The table behind the picture: each layer's median, quartiles and prediction.
  await page.click('.depth-main button:has-text("Table")');
  await page.waitForSelector('.depth-main tbody tr');
  await still(page); // all rows are there
  const table = await page.$$eval('.depth-main tbody tr', (all) =>
    all.map((row) => [...row.cells].map((cell) => cell.textContent)),
  );
  assert.deepEqual(
    table.map(([layer]) => Number(layer)),
    seedsFrom(1, 24),
  );
  const head = await page.$$eval('.depth-main thead th', (all) => all.map((cell) => cell.textContent));
  assert.deepEqual(head.slice(1, 5), ['A Post-Norm', 'A lower quartile', 'A upper quartile', 'A predicted']);
  const scale = Math.sqrt((64 * 256) / 64);
  for (const layer of [1, 12, 24]) {
    for (const [c, { probes, theory }] of [post, pre].entries()) {
      const list = probes.map((probe) => probe.of('down')[layer - 1]);
      const cells = table[layer - 1].slice(1 + 4 * c);
      for (const [i, share] of [0.5, 0.25, 0.75].entries()) near(cells[i], quantile(list, share), `layer ${layer}`);
      near(cells[3], theory.weights.down.rms[layer - 1] * scale, `layer ${layer}, predicted`);
    }
  }
  await finish();
});

test('switches for all: mixing by one click, residual off, depth and seeds typed, undone', { skip }, async () => {
  const { page, finish } = await open('dseeds=3&blocks=6&seed=50');
  await finished(page);
  await page.click('text=Mix tokens by their mean');
  await page.waitForFunction(() => /dmix=mean/.test(location.hash) && /dof=up/.test(location.hash));
  await page.waitForSelector('.explain >> text=mixing by the mean takes gradient');
  await settled(page);
  const mixed = await inNode({ placement: 'post', mixing: 'mean', depth: 6 }, seedsFrom(50, 3));
  compare((await summary(page))[0], mixed, 'up', 'Post-Norm, mean');
  assert.match(await page.textContent('.depth-main'), /Gradient norm of W₁/);
  await page.check('input[name=depth-residual][value=off]');
  await page.waitForSelector('.explain >> text=no residual');
  await page.check('input[name=depth-mixing][value=none]');
  const typed = page.locator('.labelled:has(#depth-blocks) .typed');
  await typed.fill('9');
  await typed.press('Enter');
  await page.focus('#depth-seeds');
  await page.keyboard.press('ArrowLeft');
  await page.waitForSelector('.table-note:has-text("Medians of 2 seeds"):has-text("4 stacks in")');
  await settled(page);
  const bare = await inNode({ placement: 'post', residual: false, depth: 9 }, seedsFrom(50, 2));
  compare((await summary(page))[0], bare, 'up', 'Post-Norm without residual');
  await page.waitForFunction(() => /blocks=9/.test(location.hash) && /dseeds=2/.test(location.hash));
  await page.click('[aria-label^=Undo]');
  await page.click('[aria-label^=Undo]');
  await page.waitForFunction(() => /blocks=6/.test(location.hash) && /dseeds=3/.test(location.hash));
  await page.click('.depth-controls >> text=Reset');
  await page.waitForFunction(() => !/blocks|dseeds|dres|dmix/.test(location.hash));
  await finish();
});

test('one cursor for all charts; a quantity becomes the large one; ratios to A', { skip }, async () => {
  const { page, finish } = await open('variant=simd&dseeds=3&blocks=4');
  await finished(page);
  await page.focus('.depth-main .plot');
  for (let i = 0; i < 3; i++) await page.keyboard.press('ArrowRight');
  await page.waitForFunction(() =>
    /^block 2: {2}A [\d.]+ \[[\d., ]+\] pred\. [\d.]+ {3}B /.test(
      document.querySelector('.depth-main .readout').textContent,
    ),
  );
  await still(page);
  const followed = await page.$$eval('.chart.small .readout', (all) => all.map((node) => node.textContent));
  for (const text of followed) assert.match(text, /^2: {2}A [\d.]+ {3}B [\d.]+$/);
  assert.deepEqual(await page.$$eval('.chart .readout', (all) => all.map((node) => node.ariaLive)), [
    'polite',
    'off',
    'off',
    'off',
    'off',
  ]);
  await page.keyboard.press('Escape');
  await page.waitForFunction(() => /solid measured/.test(document.querySelector('.depth-main .readout').textContent));

  await page.click('[aria-label="Size of the stream: show large"]');
  await page.waitForSelector('.depth-main h2:has-text("Size of the stream")');
  await page.check('[aria-label^="Each configuration"]');
  await page.click('.depth-main button:has-text("Table")');
  await page.waitForSelector('.depth-main tbody tr');
  await still(page);
  const cells = await page.$$eval('.depth-main tbody tr', (all) =>
    [...all.at(-1).cells].map((cell) => cell.textContent),
  );
  assert.deepEqual(cells.slice(0, 2), ['4', '1.00']);
  const [post, pre] = await Promise.all(
    ['post', 'pre'].map((placement) => inNode({ placement, depth: 4 }, seedsFrom(7, 3))),
  );
  near(cells[5], median(pre.probes.map(({ rms }, n) => rms[4] / post.probes[n].rms[4])), 'RMS by that of A');
  near(cells[8], Math.sqrt(pre.theory.stream[4] / post.theory.stream[4]), 'predicted');
  await page.waitForFunction(() => /dshow=rms/.test(location.hash) && /dbya=on/.test(location.hash));

  // Saved is every figure with all its digits, each under what it is.
  const [head, ...rows] = (await saved(page, '.depth-main', 'CSV')).slice(1).trim().split('\r\n');
  assert.equal(
    head,
    'block,A Post-Norm ÷ A,A lower quartile ÷ A,A upper quartile ÷ A,A predicted ÷ A,' +
      'B Pre-Norm ÷ A,B lower quartile ÷ A,B upper quartile ÷ A,B predicted ÷ A',
  );
  assert.equal(rows.length, 5);
  for (const [k, row] of rows.entries()) {
    const ratios = pre.probes.map(({ rms }, n) => rms[k] / post.probes[n].rms[k]);
    const spread = [0.5, 0.25, 0.75].map((share) => quantile(ratios, share));
    const predicted = Math.sqrt(pre.theory.stream[k] / post.theory.stream[k]);
    for (const [c, value] of [k, 1, 1, 1, 1, ...spread, predicted].entries())
      assert.ok(Math.abs(Number(row.split(',')[c]) - value) < 1e-13, `row ${k}, column ${c} of ${row}: ${value}`);
  }

  // Every chart says that it shows ratios or differences: in its title, its note, at its axis, to a screen reader, as a file.
  const charts = await page.$$eval('.chart', (all) =>
    all.map((card) => [card.querySelector('h2').textContent, card.querySelector('.readout').textContent]),
  );
  assert.equal(charts.length, 5);
  for (const [title, note] of charts) {
    const [sign, words] = /^Cosine/.test(title) ? ['−', 'minus'] : ['÷', 'divided by'];
    assert.ok(title.endsWith(` ${sign} A`), title);
    assert.match(note, new RegExp(`${words} that of A, seed by seed`));
  }
  const cosine = '.chart:has(h2:text-is("Cosine of streams − A"))';
  assert.match(await page.getAttribute(`${cosine} .plot`, 'aria-label'), /^Cosine of streams − A\. /);
  const svg = await saved(page, cosine, 'SVG');
  const texts = [...svg.matchAll(/<text[^>]*>([^<]*)</g)].map(([, text]) => text);
  assert.deepEqual([texts[0], texts.includes('− A')], ['Cosine of streams − A', true]);
  assert.match(texts.join(' '), /minus that of A, seed by seed/);
  await page.focus(`${cosine} .plot`);
  for (let i = 0; i < 2; i++) await page.keyboard.press('ArrowRight');
  await page.waitForSelector(`${cosine} .readout:text-matches("^1, − A: +A 0 +B ")`);
  await page.screenshot({ path: join(shots, 'depth-by-a.png') });

  // One alone is compared with nothing.
  await page.evaluate(() => {
    location.hash = '#v=2&dseeds=3&blocks=4&dshow=rms&dbya=on&c=Only,preset:pre_norm';
  });
  await page.waitForSelector('.depth-main h2:text-is("Size of the stream")');
  await page.waitForSelector('.depth-main tr:last-child td:nth-child(2):text-matches("^1\\.[1-9]")');
  await finish();
});

test('what ends, what cannot run and what has no prediction says why; the rest is drawn', { skip }, async () => {
  const configs = [
    'c=Fine,preset:pre_norm',
    'c=Squares,preset:pre_norm,placement:none,activation:relu_squared',
    'c=Groups,preset:pre_norm,norm:group_norm,groups:5',
    'c=Large,preset:llama2_7b',
    'c=Zero,preset:rezero',
    'c=Batch,preset:post_norm,norm:batch_norm',
  ];
  const { page, finish } = await open(`dseeds=2&dshow=rms&${configs.join('&')}`);
  await finished(page);
  const faults = await page.$$eval('.depth-faults li', (all) => all.map((item) => item.textContent));
  assert.equal(faults.length, 2);
  assert.match(faults[0], /B Squares: not finite from block \d+, FFN \(2 of 2 seeds\)/);
  assert.match(faults[1], /C Groups: Not computed: .*divides d_model.*INVALID_ARGUMENT/);
  const rows = await summary(page);
  assert.match(rows[0].join(' '), /^A Fine 64 × 256 [\d.]+ [\d.]+ /);
  assert.deepEqual(rows[2].slice(1, 4), ['not computed', '–', '–']);
  assert.match(rows[3].join(' '), /^D Large 64 × 172 /);
  assert.deepEqual(rows[4].slice(2, 6), ['0', '0', '–', '–']);
  assert.equal(rows[5][5], '–');
  const said = await page.textContent('.explain');
  assert.match(said, /D at 64 × 172 \(width × d_ff\) in place of 4096 × 11008/);
  assert.match(said, /init_std of D/);
  assert.match(said, /F, no prediction: this norm takes statistics over tokens/);
  await page.screenshot({ path: join(shots, 'depth-faults.png') });
  await page.selectOption('[aria-label=Show]', 'weights');
  await page.waitForFunction(() =>
    /E 0 throughout; B not finite/.test(document.querySelector('.depth-main .readout').textContent),
  );
  await finish();
});

test('a long run shows how far it is and can be cancelled', { skip }, async () => {
  const { page, finish } = await open('blocks=96&dseeds=16&dwidth=256&dseq=64&dlen=128&c=A,d_model:256');
  await page.waitForSelector('.explain >> text=/\\d+ tokens in place of 8192: the largest of these stacks/');
  await page.click('.run-note button');
  await page.waitForSelector('.run-note >> text=Cancelled.');
  await page.waitForSelector('#panel[aria-busy="false"]');
  await page.evaluate(() => {
    location.hash = '#v=2&blocks=2&dseeds=1';
  });
  await page.waitForSelector('.table-note:has-text("2 stacks in")');
  await finish();
});

const configs = ['post_norm', 'pre_norm', 'deepnorm', 'smollm2_135m', 'peri', 'dyt']
  .map((preset) => `c=A rather long name ${preset},preset:${preset}`)
  .join('&');
for (const [name, hash, options] of [
  ['320', `blocks=8&dseeds=2&${configs}`, { viewport: { width: 320, height: 640 }, hasTouch: true, isMobile: true }],
  [
    '390-light',
    'blocks=12&dseeds=3',
    { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true, deviceScaleFactor: 2 },
  ],
  [
    '390-zh-dark',
    'lang=zh&theme=dark&blocks=12&dseeds=3&dmix=mean',
    { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true, deviceScaleFactor: 2 },
  ],
  ['wide-zh-dark', `lang=zh&theme=dark&blocks=12&dseeds=3&${configs}`, { viewport: { width: 1440, height: 1200 } }],
]) {
  test(`${name}: nothing scrolls sideways, every control has a name`, { skip }, async () => {
    const { page, finish } = await open(hash, options);
    await finished(page);
    await page.click('.depth-sizes');
    await still(page);
    const sizes = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    assert.ok(sizes[0] <= sizes[1], `${sizes}`);
    const wide = await page.$$eval('#panel *', (all) =>
      all
        .filter((node) => !node.closest('.table-box, canvas, .visually-hidden'))
        .filter((node) => node.getBoundingClientRect().right > innerWidth + 0.5)
        .map((node) => node.className),
    );
    assert.deepEqual(wide, []);
    const nameless = await page.$$eval('#panel :is(button, input, select, [role=img])', (all) =>
      all
        .filter((node) => !(node.getAttribute('aria-label') || node.labels?.length || node.textContent.trim()))
        .map((node) => node.outerHTML.slice(0, 120)),
    );
    assert.deepEqual(nameless, []);
    await page.click('.depth-sizes');
    await still(page);
    await page.screenshot({ path: join(shots, `depth-${name}.png`), fullPage: options.isMobile });
    await finish();
  });
}
