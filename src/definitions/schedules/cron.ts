import { Cron } from 'croner';
import { memoize } from '../../base/memoize.ts';
import { DAY_MS } from '../../base/time.ts';

const CRON_ALIASES = {
  '@hourly': '0 * * * *',
  '@daily': '0 0 * * *',
  '@weekly': '0 0 * * 0',
  '@monthly': '0 0 1 * *',
  '@yearly': '0 0 1 1 *',
} as const;
const expandAlias = (cron: string): string | undefined =>
  Object.entries(CRON_ALIASES).find(([name]) => name === cron)?.[1];

/** The expected form, as the end of `expected …`, if a cron expression is invalid; undefined if it is valid. */
export function cronError(cron: string): string | undefined {
  const text = cron.trim();
  if (text.startsWith('@')) {
    return expandAlias(text) === undefined
      ? `five fields, or one of ${Object.keys(CRON_ALIASES).join(', ')}`
      : undefined;
  }
  const fields = text.split(/\s+/);
  if (fields.length !== 5) {
    const seconds = fields.length > 5 ? ' (fields for seconds and years are not taken)' : '';
    return `five fields: minute, hour, day of month, month, day of week${seconds}`;
  }
  // In croner "?" is a wildcard, elsewhere it means "now". A ":" makes croner read a date.
  if (!/^[\w*,/#\s-]+$/.test(text)) return 'five fields of digits, names and * , - / # (not "?")';
  return rangeError(text) ?? undefined;
}

/**
 * What is wrong with the values of five fields; null if nothing is. Memoized, because many reports have the same
 * schedule.
 */
const rangeError = memoize((text: string): string | null => {
  try {
    const next = new Cron(text, { mode: '5-part', timezone: 'UTC', paused: true }).nextRun(new Date(0));
    return next === null ? 'a day that exists (this one never comes)' : null;
  } catch (error) {
    return `five cron fields, each in its range (${error instanceof Error ? error.message.replace(/^CronPattern: /, '') : 'unreadable'})`;
  }
}, 1_000);

const HOURS_PER_DAY = 24;

/** The hours in a list of values and ranges, without wildcards and steps. */
function parseHours(field: string): ReadonlySet<number> {
  const hours = new Set<number>();
  for (const part of field.split(',')) {
    const [first = 0, last = first] = part.split('-').map(Number);
    for (let hour = first; hour <= last; hour += 1) hours.add(hour);
  }
  return hours;
}

export interface ParsedCron {
  /**
   * The times with `from` ≤ time ≤ `to`, ascending. They are local times without a time zone, in epoch ms as if they
   * were UTC.
   */
  between(from: number, to: number): Iterable<number>;
  /**
   * Whether it is an interval ("every hour", "every two hours") rather than times of the day: its hour is a wildcard,
   * has a step or includes every hour. This decides what happens when clocks change.
   */
  readonly isInterval: boolean;
}

/** @param cron a valid expression (`cronError`) */
export function parseCron(cron: string): ParsedCron {
  const text = cronFields(cron).join(' ');
  const [, hour = ''] = cronFields(cron);
  // Without a time zone, because croner's rules for clock changes differ from ours.
  const times = new Cron(text, { mode: '5-part', utcOffset: 0, paused: true });
  return {
    *between(from, to) {
      for (const time of times.enumerate(new Date(from - 1))) {
        if (time.getTime() > to) return;
        yield time.getTime();
      }
    },
    isInterval: /[*/]/.test(hour) || parseHours(hour).size === HOURS_PER_DAY,
  };
}

/** The five fields, also of an alias. */
export const cronFields = (cron: string): readonly string[] => {
  const text = cron.trim();
  return (expandAlias(text) ?? text).split(/\s+/);
};

/** A year with a 29 February. */
const COMPARED_FROM = Date.UTC(2024, 0, 1);
const COMPARED_TO = Date.UTC(2030, 0, 1);

/** Whether a cron has times on two consecutive days, by its fields for days. Memoized, because many are equal. */
const hasConsecutiveDays = memoize((days: string): boolean => {
  let before = Number.NEGATIVE_INFINITY;
  for (const day of parseCron(`0 0 ${days}`).between(COMPARED_FROM, COMPARED_TO)) {
    if (day - before === DAY_MS) return true;
    before = day;
  }
  return false;
}, 1_000);

/**
 * Whether two times of the cron are within `ms` of each other, at most a day. It uses local time, so the answer is the
 * same on every day: clock changes and holidays do not count.
 */
export function hasTimesWithin(cron: string, ms: number): boolean {
  const [minute, hour, ...days] = cronFields(cron);
  // Each day has the same times. Enumerating years of them would take as long as reading the rest of the file.
  const times = [...parseCron(`${minute} ${hour} * * *`).between(COMPARED_FROM, COMPARED_FROM + DAY_MS - 1)];
  if (times.some((time, index) => time - (times[index - 1] ?? Number.NEGATIVE_INFINITY) <= ms)) return true;
  const overnight = (times[0] ?? 0) + DAY_MS - (times.at(-1) ?? 0);
  return overnight <= ms && hasConsecutiveDays(days.join(' '));
}

/** Whether the cron restricts neither the day of the month nor the day of the week. */
export function runsOnAnyDay(cron: string): boolean {
  const [, , dayOfMonth, , dayOfWeek] = cronFields(cron);
  return dayOfMonth === '*' && dayOfWeek === '*';
}
