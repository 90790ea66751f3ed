// The projects that the package is tried in: the packed tarball, installed by npm in a folder of its own whose path has
// blanks and letters beyond ASCII.
import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export const run = promisify(execFile);
export const root = fileURLToPath(new URL('../..', import.meta.url));
const fixtures = fileURLToPath(new URL('fixtures', import.meta.url));

/** What imports the package's entry. */
const sources = ['runtime.mjs', 'thread.mjs', 'page.js', 'worker.js', 'service-worker.js'];

export class Projects {
  folder = join(mkdtempSync(join(tmpdir(), 'addnorm-matrix-')), 'Versuche mit Blöcken 数据');
  base = join(this.folder, 'base');

  /** Packs the checkout and makes the first project. */
  async install() {
    mkdirSync(this.base, { recursive: true });
    const to = ['--pack-destination', this.folder];
    const { stdout } = await run('npm', ['pack', '--json', '--ignore-scripts', ...to], { cwd: root });
    const [{ filename }] = JSON.parse(stdout);
    writeFileSync(join(this.base, 'package.json'), JSON.stringify({ name: 'project', private: true, type: 'module' }));
    const offline = ['--offline', '--no-audit', '--no-fund', '--ignore-scripts'];
    await run('npm', ['install', ...offline, join(this.folder, filename)], { cwd: this.base });
    for (const file of readdirSync(fixtures)) cpSync(join(fixtures, file), join(this.base, file));
    for (const file of ['workload.js', 'trajectory.js']) cpSync(join(root, 'tests/js', file), join(this.base, file));
    const workload = JSON.stringify(readFileSync(join(root, 'tests/workload.txt'), 'utf8'));
    writeFileSync(join(this.base, 'workload-text.js'), `export default ${workload};\n`);
  }

  /**
   * Another project like the first; what imports the package takes `entry`.
   * @param {string} name
   * @param {Record<string, string>} files more of them
   */
  copy(name, files, entry = 'addnorm') {
    const folder = join(this.folder, name);
    cpSync(this.base, folder, { recursive: true });
    for (const [file, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, file)), { recursive: true });
      writeFileSync(join(folder, file), text);
    }
    for (const file of sources) {
      const text = readFileSync(join(folder, file), 'utf8');
      writeFileSync(join(folder, file), text.replace("from 'addnorm';", `from '${entry}';`));
    }
    return folder;
  }

  close() {
    rmSync(dirname(this.folder), { recursive: true });
  }
}

/** Where a package is that is installed beside this file. */
export const packageFolder = (name) => fileURLToPath(new URL(`node_modules/${name}`, import.meta.url));
export const version = (name) => JSON.parse(readFileSync(join(packageFolder(name), 'package.json'), 'utf8')).version;
/** Why a package cannot be tried; false if it is there. */
export const missing = (name) =>
  !existsSync(packageFolder(name)) && `${name} is not there: tests/setup.sh matrix installs it`;
