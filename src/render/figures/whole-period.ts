import type { Granularity } from '../../contract/report.ts';
import type { FiscalCalendar } from '../../definitions/periods/fiscal-calendar.ts';
import { civilDate } from '../../definitions/periods/period.ts';
import { WEEKDAYS } from '../../definitions/schedules/civil-day.ts';
import type { TargetPeriod } from '../../definitions/schema/targets.ts';
import type { Table } from '../../fetch/dataset.ts';
import { lastDayOfBucket } from '../../plan/buckets.ts';

interface Days {
  readonly from: string;
  readonly to: string;
}

const MONTHS = { month: 1, quarter: 3, year: 12 } as const;

/**
 * Whether the range is exactly one day, week, month, quarter or year. Quarters and years may be of the calendar year or
 * the fiscal year.
 */
export function isWholePeriod({ from, to }: Days, period: TargetPeriod, calendar: FiscalCalendar = {}): boolean {
  const first = civilDate(from);
  const after = civilDate(to).plus({ days: 1 });
  const { fiscal_year_start: fiscal, week_start: weekStart = 'MON' } = calendar;
  if (period === 'day') return from === to;
  if (period === 'week') return +after === +first.plus({ weeks: 1 }) && WEEKDAYS[first.weekday - 1] === weekStart;
  const months = MONTHS[period];
  if (+after !== +first.plus({ months })) return false;
  const startsAt = (month: number, day: number): boolean =>
    first.day === day && (((first.month - month) % months) + months) % months === 0;
  return startsAt(1, 1) || (period !== 'month' && fiscal !== undefined && startsAt(fiscal.month, fiscal.day));
}

/**
 * Whether the range cuts off a bucket, which then counts only its days inside the range. A reading is never cut off: it
 * belongs to the last day.
 */
export function isClipped({ range, readings }: Pick<Table, 'range' | 'readings'>, bucket: string, by: Granularity) {
  if (readings !== undefined || range === null) return false;
  const last = lastDayOfBucket(bucket, by);
  return (bucket < range.from && last >= range.from) || (bucket <= range.to && last > range.to);
}
