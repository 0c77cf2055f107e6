import { DateTime } from 'luxon';
import { memoize } from '../../base/memoize.ts';
import { intlDateTimeFormat } from '../../base/text/intl.ts';
import { DAY_MS } from '../../base/time.ts';
import { DEFAULT_LOCALE, messagesFor } from '../../i18n/messages.ts';
import { WEEKDAYS } from '../schedules/civil-day.ts';
import type { OrgFile } from '../schema/org-settings.ts';
import type { ReportFile } from '../schema/report-definition.ts';
import type { FiscalCalendar } from './fiscal-calendar.ts';
import { type PeriodSpec, parseLastN } from './period-spec.ts';

export { parsePeriod } from './period-spec.ts';

/** Civil dates, both included, with their time zone. Frozen when the run is triggered. */
export interface Period {
  /** YYYY-MM-DD */
  readonly from: string;
  /** YYYY-MM-DD */
  readonly to: string;
  /** IANA zone */
  readonly timezone: string;
  /**
   * For file names and titles, in ASCII only: `2026-W46`, `2026-10`, `2026-Q3`, `2026`, `2026-11-16`, `2026-11-16 to
   * 2026-11-19` (German: `bis`). For a fiscal year: `FY2026`, `FY2026-Q1` (German: `GJ…`).
   */
  readonly label: string;
}

type Unit = 'day' | 'week' | 'month' | 'quarter' | 'year';
const UNITS: readonly Unit[] = ['day', 'week', 'month', 'quarter', 'year'];
const findUnit = (name: string): Unit | undefined => UNITS.find((unit) => unit === name);

/**
 * The period of a report at an instant, in its time zone and with its organization's weeks and fiscal year.
 * @param at epoch ms: the slot, or the moment of the trigger
 * @param spec replaces the definition's period
 */
export const resolveReportPeriod = (
  definition: Pick<ReportFile, 'period' | 'timezone' | 'locale'>,
  settings: Pick<OrgFile, 'timezone' | 'locale' | 'fiscal_year_start' | 'week_start'>,
  at: number,
  spec: PeriodSpec = definition.period,
): Period => {
  const timezone = definition.timezone ?? settings.timezone;
  const locale = definition.locale ?? settings.locale;
  const resolved = resolvePeriod(spec, at, timezone, locale, settings);
  // A fiscal quarter must have the same label in a scheduled run and in a backfill, which uses dates.
  const unit =
    typeof spec === 'object' && typeof definition.period === 'string' ? unitOfPeriod(definition.period) : undefined;
  if (unit === undefined) return resolved;
  const first = civilDate(resolved.from);
  if (unitStart(first, unit, settings) < first) return resolved;
  const label = fiscalLabel(first, civilDate(resolved.to), unit, locale, settings);
  return label === undefined ? resolved : Object.freeze({ ...resolved, label });
};

/** The days of a run: those of the report, and by section id those of each section with its own period. */
export interface RunPeriods {
  readonly period: Period;
  /** Absent if no section has its own. */
  readonly sectionPeriods?: Readonly<Record<string, Period>>;
}

/**
 * All periods of a report at an instant. `spec` replaces only the report's period. Periods of sections count from the
 * end of the report's: they are computed at the instant after its last day, or at `at` if that is earlier. Those that
 * contain that instant (`current_…`, `…_to_date`) would reach beyond it, so they are computed on the last day. With
 * `period_from: slot` they are computed at `at`, unless `spec` replaces the report's period.
 */
export function resolveRunPeriods(
  definition: Pick<ReportFile, 'period' | 'period_from' | 'timezone' | 'locale' | 'sections'>,
  settings: Parameters<typeof resolveReportPeriod>[1],
  at: number,
  spec?: PeriodSpec,
): RunPeriods {
  const period = resolveReportPeriod(definition, settings, at, spec);
  const instantFor = (own: PeriodSpec): number => {
    if (spec === undefined && definition.period_from === 'slot') return at;
    const afterLastDay = DateTime.fromISO(period.to, { zone: period.timezone }).plus({ days: 1 }).startOf('day');
    const holdsInstant = typeof own === 'string' && /^current_|_to_date$/.test(own);
    return Math.min(at, afterLastDay.toMillis() - (holdsInstant ? 1 : 0));
  };
  const own = definition.sections.flatMap((section): [string, Period][] =>
    section.period === undefined
      ? []
      : [
          [
            section.id,
            resolveReportPeriod({ ...definition, period: section.period }, settings, instantFor(section.period)),
          ],
        ],
  );
  return { period, ...(own.length === 0 ? {} : { sectionPeriods: Object.freeze(Object.fromEntries(own)) }) };
}

/**
 * Resolves a period to dates, in the time zone at that instant.
 * @param at epoch ms: the slot, or the moment of the trigger
 * @param timezone IANA zone, valid (`zoneSchema`)
 * @param locale BCP 47, for the label; default: `en-GB`
 * @param fiscalCalendar start of weeks and years; default: Monday and 1 January. Does not apply to explicit dates.
 */
