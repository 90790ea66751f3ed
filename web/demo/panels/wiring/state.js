// What the Wiring panel adds to the state, as in state.js.
import { oneOf } from '../../props.js';

export const SHOWS = ['signal', 'gradient'];
/** What a drawing is compared with: the first configuration, the one before, nothing. */
export const AGAINST = ['first', 'previous', 'none'];

export const WIRING_PROPS = [
  { name: 'wiringShow', key: 'wshow', type: oneOf(...SHOWS), initial: 'signal', view: true },
  { name: 'wiringAgainst', key: 'vs', type: oneOf(...AGAINST), initial: 'first', view: true },
];
