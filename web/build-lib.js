// Assembles the npm package's JavaScript in dist/lib: web/lib as it is, and its types, made from the JSDoc by
// TypeScript. build.sh puts the modules beside it.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const from = join(root, 'web/lib');
const to = join(root, 'dist/lib');
mkdirSync(to, { recursive: true });

const sources = readdirSync(from);
const wanted = sources.flatMap((file) => [file, file.replace(/\.js$/, '.d.ts')]);
for (const file of readdirSync(to)) {
  if (/\.(js|d\.ts)$/.test(file) && !wanted.includes(file)) rmSync(join(to, file));
}
for (const file of sources) {
  // By renaming, so that whoever imports the package meanwhile reads a whole file.
  writeFileSync(join(to, `.${file}`), readFileSync(join(from, file)));
  renameSync(join(to, `.${file}`), join(to, file));
}

const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');
try {
  execFileSync(process.execPath, [tsc, '--project', join(root, 'web/tsconfig.json')], { stdio: 'inherit' });
} catch {
  process.exitCode = 1;
}
