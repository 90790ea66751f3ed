// How the common families of models name their feed-forward layers, and what is known of a family beside: activation,
// norm and placement, which a file of tensors does not say. Read in the models' code: transformers, timm, torchvision,
// openai/CLIP, openai/whisper, llama.cpp.
//
// In a name * stands for what comes before, # for a number. `fused`: gate and up are one matrix, the gate's rows first.
// The first family whose matrices and norms are there is taken. `when` asks further: { has(part of a name), rows(end of a
// name), d_model, d_ff }. `doubt`: models that have these names and something else, a key of texts.weights.file.doubts.

const rms = (activation, more) => ({ activation, norm: 'rms_norm', eps: 1e-5, placement: 'pre', ...more });
const layer = (activation, more) => ({ activation, norm: 'layer_norm', eps: 1e-5, placement: 'pre', ...more });
const gemma = rms('gelu_tanh', { eps: 1e-6, weight_offset: 1 });

const GATED = { up: '*mlp.up_proj', gate: '*mlp.gate_proj', down: '*mlp.down_proj' };
const FUSED = { up: '*mlp.gate_up_proj', down: '*mlp.down_proj', fused: true };
const FC = { up: '*mlp.fc1', down: '*mlp.fc2' };
const BARE_FC = { up: '*fc1', down: '*fc2', norm: '*final_layer_norm' };
const DENSE = { up: '*mlp.dense_h_to_4h', down: '*mlp.dense_4h_to_h' };
const BERT = { up: '*intermediate.dense', down: '*output.dense', at: '*' };
const bert = (eps) => layer('gelu_erf', { eps, placement: 'post' });
// What BERT's tensors are called too, where the model's prefix or its embeddings tell.
const LIKE_BERT = [
  {
    name: 'RoBERTa',
    when: ({ has, rows }) => has('roberta.') || rows('token_type_embeddings.weight') === 1,
    start: bert(1e-5),
  },
  { name: 'DeBERTa', when: ({ has }) => has('deberta.'), start: bert(1e-7) },
  { name: 'BERT', start: bert(1e-12) },
];
const OPENAI_CLIP = {
  name: 'CLIP (original names)',
  up: '*mlp.c_fc',
  down: '*mlp.c_proj',
  when: ({ has }) => has('resblocks.'),
  doubt: 'open_clip',
  start: layer('gelu_quick'),
};
const T5 = { down: '*DenseReluDense.wo', norm: '*layer_norm' };
const experts = (path, names) => ({
  gate: `${path}.#.${names[0]}`,
  up: `${path}.#.${names[1]}`,
  down: `${path}.#.${names[2]}`,
});
const HF_NAMES = ['gate_proj', 'up_proj', 'down_proj'];
const META_NAMES = ['w1', 'w3', 'w2'];

