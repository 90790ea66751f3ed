// The C library by itself: include/, src/ and docs/example.c of the npm package, with no other file of the project. With
// the argument `emcc` the example also by Emscripten, which takes 9 seconds.
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));
const example = join(root, 'docs/example.c');
/** The commands that the example begins with. */
const [gcc, emcc, node] = [...readFileSync(example, 'utf8').matchAll(/^ \* {3}(\S.*)$/gm)].map(([, line]) => line);
const printed = /^addnorm \d+\.\d+\.\d+ native, y\[0\] = 1\.7156\d+, .*\nlargest error: y .*\n$/;

const missing = (tool) =>
  spawnSync(tool, ['--version']).status !== 0 && `${tool} is not installed (Debian: apt-get install ${tool})`;
for (const tool of ['gcc', 'clang']) {
  if (missing(tool) && process.env.CI === 'true') throw new Error(`CI needs both compilers: ${missing(tool)}`);
}

let folder;
let unpacked;
before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'addnorm-c-'));
  const packed = await run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], { cwd: root });
  await run('tar', ['-xzf', JSON.parse(packed.stdout)[0].filename], { cwd: folder });
  unpacked = join(folder, 'package');
});
after(() => rmSync(folder, { recursive: true }));

const languages = [
  ['gcc', 'c', 'c11'],
  ['gcc', 'c', 'c17'],
  ['clang', 'c', 'c11'],
  ['clang', 'c++', 'c++11'],
  ['clang', 'c++', 'c++17'],
];
for (const [compiler, language, standard] of languages) {
  test(`the header alone is ${standard} without a warning, ${compiler}`, { skip: missing(compiler) }, async () => {
    const strict = ['-Wall', '-Wextra', '-Wpedantic', '-Wconversion', '-Werror', '-fsyntax-only'];
    const header = join(unpacked, 'include/addnorm.h');
    // As a program has it: a header that is compiled itself is warned about for being one.
    const args = [...strict, `-std=${standard}`, '-x', language, '-include', header, '/dev/null'];
    const { stderr } = await run(compiler, args);
    assert.equal(stderr, '');
  });
}

test("the example's command builds it, from what the tarball has", { skip: missing('gcc') }, async () => {
  assert.match(gcc, /^gcc .* docs\/example\.c .* && \.\/example$/);
  // Not optimised and without SIMD, which takes a third of the time; the other native tests have both.
  const command = gcc.replace('-O2', '-O0 -DAN_SCALAR -Wall -Wextra -Wpedantic -Werror');
  const { stdout } = await run('bash', ['-c', command], { cwd: unpacked });
  assert.match(stdout, printed);
});

if (process.argv.includes('emcc')) {
  test("Emscripten's command builds it too", async () => {
    const script = join(root, 'dist/example.cjs');
    const command = emcc.replace(/^emcc/, 'bash build.sh --emcc').replace('-o example.cjs', '-o dist/example.cjs');
    await run('bash', ['-c', command], { cwd: root });
    assert.equal(node, 'node example.cjs');
    const { stdout } = await run(process.execPath, [script]);
    for (const file of [script, script.replace('.cjs', '.wasm')]) rmSync(file);
    assert.match(stdout, printed);
  });
}
