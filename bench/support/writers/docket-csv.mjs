import { csvColumns, writeCsv } from '../../../dist/render/csv.js';

/** A file a section, as a report writes them; of each cell how long it takes. */
export async function write(path, { tables }) {
  const { signal } = new AbortController();
  const from = performance.now();
  let cells = 0;
  for (const [index, table] of tables.entries()) {
    const columns = csvColumns(table, {});
    await writeCsv(index === 0 ? path : `${path}.${index}`, table, columns, {}, signal);
    cells += columns.length * table.rows.length;
  }
  const ms = performance.now() - from;
  return { ns_a_cell: Math.round((ms * 1e6) / cells), cells_a_second: Math.round((cells / ms) * 1000) };
}
