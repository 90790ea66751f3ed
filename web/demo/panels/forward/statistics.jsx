// The output of each block in figures, and how long a forward pass takes.
import { batchesText, count, number, spread } from '../../format.js';
import { Table } from '../../parts/chart.jsx';
import { ConfigName } from '../../parts/controls.jsx';
import { cancelled, keys, picks, results, text } from '../../session.js';

export function Statistics() {
  const t = text.value;
  const { configs } = picks;
  const anyBroken = results.value.some(
    (entry) => entry?.result && entry.result.output.finite < entry.result.output.count,
  );
  const reduced = results.value.some((entry) => entry?.result && entry.result.rows < entry.result.given);
  const f = t.forward;
  const batches = results.value.flatMap((entry) => entry?.times?.[entry.result?.variant]?.count ?? []);
  const nearZero = results.value.some((entry) => entry?.result && isRounding(entry.result.output));
  const head = [
    f.configuration,
    f.tokens,
    f.mean,
    f.std,
    f.min,
    f.max,
    ...(anyBroken ? [f.nonFinite] : []),
    f.ratio,
    f.time,
  ];
  const rows = configs.map((_, index) => {
    const entry = results.value[index];
    const name = <ConfigName key="name" index={index} />;
    if (entry?.error)
      return [
        name,
        <span key="e" class="error-text">
          {f.notComputed}
        </span>,
        ...head.slice(2).map(() => '–'),
      ];
    if (!entry?.result) return [name, ...head.slice(1).map(() => (cancelled.value ? '–' : '…'))];
    const { output, stages, rows: used, given } = entry.result;
    const time = entry.times?.[entry.result.variant];
    const old = entry.key !== keys.value[index];
    const broken = output.count - output.finite;
    const cells = [
      name,
      used < given ? f.reducedRows(count(used), count(given)) : count(used),
      isRounding(output) ? (
        <abbr key="mean" title={number(output.mean)}>
          ≈ 0
        </abbr>
      ) : (
        number(output.mean)
      ),
      ...[output.std, output.min, output.max].map((value) => number(value)),
      ...(anyBroken
        ? [
            broken > 0 ? (
              <span key="b" class="error-text">
                {brokenText(output)}
              </span>
            ) : (
              '0'
            ),
          ]
        : []),
      stages?.branch ? ratioText(stages) : '–',
      time ? spread(time, 's') : cancelled.value || entry.timeError ? '–' : '…',
    ];
    return old
      ? cells.map((cell, i) =>
          i === 0 ? (
            cell
          ) : (
            <span key={i} class="old">
              {cell}
            </span>
          ),
        )
      : cells;
  });
  const notes = [
    batches.length > 0 && f.timeNote(batchesText(batches)),
    reduced && f.reducedNote,
    nearZero && f.nearZero,
  ].filter(Boolean);
  return (
    <section class="card">
      <h2>{f.tableTitle}</h2>
      <Table head={head} rows={rows} caption={f.tableTitle} />
      {notes.length > 0 && <p class="note table-note">{notes.join(t.sign.stop)}</p>}
    </section>
  );
}

/** Whether a mean is less than the rounding of the largest value in float32, so that its digits say nothing. */
const isRounding = ({ mean, min, max }) =>
  mean !== 0 && Math.abs(mean) < 2 ** -24 * Math.max(Math.abs(min), Math.abs(max));

function brokenText({ nan, plusInfinity, minusInfinity, count: total }) {
  const parts = [
    nan > 0 && `NaN ${count(nan)}`,
    plusInfinity > 0 && `∞ ${count(plusInfinity)}`,
    minusInfinity > 0 && `−∞ ${count(minusInfinity)}`,
  ];
  return text.value.forward.nonFiniteOf(parts.filter(Boolean).join(', '), count(total));
}

// Where tokens are mixed first, the branch meets the stream behind that.
function ratioText({ x, middle = x, branch }) {
  return middle.rms > 0 && branch.rms !== null ? number(branch.rms / middle.rms) : '–';
}
