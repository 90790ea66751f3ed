// Makes the built page work offline: sw.js, which is web/demo/shell/service-worker.js with the list of the page's files.
//
// Written here rather than by a plugin of Vite's: the list of files is all that a build has to give, the worker itself is
// forty lines, and what exactly is kept, and when it is dropped, decides whether an update can mix two versions.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const template = fileURLToPath(new URL('../demo/shell/service-worker.js', import.meta.url));

const filesUnder = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name));

export const offline = (publicDir) => ({
  name: 'offline',
  apply: 'build',
  generateBundle: {
    order: 'post',
    handler(_, bundle) {
      const hash = createHash('sha256').update(readFileSync(template));
      const built = Object.values(bundle).map((file) => [file.fileName, file.code ?? file.source]);
      const copied = filesUnder(publicDir).map((file) => [relative(publicDir, file), readFileSync(file)]);
      const files = [...built, ...copied].sort(([a], [b]) => (a < b ? -1 : 1));
      for (const [name, content] of files) hash.update(name).update(content);
      const list = files.map(([name]) => (name === 'index.html' ? './' : name.replaceAll('\\', '/')));
      const values = { version: hash.digest('hex').slice(0, 16), files: list };
      const source = readFileSync(template, 'utf8').replace(/'\{(\w+)\}'/g, (_, name) => JSON.stringify(values[name]));
      this.emitFile({ type: 'asset', fileName: 'sw.js', source });
    },
  },
});
