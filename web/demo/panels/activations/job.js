// What the worker has to compute for the Activations panel. No DOM.
import { valuesOf } from '../../fields.js';
import { paramProp, rangeOf } from './state.js';

/** The parameters of an activation by name, from what `given` says of the i-th; what it leaves open has its default. */
const paramsOf = ({ params }, given) =>
  Object.fromEntries(params.map(({ name, default: usual }, i) => [name, given(name, i) ?? usual]));

const curveOf = (name, params) => ({ id: [name, ...Object.values(params)].join(' '), name, params });

/** The activation of each configuration, with its own parameters: { id, name, params }. */
export function curvesOfConfigs(configs, { fields, activations }) {
  return configs.map((config) => {
    const values = valuesOf(config, fields);
    const entry = activations.find(({ name }) => name === values.activation);
    return (
      entry &&
      curveOf(
        entry.name,
        paramsOf(entry, (_, i) => values[`activation_p${i}`]),
      )
    );
  });
}

/**
 * What is drawn: [{ id, name, params, owners }]: the configurations' activations, those of equal parameters once, then what
 * has been chosen beside. An activation that has been switched off isn't drawn.
 */
export function shownCurves(state, catalog) {
  const list = [];
  for (const [index, own] of curvesOfConfigs(state.configs, catalog).entries()) {
    if (!own || state.activationsOff.includes(own.name)) continue;
    const same = list.find(({ id }) => id === own.id);
    if (same) same.owners.push(index);
    else list.push({ ...own, owners: [index] });
  }
  for (const name of state.activations) {
    if (state.activationsOff.includes(name) || list.some((other) => other.name === name)) continue;
    const entry = catalog.activations.find((other) => other.name === name);
    if (entry)
      list.push({
        ...curveOf(
          name,
          paramsOf(entry, (param) => state[paramProp(name, param)]),
        ),
        owners: [],
      });
  }
  return list;
}

/** As in panels/jobs.js. */
export function activationsJob(state, { catalog, configs, file }) {
  if (!catalog) return null;
  const { rows, seed, inputMean, inputStd, flat, errorOf, variant } = state;
  const own = curvesOfConfigs(state.configs, catalog);
  return {
    variant,
    range: rangeOf(state),
    flat,
    errorOf,
    curves: shownCurves(state, catalog).map(({ id, name, params }) => ({ id, name, params })),
    configs: configs.map((config, i) => ({ ...config, curve: own[i] })),
    input: { rows, seed, inputMean, inputStd, file },
  };
}
