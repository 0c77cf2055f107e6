import { DocketError } from '../base/error.ts';
import type { Definition, PeriodSpec } from '../define/definition.ts';
import type { OrgSettings } from '../define/org.ts';
import { orderRun } from './order.ts';

type Span = Extract<PeriodSpec, object>;

/** What a backfill is of. */
export interface BackfillRequest {
  readonly definition: Definition;
  readonly settings: OrgSettings;
  /** First and last day of what is to be filled, each YYYY-MM-DD. */
  readonly from: string;
  readonly to: string;
  /** Epoch ms. */
  readonly now: number;
}

/** Periods of one backfill: ten years of days. */
const MOST = 3_660;
const DAY_MS = 86_400_000;
const UNIT = /^(?:(?:previous|current)_(day|week|month|quarter|year)|(day|week|month|quarter|year)_to_date)$/;

/**
 * The report's own periods that begin within `from` to `to`, oldest first, each a whole one: its weeks for
 * `previous_week`, its months for `month_to_date`. The calendar is the organization's, as for a scheduled run.
 *
 * Throws `usage.invalid` for a report whose periods do not follow one another (fixed dates, `last_N_…`), where none
 * begins within the days, where one is not over yet, and for more than ten years of days.
 */
export function backfillPeriods({ definition, settings, from, to, now }: BackfillRequest): readonly Span[] {
  const { org, report, period } = definition;
  const match = typeof period === 'string' ? UNIT.exec(period) : null;
  const unit = match?.[1] ?? match?.[2];
  if (unit === undefined) {
    throw unusable(`The periods of ${org}/${report} do not follow one another.`, {
      where: `${org}/${report}`,
      expected: 'a period that is a day, week, month, quarter or year, e.g. previous_month',
      got: typeof period === 'object' ? `${period.from} to ${period.to}, whenever it runs` : period,
      next: '`docket run … --period 2026-09` makes one period; a report of its own with `period: previous_month` can be filled.',
    });
  }
  if (from > to) {
    throw unusable('There is no day from --from to --to.', {
      where: '--from, --to',
      expected: 'a first day that is not after the last one',
      got: `${from} to ${to}`,
      next: 'Turn them around.',
    });
  }
  const order = { definition, settings, trigger: 'backfill', priority: 'backfill', slot: '', deliver: false } as const;
  const today = orderRun({ ...order, period: spec(unit), at: now, now }).period;
  const at = (day: number): Span => {
    // Noon UTC of a day may be the next one far in the east: the zone's own noon is what is meant.
    const found = [0, -DAY_MS / 2, DAY_MS / 2].map(
      (shift) => orderRun({ ...order, period: spec(unit), at: day + DAY_MS / 2 + shift, now }).period,
    );
    const date = isoDay(day);
    const { from: first, to: last } = found.find((one) => one.from <= date && date <= one.to) ?? defect(date);
    return { from: first, to: last };
  };
  const spans: Span[] = [];
  for (let day = Date.parse(from); isoDay(day) <= to; ) {
    const span = at(day);
    if (span.from >= from) spans.push(span);
    if (spans.length > MOST) {
      throw unusable(`That is more than ${MOST} periods.`, {
        where: '--from, --to',
        expected: 'at most ten years of days',
        got: `${from} to ${to}`,
        next: 'Fill a shorter time.',
      });
    }
    day = Date.parse(span.to) + DAY_MS;
  }
  const open = spans.find((span) => span.to >= today.from);
  if (open !== undefined) {
    throw unusable(`The ${unit} from ${open.from} to ${open.to} is not over.`, {
      where: '--to',
      expected: `a day before ${today.from}`,
      got: to,
      next: 'A backfill is of periods that are over; `docket run` makes the one that is running.',
    });
  }
  if (spans.length === 0) {
    throw unusable(`No ${unit} begins from ${from} to ${to}.`, {
      where: '--from, --to',
      expected: `days in which a ${unit} begins`,
      got: `${from} to ${to}`,
      next: 'Fill a longer time.',
    });
  }
  return spans;
}

const spec = (unit: string): PeriodSpec => {
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

const unusable = (message: string, detail: { where: string; expected: string; got: string; next: string }) =>
  new DocketError('usage.invalid', message, detail);

function defect(date: string): never {
  throw new Error(`no period of the report holds ${date}`);
}
