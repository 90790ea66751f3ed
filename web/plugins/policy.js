// The Content Security Policy as a meta element of the built page; a host may send the same as a header. Not in the dev
// server, which needs inline scripts and a socket.
import { createHash } from 'node:crypto';

/** For a page of many files. */
export const POLICY = [
  "default-src 'none'",
  "script-src 'self' 'wasm-unsafe-eval'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "worker-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
].join('; ');

const hash = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/** For the page in one file: its own script and style by their hashes, workers from blobs, modules from data: addresses. */
export const policyOfOneFile = (script, style) =>
  [
    "default-src 'none'",
    `script-src ${hash(script)} blob: 'wasm-unsafe-eval'`,
    `style-src ${hash(style)}`,
    'img-src data: blob:',
    'connect-src data:',
    'worker-src blob:',
    "base-uri 'none'",
  ].join('; ');

export const policyElement = (policy) => `<meta http-equiv="Content-Security-Policy" content="${policy}" />`;

export const contentSecurityPolicy = {
  name: 'content-security-policy',
  apply: 'build',
  transformIndexHtml: (html) => html.replace('<head>', (head) => `${head}\n    ${policyElement(POLICY)}`),
};
