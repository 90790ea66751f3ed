// Block Lab: `vite` serves web/demo, `vite build` writes dist/site, which any static host can serve under any path, and
// `vite build --mode file` writes dist/block-lab.html, the page in one file.
import { copyFileSync, existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';
import { extract, modelFile } from './models/extract.js';
import { notices, onlyNamed } from './notices.js';
import { earlyWorker } from './plugins/early.js';
import { freshFolder } from './plugins/fresh.js';
import { lighterLibraries } from './plugins/lighter.js';
import { offline } from './plugins/offline.js';
import { intoOneFile, oneFile } from './plugins/one-file.js';
import { contentSecurityPolicy } from './plugins/policy.js';

const path = (relative) => fileURLToPath(new URL(relative, import.meta.url));
const publicDir = path('../dist/public');

// What is served as it is, by names without a hash: the trained weights, their notice, what the manifest names.
function preparePublic() {
  const extractor = path('./models/extract.js');
  const made = `${publicDir}/models/ppocrv4_rec_block0.json`;
  const sources = [extractor, modelFile()];
  if (!existsSync(made) || sources.some((file) => statSync(file).mtimeMs > statSync(made).mtimeMs)) {
    extract(`${publicDir}/models`);
  }
  mkdirSync(publicDir, { recursive: true });
  writeFileSync(`${publicDir}/NOTICE.txt`, notices());
  for (const file of ['manifest.webmanifest', 'icon.svg']) copyFileSync(path(`./demo/${file}`), `${publicDir}/${file}`);
}

preparePublic();

const models = ['ppocrv4_rec_block0', 'ppocrv4_rec_block1'];

// What the first visit needs at once comes in few files: each one more costs it some milliseconds.
const initialChunks = [
  { name: 'early', test: /demo\/workers\.js$|preload-helper/, priority: 2 },
  { name: 'libraries', tags: ['$initial'], test: /node_modules.*js$/, priority: 1 },
  { name: 'lab', tags: ['$initial'] },
];

const site = {
  publicDir,
  worker: { format: 'es', plugins: () => [onlyNamed] },
  plugins: [freshFolder, lighterLibraries, earlyWorker, contentSecurityPolicy, offline(publicDir), onlyNamed],
  build: {
    outDir: path('../dist/site'),
    emptyOutDir: false, // freshFolder does
    assetsInlineLimit: 0,
    rolldownOptions: {
      input: { index: path('./demo/index.html'), workers: path('./demo/workers.js') },
      output: { codeSplitting: { groups: initialChunks } },
    },
  },
};
const file = {
  publicDir: false,
  worker: {
    format: 'iife',
    plugins: () => [oneFile({ publicDir, models }), onlyNamed],
    rolldownOptions: { output: { codeSplitting: false } },
  },
  plugins: [lighterLibraries, oneFile({ publicDir, models }), onlyNamed, intoOneFile],
  build: {
    outDir: path('../dist'),
    emptyOutDir: false,
    assetsInlineLimit: Number.POSITIVE_INFINITY,
    cssCodeSplit: false,
    rolldownOptions: { output: { codeSplitting: false } },
  },
};

export default defineConfig(({ mode }) => {
  const chosen = mode === 'file' ? file : site;
  return {
    root: path('./demo'),
    base: './',
    cacheDir: path('../dist/.vite'),
    resolve: {
      alias: [
        { find: /^addnorm$/, replacement: path('../dist/lib/index.js') },
        { find: /^addnorm\/wasm\//, replacement: path('../dist/lib/') },
        { find: /^addnorm\/(formats|tasks)$/, replacement: path('../dist/lib/$1.js') },
      ],
    },
    oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
    // Listed, since Vite's scan for dependencies does not know the JSX setting above.
    optimizeDeps: {
      noDiscovery: true,
      include: [
        'preact',
        'preact/hooks',
        'preact/jsx-runtime',
        'preact/jsx-dev-runtime',
        '@preact/signals',
        'comlink',
        'uplot',
        'temml/temml.js',
      ],
    },
    server: { host: 'localhost', port: 5173, fs: { allow: [path('..')] } },
    ...chosen,
    build: { target: 'es2022', modulePreload: { polyfill: false }, chunkSizeWarningLimit: 600, ...chosen.build },
  };
});
