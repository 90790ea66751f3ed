// The Training panel in Chromium: its figures against the package in Node, the run's buttons, what an edit begins anew,
// divergence and the way back, hidden tabs, and the pictures. Screenshots go to dist/screenshots.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { openLab, openPage, shots, show, skip, still } from './harness.js';

let lab;
before(async () => {
  if (!skip) lab = await openLab();
});
after(() => lab?.close());

/** In the variant whose bits are the same in every engine. */
const hashOf = (more) => `panel=training&variant=simd&${more}`;
const phase = (page, wanted) => page.waitForSelector(`[data-phase="${wanted}"]`, { timeout: 120_000 });
const summary = (page) =>
  page.$$eval('.training-summary tbody tr', (rows) =>
    rows.map((row) => [...row.cells].map((cell) => cell.textContent.trim())),
  );
/** Until the worker has taken up what the address says, of which this is a part. */
const taken = (page, part) =>
  page.waitForFunction(
    (wanted) => location.hash.includes(wanted) && document.querySelector('.training-progress').ariaBusy === 'false',
    part,
  );
/** Until the table, which is drawn a little later, has what the progress says, and with it all that is drawn at an end. */
async function fresh(page) {
  await page.waitForFunction(() => {
    const number = (text) => Number(text.replace(/\D/g, ''));
    const [, step] = /step ([\d\u202f]+)/.exec(document.querySelector('.training-progress').textContent) ?? [];
    const rows = [...document.querySelectorAll('.training-summary tbody tr')];
    return step && Math.max(...rows.map((row) => number(row.cells[1].textContent))) === number(step);
  });
  await still(page);
}
const stepsOf = async (page) => (await summary(page)).map((cells) => Number(cells[1].replaceAll('\u202f', '')));
/** The steps of the run that is furthest, as the progress says it. */
const furthest = async (page) =>
  Number(/step ([\d\u202f]+)/.exec(await page.textContent('.training-progress'))[1].replaceAll('\u202f', ''));
const notice = (page) => page.textContent('.training-progress [role=status]');
const type = async (page, id, value) => {
  await page.fill(`#${id}`, String(value));
  await page.press(`#${id}`, 'Enter');
};
const toNumber = (text) => Number(text.replaceAll('−', '-').replaceAll('\u202f', ''));
/** Three significant digits were shown. */
function near(shown, expected, what) {
  assert.ok(Math.abs(toNumber(shown) - expected) <= 0.006 * Math.abs(expected), `${what}: ${shown}, not ${expected}`);
}

/** The page's first two configurations, trained by the package's public API alone. */
async function inNode({ steps, batch, depth, width, rate, seed }) {
  const { load } = await import('../../dist/lib/index.js');
  const { makeTask } = await import('../../dist/lib/tasks.js');
  const an = await load({ variant: 'simd' });
  const task = makeTask(an, 'spiral', { seed, batch });
  const runs = ['post', 'pre'].map((placement) => {
    const config = { ...task.config, placement, init: 'xavier_normal', d_model: width, d_ff: 4 * width, depth };
    const model = an.stack(config, { seed });
    const optimizer = an.optimizer('adamw', model, { rate, weightDecay: 0.01, decay: 'matrices', clip: 1 });
    const rows = Array.from({ length: steps }, (_, step) =>
      an.scope(() => {
        const { x, target } = task.batch(step);
        const y = model.forward(an.tensor(x), { train: true, seed: step });
        const { value, gradient } = an.loss(task.loss, y, target, task.lossOptions);
        model.zeroGrad();
        model.backward(gradient, { dx: false });
        const norm = an.clipGradNorm(model, Infinity);
        optimizer.step();
        return { loss: value, norm };
      }),
    );
    const accuracy = task.metric(model.forward(task.test.x), task.test.target);
    return { rows, accuracy, parameters: model.cost(1).parameters };
  });
  an.dispose();
  return runs;
}

