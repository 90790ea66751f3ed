// @ts-check
/// <reference lib="esnext.disposable" preserve="true" />
/**
 * The entry that has its module inside: nothing else is fetched, so no bundler, server or path can lose it. It has `simd`
 * alone, since each variant more would weigh 40 KB; so it is for where `addnorm` cannot be: one file, a CDN's bundle, file://.
 * All but `load` is what `addnorm` has.
 *
 * ```js
 * import { load } from 'addnorm/inline';
 *
 * const an = await load();
 * console.log(an.variant); // prints `simd`
 * an.dispose();
 * ```
 * @module addnorm/inline
 */
import { simd } from './addnorm.simd.js';
import { loadFrom } from './load.js';

export * from './core.js';

const sources = {
  simd: async () => {
    const packed = Uint8Array.from(atob(simd), (letter) => letter.charCodeAt(0));
    const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate'));
    return new Uint8Array(await new Response(unpacked).arrayBuffer());
  },
};

/**
 * Loads the module: a new instance with memory of its own. It is `simd`, which every engine of today runs; compilation is
 * shared by all loads. Another variant can be given as `wasm`.
 *
 * ```js
 * import { load } from 'addnorm/inline';
 * const an = await load();
 * const y = an.activation('gelu_tanh', Float32Array.of(-1, 0, 1));
 * ```
 * @param {import('./types.js').LoadOptions} [options]
 * @returns {Promise<import('./core.js').Addnorm>}
 * @throws {import('./core.js').AddnormError} `UNSUPPORTED` for another variant or where an engine has no SIMD; `OUT_OF_MEMORY`;
 *   `INVALID_ARGUMENT`; `UNKNOWN_OPTION`; for what is given as `wasm` also `WASM_LOAD`
 */
export async function load(options) {
  return loadFrom(sources, options);
}
