import { DateTime } from 'luxon';
import { distance } from './figures.ts';

/** An instant, ISO in UTC. */
export const iso = (at: number): string => new Date(at).toISOString();

/** `UTC`, `+01:00`: short, and unlike `CST` the same everywhere. */
const offsetOf = (time: DateTime): string => (time.offset === 0 ? 'UTC' : time.toFormat('ZZ'));

interface AtProps {
  /** Epoch ms. */
  readonly at: number;
  /** IANA zone in which it is shown. */
  readonly zone: string;
  /** Only the time of the day, where the day stands beside it already. */
  readonly short?: boolean;
  readonly seconds?: boolean;
  /** Where people plan by it. */
  readonly weekday?: boolean;
}

/** An instant in a zone, which it names; UTC is in its title. */
export function At({ at, zone, short = false, seconds = false, weekday = false }: AtProps) {
  const time = DateTime.fromMillis(at, { zone, locale: 'en-GB' });
  const utc = time.toUTC();
  const clock = time.toFormat(seconds ? 'HH:mm:ss' : 'HH:mm');
  const day = time.toFormat(weekday ? 'ccc d LLL yyyy' : 'd LLL yyyy');
  return (
    <time datetime={iso(at)} title={`${utc.toFormat('yyyy-MM-dd HH:mm:ss')} UTC · ${zone}`}>
      {short ? clock : `${day}, ${clock}`} <span class="zone">{offsetOf(time)}</span>
    </time>
  );
}

/** How far an instant is; the script keeps it true while the page is open. */
export const Distance = ({ at, now }: { readonly at: number; readonly now: number }) => (
  <span class="far" data-at={at}>
    {distance(at, now)}
  </span>
);
