// `vite build --mode file`: the page as one file, block-lab.html, which opens by double click. Chromium gives a page of
// file:// no module worker and no fetch of a neighbour, so workers are classic ones from blobs, and wasm, weights and
// notices are in the script.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { policyElement, policyOfOneFile } from './policy.js';

const path = (relative) => fileURLToPath(new URL(relative, import.meta.url));

// Modules that say where the parts of the page are, and what stands in their place here.
const REPLACED = { [path('../demo/workers.js')]: path('../demo/shell/inline-workers.js') };
const SERVED = path('../demo/served.js');

/** web/demo/served.js with the files themselves. */
function embedded(publicDir, models) {
  const read = (name, type) => `data:${type};base64,${readFileSync(`${publicDir}/${name}`).toString('base64')}`;
  const files = Object.fromEntries(
    models.flatMap((model) => [
      [`${model}.json`, read(`models/${model}.json`, 'application/json')],
      [`${model}.bin`, read(`models/${model}.bin`, 'application/octet-stream')],
    ]),
  );
  return `const models = ${JSON.stringify(files)};
    export const modelAddress = (file) => models[file];
    export const notices = { href: ${JSON.stringify(read('NOTICE.txt', 'text/plain'))}, download: 'NOTICE.txt' };
    export const reference = null;
    export const isOneFile = true;`;
}

// What would end a script element or begin a comment in it, inside of strings.
const escapeScript = (code) => code.replace(/<\/script|<!--/gi, (found) => `\\x3c${found.slice(1)}`);

/** @param {{ publicDir: string, models: string[] }} options */
export const oneFile = ({ publicDir, models }) => ({
  name: 'one-file',
  enforce: 'pre',
  async resolveId(source, importer, options) {
    if (!importer || !source.startsWith('.')) return null;
    const resolved = await this.resolve(source, importer, { ...options, skipSelf: true });
    return resolved && REPLACED[resolved.id] ? REPLACED[resolved.id] : null;
  },
  load: (id) => (id === SERVED ? embedded(publicDir, models) : null),
});

/** Puts script and style into the page, and leaves nothing else. */
export const intoOneFile = {
  name: 'into-one-file',
  generateBundle: { order: 'post', handler: inlineAll }, // after what Vite's own plugins replace in the script
};

function inlineAll(_, bundle) {
  const files = Object.values(bundle);
  const chunks = files.filter(({ type }) => type === 'chunk');
  const styles = files.filter(({ fileName }) => fileName.endsWith('.css'));
  if (chunks.length !== 1 || styles.length !== 1)
    this.error(`one script and one style expected: ${files.map(({ fileName }) => fileName).join(', ')}`);
  const script = escapeScript(chunks[0].code);
  const style = String(styles[0].source);
  const icon = `data:image/svg+xml;base64,${readFileSync(path('../demo/icon.svg')).toString('base64')}`;
  const html = String(bundle['index.html'].source)
    .replace(/<link rel="(stylesheet|manifest)"[^>]*>|<script[^>]*><\/script>/g, '')
    .replace(/(<link rel="icon" href=")[^"]*/, (_, start) => start + icon)
    .replace('<head>', (head) => `${head}\n${policyElement(policyOfOneFile(script, style))}`)
    .replace('</head>', (end) => `<style>${style}</style>\n${end}`)
    .replace('</body>', (end) => `<script type="module">${script}</script>\n${end}`);
  for (const { fileName } of files) delete bundle[fileName];
  this.emitFile({ type: 'asset', fileName: 'block-lab.html', source: html });
}
