// From stop to stop. A stop replaces the configurations, which undo brings back; how the page looks stays as the visitor
// has it.
import { set, state, update } from '../../session.js';
import { stateBeyond, stateOfStop } from './stop-state.js';
import { STOPS } from './stops.js';

const KEPT = ['language', 'theme', 'sidebar', 'keys', 'onlyDifferent'];

const go = (next, label) => {
  const kept = Object.fromEntries(KEPT.map((name) => [name, state.value[name]]));
  update({ ...next, ...kept }, label);
};

/** Shows a stop, from 1; beyond the last one the tour ends. */
export function goToStop(stop) {
  if (stop > STOPS.length) closeTour();
  else if (stop >= 1) go(stateOfStop(stop), `tour ${stop}`);
}

/** Shows what a stop leads on to, of its own configurations. */
export const goBeyond = (stop, name) => go(stateBeyond(stop, name), 'tour further');

export const closeTour = () => set({ tour: 0 });
