import { Temporal } from '@js-temporal/polyfill';

// Which days are compared with which, written from the contract only. It uses nothing of src/.

export interface Days {
  readonly from: string;
  readonly to: string;
}
export type Bucketing = 'day' | 'week' | 'month';
export type Compared = 'previous_period' | 'previous_year';
/** The first day of the fiscal year. */
export interface FiscalStart {
  readonly month: number;
  readonly day: number;
}

const plain = (day: string): Temporal.PlainDate => Temporal.PlainDate.from(day);
const span = (from: Temporal.PlainDate, to: Temporal.PlainDate): Days => ({ from: `${from}`, to: `${to}` });
const least = (a: string, b: string): string => (a < b ? a : b);
const most = (a: string, b: string): string => (a < b ? b : a);

export const lengthOf = ({ from, to }: Days): number => plain(from).until(plain(to), { largestUnit: 'days' }).days + 1;

const startOf = (day: Temporal.PlainDate, unit: Bucketing): Temporal.PlainDate => {
  if (unit === 'day') return day;
  return unit === 'week' ? day.subtract({ days: day.dayOfWeek - 1 }) : day.with({ day: 1 });
};
const nextStart = (start: Temporal.PlainDate, unit: Bucketing): Temporal.PlainDate =>
  start.add(unit === 'day' ? { days: 1 } : unit === 'week' ? { days: 7 } : { months: 1 });

/** The buckets of a range by their first day, cut off at its ends. */
export function bucketDays(range: Days, unit: Bucketing): Map<string, Days> {
  const found = new Map<string, Days>();
  for (let start = startOf(plain(range.from), unit); `${start}` <= range.to; start = nextStart(start, unit)) {
    const end = `${nextStart(start, unit).subtract({ days: 1 })}`;
    found.set(`${start}`, { from: most(`${start}`, range.from), to: least(end, range.to) });
  }
  return found;
}

/** The number of whole months of the calendar or of the fiscal year in a range; 0 if it is not made of whole months. */
function monthsIn(range: Days, fiscal: FiscalStart | undefined): number {
  for (const day of fiscal === undefined ? [1] : [1, fiscal.day]) {
    const after = plain(range.to).add({ days: 1 });
    if (plain(range.from).day !== day || after.day !== day) continue;
    const { months, days } = plain(range.from).until(after, { largestUnit: 'months' });
    if (days === 0) return months;
  }
  return 0;
}

/** Whether two ranges have equally many whole months, or equally many days that start on the same weekday. */
export function areLike(a: Days, b: Days, fiscal?: FiscalStart): boolean {
  const months = monthsIn(a, fiscal);
  if (months > 0 && months === monthsIn(b, fiscal)) return true;
  return lengthOf(a) === lengthOf(b) && plain(a.from).dayOfWeek === plain(b.from).dayOfWeek;
}

/** The days just before, as the specification of the service says (§2.7), which has no fiscal months. */
export function daysBefore(range: Days): Days {
  const months = monthsIn(range, undefined);
  const last = plain(range.from).subtract({ days: 1 });
  return span(plain(range.from).subtract(months > 0 ? { months } : { days: lengthOf(range) }), last);
}

/** The same ISO week of the year before; undefined for week 53 if that year has none. */
function sameWeekBefore(monday: Temporal.PlainDate): Temporal.PlainDate | undefined {
  const { yearOfWeek, weekOfYear } = monday;
  if (yearOfWeek === undefined || weekOfYear === undefined) throw new Error('no ISO week');
  // 4 January is always in week 1.
  const first = startOf(new Temporal.PlainDate(yearOfWeek - 1, 1, 4), 'week');
  const found = first.add({ days: 7 * (weekOfYear - 1) });
  return found.yearOfWeek === yearOfWeek - 1 ? found : undefined;
}

/** The range that totals are compared with. */
export function totalsYearBefore(range: Days, fiscal?: FiscalStart): Days | undefined {
  const [from, to] = [plain(range.from), plain(range.to)];
  if (monthsIn(range, fiscal) > 0) {
    return span(from.subtract({ years: 1 }), to.add({ days: 1 }).subtract({ years: 1 }).subtract({ days: 1 }));
  }
  if (from.dayOfWeek === 1 && to.dayOfWeek === 7) {
    const monday = sameWeekBefore(from);
    if (monday !== undefined) return span(monday, monday.add({ days: lengthOf(range) - 1 }));
    if (lengthOf(range) === 7) return undefined;
  }
  return span(from.subtract({ days: 364 }), to.subtract({ days: 364 }));
}

/** The range that a bucket is compared with, cut off like the bucket. */
export function bucketYearBefore(start: string, days: Days, unit: Bucketing): Days | undefined {
  if (unit === 'month') {
    const whole = bucketDays({ from: start, to: `${plain(start).add({ months: 1 }).subtract({ days: 1 })}` }, unit);
    const last = plain(start).subtract({ years: 1 }).add({ months: 1 }).subtract({ days: 1 });
    const to = days.to === whole.get(start)?.to ? last : plain(days.to).subtract({ years: 1 });
    return span(plain(days.from).subtract({ years: 1 }), to);
  }
  const first = unit === 'day' ? plain(start).subtract({ days: 364 }) : sameWeekBefore(plain(start));
  if (first === undefined) return undefined;
  const offset = (day: string): number => plain(start).until(plain(day), { largestUnit: 'days' }).days;
  return span(first.add({ days: offset(days.from) }), first.add({ days: offset(days.to) }));
}

export function toDateDays({ to }: Days, unit: 'year' | 'fiscal_year' | 'quarter', fiscal?: FiscalStart): Days {
  const last = plain(to);
  const year = unit === 'year' || fiscal === undefined ? { month: 1, day: 1 } : fiscal;
  let start = new Temporal.PlainDate(last.year, year.month, year.day);
  if (Temporal.PlainDate.compare(start, last) > 0) start = start.subtract({ years: 1 });
  if (unit === 'quarter') {
    for (
      let next = start.add({ months: 3 });
      Temporal.PlainDate.compare(next, last) <= 0;
      next = next.add({ months: 3 })
    )
      start = next;
  }
  return { from: `${start}`, to };
}

/** Whether the last day was over at an instant. */
export const isOver = (to: string, zone: string, at: number): boolean =>
  plain(to).add({ days: 1 }).toZonedDateTime(zone).epochMilliseconds <= at;

/** Whether a range is exactly one day, week, month, quarter or year. */
export function isOne(days: Days, per: 'day' | 'week' | 'month' | 'quarter' | 'year', fiscal?: FiscalStart): boolean {
  if (per === 'day') return days.from === days.to;
  if (per === 'week') return lengthOf(days) === 7 && plain(days.from).dayOfWeek === 1;
  const months = { month: 1, quarter: 3, year: 12 }[per];
  const first = plain(days.from);
  if (`${first.add({ months }).subtract({ days: 1 })}` !== days.to) return false;
  const starts = [{ month: 1, day: 1 }, ...(per === 'month' || fiscal === undefined ? [] : [fiscal])];
  return starts.some(({ month, day }) => first.day === day && (12 + first.month - month) % months === 0);
}

/** The day of an instant in a time zone. */
export const dayAt = (at: number, zone: string): string =>
  `${Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(zone).toPlainDate()}`;
