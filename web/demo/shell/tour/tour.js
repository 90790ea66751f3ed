// From stop to stop. A stop replaces the configurations, which undo brings back; how the page looks stays as the visitor
// has it.
import { set, state, update } from '../../session.js';
import { stateOfStop } from './stop-state.js';
import { STOPS } from './stops.js';

const KEPT = ['language', 'theme', 'sidebar', 'keys', 'onlyDifferent'];

/** Shows a stop, from 1; beyond the last one the tour ends. */
export function goToStop(stop) {
  if (stop > STOPS.length) closeTour();
  else if (stop >= 1) {
    const kept = Object.fromEntries(KEPT.map((name) => [name, state.value[name]]));
    update({ ...stateOfStop(stop), ...kept }, `tour ${stop}`);
  }
}

export const closeTour = () => set({ tour: 0 });
