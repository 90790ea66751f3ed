// Loss, metric, gradient norm and learning rate over the steps: new points go to charts that stand.
import { axisNumber, number } from '../../format.js';
import { Chart, FAMILY, labelWidth, nameOf, ROOMY, shortName } from '../../parts/chart.jsx';
import { markEnd, markLine } from '../../parts/curves.js';
import { LETTERS } from '../../parts/look.js';
import { picks, set, text } from '../../session.js';
import { begun, curves, exploded, limit, order, runs, slow, task, ticks } from './session.js';
import { axisOf, chanceOf, columnsOf, lastStep } from './view.js';

/** The charts' common cursor. */
export const SYNC = 'training';

export function LossChart() {
  const t = text.value.training;
  const { trainLog } = picks;
  return (
    <Line
      channel="loss"
      title={t.loss}
      note={t.lossNote}
      log={trainLog || exploded.value}
      controls={
        <label class="check">
          <input
            type="checkbox"
            checked={trainLog || exploded.value}
            disabled={exploded.value}
            aria-label={t.logLoss}
            onChange={(event) => set({ trainLog: event.target.checked })}
          />
          {t.logShort}
        </label>
      }
    />
  );
}

export function MetricChart() {
  const t = text.value.training;
  const { metric } = task.value.good;
  return <Line channel="metric" title={t.metrics[metric]} note={t.metricNote} />;
}

export function GradientChart() {
  const t = text.value.training;
  return <Line channel="gradient" title={t.gradient} note={t.gradientNote} log />;
}

export function RateChart() {
  const t = text.value.training;
  return <Line channel="rate" title={t.rate} note={t.rateNote} />;
}

function Line({ channel, title, note, log, controls }) {
  const t = text.value;
  const { configs } = picks;
  const indices = order.value.split(',').map((_, index) => index);
  const data = () => columnsOf(channel, log);
  return (
    <Chart
      title={title}
      note={note}
      empty={!begun.value}
      build={(colors, width) => build({ channel, data, indices, log, colors, width })}
      deps={[channel, log, task.value?.name, limit.value, order.value, configs.map(({ name }) => name).join('\n'), t]}
      live={{ tick: ticks[channel], data }}
      readout={(i) => readout(channel, i)}
      controls={controls}
      table={() => tableOf(channel)}
    />
  );
}

function build({ channel, data, indices, log, colors, width }) {
  const first = data();
  const thick = first.length > 1 + indices.length;
  const nameFor = (index) => (width > ROOMY ? shortName(index) : LETTERS[index]);
  const names = channel === 'rate' ? [text.peek().training.all] : [];
  const room = 16 + Math.max(8, ...[...names, ...indices.map(nameFor)].map((name) => labelWidth(name, colors.size)));
  const { scale, axis } = axisOf(channel, data, { log, size: colors.size });
  const line = (index, more) => ({ stroke: colors.line[index], spanGaps: true, points: { show: false }, ...more });
  const thin = indices.map((index) => line(index, { width: thick ? 1 : 2, alpha: thick ? 0.4 : 1 }));
  return {
    data: first,
    options: {
      padding: [8, room, 0, 0],
      cursor: { sync: { key: SYNC } },
      scales: { x: { time: false, range: () => [0, lastStep()] }, y: scale },
      axes: [stepAxis(colors), axis],
      series: [{}, ...thin, ...(thick ? indices.map((index) => line(index, { width: 2 })) : [])],
    },
    marks: (u) => {
      markChance(u, channel, colors);
      for (const index of indices) markRun(u, index, indices.length, colors);
    },
    labels: (u) => [...chanceLabel(u, channel), ...namesOf(u, indices, { nameFor, size: colors.size })],
  };
}

const stepAxis = (colors) => ({
  size: 26,
  grid: { show: false },
  values: (_, splits) => splits.map(axisNumber),
  label: text.peek().training.stepHead,
  labelSize: 18,
  labelGap: 0,
  labelFont: `${colors.size}px ${FAMILY}`,
});

// The column that stands for a configuration: the thick one where there is one.
function columnOf(u, index, count) {
  const thick = u.data[1 + count + index];
  return thick?.some((value) => value !== null) ? thick : u.data[1 + index];
}

const GAP = 10; // between a point and its label

const lastOf = (values) => values.findLastIndex((value) => value !== null);

