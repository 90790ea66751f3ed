// The figures of each configuration in one row, what could not be computed with its reason.
import { around, number, si } from '../../format.js';
import { medianSpread } from '../../numbers.js';
import { Table } from '../../parts/chart.jsx';
import { ConfigName } from '../../parts/controls.jsx';
import { errorWords } from '../../parts/module-error.jsx';
import { cancelled, picks, text } from '../../session.js';
import { broken, entries, figures, finished, gradient } from './view.js';

export function Summary() {
  const t = text.value;
  const d = t.depth;
  const { show, matrix } = gradient.value;
  const symbol = show === 'weights' ? d.symbols[matrix] : 'x';
  const head = [
    d.configuration,
    d.size,
    d.first(symbol),
    d.last,
    d.ratio,
    d.predicted,
    d.growth,
    d.predicted,
    d.branch,
  ];
  return (
    <section class="card">
      <h2>{d.table}</h2>
      <Table head={head} rows={picks.configs.map((_, index) => row(index, head.length))} caption={d.table} />
      <p class="note table-note">{footnote()}</p>
    </section>
  );
}

const figure = (spread) => (spread ? around(spread) : '–');

function row(index, length) {
  const d = text.value.depth;
  const entry = entries.value?.[index];
  const name = <ConfigName key="name" index={index} />;
  const rest = (cell) => Array(length - 2).fill(cell);
  if (!entry) return [name, '…', ...rest(cancelled.value ? '–' : '…')];
  const size = `${entry.d_model} × ${entry.d_ff}`;
  if (entry.error && !entry.probes.some(Boolean)) {
    const message = `${errorWords(entry.error)} ${entry.error.code}`;
    return [
      name,
      <span key="error" class="error-text" title={message}>
        {d.notComputed}
      </span>,
      ...rest('–'),
    ];
  }
  const { first, last, ratio, predicted, growth, predictedGrowth, branch } = figures.value[index];
  return [
    name,
    size,
    figure(first),
    figure(last),
    figure(ratio),
    number(predicted),
    figure(growth),
    number(predictedGrowth),
    figure(branch),
  ];
}

// What the figures are, and what is wrong with some.
function footnote() {
  const t = text.value;
  const d = t.depth;
  const list = entries.value ?? [];
  const probes = list.flatMap((entry) => entry.probes.filter(Boolean));
  const seeds = Math.max(0, ...list.map((entry) => entry.probes.filter(Boolean).length));
  const total = probes.reduce((sum, { seconds }) => sum + seconds, 0);
  const each = probes.length > 0 ? medianSpread(probes.map(({ seconds }) => seconds)).median : 0;
  return [
    seeds > 0 && d.tableNote(seeds),
    finished.value && probes.length > 0 && d.took(probes.length, si(total, 's'), si(each, 's')),
  ]
    .filter(Boolean)
    .join(t.sign.stop);
}

/** Below the pictures: configurations whose numbers end, or that could not run. */
export function Faults() {
  const t = text.value;
  const d = t.depth;
  const faults = (entries.value ?? []).flatMap((entry) => {
    const { index, error } = entry;
    const end = broken.value[index];
    const said = [];
    if (error) said.push(`${t.run.failed} ${errorWords(error).replace(/([^.）])$/, '$1.')} ${error.code}`);
    if (end) said.push(d.ends[end.way](end.layer, d.sublayers[end.sublayer]) + d.ofSeeds(end.seeds, end.of));
    return said.map((what) => ({ index, what }));
  });
  if (faults.length === 0) return null;
  return (
    <div role="alert">
      <ul class="depth-faults">
        {faults.map(({ index, what }) => (
          <li key={`${index} ${what}`} class="error-text">
            <ConfigName index={index} />
            {t.sign.colon}
            {what}
          </li>
        ))}
      </ul>
    </div>
  );
}
