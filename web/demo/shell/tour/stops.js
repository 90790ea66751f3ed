// The stops of the guided tour: what each sets of the state, all else being as on a first visit. No DOM.
import { RECIPES } from '../../panels/training/state.js';

const preset = (name, id, values = {}) => ({ name, preset: id, weights: '', values });
const teacher = { panel: 'training', trainTask: 'teacher_student', ...RECIPES.teacher_student, trainLog: true };
const ofGradient = { panel: 'depth', depthShow: 'gradient' };

export const STOPS = [
  // Why residuals
  {
    ...ofGradient,
    configs: [
      preset('No residual', 'pre_norm', { placement: 'none', residual: false }),
      preset('Residual', 'pre_norm', { placement: 'none' }),
    ],
  },
  // Why normalise
  {
    panel: 'depth',
    depthShow: 'rms',
    configs: [
      preset('No norm', 'pre_norm', { placement: 'none' }),
      preset('Pre-Norm', 'pre_norm'),
      preset('Post-Norm', 'post_norm'),
    ],
  },
  // Pre or Post
  { panel: 'depth', configs: [preset('Post-Norm', 'post_norm'), preset('Pre-Norm', 'pre_norm')] },
  // Why four times
  { ...teacher, configs: [1, 2, 4, 8].map((times) => preset(`${times} ×`, 'pre_norm', { d_ff: 128 * times })) },
  // Why gates: the third matrix takes a third of the width
  {
    ...teacher,
    configs: [
      preset('GELU', 'pre_norm'),
      preset('GEGLU', 'pre_norm', { gated: true, d_ff: 341 }),
      preset('SwiGLU', 'pre_norm', { activation: 'silu', gated: true, d_ff: 341 }),
    ],
  },
  // Why RMSNorm
  {
    panel: 'speed',
    configs: [preset('LayerNorm', 'pre_norm'), preset('RMSNorm', 'pre_norm', { norm: 'rms_norm' })],
  },
  // DeepNorm
  {
    panel: 'depth',
    depthBlocks: 48,
    configs: [preset('Post-Norm', 'post_norm'), preset('DeepNorm', 'deepnorm'), preset('Pre-Norm', 'pre_norm')],
  },
  // DyT, and no norm at all
  {
    ...ofGradient,
    configs: [preset('LayerNorm', 'pre_norm'), preset('DyT', 'dyt'), preset('ReZero', 'rezero')],
  },
];

/**
 * Where a stop leads on to: patches of the state, by the names of their texts. `warmup` trains at a rate at which Post-Norm's
 * gradient vanishes: over the seeds 1 to 8 to less than 4e-4 of what it was in step 1 by step 20 and 4e-3 by step 100; at the
 * recipe's own rate it does not always.
 */
export const FURTHER = {
  3: {
    mixing: { depthMixing: 'mean', depthMatrix: 'up' },
    warmup: { panel: 'training', trainTask: 'spiral', ...RECIPES.spiral, trainRate: 0.007, trainSteps: 100 },
  },
};
