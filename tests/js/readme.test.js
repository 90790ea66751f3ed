// Runs every JavaScript block of README.md as a module of its own, as a reader would: `addnorm` is the built package. What a
// comment "prints `...`" says must be in the output.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const root = fileURLToPath(new URL('../..', import.meta.url));
const blocks = [...readFileSync(new URL('../../README.md', import.meta.url), 'utf8').matchAll(/^```js\n(.*?)^```$/gms)];
const promises = (code) => [...code.matchAll(/\/\/ prints `(.*?)`/g)].map(([, text]) => text);

test('README has examples, and they say what they print', () => {
  assert.ok(blocks.length > 1);
  assert.ok(blocks.flatMap(([, code]) => promises(code)).length > 1);
});

for (const [i, [, code]] of blocks.entries()) {
  test(`README's example ${i + 1} runs`, async () => {
    const args = ['--input-type=module', '--eval', code];
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root });
    for (const text of promises(code)) assert.ok(stdout.includes(`${text}\n`), `${text} is not in\n${stdout}`);
  });
}
