// What the Weights panel adds to the state, as in state.js.
import { flag } from '../../props.js';

export const WEIGHTS_PROPS = [{ name: 'weightsLog', key: 'wlog', type: flag, initial: true, view: true }];
