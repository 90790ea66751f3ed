// Cloudflare's workerd: the package bundled, its modules beside the bundle.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { all, Open, says } from './browsers.js';
import { packageFolder, run } from './project.js';

const program = join(packageFolder('@cloudflare/workerd-linux-64'), 'bin/workerd');
const modules = all.map((variant) => `addnorm.${variant}.wasm`);

const config = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "edge", worker = .edge)],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "edge")],
);
const edge :Workerd.Worker = (
  modules = [
    (name = "edge.js", esModule = embed "dist/edge.js"),
    ${modules.map((file) => `(name = "addnorm/wasm/${file}", wasm = embed "node_modules/addnorm/dist/lib/${file}"),`).join('\n    ')}
  ],
  compatibilityDate = "2026-11-01",
);
`;

/** The address at which a folder's program is served. */
function serving(cwd) {
  const child = spawn(program, ['serve', 'edge.capnp', '--control-fd=1'], { cwd });
  let said = '';
  child.stderr.on('data', (data) => {
    said += data;
  });
  const url = new Promise((resolve, reject) => {
    createInterface(child.stdout).on('line', (line) => {
      const { event, port } = JSON.parse(line);
      if (event === 'listen') resolve(`http://127.0.0.1:${port}/`);
    });
    child.on('error', reject);
    child.on('exit', (code) => reject(new Error(`workerd ended (${code}): ${said}`)));
  });
  return { url, close: () => child.kill() };
}

async function open(projects) {
  const own = new Open();
  const folder = projects.copy('Cloudflare', { 'edge.capnp': config });
  const { build } = await import('esbuild');
  const bundle = { entryPoints: ['edge.js'], external: ['*.wasm'], bundle: true, format: 'esm', outdir: 'dist' };
  await build({ absWorkingDir: folder, logLevel: 'silent', ...bundle });
  const url = await own.keep(serving(folder)).url;
  const at = (place) => async () => (await fetch(url + place)).json();
  return {
    version: /\S+$/.exec((await run(program, ['--version'])).stdout.trim())[0],
    checks: {
      'modules imported': at('modules'),
      'no module given': says(at('no module'), /give load\(\{ wasm \}\)/),
      inline: says(at('inline'), /compiles no bytes: give load\(\{ wasm \}\) a WebAssembly\.Module/),
    },
    close: own.close,
  };
}

const missing = () => !existsSync(program) && `workerd is not there: npm has it for Linux on x64 only`;
export const cloudflare = { name: 'Cloudflare', variants: all, missing, open };