export function resolvePeriod(
  spec: PeriodSpec,
  at: number,
  timezone: string,
  locale?: string,
  fiscalCalendar: FiscalCalendar = {},
): Period {
  if (typeof spec === 'object') return makePeriod(spec.from, spec.to, timezone, locale);
  // Only the civil date depends on the zone. Date arithmetic is in UTC, where every day exists and has 24 hours.
  const { year, month, day } = DateTime.fromMillis(at, { zone: timezone });
  const { week_start, fiscal_year_start } = fiscalCalendar;
  return periodOnDay(spec, [year, month, day], timezone, locale, { week_start, fiscal_year_start });
}

/** Reports and zones in one deployment have few different periods a day, and computing one takes 0.1 ms. */
const MAX_CACHED_PERIODS = 1_000;

const periodOnDay = memoize(
  (
    spec: string,
    [year, month, day]: readonly [number, number, number],
    timezone: string,
    locale: string | undefined,
    fiscalCalendar: FiscalCalendar,
  ): Period => {
    const { first, last, unit } = resolveDateRange(spec, DateTime.utc(year, month, day), fiscalCalendar);
    const fiscal = fiscalLabel(first, last, unit, locale, fiscalCalendar);
    return makePeriod(isoDate(first), isoDate(last), timezone, locale, fiscal);
  },
  MAX_CACHED_PERIODS,
);

function resolveDateRange(
  spec: string,
  today: DateTime,
  fiscalCalendar: FiscalCalendar,
): { first: DateTime; last: DateTime; unit: Unit } {
  const startOf = (unit: Unit) => unitStart(today, unit, fiscalCalendar);
  const lastN = parseLastN(spec);
  if (lastN !== undefined) {
    const unit = lastN.unit === 'days' ? 'day' : lastN.unit === 'weeks' ? 'week' : 'month';
    const end = startOf(unit);
    return { first: end.minus({ [lastN.unit]: lastN.count }), last: end.minus({ days: 1 }), unit };
  }
  const unit = unitOfPeriod(spec);
  if (unit === undefined) throw new TypeError(`no such period: ${spec}`);
  const current = startOf(unit);
  if (spec.endsWith('_to_date')) return { first: current, last: today, unit };
  const first = spec.startsWith('previous_') ? current.minus({ [unit]: 1 }) : current;
  return { first, last: first.plus({ [unit]: 1 }).minus({ days: 1 }), unit };
}

/** The unit of `previous_week`, `current_week` and `week_to_date`. */
const unitOfPeriod = (spec: string): Unit | undefined => findUnit(spec.replace(/^(previous|current)_|_to_date$/, ''));

/** The first day of the week, quarter, … that contains the day. */
function unitStart(
  today: DateTime,
  unit: Unit,
  { week_start = 'MON', fiscal_year_start: fiscal }: FiscalCalendar,
): DateTime {
  if (unit === 'week') return today.minus({ days: (today.weekday + 6 - WEEKDAYS.indexOf(week_start)) % 7 });
  if (fiscal === undefined || (unit !== 'quarter' && unit !== 'year')) return today.startOf(unit);
  const sameYear = DateTime.utc(today.year, fiscal.month, fiscal.day);
  const year = sameYear > today ? sameYear.minus({ years: 1 }) : sameYear;
  return unit === 'year' ? year : year.plus({ quarters: countQuarters(year, today) });
}

/** Full quarters since a fiscal year's first day: 0 to 3. */
const countQuarters = (year: DateTime, day: DateTime): number =>
  [3, 2, 1].find((quarters) => year.plus({ quarters }) <= day) ?? 0;

/** `FY2026`, `FY2026-Q1` (German: `GJ…`); undefined if the names of the calendar year apply. */
function fiscalLabel(
  first: DateTime,
  last: DateTime,
  unit: Unit,
  locale: string | undefined,
  fiscalCalendar: FiscalCalendar,
): string | undefined {
  const { fiscal_year_start: fiscal } = fiscalCalendar;
  if (fiscal === undefined || (fiscal.month === 1 && fiscal.day === 1)) return undefined;
  const whole = isoDate(first.plus({ [unit]: 1 }).minus({ days: 1 })) === isoDate(last);
  if ((unit !== 'quarter' && unit !== 'year') || !whole) return undefined;
  const year = unitStart(first, 'year', fiscalCalendar);
  const named = fiscal.named_by === 'start' ? year : year.plus({ years: 1 }).minus({ days: 1 });
  const quarter = unit === 'quarter' ? countQuarters(year, first) + 1 : undefined;
  return messagesFor(locale).table.fiscal(named.year, quarter);
}

const isoDate = (date: DateTime): string => date.toFormat('yyyy-MM-dd');
/** The first instant of a civil date (YYYY-MM-DD), in UTC. */
export const civilDate = (date: string): DateTime => DateTime.fromISO(date, { zone: 'utc' });

const makePeriod = (from: string, to: string, timezone: string, locale: string | undefined, label?: string): Period =>
  Object.freeze({ from, to, timezone, label: label ?? formatLabel(civilDate(from), civilDate(to), locale) });