export const FAMILIES = [
  {
    name: 'Gemma 2, Gemma 3',
    ...GATED,
    norm: '*pre_feedforward_layernorm',
    norm2: '*post_feedforward_layernorm',
    start: { ...gemma, placement: 'peri' },
  },
  {
    name: 'OLMo 2',
    ...GATED,
    norm: '*post_feedforward_layernorm',
    start: rms('silu', { eps: 1e-6, placement: 'output' }),
  },
  {
    name: 'GLM-4',
    ...FUSED,
    norm: '*post_attention_layernorm',
    norm2: '*post_mlp_layernorm',
    start: rms('silu', { placement: 'peri' }),
  },
  {
    name: 'Gemma',
    ...GATED,
    norm: '*post_attention_layernorm',
    when: ({ d_model, d_ff }) => d_ff === 8 * d_model,
    start: gemma,
  },
  { name: 'Llama, Mistral, Qwen', ...GATED, norm: '*post_attention_layernorm', start: rms('silu') },
  { name: 'Phi-3', ...FUSED, norm: '*post_attention_layernorm', start: rms('silu') },
  {
    name: 'Mixtral, one expert',
    ...experts('*block_sparse_moe.experts', META_NAMES),
    norm: '*post_attention_layernorm',
    start: rms('silu'),
    omits: ['experts'],
  },
  {
    name: 'Qwen and DeepSeek, one expert',
    ...experts('*mlp.experts', HF_NAMES),
    norm: '*post_attention_layernorm',
    start: rms('silu', { eps: 1e-6 }),
    omits: ['experts'],
  },
  ...['shared_expert', 'shared_experts'].map((shared) => ({
    name: 'Qwen and DeepSeek, shared expert',
    up: `*mlp.${shared}.up_proj`,
    gate: `*mlp.${shared}.gate_proj`,
    down: `*mlp.${shared}.down_proj`,
    norm: '*post_attention_layernorm',
    start: rms('silu', { eps: 1e-6 }),
    omits: ['experts'],
  })),
  {
    name: 'Llama (original names)',
    up: '*feed_forward.w3',
    gate: '*feed_forward.w1',
    down: '*feed_forward.w2',
    norm: '*ffn_norm',
    start: rms('silu'),
  },
  {
    name: 'Nemotron',
    up: '*mlp.up_proj',
    down: '*mlp.down_proj',
    norm: '*post_attention_layernorm',
    when: ({ has }) => !has('mlp.gate_proj'),
    start: layer('relu_squared', { weight_offset: 1 }),
  },
  { name: 'MPT', up: '*ffn.up_proj', down: '*ffn.down_proj', norm: '*norm_2', start: layer('gelu_erf') },
  { ...OPENAI_CLIP, norm: '*ln_2' },
  {
    name: 'GPT-2',
    up: '*mlp.c_fc',
    down: '*mlp.c_proj',
    norm: '*ln_2',
    transposed: true,
    start: layer('gelu_tanh'),
  },
  {
    name: 'StarCoder 2',
    up: '*mlp.c_fc',
    down: '*mlp.c_proj',
    norm: '*post_attention_layernorm',
    start: layer('gelu_tanh'),
  },
  {
    name: 'GPT-J',
    up: '*mlp.fc_in',
    down: '*mlp.fc_out',
    norm: '*ln_1',
    start: layer('gelu_tanh'),
    omits: ['parallel'],
  },
  {
    name: 'ChatGLM',
    ...DENSE,
    norm: '*post_attention_layernorm',
    fused: true,
    when: ({ halves }) => halves,
    start: rms('silu'),
  },
  {
    name: 'BLOOM',
    ...DENSE,
    norm: '*post_attention_layernorm',
    when: ({ has }) => has('word_embeddings_layernorm'),
    start: layer('gelu_tanh'),
  },
  {
    name: 'Pythia, GPT-NeoX',
    ...DENSE,
    norm: '*post_attention_layernorm',
    start: layer('gelu_erf'),
    omits: ['parallel'],
  },
  ...['*ln_mlp', '*input_layernorm'].map((norm) => ({
    name: 'Falcon',
    ...DENSE,
    norm,
    start: layer('gelu_erf'),
    omits: ['parallel'],
  })),
  { name: 'Phi-1, Phi-2', ...FC, norm: '*input_layernorm', start: layer('gelu_tanh'), omits: ['parallel'] },
  {
    name: 'SigLIP',
    ...FC,
    norm: '*layer_norm2',
    when: ({ has }) => has('logit_bias'),
    start: layer('gelu_tanh', { eps: 1e-6 }),
  },
  { name: 'CLIP', ...FC, norm: '*layer_norm2', start: layer('gelu_quick') },
  ...['*ls2.gamma', '*layer_scale2.lambda1'].map((scale) => ({
    name: 'ViT with LayerScale (DINOv2, DeiT III)',
    ...FC,
    norm: '*norm2',
    scale,
    start: layer('gelu_erf', { eps: 1e-6, placement: 'layer_scale' }),
  })),
  { name: 'ViT (timm), Swin', ...FC, norm: '*norm2', start: layer('gelu_erf', { eps: 1e-6 }) },
  ...[
    ['*mlp.0', '*mlp.3'],
    ['*mlp.linear_1', '*mlp.linear_2'], // what torchvision calls legacy
  ].map(([up, down]) => ({
    name: 'ViT (torchvision)',
    up,
    down,
    norm: '*ln_2',
    start: layer('gelu_erf', { eps: 1e-6 }),
  })),
  { name: 'Swin (torchvision)', up: '*mlp.0', down: '*mlp.3', norm: '*norm2', start: layer('gelu_erf') },
  { name: 'Whisper (original names)', up: '*mlp.0', down: '*mlp.2', norm: '*mlp_ln', start: layer('gelu_erf') },
  {
    name: 'SAM',
    up: '*mlp.lin1',
    down: '*mlp.lin2',
    norm: '*layer_norm2',
    start: layer('gelu_erf', { eps: 1e-6 }),
  },
  ...LIKE_BERT.map((own) => ({ ...BERT, norm: '*output.LayerNorm', ...own })),
  { name: 'ViT', ...BERT, norm: '*layernorm_after', start: layer('gelu_erf', { eps: 1e-12 }) },
  { name: 'ESM', ...BERT, norm: '*LayerNorm', start: layer('gelu_erf') },
  {
    name: 'DistilBERT',
    up: '*ffn.lin1',
    down: '*ffn.lin2',
    norm: '*output_layer_norm',
    start: layer('gelu_erf', { eps: 1e-12, placement: 'post' }),
  },
  {
    name: 'ALBERT',
    up: '*ffn',
    down: '*ffn_output',
    norm: '*full_layer_layer_norm',
    at: '*',
    start: layer('gelu_tanh', { eps: 1e-12, placement: 'post' }),
  },
  { name: 'ModernBERT', up: '*mlp.Wi', down: '*mlp.Wo', norm: '*mlp_norm', fused: true, start: layer('gelu_erf') },
  {
    name: 'T5 v1.1',
    ...T5,
    gate: '*DenseReluDense.wi_0',
    up: '*DenseReluDense.wi_1',
    start: rms('gelu_tanh', { eps: 1e-6 }),
  },
  { name: 'T5', ...T5, up: '*DenseReluDense.wi', start: rms('relu', { eps: 1e-6 }) },
  { name: 'Whisper', ...BARE_FC, when: ({ has }) => has('encoder.conv1'), start: layer('gelu_erf') },
  {
    name: 'BART',
    ...BARE_FC,
    when: ({ has }) => has('layernorm_embedding'),
    start: layer('gelu_erf', { placement: 'post' }),
  },
  { name: 'OPT, M2M100', ...BARE_FC, start: layer('relu') },
  {
    name: 'wav2vec 2.0',
    up: '*feed_forward.intermediate_dense',
    down: '*feed_forward.output_dense',
    norm: '*final_layer_norm',
    start: layer('gelu_erf', { placement: 'post' }),
  },
  // A decoder layer has a third norm, after its second attention.
  ...['*norm3', '*norm2'].map((norm) => ({
    name: 'nn.Transformer',
    up: '*linear1',
    down: '*linear2',
    norm,
    at: '*',
    start: layer('relu', { placement: 'post' }),
  })),
  // The same matrices where the norm's weights are not in the file.
  { name: 'Llama, Mistral, Qwen', ...GATED, start: rms('silu') },
  { name: 'Phi-3', ...FUSED, start: rms('silu') },
  {
    name: 'Mixtral, one expert',
    ...experts('*block_sparse_moe.experts', META_NAMES),
    start: rms('silu'),
    omits: ['experts'],
  },
  {
    name: 'Qwen and DeepSeek, one expert',
    ...experts('*mlp.experts', HF_NAMES),
    start: rms('silu', { eps: 1e-6 }),
    omits: ['experts'],
  },
  {
    name: 'Llama (original names)',
    up: '*feed_forward.w3',
    gate: '*feed_forward.w1',
    down: '*feed_forward.w2',
    start: rms('silu'),
  },
  OPENAI_CLIP,
  { name: 'GPT-2', up: '*mlp.c_fc', down: '*mlp.c_proj', transposed: true, start: layer('gelu_tanh') },
  { name: 'Pythia, GPT-NeoX', ...DENSE, start: layer('gelu_erf'), omits: ['parallel'] },
  { name: 'ViT (timm), Swin', ...FC, start: layer('gelu_erf', { eps: 1e-6 }) },
  ...LIKE_BERT.map((own) => ({ ...BERT, ...own })),
  { name: 'T5', down: '*DenseReluDense.wo', up: '*DenseReluDense.wi', start: rms('relu', { eps: 1e-6 }) },
];

