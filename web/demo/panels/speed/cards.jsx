// Where a block's time goes, LayerNorm beside RMSNorm, and how the time grows with rows and width.
import { count, number, roughPercent, si, spread } from '../../format.js';
import { logAxis } from '../../parts/axes.js';
import { Chart, labelWidth, nameOf, ROOMY, shortName } from '../../parts/chart.jsx';
import { ConfigName } from '../../parts/controls.jsx';
import { curveData, curveSeries, markLine } from '../../parts/curves.js';
import { ExactTable } from '../../parts/exact-table.jsx';
import { LETTERS, lookOf } from '../../parts/look.js';
import { cancelled, panelResults, picks, text } from '../../session.js';
import { compareNorms, exactNorms, exactParts, exactSweep, normsOf } from './figures.js';
import './style.css';

/** In place of a figure: on its way, or not coming. */
export const waiting = () => (cancelled.value ? '–' : '…');
const speed = () => panelResults.value.speed?.value ?? {};
/** Those of configurations that are there. */
const current = (list = []) => list.slice(0, picks.configs.length);
export const names = () => picks.configs.map((_, index) => nameOf(index));

// ---- The parts of a block

const totalOf = ({ parts }) => parts.reduce((sum, { calls, median }) => sum + calls * median, 0);
const lengthOf = ({ calls, median }) => Math.max(0, calls * median); // a difference may be negative
const labelOf = ({ name, calls }) =>
  calls > 1 ? `${calls} × ${text.value.parts.names[name]}` : text.value.parts.names[name];

export function Parts() {
  const t = text.value.parts;
  const list = current(speed().parts);
  return (
    <section class="card">
      <h2>{t.title}</h2>
      <p class="note">{t.note}</p>
      <div class="parts" aria-hidden="true">
        {list.map((one, index) => one.block && <PartBars key={index} {...{ one, index }} />)}
      </div>
      <ExactTable
        head={t.head}
        rows={picks.configs.flatMap((_, index) => partRows(list[index], index))}
        exact={() => exactParts(list, names(), text.value)}
        caption={t.title}
      />
      <p class="note table-note">{t.explain}</p>
    </section>
  );
}

// Each configuration by its own time: shares are compared, the times stand beside.
function PartBars({ one, index }) {
  const t = text.value.parts;
  const { block, parts } = one;
  const top = Math.max(block.median, totalOf(one));
  const width = (seconds) => ({ width: `${(100 * seconds) / top}%` });
  return (
    <div class={`parts-group ${lookOf(index)}`}>
      <ConfigName index={index} />
      <div class="parts-row">
        <span class="parts-name">{t.apart}</span>
        <span class="parts-track">
          {parts.map((part) => (
            <span key={part.name} class={`part part-${part.name}`} style={width(lengthOf(part))}>
              <span>{labelOf(part)}</span>
            </span>
          ))}
        </span>
        <span class="parts-value">{si(totalOf(one), 's')}</span>
      </div>
      <div class="parts-row">
        <span class="parts-name">{t.whole}</span>
        <span class="parts-track">
          <span class="part part-block" style={width(block.median)} />
        </span>
        <span class="parts-value">{si(block.median, 's')}</span>
      </div>
    </div>
  );
}

function partRows(one, index) {
  const t = text.value.parts;
  const name = <ConfigName key="name" index={index} />;
  if (!one?.block) return [[name, one ? t.reasons[one.reason] : waiting(), ...Array(4).fill('–')]];
  const { block, parts, rows } = one;
  const row = (label, part, share) => [name, label, count(rows), spread(part, 's'), share, rateOf(part)];
  return [
    ...parts.map((part) => row(labelOf(part), part, roughPercent((part.calls * part.median) / block.median))),
    row(t.whole, block, ''),
  ];
}

const rateOf = ({ flops, bytes, median }) => {
  if (flops) return si(flops / median, 'FLOP/s');
  return bytes ? si(bytes / median, 'B/s') : '–';
};

// ---- LayerNorm and RMSNorm

export function Norms() {
  const t = text.value.parts;
  const { norms = [] } = speed();
  const list = current(speed().parts);
  return (
    <section class="card">
      <h2>{t.norms}</h2>
      <p class="note">{t.normsNote}</p>
      <ExactTable
        head={t.normsHead}
        rows={picks.configs.map((_, index) => normRow(list[index], norms, index))}
        exact={() => exactNorms(list, norms, names(), text.value)}
        caption={t.norms}
      />
    </section>
  );
}

