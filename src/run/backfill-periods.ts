import { DocketError } from '../base/error.ts';
import { DAY_MS } from '../base/time.ts';
import type { OrgSettings } from '../definitions/schema/org-settings.ts';
import type { Definition, PeriodSpec } from '../definitions/schema/report-definition.ts';
import { createRunOrder } from './run-order.ts';

type PeriodRange = Extract<PeriodSpec, object>;

export interface BackfillRequest {
  readonly definition: Definition;
  readonly settings: OrgSettings;
  /** First and last day of the range to fill, each YYYY-MM-DD. */
  readonly from: string;
  readonly to: string;
  /** Epoch ms. */
  readonly now: number;
}

/** Most periods in one backfill: ten years of days. */
const MAX_PERIODS = 3_660;

const PERIOD_UNIT = /^(?:(?:previous|current)_(day|week|month|quarter|year)|(day|week|month|quarter|year)_to_date)$/;

/**
 * The complete periods of a report that begin between `from` and `to`, oldest first: weeks for `previous_week`, months
 * for `month_to_date`. The calendar is the organization's, as for a scheduled run.
 *
 * Throws `usage.invalid` if the report's periods are not consecutive (fixed dates, `last_N_…`), if none begins within
 * the range, if one has not ended, and for more than ten years of days.
 */
export function backfillPeriods({ definition, settings, from, to, now }: BackfillRequest): readonly PeriodRange[] {
  const { org, report, period } = definition;
  const match = typeof period === 'string' ? PERIOD_UNIT.exec(period) : null;
  const unit = match?.[1] ?? match?.[2];
  if (unit === undefined) {
    throw usageError(`The periods of ${org}/${report} are not consecutive.`, {
      where: `${org}/${report}`,
      expected: 'a period that is a day, week, month, quarter or year, e.g. previous_month',
      got: typeof period === 'object' ? `the fixed period ${period.from} to ${period.to}` : period,
      next: 'Run one period with `docket run … --period 2026-09`, or backfill a report with `period: previous_month`.',
    });
  }
  if (from > to) {
    throw usageError('--from is after --to.', {
      where: '--from, --to',
      expected: 'a first day that is not after the last',
      got: `${from} to ${to}`,
      next: 'Swap --from and --to.',
    });
  }
  const order = { definition, settings, trigger: 'backfill', priority: 'backfill', slot: '', deliver: false } as const;
  const today = createRunOrder({ ...order, period: toCurrentPeriod(unit), at: now, now }).period;
  const at = (day: number): PeriodRange => {
    // Noon UTC may be the next or previous day in the zone, so find the period that contains the day's own noon.
    const found = [0, -DAY_MS / 2, DAY_MS / 2].map(
      (shift) => createRunOrder({ ...order, period: toCurrentPeriod(unit), at: day + DAY_MS / 2 + shift, now }).period,
    );
    const date = isoDay(day);
    const { from: first, to: last } = found.find((one) => one.from <= date && date <= one.to) ?? missingPeriod(date);
    return { from: first, to: last };
  };
  const spans: PeriodRange[] = [];
  for (let day = Date.parse(from); isoDay(day) <= to; ) {
    const span = at(day);
    if (span.from >= from) spans.push(span);
    if (spans.length > MAX_PERIODS) {
      throw usageError(`The range has more than ${MAX_PERIODS} periods.`, {
        where: '--from, --to',
        expected: 'at most ten years of days',
        got: `${from} to ${to}`,
        next: 'Use a shorter range.',
      });
    }
    day = Date.parse(span.to) + DAY_MS;
  }
  const open = spans.find((span) => span.to >= today.from);
  if (open !== undefined) {
    throw usageError(`The ${unit} from ${open.from} to ${open.to} has not ended.`, {
      where: '--to',
      expected: `a day before ${today.from}`,
      got: to,
      next: 'Backfill periods that have ended; use `docket run` for the current one.',
    });
  }
  if (spans.length === 0) {
    throw usageError(`No ${unit} begins from ${from} to ${to}.`, {
      where: '--from, --to',
      expected: `days in which a ${unit} begins`,
      got: `${from} to ${to}`,
      next: 'Use a longer range.',
    });
  }
  return spans;
}

const toCurrentPeriod = (unit: string): PeriodSpec => {
  switch (unit) {
    case 'day':
      return 'current_day';
    case 'week':
      return 'current_week';
    case 'month':
      return 'current_month';
    case 'quarter':
      return 'current_quarter';
    default:
      return 'current_year';
  }
};

const isoDay = (at: number): string => new Date(at).toISOString().slice(0, 10);

const usageError = (message: string, detail: { where: string; expected: string; got: string; next: string }) =>
  new DocketError('usage.invalid', message, detail);

function missingPeriod(date: string): never {
  throw new Error(`no period of the report contains ${date}`);
}
