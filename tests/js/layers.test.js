// The one-way layers: what may include or import what. Broken rules are listed with file and line.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (file) => readFileSync(join(root, file), 'utf8');
const files = (folder, ending) =>
  readdirSync(join(root, folder), { recursive: true })
    .map((file) => join(folder, file))
    .filter((file) => ending.test(file))
    .sort();
const blank = (text) => text.replace(/[^\n]/g, ' ');
/** Without comments; line numbers stay. */
const code = (text) => text.replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, blank);
/** Without comments and texts. */
const bare = (text) => code(text).replace(/"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`[^`]*`/g, blank);
/** Every match of a pattern in a file, as `file:line: text`. */
const matches = (file, pattern, text = bare(read(file))) =>
  text.split('\n').flatMap((line, i) => (pattern.test(line) ? [`${file}:${i + 1}: ${line.trim()}`] : []));

const sources = files('src', /\.[chd](ef)?$/);
const lib = files('web/lib', /\.js$/);
const page = existsSync(join(root, 'web/demo')) ? files('web/demo', /\.jsx?$/) : [];

// From the bottom up. A file may include what stands before it in this list, over any distance, and its own header.
const order = [
  'simd',
  'vmath',
  'map',
  'text',
  'status',
  'activation',
  'tensor',
  'norm',
  'softmax',
  'tile',
  'matmul',
  'random',
  'ffn',
  'mixing',
  'config',
  'plan',
  'block',
  'stack',
  'loss',
  'optim',
];
const rank = (file) => {
  const [, folder] = /^src\/(\w+)\//.exec(file) ?? [];
  return order.indexOf(folder ?? basename(file).replace(/\.(c|h|def)$/, ''));
};
/** The project's own files that a file includes. */
const includes = (file) =>
  [...code(read(file)).matchAll(/^\s*#\s*include\s+"([^"]+)"/gm)].map(([, name]) => {
    const beside = relative(root, resolve(root, dirname(file), name));
    return existsSync(join(root, beside)) ? beside : join('src', name);
  });

test('every C source has its place in the order', () => {
  assert.ok(sources.length > 20);
  const apart = ['src/heap.c', 'src/placement.def'];
  assert.deepEqual(
    sources.filter((file) => rank(file) < 0 && !apart.includes(file)),
    [],
  );
});

test('includes go downwards only', () => {
  const wrong = sources.flatMap((file) =>
    includes(file)
      .filter((included) => included.startsWith('src/') && included !== 'src/placement.def')
      .filter((included) => rank(included) > rank(file))
      .map((included) => `${file} includes ${included}`),
  );
  assert.deepEqual(wrong, []);
  const missing = sources.flatMap((file) => includes(file).filter((included) => !existsSync(join(root, included))));
  assert.deepEqual(missing, []);
});

test('the public header stands apart, and every exporting source includes it', () => {
  const header = read('include/addnorm.h');
  assert.deepEqual([...header.matchAll(/#\s*include\s+(\S+)/g)].map(([, name]) => name).sort(), [
    '<stddef.h>',
    '<stdint.h>',
  ]);
  const reaches = (file, seen = new Set()) =>
    file === 'include/addnorm.h' ||
    (!seen.has(file) && seen.add(file) && includes(file).some((next) => reaches(next, seen)));
  const declared = [...header.matchAll(/AN_API [^;]*?\b(an_\w+)\(/g)].map(([, name]) => name);
  assert.ok(declared.length > 40);
  const definitions = new Map();
  for (const file of sources.filter((name) => name.endsWith('.c'))) {
    for (const [, name] of code(read(file)).matchAll(
      /^(?:[A-Z_]+ )?(?:const char \*|an_status |size_t |double |int )(an_\w+)\(/gm,
    )) {
      definitions.set(name, file);
      assert.ok(reaches(file), `${file} defines ${name} without the public header`);
    }
  }
  assert.deepEqual(
    declared.filter((name) => !definitions.has(name)),
    [],
    'declared and not defined',
  );
  assert.deepEqual(
    [...definitions.keys()].filter((name) => !declared.includes(name)),
    [],
    'defined and not declared',
  );
});

test('intrinsics stand in simd.h alone, and no vector code above the FFN and mixing', () => {
  const intrinsic = /\b(wasm_[a-z0-9]+_|simde_|v128_t|_mm\w*_|wasm_simd128\.h)/;
  assert.deepEqual(
    sources.filter((file) => file !== 'src/simd.h').flatMap((file) => matches(file, intrinsic)),
    [],
  );
  assert.ok(matches('src/simd.h', intrinsic).length > 20);
  const above = sources.filter((file) => rank(file) >= order.indexOf('config') || rank(file) < 0);
  const low = ['src/simd.h', 'src/vmath.h', 'src/map.h'];
  assert.deepEqual(
    above.filter((file) => includes(file).some((included) => low.includes(included))),
    [],
  );
  assert.deepEqual(
    above.flatMap((file) => matches(file, /\b(v[fdim]_\w+\(|v[fdi] \w)/)),
    [],
  );
});

test('no libm, allocation or standard output in the sources', () => {
  const forbidden =
    /\b(exp|expm1|log|log1p|tanh|erf|erfc|pow|sin|cos|sqrt)f?\(|<(math|stdio|stdlib|errno)\.h>|\b(malloc|calloc|free|printf|abort|exit)\(/;
  assert.deepEqual(
    sources.filter((file) => file !== 'src/heap.c').flatMap((file) => matches(file, forbidden)),
    [],
  );
});

test('memory.buffer is touched in one file of the library', () => {
  const touching = lib.filter((file) => matches(file, /memory\??\.buffer\b/).length > 0);
  assert.deepEqual(touching, ['web/lib/memory.js']);
});

// Imports within the library, likewise from the bottom up.
const modules = [
  'errors',
  'check',
  'memory',
  'loader',
  'lists',
  'engine',
  'tensor',
  'formats',
  'frame',
  'ops',
  'norm',
  'module',
  'optimizer',
  'schedule',
  'text',
  'tasks',
  'loss',
  'theory',
  'limits',
  'self-test',
  'core',
  'load',
  'index',
  'inline',
];
/** Whatever a file imports, at its head or anywhere. */
const imports = (file) => ts.preProcessFile(read(file)).importedFiles.map((imported) => imported.fileName);

test('the library imports itself downwards, and nothing else', () => {
  const wrong = lib.flatMap((file) =>
    imports(file)
      .filter(
        (name) =>
          !(name.startsWith('./') && modules.indexOf(basename(name, '.js')) < modules.indexOf(basename(file, '.js'))),
      )
      .map((name) => `${file} imports ${name}`),
  );
  assert.deepEqual(wrong, []);
  assert.deepEqual(lib.map((file) => basename(file, '.js')).sort(), [...modules].sort());
  assert.ok(imports('web/lib/core.js').includes('./module.js'));
});

test('B36 no DOM, no eval and no worker outside the page', () => {
  const dom =
    /\b(document|window|navigator|localStorage|HTMLElement|requestAnimationFrame|XMLHttpRequest)\b|\beval\(|new Function\b|new Worker\b/;
  assert.deepEqual(
    lib.flatMap((file) => matches(file, dom)),
    [],
  );
});

test('the page imports itself, packages, and of addnorm the public entries only', () => {
  const entries = ['addnorm/formats', 'addnorm/tasks', 'addnorm/wasm/addnorm.relaxed.wasm?url'];
  const outside = (file, name) =>
    name.startsWith('.') && !resolve(root, dirname(file), name).startsWith(join(root, 'web/demo/'));
  const wrong = page.flatMap((file) =>
    imports(file)
      .filter(
        (name) =>
          (name.startsWith('addnorm/') && !entries.includes(name)) || name.startsWith('/') || outside(file, name),
      )
      .map((name) => `${file} imports ${name}`),
  );
  assert.deepEqual(wrong, []);
});

test('tracked files name no folder of one machine and no package registry', (t) => {
  let tracked;
  try {
    tracked = execFileSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8' }).split('\0').filter(Boolean);
  } catch {
    if (process.env.CI === 'true') throw new Error('CI needs git and a checkout');
    t.skip('not a git checkout, or git is not installed');
    return;
  }
  const pattern =
    /(?<![\w.])\/(?:home|root|work|Users)\/\w|[a-z]:\\\\?Users|\bregistry\.(?:npmjs|yarnpkg)\.|\bdeb\.debian\.org|\bpypi\.org|\bcrates\.io/i;
  const text = tracked.filter((file) => existsSync(join(root, file)) && !/\.(png|wasm|npy|bin|ico)$/.test(file));
  assert.ok(text.length > 50);
  assert.deepEqual(
    text.flatMap((file) => matches(file, pattern, read(file))),
    [],
  );
});
