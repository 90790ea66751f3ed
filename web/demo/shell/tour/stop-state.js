// What a stop of the tour sets, and whether a state still is that. No DOM.
import { decodeState, PROPS } from '../../state.js';

export const stateOfStop = (stop) => decodeState(`tour=${stop}`);

/** Whether a state is what its stop has set, but for looking around in the same panel. */
export function isAtStop(current) {
  const own = stateOfStop(current.tour);
  const same = ({ name, view, type }) => view || type.write(own[name]) === type.write(current[name]);
  const configs = current.configs.map(({ color, ...config }) => config);
  return own.panel === current.panel && PROPS.every(same) && JSON.stringify(own.configs) === JSON.stringify(configs);
}
