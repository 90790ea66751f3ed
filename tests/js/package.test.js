// The npm package: which files it has, what publint and attw say of it, and that an installed copy works.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { load, root } from './helpers.js';

const run = promisify(execFile);
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
let folder;
let tarball;
let files;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'addnorm-package-'));
  const { stdout } = await run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], {
    cwd: root,
  });
  const [packed] = JSON.parse(stdout);
  tarball = join(folder, packed.filename);
  files = packed.files.map((file) => file.path);
});
after(() => rmSync(folder, { recursive: true }));

test('it has the files that tests/package.txt lists, and needs no other package', () => {
  // A file more or less is a decision: it goes into the list by hand.
  const listed = readFileSync(join(root, 'tests/package.txt'), 'utf8').trimEnd().split('\n');
  assert.deepEqual(files.toSorted(), listed);
  for (const kind of ['dependencies', 'peerDependencies', 'optionalDependencies', 'bundleDependencies']) {
    assert.deepEqual(Object.keys(manifest[kind] ?? {}), [], kind);
  }
  assert.equal(manifest.sideEffects, false);
});

test('what its README links to is in it, but for the picture, which is as large as half of the rest', () => {
  const text = readFileSync(join(root, 'README.md'), 'utf8');
  const targets = [...text.matchAll(/\]\((?!https?:)([^)]+)\)/g)].map(([, target]) => target);
  assert.ok(targets.length > 5, 'its links are found');
  assert.deepEqual(
    targets.filter((target) => !files.includes(target)),
    ['docs/screenshot.png'],
  );
});

test("the module's version is the package's", async () => {
  assert.equal((await load()).version, manifest.version);
});

test('publint finds nothing', async () => {
  const { messages } = await publint({ pkgDir: root, strict: true });
  assert.deepEqual(
    messages.map((message) => formatMessage(message, manifest)),
    [],
  );
});

test('attw finds nothing', async () => {
  const attw = join(root, 'node_modules/@arethetypeswrong/cli/dist/index.js');
  // It ends with an error if it finds anything for programs of ES modules; CommonJS is not offered on purpose.
  const { stdout } = await run(process.execPath, [attw, tarball, '--profile', 'esm-only', '--format', 'json'], {
    maxBuffer: 1 << 26,
  });
  const { analysis } = JSON.parse(stdout);
  assert.equal(analysis.packageName, 'addnorm');
  assert.ok(analysis.types, 'the package has types');
});

test('an installed copy loads, and keeps its inside closed', async () => {
  const installed = join(folder, 'project/node_modules/addnorm');
  mkdirSync(installed, { recursive: true });
  await run('tar', ['-xzf', tarball, '-C', installed, '--strip-components=1']);
  writeFileSync(join(folder, 'project/package.json'), '{ "type": "module" }');
  writeFileSync(
    join(folder, 'project/use.js'),
    `import { readFile } from 'node:fs/promises';
     import { load } from 'addnorm';
     const an = await load();
     an.selfTest();
     const wasm = await readFile(new URL(import.meta.resolve('addnorm/wasm/addnorm.scalar.wasm')));
     const other = await load({ wasm, variant: 'scalar' });
     const closed = await import('addnorm/memory.js').catch((error) => error.code);
     console.log(JSON.stringify([an.version, [...other.activation('relu', Float32Array.of(-1, 2))], closed]));`,
  );
  const { stdout, stderr } = await run(process.execPath, ['use.js'], { cwd: join(folder, 'project') });
  assert.deepEqual(JSON.parse(stdout), [manifest.version, [0, 2], 'ERR_PACKAGE_PATH_NOT_EXPORTED']);
  assert.equal(stderr, '');
});
