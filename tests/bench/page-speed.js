// npm run bench:page -- [--no-lighthouse] [--runs 5]
// How fast Block Lab is for a visitor, by the browser's own performance entries: what is transferred, first paint, first
// chart, interaction to next paint while six configurations train under a processor slowed down four times, and what
// Lighthouse says. Nothing here is a test: the machine decides. Written to dist/bench/page.json.
import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { executablePath, launch, serve, siteFolder, skip } from '../browser/harness.js';

const { values: given } = parseArgs({
  options: { 'no-lighthouse': { type: 'boolean', default: false }, runs: { type: 'string', default: '5' } },
});
if (skip) throw new Error(skip);

const KB = 1024;
const median = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];
const range = (list) =>
  `${Math.round(median(list))} ms (${Math.round(Math.min(...list))} to ${Math.round(Math.max(...list))})`;
const report = { date: new Date().toISOString() };

const server = await serve({ '/lab/': siteFolder }, {}, {}, { gzip: true });
const site = `${server.origin}/lab/`;
const browser = await launch();

/** Notes in the page what the browser tells, and when the first chart has been drawn. */
function watch() {
  const seen = { tasks: [], events: [], chart: null };
  globalThis.seen = seen;
  new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries())
      seen.tasks.push([Math.round(startTime), Math.round(duration)]);
  }).observe({ type: 'longtask', buffered: true });
  new PerformanceObserver((list) => {
    for (const { name, duration, interactionId, processingStart, processingEnd, startTime } of list.getEntries()) {
      if (!interactionId) continue;
      const parts = [processingStart - startTime, processingEnd - processingStart].map(Math.round);
      seen.events.push({ name, duration, id: interactionId, delay: parts[0], processing: parts[1] });
    }
  }).observe({ type: 'event', durationThreshold: 16, buffered: true });
  // uPlot draws in the microtask after it has put its canvas into the page: the frame after that shows it.
  const look = () => {
    if (document.querySelector('#panel .plot canvas')) requestAnimationFrame(() => (seen.chart = performance.now()));
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}

