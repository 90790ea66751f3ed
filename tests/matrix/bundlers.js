// Bundlers without configuration: each builds the same page and worker in a project of its own, and Chromium runs them.
import { spawn } from 'node:child_process';
import { cpSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { engines, host, html, once, show } from './browsers.js';
import { packageFolder, run } from './project.js';

const version = (name) => JSON.parse(readFileSync(join(packageFolder(name), 'package.json'), 'utf8')).version;
const { Chromium } = engines;

/** The files of a page that starts these scripts by one bundle. */
const page = (scripts, ...tags) => ({
  'main.js': scripts.map((script) => `import './${script}.js';\n`).join(''),
  'index.html': html(...tags),
});
const moduleTag = '<script type="module" src="./main.js"></script>';

/** An address that a program prints once it serves. */
function serving(command, args, cwd) {
  const child = spawn(command, args, {
    cwd,
    env: { ...process.env, NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const url = new Promise((resolve, reject) => {
    let text = '';
    const read = (data) => {
      text += data;
      const found = /http:\/\/127\.0\.0\.1:\d+\//.exec(text);
      if (found) resolve(found[0]);
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    child.on('error', reject);
    child.on('exit', (code) => reject(new Error(`${args.join(' ')} ended (${code}): ${text}`)));
  });
  return { url, close: () => child.kill() };
}

/** Whatever is open until an entry is done. */
class Open {
  closers = [];
  keep(thing) {
    this.closers.push(thing.close);
    return thing;
  }
  close = async () => {
    for (const close of this.closers) await close();
  };
  /** Serves a folder; shows its page when a place is first asked for. */
  site(build, path) {
    return once(async () => show(Chromium, this.keep(await host(await build(), { path })).url));
  }
}

const at = (see, key) => async () => (await see())(key);
/** What a bundle of the inline entry has to say: that one has the variant simd alone. */
const inline = (check) => async () => ({ ...(await check()), expected: 'simd' });
/** The default entry cannot work there; its error has to say what does. */
const refused = (check) => async () => {
  const { error, variant } = await check();
  if (variant) throw new Error(`expected an error that names addnorm/inline, but it loaded ${variant}`);
  if (!error.includes('addnorm/inline')) throw new Error(`the error does not name addnorm/inline: ${error}`);
  return 'the error names addnorm/inline';
};
const copyWasm = (project, to) => {
  const from = join(project, 'node_modules/addnorm/dist/lib');
  for (const file of readdirSync(from).filter((name) => name.endsWith('.wasm')))
    cpSync(join(from, file), join(to, file));
};

/**
 * Vite's development server, which bundles dependencies beforehand, and its build in its preview server.
 * @param {(dev: Opener, built: Opener) => Record<string, () => Promise<any>>} checks an Opener takes an entry of the
 *   package and further files of the project
 */
const vite = (name, packageName, checks) => ({
  name,
  auto: 'relaxed',
  missing: Chromium.missing,
  async open(projects) {
    const open = new Open();
    const program = join(packageFolder(packageName), 'bin/vite.js');
    const scripts = ['page', 'module-worker'];
    let count = 0;
    const project = (entry, files, all) =>
      projects.copy(`${packageName} ${++count}`, { ...page(all, moduleTag), ...files }, entry);
    const server = async (mode, cwd) => {
      const args = [program, mode, '--host', '127.0.0.1'];
      return show(Chromium, await open.keep(serving(process.execPath, args, cwd)).url);
    };
    const dev = (entry, files) => once(() => server('serve', project(entry, files, scripts)));
    const built = (entry, files) =>
      once(async () => {
        const cwd = project(entry, files, [...scripts, 'classic-worker']);
        await run(process.execPath, [program, 'build'], { cwd });
        return server('preview', cwd);
      });
    return { version: version(packageName), checks: checks(dev, built), close: open.close };
  },
});

const vite8 = vite('Vite 8', 'vite', (openDev, openBuilt) => {
  const [dev, built] = [openDev('addnorm'), openBuilt('addnorm')];
  return {
    'dev, page': at(dev, 'page'),
    'dev, module worker': at(dev, 'moduleWorker'),
    'build, page': at(built, 'page'),
    'build, module worker': at(built, 'moduleWorker'),
    'build, classic worker': at(built, 'classicWorker'),
  };
});

// Its development server moves the JavaScript of a dependency and leaves the modules behind; its build takes them along.
const vite7 = vite('Vite 7', 'vite-7', (openDev, openBuilt) => {
  const [dev, built] = [openDev('addnorm'), openBuilt('addnorm')];
  const config = `export default { optimizeDeps: { exclude: ["addnorm"] } };`;
  const unmoved = openDev('addnorm', { 'vite.config.js': config });
  const [inlineDev, inlineBuilt] = [openDev('addnorm/inline'), openBuilt('addnorm/inline')];
  return {
    dev: refused(at(dev, 'page')),
    'dev, excluded, page': at(unmoved, 'page'),
    'dev, excluded, module worker': at(unmoved, 'moduleWorker'),
    'build, page': at(built, 'page'),
    'build, module worker': at(built, 'moduleWorker'),
    'build, classic worker': at(built, 'classicWorker'),
    'inline, dev, page': inline(at(inlineDev, 'page')),
    'inline, dev, module worker': inline(at(inlineDev, 'moduleWorker')),
    'inline, build, page': inline(at(inlineBuilt, 'page')),
    'inline, build, module worker': inline(at(inlineBuilt, 'moduleWorker')),
    'inline, build, classic worker': inline(at(inlineBuilt, 'classicWorker')),
  };
});

const webpack = {
  name: 'webpack',
  auto: 'relaxed',
  missing: Chromium.missing,
  async open(projects) {
    const open = new Open();
    const { default: pack } = await import('webpack');
    const see = open.site(async () => {
      const files = page(['page', 'module-worker', 'classic-worker'], '<script src="dist/main.js"></script>');
      const context = projects.copy('webpack', { ...files, 'main.js': `${files['main.js']}` });
      const stats = await promisify(pack)({
        context,
        mode: 'production',
        entry: './main.js',
        output: { path: join(context, 'dist') },
      });
      if (stats.hasErrors() || stats.hasWarnings()) throw new Error(stats.toString());
      return context;
    });
    return {
      version: version('webpack'),
      checks: {
        page: at(see, 'page'),
        'module worker': at(see, 'moduleWorker'),
        'classic worker': at(see, 'classicWorker'),
      },
      close: open.close,
    };
  },
};

const parcel = {
  name: 'Parcel',
  auto: 'relaxed',
  missing: Chromium.missing,
  async open(projects) {
    const open = new Open();
    const see = open.site(async () => {
      const cwd = projects.copy('parcel', page(['page', 'module-worker'], moduleTag));
      const program = join(packageFolder('parcel'), 'lib/bin.js');
      await run(process.execPath, [program, 'build', 'index.html'], { cwd });
      return join(cwd, 'dist');
    }, '/');
    return {
      version: version('parcel'),
      checks: { page: at(see, 'page'), 'module worker': at(see, 'moduleWorker') },
      close: open.close,
    };
  },
};

/**
 * A bundler that copies no wasm: the default entry says so, it works once the modules are copied beside the bundle, and
 * the inline entry works as it is.
 * @param {(project: string) => Promise<unknown>} build writes dist/main.js and dist/worker.js
 */
function copiesNoWasm(name, packageName, build) {
  return {
    name,
    auto: 'relaxed',
    missing: Chromium.missing,
    async open(projects) {
      const open = new Open();
      const project = (kind, entry) =>
        open.site(async () => {
          const files = page(['page', 'module-worker'], '<script type="module" src="./dist/main.js"></script>');
          const folder = projects.copy(`${packageName} ${kind}`, files, entry);
          await build(folder);
          if (kind === 'copied') copyWasm(folder, join(folder, 'dist'));
          return folder;
        });
      const bare = project('bare');
      const copied = project('copied');
      const inside = project('inline', 'addnorm/inline');
      return {
        version: version(packageName),
        checks: {
          'wasm not copied': refused(at(bare, 'page')),
          'wasm copied, page': at(copied, 'page'),
          'wasm copied, module worker': at(copied, 'moduleWorker'),
          'inline, page': inline(at(inside, 'page')),
          'inline, module worker': inline(at(inside, 'moduleWorker')),
        },
        close: open.close,
      };
    },
  };
}

const programs = ['main.js', 'worker.js'];
const withEsbuild = async (absWorkingDir, options = {}) => {
  const { build } = await import('esbuild');
  const usual = { bundle: true, format: 'esm', outdir: 'dist', logLevel: 'silent' };
  await build({ absWorkingDir, entryPoints: programs, ...usual, ...options });
};
const esbuild = copiesNoWasm('esbuild', 'esbuild', withEsbuild);

const withRollup = async (folder) => {
  const { rollup } = await import('rollup');
  const { default: nodeResolve } = await import('@rollup/plugin-node-resolve');
  const input = programs.map((file) => join(folder, file));
  const bundle = await rollup({ input, plugins: [nodeResolve()] }); // Rollup itself takes no names of packages
  await bundle.write({ dir: join(folder, 'dist') });
  await bundle.close();
};
const rollup = copiesNoWasm('Rollup', 'rollup', withRollup);

export const bundlers = [vite8, webpack, parcel, esbuild, rollup, vite7];
