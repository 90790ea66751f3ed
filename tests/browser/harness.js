// What the browser tests have in common: Chromium, a static server under a path of its own, and a page that notes every
// console error and every request to another host.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { chromium } from 'playwright-core';

export const root = fileURLToPath(new URL('../..', import.meta.url));

/** Chromium's engine without the program around it, which draws menus of its own for each window: a second of processor time. */
export const executablePath = '/usr/bin/chromium-headless-shell';
/** The `skip` option of a test that needs the browser. */
export const skip =
  !existsSync(executablePath) && `${executablePath} is not there (Debian: apt-get install chromium-headless-shell)`;
if (skip && process.env.CI === 'true') throw new Error(`CI needs the browser: ${skip}`);

const args = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export const launch = () => chromium.launch({ executablePath, args });

const types = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.mjs': 'text/javascript',
  '.css': 'text/css',
  '.wasm': 'application/wasm',
  '.svg': 'image/svg+xml',
  '.json': 'application/json',
  '.webmanifest': 'application/manifest+json',
  '.txt': 'text/plain; charset=utf-8',
};

/**
 * A plain static server on 127.0.0.1.
 * @param {Record<string, string>} folders address prefix → folder; may be changed while it serves
 * @param {Record<string, string>} [texts] address → HTML or JavaScript
 * @param {Record<string, string>} [headers] sent with every answer
 * @param {{ gzip?: boolean }} [options] gzip: as hosts do, where the browser takes it
 */