// ---- The names of llama.cpp, which are the same for all architectures

const GGUF = { up: '*ffn_up', gate: '*ffn_gate', down: '*ffn_down' };
const GGUF_EXPERTS = { up: '*ffn_up_exps', gate: '*ffn_gate_exps', down: '*ffn_down_exps', stacked: true };
const GGUF_PLAIN = { up: '*ffn_up', down: '*ffn_down', when: ({ has }) => !has('ffn_gate.') };
const NORMS = [
  { norm: '*ffn_norm', norm2: '*post_ffw_norm', placement: 'peri' },
  { norm: '*post_ffw_norm', placement: 'output' },
  { norm: '*ffn_norm', placement: 'pre' },
  { norm: '*layer_output_norm', placement: 'post' },
  { norm: '*post_attention_norm', placement: 'pre' },
  { norm: '*attn_norm', placement: 'pre', omits: ['parallel'] },
  { placement: 'pre' },
];

// By general.architecture, where it is not SiLU with a gate and GELU without one.
const ACTIVATIONS = {
  gemma: 'gelu_tanh',
  gemma2: 'gelu_tanh',
  gemma3: 'gelu_tanh',
  gemma3n: 'gelu_tanh',
  'gemma-embedding': 'gelu_tanh',
  gpt2: 'gelu_tanh',
  starcoder: 'gelu_tanh',
  starcoder2: 'gelu_tanh',
  phi2: 'gelu_tanh',
  gptj: 'gelu_tanh',
  bloom: 'gelu_tanh',
  'jina-bert-v2': 'gelu_erf',
  nemotron: 'relu_squared',
  persimmon: 'relu_squared',
  opt: 'relu',
};

