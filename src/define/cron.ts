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

const HOURS_A_DAY = 24;

/** Every hour that a list of values and ranges names; a wildcard or a step makes an interval before this is asked. */
function hoursOf(field: string): ReadonlySet<number> {
  const hours = new Set<number>();
  for (const part of field.split(',')) {
    const [first = 0, last = first] = part.split('-').map(Number);
    for (let hour = first; hour <= last; hour += 1) hours.add(hour);
  }
  return hours;
}

/** A valid cron, read. */
export interface CronTimes {
  /**
   * Its times with `from` ≤ time ≤ `to`, ascending, on a calendar without zones: local times as if they were UTC, epoch ms.
   */
  between(from: number, to: number): Iterable<number>;
  /**
   * Whether it means a pace ("every hour", "every two hours") rather than times of the day: its hour is a wildcard, has a
   * step or is every hour. It matters when clocks are changed.
   */
  readonly interval: boolean;
}

/** @param cron valid (`cronFault`) */
export function readCron(cron: string): CronTimes {
  const text = fieldsOf(cron).join(' ');
  const [, hour = ''] = fieldsOf(cron);
  // A zone is not croner's business here: at changes of summer time it has rules of its own.
  const times = new Cron(text, { mode: '5-part', utcOffset: 0, paused: true });
  return {
    *between(from, to) {
      for (const time of times.enumerate(new Date(from - 1))) {
        if (time.getTime() > to) return;
        yield time.getTime();
      }
    },
    interval: /[*/]/.test(hour) || hoursOf(hour).size === HOURS_A_DAY,
  };
}

const fieldsOf = (cron: string): readonly string[] => {
  const text = cron.trim();
  return (namedCron(text) ?? text).split(/\s+/);
};

/** Whether the cron names no day, neither of the month nor of the week. */
export function leavesDaysOpen(cron: string): boolean {
  const [, , dayOfMonth, , dayOfWeek] = fieldsOf(cron);
  return dayOfMonth === '*' && dayOfWeek === '*';
}
