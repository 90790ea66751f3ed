// Puts beside the built page what belongs to the site and is no part of the page: the API reference, made by typedoc from
// the types and comments of web/lib, and the charts of `npm run bench`, if it has run. Another folder may be given.
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const path = (from) => fileURLToPath(new URL(from, import.meta.url));
const [site = path('../dist/site')] = process.argv.slice(2);

const typedoc = path('../node_modules/typedoc/bin/typedoc');
const reference = join(site, 'api');
try {
  const args = [typedoc, '--options', path('typedoc.json'), '--out', reference];
  execFileSync(process.execPath, args, { stdio: 'inherit' });
} catch {
  process.exit(1); // it has said why
}
// typedoc leaves the links of web/typedoc.json as they are, and the site may lie under any path.
for (const entry of readdirSync(reference, { recursive: true }).filter((name) => name.endsWith('.html'))) {
  const file = join(reference, entry);
  const toSite = relative(dirname(file), site).replaceAll('\\', '/');
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll('href="site:', `href="${toSite}/`));
}

const measured = path('../dist/bench');
const charts = join(site, 'bench');
rmSync(charts, { recursive: true, force: true });
if (existsSync(join(measured, 'index.html'))) {
  mkdirSync(charts);
  const shown = readdirSync(measured).filter((file) => /\.(html|svg)$/.test(file));
  for (const file of shown) copyFileSync(join(measured, file), join(charts, file));
}