test('a first visit trains at once; its figures are those of the package in Node', { skip }, async () => {
  const { page, finish } = await lab.open(hashOf('steps=20'));
  await phase(page, 'done');
  await fresh(page);
  const expected = await inNode({ steps: 20, batch: 64, depth: 20, width: 32, rate: 0.002, seed: 7 });
  for (const [i, cells] of (await summary(page)).entries()) {
    const { rows, accuracy, parameters } = expected[i];
    assert.equal(cells[1], '20');
    near(cells[2], rows[19].loss, 'loss');
    near(cells[4], accuracy, 'accuracy');
    near(cells[5], rows[19].norm, 'gradient norm');
    near(cells[7], 0.002, 'rate');
    assert.equal(toNumber(cells[8]), parameters);
  }
  await page.click('[aria-label^="Loss: "]');
  await page.waitForSelector('.training-charts .chart >> nth=0 >> tbody tr');
  await still(page); // all rows are there
  const table = await page.$$eval('.training-charts .chart >> nth=0 >> tbody tr', (rows) =>
    rows.map((row) => [...row.cells].map((cell) => cell.textContent)),
  );
  assert.equal(table.length, 20);
  for (const [k, cells] of table.entries()) {
    assert.equal(cells[0], String(k + 1));
    for (const i of [0, 1]) near(cells[1 + i], expected[i].rows[k].loss, `loss of step ${k + 1}`);
  }
  await page.click('[aria-label^="Loss: "]');
  assert.match(await page.textContent('.explain'), /step 1 block 1 gets 1\.\d+ times.*Xiong et al\. 2020/s);
  assert.equal(await page.$('.training-incident'), null);

  // Saved: of the heat maps every step and block; in the file of everything the runs, also from another panel.
  const saved = async (button) => {
    const [download] = await Promise.all([page.waitForEvent('download'), page.click(button)]);
    return readFileSync(await download.path(), 'utf8');
  };
  await page.click('.training-heat .disclosure button');
  const [head, ...steps] = (await saved('.training-heat .formats >> text=CSV')).slice(1).trim().split('\r\n');
  assert.equal(head.split('","').length, 40);
  await show(page, 'wiring');
  await page.click('nav >> text=Export');
  const file = JSON.parse(await saved('text=Save JSON'));
  const { value } = file.panels.training;
  assert.deepEqual([value.task.name, value.phase, value.plan.depth, value.runs.length], ['spiral', 'away', 20, 2]);
  for (const [i, { name, steps: done, curves, tests }] of value.runs.entries()) {
    assert.deepEqual([name, done], [file.state.configs[i].name, 20]);
    assert.deepEqual(
      curves.loss,
      expected[i].rows.map(({ loss }) => loss),
    );
    assert.deepEqual(
      curves.gradient,
      expected[i].rows.map(({ norm }) => norm),
    );
    assert.deepEqual(tests.at(-1), { step: 20, accuracy: expected[i].accuracy });
    for (const [k, line] of steps.entries()) {
      const cells = line.split(',').map(Number);
      const byBlock = curves.gradientByBlock.map((norms) => norms[k]);
      assert.deepEqual([cells[0], cells.slice(1 + 20 * i, 21 + 20 * i)], [k + 1, byBlock]);
      assert.ok(Math.hypot(...byBlock) < curves.gradient[k], 'blocks are a part of the whole');
    }
  }
  await finish();
});

