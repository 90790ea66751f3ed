// What the Activations panel adds to the state, as in state.js.
import { flag, number, oneOf, someOf } from '../../props.js';

/** The module's activations, in the order of its list. */
export const NAMES = [
  'relu',
  'leaky_relu',
  'relu_squared',
  'elu',
  'selu',
  'celu',
  'gelu_erf',
  'gelu_tanh',
  'gelu_quick',
  'silu',
  'swish',
  'mish',
  'softplus',
  'softsign',
  'hard_sigmoid',
  'hard_swish',
  'sigmoid',
  'log_sigmoid',
  'tanh',
  'identity',
  'softcap',
];

// Parameters that can be turned here, with their defaults; those of a configuration's activation are its fields.
const PARAMS = {
  leaky_relu: { negative_slope: 0.01 },
  elu: { alpha: 1 },
  selu: { alpha: 1.6732632423543772, gamma: 1.0507009873554805 },
  celu: { alpha: 1 },
  swish: { beta: 1 },
  softplus: { beta: 1 },
  hard_sigmoid: { alpha: 0.2, beta: 0.5 },
  softcap: { cap: 30 },
};

/** The largest size of a parameter, as of a configuration's. */
export const MAX_PARAM = 1000;
/** The property that holds a parameter. */
export const paramProp = (activation, param) => `${activation}.${param}`;

/** As far as the x axis goes. */
export const FAR = 1e6;
export const INITIAL_RANGE = [-4, 4];

export const ACTIVATIONS_PROPS = [
  { name: 'activations', key: 'acts', type: someOf(...NAMES), initial: ['relu', 'silu'], view: true },
  // Of those that belong to configurations: what has been switched off.
  { name: 'activationsOff', key: 'noacts', type: someOf(...NAMES), initial: [], view: true },
  { name: 'actLow', key: 'xlo', type: number(-FAR, FAR), initial: INITIAL_RANGE[0], view: true },
  { name: 'actHigh', key: 'xhi', type: number(-FAR, FAR), initial: INITIAL_RANGE[1], view: true },
  { name: 'flat', key: 'flat', type: number(0, 1), initial: 0.01, view: true },
  { name: 'errorOf', key: 'ulp', type: oneOf(...NAMES), initial: 'gelu_erf', view: true },
  { name: 'logDifference', key: 'logdiff', type: flag, initial: false, view: true },
  ...Object.entries(PARAMS).flatMap(([activation, params]) =>
    Object.entries(params).map(([param, initial]) => {
      const name = paramProp(activation, param);
      return { name, key: name, type: number(-MAX_PARAM, MAX_PARAM), initial };
    }),
  ),
];

/** The range of the x axis: in order, and wide enough for floats to tell its points apart. */
export function rangeOf({ actLow, actHigh }) {
  const [low, high] = actLow < actHigh ? [actLow, actHigh] : [actHigh, actLow];
  const least = Math.max(1e-6, 1e-4 * Math.max(Math.abs(low), Math.abs(high)));
  if (high - low >= least) return [low, high];
  const middle = Math.min(FAR - least, Math.max(least - FAR, (low + high) / 2));
  return [middle - least / 2, middle + least / 2];
}

/** A range within what the axis can show, rounded to what its width can tell apart. */
export function niceRange(low, high) {
  const digits = 10 ** (Math.floor(Math.log10(Math.max(high - low, 1e-9))) - 3);
  const [a, b] = [low, high].map((value) => {
    const rounded = Number((Math.round(value / digits) * digits).toPrecision(12));
    return Math.min(FAR, Math.max(-FAR, rounded)) + 0;
  });
  return { actLow: a, actHigh: b };
}
