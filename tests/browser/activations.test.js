// The Activations panel and the walk through the norms in Chromium: figures against the package in Node, every control,
// both themes and languages, wide and narrow. Screenshots go to dist/screenshots.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { load } from '../../dist/lib/index.js';
import { byKind, errors, tailShares, tails } from '../../web/demo/panels/activations/compute.js';
import { preactivations } from '../../web/demo/panels/activations/preactivations.js';
import { inputOf } from '../../web/demo/panels/norms/job.js';
import { NORMS_PROPS } from '../../web/demo/panels/norms/state.js';
import * as steps from '../../web/demo/panels/norms/steps.js';
import { eventually, openLab, settled, shots, skip, still } from './harness.js';

let lab;
let an;
before(async () => {
  if (skip) return;
  lab = await openLab();
  an = await load({ variant: 'simd' }); // gives the same bits everywhere
});
after(async () => {
  await lab?.close();
  an?.dispose();
});

const toNumber = (text) => Number(text.replaceAll('−', '-').replace(/[\u202f%]/g, ''));
/** Waits until the figures are there and drawn; the timing that follows is not waited for. */
async function drawn(page) {
  await still(page);
  await page.waitForFunction(() => {
    const norms = document.querySelector('.norms');
    if (norms) return norms.querySelector('.norms-text') && !norms.textContent.includes('…');
    const notes = document.querySelectorAll('#panel .table-note');
    return notes.length === 3 && ![...document.querySelectorAll('#panel td')].some((cell) => cell.textContent === '…');
  });
  await still(page);
}
/** Three significant digits are shown. */
const near = (shown, want, what) =>
  assert.ok(Math.abs(toNumber(shown) - want) <= 0.006 * Math.abs(want) + 1e-9, `${what}: ${shown}, not ${want}`);
const card = (page, title) => page.locator(`section.card:has(h2:text-matches("^${title}"))`);
const cells = (box) =>
  box
    .locator('table')
    .first()
    .evaluate((table) => [...table.rows].map((row) => [...row.cells].map((cell) => cell.textContent.trim())));

const gelu = 'c=One,d_model:32,d_ff:96';
const gated = 'c=Two,d_model:32,d_ff:64,activation:silu,gated:on,norm:rms_norm,placement:pre';
const relu = 'c=Three,d_model:32,d_ff:64,activation:relu,init:kaiming_normal';
const base = `v=2&panel=activations&variant=simd&rows=64&${gelu}&${gated}&${relu}`;
const fields = [
  { d_model: 32, d_ff: 96 },
  { d_model: 32, d_ff: 64, activation: 'silu', gated: true, norm: 'rms_norm', placement: 'pre' },
  { d_model: 32, d_ff: 64, activation: 'relu', init: 'kaiming_normal' },
];

