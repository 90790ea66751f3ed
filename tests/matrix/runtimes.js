// Node, Deno and Bun, each from an npm package that holds its program.
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inline } from './browsers.js';
import { packageFolder, run } from './project.js';

/** @param {string[]} [flags] of the program, before the script */
function runtime(name, program, auto, places, flags = []) {
  const path = packageFolder(program);
  const missing = () => !existsSync(path) && `${path} is not there: npm has it for Linux on x64 only`;
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
  return { name, auto, missing, open };
}

const node = (major, auto) => runtime(`Node ${major}`, `node-${major}/bin/node`, auto, ['main', 'worker_threads']);
const everywhere = ['main', 'worker', 'worker_threads'];

export const runtimes = [
  node(20, 'simd'),
  node(22, 'relaxed'),
  node(24, 'relaxed'),
  runtime('Deno', '@deno/linux-x64-glibc/deno', 'relaxed', everywhere, ['run', '--allow-read']),
  runtime('Bun', '@oven/bun-linux-x64-baseline/bin/bun', 'relaxed', everywhere),
];
