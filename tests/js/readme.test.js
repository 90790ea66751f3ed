// Runs every JavaScript block of README.md as a module of its own, as a reader would: `addnorm` is the built package.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const root = fileURLToPath(new URL('../..', import.meta.url));
const blocks = [...readFileSync(new URL('../../README.md', import.meta.url), 'utf8').matchAll(/^```js\n(.*?)^```$/gms)];

test('README has examples', () => {
  if (blocks.length < 2) throw new Error(`found ${blocks.length} JavaScript blocks`);
});

for (const [i, [, code]] of blocks.entries()) {
  test(`README's example ${i + 1} runs`, async () => {
    await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', code], { cwd: root });
  });
}
