// Firefox by WebDriver BiDi and WebKitGTK by the W3C WebDriver protocol, each as the same few calls:
// goto(url), evaluate(function, ...arguments), click(selector), screenshot(), faults, version, close().
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const FIREFOX = '/usr/bin/firefox-esr';
const DRIVER = '/usr/bin/WebKitWebDriver';
const BROWSER = '/usr/lib/x86_64-linux-gnu/webkit2gtk-4.1/MiniBrowser';

const missing = (path, names) => !existsSync(path) && `${path} is not there (Debian: apt-get install ${names})`;
/** The `skip` options of tests that need them. */
export const skipFirefox = missing(FIREFOX, 'firefox-esr');
export const skipWebKit = missing(DRIVER, 'webkit2gtk-driver xvfb') || missing(BROWSER, 'webkit2gtk-driver xvfb');
for (const reason of [skipFirefox, skipWebKit]) {
  if (reason && process.env.CI === 'true') throw new Error(`CI needs the browser: ${reason}`);
}

export async function firefox() {
  const { default: puppeteer } = await import('puppeteer-core');
  const browser = await puppeteer.launch({ browser: 'firefox', executablePath: FIREFOX, protocolTimeout: 120_000 });
  const page = await browser.newPage();
  await page.setViewport({ width: 1280, height: 800 });
  page.setDefaultTimeout(60_000);
  const faults = [];
  page.on('pageerror', (error) => faults.push(`error: ${error.stack ?? error}`));
  page.on('console', (message) => message.type() === 'error' && faults.push(`console: ${message.text()}`));
  return {
    version: await browser.version(),
    faults,
    goto: (url) => page.goto(url),
    reload: () => page.reload(),
    evaluate: (act, ...given) => page.evaluate(act, ...given),
    click: (selector) => page.click(selector),
    screenshot: () => page.screenshot(),
    close: () => browser.close(),
  };
}

/** Resolves with the first match of a program's output. */
const says = (process, stream, pattern) =>
  new Promise((resolve, reject) => {
    let text = '';
    process.on('exit', (code) => reject(new Error(`${process.spawnfile} ended (${code}): ${text}`)));
    process.on('error', reject);
    stream.on('data', (data) => {
      text += data;
      const found = pattern.exec(text);
      if (found) resolve(found);
    });
  });

/** A screen that nobody sees; the number is chosen by the server itself. */
async function screen() {
  const server = spawn('Xvfb', ['-displayfd', '3', '-screen', '0', '1280x900x24', '-nolisten', 'tcp'], {
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
  });
  const [, number] = await says(server, server.stdio[3], /(\d+)\n/);
  return { display: `:${number}`, close: () => server.kill() };
}

/** A port that nobody listens on. */
const freePort = () =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });

async function driver(env) {
  const port = await freePort();
  const server = spawn(DRIVER, [`--port=${port}`], { env: { ...process.env, ...env }, stdio: 'ignore' });
  const address = `http://127.0.0.1:${port}`;
  for (let tries = 0; ; tries++) {
    try {
      await fetch(`${address}/status`);
      return { address, close: () => server.kill() };
    } catch (error) {
      if (tries > 600) throw error;
      await sleep(100);
    }
  }
}

export async function webkit() {
  const { display, close: closeScreen } = await screen();
  const env = {
    DISPLAY: display,
    GDK_BACKEND: 'x11',
    LANG: 'en_US.UTF-8', // without it navigator.language is "C", which Intl refuses
    WEBKIT_DISABLE_COMPOSITING_MODE: '1', // there is no graphics card
    WEBKIT_DISABLE_DMABUF_RENDERER: '1',
    ...(process.getuid() === 0 && { WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS: '1' }),
  };
  const { address, close: closeDriver } = await driver(env);
  let session = '';
  const call = async (method, path, body, { timeout = 90_000 } = {}) => {
    const response = await fetch(`${address}/session${session && `/${session}`}${path}`, {
      method,
      signal: AbortSignal.timeout(timeout),
      ...(body && { body: JSON.stringify(body) }),
    });
    const { value } = await response.json();
    if (!response.ok) throw new Error(`${method} ${path}: ${value.error}: ${value.message}`);
    return value;
  };
  const options = {
    'webkitgtk:browserOptions': { binary: BROWSER, args: ['--automation'] },
    browserName: 'MiniBrowser',
  };
  const made = await call('POST', '', { capabilities: { alwaysMatch: options } });
  session = made.sessionId;
  await call('POST', '/timeouts', { script: 60_000, pageLoad: 60_000 });
  await call('POST', '/window/rect', { x: 0, y: 0, width: 1280, height: 860 }).catch(() => {});
  const ELEMENT = 'element-6066-11e4-a52e-4f735466cecf';
  return {
    version: `WebKitGTK ${made.capabilities.browserVersion}`,
    faults: [], // the protocol has no console
    goto: (url) => call('POST', '/url', { url }),
    reload: () => call('POST', '/refresh', {}),
    evaluate: (act, ...args) =>
      call('POST', '/execute/sync', { script: `return (${act}).apply(null, arguments)`, args }),
    async click(selector) {
      const found = await call('POST', '/element', { using: 'css selector', value: selector });
      await call('POST', `/element/${found[ELEMENT]}/click`, {});
    },
    // On a busy machine the driver may wait for a frame that never comes.
    screenshot: async () => Buffer.from(await call('GET', '/screenshot', undefined, { timeout: 20_000 }), 'base64'),
    async close() {
      await call('DELETE', '', undefined, { timeout: 10_000 }).catch(() => {});
      closeDriver();
      closeScreen();
    },
  };
}
