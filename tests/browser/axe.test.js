// axe-core on every panel of Block Lab, on a dialog, a menu and the tour, with a light and a dark page in both languages.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { PANELS } from '../../web/demo/state.js';
import { openLab, openPage, root, settled, show, skip, still } from './harness.js';

let lab;
before(async () => {
  if (!skip) lab = await openLab();
});
after(() => lab?.close());

const SMALL = 'rows=4&blocks=4&dseeds=2&task=xor&steps=3&tdepth=2&c=Post,preset:post_norm&c=Pre,preset:pre_norm';

/** What axe says against the page, or against a part of it. */
async function violations(page, part) {
  return page.evaluate(async (selector) => {
    const found = await globalThis.axe.run(selector ?? document, { resultTypes: ['violations'] });
    const text = (nodes) => nodes.slice(0, 3).map(({ html }) => html.slice(0, 160));
    return found.violations.map(({ id, nodes }) => `${id}: ${text(nodes).join(' | ')}`);
  }, part);
}

// Names depend on the language, colours on the theme.
for (const [language, theme] of [
  ['en', 'light'],
  ['zh', 'dark'],
]) {
  test(`axe finds nothing on any panel: ${language}, ${theme}`, { skip }, async () => {
    const { page, finish } = await openPage(lab.browser, lab.server.origin, { bypassCSP: true }); // for axe's own script
    await page.addInitScript({ path: join(root, 'node_modules/axe-core/axe.min.js') });
    await page.goto(`${lab.site}#panel=wiring&lang=${language}&theme=${theme}&${SMALL}`);
    const check = async (what, part) => assert.deepEqual(await violations(page, part), [], what);
    for (const [i, panel] of PANELS.entries()) {
      await show(page, panel);
      if (panel === 'speed') await page.waitForSelector('.bar-row.scalar .bar');
      else await settled(page);
      await check(panel, i > 0 ? 'main' : undefined); // around it all stays as it is
    }
    await page.click(language === 'en' ? 'nav >> text=Export' : 'nav >> text=导出');
    await page.waitForSelector('.opened');
    await check('export');
    await page.keyboard.press('Escape');
    await still(page);
    await page.keyboard.press('?');
    await page.waitForSelector('dialog[open]');
    await check('shortcuts');
    await page.keyboard.press('Escape');
    await still(page);
    await page.keyboard.press('t');
    await page.waitForSelector('.tour dl');
    await check('tour');
    await finish();
  });
}

test('axe finds nothing on a phone, with the sheet open and the tour', { skip }, async () => {
  const options = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true, bypassCSP: true };
  const { page, finish } = await openPage(lab.browser, lab.server.origin, options);
  await page.addInitScript({ path: join(root, 'node_modules/axe-core/axe.min.js') });
  await page.goto(`${lab.site}#panel=depth&${SMALL}`);
  await settled(page);
  assert.deepEqual(await violations(page), []);
  await page.click('.chip.selected');
  await page.waitForSelector('.sheet #field-norm');
  assert.deepEqual(await violations(page), [], 'sheet');
  await page.keyboard.press('Escape');
  await still(page);
  await page.click('[aria-label="Guided tour"]');
  await page.waitForSelector('.tour dl');
  assert.deepEqual(await violations(page), [], 'tour');
  await finish();
});