test('functions, derivatives, shares and errors are those of the package in Node', { skip }, async () => {
  const { page, finish } = await lab.open(base);
  await drawn(page);
  for (const [title, of] of [
    ['Function', (name, x) => an.activation(name, x)],
    ['Derivative', (name, x) => an.activationBackward(name, x, new Float32Array(x.length).fill(1))],
  ]) {
    const box = card(page, title);
    await box.locator('button[aria-pressed]').first().click();
    await box.locator('.table-box[aria-busy=false]').waitFor();
    await still(page); // all rows are there
    const [head, ...rows] = await cells(box);
    assert.deepEqual(
      head.slice(1).map((text) => text.replace(/ φ′?$/, '')),
      ['A GELU', 'B SiLU', 'C ReLU'],
    );
    assert.ok(rows.length > 40);
    const x = Float32Array.from({ length: rows.length }, (_, i) => -4 + (8 * i) / (rows.length - 1));
    for (const [column, name] of ['gelu_erf', 'silu', 'relu'].entries()) {
      for (const [i, want] of of(name, x).entries()) {
        near(rows[i][0], x[i], 'x');
        near(rows[i][column + 1], want, `${title} of ${name} at ${x[i]}`);
      }
    }
  }

  const [head, ...rows] = await cells(card(page, 'What enters'));
  assert.equal(rows.length, 3);
  for (const [index, own] of fields.entries()) {
    const name = own.activation ?? 'gelu_erf';
    const given = { rows: 64, seed: 7, inputMean: 0, inputStd: 1, file: null };
    const { sorted, summary, gate } = preactivations(an, { fields: own }, given);
    const limits = tails(an, name, {}, 0.01);
    const shares = byKind(limits, tailShares(sorted, limits));
    const row = Object.fromEntries(head.map((key, i) => [key, rows[index][i]]));
    assert.equal(row.of, gate ? 'gate' : 'up');
    near(row.dead, 100 * shares.dead, `${name}: dead`);
    assert.equal(row.saturated, '–', `${name} has no such tail`);
    assert.equal(toNumber(row.values), 64 * own.d_ff);
    for (const key of ['mean', 'std', 'min', 'max']) near(row[key], summary[key], `${name}: ${key}`);
  }
  assert.ok(toNumber(rows[2][3]) > 30, 'ReLU: about half is dead');

  const { lines, points } = await errors(an, 'gelu_erf', [-4, 4]);
  const [, ...table] = await cells(card(page, 'Errors of GELU'));
  for (const [i, { largest, at, infinite }] of lines.entries()) {
    near(table[i][1], largest, table[i][0]);
    near(table[i][2], at, 'where');
    assert.equal(table[i][5], String(infinite));
  }
  const note = await card(page, 'Errors of GELU').locator('.note').textContent();
  assert.equal(points, 61440);
  assert.match(note, /61\u202f440 .*2³² .*3\.87 ULP.*3\.56.*docs\/accuracy\.md/);
  const [, ...differences] = await cells(card(page, 'GELU: largest'));
  near(differences[0][1], 4.734e-4, 'GELU tanh');
  near(differences[1][1], -0.020335, 'QuickGELU');
  await page.waitForSelector('.acts-entry math >> nth=2'); // formulas are MathML
  await finish();
});

