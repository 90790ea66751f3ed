// What these tests have in common: the module in every variant, the test data in ../shared, comparison and counting.
//
// The data is derived from other projects' files and is not part of this one. It is read in place, from ../shared beside
// the checkout or from $ADDNORM_SHARED; where it is absent its tests are skipped and say so.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';

// Node 20 and 21 run relaxed SIMD with this flag only, and it must be set before the first module is compiled.
if (Number(process.versions.node.split('.')[0]) < 22) setFlagsFromString('--experimental-wasm-relaxed-simd');

export const { load } = await import('../../dist/lib/index.js');

export const variants = ['scalar', 'simd', 'relaxed'];

const instances = new Map();
/** The module in one variant; one instance a test file. */
export function instance(variant) {
  if (!instances.has(variant)) instances.set(variant, load({ variant }));
  return instances.get(variant);
}

const root = process.env.ADDNORM_SHARED ?? fileURLToPath(new URL('../../../shared', import.meta.url));

/** The path of a part of the shared data, or null. */
export function sharedPath(...parts) {
  const path = join(root, ...parts);
  return existsSync(path) ? path : null;
}

/** The `skip` option of a test that needs a part of the shared data: false, or the line that is printed. */
export const skipWithout = (part, what) =>
  sharedPath(part) ? false : `${what} not run: ../shared/${part} is absent (ADDNORM_SHARED names another place)`;

export const readJson = (...parts) => JSON.parse(readFileSync(sharedPath(...parts), 'utf8'));
export const list = (part) => readdirSync(sharedPath(part)).sort();

/** A raw little-endian float32 file. */
export function readFloats(...parts) {
  const bytes = readFileSync(sharedPath(...parts));
  return new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
}

/** The values of a result: a Float32Array, a Tensor, a number or a list of numbers. */
export function values(result) {
  if (typeof result === 'number') return [result];
  return Array.isArray(result) || result instanceof Float32Array ? result : result.toArray();
}

/** |got - want|; 0 for two NaNs, equal infinities and equal values, Infinity where only one is a number. */
export function distance(got, want) {
  if (Object.is(got, want) || got === want) return 0;
  const difference = Math.abs(got - want);
  return Number.isNaN(difference) ? Infinity : difference;
}

/** The largest distance between two lists of the same length, and where it is. */
export function worst(got, want) {
  if (got.length !== want.length) return { error: Infinity, at: -1, text: `length ${got.length}, not ${want.length}` };
  let [error, at] = [0, 0];
  for (let i = 0; i < got.length; i++) {
    const d = distance(got[i], want[i]);
    if (d > error) [error, at] = [d, i];
  }
  return { error, at, text: `${error} at [${at}]: got ${got[at]}, expected ${want[at]}` };
}

/** A pseudo-random generator for tests: numbers in [-1, 1), exact in float32. */
export function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let z = Math.imul(state ^ (state >>> 15), state | 1);
    z ^= z + Math.imul(z ^ (z >>> 7), z | 61);
    return ((z ^ (z >>> 14)) >>> 8) / 2 ** 23 - 1;
  };
}

/** n of them, times `scale`, plus `shift`. */
export function randoms(n, seed, scale = 1, shift = 0) {
  const next = random(seed);
  return Float32Array.from({ length: n }, () => next() * scale + shift);
}
