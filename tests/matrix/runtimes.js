// Node, Deno and Bun, each from an npm package that holds its program.
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { all, inline, unrelaxed } from './browsers.js';
import { packageFolder, run } from './project.js';

/** @param {string[]} [flags] of the program, before the script */
function runtime(name, program, variants, places, flags = []) {
  const path = packageFolder(program);
  const missing = () => !existsSync(path) && `${program} is not there: npm has it for Linux on x64 only`;
  async function open(projects) {
    const { base } = projects;
    const inside = projects.copy(`${name} inline`, {}, 'addnorm/inline');
    const [version] = /\d+\.\d+\.\d+/.exec((await run(path, ['--version'])).stdout);
    const start =
      (place, folder, cwd = folder) =>
      async () => {
        const { stdout } = await run(path, [...flags, join(folder, 'runtime.mjs'), place], { cwd });
        return JSON.parse(stdout);
      };
    const checks = Object.fromEntries(places.map((place) => [place, start(place, base)]));
    const elsewhere = start('main', base, tmpdir());
    return { version, checks: { ...checks, 'another directory': elsewhere, inline: inline(start('main', inside)) } };
  }
  return { name, variants, missing, open };
}

const node = (major, variants, flags) =>
  runtime(`Node ${major}`, `node-${major}/bin/node`, variants, ['main', 'worker_threads'], flags);
const everywhere = ['main', 'worker', 'worker_threads'];
const flag = '--experimental-wasm-relaxed-simd';

export const runtimes = [
  node(20, unrelaxed),
  { ...node(20, all, [flag]), name: 'Node 20, flag' },
  node(22, all),
  node(24, all),
  runtime('Deno', '@deno/linux-x64-glibc/deno', all, everywhere, ['run', '--allow-read']),
  runtime('Bun', '@oven/bun-linux-x64-baseline/bin/bun', all, everywhere),
];
