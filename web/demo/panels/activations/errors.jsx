// How far from the true value the package and the usual formulas are in float32.
import { axisNumber, count, number, power, powers } from '../../format.js';
import { Chart, FAMILY, labelWidth, Table } from '../../parts/chart.jsx';
import { activationName } from '../../parts/configs.jsx';
import { nameCurves } from '../../parts/name-curves.js';
import { picks, set, text } from '../../session.js';
import { ERROR_BINS } from './compute.js';
import { overX } from './curves.jsx';
import { FILE, MEASURED } from './measured.js';
import { NAIVE } from './naive.js';
import { NAMES } from './state.js';
import { DASHES } from './view.js';

const FLOOR = 0.1; // ULP: less is drawn there

/** Names of the lines: ours, then the formulas. */
const linesOf = (name) => [text.value.activations.ours, ...(NAIVE[name] ?? []).map(([formula]) => formula)];

export function ErrorChart({ view }) {
  const t = text.value;
  const a = t.activations;
  const { errorOf } = picks;
  const found = view.value.errors;
  const lines = found?.lines ?? [];
  const names = linesOf(found?.name ?? errorOf);
  const [low, high] = found?.range ?? view.range;
  const centers = Array.from({ length: ERROR_BINS }, (_, i) => low + ((high - low) * (i + 0.5)) / ERROR_BINS);
  const readout = (i) =>
    `x ${axisNumber(centers[i])}   ${lines.map(({ max }, l) => `${names[l]}: ${number(max[i])}\u202fULP`).join('   ')}`;
  return (
    <Chart
      title={a.errors(activationName(found?.name ?? errorOf))}
      note={found ? a.errorNote(count(found.points)) : ' '}
      empty={!found}
      build={(colors) => buildErrors(found, centers, names, colors)}
      deps={[found, t]}
      readout={readout}
      controls={
        <select
          class="acts-select"
          aria-label={a.errorOf}
          value={errorOf}
          onChange={(event) => set({ errorOf: event.target.value })}
        >
          {NAMES.map((name) => (
            <option key={name} value={name}>
              {activationName(name)}
            </option>
          ))}
        </select>
      }
      table={() => ({
        head: [a.x, ...names.slice(0, lines.length).map((name) => `${name}, ULP`)],
        rows: centers
          .map((x, i) => [x, i])
          .filter(([, i]) => i % 6 === 0)
          .map(([x, i]) => [x, ...lines.map(({ max }) => max[i])]),
      })}
    />
  );
}

function buildErrors({ name, range, lines }, centers, names, colors) {
  const a = text.value.activations;
  const finite = lines.flatMap(({ max }) => Array.from(max).filter(Number.isFinite));
  const top = 10 ** (Math.ceil(Math.log10(Math.max(8, ...finite))) + 1);
  const common = overX(range);
  const looks = [
    { stroke: colors.ink, width: 2 },
    ...DASHES.map((dash) => ({ stroke: colors.muted, width: 1.5, dash })),
  ];
  return {
    data: [
      centers,
      ...lines.map(({ max }) => Array.from(max, (ulp) => (ulp === Infinity ? null : Math.max(FLOOR, ulp)))),
    ],
    options: {
      ...common,
      scales: { ...common.scales, y: { distr: 3, range: [FLOOR, top] } },
      axes: [
        common.axis,
        {
          size: 44,
          splits: () => powers(FLOOR, top),
          filter: (_, splits) => splits,
          values: (_, splits) => splits.map(power),
        },
      ],
      series: [{}, ...lines.map((_, i) => ({ ...looks[i], points: { show: false } }))],
    },
    marks: (u) => {
      drawBound(u, MEASURED[name][0], colors, a);
      drawBroken(u, lines, centers, colors, a);
    },
    labels: (u) => {
      const place = brokenPlace(u, lines, centers, colors.size, a);
      const items = names.map((line, i) => ({ name: line, series: i + 1 }));
      return nameCurves(u, items, colors.size, { reserved: place ? [place] : [] });
    },
  };
}

