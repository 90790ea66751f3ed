// @ts-check
/// <reference lib="esnext.disposable" preserve="true" />
/**
 * The default entry, which takes its modules from beside this file.
 *
 * ```js
 * import { load } from 'addnorm';
 *
 * const an = await load();
 * const x = an.random([8, 64], { seed: 1 });
 * const block = an.block({ d_model: 64, norm: 'rms_norm', activation: 'silu', gated: true }, { seed: 1 });
 * console.log(block.forward(x).shape); // prints `[ 8, 64 ]`
 * an.dispose();
 * ```
 * @module addnorm
 */
import { loadFrom } from './load.js';

export * from './core.js';

// Bundlers recognise exactly this form, one literal a file.
const sources = {
  relaxed: () => new URL('./addnorm.relaxed.wasm', import.meta.url),
  simd: () => new URL('./addnorm.simd.wasm', import.meta.url),
  scalar: () => new URL('./addnorm.scalar.wasm', import.meta.url),
};

/**
 * Loads the module: a new instance with memory of its own. Compilation is shared by all loads of one URL; after a
 * failure the next call tries again.
 *
 * ```js
 * import { load } from 'addnorm';
 * const an = await load();
 * const y = an.activation('gelu_tanh', Float32Array.of(-1, 0, 1));
 * ```
 * @param {import('./types.js').LoadOptions} [options]
 * @returns {Promise<import('./core.js').Addnorm>}
 * @throws {import('./core.js').AddnormError} `WASM_LOAD` with the URL, status and content type; `UNSUPPORTED` for a variant
 *   that this engine does not run; `OUT_OF_MEMORY`; `INVALID_ARGUMENT`; `UNKNOWN_OPTION`
 */
export async function load(options) {
  return loadFrom(sources, options);
}
