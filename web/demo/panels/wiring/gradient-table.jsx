// The gradients in figures, and what widths of lines mean.
import { number } from '../../format.js';
import { Table } from '../../parts/chart.jsx';
import { ConfigName } from '../../parts/controls.jsx';
import { cancelled, picks, text } from '../../session.js';

export function Gradients({ entries }) {
  const t = text.value;
  const places = Object.keys(t.wiring.edges).filter((edge) =>
    entries.some((entry) => entry?.edges?.[edge] !== undefined),
  );
  const waiting = (entry) => (entry?.error || cancelled.value ? '–' : entry ? '' : '…');
  return (
    <section class="card gradient-table">
      <h2>{t.wiring.gradientTable}</h2>
      <p class="note">{t.wiring.gradientNote}</p>
      <Table
        head={[t.wiring.place, ...picks.configs.map((_, index) => <ConfigName key={index} index={index} />)]}
        rows={places.map((edge) => [
          t.wiring.edges[edge],
          ...entries.map((entry) => (entry?.edges?.[edge] === undefined ? waiting(entry) : number(entry.edges[edge]))),
        ])}
        caption={t.wiring.gradientTable}
      />
    </section>
  );
}

/** A few lines and what they stand for. */
export function Legend({ scale, steps }) {
  const t = text.value.wiring;
  const samples = [0, ...steps];
  return (
    <p class="wiring-legend note">
      {t.legend}
      {samples.map((norm) => {
        const { width, opacity, dash } = scale(norm);
        return (
          <span key={norm}>
            <svg viewBox="0 0 32 12" aria-hidden="true">
              <path d="M0 6H32" style={{ strokeWidth: width, opacity, strokeDasharray: dash }} />
            </svg>
            {norm === 0 ? t.zero : number(norm, 2)}
          </span>
        );
      })}
    </p>
  );
}
