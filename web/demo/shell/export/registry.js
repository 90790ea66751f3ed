// What of the page can be saved: charts make themselves known while they are there.
import { useEffect, useRef } from 'preact/hooks';

const entries = new Set();

/**
 * @param {object} entry
 * @param {{ current: Element | null }} entry.place where on the page it is
 * @param {string} entry.title
 * @param {() => Promise<{ svg: string, width: number, height: number }>} [entry.picture]
 * @param {() => (string | number | null)[][]} [entry.table] rows, the head first; null: no figure
 */
export function useExport(entry) {
  const latest = useRef(entry);
  latest.current = entry;
  useEffect(() => {
    entries.add(latest);
    return () => entries.delete(latest);
  }, []);
}

const sources = new Map();

/**
 * Of a panel that computes for itself: what it has computed goes into the file of everything.
 * @param {string} panel @param {() => { key: string, value: object, error?: object } | null} give as panelResults has it
 */
export const provideResults = (panel, give) => sources.set(panel, give);

/** By panel, what such panels have computed. */
export const providedResults = () =>
  Object.fromEntries([...sources].map(([panel, give]) => [panel, give()]).filter(([, given]) => given));

/** What is on the page now, in its order. */
export const exportable = () =>
  [...entries]
    .map(({ current }) => current)
    .filter(({ place }) => place.current?.isConnected)
    .sort((a, b) =>
      a.place.current.compareDocumentPosition(b.place.current) & Node.DOCUMENT_POSITION_PRECEDING ? 1 : -1,
    );

/** The entry of the card that an element is in. */
export const entryAt = (element) => exportable().find(({ place }) => place.current === element);