test('pause, step, reset, and what an edit begins anew', { skip }, async () => {
  const { page, finish } = await lab.open(hashOf('steps=1000&tdepth=2&twidth=8&batch=8&speed=50'));
  await page.waitForFunction(() => /step [1-9]/.test(document.querySelector('.training-progress')?.textContent));
  await page.click('.training-start'); // pause
  await phase(page, 'paused');
  await fresh(page);
  const [at] = await stepsOf(page);
  assert.deepEqual(await stepsOf(page), [at, at]);
  await page.click('text="Step"');
  await page.waitForFunction(
    (step) => document.querySelector('.training-summary td').textContent === step,
    `${at + 1}`,
  );
  await still(page);
  assert.deepEqual(await stepsOf(page), [at + 1, at + 1]);

  await page.selectOption('#field-activation', 'relu'); // of B, the selected one
  await page.waitForFunction(() => /^B changed/.test(document.querySelector('[role=status].note').textContent));
  await page.waitForFunction(
    () => document.querySelectorAll('.training-summary td:nth-child(2)')[1].textContent === '0',
  );
  assert.deepEqual(await stepsOf(page), [at + 1, 0], 'A stays where it is');

  // While it runs: A goes on where B begins anew, and keeps every step.
  await page.click('.training-start');
  await page.waitForFunction(
    (step) => Number(document.querySelector('.training-summary td').textContent) > step,
    at + 5,
  );
  await page.selectOption('#field-activation', 'silu');
  await taken(page, 'silu');
  await page.waitForFunction(
    (step) => {
      const [a, b] = [...document.querySelectorAll('.training-summary td:nth-child(2)')].map((cell) =>
        Number(cell.textContent),
      );
      return a > step && a === b;
    },
    await furthest(page),
  ); // A waits until B is where it was, so that these are the new B's steps
  await page.click('.training-start');
  await phase(page, 'paused');
  await fresh(page);
  await page.click('[aria-label^="Loss: "]');
  await page.waitForSelector('.training-charts .chart >> nth=0 >> tbody tr');
  await still(page);
  const rows = await page.$$eval('.training-charts .chart >> nth=0 >> tbody tr', (list) =>
    list.map((row) => [...row.cells].map((cell) => cell.textContent)),
  );
  // From the first step on, none left out, but that a table of more than a hundred shows every second, third, ...
  const steps = rows.map(([step]) => Number(step));
  const stride = steps[1] - 1;
  assert.ok(stride === 1 || steps.at(-1) > 100, `${steps}`);
  assert.deepEqual(
    steps.slice(0, -1),
    rows.slice(1).map((_, i) => 1 + i * stride),
  );
  for (const [, ...cells] of rows.slice(0, -1))
    assert.ok(
      cells.every((cell) => toNumber(cell) > 0),
      cells.join(),
    );
  await page.click('[aria-label^="Loss: "]');

  await type(page, 'train-rate', '1e-2');
  await page.waitForFunction(() =>
    /^Learning rate changed: all/.test(document.querySelector('[role=status].note').textContent),
  );
  await page.waitForFunction(() => document.querySelector('.training-summary td').textContent === '0');
  await page.waitForFunction(() => location.hash.includes('lr=0.01'));
  await page.click('.training-knob:has(#train-rate) .reset');
  await page.waitForFunction(() => !location.hash.includes('lr='));
  await page.click('[aria-label=Undo]');
  await page.waitForFunction(() => location.hash.includes('lr=0.01'));

  await page.selectOption('#train-task', 'gaussians');
  await page.waitForFunction(() => /^Task/.test(document.querySelector('[role=status].note').textContent));
  await taken(page, 'task=gaussians');
  await still(page);
  assert.match(await notice(page), /all start anew/);
  assert.equal(await page.inputValue('#train-steps'), '100', 'with the task’s own settings');
  assert.equal(await page.inputValue('#train-batch'), '64');
  await type(page, 'train-steps', 6);
  await type(page, 'train-depth', 2);
  await page.selectOption('#train-speed', '0');
  await taken(page, 'steps=6');
  await taken(page, 'tdepth=2');
  await page.click('.training-start');
  await phase(page, 'done');
  await fresh(page);
  assert.deepEqual(await stepsOf(page), [6, 6]);
  assert.ok(await page.isDisabled('.training-start'), 'at the limit nothing goes on');
  await page.click('text="Reset"');
  await phase(page, 'done');
  await finish();
});

