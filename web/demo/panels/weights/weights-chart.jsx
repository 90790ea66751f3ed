// How the weights are distributed, each matrix by itself, and their figures.
import { axisNumber, count, number, percent, power, powers } from '../../format.js';
import { Chart, FAMILY, Table } from '../../parts/chart.jsx';
import { outline } from '../../parts/curves.js';
import { picks, set, text } from '../../session.js';
import { isMissing, openedAs } from './opened.js';
import { normalShares } from './stats.js';
import { nameOfTrained } from './subject.js';

// Of one configuration's colour: what is drawn first is strongest.
const SHADES = ['', 'a6', '70'];
const ORDER = ['up', 'gate', 'down'];

/** An x axis with what it shows below. */
export const axisLabel = (label, colors) => ({
  size: 30,
  label,
  labelSize: 18,
  labelGap: 2,
  labelFont: `${colors.size}px ${FAMILY}`,
});

export function WeightsChart({ subject, result }) {
  const t = text.value.weights.weights;
  const { weightsLog: log } = picks;
  const { spread, tensors } = result.figures ?? {};
  const series = (spread?.series ?? [])
    .map(({ counts, outside }, i) => {
      const total = tensors.find(({ name }) => name === spread.names[i]).finite;
      return { name: spread.names[i], shares: counts.map((n) => n / Math.max(1, total)), outside, total };
    })
    .sort((a, b) => ORDER.indexOf(a.name) - ORDER.indexOf(b.name));
  const { reach = 1, bins = 1, width = 1 } = spread ?? {};
  const centers = Array.from({ length: bins }, (_, i) => (i + 0.5) * width - reach);
  const normal = spread ? normalShares(spread) : [];
  const top = Math.max(1e-6, ...series.flatMap(({ shares }) => shares), ...normal);
  const floor = 10 ** Math.floor(Math.log10(Math.min(0.1, ...series.map(({ total }) => 1 / Math.max(1, total)))));
  const drawn = (shares) => (log ? shares.map((share) => (share >= floor ? share : null)) : shares);
  const outside = series.reduce((sum, entry) => sum + entry.outside, 0);

  const build = (colors) => {
    const color = subject.index < 0 ? colors.ink : colors.line[subject.index];
    return {
      data: [centers, ...series.map(({ shares }) => drawn(shares)), drawn(normal)],
      options: {
        padding: [8, 16, 0, 0],
        scales: {
          x: { time: false, range: [-reach, reach] },
          y: log ? { distr: 3, range: [floor, top * 2] } : { range: [0, top * 1.12] },
        },
        axes: [
          { ...axisLabel(t.axis, colors), space: 48, values: (_, at) => at.map(axisNumber) },
          {
            size: 52,
            space: 36,
            splits: log ? () => powers(floor, top * 2) : undefined,
            filter: (_, at) => at, // uPlot's own drops what is no power of ten
            values: (_, at) => at.map((value) => (log ? power(value) : `${axisNumber(100 * value)}\u202f%`)),
          },
        ],
        series: [
          {},
          ...series.map((_, i) => ({
            stroke: `${color}${SHADES[i]}`,
            width: 2,
            paths: (u, s) => outline(u, u.data[s], -reach, width),
            points: { show: false },
          })),
          { stroke: colors.muted, width: 1.25, dash: [5, 4], points: { show: false } },
        ],
      },
      marks: (u) => drawSamples(u, series, color, colors),
      labels: (u) => sampleNames(u, series, subject.index),
    };
  };

  return (
    <Chart
      title={t.of(nameOfTrained(subject.trained))}
      note={[t.note, outside > 0 && t.outside(count(outside))].filter(Boolean).join(text.value.sign.semicolon)}
      empty={isMissing(subject.trained) ? text.value.weights.missing : series.length === 0}
      build={build}
      deps={[spread, log, subject.index, t]}
      readout={(i) =>
        `${axisNumber(centers[i] - width / 2)} … ${axisNumber(centers[i] + width / 2)}:  ${[
          ...series.map(({ name, shares }) => `${name} ${percent(shares[i])}`),
          `${t.normal} ${percent(normal[i])}`,
        ].join('   ')}`
      }
      controls={
        <label class="check">
          <input
            type="checkbox"
            checked={log}
            aria-label={t.logLong}
            onChange={(event) => set({ weightsLog: event.target.checked })}
          />
          {t.log}
        </label>
      }
      table={{
        head: [t.bin, ...series.map(({ name }) => name), t.normal],
        rows: centers.map((_, i) => [i * width - reach, ...series.map(({ shares }) => shares[i]), normal[i]]),
        format: percent,
      }}
    />
  );
}

