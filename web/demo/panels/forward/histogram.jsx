// How the values of a signal are distributed in each block, over bins that all have in common.
import { axisNumber, count, percent, power, powers } from '../../format.js';
import { Chart, nameOf, ROOMY, shortName } from '../../parts/chart.jsx';
import { LETTERS } from '../../parts/configs.jsx';
import { outline } from '../../parts/curves.js';
import { drawMarker } from '../../parts/marker.jsx';
import { distributions, picks, set, text } from '../../session.js';
import { placeNames } from './name-curves.js';

// Many fills on top of each other say nothing.
const fillOf = (color, count) => (count > 4 ? undefined : `${color}${count > 2 ? '12' : '1f'}`);

// Most of what the axis holds is in one bin.
const isSpike = (counts) => Math.max(...counts) > 0.6 * counts.reduce((a, b) => a + b, 0);

// Shares of a configuration that is no longer there are not drawn.
const isCurrent = (index) => index < picks.configs.length;

export function Histogram() {
  const t = text.value;
  const { signal, logShare, sigma, configs } = picks;
  const shared = distributions.value;
  const shown = shared?.histograms[signal];
  const series = (shown?.series ?? [])
    .map((entry, index) => ({ entry, index }))
    .filter(({ entry, index }) => entry && isCurrent(index));
  const { low = 0, high = 1, bins = 1 } = shown ?? {};
  const width = (high - low) / bins;
  const centers = Array.from({ length: bins }, (_, i) => low + (i + 0.5) * width);
  const shares = series.map(({ entry }) => entry.counts.map((n) => n / entry.total));
  const top = Math.max(1e-6, ...shares.flat());
  const floor = 10 ** Math.floor(Math.log10(Math.min(...series.map(({ entry }) => 1 / entry.total), top / 10)));

  const build = (colors, plotWidth) => ({
    data: [centers, ...shares.map((values) => (logShare ? values.map((value) => (value > 0 ? value : null)) : values))],
    options: {
      scales: {
        x: { time: false, range: [low, high] },
        y: logShare ? { distr: 3, range: [floor, top * 2] } : { range: [0, top * 1.12] },
      },
      axes: [
        { size: 30, space: 60, values: (_, splits) => splits.map(axisNumber) },
        {
          size: 52,
          space: 40,
          splits: logShare ? () => powers(floor, top * 2) : undefined,
          filter: (_, splits) => splits, // uPlot's own drops what is no power of ten
          values: (_, splits) => splits.map((value) => (logShare ? power(value) : `${axisNumber(100 * value)}\u202f%`)),
        },
      ],
      series: [
        {},
        ...series.map(({ index }) => ({
          stroke: colors.line[index],
          width: 2,
          fill: fillOf(colors.line[index], series.length),
          paths: (u, s) => outline(u, u.data[s], low, width),
          points: { show: false },
        })),
      ],
    },
    marks: (u) => {
      if (series.length > 1) for (const [s, { index }] of series.entries()) markCurve(u, s + 1, index, colors);
    },
    labels: (u) =>
      placeNames(
        u,
        series.map(({ index }) => ({ index, name: plotWidth > ROOMY ? shortName(index) : LETTERS[index] })),
        colors.size,
      ),
  });

  const readout = (i) =>
    `${axisNumber(centers[i] - width / 2)} … ${axisNumber(centers[i] + width / 2)}:  ${series.map(({ index }, s) => `${LETTERS[index]} ${percent(shares[s][i])}`).join('   ')}`;
  const broken = series
    .map(({ entry, index }) => [
      LETTERS[index],
      entry.total - entry.below - entry.above - entry.counts.reduce((a, b) => a + b, 0),
    ])
    .filter(([, n]) => n > 0);
  // So much narrower than the widest that the shared bins do not show their shape.
  const narrow =
    series.length > 1 && !shared.sigma
      ? series.filter(({ entry }) => isSpike(entry.counts)).map(({ index }) => LETTERS[index])
      : [];
  const outside = series.reduce((sum, { entry }) => sum + entry.below + entry.above, 0);
  return (
    <Chart
      title={`${t.forward.histogram}${t.sign.colon}${t.signalNames[signal]}`}
      note={[
        shared?.sigma ? t.forward.sigmaNote : t.forward.histogramNote,
        narrow.length > 0 && t.forward.narrow(narrow.join(t.sign.list)),
        outside > 0 && t.forward.outside(outside, count(outside)),
        broken.length > 0 &&
          `${t.forward.nonFinite}${t.sign.colon}${broken.map(([letter, n]) => `${letter} ${count(n)}`).join(t.sign.comma)}`,
      ]
        .filter(Boolean)
        .join(t.sign.semicolon)}
      empty={series.length === 0}
      build={build}
      deps={[shared, signal, logShare, configs.map(({ name }) => name).join('\n'), t]}
      readout={readout}
      controls={
        <>
          <label class="check">
            <input
              type="checkbox"
              checked={sigma}
              aria-label={t.forward.sigmaLong}
              onChange={(event) => set({ sigma: event.target.checked })}
            />
            {t.forward.sigma}
          </label>
          <label class="check">
            <input
              type="checkbox"
              checked={logShare}
              aria-label={t.forward.logShareLong}
              onChange={(event) => set({ logShare: event.target.checked })}
            />
            {t.forward.logShare}
          </label>
        </>
      }
      table={{
        head: [t.forward.bin, ...series.map(({ index }) => nameOf(index))],
        rows: centers.map((_, i) => [low + i * width, ...shares.map((values) => values[i])]),
        format: percent,
      }}
    />
  );
}

// Six markers along a curve, where it is above the ground; each curve's at other bins.
function markCurve(u, s, index, colors) {
  const { ctx } = u;
  const scale = devicePixelRatio;
  const values = u.data[s];
  const ground = u.valToPos(u.scales.y.min, 'y', true) - 4 * scale;
  const every = values.length / 8;
  ctx.save();
  ctx.strokeStyle = colors.line[index];
  ctx.fillStyle = colors.surface;
  ctx.lineWidth = 1.5 * scale;
  for (let at = every * (0.5 + ((0.37 * s) % 1)); at < values.length; at += every) {
    const i = Math.floor(at);
    const y = values[i] > 0 ? u.valToPos(values[i], 'y', true) : ground;
    if (y < ground) drawMarker(ctx, index, u.valToPos(u.data[0][i], 'x', true), y, 3.25 * scale);
  }
  ctx.restore();
}
