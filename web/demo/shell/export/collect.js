// What of the shown panel can be saved: the charts that made themselves known, and every other table, drawing and canvas.
import { text } from '../../session.js';
import { canvasContent, drawingContent } from './picture.js';
import { exportable } from './registry.js';

const titleOf = (element) =>
  element.getAttribute('aria-label') ?? element.closest('.card, section')?.querySelector('h2, h3')?.textContent ?? '';

/** A table's cells as they are read; an abbreviation gives what it stands for. */
export const tableRows = (table) =>
  [...table.rows].map((row) =>
    [...row.cells].map(
      (cell) => cell.querySelector('abbr[title]')?.title ?? cell.textContent.replace(/\s+/g, ' ').trim(),
    ),
  );

/** Entries as in registry.js, in the order of the page. */
export function collect(root) {
  const known = exportable().filter(({ place }) => root.contains(place.current));
  const isFree = (element) => !known.some(({ place }) => place.current.contains(element));
  const found = (selector, what) =>
    [...root.querySelectorAll(selector)]
      .filter((element) => isFree(element) && element.checkVisibility?.() !== false)
      .map((element) => ({ place: { current: element }, title: titleOf(element), ...what(element) }));
  const { title } = text.value;
  return [
    ...known,
    ...found('table', (table) => ({ table: () => tableRows(table) })),
    ...found('svg.wiring, svg[data-export]', (svg) => ({ picture: async () => drawingContent(svg) })),
    ...found('canvas', (canvas) => ({ picture: async () => canvasContent(canvas) })),
  ]
    .map((entry) => ({ ...entry, title: entry.title || title }))
    .sort((a, b) => (follows(a, b) ? 1 : -1));
}

const follows = (a, b) =>
  Boolean(a.place.current.compareDocumentPosition(b.place.current) & Node.DOCUMENT_POSITION_PRECEDING);
