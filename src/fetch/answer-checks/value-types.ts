import { DocketError } from '../../base/error.ts';
import type { ReportRequest, ReportResponse } from '../../contract/report.ts';

/** A metric's value; undefined if it is missing or not a number. */
export const toNumber = (value: unknown): number | null | undefined =>
  typeof value === 'number' || value === null ? value : undefined;

const CIVIL_DATE = /^\d{4}-\d{2}-\d{2}$/;

/**
 * Throws `api.unreadable` unless every value in the requested columns has its column's type, also in the previous
 * period and the totals. Other columns may have any type. Call it before a response is stored.
 */
export function assertValueTypes(request: ReportRequest, response: ReportResponse, where: string): void {
  const dimensions = request.dimensions ?? [];
  const { rows, totals } = response;
  const expectNumbers = (values: Readonly<Record<string, unknown>> | null | undefined, at: string) => {
    for (const metric of request.metrics) assertType(values?.[metric], 'number', `${at}.${metric}`, where);
  };
  expectNumbers(totals, 'totals');
  expectNumbers(totals?.compare, 'totals.compare');
  rows.forEach((row, index) => {
    expectNumbers(row, `rows.${index}`);
    expectNumbers(row.compare, `rows.${index}.compare`);
    for (const dimension of dimensions) assertType(row[dimension], 'text', `rows.${index}.${dimension}`, where);
    assertType(row.bucket, 'date', `rows.${index}.bucket`, where);
  });
}

function assertType(value: unknown, type: 'number' | 'text' | 'date', at: string, where: string): void {
  if (value === null || value === undefined) return;
  const isValid =
    type === 'number'
      ? Number.isFinite(value)
      : typeof value === 'string' && (type === 'text' || CIVIL_DATE.test(value));
  if (isValid) return;
  throw new DocketError('api.unreadable', 'The response has a value of the wrong type.', {
    where,
    expected: `a ${type} or null at ${at}`,
    got: typeof value === 'number' ? `${value}` : `a ${typeof value}`,
    next: 'Try again; if it persists, report it to the service with the time of the call.',
  });
}
