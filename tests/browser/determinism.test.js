// The fixed workload in Chromium gives the bits that it gives natively and in Node.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { parseHashes } from '../js/workload.js';
import { launch, openPage, root, serve, skip } from './harness.js';

const read = (path, encoding) => readFileSync(new URL(`../../${path}`, import.meta.url), encoding);

test('the workload gives the stored bits in Chromium', { skip }, async () => {
  const browser = await launch();
  try {
    const page = await browser.newPage();
    const got = await page.evaluate(
      async ([source, wasm, workload]) => {
        const { runWorkload } = await import(`data:text/javascript;base64,${source}`);
        return runWorkload(await (await fetch(`data:;base64,${wasm}`)).arrayBuffer(), workload, true);
      },
      [
        read('tests/js/workload.js').toString('base64'),
        read('dist/lib/addnorm.simd.wasm').toString('base64'),
        read('tests/workload.txt', 'utf8'),
      ],
    );
    assert.deepEqual(got, parseHashes(read('tests/workload.hashes', 'utf8')));
  } finally {
    await browser.close();
  }
});

test('trainings end with the stored bits in Chromium', { skip }, async () => {
  const server = await serve(
    { '/lib/': `${root}dist/lib/`, '/js/': `${root}tests/js/` },
    { '/': '<!doctype html><title>trajectories</title><link rel="icon" href="data:,">' },
  );
  const browser = await launch();
  try {
    const { page, finish } = await openPage(browser, server.origin);
    await page.goto(`${server.origin}/`);
    const got = await page.evaluate(async () => {
      const [{ load }, { trajectories }] = await Promise.all([import('/lib/index.js'), import('/js/trajectory.js')]);
      return trajectories(await load({ variant: 'simd' }));
    });
    assert.deepEqual(got, JSON.parse(read('tests/trajectory.json', 'utf8')));
    await finish();
  } finally {
    await browser.close();
    await server.close();
  }
});