// Without the key of an epsilon the norm's kind is not known otherwise.
const LAYER_NORMS = ['gpt2', 'gptj', 'gptneox', 'bloom', 'bert', 'nomic-bert', 'falcon', 'mpt', 'phi2', 'starcoder'];

/** The families of a GGUF file: every wiring of the norms, with what its metadata says. */
export function ggufFamilies(metadata) {
  const of = new Map(metadata);
  const architecture = String(of.get('general.architecture') ?? '');
  const rmsEps = of.get(`${architecture}.attention.layer_norm_rms_epsilon`);
  const layerEps = of.get(`${architecture}.attention.layer_norm_epsilon`);
  const isLayer = rmsEps === undefined && (layerEps !== undefined || LAYER_NORMS.includes(architecture));
  const eps = tidy(rmsEps ?? layerEps ?? 1e-5);
  const start = (gated, placement) => ({
    activation:
      architecture === 't5' || architecture === 't5encoder'
        ? gated
          ? 'gelu_tanh'
          : 'relu'
        : (Object.hasOwn(ACTIVATIONS, architecture) && ACTIVATIONS[architecture]) || (gated ? 'silu' : 'gelu_erf'),
    norm: isLayer ? 'layer_norm' : 'rms_norm',
    eps,
    placement,
  });
  const name = architecture;
  return [GGUF, GGUF_EXPERTS, GGUF_PLAIN].flatMap((matrices) =>
    NORMS.map(({ placement, omits = [], ...norms }) => ({
      name,
      ...matrices,
      ...norms,
      // Phi-3 and ChatGLM have gate and up in one.
      fused: 'halves',
      start: start('gate' in matrices, placement),
      fusedStart: start(true, placement),
      omits: [...omits, ...(matrices.stacked ? ['experts'] : [])],
      known: rmsEps === undefined && layerEps === undefined ? [] : ['eps'],
    })),
  );
}

// 1e-5 as float32 is 9.99999974e-6.
const tidy = (eps) => {
  const value = Number(eps);
  return Number.isFinite(value) && value >= 0 && value <= 1 ? Number(value.toPrecision(6)) : 1e-5;
};
