// What the shell adds to the state, as in state.js.
import { flag, integer } from '../props.js';
import { STOPS } from './tour/stops.js';

export const SHELL_PROPS = [
  /** The stop of the guided tour that is shown; 0: none. */
  { name: 'tour', key: 'tour', type: integer(0, STOPS.length), initial: 0, view: true },
  /** Whether single keys are shortcuts: who dictates or has a tremor may want none. */
  { name: 'keys', key: 'keys', type: flag, initial: true, view: true },
];
