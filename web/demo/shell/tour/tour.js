// The guided tour's steps from stop to stop. A stop is a link: its state replaces the configurations, which undo brings
// back; how the page looks stays as the visitor has it.
import { set, state, update } from '../../session.js';
import { decodeState, PROPS } from '../../state.js';
import { STOPS } from '../state.js';

const KEPT = ['language', 'theme', 'sidebar', 'keys', 'onlyDifferent'];

const stateOfStop = (stop) => decodeState(`tour=${stop}`);

/** Shows a stop, from 1; beyond the last one the tour ends. */
export function goToStop(stop) {
  if (stop > STOPS) return closeTour();
  if (stop < 1) return undefined;
  const kept = Object.fromEntries(KEPT.map((name) => [name, state.value[name]]));
  return update({ ...stateOfStop(stop), ...kept }, `tour ${stop}`);
}

export const closeTour = () => set({ tour: 0 });

/** Whether a state still is what its stop has set, but for what is looking around in the same panel. */
export function isAtStop(current) {
  const own = stateOfStop(current.tour);
  const same = ({ name, view, type }) => view || type.write(own[name]) === type.write(current[name]);
  return (
    own.panel === current.panel &&
    PROPS.every(same) &&
    JSON.stringify(own.configs) === JSON.stringify(current.configs.map(({ color, ...config }) => config))
  );
}
