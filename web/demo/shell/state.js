// What the shell adds to the state, as in state.js.
import { flag, integer } from '../props.js';
import { STOPS } from './tour/stops.js';

// A number that no stop has is none, not the next best.
const numbers = [0, ...STOPS.map((_, i) => i + 1)];
const stop = { ...integer(0, STOPS.length), read: (text) => numbers.find((number) => String(number) === text) };

export const SHELL_PROPS = [
  /** The stop of the guided tour that is shown; 0: none. */
  { name: 'tour', key: 'tour', type: stop, initial: 0, view: true },
  /** Whether single keys are shortcuts: who dictates or has a tremor may want none. */
  { name: 'keys', key: 'keys', type: flag, initial: true, view: true },
];
