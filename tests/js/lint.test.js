// Biome's format and lint rules (web/biome.json) hold for every JavaScript file.
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

test('Biome has nothing to say', async () => {
  const cwd = fileURLToPath(new URL('../..', import.meta.url));
  const args = ['node_modules/@biomejs/biome/bin/biome', 'check', '--config-path=web', 'web', 'tests'];
  await promisify(execFile)(process.execPath, args, { cwd }).catch((error) => {
    throw new Error(`${error.stdout}\n${error.stderr}`.trim());
  });
});