export async function serve(folders, texts = {}, headers = {}, { gzip = false } = {}) {
  const server = createServer(async (request, response) => {
    const path = decodeURIComponent(new URL(request.url, 'http://localhost').pathname);
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    try {
      response.setHeader(
        'content-type',
        types[extname(path)] ?? (path.endsWith('/') ? types['.html'] : 'application/octet-stream'),
      );
      if (path in texts) return response.end(texts[path]);
      const prefix = Object.keys(folders).find((candidate) => path.startsWith(candidate));
      const file = normalize(path.slice(prefix.length));
      assert.ok(!file.startsWith('..'));
      const content = await readFile(join(folders[prefix], path.endsWith('/') ? join(file, 'index.html') : file));
      if (!gzip || !/\bgzip\b/.test(request.headers['accept-encoding'])) return response.end(content);
      response.setHeader('content-encoding', 'gzip');
      response.end(gzipSync(content));
    } catch {
      response.statusCode = 404;
      response.end('not found');
    }
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    origin: `http://127.0.0.1:${server.address().port}`,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}

/**
 * A page of its own whose faults are noted; `finish` closes it and fails if there were any. Without a service worker, which
 * would fetch the whole page for later in every test.
 */
export async function openPage(browser, origin, options = {}) {
  const common = { viewport: { width: 1440, height: 900 }, locale: 'en-US', serviceWorkers: 'block' };
  const context = await browser.newContext({ ...common, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(90_000); // a busy machine is no fault of the page
  const faults = [];
  page.on('console', (message) => {
    if (/^Service Worker registration blocked by Playwright/.test(message.text())) return;
    if (['error', 'warning'].includes(message.type())) faults.push(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => faults.push(`error: ${error.stack ?? error}`));
  page.on('requestfailed', (request) => {
    const reason = request.failure()?.errorText;
    // What was on its way when the page was left, or its worker replaced.
    if (reason !== 'net::ERR_ABORTED') faults.push(`failed: ${request.url()} ${reason}`);
  });
  context.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(origin) && !/^(data|blob):/.test(url)) faults.push(`another host: ${url}`);
  });
  return {
    page,
    faults,
    async finish() {
      await context.close();
      assert.deepEqual(faults, []);
    },
  };
}

/** The built page: `npm test` and `npm run build` make it. ADDNORM_SITE names another folder. */
export const siteFolder = process.env.ADDNORM_SITE ?? join(root, 'dist/site');
/** Where screenshots go. */
export const shots = join(root, 'dist/screenshots');

/** The page in one file, which is built beside the site's folder. */
export const oneFile = join(siteFolder, '../block-lab.html');

/**
 * The compute worker's script with a clock that goes ten times as fast, for serve(): every page times its blocks, for longer
 * than all else takes, and in a tenth of that time it does so too.
 * @param {string} prefix where the site is served
 */
export function quickly(prefix) {
  const clock = '{const own=performance.now.bind(performance);performance.now=()=>10*own()}';
  const scripts = readdirSync(join(siteFolder, 'assets'))
    .filter((file) => /^worker-.*\.js$/.test(file))
    .map((file) => [`${prefix}assets/${file}`, readFileSync(join(siteFolder, 'assets', file), 'utf8')])
    .filter(([, script]) => script.includes('setTimed')); // the other one trains
  assert.equal(scripts.length, 1, 'one compute worker');
  return Object.fromEntries(scripts.map(([path, script]) => [path, `${clock}\n${script}`]));
}

/**
 * Chromium and the built page under a path of its own. `open(hash, options)` is openPage() with the page in it; with
 * `{ timing: true }` among the options it takes as long for its timing as it does for a visitor, as it does at `asBuilt`.
 * @param {Record<string, string>} [headers] sent with every answer
 */
export async function openLab(headers = {}) {
  assert.ok(existsSync(join(siteFolder, 'index.html')), `${siteFolder} is not there: npm run build makes it`);
  mkdirSync(shots, { recursive: true });
  const folders = { '/some/path/': siteFolder, '/as/built/': siteFolder };
  const server = await serve(folders, quickly('/some/path/'), headers);
  const [site, asBuilt] = Object.keys(folders).map((prefix) => server.origin + prefix);
  const browser = await launch();
  return {
    browser,
    server,
    site,
    asBuilt,
    async open(hash = '', { timing = false, ...options } = {}) {
      const opened = await openPage(browser, server.origin, options);
      await opened.page.goto(`${timing ? asBuilt : site}${hash && `#${hash}`}`);
      return opened;
    },
    async close() {
      await browser.close();
      await server.close();
    },
  };
}

/**
 * Waits until the page has drawn what it was about to draw: parts of it follow others a frame or two later, however long a
 * frame takes here. What comes from a worker or the network is not waited for, nor the address, which is written later.
 */
export const still = (page) =>
  page.evaluate(
    ([frames, limit]) =>
      new Promise((done, fail) => {
        let quiet = 0;
        const end = performance.now() + limit;
        const observer = new MutationObserver(() => {
          quiet = 0;
        });
        observer.observe(document, { subtree: true, childList: true, characterData: true, attributes: true });
        const look = () => {
          quiet++;
          if (quiet <= frames && performance.now() < end) return requestAnimationFrame(() => setTimeout(look));
          observer.disconnect();
          if (quiet > frames) done();
          else fail(new Error(`the page is not still after ${limit} ms`));
        };
        look();
      }),
    [5, 90_000],
  );

/** Waits until nothing is computed any more and all of it is drawn. */
export async function settled(page) {
  await still(page); // an edit may be taken up a frame later
  await page.waitForSelector('#panel[aria-busy="false"]');
  await still(page);
}

/** What each panel has and no other: by the tab alone one cannot tell, whose panel comes a frame later or is fetched first. */
const PARTS = {
  wiring: '.wiring-card',
  forward: '.norms-card',
  activations: '.acts-list',
  depth: '.depth-main',
  training: '.training-summary',
  speed: '.bars .bar',
  weights: '.weights-picker',
};
/** Opens a panel by its tab and waits until it has been drawn; it may still compute. */
export async function show(page, panel) {
  await page.click(`#tab-${panel}`);
  await page.waitForSelector(`#panel ${PARTS[panel]}`, { state: 'attached' });
}

/** Takes the last edit back, which the page does once it has painted the button's answer. */
export async function undo(page) {
  await page.click('[aria-label=Undo]');
  await still(page);
}

/** Waits until `check` no longer throws, for what stands from before until something new has come; then throws what it threw. */
export async function eventually(check, timeout = 30_000) {
  const end = Date.now() + timeout;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > end) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}