// The lines lie on each other for the most part, so their names stand in the corner, each beside a piece of its line.
const SAMPLE = { from: 76, to: 52, top: 14, step: 17 };

function drawSamples(u, series, color, colors) {
  const { ctx, bbox } = u;
  const scale = devicePixelRatio;
  const right = bbox.left + bbox.width;
  const styles = [...series.map((_, i) => [`${color}${SHADES[i]}`, 2, []]), [colors.muted, 1.25, [5, 4]]];
  ctx.save();
  for (const [i, [stroke, width, dash]] of styles.entries()) {
    const y = bbox.top + (SAMPLE.top + SAMPLE.step * i) * scale;
    ctx.strokeStyle = stroke;
    ctx.lineWidth = width * scale;
    ctx.setLineDash(dash.map((length) => length * scale));
    ctx.beginPath();
    ctx.moveTo(right - SAMPLE.from * scale, y);
    ctx.lineTo(right - SAMPLE.to * scale, y);
    ctx.stroke();
  }
  ctx.restore();
}

function sampleNames(u, series, index) {
  const left = u.bbox.width / devicePixelRatio - SAMPLE.to + 8;
  const at = (i) => ({ left, top: SAMPLE.top + SAMPLE.step * i, align: 'left' });
  const own = index < 0 ? {} : { index };
  return [
    ...series.map(({ name }, i) => ({ ...own, name, ...at(i) })),
    { name: text.value.weights.weights.normal, ...at(series.length) },
  ];
}

const shapeOf = (name, { d_model, d_ff }) =>
  ({ up: [d_ff, d_model], gate: [d_ff, d_model], down: [d_model, d_ff] })[name];

/** Every tensor's figures. */
export function Figures({ subject, result }) {
  const t = text.value.weights.weights;
  const { trained } = subject;
  const layer =
    trained.source &&
    openedAs(trained.source.file)?.summary.layers.find(({ key }) => key.replaceAll('~', '-') === trained.source.layer);
  const tensors = result.figures?.tensors ?? [];
  const broken = tensors.filter(({ finite, count: all }) => finite < all);
  const rows = tensors.map(({ name, count: all, finite, rms, largest, outliers, zeros, kurtosis }) => {
    const parameter = layer?.parameters.find((candidate) => candidate.name === name);
    return [
      name,
      ...(layer ? [parameter?.tensor || '–', parameter?.dtype || '–'] : []),
      shapeOf(name, trained.fixed)?.join(' × ') ?? count(all),
      number(rms),
      number(largest),
      number(rms > 0 ? largest / rms : null),
      count(outliers),
      percent(zeros / Math.max(1, all)),
      number(kurtosis),
      ...(broken.length > 0 ? [count(all - finite)] : []),
    ];
  });
  return (
    <section class="card">
      <h2>{t.tableTitle}</h2>
      {broken.length > 0 && (
        <p class="error-text" role="alert">
          {t.broken(broken.map(({ name }) => name).join(text.value.sign.list))}
        </p>
      )}
      <Table
        head={[
          t.tensor,
          ...(layer ? [t.inFile, t.type] : []),
          t.shape,
          t.rms,
          t.largest,
          t.ratio,
          t.outliers,
          t.zeros,
          t.kurtosis,
          ...(broken.length > 0 ? [t.nonFinite] : []),
        ]}
        rows={rows}
        caption={t.tableTitle}
      />
      <p class="note table-note">{t.tableNote}</p>
    </section>
  );
}
