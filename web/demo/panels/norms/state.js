// What the walk through the norms adds to the state, as in state.js.
import { flag, integer, number, oneOf } from '../../props.js';
import { MOST, matrixText, vectorText } from './matrix.js';

export const STEPS = ['mean', 'variance', 'normalise', 'scale'];

export const NORMS_PROPS = [
  { name: 'normMatrix', key: 'nx', type: matrixText, initial: 'random' },
  { name: 'normWeight', key: 'ngamma', type: vectorText, initial: '1_1_2_0.5' },
  { name: 'normBias', key: 'nbeta', type: vectorText, initial: '0_0.5_0_-1' },
  { name: 'normEps', key: 'neps', type: number(0, 1), initial: 1e-5 },
  { name: 'normGroups', key: 'ngroups', type: integer(1, MOST.d), initial: 2 },
  { name: 'normMask', key: 'nmask', type: flag, initial: true },
  { name: 'normSeen', key: 'nseen', type: integer(0, 1000), initial: 10 },
  { name: 'normStep', key: 'nstep', type: oneOf(...STEPS), initial: 'mean', view: true },
];
