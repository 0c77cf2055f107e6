import { createHash } from 'node:crypto';
import { type Dataset, isTextTable, type Row } from '../fetch/dataset.ts';
import { rowBatches, type YieldToEventLoop } from '../fetch/rows.ts';

/**
 * SHA-256 (hex) over the values of the tables: column names, rows, previous period, totals. Labels and the time of
 * computation are not included. Yields to the event loop every few hundred rows.
 */
export async function hashFigures(
  { tables }: Pick<Dataset, 'tables'>,
  yieldToEventLoop?: YieldToEventLoop,
): Promise<string> {
  const hash = createHash('sha256');
  for (const table of tables) {
    // A text has no figures: adding one changes none.
    if (isTextTable(table)) continue;
    const { id, columns, rows, totals, trend } = table;
    const names = columns.map(({ name }) => name);
    const valuesOf = (values: Row['values'] | undefined) => values && names.map((name) => values[name] ?? null);
    const rowJson = ({ values, compare, toDate }: Pick<Row, 'values' | 'compare' | 'toDate'>): string => {
      // Without the newer comparisons as before, so that hashes of figures sent by older versions match.
      const more = [compare?.previous_year?.values, toDate].map(valuesOf);
      const hashed = [valuesOf(values), valuesOf(compare?.previous_period?.values)];
      return `${JSON.stringify(more.some((part) => part !== undefined) ? [...hashed, ...more] : hashed)}\n`;
    };
    hash.update(`${JSON.stringify([id, names])}\n`);
    for await (const batch of rowBatches(rows, yieldToEventLoop)) hash.update(batch.map(rowJson).join(''));
    if (totals !== undefined) hash.update(rowJson(totals));
    if (trend !== undefined) hash.update(`${JSON.stringify(names.map((name) => trend.values[name] ?? null))}\n`);
    hash.update('\n');
  }
  return hash.digest('hex');
}
