// Where a group runs: a page of headless Chromium or Firefox, or this very process.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { launch, serve, skip } from '../browser/harness.js';

const path = (relative) => fileURLToPath(new URL(relative, import.meta.url));

const page = `<!doctype html><title>bench</title><link rel="icon" href="data:,">
  <script type="module">globalThis.bench = await import('/tests/bench/page.js');</script>`;

/** A new page for every group, so that no group has another's memory. */
async function inBrowser(browser, name, newPage) {
  const server = await serve({ '/lib/': path('../../dist/lib/'), '/tests/': path('../') }, { '/': page });
  const places = { lib: `${server.origin}/lib/`, base: `${server.origin}/tests/bench/node_modules/` };
  const call = async (what, ...args) => {
    const { page, close } = await newPage();
    try {
      await page.goto(`${server.origin}/`);
      await page.waitForFunction(() => globalThis.bench);
      return await page.evaluate(([name, given]) => globalThis.bench[name](...given), [what, args]);
    } finally {
      await close();
    }
  };
  return {
    name,
    run: (group, options) => call('runGroup', group, { ...places, ...options }),
    accuracy: (options) => call('runAccuracy', { ...places, ...options }),
    async close() {
      await browser.close();
      await server.close();
    },
  };
}

export async function chromium() {
  if (skip) throw new Error(skip);
  const browser = await launch();
  return inBrowser(browser, `Chromium ${browser.version()}`, async () => {
    const context = await browser.newContext();
    return { page: await context.newPage(), close: () => context.close() };
  });
}

export async function firefox() {
  const executablePath = '/usr/bin/firefox-esr';
  if (!existsSync(executablePath))
    throw new Error(`${executablePath} is not there (Debian: apt-get install firefox-esr)`);
  const { default: puppeteer } = await import('puppeteer-core');
  const browser = await puppeteer.launch({
    browser: 'firefox',
    executablePath,
    // The clock in steps of 20 microseconds, not of a millisecond.
    extraPrefsFirefox: { 'privacy.reduceTimerPrecision': false },
    protocolTimeout: 600_000,
  });
  return inBrowser(browser, await browser.version(), async () => {
    const page = await browser.newPage();
    return { page, close: () => page.close() };
  });
}

export async function node() {
  // Node 20 and 21 run relaxed SIMD with this flag only.
  if (Number(process.versions.node.split('.')[0]) < 22) setFlagsFromString('--experimental-wasm-relaxed-simd');
  const { runAccuracy, runGroup } = await import('./page.js');
  const places = { lib: new URL('../../dist/lib/', import.meta.url).href };
  places.base = new URL('node_modules/', import.meta.url).href;
  return {
    name: `Node ${process.versions.node}`,
    run: (group, options) => runGroup(group, { ...places, ...options }),
    accuracy: (options) => runAccuracy({ ...places, ...options }),
    async close() {},
  };
}

/** The processor's name, as the system tells it. */
export function processor() {
  try {
    return readFileSync('/proc/cpuinfo', 'utf8').match(/model name\s*: (.*)/)[1];
  } catch {
    return 'unknown processor';
  }
}

/** The processor's data caches, from the second level on: { level, bytes }; none where the system does not tell. */
export function caches() {
  const folder = '/sys/devices/system/cpu/cpu0/cache';
  const read = (index, what) => readFileSync(`${folder}/${index}/${what}`, 'utf8').trim();
  try {
    return readdirSync(folder)
      .filter((index) => /^index/.test(index) && Number(read(index, 'level')) > 1)
      .map((index) => ({
        level: Number(read(index, 'level')),
        bytes: 1024 * Number.parseInt(read(index, 'size'), 10),
      }));
  } catch {
    return [];
  }
}
