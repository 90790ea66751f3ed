// Bits: the fixed workload of tests/workload.txt in wasm against the stored hashes (the native half is
// tests/c/determinism_test.c, the browser's tests/browser/determinism.test.js), and rows, forward and backward, that do
// not depend on how many come with them.
//
// When results change on purpose, or an activation, norm or placement was added, write the hashes anew and say why in the
// commit:   node tests/js/determinism.test.js --write
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { instance, randoms, values, variants } from './shared.js';
import { parseHashes, runWorkload } from './workload.js';

const read = (path, encoding) => readFileSync(new URL(`../../${path}`, import.meta.url), encoding);
const stored = fileURLToPath(new URL('../workload.hashes', import.meta.url));
const workload = read('tests/workload.txt', 'utf8');
const run = (variant) => runWorkload(read(`dist/lib/addnorm.${variant}.wasm`), workload, variant === 'simd');

if (process.argv.includes('--write')) {
  const hashes = Object.entries(await run('simd'));
  const head =
    '# FNV-1a hashes of the sections of workload.txt; written by: node tests/js/determinism.test.js --write\n';
  writeFileSync(stored, head + hashes.map(([section, hash]) => `${hash} ${section}\n`).join(''));
  console.log(`${stored}: ${hashes.length} sections`);
} else {
  const hashes = parseHashes(readFileSync(stored, 'utf8'));

  for (const variant of variants) {
    test(`the workload gives the stored bits, ${variant}`, async () => {
      const got = await run(variant);
      // Builds other than simd run the sections that must be the same in all.
      const sections = variant === 'simd' ? Object.keys(hashes) : Object.keys(got);
      assert.ok(sections.length >= 3);
      assert.deepEqual(got, Object.fromEntries(sections.map((section) => [section, hashes[section]])));
    });

    test(`a row does not depend on the number of rows, ${variant}`, async () => {
      const an = await instance(variant);
      const [d, ff, most] = [52, 70, 128];
      const x = randoms(most * d, 1, 2);
      const [dy, dHidden] = [randoms(most * d, 4, 2), randoms(most * ff, 5, 2)];
      const weight = { data: randoms(ff * d, 2, 0.3), shape: [ff, d] };
      const bias = randoms(ff, 3);
      const shared = { d_model: d, d_ff: ff };
      const ffn = an.ffn({ ...shared, gated: true, activation: 'silu' }, { seed: 1 });
      const blocks = an.placements.map(({ name }) => an.block({ ...shared, placement: name, alpha: 0.5 }, { seed: 2 }));
      const rowNorms = an.norms.filter(({ kind }) => kind === 'row').map(({ name }) => name);
      const trained = (module, part) => {
        module.forward(part(x), { train: true });
        return module.backward(part(dy));
      };
      const list = (items, operations) => Object.assign({}, ...items.map(operations));
      // Each gets a function that cuts the same rows out of several arrays. A gradient is that by the input.
      const operations = {
        linear: (part) => an.linear(part(x), weight, { bias }),
        'linear and activation': (part) => an.linear(part(x), weight, { bias, activation: 'gelu_erf' }),
        'linear, gradient': (part) => an.linearBackward(part(x), weight, part(dHidden)).dx,
        ffn: (part) => ffn.forward(part(x)),
        'ffn, gradient': (part) => trained(ffn, part),
        softmax: (part) => an.softmax(part(x)),
        'log-softmax': (part) => an.softmax(part(x), { log: true }),
        'softmax, gradient': (part) => an.softmaxBackward(part(x), part(dy)),
        'log-softmax, gradient': (part) => an.softmaxBackward(part(x), part(dy), { log: true }),
        ...list(rowNorms, (name) => ({
          [name]: (part) => an.norm(name, part(x)),
          [`${name}, gradient`]: (part) => an.normBackward(name, part(x), part(dy)).dx,
        })),
        ...list(blocks, (block, i) => ({
          [`block ${an.placements[i].name}`]: (part) => block.forward(part(x)),
          [`block ${an.placements[i].name}, gradient`]: (part) => trained(block, part),
        })),
      };
      const cut = (from, rows) => (data) => {
        const width = data.length / most;
        return { data: data.slice(from * width, (from + rows) * width), shape: [rows, width] };
      };
      for (const [name, operation] of Object.entries(operations)) {
        const all = values(operation(cut(0, most)));
        assert.equal(all.length % most, 0, name);
        assert.notEqual(all.length, 0, name);
        for (const rows of [1, 2, 5, 6, 7, 13, 128]) {
          // From the front and from the back, so that each row comes at several places.
          for (const from of [0, most - rows]) {
            assert.deepEqual(
              values(operation(cut(from, rows))),
              cut(from, rows)(all).data,
              `${name}, ${rows} rows from ${from}`,
            );
          }
        }
      }
      ffn.dispose();
      for (const block of blocks) block.dispose();
    });
  }
}
