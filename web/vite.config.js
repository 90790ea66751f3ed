// Block Lab: `vite` serves web/demo, `vite build` writes dist/site, which any static host can serve under any path.
import { copyFileSync, existsSync, mkdirSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';
import { extract, modelFile } from './models/extract.js';

const path = (relative) => fileURLToPath(new URL(relative, import.meta.url));
const publicDir = path('../dist/public');

// What is served as it is: the trained weights and their notice.
function preparePublic() {
  const extractor = path('./models/extract.js');
  const made = `${publicDir}/models/ppocrv4_rec_block0.json`;
  const sources = [extractor, modelFile()];
  if (!existsSync(made) || sources.some((file) => statSync(file).mtimeMs > statSync(made).mtimeMs)) {
    extract(`${publicDir}/models`);
  }
  mkdirSync(publicDir, { recursive: true });
  copyFileSync(path('../NOTICE'), `${publicDir}/NOTICE.txt`);
}

// Only in the built page: the dev server needs inline scripts and a socket.
const policy = [
  "default-src 'self'",
  "script-src 'self' 'wasm-unsafe-eval'",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

const contentSecurityPolicy = {
  name: 'content-security-policy',
  apply: 'build',
  transformIndexHtml: () => [
    { tag: 'meta', attrs: { 'http-equiv': 'Content-Security-Policy', content: policy }, injectTo: 'head-prepend' },
  ],
};

preparePublic();

export default defineConfig({
  root: path('./demo'),
  base: './',
  publicDir,
  cacheDir: path('../dist/.vite'),
  resolve: { alias: { addnorm: path('../dist/lib/index.js') } },
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
      'temml',
    ],
  },
  worker: { format: 'es' },
  server: { host: 'localhost', port: 5173, fs: { allow: [path('..')] } },
  build: {
    outDir: path('../dist/site'),
    emptyOutDir: true,
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 600,
  },
  plugins: [contentSecurityPolicy],
});