async function open(hash, { slower = 1, ...options } = {}) {
  const context = await browser.newContext({
    viewport: { width: 1440, height: 900 },
    serviceWorkers: 'block',
    ...options,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(120_000);
  await page.addInitScript(watch);
  const files = [];
  page.on('response', (response) =>
    files.push({ url: response.url(), at: performance.now(), body: response.body().catch(() => '') }),
  );
  const session = await context.newCDPSession(page);
  await session.send('Emulation.setCPUThrottlingRate', { rate: slower });
  await page.goto(`${site}#${hash}`);
  return { page, files, close: () => context.close() };
}

// ---- Transfer

async function transfer() {
  const { page, files, close } = await open('');
  await page.waitForFunction(() => globalThis.seen.chart !== null);
  const chart = performance.now();
  await page.waitForSelector('#panel[aria-busy=false]');
  await page.waitForTimeout(1000);
  const sizes = [];
  for (const { url, at, body } of files)
    sizes.push({
      file: url.slice(site.length) || 'index.html',
      bytes: gzipSync(await body, { level: 9 }).length,
      first: at <= chart,
    });
  await close();
  const sum = (list) => list.reduce((total, { bytes }) => total + bytes, 0);
  report.transfer = { untilFirstChart: sum(sizes.filter(({ first }) => first)), untilIdle: sum(sizes), sizes };
  console.log(
    `transfer, gzip: ${(report.transfer.untilFirstChart / KB).toFixed(1)} KB until the first chart (budget 250), ${(report.transfer.untilIdle / KB).toFixed(1)} KB until idle`,
  );
  for (const { file, bytes, first } of sizes.sort((a, b) => b.bytes - a.bytes))
    console.log(`  ${(bytes / KB).toFixed(1).padStart(6)} KB  ${file}${first ? '' : '  (later)'}`);
}

// ---- First paint, first chart

async function start(slower) {
  const runs = [];
  for (let i = 0; i < Number(given.runs); i++) {
    const { page, close } = await open('', { slower });
    await page.waitForFunction(() => globalThis.seen.chart !== null);
    runs.push(
      await page.evaluate(() => ({
        paint: performance.getEntriesByName('first-contentful-paint')[0].startTime,
        chart: globalThis.seen.chart,
        longest: Math.max(0, ...globalThis.seen.tasks.map(([, duration]) => duration)),
      })),
    );
    await close();
  }
  const of = (name) => runs.map((run) => run[name]);
  report[`start${slower}`] = runs;
  console.log(
    `processor ${slower} × slower: first paint ${range(of('paint'))}, first chart ${range(of('chart'))}, longest task ${range(of('longest'))}`,
  );
}

// ---- Interaction to next paint

const SIX = ['post_norm', 'pre_norm', 'deepnorm', 'dyt', 'peri', 'rezero']
  .map((id) => `c=${id},preset:${id}`)
  .join('&');

/** What a visitor does, by name. Each ends with a pause in which the next frame is shown. */
const ACTIONS = [
  ['select a configuration', (page) => page.click('.config-card >> nth=3 >> .config-main')],
  ['select by key', (page) => page.keyboard.press('j')],
  ['log scale', (page) => page.click('.chart >> nth=0 >> input[type=checkbox]')],
  ['theme', (page) => page.keyboard.press('m')],
  ['language', (page) => page.keyboard.press('l')],
  ['language back', (page) => page.keyboard.press('l')],
  ['sidebar', (page) => page.keyboard.press('s')],
  ['sidebar back', (page) => page.keyboard.press('s')],
  ['export menu', (page) => page.click('nav >> text=Export')],
  ['close it', (page) => page.keyboard.press('Escape')],
  ['add dialog', (page) => page.keyboard.press('a')],
  ['type in it', (page) => page.keyboard.type('smol')],
  ['close it', (page) => page.click('dialog >> text=Close')],
  ['shortcuts', (page) => page.keyboard.press('?')],
  ['close them', (page) => page.keyboard.press('Escape')],
  [
    'read a chart',
    async (page) => {
      await page.focus('.chart >> nth=0 >> .plot');
      for (let i = 0; i < 5; i++) await page.keyboard.press('ArrowRight');
    },
  ],
  ['as a table', (page) => page.click('.chart >> nth=0 >> .card-tools button:has-text("Table")')],
  ['as a chart', (page) => page.click('.chart >> nth=0 >> .card-tools button:has-text("Chart")')],
  ['edit a field', (page) => page.selectOption('#field-activation', 'relu')],
  ['undo', (page) => page.keyboard.press('Control+z')],
  ['panel: Depth', (page) => page.keyboard.press('4')],
  ['panel: Forward', (page) => page.keyboard.press('2')],
  ['panel: Training', (page) => page.keyboard.press('5')],
];

async function interactions(slower) {
  const { page, close } = await open(`panel=training&task=spiral&tdepth=12&steps=20000&blocks=12&${SIX}`, { slower });
  await page.waitForSelector('#panel .plot canvas');
  await page.waitForTimeout(5000);
  await page.evaluate(() => {
    globalThis.seen.tasks.length = 0;
    globalThis.seen.events.length = 0;
  });
  await page.waitForTimeout(5000);
  const training = await page.evaluate(() => globalThis.seen.tasks.splice(0).map(([, duration]) => duration));
  const worst = [];
  const tasks = [];
  for (const [name, act] of ACTIONS) {
    await act(page);
    await page.waitForTimeout(1200);
    const { events, long } = await page.evaluate(() => ({
      events: globalThis.seen.events.splice(0),
      long: globalThis.seen.tasks.splice(0).map(([, duration]) => duration),
    }));
    const slowest = events.sort((a, b) => b.duration - a.duration)[0];
    worst.push({
      name,
      duration: slowest?.duration ?? 0,
      delay: slowest?.delay,
      processing: slowest?.processing,
      tasks: long,
    });
    tasks.push(...long);
  }
  await close();
  report[`interactions${slower}`] = { training, worst };
  const { duration } = worst.toSorted((a, b) => b.duration - a.duration)[0];
  const count = (list) =>
    `${list.length} tasks over 50 ms${list.length > 0 ? `, the longest ${Math.max(...list)} ms` : ''}`;
  console.log(
    `\nsix configurations training at depth 12, processor ${slower} × slower: interaction to next paint ${duration} ms at worst (bar: 100)`,
  );
  console.log(`  5 s of training alone: ${count(training)}; during the interactions: ${count(tasks)}`);
  for (const one of worst.filter((entry) => entry.duration > 0).sort((a, b) => b.duration - a.duration))
    console.log(
      `  ${String(one.duration).padStart(5)} ms  ${one.name}  (waited ${one.delay}, computed ${one.processing}; tasks ${one.tasks.join(' ') || 'none'})`,
    );
}

// ---- Lighthouse

async function lighthouse() {
  let tools;
  try {
    tools = [await import('lighthouse'), await import('chrome-launcher')];
  } catch {
    console.log('\nLighthouse is not installed: (cd tests/bench && npm ci)');
    return;
  }
  const [{ default: run, desktopConfig }, { launch: launchChrome }] = tools;
  const chrome = await launchChrome({
    chromePath: executablePath,
    chromeFlags: ['--no-sandbox', '--disable-gpu'],
  });
  report.lighthouse = {};
  try {
    for (const [name, config] of [
      ['mobile', undefined],
      ['desktop', desktopConfig],
    ]) {
      const options = {
        port: chrome.port,
        logLevel: 'error',
        onlyCategories: ['performance', 'accessibility', 'best-practices'],
      };
      const { lhr } = await run(site, options, config);
      const scores = Object.fromEntries(
        Object.entries(lhr.categories).map(([id, { score }]) => [id, Math.round(100 * score)]),
      );
      const metrics = [
        'first-contentful-paint',
        'largest-contentful-paint',
        'total-blocking-time',
        'cumulative-layout-shift',
        'speed-index',
      ];
      const failed = Object.values(lhr.audits).filter(
        ({ score, scoreDisplayMode }) =>
          score !== null && score < 0.9 && ['binary', 'metricSavings', 'numeric'].includes(scoreDisplayMode),
      );
      report.lighthouse[name] = {
        scores,
        metrics: Object.fromEntries(metrics.map((id) => [id, lhr.audits[id].displayValue])),
        failed: failed.map(({ id, displayValue }) => `${id} ${displayValue ?? ''}`),
      };
      console.log(
        `\nLighthouse ${lhr.lighthouseVersion}, ${name}: ${JSON.stringify(scores)} ${metrics.map((id) => `${id} ${lhr.audits[id].displayValue}`).join(', ')}`,
      );
      for (const line of report.lighthouse[name].failed) console.log(`  below 90: ${line}`);
    }
  } finally {
    await chrome.kill();
  }
}

try {
  await transfer();
  console.log('');
  for (const slower of [1, 4]) await start(slower);
  for (const slower of [1, 4]) await interactions(slower);
} finally {
  await browser.close();
}
if (!given['no-lighthouse']) await lighthouse();
await server.close();
const folder = fileURLToPath(new URL('../../dist/bench', import.meta.url));
mkdirSync(folder, { recursive: true });
writeFileSync(`${folder}/page.json`, `${JSON.stringify(report, null, 1)}\n`);
