// The package's load() for the compute worker, with the module that the page has fetched while the worker's own script was on
// its way. No DOM.
import { load } from 'addnorm';

let given = null;

/** @param {Promise<{ variant?: string, module: WebAssembly.Module | null }>} promise what the page gives; null: nothing */
export function take(promise) {
  given = promise;
}

export async function open(options = {}) {
  const { variant = 'auto' } = options;
  const { module, variant: own } = (await given) ?? {};
  return load(module && ['auto', own].includes(variant) ? { ...options, wasm: module } : options);
}
