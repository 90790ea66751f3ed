// @ts-check
// What the module can do, read from it: activations, norms, placements, configuration fields; and the losses.

/** @typedef {import('./memory.js').Memory} Memory */

/** Where a list item is made text, it is its name. */
const item = Object.freeze({
  /** @this {{ name: string }} */
  toString() {
    return this.name;
  },
});

/**
 * @template {object} T
 * @param {number} count
 * @param {(index: number) => T} make
 * @returns {readonly Readonly<T>[]}
 */
export function list(count, make) {
  return Object.freeze(
    Array.from({ length: count }, (_, index) => Object.freeze(Object.assign(Object.create(item), make(index)))),
  );
}

/** @param {string} text */
const words = (text) => Object.freeze(text.split(' ').filter(Boolean));

/**
 * The names that a function gives for 0, 1, ... until NULL.
 * @param {Memory} memory
 * @param {string} from
 * @returns {readonly string[]}
 */
function names(memory, from) {
  const result = [];
  for (let text = memory.text(from, 0); text !== null; text = memory.text(from, result.length)) result.push(text);
  return Object.freeze(result);
}

/** @type {[name: import('./types.js').LossName, aliases: string, help: string][]} */
const lossInfos = [
  ['mse', '', 'Mean of (prediction - target)²'],
  ['softmax_cross_entropy', 'cross_entropy soft_cross_entropy', 'Mean of -Σ target log softmax(prediction)'],
  ['nll', 'nll_loss', 'Mean of -Σ target prediction, which is log-probabilities'],
];

/** @param {Memory} memory */
export function readLists(memory) {
  /**
   * A list of the module's.
   * @param {string} kind
   * @param {string} texts what each item has as a text
   * @param {(index: number) => object} [more] what else it has
   * @returns {readonly any[]}
   */
  const read = (kind, texts, more) =>
    list(memory.call(`an_${kind}_count`), (i) => {
      const entries = words(texts).map((name) => [name, memory.text(`an_${kind}_${name}`, i) ?? '']);
      return { ...Object.fromEntries(entries), ...more?.(i) };
    });
  const affines = names(memory, 'an_affine_name');

  /** @type {readonly import('./types.js').ActivationInfo[]} */
  const activations = read('activation', 'name formula source', (i) => ({
    aliases: words(memory.text('an_activation_aliases', i) ?? ''),
    params: list(memory.call('an_activation_param_count', i), (p) => ({
      name: memory.text('an_activation_param_name', i, p),
      default: memory.call('an_activation_param_default', i, p),
    })),
  }));
  /** @type {readonly import('./types.js').NormInfo[]} */
  const norms = read('norm', 'name kind formula source', (i) => ({
    aliases: words(memory.text('an_norm_aliases', i) ?? ''),
    eps: memory.call('an_norm_default_eps', i),
    affine: affines[memory.call('an_norm_default_affine', i)],
  }));
  /** @type {readonly import('./types.js').PlacementInfo[]} */
  const placements = read('placement', 'name formula help');
  /** @type {readonly import('./types.js').LossInfo[]} */
  const losses = list(lossInfos.length, (i) => {
    const [name, aliases, help] = lossInfos[i];
    return { name, aliases: words(aliases), help };
  });

  /** @type {Record<string, readonly string[]>} */
  const enumerations = {
    activation: activations.map(String),
    norm: norms.map(String),
    placement: placements.map(String),
    loss: losses.map(String),
    affine: affines,
    init: names(memory, 'an_init_name'),
    mixing: names(memory, 'an_mixing_name'),
  };
  /** By kind of name: which number in the module a name or alias has. @type {Record<string, Map<string, number>>} */
  const numbers = {};
  for (const [kind, values] of Object.entries(enumerations)) {
    numbers[kind] = new Map(Object.freeze(values).map((name, i) => [name, i]));
  }
  for (const [kind, infos] of Object.entries({ activation: activations, norm: norms, loss: losses })) {
    for (const [i, { aliases }] of infos.entries()) for (const alias of aliases) numbers[kind].set(alias, i);
  }

  /** @type {readonly import('./types.js').FieldInfo[]} */
  const fields = read('field', 'name type group help', (i) => {
    const type = memory.text('an_field_type', i) ?? '';
    const options = enumerations[type] ?? null;
    return {
      default: decode(type, options, memory.call('an_field_default', i)),
      min: memory.call('an_field_min', i),
      max: memory.call('an_field_max', i),
      options,
    };
  });

  return { activations, norms, losses, placements, fields, numbers };
}

/**
 * A field's value as JavaScript has it.
 * @param {string} type
 * @param {readonly string[] | null} options
 * @param {number} value
 * @returns {number | boolean | string | null} null for AUTO
 */
export function decode(type, options, value) {
  if (Number.isNaN(value)) return null;
  if (options) return options[value];
  return type === 'bool' ? value !== 0 : value;
}