test('a chart out of sight is drawn when it comes into view, and saved as it is by then', { skip }, async () => {
  const small = { viewport: { width: 1440, height: 420 } };
  const { page, finish } = await lab.open(hashOf('steps=100&tdepth=1&twidth=8&batch=8&speed=50'), small);
  await phase(page, 'done');
  await fresh(page);
  const chart = page.locator('.chart', { hasText: 'Learning rate' });
  const { y } = await chart.boundingBox();
  assert.ok(y > 2 * 420, `at ${y}`);
  await page.click('nav >> text=Export');
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.click('[aria-label="Learning rate: save as SVG"]'),
  ]);
  const svg = readFileSync(await download.path(), 'utf8');
  const [, line] = /d="M([\d L]+)" fill="none" stroke="#0072b2" stroke-width="2"/.exec(svg);
  assert.equal(line.split('L').length, 100, 'its line has every step');
  await chart.locator('.plot').focus();
  await page.keyboard.press('ArrowLeft');
  await page.waitForFunction(() => /\b100\b/.test(document.querySelector('[aria-live=polite].readout')?.textContent));
  await finish();
});

test('what diverges is named and marked; rewound, it goes on with a lower rate', { skip }, async () => {
  const plain = 'c=Plain,norm:none,placement:none&c=Pre-Norm,preset:pre_norm';
  const { page, finish } = await lab.open(
    hashOf(`${plain}&task=teacher_student&opt=momentum&lr=1&warmup=100&clip=0&tdepth=4&batch=16&steps=110`),
  );
  await phase(page, 'done');
  await fresh(page);
  const incident = page.locator('.training-incident');
  const told = await incident.textContent();
  assert.match(
    told,
    /A Plain diverged: step 71 was its last good one; NaN in step 72, block \d, FFN [\w ]+\. It has stopped\./,
  );
  assert.doesNotMatch(told, /others/, 'the other is at its end');
  assert.deepEqual(await stepsOf(page), [71, 110]);
  assert.match((await summary(page))[0].at(-1), /NaN in step 72/);
  await page.screenshot({ path: join(shots, 'training-diverged.png') });
  await incident.locator('text=Rewind to step 50').click();
  await page.waitForSelector('text=A Plain stands at step 50');
  await page.waitForFunction(() => document.querySelector('.training-summary td').textContent === '50');
  await still(page);
  assert.deepEqual(await stepsOf(page), [50, 110]);
  await type(page, 'train-rate', 0.02);
  await page.waitForFunction(() => document.querySelector('.training-summary td').textContent === '110');
  await phase(page, 'done');
  await fresh(page);
  assert.match(await notice(page), /Learning rate changed: acts from here on/);
  assert.equal(await page.$('.training-incident'), null);
  for (const cells of await summary(page)) assert.equal(cells.at(-1), 'not diverged');
  await finish();
});

test('training waits while the tab is hidden or another panel is shown', { skip }, async () => {
  const { page, finish } = await openPage(lab.browser, lab.server.origin);
  await page.addInitScript(() => {
    Object.defineProperty(Document.prototype, 'hidden', { get: () => window.away === true });
  });
  const go = (away) =>
    page.evaluate((value) => {
      window.away = value;
      document.dispatchEvent(new Event('visibilitychange'));
    }, away);
  await page.goto(`${lab.site}#${hashOf('steps=5000&tdepth=1&twidth=8&batch=8&speed=50')}`);
  await phase(page, 'running');
  await go(true);
  await phase(page, 'away');
  await fresh(page);
  assert.match(await page.textContent('.training-progress'), /Paused while this tab is hidden/);
  const before = await stepsOf(page);
  await page.waitForTimeout(400);
  assert.deepEqual(await stepsOf(page), before, 'no step meanwhile');
  await go(false);
  await phase(page, 'running');
  await page.click('#tab-depth');
  await page.waitForSelector('.depth-main');
  await page.click('#tab-training');
  await phase(page, 'running');
  const [now] = await stepsOf(page);
  assert.ok(now >= before[0], 'it goes on where it was');
  await page.click('.training-start');
  await finish();
});

