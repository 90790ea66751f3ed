// A strict program compiled against the installed package, by the oldest TypeScript that is supported and the newest.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { missing, packageFolder, root, run, version } from './project.js';

const settings = {
  node16: { module: 'node16', lib: ['es2022'] },
  nodenext: { module: 'nodenext', lib: ['es2022'] },
  bundler: { module: 'esnext', lib: ['es2023', 'dom'] },
};

function compiler(name, packageName) {
  const tsc = join(packageFolder(packageName), 'bin/tsc');
  async function open(projects) {
    const consumer = readFileSync(join(root, 'tests/js/fixtures/consumer.ts'), 'utf8');
    const configs = Object.entries(settings).map(([moduleResolution, options]) => {
      const strict = { strict: true, exactOptionalPropertyTypes: true, skipLibCheck: false, noEmit: true, types: [] };
      const compilerOptions = { ...strict, target: 'es2022', moduleResolution, ...options };
      return [`${moduleResolution}.json`, JSON.stringify({ compilerOptions, files: ['consumer.ts', 'inline.ts'] })];
    });
    const cwd = projects.copy(name, { 'consumer.ts': consumer, ...Object.fromEntries(configs) });
    const check = (setting) => async () => {
      const args = [tsc, '--project', `${setting}.json`, '--listFiles'];
      const { stdout } = await run(process.execPath, args, { cwd }).catch(({ stdout, message }) => {
        const errors = stdout?.split('\n').filter((line) => line.includes('error TS')) ?? [];
        throw new Error(errors.join('\n') || message);
      });
      const wanted = ['index', 'inline', 'formats', 'tasks'].map(
        (entry) => `node_modules/addnorm/dist/lib/${entry}.d.ts`,
      );
      const lost = wanted.filter((file) => !stdout.includes(file));
      if (lost.length > 0) throw new Error(`compiled without ${lost.join(', ')}`);
      return 'compiles: addnorm, addnorm/inline, addnorm/formats, addnorm/tasks';
    };
    return {
      version: version(packageName),
      checks: Object.fromEntries(Object.keys(settings).map((setting) => [setting, check(setting)])),
    };
  }
  return { name, missing: () => missing(packageName), open };
}

export const compilers = [compiler('TypeScript 5', 'typescript-5.7'), compiler('TypeScript 7', 'typescript')];
