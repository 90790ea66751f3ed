// NOTICE.txt of the built site: our NOTICE, and the licences of the packages whose code the site contains, as they came with
// them.
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Whose code is bundled into the page and its workers; the build stops at any other. */
export const bundled = [
  'preact',
  '@preact/signals',
  '@preact/signals-core',
  'comlink',
  'temml',
  'uplot',
  'vite',
  'rolldown',
];
/** Whose code is in the API reference: the script and style of its theme, and the search in them. */
export const inReference = ['typedoc', 'lunr'];

/** `preact` for any file of it, '' for a file of our own. Helpers of the build's tools have ids like \0vite/.... */
export function packageOf(id) {
  const [, name = ''] =
    id.match(/.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//) ?? id.match(/^\0((?:@[^/]+\/)?[^/]+)\//) ?? [];
  return name;
}

/** A plugin for the page's build and for its workers': no package comes in unnamed. */
export const onlyNamed = {
  name: 'only-named',
  generateBundle(_, bundle) {
    const ids = Object.values(bundle).flatMap(({ modules }) => Object.keys(modules ?? {}));
    for (const name of new Set(ids.map(packageOf))) {
      if (name !== '' && !bundled.includes(name)) this.error(`${name} is bundled, and web/notices.js does not name it`);
    }
  },
};

function noticeOf(name) {
  const folder = `${root}node_modules/${name}`;
  const {
    version,
    license,
    homepage = `https://www.npmjs.com/package/${name}`,
  } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'));
  const file = readdirSync(folder).find((entry) => /^licen[cs]e(\.\w+)?$/i.test(entry));
  if (!license || !file) throw new Error(`${folder} does not say what its licence is`);
  // Vite appends what is in Vite itself, and in no page.
  const [text] = readFileSync(`${folder}/${file}`, 'utf8').split('# Licenses of bundled dependencies');
  return `${name} ${version} (${license}), ${homepage}\n\n${text.trim()}\n`;
}

/** The whole text. */
export function notices() {
  const rule = `\n${'-'.repeat(80)}\n\n`;
  return [readFileSync(`${root}NOTICE`, 'utf8'), ...[...bundled, ...inReference].map(noticeOf)].join(rule);
}
