// Whose weights the panel shows, and the edits of the state that it offers. No DOM.

import { referenceTo } from '../../files/reference.js';
import { fieldsOf, TRAINED, trainedOf } from '../../presets.js';
import { addConfig, cleanName, editConfig, MAX_CONFIGS } from '../../state.js';

/**
 * The weights that are shown: the selected configuration's, else the first that has trained ones, else the example's.
 * { trained: as of presets.js, index: of the first configuration with them or -1, original: the fields as the model has
 * them }
 */
export function subjectOf(state) {
  const { configs, selected } = state;
  const own = ({ weights }) => trainedOf(weights);
  const trained = own(configs[selected]) ?? own(configs.find(own) ?? { weights: TRAINED[0].id });
  const [index = -1] = sharing(state, trained);
  return { trained, index, original: originalFields(trained) };
}

export const originalFields = (trained) => fieldsOf({ preset: '', weights: trained.id, values: {} });

/** The configurations with these weights. */
export const sharing = ({ configs }, { id }) =>
  configs.flatMap(({ weights }, index) => (weights === id ? [index] : []));

/** Files that configurations name and that are not open: [{ file, indices }] */
export function needed({ configs }, open) {
  const files = new Map();
  for (const [index, { weights }] of configs.entries()) {
    const file = trainedOf(weights)?.source?.file;
    if (file !== undefined && !open.includes(file)) files.set(file, [...(files.get(file) ?? []), index]);
  }
  return [...files].map(([file, indices]) => ({ file, indices }));
}

// ---- Layers of a file

const PREFIX = /^(base_model|model|transformer|gpt_neox|bert|roberta|vit|distilbert|encoder|language_model)\./;

/** A layer's name without what all of its model have. */
export function layerLabel(key) {
  let label = key;
  while (PREFIX.test(label)) label = label.replace(PREFIX, '');
  return label.replace(/\.(mlp|feed_forward|ffn|DenseReluDense)$/, '') || key;
}

export function nameOf(fileName, key) {
  const label = layerLabel(key).slice(-24);
  const stem = fileName.replace(/\.\w+$/, '');
  return cleanName(
    `${Array.from(stem)
      .slice(0, 39 - label.length)
      .join('')} ${label}`,
  );
}

/** A layer as a configuration. */
export const layerConfig = (file, layer) => ({
  name: nameOf(file.name, layer.key),
  preset: '',
  weights: referenceTo(file.name, layer),
  values: {},
});

export const isFull = ({ configs }) => configs.length >= MAX_CONFIGS;

/** The configuration of these weights as they are, or -1. */
const unchanged = (state, id) =>
  state.configs.findIndex(({ weights, values }) => weights === id && Object.keys(values).length === 0);

/** Adds a layer as a configuration, or selects the one that is there. */
export function withLayer(state, file, layer) {
  const config = layerConfig(file, layer);
  const there = unchanged(state, config.weights);
  return there >= 0 ? { ...state, selected: there } : addConfig(state, config);
}

/** Another layer in place of the selected configuration's, if that is of the same file; its edits stay. */
export function switchLayer(state, file, layer) {
  const index = state.selected;
  const { weights, name } = state.configs[index];
  const former = trainedOf(weights)?.source;
  if (former?.file !== file.key) return withLayer(state, file, layer);
  const { name: own, weights: id } = layerConfig(file, layer);
  const automatic = nameOf(file.name, former.layer);
  const next = name.startsWith(automatic) ? cleanName(own + name.slice(automatic.length)) : name;
  return editConfig(state, index, { weights: id, name: next });
}

/** The first layer of a file that was opened, unless a configuration is of this file already. */
export function withFirstLayer(state, file) {
  if (state.configs.some(({ weights }) => trainedOf(weights)?.source?.file === file.key)) return state;
  const layer = file.summary.layers.find(({ usable }) => usable);
  return layer ? withLayer(state, file, layer) : state;
}

/** A trained block that comes with the page. */
export function withTrained(state, { id, name }) {
  const there = unchanged(state, id);
  return there >= 0 ? { ...state, selected: there } : addConfig(state, { name, preset: '', weights: id, values: {} });
}

// ---- Swaps: the same weights with one field changed

/** [{ field, value }] that are worth a look for a block, given its own fields. */
export function swapsOf({ norm, activation, placement, gated }) {
  const norms = ['rms_norm', 'layer_norm', 'none'].filter((name) => name !== norm);
  const activations = (gated ? ['gelu_tanh', 'silu', 'relu', 'identity'] : ['relu', 'gelu_erf', 'silu']).filter(
    (name) => name !== activation,
  );
  const placements = ['pre', 'post'].filter((name) => name !== placement);
  return [
    ...norms.map((value) => ({ field: 'norm', value })),
    ...activations.slice(0, 2).map((value) => ({ field: 'activation', value })),
    ...placements.map((value) => ({ field: 'placement', value })),
    { field: 'residual', value: false },
  ];
}

/** Adds a swap, and the original where that is not there yet; selects the swap where it is there. */
export function withSwap(state, { trained }, { field, value }, label) {
  const there = state.configs.findIndex(
    ({ weights, values }) => weights === trained.id && Object.keys(values).length === 1 && values[field] === value,
  );
  if (there >= 0) return { ...state, selected: there };
  const original = unchanged(state, trained.id);
  const base =
    original < 0 && state.configs.length < MAX_CONFIGS - 1
      ? addConfig(state, { name: nameOfTrained(trained), preset: '', weights: trained.id, values: {} })
      : state;
  const name = original < 0 ? nameOfTrained(trained) : base.configs[original].name;
  return addConfig(base, {
    name: cleanName(
      `${Array.from(name)
        .slice(0, 36 - label.length)
        .join('')}, ${label}`,
    ),
    preset: '',
    weights: trained.id,
    values: { [field]: value },
  });
}

export const nameOfTrained = ({ name, source }) => (source ? nameOf(source.file, source.layer) : name);
