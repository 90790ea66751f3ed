// The block as real models configure it. Values are config.def's fields; `omits` names what a single FFN block leaves
// out of the model (the keys are texts). Sources: the models' published configuration files; figures that only the
// paper gives are taken from the paper.

const bertLike = {
  d_model: 768,
  d_ff: 3072,
  activation: 'gelu_erf',
  norm: 'layer_norm',
  init: 'normal',
  init_std: 0.02,
};
const llamaLike = {
  activation: 'silu',
  gated: true,
  bias: false,
  norm: 'rms_norm',
  eps: 1e-5,
  placement: 'pre',
  init: 'normal',
  init_std: 0.02,
};
const small = { d_model: 128, d_ff: 512, init: 'xavier_normal' };

export const PRESETS = [
  {
    id: 'post_norm',
    name: 'Post-Norm',
    group: 'wiring',
    values: { ...small, placement: 'post' },
    omits: [],
  },
  { id: 'pre_norm', name: 'Pre-Norm', group: 'wiring', values: { ...small, placement: 'pre' }, omits: ['final_norm'] },
  {
    id: 'deepnorm',
    name: 'DeepNorm',
    group: 'wiring',
    // Wang et al. 2022 for a stack of 24 single blocks: alpha = 24^(1/4), beta = 96^(-1/4).
    values: { ...small, placement: 'deepnorm', depth: 24 },
    omits: ['attention'],
  },
  {
    id: 'dyt',
    name: 'DyT',
    group: 'wiring',
    values: { ...small, norm: 'dyt', norm_alpha: 0.5, placement: 'pre' },
    omits: [],
  },
  { id: 'peri', name: 'Peri-LN', group: 'wiring', values: { ...small, placement: 'peri' }, omits: ['final_norm'] },
  {
    id: 'lns',
    name: 'LayerNorm Scaling',
    group: 'wiring',
    values: { ...small, placement: 'lns', layer: 12 },
    omits: ['final_norm'],
  },
  { id: 'rezero', name: 'ReZero', group: 'wiring', values: { ...small, placement: 'rezero', alpha: 0 }, omits: [] },
  {
    id: 'layer_scale',
    name: 'LayerScale',
    group: 'wiring',
    values: { ...small, placement: 'layer_scale', alpha: 1e-4 },
    omits: [],
  },
  {
    id: 'transformer_base',
    name: 'Transformer-base',
    group: 'model',
    values: {
      d_model: 512,
      d_ff: 2048,
      activation: 'relu',
      norm: 'layer_norm',
      eps: 1e-6,
      placement: 'post',
      init: 'xavier_normal',
    },
    omits: ['attention', 'dropout'],
  },
  {
    id: 'bert_base',
    name: 'BERT-base',
    group: 'model',
    values: { ...bertLike, eps: 1e-12, placement: 'post' },
    omits: ['attention', 'dropout', 'truncated'],
  },
  {
    id: 'gpt2_small',
    name: 'GPT-2 small',
    group: 'model',
    values: { ...bertLike, activation: 'gelu_tanh', eps: 1e-5, placement: 'pre' },
    omits: ['attention', 'dropout', 'scaled_init', 'final_norm'],
  },
  {
    id: 't5_base',
    name: 'T5-base',
    group: 'model',
    values: {
      d_model: 768,
      d_ff: 3072,
      activation: 'relu',
      bias: false,
      norm: 'rms_norm',
      eps: 1e-6,
      placement: 'pre',
      init: 'xavier_normal',
    },
    omits: ['attention', 'dropout', 'own_init', 'final_norm'],
  },
  {
    id: 't5_v1_1_base',
    name: 'T5 v1.1-base',
    group: 'model',
    values: {
      d_model: 768,
      d_ff: 2048,
      activation: 'gelu_tanh',
      gated: true,
      bias: false,
      norm: 'rms_norm',
      eps: 1e-6,
      placement: 'pre',
      init: 'xavier_normal',
    },
    omits: ['attention', 'own_init', 'final_norm'],
  },
  {
    id: 'vit_b16',
    name: 'ViT-B/16',
    group: 'model',
    values: { ...bertLike, eps: 1e-12, placement: 'pre' },
    omits: ['attention', 'truncated', 'final_norm'],
  },
  {
    id: 'pythia_160m',
    name: 'Pythia-160M',
    group: 'model',
    values: { ...bertLike, eps: 1e-5, placement: 'pre' },
    omits: ['attention', 'parallel', 'own_init', 'final_norm'],
  },
  {
    id: 'smollm2_135m',
    name: 'SmolLM2-135M',
    group: 'model',
    values: { ...llamaLike, d_model: 576, d_ff: 1536, init_std: 0.0416667 },
    omits: ['attention', 'final_norm'],
  },
  {
    id: 'qwen2_5_0_5b',
    name: 'Qwen2.5-0.5B',
    group: 'model',
    values: { ...llamaLike, d_model: 896, d_ff: 4864, eps: 1e-6 },
    omits: ['attention', 'final_norm'],
  },
  {
    id: 'tinyllama_1_1b',
    name: 'TinyLlama-1.1B',
    group: 'model',
    values: { ...llamaLike, d_model: 2048, d_ff: 5632 },
    omits: ['attention', 'final_norm'],
  },
  {
    id: 'gemma2_2b',
    name: 'Gemma-2-2B',
    group: 'model',
    values: {
      ...llamaLike,
      d_model: 2304,
      d_ff: 9216,
      activation: 'gelu_tanh',
      eps: 1e-6,
      weight_offset: 1,
      placement: 'peri',
    },
    omits: ['attention', 'softcap', 'final_norm', 'own_init'],
  },
  {
    id: 'olmo2_7b',
    name: 'OLMo-2-7B',
    group: 'large',
    values: { ...llamaLike, d_model: 4096, d_ff: 11008, eps: 1e-6, placement: 'output' },
    omits: ['attention', 'truncated', 'final_norm'],
  },
  {
    id: 'llama2_7b',
    name: 'Llama-2-7B',
    group: 'large',
    values: { ...llamaLike, d_model: 4096, d_ff: 11008 },
    omits: ['attention', 'final_norm'],
  },
];

/** Weights of a trained model that come with the page. `values` are fixed by them, `start` is what the model uses. */
export const TRAINED = [0, 1].map((layer) => ({
  id: `ppocr_${layer}`,
  name: `PP-OCRv4 block ${layer + 1}`,
  file: `ppocrv4_rec_block${layer}`,
  fixed: { d_model: 120, d_ff: 240, gated: false, bias: true },
  start: { activation: 'silu', norm: 'layer_norm', eps: 1e-5, placement: 'pre' },
  omits: ['attention', 'seeded_input'],
}));

export const presetOf = (id) => PRESETS.find((preset) => preset.id === id);
export const trainedOf = (id) => TRAINED.find((trained) => trained.id === id);

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
