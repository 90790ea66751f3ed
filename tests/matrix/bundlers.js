// Bundlers without configuration: each builds the same page and worker in a project of its own, and Chromium runs them.
import { spawn } from 'node:child_process';
import { cpSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { all, at, engines, html, inline, Open, once, says, show, unrelaxed, withEsbuild } from './browsers.js';
import { missing, packageFolder, run, version } from './project.js';

const { Chromium } = engines;

/** @param {(projects: Projects, own: Open) => Record<string, () => Promise<any>>} checksOf */
const bundler = (name, packageName, checksOf) => ({
  name,
  variants: all,
  missing: () => missing(packageName) || Chromium.missing(),
  async open(projects) {
    const own = new Open();
    return { version: version(packageName), checks: checksOf(projects, own), close: own.close };
  },
});

/** The files of a page that starts these scripts by one bundle. */
const page = (scripts, ...tags) => ({
  'main.js': scripts.map((script) => `import './${script}.js';\n`).join(''),
  'index.html': html(...tags),
});
const moduleTag = '<script type="module" src="./main.js"></script>';

const env = { ...process.env, NO_COLOR: '1', NEXT_TELEMETRY_DISABLED: '1' };

/** An address that a program prints once it serves. */
function serving(command, args, cwd) {
  const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const url = new Promise((resolve, reject) => {
    let text = '';
    const read = (data) => {
      text += data;
      const found = /http:\/\/127\.0\.0\.1:\d+(?=\/?\s)/.exec(text);
      if (found) resolve(`${found[0]}/`);
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    child.on('error', reject);
    child.on('exit', (code) => reject(new Error(`${args.join(' ')} ended (${code}): ${text}`)));
  });
  return { url, close: () => child.kill() };
}

/** Where the modules get lost, the default entry's error has to name what works. */
const refused = (check) => says(check, /addnorm\/inline/);
const copyWasm = (project, to) => {
  const from = join(project, 'node_modules/addnorm/dist/lib');
  for (const file of readdirSync(from).filter((name) => name.endsWith('.wasm')))
    cpSync(join(from, file), join(to, file));
};

/**
 * Vite's development server, which bundles dependencies beforehand, and its build in its preview server.
 * @param {(dev: Opener, built: Opener) => Record<string, () => Promise<any>>} checksOf an Opener takes an entry of the
 *   package and further files of the project
 */
const vite = (name, packageName, checksOf) =>
  bundler(name, packageName, (projects, own) => {
    const program = join(packageFolder(packageName), 'bin/vite.js');
    const scripts = ['page', 'module-worker'];
    let count = 0;
    const project = (entry, files, all) =>
      projects.copy(`${packageName} ${++count}`, { ...page(all, moduleTag), ...files }, entry);
    const server = async (mode, cwd) => {
      const args = [program, mode, '--host', '127.0.0.1'];
      return show(Chromium, await own.keep(serving(process.execPath, args, cwd)).url);
    };
    const dev = (entry, files) => once(() => server('serve', project(entry, files, scripts)));
    const built = (entry, files) =>
      once(async () => {
        const cwd = project(entry, files, [...scripts, 'classic-worker']);
        await run(process.execPath, [program, 'build'], { cwd });
        return server('preview', cwd);
      });
    return checksOf(dev, built);
  });

const vite8 = vite('Vite 8', 'vite', (openDev, openBuilt) => {
  const [dev, built] = [openDev('addnorm'), openBuilt('addnorm')];
  return {
    'dev, page': at(dev, 'page'),
    'dev, module worker': at(dev, 'moduleWorker'),
    'build, page': at(built, 'page'),
    'build, module worker': at(built, 'moduleWorker'),
    'build, classic worker': at(built, 'classicWorker'),
    'inline, dev, page': inline(at(openDev('addnorm/inline'), 'page')),
    'inline, build, page': inline(at(openBuilt('addnorm/inline'), 'page')),
  };
});

// Its development server moves the JavaScript of a dependency and leaves the modules behind; its build takes them along.
const vite7 = vite('Vite 7', 'vite-7', (openDev, openBuilt) => {
  const built = openBuilt('addnorm');
  const config = "export default { optimizeDeps: { exclude: ['addnorm'] } };";
  const excluded = openDev('addnorm', { 'vite.config.js': config });
  const [inlineDev, inlineBuilt] = [openDev('addnorm/inline'), openBuilt('addnorm/inline')];
  return {
    'dev, page': refused(at(openDev('addnorm'), 'page')),
    'dev, excluded, page': at(excluded, 'page'),
    'dev, excluded, module worker': at(excluded, 'moduleWorker'),
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

const webpack = bundler('webpack 5', 'webpack', (projects, own) => {
  const built = (entry) =>
    own.site(Chromium, async () => {
      const { default: pack } = await import('webpack');
      const scripts = ['page', 'module-worker', 'classic-worker'];
      const files = page(scripts, '<script src="dist/main.js"></script>');
      const context = projects.copy(`webpack ${entry.replace('/', ' ')}`, files, entry);
      const options = { context, mode: 'production', entry: './main.js', output: { path: join(context, 'dist') } };
      const stats = await promisify(pack)(options);
      if (stats.hasErrors()) throw new Error(stats.toString({ all: false, errors: true }));
      return context;
    });
  const site = built('addnorm');
  return {
    page: at(site, 'page'),
    'module worker': at(site, 'moduleWorker'),
    'classic worker': at(site, 'classicWorker'),
    'inline, page': inline(at(built('addnorm/inline'), 'page')),
  };
});

const parcel = bundler('Parcel 2', 'parcel', (projects, own) => {
  const built = (entry, files) => {
    const build = async () => {
      const scripts = ['page', 'module-worker'];
      const cwd = projects.copy(`parcel ${entry.replace('/', ' ')}`, { ...page(scripts, moduleTag), ...files }, entry);
      await run(process.execPath, [join(packageFolder('parcel'), 'lib/bin.js'), 'build', 'index.html'], { cwd });
      return join(cwd, 'dist');
    };
    return own.site(Chromium, build, { path: '/' });
  };
  const site = built('addnorm');
  // Without this it knows a package's main file alone.
  const files = { 'package.json': JSON.stringify({ '@parcel/resolver-default': { packageExports: true } }) };
  return {
    page: at(site, 'page'),
    'module worker': at(site, 'moduleWorker'),
    'inline, exports allowed, page': inline(at(built('addnorm/inline', files), 'page')),
  };
});

/**
 * A bundler that copies no wasm: the default entry says so, it works once the modules are copied beside the bundle, and
 * the inline entry works as it is.
 * @param {(project: string) => Promise<unknown>} build writes dist/main.js and dist/worker.js
 */
const copiesNoWasm = (name, packageName, build) =>
  bundler(name, packageName, (projects, own) => {
    const project = (kind, entry) =>
      own.site(Chromium, async () => {
        const files = page(['page', 'module-worker'], '<script type="module" src="./dist/main.js"></script>');
        const folder = projects.copy(`${packageName} ${kind}`, files, entry);
        await build(folder);
        if (kind === 'copied') copyWasm(folder, join(folder, 'dist'));
        return folder;
      });
    const copied = project('copied');
    const inside = project('inline', 'addnorm/inline');
    return {
      'wasm not copied': refused(at(project('bare'), 'page')),
      'wasm copied, page': at(copied, 'page'),
      'wasm copied, module worker': at(copied, 'moduleWorker'),
      'inline, page': inline(at(inside, 'page')),
      'inline, module worker': inline(at(inside, 'moduleWorker')),
    };
  });

const programs = ['main.js', 'worker.js'];
const esbuild = copiesNoWasm('esbuild', 'esbuild', (folder) => withEsbuild(folder, programs, 'esm'));
const rollup = copiesNoWasm('Rollup', 'rollup', async (folder) => {
  const { rollup } = await import('rollup');
  const { default: nodeResolve } = await import('@rollup/plugin-node-resolve');
  const input = programs.map((file) => join(folder, file));
  const bundle = await rollup({ input, plugins: [nodeResolve()] }); // Rollup itself takes no names of packages
  await bundle.write({ dir: join(folder, 'dist') });
  await bundle.close();
});

/** A package and what it needs, copied into a project: Turbopack follows no link that leads out of it. */
function bring(name, project) {
  const to = join(project, 'node_modules', name);
  if (existsSync(to)) return;
  cpSync(packageFolder(name), to, { recursive: true });
  const { dependencies = {}, optionalDependencies = {} } = JSON.parse(readFileSync(join(to, 'package.json'), 'utf8'));
  const compilers = Object.keys(optionalDependencies).filter((other) => other.startsWith('@next/swc-'));
  for (const other of [...Object.keys(dependencies), ...compilers]) {
    const own = existsSync(join(to, 'node_modules', other)); // copied already
    if (!own && existsSync(packageFolder(other))) bring(other, project);
  }
}

/** A component of the client, which is rendered by the server first, and a route of the server. */
const nextApp = (entry) => ({
  'app/layout.jsx': `export default ({ children }) => <html lang="en"><body>{children}</body></html>;`,
  'app/page.jsx': `'use client';
import { load } from '${entry}';
import { useEffect } from 'react';
import { answer } from '../check.js';
import { note } from '../note.js';
export default function Page() {
  useEffect(() => void answer(load).then(note('page')), []);
  return <p>addnorm</p>;
}
`,
  'app/server/route.js': `import { load } from '${entry}';
import { answer } from '../../check.js';
export const dynamic = 'force-dynamic';
export const GET = async () => Response.json(await answer(load));
`,
});

const ofThisNode = Number(process.versions.node.split('.')[0]) < 22 ? unrelaxed : all;
const next = bundler('Next 16', 'next', (projects, own) => {
  const program = ['node_modules/next/dist/bin/next'];
  const places = (kind, entry) => {
    const project = once(async () => {
      const cwd = projects.copy(`next ${kind}`, nextApp(entry), entry);
      for (const name of ['next', 'react', 'react-dom']) bring(name, cwd);
      return cwd;
    });
    const serve = (mode) =>
      once(async () => {
        const cwd = await project();
        if (mode === 'start') await run(process.execPath, [...program, 'build'], { cwd, env });
        const args = [...program, mode, '--hostname', '127.0.0.1', '--port', '0'];
        return own.keep(serving(process.execPath, args, cwd)).url;
      });
    const page = (url) => once(async () => show(Chromium, await url()));
    const [dev, built] = [serve('dev'), serve('start')];
    return {
      dev: at(page(dev), 'page'),
      page: at(page(built), 'page'),
      server: async () => ({ ...(await (await fetch(`${await built()}server`)).json()), expected: ofThisNode }),
    };
  };
  const [plain, inside] = [places('default', 'addnorm'), places('inline', 'addnorm/inline')];
  return {
    'dev, page': plain.dev,
    'build, page': plain.page,
    'build, server': plain.server,
    'inline, dev, page': inline(inside.dev),
    'inline, build, page': inline(inside.page),
    'inline, build, server': inline(inside.server),
  };
});

export const bundlers = [vite8, vite7, webpack, parcel, next, esbuild, rollup];
