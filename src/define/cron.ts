import { Cron } from 'croner';

/** The `@` forms, as the five fields they stand for. */
const NAMED = {
  '@hourly': '0 * * * *',
  '@daily': '0 0 * * *',
  '@weekly': '0 0 * * 0',
  '@monthly': '0 0 1 * *',
  '@yearly': '0 0 1 1 *',
} as const;
const namedCron = (cron: string): string | undefined => Object.entries(NAMED).find(([name]) => name === cron)?.[1];

/** What the cron expression was expected to be, as the end of `expected …`; undefined when it is right. */
export function cronFault(cron: string): string | undefined {
  const text = cron.trim();
  if (text.startsWith('@')) {
    return namedCron(text) === undefined ? `five fields, or one of ${Object.keys(NAMED).join(', ')}` : undefined;
  }
  const fields = text.split(/\s+/);
  if (fields.length !== 5) {
    const seconds = fields.length > 5 ? ' (fields for seconds and years are not taken)' : '';
    return `five fields: minute, hour, day of month, month, day of week${seconds}`;
  }
  // croner reads "?" as a wildcard and elsewhere it means "now": no two readers would agree. It takes a ":" for a date.
  if (!/^[\w*,/#\s-]+$/.test(text)) return 'five fields of digits, names and * , - / # (not "?")';
  try {
    const next = new Cron(text, { mode: '5-part', timezone: 'UTC', paused: true }).nextRun(new Date(0));
    return next === null ? 'a day that exists (this one never comes)' : undefined;
  } catch (error) {
    return `five cron fields, each in its range (${error instanceof Error ? error.message.replace(/^CronPattern: /, '') : 'unreadable'})`;
  }
}

/** Fields with their smallest and largest value; a wildcard in the minute or hour is what makes a cron an interval. */
const RANGES = [
  [0, 59],
  [0, 23],
] as const;

/** Wildcards and steps written out as ranges and lists, which mean the same and count as times of the day. */
function spelledOut(field: string, [low, high]: readonly [number, number]): string {
  return field
    .split(',')
    .map((part) => {
      const [range = '', step] = part.split('/');
      const [from = low, to = high] = range === '*' ? [] : range.split('-').map(Number);
      if (step === undefined) return `${from}${range === '*' || range.includes('-') ? `-${to}` : ''}`;
      const values = [];
      for (let value = from; value <= to; value += Number(step)) values.push(value);
      return values.join(',');
    })
    .join(',');
}

/**
 * The cron as croner evaluates it at changes of summer time; a slot is when any of these fires.
 *
 * - As times of the day: a time in the gap fires once, at the first instant after it; one that occurs twice fires at
 *   its first occurrence.
 * - A cron whose hour is a wildcard, a step or every hour is also an interval: it fires at both occurrences, so that
 *   "every hour" is every hour.
 */
export function cronsOf(cron: string, timezone: string): readonly Cron[] {
  const text = cron.trim();
  const [minute = '', hour = '', ...days] = (namedCron(text) ?? text).split(/\s+/);
  const make = (pattern: string, fixedTimeRule: 'no-wildcard' | 'single-value') =>
    new Cron(pattern, { mode: '5-part', timezone, fixedTimeRule, paused: true });
  const hours = spelledOut(hour, RANGES[1]);
  const times = make([spelledOut(minute, RANGES[0]), hours, ...days].join(' '), 'no-wildcard');
  const interval = /[*/]/.test(hour) || hours === '0-23';
  return interval ? [times, make([minute, hour, ...days].join(' '), 'single-value')] : [times];
}
