// What the parts of the Activations panel have in common: the curves that are shown with what has been computed of them.
import { signal } from '@preact/signals';
import { number } from '../../format.js';
import { activationName } from '../../parts/configs.jsx';
import { LETTERS } from '../../parts/look.js';
import { catalog, panelResults, set, state } from '../../session.js';
import { shownCurves } from './job.js';
import { INITIAL_RANGE, niceRange, rangeOf } from './state.js';

/** Dashes of the activations that no configuration has, so that they are told apart without a colour. */
export const DASHES = [
  [7, 3],
  [2, 3],
  [12, 3, 2, 3],
  [12, 4],
  [5, 2, 1.5, 2, 1.5, 2],
  [1.5, 5],
];

/** The name of the activation whose chip or entry is pointed at: its curve stands out. */
export const pointed = signal(null);
export const pointing = (name) => ({
  onPointerEnter: () => {
    pointed.value = name;
  },
  onPointerLeave: () => {
    pointed.value = null;
  },
  onFocus: () => {
    pointed.value = name;
  },
  onBlur: () => {
    pointed.value = null;
  },
});

/** The name of a curve, with the parameters that are not the usual ones. */
export function curveName({ name, params }) {
  const entry = catalog.value.activations.find((other) => other.name === name);
  const own = entry.params.filter((param) => params[param.name] !== param.default);
  const said = own.map((param) => `${symbol(param.name)} ${number(params[param.name])}`);
  return [activationName(name), ...said].join(' ');
}

const GREEK = { alpha: 'α', beta: 'β', gamma: 'γ' };
/** A parameter as formulas have it. */
export const symbol = (param) => GREEK[param] ?? param.replace('_', ' ');

export const lettersOf = (owners) => owners.map((index) => LETTERS[index]).join(' ');

/** { range, value, curves: [{ id, name, params, owners, label, dash, result }] } */
export function currentView() {
  const { value = {}, error } = panelResults.value.activations ?? {};
  let others = 0;
  const curves = shownCurves(state.value, catalog.value).map((curve) => ({
    ...curve,
    label: [lettersOf(curve.owners), curveName(curve)].filter(Boolean).join(' '),
    dash: curve.owners.length > 0 ? undefined : DASHES[others++ % DASHES.length],
    result: value.curves?.find(({ id }) => id === curve.id),
  }));
  return { range: rangeOf(state.value), value, error, curves };
}

/** The colour and dash of an activation's line: those of the configuration that has it, if one has. */
export function strokeOf({ name, owners, dash }, colors) {
  const by = name && name === pointed.value ? 2 : 0;
  if (owners.length > 0) return { stroke: colors.line[owners[0]], width: 2 + by };
  return { stroke: by > 0 ? colors.ink : colors.muted, width: 1.5 + by, dash };
}

export const rangeNow = () => rangeOf(state.peek());
export const setRange = (low, high) => set(niceRange(low, high));
export const resetRange = () => set({ actLow: INITIAL_RANGE[0], actHigh: INITIAL_RANGE[1] });

/** Values as uPlot draws them: no NaN, no infinity. */
export const drawable = (list) => Array.from(list, (value) => (Number.isFinite(value) ? value : null));
