import type { Order, ReportRow } from '../../contract/report.ts';
import type { TableNote } from '../dataset.ts';
import { type Checked, finding } from './answer.ts';

/** Rows that stand in another order than was asked for: by bucket and each dimension in turn, where nothing was said. */
export function orderFindings(answers: readonly Checked[]): TableNote[] {
  return answers.every(isOrdered) ? [] : [finding('order_mismatch', { id: 'order_mismatch', of: undefined })];
}

function isOrdered({ request, response, granularity }: Checked): boolean {
  const dimensions = request.dimensions ?? [];
  const { order = [] } = request;
  const usual = [...(granularity === undefined ? [] : ['bucket']), ...dimensions];
  const keys: readonly Order[] = order.length > 0 ? order : usual.map((by) => ({ by, dir: 'asc' }));
  return follows(response.rows, keys, new Set(dimensions));
}

/**
 * Whether rows follow these keys as far as the specification says it. Ties are free. Where null goes it leaves open, so
 * rows without the key are passed over. It leaves open how the values of a dimension are sorted as well: all rows of
 * a value must stand together, in whichever order the values come.
 */
function follows(rows: readonly ReportRow[], keys: readonly Order[], dimensions: ReadonlySet<string>): boolean {
  const [key, ...rest] = keys;
  if (key === undefined || rows.length < 2) return true;
  const { by, dir } = key;
  const runs: { readonly value: unknown; readonly rows: ReportRow[] }[] = [];
  for (const row of rows) {
    const value = row[by];
    if (value === null || value === undefined) continue;
    const run = runs.at(-1);
    if (run !== undefined && run.value === value) run.rows.push(row);
    else runs.push({ value, rows: [row] });
  }
  const inOrder = dimensions.has(by)
    ? new Set(runs.map(({ value }) => value)).size === runs.length
    : runs.every(({ value }, index) => {
        const before = runs[index - 1]?.value;
        return before === undefined || isSorted(before, value, dir);
      });
  return inOrder && runs.every((run) => follows(run.rows, rest, dimensions));
}

/** Two figures, or two dates of buckets; of anything else nothing is said. */
function isSorted(before: unknown, value: unknown, dir: Order['dir']): boolean {
  if (typeof before === 'number' && typeof value === 'number') return dir === 'asc' ? before <= value : before >= value;
  if (typeof before === 'string' && typeof value === 'string') return dir === 'asc' ? before <= value : before >= value;
  return true;
}
