// GELU beside its approximations: how far they are from x·Φ(x).
import { axisNumber, count, number, power, powers } from '../../format.js';
import { Chart, Table } from '../../parts/chart.jsx';
import { activationName } from '../../parts/configs.jsx';
import { nameCurves } from '../../parts/name-curves.js';
import { picks, set, text } from '../../session.js';
import { APPROXIMATIONS } from './compute.js';
import { overX } from './curves.jsx';
import { DASHES, drawable, strokeOf } from './view.js';

const LEAST = 1e-9; // of the logarithmic scale of differences
const TABLE_STEP = 12;

/** How an approximation is drawn: as its curve, if that is shown. */
const lookOf = (name, curves) =>
  curves.find((curve) => curve.name === name) ?? { owners: [], dash: DASHES[APPROXIMATIONS.indexOf(name)] };

export function DifferenceChart({ view }) {
  const t = text.value;
  const a = t.activations;
  const { logDifference } = picks;
  const { value, curves } = view;
  const found = value.differences;
  const lines = found?.lines ?? [];
  const readout = (i) =>
    `x ${axisNumber(found.x[i])}   ${lines.map(({ name, shown }) => `${activationName(name)} ${number(shown[i])}`).join('   ')}`;
  return (
    <Chart
      title={a.difference}
      note={found ? a.differenceNote(count(found.points)) : ' '}
      empty={!found}
      build={(colors) => buildDifferences(found, curves, logDifference, colors)}
      deps={[found, logDifference, curves.map(({ label }) => label).join('\n'), t]}
      readout={readout}
      controls={
        <label class="check">
          <input
            type="checkbox"
            checked={logDifference}
            aria-label={a.logLong}
            onChange={(event) => set({ logDifference: event.target.checked })}
          />
          {a.log}
        </label>
      }
      table={() => ({
        head: [a.x, ...lines.map(({ name }) => activationName(name))],
        rows: Array.from(found?.x ?? [], (x, i) => [x, i])
          .filter(([, i]) => i % TABLE_STEP === 0)
          .map(([x, i]) => [x, ...lines.map(({ shown }) => shown[i])]),
      })}
    />
  );
}

// The range is that of the figures: what is newly asked for is drawn when it is there.
function buildDifferences({ range, x, lines }, curves, isLog, colors) {
  const shape = (list) => (isLog ? Array.from(list, (d) => Math.max(LEAST, Math.abs(d))) : drawable(list));
  const common = overX(range);
  const data = lines.map(({ shown }) => shape(shown));
  const all = data.flat();
  const [low, high] = [Math.min(0, ...all), Math.max(1e-7, ...all)];
  const pad = 0.12 * (high - low);
  const top = 10 ** Math.ceil(Math.log10(Math.max(1e-6, ...all)));
  return {
    data: [Array.from(x), ...data],
    options: {
      ...common,
      scales: {
        ...common.scales,
        y: isLog ? { distr: 3, range: [LEAST, top] } : { range: [low - pad, high + pad] },
      },
      axes: [
        common.axis,
        {
          size: 56,
          space: 48,
          splits: isLog ? () => powers(LEAST, top) : undefined,
          filter: (_, splits) => splits,
          values: (_, splits) => splits.map((split) => (isLog ? power(split) : axisNumber(split))),
        },
      ],
      series: [
        {},
        ...lines.map(({ name }) => ({ ...strokeOf(lookOf(name, curves), colors), points: { show: false } })),
      ],
    },
    labels: (u) =>
      nameCurves(
        u,
        lines.map(({ name }, i) => ({
          name: activationName(name),
          index: lookOf(name, curves).owners[0],
          series: i + 1,
        })),
        colors.size,
      ),
  };
}

export function DifferenceTable({ view }) {
  const a = text.value.activations;
  const found = view.value.differences;
  if (!found) return null;
  const rows = found.lines.map(({ name, largest, at, exact }) => [
    activationName(name),
    number(largest),
    number(at),
    exact === 0 ? '–' : number(Math.abs(largest / exact)),
  ]);
  return (
    <section class="card">
      <h2>{a.differenceTable}</h2>
      <Table head={a.differenceHead} rows={rows} caption={a.differenceTable} />
      <p class="note table-note">{a.differenceNote(count(found.points))}</p>
    </section>
  );
}
