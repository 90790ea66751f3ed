// @ts-check
// Chooses a variant, finds its bytes, compiles and instantiates it. No Emscripten glue: docs/adr says why.
import { detached, invalid } from './check.js';
import { AddnormError, describe, quoted } from './errors.js';
import { Memory, PAGE_BYTES } from './memory.js';

/**
 * What the modules of this package say of themselves at first: version, and a number that changes with their interface.
 * build-lib.js writes it here.
 */
const BUILD = '{build}';

/** What the modules import as their initial memory: build.sh's INITIAL_MEMORY. */
const INITIAL_PAGES = 16;
const MAX_PAGES = 65536;

/** From the best to the plainest. @type {readonly import('./types.js').Variant[]} */
export const VARIANTS = Object.freeze(['relaxed', 'simd', 'scalar']);

/**
 * The modules that an entry of the package brings: where each is, or its bytes.
 * @typedef {() => URL | Promise<Uint8Array<ArrayBuffer>>} Source
 * @typedef {Partial<Record<import('./types.js').Variant, Source>>} Sources
 */

// (module (func (result v128) ...)): `i32.const 0  i8x16.splat` once, and thrice with f32x4.relaxed_madd behind.
const magic = [0, 0x61, 0x73, 0x6d];
const empty = [...magic, 1, 0, 0, 0];
const head = [...empty, 1, 5, 1, 0x60, 0, 1, 0x7b, 3, 2, 1, 0];
const splat = [0x41, 0, 0xfd, 0x0f];
const probes = {
  relaxed: [...head, 10, 0x13, 1, 0x11, 0, ...splat, ...splat, ...splat, 0xfd, 0x85, 2, 0x0b],
  simd: [...head, 10, 8, 1, 6, 0, ...splat, 0x0b],
  scalar: empty,
};
const refusals = {
  relaxed: 'this engine does not validate relaxed SIMD (Node 20: --experimental-wasm-relaxed-simd)',
  simd: 'this engine does not validate SIMD',
  scalar: 'this engine does not validate WebAssembly',
};

/**
 * What this engine can run, and why not.
 * @returns {import('./types.js').Capabilities}
 */
export function capabilities() {
  const entries = VARIANTS.map((variant) => {
    const available = typeof WebAssembly === 'object' && WebAssembly.validate(Uint8Array.from(probes[variant]));
    return [variant, Object.freeze({ available, reason: available ? '' : refusals[variant] })];
  });
  return Object.freeze(Object.fromEntries(entries));
}

/**
 * @param {unknown} wanted
 * @param {import('./types.js').Capabilities} able
 * @param {readonly string[]} offered
 * @returns {import('./types.js').Variant}
 */
function chooseVariant(wanted, able, offered) {
  const named = VARIANTS.filter((variant) => wanted === 'auto' || wanted === variant);
  if (named.length === 0) throw invalid('variant', wanted, `one of ${quoted(['auto', ...VARIANTS])}`);
  const candidates = named.filter((variant) => offered.includes(variant));
  const best = candidates.find((variant) => able[variant].available);
  if (best) return best;
  const plainest = candidates.at(-1);
  const reason = plainest ? able[plainest].reason : `addnorm/inline has ${quoted(offered)} alone; import 'addnorm'`;
  throw new AddnormError('UNSUPPORTED', `variant '${wanted}': ${reason}`);
}

/**
 * Compiled modules, by URL or source. A promise, so that concurrent loads share one; dropped if it fails.
 * @type {Map<unknown, Promise<WebAssembly.Module>>}
 */
const compiled = new Map();

/**
 * The compiled module, from what the caller gave or from what the entry brings.
 * @param {unknown} source
 * @param {unknown} wanted the variant
 * @param {import('./types.js').Capabilities} able
 * @param {Sources} sources
 * @returns {Promise<WebAssembly.Module>}
 */
export async function compile(source, wanted, able, sources) {
  const variant = chooseVariant(wanted, able, source === undefined ? Object.keys(sources) : VARIANTS);
  if (source instanceof WebAssembly.Module) return source;
  if (isResponse(source)) return fromResponse(source, source.url || 'the Response given');
  if (source instanceof ArrayBuffer || ArrayBuffer.isView(source)) {
    // A copy, since compilation reads it later and the caller may go on writing.
    const { buffer = source, byteOffset, byteLength } = /** @type {Partial<DataView<ArrayBuffer>>} */ (source);
    let bytes;
    try {
      bytes = new Uint8Array(/** @type {ArrayBuffer} */ (buffer), byteOffset, byteLength).slice();
    } catch (cause) {
      throw detached('wasm', cause);
    }
    return fromBytes(bytes, 'the given buffer', '');
  }
  const own = source === undefined ? sources[variant] : undefined;
  const key = own ?? toURL(source).href;
  let promise = compiled.get(key);
  if (!promise) {
    promise = own ? fromPackage(own) : fromURL(toURL(key));
    compiled.set(key, promise);
    promise.catch(() => compiled.delete(key));
  }
  return promise;
}

/** @param {Source} own */
async function fromPackage(own) {
  try {
    const found = await own();
    return await (found instanceof URL ? fromURL(found) : fromBytes(found, 'addnorm/inline', ''));
  } catch (cause) {
    if (refusal(/** @type {any} */ (cause).message)) throw cause;
    // Most often a bundler has moved the JavaScript and not the module.
    throw failed("addnorm's module is not there: import 'addnorm/inline', or give load({ wasm })", cause);
  }
}

/**
 * @param {any} source
 * @returns {source is import('./types.js').ResponseLike}
 */
function isResponse(source) {
  return typeof source?.arrayBuffer === 'function' && 'status' in source;
}

