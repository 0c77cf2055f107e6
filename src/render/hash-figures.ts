import { createHash } from 'node:crypto';
import { type Dataset, isTextTable, type Row } from '../fetch/dataset.ts';
import { rowBatches, type YieldToEventLoop } from '../fetch/rows.ts';

/**
 * SHA-256 (hex) of the tables' values: column names, rows, previous period, totals. Labels and the time of computation
 * are not included. Yields to the event loop every few hundred rows.
 */
export async function hashFigures(
  { tables }: Pick<Dataset, 'tables'>,
  yieldToEventLoop?: YieldToEventLoop,
): Promise<string> {
  const hash = createHash('sha256');
  for (const table of tables) {
    // A text section has no figures, so adding one changes no hash.
    if (isTextTable(table)) continue;
    const { id, columns, rows, totals, trend } = table;
    const names = columns.map(({ name }) => name);
    const collectValues = (values: Row['values'] | undefined) => values && names.map((name) => values[name] ?? null);
    const rowJson = ({ values, compare, toDate }: Pick<Row, 'values' | 'compare' | 'toDate'>): string => {
      // If the newer comparisons are absent, the input is the same as before them, so that hashes of older versions
      // still match.
      const more = [compare?.previous_year?.values, toDate].map(collectValues);
      const hashed = [collectValues(values), collectValues(compare?.previous_period?.values)];
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
