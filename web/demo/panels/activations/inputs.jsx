// What enters each configuration's activation, in figures: how much of it lies where nothing comes back.
import { count, number, percent, si } from '../../format.js';
import { Table } from '../../parts/chart.jsx';
import { ConfigName } from '../../parts/controls.jsx';
import { LETTERS } from '../../parts/look.js';
import { cancelled, picks, text } from '../../session.js';
import { curveName } from './view.js';

export function InputsTable({ view }) {
  const t = text.value;
  const a = t.activations;
  const { configs, flat } = picks;
  const entries = view.value.entries ?? [];
  const head = [...a.head.slice(0, 3), a.dead, a.saturated, a.zero, ...a.head.slice(3)];
  const rows = configs.map((_, index) => {
    const name = <ConfigName key="name" index={index} />;
    const entry = entries[index];
    if (entry?.error) return [name, <Reason key="error" error={entry.error} />, ...head.slice(2).map(() => '–')];
    if (!entry) return [name, ...head.slice(1).map(() => (cancelled.value ? '–' : '…'))];
    const { curve, gate, shares, zero, rows: tokens, units, of, summary, tails } = entry;
    const share = (kind) =>
      tails.left?.kind === kind || tails.right?.kind === kind ? percent(shares[kind]) : <span key={kind}>–</span>;
    const { finite, mean, std, min, max } = summary;
    return [
      name,
      curveName(curve),
      a.stage[gate ? 'gate' : 'up'],
      share('dead'),
      share('saturated'),
      percent(zero),
      <abbr
        key="count"
        title={a.tokensUnits(count(tokens), units < of ? a.some(count(units), count(of)) : count(units))}
      >
        {count(finite)}
      </abbr>,
      ...[mean, std, min, max].map((value) => number(value)),
    ];
  });
  const left = entries.map((entry) => entry.summary && entry.summary.count - entry.summary.finite);
  const reduced = configs.flatMap((_, index) => {
    const { units, of } = entries[index] ?? {};
    return units < of ? [a.reduced(LETTERS[index], count(units), count(of))] : [];
  });
  const missing = left.reduce((sum, n) => sum + (n ?? 0), 0);
  return (
    <section class="card">
      <h2>{a.into}</h2>
      <Table head={head} rows={rows} caption={a.into} />
      <p class="note table-note">
        {a.intoNote(String(flat))}
        {[missing > 0 && a.notFinite(count(missing)), ...reduced]
          .filter(Boolean)
          .map((said) => t.sign.semicolon + said)
          .join('')}
      </p>
    </section>
  );
}

function Reason({ error }) {
  const a = text.value.activations;
  return (
    <span class="error-text acts-reason">
      {error.code === 'TOO_LARGE' ? a.tooLarge(si(error.bytes, 'B')) : error.message}
    </span>
  );
}
