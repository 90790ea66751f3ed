// The Speed panel's parts in English. Every key stands in zh.js too.
export default {
  title: 'Where the time goes',
  note: 'each kernel measured alone, in the block’s shapes; below it the block as a whole',
  apart: 'kernels',
  whole: 'block',
  names: {
    mixing: 'mixing sublayer',
    norm: 'norm',
    products: 'matrix products',
    activation: 'activation',
    add: 'residual addition',
  },
  head: ['configuration', 'kernel', 'tokens', 'time of one', 'of the block’s time', 'rate'],
  explain:
    'Kernels and block take turns; median ± half the distance between the quartiles. The sum may exceed the block: there the activation and the addition work on sums that are still in the cache. Products are an FFN whose activation is the identity; the mixing sublayer is what the block takes longer with it. Bytes are what a kernel has to read and write at least.',
  reasons: { large: 'more than 16 million weights: measured as a whole only', error: '–' },
  norms: 'LayerNorm against RMSNorm',
  normsNote:
    'one of each on as many tokens as the block had, with their weights, measured in turns; the difference in per cent of the time of that block, measured above',
  normsHead: [
    'configuration',
    'tokens × width',
    'LayerNorm',
    'RMSNorm',
    'LayerNorm ÷ RMSNorm',
    'difference, of the block’s time',
  ],
  unclear: 'quartiles overlap',
  unmeasured: 'not measured: over 16 million weights',
  sweeps: { rows: 'Time against tokens', width: 'Time against width' },
  sweepNotes: {
    rows: 'µs per forward of this many tokens; log scale; median, band from quartile to quartile',
    width: 'µs per forward of 64 tokens, d_ff in proportion; log scale; median and quartiles',
  },
  sizeHead: { rows: 'tokens', width: 'd_model' },
  missing: {
    large: 'more than 16 million weights',
    long: 'more than 0.3 GFLOP in a pass',
    impossible: 'no such block at these sizes',
  },
  at: { rows: (n) => `${n} tokens:`, width: (n) => `width ${n}:` },
  // Heads of tables that are saved.
  calls: 'calls in the block',
  width: 'd_model',
  batches: 'batches',
  repeats: 'repeats in a batch',
  remark: 'remark',
};
