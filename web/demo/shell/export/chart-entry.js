// A chart as something that can be saved.
import { render } from 'preact';
import { axisNumber, number, percent } from '../../format.js';
import { exactRows } from './csv.js';
import { useExport } from './registry.js';

/**
 * @param {object} chart
 * @param chart.card ref of its card @param chart.drawn ref of { u, options, data }, or of null while it shows no picture
 * @param chart.catchUp ref of what brings it up to date
 * @param chart.title @param chart.note
 * @param chart.table its table as a node
 * @param chart.exact () => rows in place of it, as parts/exact-table.jsx has them, if there are such
 * @returns an entry as in registry.js, which is known to the page's export menu too
 */
export function useChartExport({ card, drawn, catchUp, title, note, table, exact }) {
  const entry = {
    place: card,
    title,
    note,
    // Asked for when a menu opens, after the chart has been drawn.
    get picture() {
      if (!drawn.current) return undefined;
      return async () => {
        const { chartContent } = await import('./picture.js');
        catchUp.current();
        const { u, options, data } = drawn.current;
        return chartContent(u, options, data);
      };
    },
    table: () => {
      catchUp.current();
      if (exact) return exact();
      const [head, ...rows] = rowsOf(table);
      return exactRows({ head, rows }, drawn.current?.data ?? [], [number, percent, axisNumber]);
    },
  };
  useExport(entry);
  return entry;
}

function rowsOf(table) {
  const place = document.createElement('div');
  render(table, place);
  const rows = [...place.querySelectorAll('tr')].map((row) =>
    [...row.cells].map((cell) => cell.textContent.replace(/\s+/g, ' ').trim()),
  );
  render(null, place);
  return rows;
}
