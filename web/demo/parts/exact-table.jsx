// A table whose figures are saved in full: on the page they are three digits, each with the unit that suits it, which no
// spreadsheet can add up.
import { useRef } from 'preact/hooks';
import { useExport } from '../shell/export/registry.js';
import { Table } from './chart.jsx';

/**
 * @param {object} props as Table's
 * @param {() => (string | number | null)[][]} props.exact the same for a spreadsheet, the head first: plain numbers, one unit
 *   in a column, named in its head
 */
export function ExactTable({ exact, ...table }) {
  const place = useRef(null);
  useExport({ place, title: table.caption, table: exact });
  return (
    <div ref={place}>
      <Table {...table} />
    </div>
  );
}
