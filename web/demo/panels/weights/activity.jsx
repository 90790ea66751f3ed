// Of how many tokens each hidden unit is active.
import uPlot from 'uplot';
import { axisNumber, count, percent } from '../../format.js';
import { Chart } from '../../parts/chart.jsx';
import { file, text } from '../../session.js';
import { isMissing } from './opened.js';
import { axisLabel } from './weights-chart.jsx';

export function ActivityChart({ subject, result }) {
  const t = text.value.weights.activity;
  const { activity, rows } = result;
  const counts = activity?.counts ?? [];
  const bins = counts.length || 1;
  const centers = counts.map((_, i) => (i + 0.5) / bins);
  const top = Math.max(1, ...counts);
  const edge = (i) => percent(i / bins);

  const build = (colors) => {
    const color = subject.index < 0 ? colors.ink : colors.line[subject.index];
    return {
      data: [centers, counts],
      options: {
        padding: [8, 24, 0, 0],
        scales: { x: { time: false, range: [0, 1] }, y: { range: [0, top * 1.12] } },
        axes: [
          {
            ...axisLabel(t.axis, colors),
            space: 60,
            values: (_, at) => at.map((x) => `${axisNumber(100 * x)}\u202f%`),
          },
          { size: 52, space: 48, values: (_, at) => at.map(axisNumber) },
        ],
        series: [
          {},
          {
            stroke: color,
            fill: `${color}66`,
            width: 1,
            paths: uPlot.paths.bars({ size: [0.9], gap: 1 }),
            points: { show: false },
          },
        ],
      },
      labels: () => [],
    };
  };

  const reason = activity?.reason && t.reasons[activity.reason];
  const summary =
    activity?.units &&
    t.summary(count(activity.never), percent(activity.never / activity.units), count(activity.always));
  return (
    <Chart
      title={t.title}
      note={[summary, (file.value ? t.noteFile : t.note)(count(rows ?? 0))]
        .filter(Boolean)
        .join(text.value.sign.semicolon)}
      empty={isMissing(subject.trained) ? text.value.weights.missing : (reason ?? counts.length === 0)}
      build={build}
      deps={[activity, subject.index, t]}
      readout={(i) => `${edge(i)} … ${edge(i + 1)}:  ${count(counts[i])} ${t.units}`}
      table={{ head: [t.from, t.units], rows: counts.map((n, i) => [`${edge(i)} … ${edge(i + 1)}`, count(n)]) }}
    />
  );
}
