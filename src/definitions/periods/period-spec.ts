import { DateTime } from 'luxon';
import { z } from 'zod';
import { DocketError } from '../../base/error.ts';
import { parseCivilDay } from '../schedules/civil-day.ts';

/**
 * Periods that are computed from the slot, in the report's time zone. `previous_*` is the whole unit before the slot's.
 * `current_*` is the whole unit that contains the slot, including days ahead. `*_to_date` is from that unit's first day
 * to the slot's day, which is still running. Weeks start on Monday.
 */
export const NAMED_PERIODS = [
  'previous_day',
  'previous_week',
  'previous_month',
  'previous_quarter',
  'previous_year',
  'current_day',
  'current_week',
  'current_month',
  'current_quarter',
  'current_year',
  'week_to_date',
  'month_to_date',
  'quarter_to_date',
  'year_to_date',
] as const;

/** `last_30_days`: this many whole days, weeks or months that ended before the slot's own. */
const LAST_N = /^last_([1-9]\d{0,3})_(days|weeks|months)$/;
/** Ten years. The range of one call (specification §8) is shorter, so longer periods take several calls. */
const MAX_PERIOD_DAYS = 3660;
const MAX_LAST_N = { days: MAX_PERIOD_DAYS, weeks: 522, months: 120 } as const;

export interface LastN {
  readonly count: number;
  readonly unit: 'days' | 'weeks' | 'months';
}

/** Parses `last_4_weeks`; undefined for any other text. */
export function parseLastN(text: string): LastN | undefined {
  const match = LAST_N.exec(text);
  const unit = match?.[2];
  if (unit !== 'days' && unit !== 'weeks' && unit !== 'months') return undefined;
  return { count: Number(match?.[1]), unit };
}

// For valid dates this is a subtraction. Every report with such a period needs it, and luxon would take ten times as
// long.
const daysBetween = (from: string, to: string): number =>
  [from, to].every((date) => z.regexes.date.test(date))
    ? parseCivilDay(to) - parseCivilDay(from)
    : isoDaysBetween(from, to);

const isoDaysBetween = (from: string, to: string) =>
  DateTime.fromISO(to, { zone: 'utc' }).diff(DateTime.fromISO(from, { zone: 'utc' }), 'days').days;

const dateSchema = z.iso.date('a date, YYYY-MM-DD');
const explicitSchema = z
  .strictObject({
    from: dateSchema.describe('First day, YYYY-MM-DD.'),
    to: dateSchema.describe('Last day, included.'),
  })
  .superRefine(({ from, to }, context) => {
    const days = daysBetween(from, to) + 1;
    if (days < 1) {
      context.addIssue({ code: 'custom', path: ['to'], message: `a day not before "from" (${from})` });
    } else if (days > MAX_PERIOD_DAYS) {
      context.addIssue({
        code: 'custom',
        path: ['to'],
        message: `at most ${MAX_PERIOD_DAYS} days (ten years), "from" and "to" included`,
      });
    }
  });

const PERIOD_DESCRIPTION = `a period: ${NAMED_PERIODS.join(', ')}, last_N_days, last_N_weeks, last_N_months or { from, to }`;

const lastNSchema = z
  .string()
  .superRefine((text, context) => {
    const last = parseLastN(text);
    if (last === undefined) {
      const rewritten = text.replace(/^last_/, 'previous_');
      const suggestion = NAMED_PERIODS.find((name) => name === rewritten);
      const params = suggestion === undefined ? { near: NAMED_PERIODS } : { next: `did you mean "${suggestion}"?` };
      context.addIssue({ code: 'custom', message: PERIOD_DESCRIPTION, params });
    } else if (last.count > MAX_LAST_N[last.unit]) {
      context.addIssue({
        code: 'custom',
        message: `at most last_${MAX_LAST_N[last.unit]}_${last.unit} (ten years)`,
      });
    }
  })
  .meta({ pattern: LAST_N.source });

/** The days that a report covers, as written in its file or in `--period`. */
export const periodSpecSchema = z
  .union([z.enum(NAMED_PERIODS), lastNSchema, explicitSchema], { error: PERIOD_DESCRIPTION })
  .describe(
    'Which days the figures cover: a name such as previous_week, month_to_date or last_30_days, or { from, to } (both included).',
  );
export type PeriodSpec = z.infer<typeof periodSpecSchema>;

const unitPeriod = (start: DateTime, unit: 'day' | 'week' | 'month' | 'quarter' | 'year'): PeriodSpec | undefined => {
  const from = start.toISODate();
  const to = start.endOf(unit).toISODate();
  return from === null || to === null ? undefined : { from, to };
};
const utc = { zone: 'utc' } as const;

/** Calendar forms of `--period`: years, months, weeks, days, quarters, ranges. */
function parseCalendarSpelling(text: string): PeriodSpec | undefined {
  if (/^\d{4}$/.test(text)) return unitPeriod(DateTime.fromISO(text, utc), 'year');
  if (/^\d{4}-\d{2}$/.test(text)) return unitPeriod(DateTime.fromISO(text, utc), 'month');
  if (/^\d{4}-W\d{2}$/.test(text)) return unitPeriod(DateTime.fromISO(text, utc), 'week');
  if (/^\d{4}-\d{2}-\d{2}$/.test(text)) return unitPeriod(DateTime.fromISO(text, utc), 'day');
  const quarter = /^(\d{4})-Q([1-4])$/.exec(text);
  if (quarter !== null) {
    return unitPeriod(DateTime.utc(Number(quarter[1]), Number(quarter[2]) * 3 - 2), 'quarter');
  }
  const range = /^(\d{4}-\d{2}-\d{2})\.\.(\d{4}-\d{2}-\d{2})$/.exec(text);
  return range === null ? undefined : { from: range[1] ?? '', to: range[2] ?? '' };
}

/**
 * Parses the period in `--period` and in the admin route: a name, `last_N_…`, `2026-09`, `2026-W46`, `2026-Q3`, `2026`,
 * `2026-11-01` or `2026-11-01..2026-11-15`. Throws `usage.invalid`.
 */
export function parsePeriod(text: string): PeriodSpec {
  const parsed = periodSpecSchema.safeParse(parseCalendarSpelling(text) ?? text);
  if (parsed.success) return parsed.data;
  const message = parsed.error.issues[0]?.message;
  throw new DocketError('usage.invalid', 'Invalid period.', {
    where: '--period',
    expected:
      message !== undefined && message !== PERIOD_DESCRIPTION
        ? message
        : 'a name such as previous_week or last_30_days, or 2026-09, 2026-W46, 2026-Q3, 2026, 2026-11-01, 2026-11-01..2026-11-15',
    got: JSON.stringify(text.slice(0, 80)),
    next: 'Write the period in one of these forms.',
  });
}