function normRow(one, norms, index) {
  const t = text.value;
  const name = <ConfigName key="name" index={index} />;
  const compared = one && compareNorms(one, norms);
  const isOver = one && (!one.d || normsOf(norms, one)); // no such block, no such width
  if (!compared) return [name, isOver ? '–' : waiting(), ...Array(4).fill('–')];
  const { layer, rms, ratio, share, unclear } = compared;
  return [
    name,
    `${count(one.rows)} × ${count(one.d)}`,
    spread(layer, 's'),
    spread(rms, 's'),
    number(ratio, 2),
    share === null
      ? t.parts.unmeasured
      : [roughPercent(share), ...(unclear ? [t.parts.unclear] : [])].join(t.sign.semicolon),
  ];
}

// ---- Time against rows and width

/** @param {{ of: 'rows' | 'width' }} props */
export function Sweep({ of }) {
  const t = text.value;
  const { configs } = picks;
  const { sizes = [], lines = [], reasons = [] } = speed()[of] ?? {};
  const all = current(lines);
  const missing = current(reasons).flatMap((reason, index) =>
    reason ? `${nameOf(index)}${t.sign.colon}${t.parts.missing[reason]}` : [],
  );
  // Sizes that no configuration reaches are not drawn.
  const end = sizes.findLastIndex((_, i) => all.some((line) => line[i])) + 1;
  const shown = sizes.slice(0, end);
  const curves = all.flatMap((line, index) => {
    const at = (part) => shown.map((_, i) => (line[i] ? 1e6 * line[i][part] : null));
    return line.some(Boolean) ? [{ index, median: at('median'), low: at('low'), high: at('high') }] : [];
  });
  const vertical = logAxis(() => curves.flatMap(({ low, high }) => [...low, ...high]));
  const build = (colors, width) => {
    const nameFor = (index) => (width > ROOMY ? shortName(index) : LETTERS[index]);
    return {
      data: [shown.map((_, i) => i), ...curveData(curves)],
      options: {
        padding: [8, 16 + Math.max(8, ...curves.map(({ index }) => labelWidth(nameFor(index), colors.size))), 0, 0],
        scales: { x: { time: false, range: [0, Math.max(1, end - 1)] }, y: vertical.scale },
        axes: [
          {
            size: 30,
            grid: { show: false },
            splits: () => shown.map((_, i) => i),
            values: (_, splits) => splits.map((i) => (width > ROOMY || i % 2 === 0 ? String(shown[i]) : '')),
          },
          vertical.axis,
        ],
        ...curveSeries(curves, colors),
      },
      marks: (u) => {
        for (const { index, median } of curves) markLine(u, u.data[0], median, index, colors, { count: shown.length });
      },
      labels: () =>
        curves.map(({ index, median }) => {
          const i = median.findLastIndex((value) => value !== null);
          return { index, name: nameFor(index), x: i, y: median[i], align: 'left' };
        }),
    };
  };
  const said = (value) => (value === null || value === undefined ? '–' : si(value / 1e6, 's'));
  return (
    <Chart
      title={t.parts.sweeps[of]}
      note={[t.parts.sweepNotes[of], ...(curves.length > 0 ? missing : [])].join(t.sign.semicolon)}
      empty={curves.length === 0 && (missing.join(t.sign.semicolon) || (cancelled.value ? t.run.cancelled : true))}
      build={build}
      deps={[speed()[of], configs.map(({ name }) => name).join('\n'), t]}
      readout={(i) =>
        `${t.parts.at[of](shown[i])}  ${curves.map(({ index, median }) => `${LETTERS[index]} ${said(median[i])}`).join('   ')}`
      }
      table={{
        head: [t.parts.sizeHead[of], ...curves.map(({ index }) => nameOf(index))],
        rows: shown.map((size, i) => [String(size), ...curves.map(({ median }) => said(median[i]))]),
        exact: () => {
          const measured = curves.map(({ index }) => ({ name: nameOf(index), line: all[index] }));
          return exactSweep(t.parts.sizeHead[of], shown, measured, missing, t);
        },
      }}
    />
  );
}