test('chips, range, zoom and parameters', { skip }, async () => {
  const { page, finish } = await lab.open(base);
  await drawn(page);
  const hash = (pattern) => page.waitForFunction((text) => new RegExp(text).test(location.hash), pattern);
  const chip = (name) => page.locator('.acts-chip', { hasText: new RegExp(`^${name}`) });
  const shown = () => page.locator('.acts-entry b:not(.letter)').allTextContents();
  assert.equal(await chip('GELU A').getAttribute('title'), 'the activation of A');
  await chip('GELU A').click();
  await hash('noacts=gelu_erf');
  await chip('swish').focus();
  await page.keyboard.press('Space');
  await hash('acts=relu%20silu%20swish');
  await still(page);
  assert.deepEqual(await shown(), ['SiLU', 'ReLU', 'swish']);
  await chip('GELU A').click();

  // The parameter of an activation that no configuration has, then one of a configuration's.
  const beta = page.locator('.acts-entry', { hasText: 'swish' }).locator('.typed');
  await beta.fill('2.5');
  await beta.press('Enter');
  await hash('swish.beta=2.5');
  await page.waitForSelector('.acts-entry b:has-text("swish β 2.50")');
  await page.click('[aria-label=Undo]');
  await page.waitForSelector('.acts-entry b:text-is("swish")');
  await chip('softcap').click();
  const cap = page.locator('.acts-entry', { hasText: 'softcap' }).locator('.typed');
  await cap.fill('-3');
  await cap.press('Enter');
  await still(page);
  assert.match(await page.textContent('.acts-entry .error-text'), /positive number/);
  assert.ok(await card(page, 'Function').locator('canvas').isVisible(), 'the others are drawn');
  await chip('softcap').click();

  // The range: typed, by buttons, by keys, by the wheel, by dragging.
  const ends = () =>
    page.locator('.acts-range .typed').evaluateAll((list) => list.slice(0, 2).map(({ value }) => Number(value)));
  await page.fill('[aria-label="lower end of x"]', '-8');
  await page.keyboard.press('Enter');
  await hash('xlo=-8');
  await page.click('[aria-label="Zoom in"]');
  await still(page);
  assert.deepEqual(await ends(), [-6, 2]);
  const plot = card(page, 'Derivative').locator('.plot');
  await plot.focus();
  await page.keyboard.press('-');
  await page.waitForFunction(() => location.hash.includes('xlo=-8'));
  await still(page);
  assert.deepEqual(await ends(), [-8, 4]);
  await page.keyboard.press('Shift+ArrowRight');
  await hash('xlo=-5.6');
  await page.keyboard.press('0');
  await page.waitForFunction(() => !location.hash.includes('xlo'));
  await settled(page); // the chart is drawn anew with what has been computed
  await page.keyboard.press('ArrowRight');
  await still(page);
  assert.match(await card(page, 'Derivative').locator('.readout').textContent(), /x −4.*SiLU/);
  const box = await plot.locator('.u-over').boundingBox();
  await page.mouse.move(box.x + box.width * 0.75, box.y + 60);
  await page.mouse.wheel(0, -200);
  await page.waitForFunction(() => location.hash.includes('xlo'));
  await still(page);
  const [low, high] = await ends();
  assert.ok(low > -4 && high < 4 && Math.abs((2 - low) / (high - low) - 0.75) < 0.03, `${low} … ${high}`);
  await page.mouse.dblclick(box.x + 50, box.y + 60);
  await page.waitForFunction(() => !location.hash.includes('xlo'));
  await settled(page);
  await page.mouse.move(box.x + box.width * 0.25, box.y + 80);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.5, box.y + 90, { steps: 4 });
  await page.mouse.up();
  await page.waitForFunction(() => location.hash.includes('xlo'));
  await still(page);
  const dragged = await ends();
  assert.ok(Math.abs(dragged[0] + 2) < 0.1 && Math.abs(dragged[1]) < 0.1, `${dragged}`);
  await page.click('button:text-is("Whole range")');

  await page.selectOption('.acts-select', 'tanh');
  await page.waitForSelector('h2:text-is("Errors of tanh over the shown range")');
  await page.fill('#acts-flat', '0.2');
  await page.keyboard.press('Enter');
  const { left } = tails(an, 'gelu_erf', {}, 0.2);
  await page.waitForSelector(`text=dead below −${(-left.at).toPrecision(3)}`);
  await finish();
});

const LOOKS = [
  ['en', 'light'],
  ['en', 'dark'],
  ['zh', 'light'],
  ['zh', 'dark'],
];

/** Nothing of the panel reaches beyond the window. */
async function fits(page, what) {
  const beyond = await page.$$eval('#panel, #panel > *, #panel section', (list) =>
    list.map((one) => [one.className, one.getBoundingClientRect().right - innerWidth]).filter(([, by]) => by > 0.5),
  );
  assert.deepEqual(beyond, [], what);
}

const initial = Object.fromEntries(NORMS_PROPS.map(({ name, initial: value }) => [name, value]));
const taken = (patch) => steps.takes(inputOf({ ...initial, ...patch }));
const values = (page, norm) => page.locator(`section[aria-labelledby="norms-${norm}"] td`).allTextContents();

