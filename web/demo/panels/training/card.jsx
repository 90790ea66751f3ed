// A card whose content can be seen as a table instead, as the charts' can.
import { useState } from 'preact/hooks';
import { Table } from '../../parts/chart.jsx';
import { text } from '../../session.js';

/**
 * @param {object} props
 * @param props.title @param props.note @param props.empty whether there is nothing to show yet
 * @param props.table () => { head, rows }; none: the content is text already
 */
export function Card({ title, note, empty, table, class: look = '', children }) {
  const t = text.value;
  const [asTable, setAsTable] = useState(false);
  return (
    <section class={`card ${look}`} aria-label={title}>
      <div class="card-head">
        <div>
          <h2>{title}</h2>
          <p class="note readout">{note}</p>
        </div>
        {table && (
          <div class="card-tools">
            <button
              type="button"
              class="quiet small"
              aria-pressed={asTable}
              aria-label={`${title}: ${t.chart.table}`}
              onClick={() => setAsTable(!asTable)}
            >
              {asTable ? t.forward.asChart : t.forward.asTable}
            </button>
          </div>
        )}
      </div>
      {empty ? (
        <p class="waiting">{t.run.waiting}</p>
      ) : asTable && table ? (
        <Figures table={table} caption={title} />
      ) : (
        children
      )}
    </section>
  );
}

const Figures = ({ table, caption }) => <Table {...table()} caption={caption} tall />;
