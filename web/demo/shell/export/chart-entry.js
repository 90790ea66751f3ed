// A chart as something that can be saved.
import { useExport } from './registry.js';

/**
 * @param {object} chart
 * @param chart.card ref of its card @param chart.drawn ref of { u, options, data }, or of null while it shows no picture
 * @param chart.catchUp ref of what brings it up to date
 * @param chart.title @param chart.note @param chart.table as parts/chart.jsx has them
 * @returns an entry as in registry.js, which is known to the page's export menu too
 */
export function useChartExport({ card, drawn, catchUp, title, note, table }) {
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
      const { head, rows, exact } = typeof table === 'function' ? table() : table;
      return exact?.() ?? [head, ...rows];
    },
  };
  useExport(entry);
  return entry;
}