/** The smallest and the largest number of days of a unit. */
const DAYS_OF: Readonly<Record<Unit, readonly [number, number]>> = {
  day: [1, 1],
  week: [7, 7],
  month: [28, 31],
  quarter: [90, 92],
  year: [365, 366],
};

/**
 * Whether two days, both midnights in UTC, are the first and the last of a unit. Each slot needs this; for most, the
 * number of days is enough to tell.
 */
function covers(from: DateTime, to: DateTime, unit: Unit): boolean {
  const [fewest, most] = DAYS_OF[unit];
  const end = to.toMillis() + DAY_MS;
  const days = (end - from.toMillis()) / DAY_MS;
  if (days < fewest || days > most) return false;
  return from.startOf(unit).toMillis() === from.toMillis() && from.endOf(unit).toMillis() + 1 === end;
}

/** The shortest usual name of the range. File names contain it, so it is ASCII without path separators. */
function formatLabel(from: DateTime, to: DateTime, locale: string | undefined): string {
  if (covers(from, to, 'year')) return from.toFormat('yyyy');
  if (covers(from, to, 'quarter')) return from.toFormat("yyyy-'Q'q");
  if (covers(from, to, 'month')) return from.toFormat('yyyy-MM');
  if (covers(from, to, 'week')) return from.toFormat("kkkk-'W'WW");
  return covers(from, to, 'day') ? isoDate(from) : messagesFor(locale).table.fromTo(isoDate(from), isoDate(to));
}

/**
 * The period in words: `Monday 16 to Sunday 22 November 2026 (Europe/Zurich)`. Whole months, quarters and years have
 * their names: `October 2026 (Europe/Zurich)`, `July to September 2026 (…)`. Fiscal ones have label and dates:
 * `FY2026-Q1, April to June 2025 (…)`.
 * @param locale BCP 47
 */
export function formatPeriod(period: Period, locale: string = DEFAULT_LOCALE): string {
  const from = civilDate(period.from);
  const to = civilDate(period.to);
  const whole = covers(from, to, 'year')
    ? 'year'
    : isoDate(to.endOf('month')) === period.to && from.day === 1
      ? 'month'
      : 'day';
  const dates =
    locale === 'en' || locale === DEFAULT_LOCALE
      ? formatEnglish(from, to, whole)
      : formatLocalized(from, to, whole, locale);
  return `${FISCAL_LABEL.test(period.label) ? `${period.label}, ` : ''}${dates} (${period.timezone})`;
}

/**
 * The period for a heading: whole calendar months, quarters and years by name (`October 2026`), others by label
 * (`2026-W46`).
 */
export function shortPeriod(period: Period, locale: string = DEFAULT_LOCALE): string {
  const [from, to] = [civilDate(period.from), civilDate(period.to)];
  const months = from.day === 1 && isoDate(to.endOf('month')) === period.to;
  if (!months || FISCAL_LABEL.test(period.label)) return period.label;
  return formatPeriod(period, locale).replace(` (${period.timezone})`, '');
}

/** A label that does not show the dates. */
const FISCAL_LABEL = /^[A-Z]{2}\d{4}/;

const DATE_FIELDS = { year: ['yyyy'], month: ['LLLL', 'yyyy'], day: ['cccc', 'd', 'LLLL', 'yyyy'] } as const;

/** The first date omits the fields that both dates share. */
function formatEnglish(from: DateTime, to: DateTime, whole: keyof typeof DATE_FIELDS): string {
  const format = (date: DateTime, fields: readonly string[]) => date.setLocale('en-GB').toFormat(fields.join(' '));
  const last = format(to, DATE_FIELDS[whole]);
  const sameYear = from.year === to.year;
  const sameMonth = sameYear && from.month === to.month;
  if (isoDate(from) === isoDate(to) || whole === 'year' || (whole === 'month' && sameMonth)) return last;
  const shared = whole === 'day' && sameMonth ? ['LLLL', 'yyyy'] : sameYear ? ['yyyy'] : [];
  return `${format(
    from,
    DATE_FIELDS[whole].filter((field) => !shared.includes(field)),
  )} to ${last}`;
}

function formatLocalized(from: DateTime, to: DateTime, whole: keyof typeof DATE_FIELDS, locale: string): string {
  const format = intlDateTimeFormat(locale, {
    timeZone: 'UTC',
    year: 'numeric',
    ...(whole === 'year' ? {} : { month: 'long' }),
    ...(whole === 'day' ? { weekday: 'long', day: 'numeric' } : {}),
  });
  // Versions of ICU differ in the thin spaces around the dash.
  return format.formatRange(from.toJSDate(), to.toJSDate()).replace(/\p{Zs}+/gu, ' ');
}

/** A period in the form that `--period` accepts. It differs from the label for a range of days. */
export const formatPeriodArgument = ({ label, from, to }: Period): string =>
  /^\d{4}(-(W\d\d|Q\d|\d\d))?$/.test(label) ? label : `${from}..${to}`;
