// What a stop of the tour sets, and whether a state still is that. No DOM.
import { decodeState, PROPS } from '../../state.js';
import { FURTHER } from './stops.js';

export const stateOfStop = (stop) => decodeState(`tour=${stop}`);

/** And what it leads on to, by its name in FURTHER. */
export const stateBeyond = (stop, name) => ({ ...stateOfStop(stop), ...FURTHER[stop][name] });

/**
 * What of the tour a state shows: its stop, or what this leads on to by its name; null where anything has been changed,
 * but for looking around in the same panel.
 */
export function shownOf(current) {
  const { tour } = current;
  if (isLike(current, stateOfStop(tour))) return tour;
  return Object.keys(FURTHER[tour] ?? {}).find((name) => isLike(current, stateBeyond(tour, name))) ?? null;
}

function isLike(current, wanted) {
  const same = ({ name, view, type }) => view || type.write(wanted[name]) === type.write(current[name]);
  const configs = current.configs.map(({ color, ...config }) => config);
  return (
    wanted.panel === current.panel && PROPS.every(same) && JSON.stringify(wanted.configs) === JSON.stringify(configs)
  );
}
