// Browsers, and the package in each without a bundler.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { launch, serve, skip as skipChromium } from '../browser/harness.js';
import { firefox, skipFirefox, skipWebKit, webkit } from '../browser/webdriver.js';
import { missing } from './project.js';

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

/** Browsers that were opened, each once. */
const opened = [];
const browser = (open) =>
  once(async () => {
    const made = await open();
    opened.push(made);
    return made;
  });

/** @type {Record<string, { open: () => Promise<any>, missing: () => string | false }>} */
export const engines = {
  Chromium: { open: browser(chromium), missing: () => skipChromium },
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

/** What is open until an entry of the matrix is done. */
export class Open {
  closers = [];
  keep(thing) {
    this.closers.push(thing.close);
    return thing;
  }
  close = async () => {
    for (const close of this.closers) await close();
  };
  /** Serves a folder and shows its page when a place of it is first asked for. */
  site(engine, build, options) {
    return once(async () => show(engine, this.keep(await host(await build(), options)).url));
  }
}

/** The variants of the default entry, and those where the engine takes no relaxed SIMD; `auto` is the first. */
export const all = ['relaxed', 'simd', 'scalar'];
export const unrelaxed = ['simd', 'scalar'];

/** A check: what is noted for a place. */
export const at = (see, place) => async () => (await see())(place);
/** The same of the inline entry, which has the variant simd alone. */
export const inline = (check) => async () => ({ ...(await check()), expected: ['simd'] });

/** The package cannot work there; its error has to say why. */
export const says = (check, pattern) => async () => {
  const { error, variant } = await check();
  if (variant) throw new Error(`expected an error that says ${pattern}, but it loaded ${variant}`);
  const [found] = pattern.exec(error) ?? [];
  if (!found) throw new Error(`the error does not say ${pattern}: ${error}`);
  return `does not load; the error says ${found}`;
};

/** Bundles programs of a folder into dist. */
export async function withEsbuild(absWorkingDir, entryPoints, format) {
  const { build } = await import('esbuild');
  await build({ absWorkingDir, entryPoints, format, bundle: true, outdir: 'dist', logLevel: 'silent' });
}

const installed = './node_modules/addnorm/dist/lib/index.js';
const policy = "default-src 'self'; img-src data:; script-src 'self' 'wasm-unsafe-eval'";
const tag = (script, type = 'module') => `<script defer type="${type}" src="${script}.js"></script>`;

/** The installed files as they are, and addnorm/inline bundled into plain scripts. */
function browserEntry(name, variants) {
  const engine = engines[name];
  async function open(projects) {
    const own = new Open();
    const { version } = await engine.open();
    const scripts = ['page', 'module-worker', 'module-service-worker'];
    const files = () => projects.copy(name, { 'index.html': html(...scripts.map((script) => tag(script))) }, installed);
    const bundle = once(async () => {
      const folder = projects.copy(`${name} scripts`, {}, 'addnorm/inline');
      await withEsbuild(folder, ['page.js', 'scripts.js', 'worker.js', 'service-worker.js'], 'iife');
      const dist = join(folder, 'dist');
      writeFileSync(join(dist, 'index.html'), html(tag('page', ''), tag('scripts', '')));
      writeFileSync(join(dist, 'file.html'), html(tag('page', '')));
      return dist;
    });
    const headers = { 'content-security-policy': policy };
    const plain = own.site(engine, files);
    const strict = own.site(engine, files, { headers });
    const refused = own.site(engine, files, { headers: { 'content-security-policy': "script-src 'self'" } });
    const bundled = own.site(engine, bundle);
    const strictBundled = own.site(engine, bundle, { headers });
    const file = once(async () => show(engine, pathToFileURL(join(await bundle(), 'file.html')).href));
    return {
      version: /[\d.]+/.exec(version)[0],
      checks: {
        page: at(plain, 'page'),
        'module worker': at(plain, 'moduleWorker'),
        'service worker': at(plain, 'moduleServiceWorker'),
        'with a policy, page': at(strict, 'page'),
        'with a policy, worker': at(strict, 'moduleWorker'),
        'a policy against wasm': says(at(refused, 'page'), /has to allow 'wasm-unsafe-eval'/),
        'inline, page': inline(at(bundled, 'page')),
        'inline, classic worker': inline(at(bundled, 'classicWorker')),
        'inline, service worker': inline(at(bundled, 'classicServiceWorker')),
        'inline, with a policy, page': inline(at(strictBundled, 'page')),
        'inline, file://': inline(at(file, 'page')),
      },
      close: own.close,
    };
  }
  return { name, variants, missing: () => engine.missing() || missing('esbuild'), open };
}

export const browsers = [
  browserEntry('Chromium', all),
  browserEntry('Firefox', all),
  browserEntry('WebKitGTK', unrelaxed),
];