test('the walk through the norms: each step, an edit, padding and a batch of one', { skip }, async () => {
  const { page, finish } = await lab.open(`v=2&panel=forward&variant=simd&rows=4&c=One,d_model:32,d_ff:32&nstep=scale`);
  await drawn(page);
  const check = (patch) => {
    const input = taken(patch);
    const given = steps.byPackage(an, input, true);
    return eventually(async () => {
      for (const name of steps.NORMS) {
        const shown = await values(page, name);
        for (const [i, y] of given[name].y.entries()) near(shown[i], y, `${name} [${i}]`);
      }
    });
  };
  await check({});
  for (const [step, key] of [
    ['mean', 'mean'],
    ['variance', 'variance'],
  ]) {
    await page.check(`input[name=norm-step][value=${step}]`, { force: true });
    await still(page);
    for (const name of steps.NORMS) {
      const { groups, stats } = steps.walk(name, taken({}), true);
      for (const [i, shown] of (await values(page, name)).entries()) {
        if (name === 'rms_norm' && step === 'mean') assert.equal(shown, '–');
        else near(shown, stats[groups[i]][key], `${step} of ${name} [${i}]`);
      }
    }
  }

  // The group of the cell that is pointed at, in every norm.
  const sizes = () =>
    page.$$eval('.norms-card', (cards) => cards.map((one) => one.querySelectorAll('.norms-shared').length));
  await page.hover('section[aria-labelledby=norms-batch_norm] td >> nth=6');
  await still(page);
  assert.deepEqual(await sizes(), [4, 4, 6, 6, 3]);
  await page.focus('[aria-label="sequence 2, token 3, feature 4"]');
  await page.keyboard.press('ArrowUp');
  await still(page);
  assert.equal(
    await page.evaluate(() => document.activeElement.getAttribute('aria-label')),
    'sequence 2, token 2, feature 4',
  );
  await page.mouse.move(0, 0);
  await page.waitForSelector('h3:has-text("sequence 2, token 2, feature 4")');

  await page.check('input[name=norm-step][value=scale]', { force: true });
  await page.fill('[aria-label="sequence 1, token 2, feature 3"]', '40');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => location.hash.includes('nx=outlier'));
  await drawn(page);
  await check({ normMatrix: 'outlier' });
  await page.click('[aria-label=Undo]');
  await page.waitForFunction(() => !location.hash.includes('nx='));

  await page.click('button:text-is("padding")');
  await drawn(page);
  await check({ normMatrix: 'padding' });
  assert.equal(await page.locator('section[aria-labelledby=norms-batch_norm] .norms-out').count(), 8);
  const padded = taken({ normMatrix: 'padding' });
  const [masked, counted, inference] = steps.batchNormWays(an, padded, 10);
  const [, ...rows] = await cells(page.locator('.norms section', { hasText: 'batches seen' }));
  near(rows[1][5], steps.realDifference(counted.y, masked.y, padded), 'padding counted');
  near(rows[2][5], steps.realDifference(inference.y, masked.y, padded), 'inference');
  assert.match(await page.textContent('.norms-text'), /up to 2\.\d+\. GroupNorm .*65\.1\u202f%/);

  await page.click('button:text-is("a batch of one")');
  await eventually(async () => assert.deepEqual(await values(page, 'batch_norm'), ['0', '0.500', '0', '−1.00']));
  assert.match(await page.textContent('.norms-text'), /gives β whatever x is/);
  await page.fill('#norms-groups', '3');
  await page.keyboard.press('Enter');
  await still(page);
  assert.match(
    await page.textContent('section[aria-labelledby=norms-group_norm] .error-text'),
    /3 does not divide the 4/,
  );
  await finish();
});

test('both themes and languages, wide and narrow', { skip }, async () => {
  for (const [width, height] of [
    [1440, 900],
    [390, 844],
    [320, 640],
  ]) {
    const { page, finish } = await lab.open(base, { viewport: { width, height } });
    await drawn(page);
    const looks = { 320: LOOKS.slice(0, 1), 390: [LOOKS[0], LOOKS[3]] }[width] ?? LOOKS;
    for (const [language, theme] of looks) {
      for (const panel of ['activations', 'forward']) {
        await page.evaluate(
          (hash) => {
            location.hash = hash;
          },
          `${base.replace('panel=activations', `panel=${panel}`)}&acts=mish&lang=${language}&theme=${theme}`,
        );
        await page.waitForSelector(panel === 'forward' ? '.norms-text' : '.acts-list');
        await page.waitForSelector(`html[data-theme=${theme}][lang^=${language}]`);
        await drawn(page);
        await fits(page, `${panel} at ${width}`);
        if (width === 320) continue;
        const top = panel === 'forward' ? '.norms' : '#panel > *';
        await page.$eval(top, (section) => section.scrollIntoView({ block: 'start' }));
        const name = `${panel === 'forward' ? 'norms' : panel}-${width}-${language}-${theme}.png`;
        await page.screenshot({ path: join(shots, name), fullPage: width < 900 });
      }
    }
    await finish();
  }
});