/**
 * @param {unknown} source
 * @returns {URL}
 */
function toURL(source) {
  if (source instanceof URL) return source;
  if (typeof source === 'string') {
    // A page or worker resolves against its own address, as fetch does.
    const base = globalThis.location?.href;
    try {
      return new URL(source, base);
    } catch {
      throw new AddnormError(
        'INVALID_ARGUMENT',
        `wasm: ${describe(source)} is no absolute URL; new URL('./file.wasm', import.meta.url) is one`,
      );
    }
  }
  throw invalid('wasm', source, 'a URL, string, Response, ArrayBuffer, typed array or WebAssembly.Module');
}

/**
 * What the engines say each in other words, some when they compile, some when they instantiate: "... following Content Security
 * policy directive ...", "... blocked by CSP"; and, as on Cloudflare, "... code generation disallowed by embedder".
 * @param {string} said
 */
function refusal(said) {
  if (/by CSP|ty policy/i.test(said)) return "the Content Security Policy has to allow 'wasm-unsafe-eval'";
  return /by embedder/.test(said) && 'this runtime compiles no bytes: give load({ wasm }) a WebAssembly.Module';
}

/**
 * @param {string} text
 * @param {any} [cause] the text ends with what it says
 */
function failed(text, cause) {
  const reason = cause === undefined ? '' : `: ${cause?.message ?? cause}`;
  return new AddnormError('WASM_LOAD', (refusal(reason) || text) + reason, { cause });
}

/** @param {URL} url */
async function fromURL(url) {
  if (url.protocol === 'file:' && globalThis.process?.versions?.node) {
    // In a variable, so that bundlers for the browser do not look for it.
    const fs = 'node:fs/promises';
    const { readFile } = await import(/* @vite-ignore */ /* webpackIgnore: true */ fs);
    const bytes = await readFile(url).catch((/** @type {unknown} */ cause) => {
      throw failed(`could not read ${url.href}`, cause);
    });
    return fromBytes(bytes, url.href, '');
  }
  const response = await fetch(url).catch((cause) => {
    // Node's says only "fetch failed" itself.
    throw failed(`could not fetch ${url.href}`, cause?.cause ?? cause);
  });
  return fromResponse(response, url.href);
}

/**
 * From the whole body, not by compileStreaming: that one refuses every content type but application/wasm, which many
 * servers do not send, and these modules are small.
 * @param {import('./types.js').ResponseLike} response
 * @param {string} from
 */
async function fromResponse(response, from) {
  const facts = `status ${response.status}, content type ${response.headers?.get('content-type') ?? 'not given'}`;
  let bytes;
  try {
    bytes = new Uint8Array(await response.arrayBuffer());
  } catch (cause) {
    throw failed(`could not read ${from} (${facts})`, cause);
  }
  if (response.status < 200 || response.status > 299) {
    throw failed(`could not load ${from} (${facts}): got ${contents(bytes)}`);
  }
  return fromBytes(bytes, from, ` (${facts})`);
}

/**
 * @param {Uint8Array<ArrayBuffer>} bytes
 * @param {string} from
 * @param {string} facts
 */
async function fromBytes(bytes, from, facts) {
  if (bytes.length < 8 || magic.some((byte, i) => bytes[i] !== byte)) {
    throw failed(`${from}${facts} is no WebAssembly: got ${contents(bytes)}`);
  }
  try {
    return await WebAssembly.compile(bytes);
  } catch (cause) {
    throw failed(`${from}${facts} does not compile: truncated or damaged (${bytes.length} bytes)?`, cause);
  }
}

/** @param {Uint8Array} bytes */
function contents(bytes) {
  if (bytes.length === 0) return 'nothing';
  const start = new TextDecoder().decode(bytes.subarray(0, 256)).trimStart();
  if (start.startsWith('<')) return 'HTML';
  const hex = Array.from(bytes.subarray(0, 4), (byte) => (byte + 256).toString(16).slice(1)).join(' ');
  return `${bytes.length} bytes that start with ${hex}`;
}

/** @param {string} build what a module says of itself */
export const variantOf = (build) => /** @type {import('./types.js').Variant} */ (build.split(' ')[3]);

/**
 * @param {WebAssembly.Module} module
 * @param {unknown} wanted the variant
 * @param {number} maxBytes
 * @returns {Promise<Memory>}
 */
export async function instantiate(module, wanted, maxBytes) {
  const maximum = Math.floor(maxBytes / PAGE_BYTES);
  let memory;
  try {
    memory = new WebAssembly.Memory({ initial: INITIAL_PAGES, maximum });
  } catch (cause) {
    throw new AddnormError('OUT_OF_MEMORY', 'the engine gives no memory for another instance', { cause });
  }
  const foreign = 'the module given is not one of this package';
  let instance;
  try {
    instance = await WebAssembly.instantiate(module, { env: { memory } });
  } catch (cause) {
    throw failed(foreign, cause);
  }
  if (!instance.exports.an_build) throw failed(foreign);
  const result = new Memory(instance, memory, maximum * PAGE_BYTES);
  result.call('_initialize');
  const build = result.text('an_build') ?? '';
  if (!build.startsWith(`${BUILD} `)) {
    throw failed(`the module is '${build}', this is '${BUILD}': take both from one package`);
  }
  if (wanted !== 'auto' && wanted !== variantOf(build)) throw failed(`variant '${wanted}': the module is '${build}'`);
  result.build = build;
  return result;
}

export const MIN_BYTES = INITIAL_PAGES * PAGE_BYTES;
export const MAX_BYTES = MAX_PAGES * PAGE_BYTES;
