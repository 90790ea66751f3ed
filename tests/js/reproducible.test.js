// The same sources and the same Emscripten give the same bytes, wherever they lie. With the argument `all` each variant is
// built, which takes 6 seconds of processor time a variant; else the cheapest.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { libURL, root } from './helpers.js';

const folder = mkdtempSync(join(tmpdir(), 'addnorm-elsewhere-'));
after(() => rmSync(folder, { recursive: true }));

const elsewhere = join(folder, 'a path, übung');
mkdirSync(elsewhere);
for (const source of ['include', 'src', 'build.sh'])
  cpSync(join(root, source), join(elsewhere, source), { recursive: true });

for (const variant of process.argv.includes('all') ? ['scalar', 'simd', 'relaxed'] : ['scalar']) {
  test(`${variant} has the same bytes when it is built in another folder`, async (t) => {
    const { stderr } = await promisify(execFile)('bash', ['build.sh', variant], { cwd: elsewhere });
    t.diagnostic(stderr.trim());
    const built = readFileSync(join(elsewhere, `dist/lib/addnorm.${variant}.wasm`));
    const shipped = readFileSync(new URL(`addnorm.${variant}.wasm`, libURL));
    assert.ok(built.equals(shipped), `${built.length} bytes, and dist/lib has ${shipped.length} others`);
    assert.ok(!built.includes(root) && !built.includes(elsewhere), 'it names no folder of this machine');
  });
}