function drawBound(u, bound, colors, a) {
  if (bound === 0) return;
  const { ctx, bbox } = u;
  const scale = devicePixelRatio;
  const y = u.valToPos(bound, 'y', true);
  ctx.save();
  ctx.strokeStyle = colors.edge;
  ctx.fillStyle = colors.muted;
  ctx.lineWidth = scale;
  ctx.setLineDash([1.5 * scale, 3 * scale]);
  ctx.beginPath();
  ctx.moveTo(bbox.left, y);
  ctx.lineTo(bbox.left + bbox.width, y);
  ctx.stroke();
  ctx.font = `${colors.size * scale}px ${FAMILY}`;
  ctx.textAlign = 'right';
  ctx.textBaseline = 'bottom';
  ctx.fillText(a.bound(bound), bbox.left + bbox.width - 4 * scale, y - 2 * scale);
  ctx.restore();
}

const BROKEN = { thick: 3, pitch: 5 }; // a bar for each line, in pixels

// Where it stands what the bars at the top mean: under the first of them, within the plot; null if there are none.
function brokenPlace(u, lines, centers, size, a) {
  const bins = centers.filter((_, i) => lines.some(({ max }) => max[i] === Infinity));
  const shown = bins.map((x) => u.valToPos(x, 'x')).filter((left) => left >= 0 && left <= u.width);
  if (shown.length === 0) return null;
  const room = labelWidth(a.broken, size);
  const from = Math.max(0, Math.min(shown[0], u.bbox.width / devicePixelRatio - room - 4));
  return { from, to: from + room, top: 6 + BROKEN.pitch * lines.length + 0.6 * size };
}

// What has no error in ULP is marked at the top, in the colour of errors.
function drawBroken(u, lines, centers, colors, a) {
  const place = brokenPlace(u, lines, centers, colors.size, a);
  if (!place) return;
  const { ctx, bbox } = u;
  const scale = devicePixelRatio;
  const width = (bbox.width / centers.length) * 1.1;
  ctx.save();
  ctx.fillStyle = colors.error;
  for (const [l, { max }] of lines.entries()) {
    for (const [i, x] of centers.entries()) {
      const left = u.valToPos(x, 'x', true);
      if (max[i] !== Infinity || left < bbox.left || left > bbox.left + bbox.width) continue;
      ctx.fillRect(left - width / 2, bbox.top + (2 + BROKEN.pitch * l) * scale, width, BROKEN.thick * scale);
    }
  }
  ctx.font = `600 ${colors.size * scale}px ${FAMILY}`;
  ctx.textAlign = 'left';
  ctx.textBaseline = 'middle';
  ctx.fillText(a.broken, bbox.left + place.from * scale, bbox.top + place.top * scale);
  ctx.restore();
}

export function ErrorTable({ view }) {
  const a = text.value.activations;
  const found = view.value.errors;
  if (!found) return null;
  const name = activationName(found.name);
  const [bound, plain, fused] = MEASURED[found.name];
  const names = linesOf(found.name);
  const rows = found.lines.map(({ largest, at, got, want, infinite, first }, i) => [
    i === 0 ? `${names[0]} (${view.value.variant})` : names[i],
    largest < 0 ? '–' : number(largest),
    ...(largest < 0 ? ['–', '–', '–'] : [number(at), number(got), number(want)]),
    infinite > 0 ? a.firstAt(count(infinite), number(first.at), number(first.got), number(first.want)) : '0',
  ]);
  return (
    <section class="card">
      <h2>{a.errorTable(name)}</h2>
      <Table head={a.errorHead} rows={rows} caption={a.errorTable(name)} />
      <p class="note table-note">
        {a.errorTableNote(count(found.points))}.{' '}
        {bound === 0 ? a.everywhereExact : a.everywhere(number(plain), number(fused))}
        <code>{FILE}</code>
      </p>
    </section>
  );
}