function labelOf(u, index, count, { nameFor, size }) {
  const values = columnOf(u, index, count);
  const i = lastOf(values);
  if (i < 0) return [];
  const { divergence } = runs.peek()[index] ?? {};
  const end = { index, x: u.data[0][i], y: values[i], backed: true };
  if (!divergence) return [{ ...end, name: nameFor(index), align: 'left' }];
  // Beside its cross, on the side where there is room.
  const { step, value } = divergence;
  const name = `${LETTERS[index]} ${text.peek().training.notFinite(value, step)}`;
  const before = u.valToPos(step, 'x');
  const after = u.width - u.bbox.left / devicePixelRatio - before;
  const align = labelWidth(name, size) + GAP > after && before > after ? 'right' : 'left';
  return [{ ...end, name, x: step, align }];
}

// One name for all where there is only one line to be seen.
function namesOf(u, indices, words) {
  const labels = indices.flatMap((index) => labelOf(u, index, indices.length, words));
  const [first, ...others] = u.data.slice(1, 1 + indices.length);
  const isFirst = (line) => line.every((value, i) => value === first[i]);
  if (labels.length < 2 || !others.every(isFirst)) return labels;
  return [{ ...labels[0], index: undefined, name: text.peek().training.all }];
}

// Markers along the line; a cross where it diverged, a bar where it went on with other settings.
function markRun(u, index, count, colors) {
  const [steps] = u.data;
  const values = columnOf(u, index, count);
  const last = lastOf(values);
  if (last < 0) return;
  markLine(u, steps, values, index, colors, { count: 3, radius: 3 });
  for (const { type, step } of runs.peek()[index]?.marks ?? []) {
    if (type === 'settings') markSettings(u, step, colors.line[index]);
    else markEnd(u, step, values[Math.min(last, pointAt(step))] ?? values[last], colors.error);
  }
}

const pointAt = (step) => Math.floor((step - 1) / curves.stride);

function markSettings(u, step, color) {
  const { ctx, bbox } = u;
  const x = u.valToPos(step, 'x', true);
  ctx.save();
  ctx.strokeStyle = color;
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([2 * devicePixelRatio, 3 * devicePixelRatio]);
  ctx.beginPath();
  ctx.moveTo(x, bbox.top);
  ctx.lineTo(x, bbox.top + bbox.height);
  ctx.stroke();
  ctx.restore();
}

// Within the plot?
function chanceIn(u, channel) {
  const value = chanceOf(channel);
  const { min, max } = u.scales.y;
  return value !== null && value >= min && value <= max ? value : null;
}

function markChance(u, channel, colors) {
  const value = chanceIn(u, channel);
  if (value === null) return;
  const { ctx, bbox } = u;
  const y = u.valToPos(value, 'y', true);
  ctx.save();
  ctx.strokeStyle = colors.edge;
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([5 * devicePixelRatio, 4 * devicePixelRatio]);
  ctx.beginPath();
  ctx.moveTo(bbox.left, y);
  ctx.lineTo(bbox.left + bbox.width, y);
  ctx.stroke();
  ctx.restore();
}

function chanceLabel(u, channel) {
  const value = chanceIn(u, channel);
  if (value === null) return [];
  const t = text.value.training;
  const name = task.peek().good.metric === 'loss' ? t.pairs : t.guessing;
  // Above the line, at the left.
  return [{ name, left: 6, top: u.valToPos(value, 'y') - 9, align: 'left' }];
}

// ---- In words and in figures

function readout(channel, i) {
  const t = text.value.training;
  const [steps, ...columns] = columnsOf(channel);
  const list = runs.peek();
  if (i >= steps.length) return '';
  const said = list.flatMap((_, index) => {
    const [thin, thick] = [columns[index][i], columns[list.length + index]?.[i]];
    const value = channel === 'metric' ? (thick ?? thin) : thin;
    return value === null || value === undefined ? [] : [`${LETTERS[index]} ${number(value)}`];
  });
  return `${t.atStep(steps[i])}:  ${said.join('   ')}`;
}

function tableOf(channel) {
  slow.value; // a table that is shown follows, but not ten times a second
  const t = text.value.training;
  const [steps, ...columns] = columnsOf(channel);
  const list = runs.peek();
  const second = channel === 'metric' ? t.heldOut : t.smoothed;
  const head = columns.map((_, k) => (k < list.length ? nameOf(k) : `${LETTERS[k - list.length]} ${second}`));
  return {
    head: [t.stepsOf(curves.stride), ...head],
    rows: steps.map((step, i) => [String(step), ...columns.map((values) => values[i])]),
  };
}
