// Assembles the npm package's JavaScript in dist/lib: web/lib as it is, and its types, made from the JSDoc by
// TypeScript. build.sh has put the modules there: what they say of themselves is written into the loader, and the bytes of
// one into a file for addnorm/inline.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { deflateSync } from 'node:zlib';

const root = fileURLToPath(new URL('..', import.meta.url));
const from = join(root, 'web/lib');
const to = join(root, 'dist/lib');
mkdirSync(to, { recursive: true });

/** What a module says of itself: an_build in include/addnorm.h. */
function buildOf(wasm) {
  const memory = new WebAssembly.Memory({ initial: 16, maximum: 65536 });
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(wasm), { env: { memory } });
  const bytes = Buffer.from(memory.buffer, exports.an_build());
  return bytes.toString('latin1', 0, bytes.indexOf(0));
}
const simd = readFileSync(join(to, 'addnorm.simd.wasm'));
const build = buildOf(simd).split(' ').slice(0, 3).join(' ');

const sources = readdirSync(from);
const wanted = sources.flatMap((file) => [file, file.replace(/\.js$/, '.d.ts'), file.replace(/\.d\.ts$/, '.js')]);
for (const file of readdirSync(to)) {
  if (/\.(js|d\.ts)$/.test(file) && !wanted.includes(file)) rmSync(join(to, file));
}
for (const file of sources) {
  const text = readFileSync(join(from, file), 'utf8');
  write(file, file === 'loader.js' ? text.replace('{build}', build) : text);
}
const packed = deflateSync(simd, { level: 9 }).toString('base64');
write('addnorm.simd.js', `// addnorm.simd.wasm, deflated and in base64.\nexport const simd =\n  '${packed}';\n`);

/** By renaming, so that whoever imports the package meanwhile reads a whole file. */
function write(file, text) {
  writeFileSync(join(to, `.${file}`), text);
  renameSync(join(to, `.${file}`), join(to, file));
}

const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');
try {
  execFileSync(process.execPath, [tsc, '--project', join(root, 'web/tsconfig.json')], { stdio: 'inherit' });
} catch {
  process.exitCode = 1;
}
