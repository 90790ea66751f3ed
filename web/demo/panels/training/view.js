// The curves as uPlot takes them, and what is said of them. All charts have the same steps.
import { linearAxis, logAxis } from '../../parts/axes.js';
import { curves, runs, status, task } from './session.js';

/** Values at the places of the steps; null where there is none. */
const filled = (values, length) => Array.from({ length }, (_, i) => values[i] ?? null);

/** Held-out values at the points in whose steps they were measured. */
function testsOf({ tests }, length) {
  const values = new Array(length).fill(null);
  for (const [step, value] of tests) {
    const i = Math.min(length - 1, Math.floor((step - 1) / curves.stride));
    if (i >= 0) values[i] = value;
  }
  return values;
}

/**
 * What a chart shows: the steps, then a column for each configuration as it is step by step, then one for each of what is
 * drawn thick: smoothed, or measured on the held-out data. The rate has no second one.
 */
export function columnsOf(channel) {
  const steps = curves.steps();
  const thin = runs.peek().map(({ id }) => filled(curves.values(id, channel), steps.length));
  if (channel === 'rate') return [steps, ...thin];
  const thick = runs.peek().map((run) => {
    if (channel === 'metric') return testsOf(run, steps.length);
    return filled(curves.smooth(run.id, channel), steps.length);
  });
  return [steps, ...thin, ...thick];
}

/** The axis of steps ends at the last, or while that is far at a half, a quarter, ... of it. */
export function lastStep() {
  const longest = Math.max(1, ...runs.peek().map(({ steps }) => steps));
  let end = Math.max(status.peek().steps, longest);
  while (end / 2 >= longest && end > 20) end = Math.ceil(end / 2);
  return end;
}

/** A y axis that follows the data: { scale, axis } whose ends are found anew whenever uPlot asks. zero: from there. */
export function followingAxis(columns, { log, zero, ...options }) {
  const find = () => {
    const values = [...columns().slice(1), zero ? [0] : []].flat();
    return log ? logAxis(values, options) : linearAxis(values, options);
  };
  let now = find();
  const range = () => {
    now = find();
    return now.scale.range;
  };
  const { size, space } = now.axis;
  const values = (u, splits) => now.axis.values(u, splits);
  if (!log) return { scale: { range }, axis: { size, space, values } };
  return {
    scale: { distr: 3, range },
    axis: { size, splits: () => now.axis.splits(), filter: (_, splits) => splits, values },
  };
}

/** What a model reaches in this chart that cannot do what the task asks for; null where nobody has said. */
export function chanceOf(channel) {
  const { kind, good, classes } = task.peek();
  if (channel === 'metric') return good.chance;
  if (channel !== 'loss') return null;
  if (good.metric === 'loss') return good.chance;
  return kind === 'regression' ? null : Math.log(classes);
}