test('every kind of task has its picture, its table and its measure', { skip }, async () => {
  const size = 'steps=10&tdepth=1&twidth=8&batch=4';
  const { page, finish } = await lab.open(hashOf(`task=copy&${size}`));
  await phase(page, 'done');
  await fresh(page);
  assert.match(await page.textContent('.training-answers tbody'), /^[a-h]{12}/);
  assert.match(await page.textContent('.training-answers tbody'), /of 6 right/);
  for (const [task, selector] of [
    ['teacher_student', '.training-gallery canvas'],
    ['text', '.training-text'],
    ['gaussians', '.training-gallery canvas'],
  ]) {
    await page.evaluate(
      (hash) => {
        location.hash = hash;
      },
      hashOf(`task=${task}&${size}`),
    );
    await page.waitForSelector(selector);
    await still(page); // the page has seen the address
    await taken(page, `task=${task}`);
    await phase(page, 'done');
    await fresh(page);
    if (task === 'text') {
      await page.waitForFunction(() => document.querySelector('.training-text').textContent.length > 100);
      continue;
    }
    await page.click('.training-gallery [aria-pressed=false]');
    await still(page);
    assert.equal((await page.$$('.training-gallery tbody tr')).length, 8);
    await page.click('.training-gallery [aria-pressed=true]');
  }
  // One cursor for all: the keys move it in a chart, and the heat maps follow; and the other way round.
  await page.focus('.training-charts .chart >> nth=0 >> .plot');
  for (let i = 0; i < 4; i++) await page.keyboard.press('ArrowRight');
  await still(page);
  for (const nth of [0, 1, 2]) {
    assert.match(await page.textContent(`.training-charts .chart >> nth=${nth} >> .readout`), /^step 4: {2}A /);
  }
  assert.equal(await page.isVisible('.training-cursor >> nth=0'), true);
  await page.focus('.training-cells >> nth=1');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowRight');
  await still(page);
  assert.match(await page.textContent('.training-heat .readout'), /^B Pre-Norm, step 2, block 1: [\d.]+/);
  assert.match(await page.textContent('.training-charts .chart >> nth=0 >> .readout'), /^step 2:/);
  await page.keyboard.press('Escape');
  await finish();
});

test('screenshots: wide and narrow, light and dark, both languages', { skip }, async () => {
  const { page, finish } = await lab.open('panel=training&steps=60');
  await phase(page, 'done');
  await fresh(page);
  for (const language of ['en', 'zh']) {
    for (const theme of ['light', 'dark']) {
      await page.evaluate((hash) => {
        location.hash = hash;
      }, `panel=training&steps=60&lang=${language}&theme=${theme}`);
      await page.waitForSelector(`html[data-theme=${theme}][lang^=${language}]`);
      for (const [width, height] of [
        [1440, 900],
        [390, 844],
      ]) {
        await page.setViewportSize({ width, height });
        await still(page);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(wide <= 0, `nothing scrolls sideways at ${width}`);
        await page.screenshot({ path: join(shots, `training-${language}-${theme}-${width}.png`) });
      }
    }
  }
  await page.setViewportSize({ width: 320, height: 700 });
  await still(page);
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 320);
  const nameless = await page.$$eval(
    '#panel button, #panel input, #panel select, #panel .training-plane, #panel [tabindex="0"]',
    (all) =>
      all
        .filter((element) => element.offsetParent && !element.closest('.disclosure .opened'))
        .filter(
          (element) => !(element.getAttribute('aria-label') || element.labels?.length || element.textContent.trim()),
        )
        .map((element) => element.outerHTML.slice(0, 120)),
  );
  assert.deepEqual(nameless, [], 'every control has a name');
  await finish();
});
