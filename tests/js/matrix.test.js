// README says where the package runs: what `npm run test:matrix` tries, no more and no less.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { browsers } from '../matrix/browsers.js';
import { bundlers } from '../matrix/bundlers.js';
import { cloudflare } from '../matrix/cloudflare.js';
import { runtimes } from '../matrix/runtimes.js';

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
const section = readme.slice(readme.indexOf('## Where it runs'), readme.indexOf('## More'));
const rows = [...section.matchAll(/^\| ([^|]+) \|(.*)\|$/gm)].map(([, name, cells]) => ({ name, cells }));
const variants = ['relaxed', 'simd', 'scalar'];

test('README lists the runtimes and browsers of the matrix, with the variants that they run', () => {
  const marked = rows.filter(({ cells }) => /^( [✓–] \|?){3}$/.test(cells));
  const said = marked.map(({ name, cells }) => [
    name.replace(/ `.*`$/, ''),
    variants.filter((_, i) => cells.split('|')[i].includes('✓')),
  ]);
  const tried = [...browsers, ...runtimes, cloudflare].map((entry) => [entry.name, entry.variants]);
  assert.deepEqual(said, tried);
});

test('README lists the bundlers of the matrix', () => {
  const said = rows.filter(({ cells }) => cells.split('|').length === 2).flatMap(({ name }) => name.split(', '));
  assert.deepEqual(said.sort(), bundlers.map(({ name }) => name).sort());
});
