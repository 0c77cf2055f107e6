import { DateTime, type DateTimeUnit } from 'luxon';
import { DEFAULT_LOCALE, wordsOf } from '../words/words.ts';
import { type PeriodSpec, readLastN } from './period-spec.ts';

export { parsePeriod } from './period-spec.ts';

/** Civil dates, both included, and the zone in which they are days. Frozen when the run is triggered (not "now" of a retry). */
export interface Period {
  /** YYYY-MM-DD */
  readonly from: string;
  /** YYYY-MM-DD */
  readonly to: string;
  /** IANA zone */
  readonly timezone: string;
  /** For file names and titles, ASCII only: `2026-W46`, `2026-10`, `2026-Q3`, `2026`, `2026-11-16`, `2026-11-16 to 2026-11-19` (German: `bis`). */
  readonly label: string;
}

type Unit = 'day' | 'week' | 'month' | 'quarter' | 'year';
const UNITS: readonly Unit[] = ['day', 'week', 'month', 'quarter', 'year'];
const unitOf = (name: string): Unit | undefined => UNITS.find((unit) => unit === name);

/**
 * A period's dates, as a reader of the calendar at that instant and in that zone would say them.
 * @param at epoch ms: the slot, or the moment of the trigger
 * @param timezone IANA zone, valid (`zoneSchema`)
 * @param locale BCP 47, of the label; `en-GB` when absent
 */
export function resolvePeriod(spec: PeriodSpec, at: number, timezone: string, locale?: string): Period {
  if (typeof spec === 'object') return period(spec.from, spec.to, timezone, locale);
  // Only the civil date is taken from the zone; the calendar is counted in UTC, where every day exists and has 24 hours.
  const local = DateTime.fromMillis(at, { zone: timezone });
  const today = DateTime.utc(local.year, local.month, local.day);
  const { first, last } = rangeOf(spec, today);
  return period(isoDate(first), isoDate(last), timezone, locale);
}

function rangeOf(spec: string, today: DateTime): { first: DateTime; last: DateTime } {
  const lastN = readLastN(spec);
  if (lastN !== undefined) {
    const unit: DateTimeUnit = lastN.unit === 'days' ? 'day' : lastN.unit === 'weeks' ? 'week' : 'month';
    const end = today.startOf(unit);
    return { first: end.minus({ [lastN.unit]: lastN.count }), last: end.minus({ days: 1 }) };
  }
  const toDate = unitOf(spec.replace(/_to_date$/, ''));
  if (toDate !== undefined) return { first: today.startOf(toDate), last: today };
  const [which, name = ''] = spec.split('_');
  const unit = unitOf(name);
  if (unit === undefined) throw new TypeError(`no such period: ${spec}`);
  const first = which === 'previous' ? today.startOf(unit).minus({ [unit]: 1 }) : today.startOf(unit);
  return { first, last: first.endOf(unit) };
}

const isoDate = (date: DateTime): string => date.toFormat('yyyy-MM-dd');
const civil = (date: string): DateTime => DateTime.fromISO(date, { zone: 'utc' });

const period = (from: string, to: string, timezone: string, locale: string | undefined): Period =>
  Object.freeze({ from, to, timezone, label: labelOf(civil(from), civil(to), locale) });

const covers = (from: DateTime, to: DateTime, unit: Unit): boolean =>
  isoDate(from.startOf(unit)) === isoDate(from) && isoDate(from.endOf(unit)) === isoDate(to);

/** The shortest usual name of the days. It goes into file names, so it is ASCII without separators of paths. */
function labelOf(from: DateTime, to: DateTime, locale: string | undefined): string {
  if (covers(from, to, 'year')) return from.toFormat('yyyy');
  if (covers(from, to, 'quarter')) return from.toFormat("yyyy-'Q'q");
  if (covers(from, to, 'month')) return from.toFormat('yyyy-MM');
  if (covers(from, to, 'week')) return from.toFormat("kkkk-'W'WW");
  return covers(from, to, 'day') ? isoDate(from) : wordsOf(locale).table.fromTo(isoDate(from), isoDate(to));
}

/**
 * The period for readers: `Monday 16 to Sunday 22 November 2026 (Europe/Zurich)`; whole months, quarters and years
 * by their names: `October 2026 (Europe/Zurich)`, `July to September 2026 (…)`.
 * @param locale BCP 47
 */
export function inWords(period: Period, locale: string = DEFAULT_LOCALE): string {
  const from = civil(period.from);
  const to = civil(period.to);
  const whole = covers(from, to, 'year')
    ? 'year'
    : isoDate(to.endOf('month')) === period.to && from.day === 1
      ? 'month'
      : 'day';
  const dates =
    locale === 'en' || locale === DEFAULT_LOCALE ? inEnglish(from, to, whole) : inLocale(from, to, whole, locale);
  return `${dates} (${period.timezone})`;
}

const FIELDS = { year: ['yyyy'], month: ['LLLL', 'yyyy'], day: ['cccc', 'd', 'LLLL', 'yyyy'] } as const;

/** The first date says only what the last does not say for both. */
function inEnglish(from: DateTime, to: DateTime, whole: keyof typeof FIELDS): string {
  const words = (date: DateTime, fields: readonly string[]) => date.setLocale('en-GB').toFormat(fields.join(' '));
  const last = words(to, FIELDS[whole]);
  const sameYear = from.year === to.year;
  const sameMonth = sameYear && from.month === to.month;
  if (isoDate(from) === isoDate(to) || whole === 'year' || (whole === 'month' && sameMonth)) return last;
  const shared = whole === 'day' && sameMonth ? ['LLLL', 'yyyy'] : sameYear ? ['yyyy'] : [];
  return `${words(
    from,
    FIELDS[whole].filter((field) => !shared.includes(field)),
  )} to ${last}`;
}

function inLocale(from: DateTime, to: DateTime, whole: keyof typeof FIELDS, locale: string): string {
  const format = new Intl.DateTimeFormat(locale, {
    timeZone: 'UTC',
    year: 'numeric',
    ...(whole === 'year' ? {} : { month: 'long' }),
    ...(whole === 'day' ? { weekday: 'long', day: 'numeric' } : {}),
  });
  // ICU's versions differ in the thin spaces around the dash.
  return format.formatRange(from.toJSDate(), to.toJSDate()).replace(/\p{Zs}+/gu, ' ');
}
