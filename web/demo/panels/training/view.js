// The curves as uPlot takes them, and what is said of them. All charts have the same steps.
import { linearAxis, logAxis } from '../../parts/axes.js';
import { curves, order, runs, status, task, ticks } from './session.js';

/** Values at the places of the steps; null where there is none. */
function filled(values, length) {
  while (values.length < length) values.push(null);
  return values;
}

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
function columns(channel) {
  const steps = curves.steps();
  const thin = runs.peek().map(({ id }) => filled(curves.values(id, channel), steps.length));
  if (channel === 'rate') return [steps, ...thin];
  const thick = runs.peek().map((run) => {
    if (channel === 'metric') return testsOf(run, steps.length);
    return filled(curves.smooth(run.id, channel), steps.length);
  });
  return [steps, ...thin, ...thick];
}

const known = new Map();

/** The same, made once for a tick of the chart; log: without what a logarithmic axis has no place for. */
export function columnsOf(channel, log = false) {
  const name = `${channel} ${log}`;
  const version = `${ticks[channel].peek()} ${order.peek()}`;
  if (known.get(name)?.version !== version) {
    known.set(name, { version, value: log ? positive(columnsOf(channel)) : columns(channel) });
  }
  return known.get(name).value;
}

const positive = ([steps, ...rest]) => [
  steps,
  ...rest.map((values) => values.map((value) => (value > 0 ? value : null))),
];

/** The axis of steps ends at the last, or while that is far at a half, a quarter, ... of it. */
export function lastStep() {
  const longest = Math.max(1, ...runs.peek().map(({ steps }) => steps));
  let end = Math.max(status.peek().steps, longest);
  while (end / 2 >= longest && end > 20) end = Math.ceil(end / 2);
  return end;
}

// What a metric is drawn within: what has left all measure leaves the chart.
const within = { accuracy: [0, 1], r2: [-1, 1], loss: [0, 10] };

/**
 * A y axis over what is drawn at the time: { scale, axis } as uPlot takes them.
 * @param {() => number[][]} data as uPlot has it
 * @param {{ log: boolean, size: number }} look size: of the type, in pixels
 */
export function axisOf(channel, data, { log, size }) {
  let known = { columns: null };
  const values = () => {
    const columns = data();
    if (known.columns !== columns) known = { columns, values: columns.slice(1).flat() };
    return known.values;
  };
  if (log) return logAxis(values);
  if (channel === 'rate') return linearAxis(() => [0, ...values()], { size: Math.ceil(4.7 * size) }); // 0.00175
  if (channel !== 'metric') return linearAxis(values);
  const { metric } = task.peek().good;
  const [least, most] = within[metric];
  const clamped = () => values().map((value) => (value === null ? null : Math.min(most, Math.max(least, value))));
  return linearAxis(clamped, { most: metric === 'loss' ? undefined : 1.02 });
}

/** What a model reaches in this chart that cannot do what the task asks for; null where nobody has said. */
export function chanceOf(channel) {
  const { kind, good, classes } = task.peek();
  if (channel === 'metric') return good.chance;
  if (channel !== 'loss') return null;
  if (good.metric === 'loss') return good.chance;
  return kind === 'regression' ? null : Math.log(classes);
}
