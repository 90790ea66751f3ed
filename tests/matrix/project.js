// The projects that the package is tried in: the packed tarball, installed by npm in a folder of its own whose path has
// blanks and letters beyond ASCII.
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export const run = promisify(execFile);
export const root = fileURLToPath(new URL('../..', import.meta.url));
const fixtures = fileURLToPath(new URL('fixtures', import.meta.url));
const read = (file) => readFileSync(join(root, file), 'utf8');

/** What imports the package. */
const sources = ['runtime.mjs', 'page.js', 'worker.js', 'service-worker.js'];

export class Projects {
  /** Packs the checkout and installs the package; `close` removes everything. */
  static async open() {
    const own = new Projects();
    own.folder = join(mkdtempSync(join(tmpdir(), 'addnorm-matrix-')), 'Versuche mit Blöcken 数据');
    own.base = own.make('base');
    const { stdout } = await run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', own.folder], {
      cwd: root,
    });
    const [{ filename }] = JSON.parse(stdout);
    writeFileSync(join(own.base, 'package.json'), JSON.stringify({ name: 'project', private: true, type: 'module' }));
    const offline = ['--offline', '--no-audit', '--no-fund', '--ignore-scripts'];
    await run('npm', ['install', ...offline, join(own.folder, filename)], { cwd: own.base });
    for (const file of readdirSync(fixtures)) cpSync(join(fixtures, file), join(own.base, file));
    for (const file of ['workload.js', 'trajectory.js']) cpSync(join(root, 'tests/js', file), join(own.base, file));
    const workload = JSON.stringify(read('tests/workload.txt'));
    writeFileSync(join(own.base, 'workload-text.js'), `export default ${workload};\n`);
    return own;
  }

  make(name) {
    const folder = join(this.folder, name);
    mkdirSync(folder, { recursive: true });
    return folder;
  }

  /**
   * Another project like the first. `files` are written into it; what imports the package takes `entry`.
   * @param {string} name
   * @param {Record<string, string>} files
   */
  copy(name, files, entry = 'addnorm') {
    const folder = join(this.folder, name);
    cpSync(this.base, folder, { recursive: true });
    for (const file of sources) files[file] ??= readFileSync(join(folder, file), 'utf8');
    for (const [file, text] of Object.entries(files)) {
      writeFileSync(join(folder, file), text.replaceAll("'addnorm'", `'${entry}'`));
    }
    return folder;
  }

  close() {
    rmSync(dirname(this.folder), { recursive: true });
  }
}

/** Where a package is that is installed beside this file. */
export const packageFolder = (name) => fileURLToPath(new URL(`node_modules/${name}`, import.meta.url));
