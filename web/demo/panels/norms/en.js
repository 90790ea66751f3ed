// The walk through the norms in English. Every key stands in zh.js too.
const plural = (n, one, many) => `${n} ${n === 1 ? one : many}`;

export default {
  title: 'The norms, step by step',
  note: 'A small matrix [b, l, d] you can edit: which cells share their statistics, and what each step makes of them. Cells of one colour are one group; the group of the cell you point at is outlined.',
  examples: 'Examples',
  example: {
    random: 'random',
    outlier: 'one outlier',
    constant: 'a constant token',
    padding: 'padding',
    large_mean: 'large mean',
    one: 'a batch of one',
  },
  step: 'Step',
  steps: { mean: 'mean', variance: 'variance', normalise: 'normalise', scale: 'scale, shift' },
  stepNote: {
    mean: 'Step 1: the mean μ of the group, in each of its cells. RMSNorm takes none.',
    variance: 'Step 2: the variance σ² of the group, the mean of (x − μ)²; for RMSNorm the mean of x².',
    normalise: 'Step 3: n = (x − μ) ÷ √(σ² + ε).',
    scale: 'Step 4: y = γ n + β, feature by feature, as the package computes it. RMSNorm has no β.',
  },
  axes: { b: 'b: sequences', l: 'l: tokens', d: 'd: features' },
  groups: 'groups of GroupNorm',
  matrix: 'The matrix x, and γ and β by feature',
  x: 'x',
  feature: (n) => `f${n}`,
  token: (s, t) => `seq ${s}, t${t}`,
  cell: (s, t, c) => `sequence ${s}, token ${t}, feature ${c}`,
  padding: 'padding',
  paddingOf: (s, t) => `Sequence ${s}, token ${t} is padding`,
  vector: (name, c) => `${name} of feature ${c}`,
  shares: {
    layer_norm: (n) => `each token by itself: ${plural(n, 'group', 'groups')}`,
    rms_norm: (n) => `each token by itself: ${plural(n, 'group', 'groups')}`,
    batch_norm: (n) => `each feature over all tokens of all sequences: ${plural(n, 'group', 'groups')}`,
    group_norm: (n) => `each sequence, a group of features: ${plural(n, 'group', 'groups')}`,
    instance_norm: (n) => `each sequence, each feature: ${plural(n, 'group', 'groups')}`,
  },
  noSpread: (norms) => `${norms}: a group without spread. x − μ is 0 there, so y is β (for RMSNorm 0), whatever ε is.`,
  cardLabel: (norm, step) => `${norm}: ${step}`,
  leftOut: 'left out: padding',
  cellTitle: (where, x) => `One cell through all steps: ${where}, x = ${x}`,
  cellHead: ['norm', 'group of', 'μ', 'x − μ', 'σ², mean x²', 'in one pass', 'n', 'γ n + β', 'y', 'error, units'],
  values: (n) => plural(n, 'value', 'values'),
  units: (error, bound) => `${error} of ${bound}`,
  cellNote: (bound) =>
    `Steps in double precision; y by the package in float32, with its largest error over the whole matrix in units of 2⁻²⁴ (max(1, |n|) |γ| + |β|), of which ${bound} are the bound. In one pass: E[x²] − E[x]² in float32, which loses the variance where the mean is large.`,
  batchTitle: 'BatchNorm: padding, small batches, inference',
  seen: 'batches seen before inference',
  mask: 'BatchNorm’s mask leaves padding out',
  batchHead: (channel) => [
    'statistics',
    'of',
    `mean of f${channel}`,
    `variance of f${channel}`,
    'y of the cell',
    'largest change of a real token',
  ],
  way: {
    masked: () => 'training, padding left out',
    counted: () => 'training, padding counted',
    inference: (n) => `inference, running statistics after ${plural(n, 'batch', 'batches')} like this`,
  },
  single:
    'Each channel has one value here: it is its own mean, the variance is 0, and BatchNorm gives β whatever x is. PyTorch refuses to train on such a batch (“Expected more than 1 value per channel”).',
  oneSequence: 'With one sequence BatchNorm and InstanceNorm share the same cells, but for the mask.',
  padded: (change) =>
    `Counting the padding changes the real tokens’ results by up to ${change}. GroupNorm and InstanceNorm have no mask: padding enters their statistics. LayerNorm and RMSNorm see one token at a time, so padding touches no other token.`,
  inference: (n, share) =>
    `Inference takes running statistics, begun at mean 0 and variance 1: after ${plural(n, 'batch', 'batches')} with momentum 0.1 they hold ${share} of this batch’s (the variance as n ÷ (n − 1) has it), so the same x gives another y than in training.`,
  powerNorm: 'on why batch statistics of language fluctuate too much for it.',
};
