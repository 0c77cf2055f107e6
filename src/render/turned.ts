import type { Row, Table } from '../fetch/dataset.ts';
import type { ViewColumn } from './columns.ts';

export const isFigure = ({ role }: ViewColumn): boolean => ['value', 'previous', 'change'].includes(role);

/**
 * Whether the section's one row is laid out as a row per metric, which reads better than one long line. A bucket beside
 * totals stays a line: its previous period is only what falls into the same bucket, and the totals' is the whole one.
 */
export function isTurned({ rows, totals }: Table, columns: readonly ViewColumn[]): boolean {
  if (rows.length !== 1 || !columns.some(isFigure) || columns.some(({ role }) => role === 'label')) return false;
  return totals === undefined || columns.every(isFigure);
}

/** Whether the service's totals, or what they are compared with, say something else than the section's one row. */
export const totalsDiffer = (columns: readonly ViewColumn[], row: Row | undefined): boolean =>
  columns.some(({ total, read }) => total !== undefined && total !== (row === undefined ? null : read(row)));
