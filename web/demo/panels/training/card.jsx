// A card whose content can be seen as a table instead and saved, as the charts' can.
import { useRef, useState } from 'preact/hooks';
import { Table } from '../../parts/chart.jsx';
import { text } from '../../session.js';
import { useExport } from '../../shell/export/registry.js';
import { ExportChart } from '../../shell/export-menu.jsx';

/**
 * @param {object} props
 * @param props.title @param props.note @param props.empty whether there is nothing to show yet
 * @param props.table () => { head, rows } of texts, exact: () => what is saved in their place, if that is something else
 * @param props.plain whether what is shown is text already, so that a table is only for saving
 */
export function Card({ title, note, empty, table, plain, class: look = '', children }) {
  const t = text.value;
  const [asTable, setAsTable] = useState(false);
  const card = useRef(null);
  const entry = {
    place: card,
    title,
    note,
    get picture() {
      return card.current?.querySelector('figure canvas') ? async () => contentOf(card.current) : undefined;
    },
    table: () => {
      const { head, rows, exact } = table();
      return exact?.() ?? [head, ...rows];
    },
  };
  useExport(entry);
  return (
    <section class={`card ${look}`} aria-label={title} ref={card}>
      <div class="card-head">
        <div>
          <h2>{title}</h2>
          <p class="note readout">{note}</p>
        </div>
        <div class="card-tools">
          {!plain && (
            <button
              type="button"
              class="quiet small"
              aria-pressed={asTable}
              aria-label={`${title}: ${t.chart.table}`}
              onClick={() => setAsTable(!asTable)}
            >
              {asTable ? t.forward.asChart : t.forward.asTable}
            </button>
          )}
          {!empty && <ExportChart entry={entry} />}
        </div>
      </div>
      {empty ? (
        <p class="waiting">{t.run.waiting}</p>
      ) : asTable && !plain ? (
        <Figures table={table} caption={title} />
      ) : (
        children
      )}
    </section>
  );
}

const Figures = ({ table, caption }) => <Table {...table()} caption={caption} tall />;

const escaped = (words) => words.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

/** The card's canvases with their captions as SVG, as shell/export/picture.js takes it. */
function contentOf(card) {
  const figures = [...card.querySelectorAll('figure')];
  const boxes = figures.map((figure) => figure.getBoundingClientRect());
  const left = Math.min(...boxes.map((box) => box.left));
  const top = Math.min(...boxes.map((box) => box.top));
  const width = Math.max(...boxes.map((box) => box.right)) - left;
  const height = Math.max(...boxes.map((box) => box.bottom)) - top;
  const parts = figures.map((figure) => {
    const canvas = figure.querySelector('canvas');
    const caption = figure.querySelector('figcaption');
    const [picture, words] = [canvas, caption].map((element) => element.getBoundingClientRect());
    const { color, fontFamily, fontSize } = getComputedStyle(caption);
    const baseline = words.top - top + 0.75 * words.height;
    return (
      `<image x="${picture.left - left}" y="${picture.top - top}" width="${picture.width}" height="${picture.height}" ` +
      `preserveAspectRatio="none" href="${canvas.toDataURL()}"/>` +
      `<text x="${words.left - left}" y="${baseline}" fill="${color}" font-family="${escaped(fontFamily)}" ` +
      `font-size="${fontSize}">${escaped(caption.textContent.trim())}</text>`
    );
  });
  return { content: parts.join(''), width, height, scale: 1 };
}
