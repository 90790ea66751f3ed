// The matrix, in the order in which it is printed.
import { browsers } from './browsers.js';
import { bundlers } from './bundlers.js';
import { cloudflare } from './cloudflare.js';
import { runtimes } from './runtimes.js';
import { compilers } from './typescript.js';

export const entries = [...runtimes, cloudflare, ...browsers, ...bundlers, ...compilers];
