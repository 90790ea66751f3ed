// The Weights panel without a browser: readers of files against the formats' own definitions and against reference data,
// hostile files, how layers are found, references in links, figures, and the panel's run against formulas.
import assert from 'node:assert/strict';
import { closeSync, fstatSync, openSync, readFileSync, readSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import { describe, makeBlock, makeInput } from '../../web/demo/compute.js';
import * as fields from '../../web/demo/fields.js';
import { FileError } from '../../web/demo/files/errors.js';
import { openWeights } from '../../web/demo/files/open.js';
import { MAX_TENSOR, maxLayer, readLayer } from '../../web/demo/files/read.js';
import { fileKey, parseReference, referenceTo } from '../../web/demo/files/reference.js';
import { isWeights } from '../../web/demo/files/sniff.js';
import { FileStore } from '../../web/demo/files/store.js';
import { weightsRun } from '../../web/demo/panels/weights/run.js';
import * as stats from '../../web/demo/panels/weights/stats.js';
import * as subject from '../../web/demo/panels/weights/subject.js';
import { fieldsOf, TRAINED, trainedOf } from '../../web/demo/presets.js';
import * as state from '../../web/demo/state.js';
import en from '../../web/demo/texts/en.js';
import zh from '../../web/demo/texts/zh.js';
import { BLOCKS, modelFile, readBlock, readTensors } from '../../web/models/extract.js';
import { instance, random, randoms, readFloats, readJson, sharedPath, skipWithout, values, worst } from './shared.js';
import * as write from './weight-files.js';

fc.configureGlobal({ seed: Number(process.env.ADDNORM_SEED ?? 20240607) });

const an = await instance('simd');
const known = {
  names: an.activations.map(({ name }) => name),
  activation(name, x, parameter) {
    const [first] = an.activations.find((entry) => entry.name === name).params;
    const options = parameter !== undefined && first ? { [first.name]: parameter } : {};
    return an.activation(name, Float32Array.of(x), options)[0];
  },
};

const open = (bytes, name = 'a') => openWeights(write.sourceOf(bytes), name, known);
/** The parameters of a file's layer by name. */
async function layerOf(opened, key) {
  const layer = key === undefined ? opened.layers[0] : opened.layers.find((other) => other.key === key);
  assert.ok(layer, `${key} is among ${opened.layers.map((other) => other.key)}`);
  assert.equal(layer.problem, null);
  const list = await readLayer(opened.source, layer);
  return { layer, parameters: Object.fromEntries(list.map(({ name, data }) => [name, data])) };
}

/** Every message says something in both languages. */
function isSaid({ code, detail }) {
  for (const { weights } of [en, zh]) {
    const said = weights.errors[code]?.(detail, weights.kinds, weights.reasons);
    assert.ok(said?.length >= 5 && !/undefined|NaN|\[object/.test(said), `${code} ${JSON.stringify(detail)}: ${said}`);
    if (detail.reason) assert.ok(weights.reasons[detail.reason], `${detail.reason} is said`);
    if (detail.kind) assert.ok(weights.kinds[detail.kind], `${detail.kind} is said`);
  }
}
const fails =
  (code, detail = {}) =>
  (error) => {
    assert.ok(error instanceof FileError, error.stack);
    assert.equal(error.code, code, error.message);
    for (const [key, expected] of Object.entries(detail)) assert.deepEqual(error.detail[key], expected, error.message);
    isSaid(error);
    return true;
  };

// ---- Reference data: one layer as safetensors, GGUF and ONNX

const samples = ['stories260K_l0.safetensors', 'stories260K_l0.gguf', 'stories260K_l0_ffn.onnx'];
const folder = 'models/stories260K_layer0_swiglu';
for (const name of samples) {
  test(`${name}: the block gives the model's output`, {
    skip: skipWithout('models/files', `1 of ${samples.length} sample files`),
  }, async () => {
    const bytes = readFileSync(sharedPath('models/files', name));
    const opened = await open(bytes, name);
    const { layer, parameters } = await layerOf(opened);
    const { placement, norm, eps, activation } = layer.start;
    const meta = readJson(folder, 'meta.json');
    assert.deepEqual(layer.fixed, { d_model: meta.d_model, d_ff: meta.d_ff, gated: true, bias: false });
    assert.deepEqual(
      { placement, norm, eps, activation },
      { placement: 'pre', norm: 'rms_norm', eps: meta.norm.eps, activation: 'silu' },
    );
    const { block, seeded } = makeBlock(
      an,
      { ...layer.fixed, ...layer.start },
      1,
      Object.entries(parameters).map(([name, data]) => ({ name, data })),
    );
    assert.deepEqual(seeded, []);
    const y = values(block.forward({ data: readFloats(folder, 'x.f32.bin'), shape: [1, meta.rows, meta.d_model] }));
    block.dispose();
    const { error, text } = worst(y, readFloats(folder, 'y_f64ref.f32.bin'));
    assert.ok(error < 5e-6, text);
    assert.ok(opened.source.asked <= bytes.length + 3 * 65536, `${opened.source.asked} of ${bytes.length} bytes read`);
  });
}

test('PP-OCRv4 as it is in its package: both blocks are found in the graph, with the weights that the page ships', async () => {
  const bytes = readFileSync(modelFile());
  const opened = await open(bytes, 'rec.onnx');
  const tensors = readTensors(bytes);
  assert.equal(opened.layers.length, BLOCKS.length);
  for (const [i, block] of BLOCKS.entries()) {
    const { layer, parameters } = await layerOf(opened, `${block.up}.w_0`);
    assert.deepEqual({ ...layer.fixed }, TRAINED[i].fixed);
    assert.deepEqual({ ...layer.start }, TRAINED[i].start);
    for (const { name, data } of readBlock(tensors, block)) assert.deepEqual(parameters[name], data, name);
  }
});

// ---- Types of numbers

const D = 32;
const F = 64;
const numbersOf = (seed, n) => randoms(n, seed, 2);
const matrix = (name, shape, seed, dtype = 'F32') => {
  const { bytes, numbers } = write.encoded(
    dtype,
    numbersOf(
      seed,
      shape.reduce((a, b) => a * b),
    ),
  );
  return { name, dtype, shape, bytes, numbers };
};
const swiglu = (names, dtype) => [
  matrix(names[0], [F, D], 1, dtype),
  matrix(names[1], [F, D], 2, dtype),
  matrix(names[2], [D, F], 3, dtype),
];
const HF = ['m.layers.0.mlp.gate_proj.weight', 'm.layers.0.mlp.up_proj.weight', 'm.layers.0.mlp.down_proj.weight'];
const GG = ['blk.0.ffn_gate.weight', 'blk.0.ffn_up.weight', 'blk.0.ffn_down.weight'];

function isSwiglu({ parameters }, tensors) {
  for (const [i, name] of ['gate', 'up', 'down'].entries())
    assert.deepEqual(parameters[name], tensors[i].numbers, name);
}

for (const dtype of ['F32', 'F16', 'BF16']) {
  test(`safetensors: ${dtype}`, async () => {
    const tensors = swiglu(HF, dtype);
    isSwiglu(await layerOf(await open(write.safetensors(tensors))), tensors);
  });
}
for (const dtype of ['F32', 'F16', 'BF16', 'Q8_0', 'Q4_0']) {
  test(`GGUF: ${dtype}, by the format's own definition`, async () => {
    const tensors = swiglu(GG, dtype);
    isSwiglu(await layerOf(await open(write.gguf(tensors))), tensors);
    isSwiglu(await layerOf(await open(write.gguf(tensors, {}, { version: 2 }))), tensors);
  });
}

test('Q4_0: which half of a byte is which number, by hand', async () => {
  // One block: scale 0.5; the byte 0xf0 holds -8 as number 0 and 7 as number 16.
  const block = Buffer.alloc(18, 0x88);
  block.writeUInt16LE(write.half(0.5), 0);
  block[2] = 0xf0;
  const bytes = Buffer.concat(Array(F).fill(block));
  const tensors = swiglu(GG, 'Q4_0').map((tensor) => ({ ...tensor, bytes: Buffer.concat([bytes]) }));
  const { parameters } = await layerOf(await open(write.gguf(tensors)));
  assert.equal(parameters.up[0], -4);
  assert.equal(parameters.up[16], 3.5);
  assert.ok(parameters.up.subarray(1, 16).every((value) => value === 0));
});

const chain = [
  'MatMul x gate > a',
  'Sigmoid a > s',
  'Mul a s > t',
  'MatMul x up > b',
  'Mul t b > h',
  'MatMul h down > y',
];
for (const [dtype, store] of [
  ['F32', 'raw'],
  ['F32', 'typed'],
  ['F16', 'raw'],
  ['F16', 'typed'],
  ['BF16', 'raw'],
  ['BF16', 'typed'],
]) {
  test(`ONNX: ${dtype}, ${store}`, async () => {
    const tensors = [
      matrix('gate', [F, D], 1, dtype),
      matrix('up', [F, D], 2, dtype),
      matrix('down', [D, F], 3, dtype),
    ];
    const turned = tensors.map(({ name, shape: [rows, columns], numbers }) => {
      const swapped = Float32Array.from(numbers, (_, i) => numbers[(i % rows) * columns + Math.floor(i / rows)]);
      return { name, dtype, store, shape: [columns, rows], bytes: write.encoded(dtype, swapped).bytes };
    });
    isSwiglu(
      await layerOf(
        await open(
          write.onnx(
            turned,
            chain.map((line) => write.node(line)),
          ),
          'a.onnx',
        ),
      ),
      tensors,
    );
    const constants = turned.map((tensor) => write.constant(tensor));
    isSwiglu(
      await layerOf(await open(write.onnx([], [...constants, ...chain.map((line) => write.node(line))]))),
      tensors,
    );
  });
}

test('NaN and infinities in weights come through, and are counted', async () => {
  const tensors = swiglu(HF, 'F32');
  tensors[1].bytes.writeFloatLE(Number.NaN, 4);
  tensors[1].bytes.writeFloatLE(-Infinity, 8);
  const { parameters } = await layerOf(await open(write.safetensors(tensors)));
  assert.ok(Number.isNaN(parameters.up[1]));
  const figures = await stats.describeTensor(parameters.up);
  assert.equal(figures.finite, figures.count - 2);
  assert.ok(figures.rms > 0 && figures.largest <= 2);
});

test('of a file of many gigabytes the header and one layer are read', async () => {
  const [d, ff, layers] = [4096, 11008, 32];
  const tensors = Array.from({ length: layers }, (_, i) => [
    [`model.layers.${i}.mlp.down_proj.weight`, [d, ff]],
    [`model.layers.${i}.mlp.gate_proj.weight`, [ff, d]],
    [`model.layers.${i}.mlp.up_proj.weight`, [ff, d]],
    [`model.layers.${i}.post_attention_layernorm.weight`, [d]],
  ]).flat();
  const header = {};
  let at = 0;
  for (const [name, shape] of tensors) {
    const bytes = 2 * shape.reduce((a, b) => a * b);
    header[name] = { dtype: 'F16', shape, data_offsets: [at, at + bytes] };
    at += bytes;
  }
  const head = write.safetensorsOf(header);
  const source = { size: head.length + at, asked: 0 };
  source.read = async (offset, length) => {
    source.asked += length;
    const bytes = new Uint8Array(length);
    if (offset < head.length) bytes.set(head.subarray(offset, offset + length));
    return bytes;
  };
  assert.ok(source.size > 8e9);
  const opened = await openWeights(source, 'big.safetensors', known);
  assert.equal(opened.layers.length, layers);
  assert.ok(source.asked < head.length + 1000, `${source.asked} bytes read of ${source.size}`);
  assert.deepEqual(opened.layers.map(({ key }) => key).slice(0, 3), [
    'model.layers.0.mlp',
    'model.layers.1.mlp',
    'model.layers.2.mlp',
  ]);
  let breaths = 0;
  const stop = new Error('stop');
  const given = readLayer(source, opened.layers[3], {
    breathe: async () => {
      if (++breaths === 3) throw stop;
    },
  });
  await assert.rejects(given, stop, 'a run that is given up ends within a few pieces');
  assert.ok(source.asked < 20e6);
});

// ---- Families

const shapes = { out: [F, D], back: [D, F], in: [D, F], vector: [D], hidden: [F] };
const named = (entries) => entries.map(([name, shape], i) => matrix(name, shapes[shape] ?? shape, i + 1));
const bert = (prefix) => [
  [`${prefix}intermediate.dense.weight`, 'out'],
  [`${prefix}intermediate.dense.bias`, 'hidden'],
  [`${prefix}output.dense.weight`, 'back'],
  [`${prefix}output.dense.bias`, 'vector'],
];
const pair = (up, down) => [
  [`${up}.weight`, 'out'],
  [`${up}.bias`, 'hidden'],
  [`${down}.weight`, 'back'],
  [`${down}.bias`, 'vector'],
];
const norm = (name) => [
  [`${name}.weight`, 'vector'],
  [`${name}.bias`, 'vector'],
];
const gated = (prefix, names = ['gate_proj', 'up_proj', 'down_proj']) => [
  [`${prefix}${names[0]}.weight`, 'out'],
  [`${prefix}${names[1]}.weight`, 'out'],
  [`${prefix}${names[2]}.weight`, 'back'],
];

const families = [
  [
    'BERT',
    bert('bert.encoder.layer.3.').concat(norm('bert.encoder.layer.3.output.LayerNorm')),
    'bert.encoder.layer.3',
    'gelu_erf layer_norm post',
  ],
  [
    'RoBERTa',
    bert('roberta.encoder.layer.3.').concat(norm('roberta.encoder.layer.3.output.LayerNorm')),
    'roberta.encoder.layer.3',
    'gelu_erf layer_norm post 1e-5',
  ],
  [
    'RoBERTa',
    bert('encoder.layer.3.').concat(norm('encoder.layer.3.output.LayerNorm'), [
      ['embeddings.token_type_embeddings.weight', [1, D]],
    ]),
    'encoder.layer.3',
    'gelu_erf layer_norm post 1e-5',
  ],
  [
    'DeBERTa',
    bert('deberta.encoder.layer.3.').concat(norm('deberta.encoder.layer.3.output.LayerNorm')),
    'deberta.encoder.layer.3',
    'gelu_erf layer_norm post 1e-7',
  ],
  ...[
    ['mlp.0', 'mlp.3'],
    ['mlp.linear_1', 'mlp.linear_2'],
  ].map((names) => [
    'ViT (torchvision)',
    pair(...names.map((name) => `encoder.layers.encoder_layer_0.${name}`)).concat(
      norm('encoder.layers.encoder_layer_0.ln_1'),
      norm('encoder.layers.encoder_layer_0.ln_2'),
    ),
    'encoder.layers.encoder_layer_0.mlp',
    'gelu_erf layer_norm pre 1e-6',
  ]),
  [
    'Swin (torchvision)',
    pair('features.1.0.mlp.0', 'features.1.0.mlp.3').concat(norm('features.1.0.norm1'), norm('features.1.0.norm2')),
    'features.1.0.mlp',
    'gelu_erf layer_norm pre 1e-5',
  ],
  [
    'Whisper (original names)',
    pair('encoder.blocks.0.mlp.0', 'encoder.blocks.0.mlp.2').concat(
      norm('encoder.blocks.0.attn_ln'),
      norm('encoder.blocks.0.mlp_ln'),
    ),
    'encoder.blocks.0.mlp',
    'gelu_erf layer_norm pre 1e-5',
  ],
  [
    'CLIP (original names)',
    pair('visual.transformer.resblocks.0.mlp.c_fc', 'visual.transformer.resblocks.0.mlp.c_proj').concat(
      norm('visual.transformer.resblocks.0.ln_1'),
      norm('visual.transformer.resblocks.0.ln_2'),
    ),
    'visual.transformer.resblocks.0.mlp',
    'gelu_quick layer_norm pre 1e-5',
  ],
  [
    'ViT',
    bert('vit.encoder.layer.0.').concat(norm('vit.encoder.layer.0.layernorm_after')),
    'vit.encoder.layer.0',
    'gelu_erf layer_norm pre',
  ],
  [
    'ViT (timm), Swin',
    pair('blocks.7.mlp.fc1', 'blocks.7.mlp.fc2').concat(norm('blocks.7.norm2')),
    'blocks.7.mlp',
    'gelu_erf layer_norm pre',
  ],
  [
    'ViT with LayerScale (DINOv2, DeiT III)',
    pair('blocks.7.mlp.fc1', 'blocks.7.mlp.fc2').concat(norm('blocks.7.norm2'), [['blocks.7.ls2.gamma', 'vector']]),
    'blocks.7.mlp',
    'gelu_erf layer_norm layer_scale',
  ],
  [
    'Llama, Mistral, Qwen',
    gated('model.layers.5.mlp.').concat([['model.layers.5.post_attention_layernorm.weight', 'vector']]),
    'model.layers.5.mlp',
    'silu rms_norm pre',
  ],
  [
    'Gemma 2, Gemma 3',
    gated('model.layers.5.mlp.').concat(
      ['post_attention_layernorm', 'pre_feedforward_layernorm', 'post_feedforward_layernorm'].map((name) => [
        `model.layers.5.${name}.weight`,
        'vector',
      ]),
    ),
    'model.layers.5.mlp',
    'gelu_tanh rms_norm peri',
  ],
  [
    'OLMo 2',
    gated('model.layers.5.mlp.').concat(
      ['post_attention_layernorm', 'post_feedforward_layernorm'].map((name) => [
        `model.layers.5.${name}.weight`,
        'vector',
      ]),
    ),
    'model.layers.5.mlp',
    'silu rms_norm output',
  ],
  [
    'Llama (original names)',
    gated('layers.1.feed_forward.', ['w1', 'w3', 'w2']).concat([['layers.1.ffn_norm.weight', 'vector']]),
    'layers.1.feed_forward',
    'silu rms_norm pre',
  ],
  [
    'Mixtral, one expert',
    gated('model.layers.1.block_sparse_moe.experts.6.', ['w1', 'w3', 'w2']).concat([
      ['model.layers.1.post_attention_layernorm.weight', 'vector'],
    ]),
    'model.layers.1.block_sparse_moe.experts.6',
    'silu rms_norm pre',
  ],
  [
    'T5',
    [
      ['encoder.block.2.layer.1.DenseReluDense.wi.weight', 'out'],
      ['encoder.block.2.layer.1.DenseReluDense.wo.weight', 'back'],
      ['encoder.block.2.layer.1.layer_norm.weight', 'vector'],
    ],
    'encoder.block.2.layer.1.DenseReluDense',
    'relu rms_norm pre',
  ],
  [
    'T5 v1.1',
    gated('decoder.block.2.layer.2.DenseReluDense.', ['wi_0', 'wi_1', 'wo']).concat([
      ['decoder.block.2.layer.2.layer_norm.weight', 'vector'],
    ]),
    'decoder.block.2.layer.2.DenseReluDense',
    'gelu_tanh rms_norm pre',
  ],
  [
    'Pythia, GPT-NeoX',
    pair('gpt_neox.layers.9.mlp.dense_h_to_4h', 'gpt_neox.layers.9.mlp.dense_4h_to_h').concat(
      norm('gpt_neox.layers.9.post_attention_layernorm'),
    ),
    'gpt_neox.layers.9.mlp',
    'gelu_erf layer_norm pre',
  ],
  [
    'OPT, M2M100',
    pair('model.decoder.layers.0.fc1', 'model.decoder.layers.0.fc2').concat(
      norm('model.decoder.layers.0.final_layer_norm'),
    ),
    'model.decoder.layers.0',
    'relu layer_norm pre',
  ],
  [
    'BART',
    pair('model.decoder.layers.0.fc1', 'model.decoder.layers.0.fc2').concat(
      norm('model.decoder.layers.0.final_layer_norm'),
      norm('model.decoder.layernorm_embedding'),
    ),
    'model.decoder.layers.0',
    'gelu_erf layer_norm post',
  ],
  [
    'nn.Transformer',
    pair('layers.0.linear1', 'layers.0.linear2').concat(norm('layers.0.norm1'), norm('layers.0.norm2')),
    'layers.0',
    'relu layer_norm post',
  ],
  [
    'MPT',
    [
      ['transformer.blocks.0.ffn.up_proj.weight', 'out'],
      ['transformer.blocks.0.ffn.down_proj.weight', 'back'],
      ['transformer.blocks.0.norm_2.weight', 'vector'],
    ],
    'transformer.blocks.0.ffn',
    'gelu_erf layer_norm pre',
  ],
  [
    '',
    [
      ['net.first.weight', 'out'],
      ['net.first.bias', 'hidden'],
      ['net.second.weight', 'back'],
      ['net.second.bias', 'vector'],
    ].map(([name, shape]) => [
      name.replace('net.', 'net.0.').replace('.first', '.ff_in').replace('.second', '.ff_out'),
      shape,
    ]),
    'net.0',
    'gelu_erf layer_norm pre',
  ],
];

for (const [family, entries, key, expected] of families) {
  test(`layers by names: ${family || 'unknown names, by their shapes'}`, async () => {
    const tensors = named(entries);
    const opened = await open(write.safetensors(tensors));
    assert.equal(opened.layers.length, 1);
    const { layer, parameters } = await layerOf(opened, key);
    const { activation, norm: kind, placement, eps } = layer.start;
    const [, hasEps] = / (\d.*)$/.exec(expected) ?? [];
    assert.equal(layer.family, family);
    assert.equal([activation, kind, placement, ...(hasEps ? [eps.toExponential()] : [])].join(' '), expected);
    assert.deepEqual([layer.fixed.d_model, layer.fixed.d_ff], [D, F]);
    // Every number of the file is a parameter of the block, in its place.
    const { block, seeded } = makeBlock(
      an,
      { ...layer.fixed, ...layer.start },
      1,
      Object.entries(parameters).map(([name, data]) => ({ name, data })),
    );
    assert.deepEqual(layer.initial, seeded, 'what has initial values is said');
    assert.deepEqual(family === '' ? [] : seeded, []);
    if (layer.doubt) for (const { weights } of [en, zh]) assert.ok(weights.file.doubts[layer.doubt].length > 9);
    for (const [name, data] of Object.entries(parameters))
      assert.deepEqual(block.parameters[name].toArray(), data, name);
    block.dispose();
    assert.ok(layer.guessed.includes('activation'), 'it is said to be a guess');
    const reference = referenceTo('model.safetensors', layer);
    assert.deepEqual(parseReference(reference), {
      file: 'model.safetensors',
      layer: key,
      fixed: layer.fixed,
      start: layer.start,
      omits: layer.omits,
    });
  });
}

test('norms that are in another part of the model, or of which the names do not say whose they are', async () => {
  const summaryOf = async (entries) => (await open(write.safetensors(named(entries)))).summary.layers;
  const llama = gated('model.layers.5.mlp.').concat([['model.layers.5.input_layernorm.weight', 'vector']]);
  const [part] = await summaryOf(llama);
  assert.equal(part.family, 'Llama, Mistral, Qwen');
  assert.deepEqual([part.initial, part.unused], [['norm_weight'], []]);
  const [whole] = await summaryOf(llama.concat([['model.layers.5.post_attention_layernorm.weight', 'vector']]));
  assert.deepEqual([whole.initial, whole.unused], [[], []]);
  const unknown = pair('net.0.mix.a', 'net.0.mix.b').concat(norm('net.0.first_norm'), norm('net.0.ln2'));
  const [similar] = await summaryOf(
    unknown.concat(norm('net.1.ln2'), [
      ['net.0.norm_of_hidden.weight', 'hidden'],
      ['net.0.scale.weight', 'vector'],
    ]),
  );
  assert.equal(similar.family, '');
  assert.deepEqual(similar.initial, ['norm_weight', 'norm_bias']);
  assert.deepEqual(similar.unused, ['first_norm', 'ln2']);
  for (const { weights } of [en, zh]) {
    assert.match(weights.file.unused(similar.unused), /first_norm.*ln2/);
    assert.match(weights.file.without('RMSNorm', 'γ'), /RMSNorm.*γ/);
    assert.match(weights.file.initial('LayerNorm', 'γ, β'), /LayerNorm.*γ, β/);
  }
  const gguf = await open(write.gguf(swiglu(GG, 'F32'), { 'general.architecture': 'llama' }));
  assert.deepEqual(gguf.summary.layers[0].initial, ['norm_weight']);
});

test('GPT-2 stores [in, out]: a bias tells, or the norm, or the family', async () => {
  const names = ['h.0.mlp.c_fc', 'h.0.mlp.c_proj'];
  const up = matrix(`${names[0]}.weight`, [D, F], 1);
  const down = matrix(`${names[1]}.weight`, [F, D], 2);
  const rest = [
    matrix(`${names[0]}.bias`, [F], 3),
    matrix(`${names[1]}.bias`, [D], 4),
    matrix('h.0.ln_2.weight', [D], 5),
    matrix('h.0.ln_2.bias', [D], 6),
  ];
  for (const tensors of [
    [up, down, ...rest],
    [up, down, rest[2], rest[3]],
    [up, down],
  ]) {
    const { layer, parameters } = await layerOf(await open(write.safetensors(tensors)));
    assert.deepEqual([layer.fixed.d_model, layer.fixed.d_ff], [D, F]);
    for (const [i, j] of [
      [0, 0],
      [5, 7],
      [F - 1, D - 1],
    ])
      assert.equal(parameters.up[i * D + j], up.numbers[j * F + i]);
    assert.equal(parameters.down[3 * F + 9], down.numbers[9 * D + 3]);
  }
  // The same names with PyTorch's own layout.
  const linear = [matrix(up.name, [F, D], 1), matrix(down.name, [D, F], 2), ...rest];
  const { layer, parameters } = await layerOf(await open(write.safetensors(linear)));
  assert.deepEqual([layer.fixed.d_model, layer.fixed.d_ff], [D, F]);
  assert.deepEqual(parameters.up, linear[0].numbers);
});

test('gate and up in one matrix, and experts in one tensor', async () => {
  const both = matrix('model.layers.0.mlp.gate_up_proj.weight', [2 * F, D], 1);
  const down = matrix('model.layers.0.mlp.down_proj.weight', [D, F], 2);
  const phi = await layerOf(
    await open(write.safetensors([both, down, matrix('model.layers.0.post_attention_layernorm.weight', [D], 3)])),
  );
  assert.equal(phi.layer.fixed.gated, true);
  assert.deepEqual(phi.parameters.gate, both.numbers.slice(0, F * D));
  assert.deepEqual(phi.parameters.up, both.numbers.slice(F * D));

  const fused = [
    { ...both, name: 'blk.0.ffn_up.weight' },
    { ...down, name: 'blk.0.ffn_down.weight' },
  ];
  const phi3 = await layerOf(await open(write.gguf(fused, { 'general.architecture': 'phi3' })));
  assert.deepEqual(phi3.parameters.up, both.numbers.slice(F * D));
  assert.equal(phi3.layer.start.activation, 'silu');

  const stack = ['gate', 'up', 'down'].map((role, i) =>
    matrix(`blk.2.ffn_${role}_exps.weight`, role === 'down' ? [3, D, F] : [3, F, D], i + 4, 'Q8_0'),
  );
  const opened = await open(write.gguf(stack, { 'general.architecture': 'qwen3moe' }));
  assert.equal(opened.layers.length, 3);
  const { layer, parameters } = await layerOf(opened, 'blk.2.1');
  assert.deepEqual(parameters.gate, stack[0].numbers.slice(F * D, 2 * F * D));
  assert.deepEqual(parameters.down, stack[2].numbers.slice(F * D, 2 * F * D));
  assert.deepEqual(layer.omits, ['experts']);
});

test('GGUF: the architecture decides the activation, the metadata the epsilon, the norms the placement', async () => {
  const norms = (...names) => names.map((name, i) => matrix(`blk.0.${name}.weight`, [D], 9 + i));
  const cases = [
    ['llama', norms('ffn_norm'), { 'llama.attention.layer_norm_rms_epsilon': 1e-6 }, 'silu rms_norm pre 0.000001'],
    [
      'gemma2',
      norms('ffn_norm', 'post_ffw_norm'),
      { 'gemma2.attention.layer_norm_rms_epsilon': 1e-6 },
      'gelu_tanh rms_norm peri 0.000001',
    ],
    ['olmo2', norms('post_attention_norm', 'post_ffw_norm'), {}, 'silu rms_norm output 0.00001'],
  ];
  for (const [architecture, tensors, metadata, expected] of cases) {
    const file = write.gguf([...swiglu(GG, 'F32'), ...tensors], { 'general.architecture': architecture, ...metadata });
    const { layer } = await layerOf(await open(file));
    const { activation, norm: kind, placement, eps } = layer.start;
    assert.equal(`${activation} ${kind} ${placement} ${eps.toFixed(6).replace(/0+$/, '')}`, expected);
    assert.equal(layer.guessed.includes('eps'), Object.keys(metadata).length === 0);
  }
  const post = write.gguf(
    [
      matrix(GG[1], [F, D], 1),
      matrix(GG[2], [D, F], 2),
      ...norms('layer_output_norm'),
      matrix('blk.0.layer_output_norm.bias', [D], 8),
    ],
    {
      'general.architecture': 'bert',
      'bert.attention.layer_norm_epsilon': 1e-12,
      'general.name': 'Test',
      tokens: ['a', 'b'],
      flag: true,
    },
  );
  const opened = await open(post);
  assert.equal(opened.layers[0].start.placement, 'post');
  assert.equal(opened.layers[0].start.eps, 1e-12);
  assert.deepEqual(opened.summary.metadata.slice(0, 2), [
    ['general.name', 'Test'],
    ['general.architecture', 'bert'],
  ]);
  assert.ok(!opened.summary.metadata.some(([key]) => key === 'tokens'), 'lists are left out');
});

test('a model in parts: what lacks a matrix is listed with what is missing', async () => {
  const tensors = swiglu(HF, 'F32');
  const { layers } = await open(write.safetensors(tensors.slice(0, 2)));
  assert.equal(layers.length, 1);
  assert.deepEqual(layers[0].problem, { code: 'INCOMPLETE', detail: { missing: ['down'] } });
  isSaid(layers[0].problem);
  const alone = await open(write.gguf(swiglu(GG, 'F32').slice(2)));
  assert.deepEqual(alone.layers[0].problem.detail.missing, ['gate', 'up']);
  await assert.rejects(readLayer(alone.source, alone.layers[0]), fails('INCOMPLETE'));
});

test('attention, adapters and embeddings are no feed-forward layers', async () => {
  const tensors = [
    matrix('model.layers.0.self_attn.q_proj.weight', [F, D], 1),
    matrix('model.layers.0.self_attn.o_proj.weight', [D, F], 2),
    matrix('model.layers.0.mlp.down_proj.lora_A.weight', [8, F], 3),
    matrix('model.layers.0.mlp.down_proj.lora_B.weight', [D, 8], 4),
    matrix('model.embed_tokens.weight', [100, D], 5),
    matrix('classifier.dense.weight', [D, D], 6),
    matrix('classifier.out_proj.weight', [2, D], 7),
  ];
  const { layers, summary } = await open(write.safetensors(tensors));
  assert.deepEqual(layers, []);
  assert.equal(summary.tensors, tensors.length);
});

// ---- Graphs

const inits = (...entries) => entries.map(([name, shape], i) => matrix(name, shape, 20 + i));
const scalar = (name, value) => ({ name, dtype: 'F32', shape: [], bytes: write.encoded('F32', [value]).bytes });
const W = [
  ['up', [D, F]],
  ['up_bias', [F]],
  ['down', [F, D]],
  ['down_bias', [D]],
  ['g', [D]],
  ['b', [D]],
];
const scalars = [
  scalar('half', 0.5),
  scalar('one', 1),
  scalar('two', 2),
  scalar('three', 3),
  scalar('root2', Math.SQRT2),
  scalar('k', 0.044715),
  scalar('r', Math.sqrt(2 / Math.PI)),
  scalar('q', 1.702),
  scalar('eps', 1e-12),
];
const UP = ['MatMul n up > u0', 'Add up_bias u0 > u'];
const DOWN = ['MatMul h down > v0', 'Add v0 down_bias > v'];
const LN = ['LayerNormalization x g b > n'];
const functions = {
  gelu_erf: ['Div u root2 > e0', 'Erf e0 > e1', 'Add e1 one > e2', 'Mul u e2 > e3', 'Mul e3 half > h'],
  gelu_tanh: [
    'Pow u three > t0',
    'Mul t0 k > t1',
    'Add u t1 > t2',
    'Mul t2 r > t3',
    'Tanh t3 > t4',
    'Add t4 one > t5',
    'Mul u t5 > t6',
    'Mul half t6 > h',
  ],
  gelu_quick: ['Mul u q > a0', 'Sigmoid a0 > a1', 'Mul u a1 > h'],
  silu: ['Sigmoid u > s', 'Mul s u > h'],
  relu: ['Relu u > r0', 'Identity r0 > h'],
  relu_squared: ['Relu u > r0', 'Pow r0 two > h'],
  mish: ['Softplus u > p', 'Tanh p > p1', 'Mul u p1 > h'],
  tanh: ['Tanh u > h'],
  hard_swish: ['HardSwish u > h'],
  leaky_relu: [['LeakyRelu u > h', { alpha: 0.01 }]],
};
const graphOf = (lines) =>
  write.onnx(
    [...inits(...W), ...scalars],
    lines.map((line) => write.node(...[line].flat())),
  );

for (const [name, lines] of Object.entries(functions)) {
  test(`graphs: ${name} is recognised by its values`, async () => {
    const { layer } = await layerOf(await open(graphOf([...LN, ...UP, ...lines, ...DOWN, 'Add x v > y'])));
    assert.equal(layer.start.activation, name);
    assert.equal(layer.start.placement, 'pre');
    assert.deepEqual(layer.guessed, []);
  });
}

test('graphs: a parameter of an activation is found; what is none of them is said', async () => {
  const slope = await layerOf(
    await open(graphOf([...LN, ...UP, ['LeakyRelu u > h', { alpha: 0.2 }], ...DOWN, 'Add x v > y'])),
  );
  assert.equal(slope.layer.start.activation, 'leaky_relu');
  assert.ok(Math.abs(slope.layer.start.activation_p0 - 0.2) < 1e-3);
  const { layers } = await open(graphOf([...LN, ...UP, 'Abs u > a', 'Sqrt a > h', ...DOWN, 'Add x v > y']));
  assert.deepEqual(layers[0].problem, { code: 'FUNCTION', detail: { ops: 'Sqrt, Abs' } });
  isSaid(layers[0].problem);
});

test('graphs: norm and residual addition are where the graph has them', async () => {
  const act = functions.relu;
  const bare = UP.map((line) => line.replace(' n ', ' x '));
  const decomposed = (input, out) => [
    [`ReduceMean ${input} > m`, { axes: [-1] }],
    `Sub ${input} m > c`,
    'Pow c two > c2',
    ['ReduceMean c2 > var', { axes: [-1] }],
    'Add var eps > ve',
    'Sqrt ve > sd',
    'Div c sd > nn',
    'Mul nn g > ng',
    `Add ng b > ${out}`,
  ];
  const cases = {
    'pre layer_norm 0.001 true': [
      ['LayerNormalization x g b > n', { epsilon: 1e-3 }],
      ...UP,
      ...act,
      ...DOWN,
      'Add x v > y',
    ],
    'pre layer_norm 1e-12 true': [...decomposed('x', 'n'), ...UP, ...act, ...DOWN, 'Add v x > y'],
    'post layer_norm 1e-12 true': [...bare, ...act, ...DOWN, 'Add v x > s', ...decomposed('s', 'y')],
    'post layer_norm 0.00001 true': [...bare, ...act, ...DOWN, 'Add v x > s', 'LayerNormalization s g b > y'],
    'output layer_norm 0.00001 true': [...bare, ...act, ...DOWN, 'LayerNormalization v g b > w', 'Add x w > y'],
    'none none undefined true': [...bare, ...act, ...DOWN, 'Add v x > y'],
    'pre layer_norm 0.00001 false': [...LN, ...UP, ...act, ...DOWN],
  };
  for (const [expected, lines] of Object.entries(cases)) {
    const { layer, parameters } = await layerOf(await open(graphOf(lines)));
    const { placement, norm: kind, eps, residual = true } = layer.start;
    const shown = eps === 1e-5 ? '0.00001' : eps;
    assert.equal(`${placement} ${kind} ${shown} ${residual}`, expected);
    assert.equal('norm_weight' in parameters, kind === 'layer_norm');
  }
});

test('graphs: ONNX Runtime’s fused nodes, Gemm, and a matrix that is turned round', async () => {
  const skip = { epsilon: 1e-12 };
  const post = [
    'MatMul x up > u0',
    'com.microsoft:BiasGelu u0 up_bias > h',
    'MatMul h down > v',
    ['com.microsoft:SkipLayerNormalization v x g b down_bias > y', skip],
  ];
  const { layer, parameters } = await layerOf(await open(graphOf(post)));
  assert.deepEqual(layer.start, { activation: 'gelu_erf', placement: 'post', norm: 'layer_norm', eps: 1e-12 });
  const tensors = Object.fromEntries(inits(...W).map(({ name, numbers }) => [name, numbers]));
  for (const name of ['up_bias', 'down_bias']) assert.deepEqual(parameters[name], tensors[name]);
  assert.deepEqual(parameters.norm_weight, tensors.g);

  const turned = [
    matrix('up', [F, D], 1),
    matrix('down', [D, F], 2),
    matrix('up_bias', [F], 3),
    matrix('g', [D], 4),
    matrix('b', [D], 5),
  ];
  const lines = [
    ...LN,
    ['Gemm n up up_bias > u', { transB: 1 }],
    'Relu u > h',
    ['Transpose down > t', { perm: [1, 0] }],
    'MatMul h t > v',
    'Add x v > y',
  ];
  const linear = await layerOf(
    await open(
      write.onnx(
        turned,
        lines.map((line) => write.node(...[line].flat())),
      ),
    ),
  );
  assert.deepEqual(linear.parameters.up, turned[0].numbers);
  assert.deepEqual(linear.parameters.down, turned[1].numbers);
  assert.ok(
    linear.parameters.down_bias.every((value) => value === 0),
    'a bias that only one product has is zero at the other',
  );
});

test('graphs: a gate is told from the other product by what is applied to it', async () => {
  const names = [
    ['w1', [D, F]],
    ['w3', [D, F]],
    ['w2', [F, D]],
    ['g', [D]],
  ];
  const lines = [
    ['SimplifiedLayerNormalization x g > n', { epsilon: 1e-6 }],
    'MatMul n w1 > a',
    'MatMul n w3 > b',
    'Relu b > rb',
    'Mul a rb > h',
    'MatMul h w2 > v',
    'Add x v > y',
  ];
  const { layer } = await layerOf(
    await open(
      write.onnx(
        inits(...names),
        lines.map((line) => write.node(...[line].flat())),
      ),
    ),
  );
  assert.equal(layer.fixed.gated, true);
  assert.equal(layer.parameters.find(({ name }) => name === 'gate').tensor.name, 'w3');
  assert.deepEqual(layer.start, { activation: 'relu', placement: 'pre', norm: 'rms_norm', eps: 1e-6 });
});

test('graphs: attention’s products are no layer; quantised products are named', async () => {
  const lines = [
    'MatMul x q > a',
    'MatMul x kk > b',
    ['Transpose b > bt', { perm: [0, 2, 1] }],
    'MatMul a bt > s',
    'Softmax s > p',
    'MatMul p o > y',
  ];
  const tensors = inits(['q', [D, F]], ['kk', [D, F]], ['o', [F, D]]);
  assert.deepEqual(
    (
      await open(
        write.onnx(
          tensors,
          lines.map((line) => write.node(...[line].flat())),
        ),
      )
    ).layers,
    [],
  );
  const integers = await open(
    write.onnx([], [write.node('DynamicQuantizeLinear x > q s z'), write.node('MatMulInteger q w z > y')]),
  );
  assert.deepEqual(integers.summary.quantised, ['MatMulInteger']);
});

// ---- What cannot be read says why

const entryOf = (dtype, shape, ...offsets) => ({ dtype, shape, data_offsets: offsets });
const refused = (bytes, code, detail, name) => assert.rejects(open(bytes, name), fails(code, detail));

test('unrelated files are named for what they seem to be', async () => {
  await refused(Buffer.alloc(0), 'EMPTY');
  await refused(Buffer.from('PK\x03\x04 and more'), 'UNRELATED', { kind: 'zip', expected: '' }, 'model.pt');
  await refused(
    Buffer.from('PK\x03\x04 and more'),
    'UNRELATED',
    { kind: 'zip', expected: 'safetensors' },
    'model.safetensors',
  );
  await refused(
    Buffer.from('version https://git-lfs.github.com/spec/v1\n'),
    'UNRELATED',
    { kind: 'lfs', expected: 'gguf' },
    'm.gguf',
  );
  await refused(Buffer.from('<!DOCTYPE html><title>Log in'), 'UNRELATED', { kind: 'html' }, 'model.onnx');
  await refused(Buffer.from('\x80\x02}q\x00', 'latin1'), 'UNRELATED', { kind: 'pickle' }, 'pytorch_model.bin');
  await refused(Buffer.from('\x89HDF\r\n\x1a\n', 'latin1'), 'UNRELATED', { kind: 'hdf5' }, 'a.h5');
  await refused(Buffer.from('ggjt\x01\0\0\0').reverse(), 'UNRELATED', { kind: '' }, 'a.ggml');
  await refused(Buffer.from('{"model": 1}'), 'UNRELATED', { kind: 'json' });
  await refused(Buffer.from('hello world'), 'UNRELATED', { bytes: '68 65 6c 6c 6f 20 77 6f' });
  const index = (count) => {
    const parts = Array.from({ length: 2 * count }, (_, i) => [
      `layers.${i}.w`,
      `model-${(i % count) + 1}.safetensors`,
    ]);
    return Buffer.from(JSON.stringify({ metadata: { total_size: 1 }, weight_map: Object.fromEntries(parts) }, null, 2));
  };
  const name = 'model.safetensors.index.json';
  await refused(index(2), 'INDEX', { files: ['model-1.safetensors', 'model-2.safetensors'], more: 0 }, name);
  await refused(index(9), 'INDEX', { more: 3 }, name);
  for (const broken of ['{"weight_map":{', '{"weight_map":{"a":1}}', '{"weight_map":null}', '[1]'])
    await refused(Buffer.from(broken), 'UNRELATED', { kind: 'json' }, name);
});

test('broken safetensors', async () => {
  const good = { a: entryOf('F32', [2, 2], 0, 16) };
  await refused(Buffer.of(1, 2, 3), 'TRUNCATED', { expected: 8, got: 3 }, 'a.safetensors');
  await refused(write.safetensorsOf(good).subarray(0, 30), 'TRUNCATED');
  const huge = write.safetensorsOf(good);
  huge.writeBigUInt64LE(2n ** 39n);
  await refused(huge, 'TRUNCATED', { expected: 8 + 2 ** 39 });
  await refused(write.safetensorsOf('{"a":', []), 'HEADER', { reason: 'json' });
  await refused(write.safetensorsOf('{"a\xff":1}'.replace('ÿ', ''), []), 'TENSOR', { reason: 'entry' });
  await refused(
    Buffer.concat([
      write.safetensorsOf('{"aa":1}').subarray(0, 10),
      Buffer.of(0xff),
      write.safetensorsOf('{"aa":1}').subarray(11),
    ]),
    'HEADER',
    { reason: 'utf8' },
  );
  await refused(write.safetensorsOf(`{"a":${'['.repeat(1e5)}${']'.repeat(1e5)}}`), 'HEADER', { reason: 'deep' });
  await refused(write.safetensorsOf({ a: entryOf('F32', [2, 2], 0, 12) }, Buffer.alloc(12)), 'TENSOR', {
    name: 'a',
    reason: 'offsets',
  });
  await refused(write.safetensorsOf({ a: entryOf('F32', [2, -2], 0, 16) }, Buffer.alloc(16)), 'TENSOR', {
    reason: 'shape',
  });
  await refused(write.safetensorsOf({ a: entryOf('F32', [2 ** 40, 2 ** 40], 0, 16) }, Buffer.alloc(16)), 'TENSOR', {
    reason: 'offsets',
  });
  await refused(write.safetensorsOf(good, Buffer.alloc(10)), 'CUT', { missing: 6, tensors: 16 });
  await refused(write.safetensorsOf(good, Buffer.alloc(20)), 'HEADER', { reason: 'rest' });
  const both = { a: entryOf('F32', [4], 0, 16), b: entryOf('F32', [4], 8, 24) };
  await refused(write.safetensorsOf(both, Buffer.alloc(24)), 'OVERLAP', { name: 'b', other: 'a' });
  await refused(write.safetensorsOf({ a: entryOf('F32', [2], 8, 16) }, Buffer.alloc(16)), 'TENSOR', { reason: 'gap' });
  // A header of 40 MB, which no model has, is not even read.
  const source = write.sourceOf(write.safetensorsOf(`{"a":"${' '.repeat(4e7)}"}`));
  await assert.rejects(openWeights(source, 'a.safetensors', known), fails('HEADER_SIZE'));
  assert.ok(source.asked < 1000);
  const proto = await open(
    write.safetensorsOf('{"__proto__":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}', Buffer.alloc(4)),
  );
  assert.equal(proto.summary.tensors, 1, 'a hostile name is a name');
});

test('broken GGUF', async () => {
  const tensors = swiglu(GG, 'F32');
  const good = write.gguf(tensors, { 'general.architecture': 'llama' });
  await refused(Buffer.from('GGUF'), 'TRUNCATED', { expected: 24, got: 4 });
  await refused(write.gguf(tensors, {}, { version: 1 }), 'VERSION', { version: 1 });
  const big = Buffer.from(good);
  big.writeUInt32BE(3, 4);
  await refused(big, 'BIG_ENDIAN');
  await refused(good.subarray(0, good.length - 100), 'CUT', { missing: 100 });
  const many = Buffer.from(good);
  many.writeBigUInt64LE(2n ** 40n, 8);
  await refused(many, 'TRUNCATED');
  many.writeBigUInt64LE(2n ** 63n, 8);
  await refused(many, 'HEADER', { reason: 'number' });
  await refused(write.gguf([{ ...tensors[0], type: 2, shape: [F, 31] }]), 'TENSOR', { reason: 'block' });
  await refused(write.gguf([tensors[0], tensors[0]]), 'TENSOR', { reason: 'twice' });
  await refused(
    write.gguf([tensors[0], { ...tensors[1], bytes: tensors[1].bytes.subarray(0, 64) }, tensors[2]]),
    'OVERLAP',
  );
  // An array of arrays of arrays ...
  const nested = Buffer.concat([
    good.subarray(0, 16),
    Buffer.from([1, 0, 0, 0, 0, 0, 0, 0]),
    Buffer.from([1, 0, 0, 0, 0, 0, 0, 0, 0x61]),
    ...Array(9)
      .fill(Buffer.from([9, 0, 0, 0]))
      .flatMap((type, i) => (i === 0 ? [type] : [type, Buffer.from([1, 0, 0, 0, 0, 0, 0, 0])])),
    Buffer.alloc(200),
  ]);
  await refused(nested, 'HEADER', { reason: 'deep' });
});

test('broken ONNX, and what is not in the file', async () => {
  const lines = [...LN, ...UP, ...functions.relu, ...DOWN, 'Add x v > y'];
  const good = graphOf(lines);
  await refused(good.subarray(0, good.length - 60), 'TRUNCATED', {}, 'a.onnx');
  await refused(
    Buffer.concat([Buffer.of(8, 8), write.message(2, 'only a producer')]),
    'PROTOBUF',
    { reason: 'graph' },
    'a.onnx',
  );
  await refused(Buffer.from([8, 8, 0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]), 'PROTOBUF', {
    reason: 'varint',
  });
  await refused(Buffer.from([8, 8, 0x3a, 3, 0x0b, 1, 1, 0]), 'PROTOBUF', { reason: 'wire' }, 'a.onnx');
  const [up, ...rest] = [...inits(...W), ...scalars];
  const nodes = lines.map((line) => write.node(...[line].flat()));
  await refused(write.onnx([{ ...up, shape: [D, F + 1] }, ...rest], nodes), 'TENSOR', { name: 'up', reason: 'bytes' });
  const outside = await open(write.onnx([{ ...up, store: 'external', location: 'model.onnx.data' }, ...rest], nodes));
  assert.deepEqual(outside.layers[0].problem, {
    code: 'EXTERNAL',
    detail: { name: 'up', location: 'model.onnx.data' },
  });
  isSaid(outside.layers[0].problem);
  // Messages within messages: nothing is descended into that nobody asks for.
  let deep = Buffer.of(8, 1);
  for (let i = 0; i < 15000; i++) deep = Buffer.concat([Buffer.of(0x32), write.varint(deep.length), deep]);
  const nested = await open(
    Buffer.concat([
      Buffer.of(8, 8),
      write.message(
        7,
        ...nodes,
        ...[...inits(...W), ...scalars].map((tensor) => write.message(5, ...write.tensorOf(tensor))),
        write.message(1, write.message(5, deep)),
      ),
    ]),
  );
  assert.equal(nested.layers.length, 1);
});

test('a type that is not read, a shape that does not fit, a tensor that is too large: named, the others usable', async () => {
  const quantised = swiglu(GG, 'F32').map((tensor) => ({
    ...tensor,
    type: write.GGML.Q4_K,
    shape: tensor.shape.map((n) => n * 8),
    bytes: Buffer.alloc((tensor.numbers.length / 4) * 144),
  }));
  const good = swiglu(
    GG.map((name) => name.replace('blk.0', 'blk.1')),
    'F32',
  );
  const opened = await open(write.gguf([...quantised, ...good]));
  assert.deepEqual(opened.layers[0].problem, { code: 'TYPE', detail: { name: GG[0], dtype: 'Q4_K' } });
  await assert.rejects(readLayer(opened.source, opened.layers[0]), fails('TYPE'));
  isSwiglu(await layerOf(opened, 'blk.1'), good);

  const wrong = [...swiglu(HF, 'F32'), matrix('m.layers.0.post_attention_layernorm.weight', [D + 1], 9)];
  const { layers } = await open(write.safetensors(wrong));
  assert.equal(layers[0].problem.code, 'SHAPE');
  isSaid(layers[0].problem);

  const size = 2 ** 14;
  const bytes = 2 * size * size;
  const header = Object.fromEntries(
    HF.map((name, i) => [name, entryOf('F16', [size, size], i * bytes, (i + 1) * bytes)]),
  );
  const head = write.safetensorsOf(header);
  const large = await openWeights(
    {
      size: head.length + 3 * bytes,
      read: async (offset, length) => Uint8Array.from(head.subarray(offset, offset + length)),
    },
    'a',
    known,
  );
  assert.deepEqual(large.layers[0].problem, {
    code: 'TOO_LARGE',
    detail: { name: HF[0], bytes: 4 * size * size, limit: MAX_TENSOR },
  });
  isSaid(large.layers[0].problem);
  assert.ok(maxLayer(4) < maxLayer(8));
});

// ---- Any file at all

/** Opens a file and reads its layers; anything but a FileError fails. */
async function survives(bytes, name) {
  try {
    const { source, layers } = await open(bytes, name);
    for (const layer of layers) {
      if (layer.problem) isSaid(layer.problem);
      else await readLayer(source, layer);
      referenceTo('a.gguf', layer);
    }
    return layers.length;
  } catch (error) {
    fails(error.code)(error);
    return -1;
  }
}

// Small, so that every byte of them can be looked at.
const small = ([gate, up, down, norm]) => [
  matrix(gate, [4, 2], 1),
  matrix(up, [4, 2], 2),
  matrix(down, [2, 4], 3),
  matrix(norm, [2], 4),
];
const smallGraph = [
  ['SimplifiedLayerNormalization x norm > n', {}],
  'MatMul n up > u',
  'Relu u > h',
  'MatMul h down > v',
  'Add x v > y',
];
const goodFiles = {
  safetensors: write.safetensors(small([...HF, 'm.layers.0.post_attention_layernorm.weight']), { format: 'pt' }),
  gguf: write.gguf(small([...GG, 'blk.0.ffn_norm.weight']), { 'general.architecture': 'llama', tokens: ['a', 'bc'] }),
  onnx: write.onnx(
    [matrix('up', [2, 4], 1), matrix('down', [4, 2], 2), matrix('norm', [2], 3)],
    smallGraph.map((line) => write.node(...[line].flat())),
  ),
};

for (const [format, bytes] of Object.entries(goodFiles)) {
  const name = `a.${format}`;

  test(`${format}: any truncation gives a message`, async () => {
    assert.equal(await survives(bytes, name), 1);
    for (let length = 0; length < bytes.length; length++) {
      const found = await survives(bytes.subarray(0, length), name);
      // Behind an ONNX file's graph comes what no layer needs, and behind a GGUF file's last tensor padding.
      const rest = { safetensors: 0, gguf: 24, onnx: 6 }[format];
      if (length < bytes.length - rest) assert.equal(found, -1, `${length} of ${bytes.length} bytes`);
    }
  });

  test(`${format}: any corrupted byte gives a result or a message`, async () => {
    const next = random(11);
    for (let at = 0; at < bytes.length; at++) {
      for (const value of [bytes[at] ^ (1 << (at % 8)), Math.floor(128 * (next() + 1))]) {
        const broken = Buffer.from(bytes);
        broken[at] = value;
        await survives(broken, name);
      }
    }
  });
}

test('any bytes, under any name and behind any magic, give a message', async () => {
  const magic = fc.constantFrom(
    [],
    [...Buffer.from('GGUF\x03\0\0\0')],
    [8, 8, 0x3a],
    [20, 0, 0, 0, 0, 0, 0, 0, 0x7b],
    [8, 7, 0x12, 2, 0x61, 0x61, 0x3a],
  );
  const name = fc.constantFrom('a.safetensors', 'a.gguf', 'a.onnx', 'a.bin', 'a');
  await fc.assert(
    fc.asyncProperty(magic, fc.uint8Array({ maxLength: 300 }), name, async (head, rest, given) => {
      await survives(Buffer.concat([Buffer.from(head), rest]), given);
    }),
    { numRuns: 1500 },
  );
});

test('any header of safetensors gives a result or a message', async () => {
  const entry = fc.record(
    {
      dtype: fc.oneof(fc.constantFrom('F32', 'F16', 'BF16', 'I8', 'F4', 'X', '__proto__'), fc.anything()),
      shape: fc.oneof(fc.array(fc.nat(4), { maxLength: 3 }), fc.anything()),
      data_offsets: fc.oneof(fc.tuple(fc.nat(64), fc.nat(64)), fc.anything()),
    },
    { requiredKeys: [] },
  );
  const header = fc.dictionary(
    fc.oneof(fc.constantFrom(...HF, '__metadata__'), fc.string()),
    fc.oneof(entry, fc.jsonValue()),
  );
  await fc.assert(
    fc.asyncProperty(header, fc.nat(64), async (given, size) => {
      await survives(
        write.safetensorsOf(
          JSON.stringify(given, (_, value) => (typeof value === 'bigint' ? 1 : value)),
          Buffer.alloc(size),
        ),
        'a.safetensors',
      );
    }),
    { numRuns: 500 },
  );
});

test('nothing hangs: a graph that feeds itself, a thousand layers, names of any kind', async () => {
  const loop = graphOf(['Add h u > h', ...UP, ...DOWN, 'Identity n > n', 'MatMul v up > z']);
  const before = process.cpuUsage(); // the machine may be busy with something else
  await survives(loop, 'a.onnx');
  const tiny = (name, shape) => ({ name, dtype: 'F32', shape, bytes: Buffer.alloc(4 * shape[0] * shape[1]) });
  const many = Array.from({ length: 3000 }, (_, i) => [
    tiny(`m.layers.${i}.mlp.gate_proj.weight`, [4, 2]),
    tiny(`m.layers.${i}.mlp.up_proj.weight`, [4, 2]),
    tiny(`m.layers.${i}.mlp.down_proj.weight`, [2, 4]),
  ]).flat();
  const opened = await open(write.safetensors(many));
  assert.equal(opened.layers.length, 3000);
  assert.equal(opened.layers[999].key, 'm.layers.999.mlp');
  const { user, system } = process.cpuUsage(before);
  assert.ok(user + system < 20e6, `${(user + system) / 1e6} s`);
});

// ---- References in links

test('a reference says file, layer and fields, and nothing else is one', () => {
  const layer = {
    key: 'model.layers.0.mlp',
    fixed: { d_model: 64, d_ff: 172, gated: true, bias: false },
    start: { activation: 'silu', norm: 'rms_norm', eps: 1e-5, placement: 'pre', weight_offset: 1 },
    omits: ['parallel'],
  };
  const reference = referenceTo('my ~ model é 模型.gguf', layer);
  const { file, ...rest } = parseReference(reference);
  assert.equal(file, 'my - model é 模型.gguf');
  assert.equal(fileKey('my ~ model é 模型.gguf'), file);
  assert.deepEqual(rest, { layer: layer.key, fixed: layer.fixed, start: layer.start, omits: ['parallel'] });
  assert.equal(Array.from(fileKey('é'.repeat(300))).length, 80);
  for (const text of [
    '',
    'file~',
    'file~a',
    'file~a~b',
    'ppocr_0',
    'file~a~b~d_model!64',
    'file~a~b~d_model!x~d_ff!2',
    'file~a~b~d_model!1~d_ff!2~__proto__!1',
    'file~a~b~d_model!1~d_ff!2~activation!<b>',
    `file~${'a'.repeat(700)}~b~d_model!1~d_ff!2`,
    'file~a\n~b~d_model!1~d_ff!2',
  ]) {
    assert.equal(parseReference(text), null, text);
  }
  assert.equal(trainedOf('file~a~b'), undefined);
});

test('a link with weights of a file survives, and says all fields without the file', () => {
  const layer = {
    key: 'blk.0',
    fixed: { d_model: 64, d_ff: 172, gated: true, bias: false },
    start: { activation: 'silu', norm: 'rms_norm', eps: 1e-6, placement: 'pre' },
  };
  const file = {
    id: 1,
    key: fileKey('a b.gguf'),
    name: 'a b.gguf',
    summary: {
      layers: [
        { ...layer, problem: { code: 'TYPE', detail: {} }, usable: false },
        { ...layer, key: 'blk.1', problem: null, usable: true },
      ],
    },
  };
  const first = state.initialState();
  const opened = subject.withFirstLayer(first, file);
  assert.equal(opened.configs.length, 3);
  assert.equal(opened.configs[2].name, 'a b blk.1');
  assert.equal(subject.withFirstLayer(opened, file), opened, 'once');
  const again = state.decodeState(`#${state.encodeState(opened)}`);
  assert.deepEqual(again, opened);
  const { activation, d_ff, gated: isGated, eps } = fieldsOf(again.configs[2]);
  assert.deepEqual({ activation, d_ff, isGated, eps }, { activation: 'silu', d_ff: 172, isGated: true, eps: 1e-6 });
  assert.ok(fields.isFixed(again.configs[2], 'd_ff') && !fields.isFixed(again.configs[2], 'eps'));
  assert.deepEqual(subject.needed(again, []), [{ file: 'a b.gguf', indices: [2] }]);
  assert.deepEqual(subject.needed(again, ['a b.gguf']), []);
});

const anyReference = fc
  .record({
    file: fc.string({ unit: 'binary', minLength: 1, maxLength: 40 }),
    key: fc.stringMatching(/^[\w.]{1,40}$/),
    d_model: fc.integer({ min: 1, max: 65536 }),
    eps: fc.double({ min: 0, max: 1, noNaN: true }),
    gated: fc.boolean(),
  })
  .map(({ file, key, d_model, eps, gated: isGated }) =>
    referenceTo(file, { key, fixed: { d_model, d_ff: 2 * d_model, gated: isGated }, start: { eps: eps + 0 } }),
  );

test('any reference survives the way through a link', () => {
  fc.assert(
    fc.property(anyReference, (weights) => {
      const any = { ...state.initialState(), configs: [{ name: 'A', preset: '', weights, values: {} }], selected: 0 };
      assert.deepEqual(state.decodeState(`#${state.encodeState(any)}`), any);
    }),
    { numRuns: 300 },
  );
});

// ---- The panel's edits

test('layers are added, switched and kept apart; swaps bring their original along', () => {
  const layer = (key) => ({
    key,
    fixed: { d_model: 8, d_ff: 16, gated: false, bias: true },
    start: { activation: 'relu', norm: 'layer_norm', placement: 'post' },
    problem: null,
    usable: true,
  });
  const file = { id: 1, key: 'a.gguf', name: 'a.gguf', summary: { layers: [layer('blk.0'), layer('blk.1')] } };
  const [zero, one] = file.summary.layers;
  let now = subject.withFirstLayer(state.initialState(), file);
  assert.deepEqual(subject.subjectOf(now).index, 2);
  now = state.editField(now, 2, 'norm', 'rms_norm');
  now = subject.switchLayer(now, file, one);
  assert.equal(now.configs.length, 3);
  assert.equal(now.configs[2].name, 'a blk.1');
  assert.deepEqual(now.configs[2].values, { norm: 'rms_norm' }, 'what was changed stays changed');
  now = subject.withLayer(now, file, zero);
  assert.equal(now.configs.length, 4);
  assert.equal(subject.withLayer(now, file, zero).configs.length, 4, 'it is there already');

  const trained = { trained: TRAINED[0] };
  const swapped = subject.withSwap(state.initialState(), trained, { field: 'activation', value: 'relu' }, 'ReLU');
  assert.deepEqual(
    swapped.configs.slice(2).map(({ name, weights, values: own }) => [name, weights, own]),
    [
      ['PP-OCRv4 block 1', 'ppocr_0', {}],
      ['PP-OCRv4 block 1, ReLU', 'ppocr_0', { activation: 'relu' }],
    ],
  );
  assert.equal(subject.withSwap(swapped, trained, { field: 'activation', value: 'relu' }, 'ReLU').configs.length, 4);
  for (const { field, value } of subject.swapsOf(fieldsOf(swapped.configs[2]))) {
    const [config] = subject.withSwap(swapped, trained, { field, value }, 'x').configs.slice(-1);
    const block = an.block(fieldsOf(config));
    assert.equal(block.config[field], value);
    block.dispose();
  }
  assert.equal(subject.layerLabel('model.layers.12.mlp'), 'layers.12');
  assert.equal(subject.layerLabel('bert.encoder.layer.3'), 'layer.3');
});

test('which files go to the reader of weights', async () => {
  const file = (name, content) => new File([content], name);
  const cases = [
    [file('a.safetensors', 'x'), 'depth', true],
    [file('a.GGUF', 'x'), 'depth', true],
    [file('pytorch_model.bin', 'x'), 'depth', true],
    [file('model', 'GGUF\x03\0\0\0'), 'depth', true],
    [file('model', write.safetensorsOf('{"a":1}')), 'depth', true],
    [file('a.npy', 'x'), 'weights', false],
    [file('a.csv', '1,2'), 'weights', false],
    [file('a.json', '{}'), 'weights', false],
    [file('model.safetensors.index.json', '{}'), 'depth', true],
    [file('numbers', '[1, 2]'), 'weights', false],
    [file('what', 'hello'), 'weights', true],
    [file('what', 'hello'), 'depth', false],
  ];
  for (const [blob, panel, expected] of cases)
    assert.equal(await isWeights(blob, panel), expected, `${blob.name} ${panel}`);
});

test('the store: a layer of an open file, one that is not there, another file of the same name', async () => {
  const store = new FileStore();
  const tensors = swiglu(GG, 'F32');
  const file = new File([write.gguf(tensors)], 'a.gguf');
  const { layers } = await store.open('a.gguf', 1, file, known);
  const reference = referenceTo('a.gguf', layers[0]);
  const list = await store.layer(reference);
  assert.deepEqual(list.find(({ name }) => name === 'up').data, tensors[1].numbers);
  assert.equal(await store.layer(reference), list, 'kept');
  await assert.rejects(store.layer(reference.replace('a.gguf', 'b.gguf')), fails('NEEDED', { file: 'b.gguf' }));
  await assert.rejects(store.layer(reference.replace('d_ff!64', 'd_ff!65')), fails('OTHER', { layer: 'blk.0' }));
  await assert.rejects(store.open('a.gguf', 2, new File(['x'], 'a.gguf'), known), fails('UNRELATED'));
  assert.equal(await store.layer(reference), list, 'a file that fails leaves the one before it');
  store.close('a.gguf');
  await assert.rejects(store.layer(reference), fails('NEEDED'));
  const moved = { size: 100, slice: () => ({ arrayBuffer: () => Promise.reject(new Error('moved')) }) };
  await assert.rejects(store.open('c', 3, moved, known), fails('READ', { message: 'moved' }));
});

// ---- Figures

test('figures of a tensor, by their formulas', async () => {
  const data = randoms(5000, 3, 1, 0.1);
  data[7] = 0;
  data[9] = 100;
  data[11] = Number.NaN;
  data[13] = Infinity;
  const finite = [...data].filter(Number.isFinite);
  const mean = finite.reduce((a, b) => a + b) / finite.length;
  const moment = (power, around) => finite.reduce((sum, value) => sum + (value - around) ** power, 0) / finite.length;
  const rms = Math.sqrt(moment(2, 0));
  const got = await stats.describeTensor(data);
  const near = (a, b, what) => assert.ok(Math.abs(a - b) <= 1e-9 * Math.abs(b), `${what}: ${a}, ${b}`);
  near(got.mean, mean, 'mean');
  near(got.rms, rms, 'rms');
  near(got.kurtosis, moment(4, mean) / moment(2, mean) ** 2, 'kurtosis');
  assert.equal(got.largest, 100);
  assert.equal(got.zeros, finite.filter((value) => value === 0).length);
  assert.equal(got.outliers, finite.filter((value) => Math.abs(value) > 6 * rms).length);
  assert.deepEqual([got.count, got.finite], [5000, 4998]);

  const spread = await stats.spreadOf([{ data, figures: got }]);
  const [{ counts, outside }] = spread.series;
  assert.equal(outside, finite.filter((value) => Math.abs(value / rms) > spread.reach).length);
  const edge = (i) => i * spread.width - spread.reach;
  for (const i of [0, 10, Math.floor(spread.bins / 2), spread.bins - 1]) {
    const expected = finite.filter((value) => value / rms >= edge(i) && value / rms < edge(i + 1)).length;
    assert.ok(Math.abs(counts[i] - expected) <= 1, `bin ${i}: ${counts[i]}, ${expected}`);
  }
  const total = stats.normalShares(spread).reduce((a, b) => a + b);
  assert.ok(Math.abs(total - 1) < 1e-3, `${total} of the normal distribution`);
  const empty = await stats.describeTensor(new Float32Array(0));
  assert.equal(empty.rms, null);
});

test('activity of units, and how far outputs are apart', () => {
  const units = 4;
  // Unit 0 never, unit 1 always, unit 2 at half of the tokens, unit 3 at a 0, which is not above 0.
  const pre = Float32Array.from([-1, 1, 1, 0, -2, 2, -1, 0, -3, 1, 1, 0, -4, 1, -1, 0]);
  const { never, always, counts, tokens } = stats.activity(pre, units);
  assert.deepEqual([never, always, tokens], [2, 1, 4]);
  assert.deepEqual(
    counts.map((n, i) => [i, n]).filter(([, n]) => n > 0),
    [
      [0, 2],
      [10, 1],
      [19, 1],
    ],
  );
  assert.deepEqual(stats.apart([3, 4], [3, 4]), { relative: 0, cosine: 1, rms: Math.sqrt(12.5) });
  const right = stats.apart([0, 5], [5, 0]);
  assert.ok(Math.abs(right.relative - Math.SQRT2) < 1e-12 && right.cosine === 0);
  assert.deepEqual(stats.apart([0, 0], [0, 0]), { relative: 0, cosine: null, rms: 0 });
  assert.deepEqual(stats.apart([3, 4], [0, 0]), { relative: null, cosine: null, rms: Math.sqrt(12.5) });
  assert.deepEqual(stats.apart([0, 0], [3, 4]), { relative: 1, cosine: null, rms: 0 });
  assert.ok(Number.isNaN(stats.apart([Number.NaN, 0], [3, 4]).cosine), 'what is not finite is no zero');
});

test('the panel’s run: figures, activity and differences of the example', async () => {
  const loaded = readBlock(readTensors(readFileSync(modelFile())), BLOCKS[0]);
  const catalog = describe(an);
  const original = subject.originalFields(TRAINED[0]);
  const others = [original, { ...original, activation: 'relu' }, { ...original, norm: 'group_norm', groups: 7 }].map(
    (own, index) => ({ index, fields: own }),
  );
  const job = {
    weights: 'ppocrv4_rec_block0',
    open: 0,
    original,
    others,
    rows: 50,
    seed: 7,
    inputMean: 0,
    inputStd: 1,
    variant: 'auto',
    file: 0,
  };
  const result = {};
  await weightsRun(job, {
    an,
    breathe: async () => {},
    progress: () => {},
    send: (patch) => Object.assign(result, patch),
    loadTrained: async () => loaded,
    file: null,
  });
  assert.deepEqual(
    result.figures.tensors.map(({ name }) => name),
    loaded.map(({ name }) => name),
  );
  // By hand: y and the pre-activations of 50 tokens.
  const weight = Object.fromEntries(loaded.map(({ name, data }) => [name, data]));
  const { data } = makeInput(fields.completed(original, catalog.fields), { ...job, file: null });
  const block = (activation) => {
    const [y, branch, pre] = [[], [], []];
    for (let t = 0; t < 50; t++) {
      const x = data.subarray(120 * t, 120 * (t + 1));
      const mean = x.reduce((a, b) => a + b) / 120;
      const deviation = Math.sqrt(x.reduce((sum, value) => sum + (value - mean) ** 2, 0) / 120 + 1e-5);
      const n = Array.from(x, (value, i) => ((value - mean) / deviation) * weight.norm_weight[i] + weight.norm_bias[i]);
      const u = Array.from({ length: 240 }, (_, j) =>
        n.reduce((sum, value, i) => sum + value * weight.up[120 * j + i], weight.up_bias[j]),
      );
      pre.push(...u);
      const h = u.map(activation);
      for (let i = 0; i < 120; i++) {
        branch.push(h.reduce((sum, value, j) => sum + value * weight.down[240 * i + j], weight.down_bias[i]));
        y.push(x[i] + branch[branch.length - 1]);
      }
    }
    return { y, branch, pre };
  };
  const model = block((x) => x / (1 + Math.exp(-x)));
  const relu = block((x) => Math.max(x, 0));
  const never = Array.from({ length: 240 }, (_, j) => j).filter((j) =>
    model.pre.every((value, i) => i % 240 !== j || value <= 0),
  );
  assert.equal(result.activity.never, never.length);
  assert.ok(never.length > 10, 'this model has units that are never active');
  const [same, swapped, broken] = result.differences;
  assert.equal(same.output.relative, 0);
  for (const part of ['output', 'branch']) {
    const key = { output: 'y', branch: 'branch' }[part];
    const norm2 = (list) => Math.sqrt(list.reduce((sum, value) => sum + value * value, 0));
    const expected = norm2(relu[key].map((value, i) => value - model[key][i])) / norm2(model[key]);
    const cosine =
      relu[key].reduce((sum, value, i) => sum + value * model[key][i], 0) / norm2(relu[key]) / norm2(model[key]);
    assert.ok(
      Math.abs(swapped[part].relative - expected) < 1e-4 * expected,
      `${part}: ${swapped[part].relative}, ${expected}`,
    );
    assert.ok(Math.abs(swapped[part].cosine - cosine) < 1e-5, part);
  }
  assert.equal(broken.error.code, 'INVALID_ARGUMENT', 'one that cannot be made says so, the others stand');
});

test('reading from a file on disk by its handle reads no more than it has to', {
  skip: skipWithout('models/files', 'a read by a file handle'),
}, async () => {
  const handle = openSync(sharedPath('models/files', samples[0]));
  try {
    const source = {
      size: fstatSync(handle).size,
      read: async (offset, length) => {
        const bytes = new Uint8Array(length);
        assert.equal(readSync(handle, bytes, 0, length, offset), length);
        return bytes;
      },
    };
    const { summary } = await openWeights(source, samples[0], known);
    assert.deepEqual([summary.format, summary.tensors, summary.dtypes], ['safetensors', 4, [['F32', 4]]]);
  } finally {
    closeSync(handle);
  }
});
