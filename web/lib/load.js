// @ts-check
// What `load` does in every entry of the package.
import * as check from './check.js';
import { Addnorm } from './core.js';
import { Engine } from './engine.js';
import { capabilities, compile, instantiate, MAX_BYTES, MIN_BYTES } from './loader.js';

/**
 * @param {import('./loader.js').Sources} sources the modules that the entry brings
 * @param {import('./types.js').LoadOptions} [options]
 * @returns {Promise<Addnorm>}
 */
export async function loadFrom(sources, options) {
  const given = check.options('options', options, ['variant', 'wasm', 'maxBytes']);
  const maxBytes = check.integer('maxBytes', given.maxBytes ?? MAX_BYTES, MIN_BYTES, MAX_BYTES);
  const { variant = 'auto' } = given;
  const able = capabilities();
  const module = await compile(given.wasm, variant, able, sources);
  return new Addnorm(new Engine(await instantiate(module, variant, maxBytes)), able);
}
