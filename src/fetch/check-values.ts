import { DocketError } from '../base/error.ts';
import type { ReportRequest, ReportResponse } from '../contract/report.ts';

const CIVIL_DATE = /^\d{4}-\d{2}-\d{2}$/;

/**
 * Every value of the asked columns, also of the previous period and the totals, has its column's type, or
 * `api.unreadable`: a figure of the wrong type must not be guessed at. What was not asked for may be anything. Checked
 * before an answer is kept, because a kept one is not asked for again.
 */
export function checkValues(request: ReportRequest, response: ReportResponse, where: string): void {
  const dimensions = request.dimensions ?? [];
  const { rows, totals } = response;
  const expectFigures = (said: Readonly<Record<string, unknown>> | null | undefined, at: string) => {
    for (const metric of request.metrics) expectType(said?.[metric], 'number', `${at}.${metric}`, where);
  };
  expectFigures(totals, 'totals');
  expectFigures(totals?.compare, 'totals.compare');
  rows.forEach((row, index) => {
    expectFigures(row, `rows.${index}`);
    expectFigures(row.compare, `rows.${index}.compare`);
    for (const dimension of dimensions) expectType(row[dimension], 'text', `rows.${index}.${dimension}`, where);
    expectType(row.bucket, 'date', `rows.${index}.bucket`, where);
  });
}

function expectType(value: unknown, type: 'number' | 'text' | 'date', at: string, where: string): void {
  if (value === null || value === undefined) return;
  const right =
    type === 'number'
      ? Number.isFinite(value)
      : typeof value === 'string' && (type === 'text' || CIVIL_DATE.test(value));
  if (right) return;
  throw new DocketError('api.unreadable', 'The answer has a value of the wrong type.', {
    where,
    expected: `a ${type} or null at ${at}`,
    got: typeof value === 'number' ? `${value}` : `a ${typeof value}`,
    next: 'Try again; if it stays so, report it to the service with the time of the call.',
  });
}
