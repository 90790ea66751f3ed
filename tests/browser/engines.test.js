// The main flow of Block Lab in Firefox and WebKitGTK: open, the first chart, another panel with the figures that Node gives,
// an edit, the link. Under the same Content Security Policy as in Chromium.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { seededNormal } from '../../web/demo/numbers.js';
import { POLICY } from '../../web/plugins/policy.js';
import { quickly, serve, shots, siteFolder } from './harness.js';
import { firefox, skipFirefox, skipWebKit, webkit } from './webdriver.js';

let server;
before(async () => {
  const away = '<!doctype html><link rel="icon" href="data:,"><title>Elsewhere</title>';
  const texts = { '/away/': away, ...quickly('/some/path/') };
  server = await serve({ '/some/path/': siteFolder }, texts, { 'content-security-policy': POLICY });
});
after(() => server.close());

/** Waits until a function gives something in the page, which may be on its way to another address meanwhile. */
async function until(browser, act, ...given) {
  for (const end = Date.now() + 120_000; ; await sleep(100)) {
    const value = await browser.evaluate(act, ...given).catch((error) => {
      if (Date.now() > end) throw error;
    });
    if (value) return value;
    if (Date.now() > end) {
      const shown = await browser.evaluate(() => document.body.textContent.slice(0, 600));
      throw new Error(`never: ${act}\nThe page shows: ${shown}\n${browser.faults.join('\n')}`);
    }
  }
}

/** The deviation of a block's output; `simd` gives the same bits on every engine. */
async function stdInNode(fields, rows) {
  const { load } = await import('../../dist/lib/index.js');
  const an = await load({ variant: 'simd' });
  const block = an.block({ d_model: 128, d_ff: 512, init: 'xavier_normal', ...fields }, { seed: 7 });
  const y = block.forward({ data: seededNormal(7, rows * 128, 0, 1), shape: [1, rows, 128] });
  const mean = y.reduce((sum, value) => sum + value / y.length, 0);
  an.dispose();
  return Math.sqrt(y.reduce((sum, value) => sum + (value - mean) ** 2 / y.length, 0)).toPrecision(3);
}

const stdOfB = () => {
  const cell = document.querySelectorAll('#panel .table-box tbody tr')[1]?.cells[3];
  return document.querySelector('#panel[aria-busy=false]') ? cell?.textContent : '';
};

for (const [name, launch, skip] of [
  ['Firefox', firefox, skipFirefox],
  ['WebKitGTK', webkit, skipWebKit],
]) {
  test(`${name}: open, first chart, another panel, an edit, the link`, { skip }, async (t) => {
    const browser = await launch();
    try {
      t.diagnostic(browser.version);
      const site = `${server.origin}/some/path/`;
      await browser.goto(`${site}#variant=simd&rows=16`);
      // The first chart: something has been drawn on it in the first configuration's colour.
      await until(browser, () => {
        const canvas = document.querySelector('#panel .plot canvas');
        if (!canvas?.width) return false;
        const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        for (let i = 0; i < data.length; i += 4)
          if (data[i] === 0 && data[i + 1] === 114 && data[i + 2] === 178) return true;
        return false;
      });
      await until(browser, () => document.querySelectorAll('math mfrac, math msqrt').length);

      await browser.click('#tab-forward');
      assert.equal(await until(browser, stdOfB), await stdInNode({ placement: 'pre' }, 16));
      await browser.evaluate(() => {
        const field = document.querySelector('#field-activation');
        field.value = 'relu';
        field.dispatchEvent(new Event('input', { bubbles: true }));
        field.dispatchEvent(new Event('change', { bubbles: true }));
      });
      await until(browser, () => location.hash.includes('activation:relu'));
      const edited = await stdInNode({ placement: 'pre', activation: 'relu' }, 16);
      await until(
        browser,
        (wanted) => {
          const cell = document.querySelectorAll('#panel .table-box tbody tr')[1]?.cells[3];
          return cell?.textContent === wanted;
        },
        edited,
      );

      await browser.reload();
      await until(browser, () => document.querySelector('#field-activation')?.value === 'relu');
      assert.equal(await until(browser, stdOfB), edited);
      await browser.screenshot().then(
        (picture) => writeFileSync(join(shots, `${name.toLowerCase()}.png`), picture),
        (error) => t.diagnostic(`no screenshot: ${error.message}`),
      );

      // Away and back: the page as it was, from the browser's cache with its worker where the engine has one for that, and it
      // goes on computing.
      await browser.evaluate(() =>
        addEventListener('pageshow', ({ persisted }) => Object.assign(window, { persisted })),
      );
      await browser.goto(`${server.origin}/away/`);
      await browser.evaluate(() => history.back());
      await until(browser, () => document.querySelector('#field-activation')?.value === 'relu');
      t.diagnostic(`came back from the cache: ${await browser.evaluate(() => window.persisted === true)}`);
      assert.equal(await until(browser, stdOfB), edited);
      await browser.evaluate(() => {
        location.hash = location.hash.replace('rows=16', 'rows=17');
      });
      const longer = await stdInNode({ placement: 'pre', activation: 'relu' }, 17);
      await until(
        browser,
        (wanted) => document.querySelectorAll('#panel .table-box tbody tr')[1]?.cells[3]?.textContent === wanted,
        longer,
      );
      assert.deepEqual(browser.faults, []);
    } finally {
      await browser.close();
    }
  });
}
