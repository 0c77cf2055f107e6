import type { Order, ReportRow } from '../../contract/report.ts';
import type { TableNote } from '../notes.ts';
import { type CheckedAnswer, incompleteNote } from './checked-answer.ts';

/** Rows that are not in the requested order (default: by bucket, then by each dimension in turn). */
export function orderFindings(answers: readonly CheckedAnswer[]): TableNote[] {
  return answers.every(isOrdered) ? [] : [incompleteNote('order_mismatch', { id: 'order_mismatch', of: undefined })];
}

function isOrdered({ request, response, granularity }: CheckedAnswer): boolean {
  const dimensions = request.dimensions ?? [];
  const { order = [] } = request;
  const defaultKeys = [...(granularity === undefined ? [] : ['bucket']), ...dimensions];
  const keys: readonly Order[] = order.length > 0 ? order : defaultKeys.map((by) => ({ by, dir: 'asc' }));
  return follows(response.rows, keys, new Set(dimensions));
}

/**
 * Whether rows are sorted by these keys, as far as the specification defines it: not for ties, nor for null, so rows
 * without the key are skipped. The order of a dimension's values is undefined as well: all rows of a value must be
 * adjacent.
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

/** Compares two numbers or two bucket dates; true for anything else. */
function isSorted(before: unknown, value: unknown, dir: Order['dir']): boolean {
  if (typeof before === 'number' && typeof value === 'number') return dir === 'asc' ? before <= value : before >= value;
  if (typeof before === 'string' && typeof value === 'string') return dir === 'asc' ? before <= value : before >= value;
  return true;
}
