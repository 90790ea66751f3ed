// What a configuration can begin with: wirings, blocks of real models (models.js), and trained weights. A preset's values
// are config.def's fields; `omits` names what a single block leaves out (the keys are texts).
import { parseReference } from './files/reference.js';
import { MODELS } from './models.js';

const small = { d_model: 128, d_ff: 512, init: 'xavier_normal' };

// A wiring is from a paper.
const wiring = (id, name, values, omits, paper, number) => ({
  id,
  name,
  group: 'wiring',
  values: { ...small, ...values },
  omits,
  source: [paper, `https://arxiv.org/abs/${number}`],
});
const xiong = ['Xiong et al. 2020', '2002.04745'];

const WIRINGS = [
  wiring('post_norm', 'Post-Norm', { placement: 'post' }, [], ...xiong),
  wiring('pre_norm', 'Pre-Norm', { placement: 'pre' }, ['final_norm'], ...xiong),
  // For a stack of 24 single blocks: alpha = 24^(1/4), beta = 96^(-1/4).
  wiring('deepnorm', 'DeepNorm', { placement: 'deepnorm', depth: 24 }, ['attention'], 'Wang et al. 2022', '2203.00555'),
  wiring('dyt', 'DyT', { norm: 'dyt', norm_alpha: 0.5, placement: 'pre' }, [], 'Zhu et al. 2025', '2503.10622'),
  wiring('peri', 'Peri-LN', { placement: 'peri' }, ['final_norm'], 'Kim et al. 2025', '2502.02732'),
  wiring('lns', 'LayerNorm Scaling', { placement: 'lns', layer: 12 }, ['final_norm'], 'Sun et al. 2025', '2502.05795'),
  wiring('rezero', 'ReZero', { placement: 'rezero', alpha: 0 }, [], 'Bachlechner et al. 2020', '2003.04887'),
  wiring(
    'layer_scale',
    'LayerScale',
    { placement: 'layer_scale', alpha: 1e-4 },
    [],
    'Touvron et al. 2021',
    '2103.17239',
  ),
];

export const PRESETS = [...WIRINGS, ...MODELS];
export const PRESET_GROUPS = ['wiring', 'encoder', 'decoder', 'other', 'large'];

// The whole layer of a model, with its attention, where there is one.
const layerOf = ({ id, name, values, layer, ...rest }) => ({
  ...rest,
  id: `${id}_layer`,
  name: `${name}, layer`,
  of: id,
  values: { ...values, ...layer.values },
  omits: layer.omits,
});
export const LAYERS = MODELS.filter(({ layer }) => layer).map(layerOf);
const ALL = [...PRESETS, ...LAYERS];

/** The same model's block with its attention if this one is without, and the other way round; undefined if there is none. */
export const counterpart = (id) =>
  presetOf(id)?.of ? presetOf(presetOf(id).of) : LAYERS.find((layer) => layer.of === id);

/** Weights of a trained model that come with the page. `values` are fixed by them, `start` is what the model uses. */
export const TRAINED = [0, 1].map((layer) => ({
  id: `ppocr_${layer}`,
  name: `PP-OCRv4 block ${layer + 1}`,
  file: `ppocrv4_rec_block${layer}`,
  fixed: { d_model: 120, d_ff: 240, gated: false, bias: true },
  start: { activation: 'silu', norm: 'layer_norm', eps: 1e-5, placement: 'pre' },
  omits: ['attention', 'seeded_input'],
}));

export const presetOf = (id) => ALL.find((preset) => preset.id === id);
export const trainedOf = (id) => TRAINED.find((trained) => trained.id === id) ?? ofFile(id);

// Weights of a file that the visitor has: the same, said by the reference itself; `source` is the file's key and layer.
const references = new Map();
function ofFile(id = '') {
  if (!id.startsWith('file~')) return undefined;
  if (references.size > 100) references.clear();
  if (!references.has(id)) references.set(id, describe(id));
  return references.get(id);
}
function describe(id) {
  const found = parseReference(id);
  if (!found) return undefined;
  const { file, layer, fixed, start, omits } = found;
  return {
    id,
    name: `${file}, ${layer}`,
    file: id,
    source: { file, layer },
    fixed,
    start,
    omits: ['attention', 'seeded_input', ...omits],
  };
}

/** What the fields are before the visitor's own edits: the preset's and the trained weights' values. */
export function baseValues({ preset, weights }) {
  const trained = trainedOf(weights);
  return { ...presetOf(preset)?.values, ...trained?.start, ...trained?.fixed };
}

/** All fields that differ from the module's defaults: what an.block() is given. null stands for AUTO. */
export function fieldsOf(config) {
  const values = { ...baseValues(config), ...config.values, ...trainedOf(config.weights)?.fixed };
  if (config.matched) values.d_ff = config.matched; // by equal parameters
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null));
}
