// What the Depth panel adds to the state, as in state.js.
import { flag, integer, oneOf } from '../../props.js';

/** What the main picture can show, in the order of the controls. */
export const QUANTITIES = ['weights', 'gradient', 'rms', 'ratio', 'cosine', 'dead', 'saturated'];
/** The matrices of a block whose gradients are told apart, in the order of the forward pass. */
export const MATRICES = ['query', 'key', 'value', 'out', 'gate', 'up', 'down'];
export const SUBLAYERS = ['ffn', 'mixing'];
export const BANDS = ['quartiles', 'range'];

export const DEPTH_PROPS = [
  { name: 'depthBlocks', key: 'blocks', type: integer(1, 96), initial: 24 },
  { name: 'depthSeeds', key: 'dseeds', type: integer(1, 16), initial: 8 },
  { name: 'depthResidual', key: 'dres', type: oneOf('own', 'on', 'off'), initial: 'own' },
  { name: 'depthMixing', key: 'dmix', type: oneOf('own', 'none', 'mean', 'attention'), initial: 'own' },
  { name: 'depthWidth', key: 'dwidth', type: integer(8, 256), initial: 64 },
  { name: 'depthSequences', key: 'dseq', type: integer(1, 64), initial: 2 },
  { name: 'depthLength', key: 'dlen', type: integer(1, 128), initial: 16 },
  { name: 'depthShow', key: 'dshow', type: oneOf(...QUANTITIES), initial: 'weights', view: true },
  { name: 'depthMatrix', key: 'dof', type: oneOf(...MATRICES), initial: 'down', view: true },
  { name: 'depthSublayer', key: 'dsub', type: oneOf(...SUBLAYERS), initial: 'ffn', view: true },
  { name: 'depthBand', key: 'dband', type: oneOf(...BANDS), initial: 'quartiles', view: true },
  { name: 'depthByA', key: 'dbya', type: flag, initial: false, view: true },
  { name: 'depthTheory', key: 'dtheory', type: flag, initial: true, view: true },
];
