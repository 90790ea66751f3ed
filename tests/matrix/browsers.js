// Browsers, and the package in each without a bundler.
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { executablePath, launch, serve } from '../browser/harness.js';
import { firefox, skipFirefox, skipWebKit, webkit } from '../browser/webdriver.js';

/** Chromium with the calls of webdriver.js. */
async function chromium() {
  const browser = await launch();
  const page = await browser.newPage();
  const faults = [];
  page.on('console', (message) => message.type() === 'error' && faults.push(`console: ${message.text()}`));
  page.on('pageerror', (error) => faults.push(`error: ${error}`));
  return {
    version: browser.version(),
    faults,
    goto: (url) => page.goto(url),
    evaluate: (act, given) => page.evaluate(act, given),
    close: () => browser.close(),
  };
}

/** A function that makes something once, when it is first asked for it. */
export function once(make) {
  let promise;
  return () => (promise ??= make());
}

const opened = [];
const browser = (open) =>
  once(async () => {
    const made = await open();
    opened.push(made);
    return made;
  });

export const missingChromium = () => !existsSync(executablePath) && `${executablePath} is not there`;
/** @type {Record<string, { open: () => Promise<any>, missing: () => string | false }>} */
export const engines = {
  Chromium: { open: browser(chromium), missing: missingChromium },
  Firefox: { open: browser(firefox), missing: () => skipFirefox },
  WebKitGTK: { open: browser(webkit), missing: () => skipWebKit },
};
export const closeBrowsers = () => Promise.all(opened.map((each) => each.close()));

/** Shows a page; the result is a function that waits for what its scripts note for a place. */
export async function show(engine, url) {
  const { goto, evaluate, faults } = await engine.open();
  faults.length = 0;
  await goto(url);
  return async (place) => {
    for (const end = Date.now() + 30_000; Date.now() < end; await sleep(50)) {
      const text = await evaluate((name) => document.documentElement.dataset[name] ?? null, place);
      if (text) return JSON.parse(text);
    }
    throw new Error(`nothing came: ${faults.join('\n')}`);
  };
}

export const html = (...scripts) =>
  `<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><title>addnorm</title>${scripts.join('')}`;

/** A folder served, unless a bundler wants it otherwise, under a path with blanks and letters beyond ASCII. */
export async function host(folder, { path = '/mit Blöcken 数据/', headers = {} } = {}) {
  const server = await serve({ [path]: folder }, {}, headers);
  return { url: server.origin + encodeURI(path), close: server.close };
}

const installed = './node_modules/addnorm/dist/lib/index.js';
const places = { page: 'page', 'module worker': 'moduleWorker', 'service worker': 'serviceWorker' };

function plain(name, auto) {
  const engine = engines[name];
  async function open(projects) {
    const { version } = await engine.open();
    const scripts = ['page', 'module-worker', 'service'].map(
      (script) => `<script type="module" src="${script}.js"></script>`,
    );
    const folder = projects.copy(name, { 'index.html': html(...scripts) }, installed);
    const site = await host(folder);
    const see = once(() => show(engine, site.url));
    const checks = Object.entries(places).map(([place, key]) => [place, async () => (await see())(key)]);
    return { version: /[\d.]+/.exec(version)[0], checks: Object.fromEntries(checks), close: site.close };
  }
  return { name, auto, missing: engine.missing, open };
}

export const browsers = [plain('Chromium', 'relaxed'), plain('Firefox', 'relaxed'), plain('WebKitGTK', 'simd')];
