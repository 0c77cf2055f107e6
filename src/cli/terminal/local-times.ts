import { DateTime, IANAZone } from 'luxon';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../base/time.ts';
import type { CommandIo, Environment } from '../io.ts';
import { isTerminal } from './style.ts';

/** Formats instants (epoch ms) for the person at the terminal. */
export interface LocalTimes {
  /** At most 12 characters: `40 s ago`, `in 3 min`, `5 h ago`, `Mon 08:00`, `16 Nov 08:00`, `16 Nov 2025`. */
  relative(at: number): string;
  /** `Mon 23 Nov 08:00:12`; includes the year if it is not the current one. */
  exact(at: number): string;
  /** `Europe/Zurich (UTC+01:00)`. */
  readonly zone: string;
}

/** Up to this age, times are shown as hours ago. After that, the time of day is more useful. */
const MAX_HOURS_MS = 6 * HOUR_MS;
/** A weekday is unambiguous within a week. */
const MAX_WEEKDAY_MS = 6 * DAY_MS;

/** The zone of the person at the terminal, for Luxon. Only Node understands other forms of TZ, such as CET-1CEST. */
export const localZone = ({ TZ }: Environment): string =>
  TZ !== undefined && IANAZone.isValidZone(TZ) ? TZ : 'system';

/** @param now epoch ms */
export function localTimes(now: number, env: Environment): LocalTimes {
  const zone = localZone(env);
  // British English abbreviates September to four letters.
  const local = (at: number) => DateTime.fromMillis(at, { zone, locale: 'en-US' });
  const today = local(now);
  return {
    relative: (at) => {
      const time = local(at);
      const ms = Math.abs(at - now);
      if (ms < MAX_HOURS_MS) {
        const text = elapsed(ms);
        return at > now ? `in ${text}` : `${text} ago`;
      }
      if (ms < MAX_WEEKDAY_MS) return time.toFormat('ccc HH:mm');
      return time.toFormat(time.year === today.year ? 'd LLL HH:mm' : 'd LLL yyyy');
    },
    exact: (at) => {
      const time = local(at);
      return time.toFormat(time.year === today.year ? 'ccc d LLL HH:mm:ss' : 'ccc d LLL yyyy HH:mm:ss');
    },
    zone: today.zoneName === 'UTC' ? 'UTC' : `${today.zoneName} (UTC${today.offset === 0 ? '' : today.toFormat('ZZ')})`,
  };
}

/** The times that a command prints: local on a terminal; ISO instants in UTC in a pipe, in a file and with `wide`. */
export function timesFor(
  { stdout, env }: Pick<CommandIo, 'stdout' | 'env'>,
  now: number,
  { wide = false }: { readonly wide?: boolean | undefined } = {},
): LocalTimes {
  if (isTerminal(stdout, env) && !wide) return localTimes(now, env);
  const iso = (at: number) => new Date(at).toISOString();
  return { relative: iso, exact: iso, zone: 'UTC' };
}

function elapsed(ms: number): string {
  if (ms < MINUTE_MS) return `${Math.floor(ms / SECOND_MS)} s`;
  return ms < HOUR_MS ? `${Math.floor(ms / MINUTE_MS)} min` : `${Math.floor(ms / HOUR_MS)} h`;
}
