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
   * @param {string} name
   * @param {...number} args
   * @returns {any} a string; any, because the types say which ones there are
   */
  const text = (name, ...args) => memory.text(name, ...args) ?? '';
  const affines = names(memory, 'an_affine_name');

  const activations = list(memory.call('an_activation_count'), (i) => ({
    /** @type {import('./types.js').ActivationName} */
    name: text('an_activation_name', i),
    aliases: words(text('an_activation_aliases', i)),
    params: list(memory.call('an_activation_param_count', i), (p) => ({
      /** @type {string} */
      name: text('an_activation_param_name', i, p),
      default: memory.call('an_activation_param_default', i, p),
    })),
    /** @type {string} */
    formula: text('an_activation_formula', i),
    /** @type {string} */
    source: text('an_activation_source', i),
  }));

  const norms = list(memory.call('an_norm_count'), (i) => ({
    /** @type {import('./types.js').NormName} */
    name: text('an_norm_name', i),
    aliases: words(text('an_norm_aliases', i)),
    /** @type {'row' | 'batch' | 'group' | 'instance'} */
    kind: text('an_norm_kind', i),
    eps: memory.call('an_norm_default_eps', i),
    affine: /** @type {import('./types.js').AffineName} */ (affines[memory.call('an_norm_default_affine', i)]),
    /** @type {string} */
    formula: text('an_norm_formula', i),
    /** @type {string} */
    source: text('an_norm_source', i),
  }));

  const losses = list(lossInfos.length, (i) => {
    const [name, aliases, help] = lossInfos[i];
    return { name, aliases: words(aliases), help };
  });

  const placements = list(memory.call('an_placement_count'), (i) => ({
    /** @type {import('./types.js').PlacementName} */
    name: text('an_placement_name', i),
    /** @type {string} */
    formula: text('an_placement_formula', i),
    /** @type {string} */
    help: text('an_placement_help', i),
  }));

  /** @type {Record<string, readonly string[]>} */
  const enumerations = {
    activation: activations.map((a) => a.name),
    norm: norms.map((n) => n.name),
    placement: placements.map((p) => p.name),
    affine: affines,
    init: names(memory, 'an_init_name'),
    mixing: names(memory, 'an_mixing_name'),
    loss: losses.map((l) => l.name),
  };
  for (const values of Object.values(enumerations)) Object.freeze(values);

  // By kind of name: which number in the module a name or alias has.
  const numbers = Object.fromEntries(
    Object.entries(enumerations).map(([kind, values]) => [kind, new Map(values.map((name, i) => [name, i]))]),
  );
  for (const [kind, infos] of Object.entries({ activation: activations, norm: norms, loss: losses })) {
    for (const [i, { aliases }] of infos.entries()) for (const alias of aliases) numbers[kind].set(alias, i);
  }

  const fields = list(memory.call('an_field_count'), (i) => {
    const type = text('an_field_type', i);
    const options = enumerations[type] ?? null;
    const value = memory.call('an_field_default', i);
    return {
      /** @type {keyof (import('./types.js').BlockConfig & import('./types.js').StackConfig)} */
      name: text('an_field_name', i),
      /** @type {import('./types.js').FieldInfo['type']} */
      type,
      default: decode(type, options, value),
      min: memory.call('an_field_min', i),
      max: memory.call('an_field_max', i),
      /** @type {string} */
      group: text('an_field_group', i),
      /** @type {string} */
      help: text('an_field_help', i),
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
