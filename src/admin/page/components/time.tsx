import { DateTime } from 'luxon';
import type { OrganizationEntry } from '../../access/access.ts';
import { formatRelativeTime } from './format-numbers.ts';

/** An instant, ISO in UTC. */
export const toIsoInstant = (at: number): string => new Date(at).toISOString();

/** `UTC` or `+01:00`: unlike abbreviations such as `CST`, unambiguous. */
const offsetText = (time: DateTime): string => (time.offset === 0 ? 'UTC' : time.toFormat('ZZ'));

interface TimestampProps {
  /** Epoch ms. */
  readonly at: number;
  /** IANA. */
  readonly zone: string;
  /** Without the date. */
  readonly short?: boolean;
  readonly seconds?: boolean;
  readonly weekday?: boolean;
}

/** An instant in a time zone, with its offset. The title has the time in UTC. */
export function Timestamp({ at, zone, short = false, seconds = false, weekday = false }: TimestampProps) {
  const time = DateTime.fromMillis(at, { zone, locale: 'en-GB' });
  const utc = time.toUTC();
  const clock = time.toFormat(seconds ? 'HH:mm:ss' : 'HH:mm');
  const day = time.toFormat(weekday ? 'ccc d LLL yyyy' : 'd LLL yyyy');
  return (
    <time datetime={toIsoInstant(at)} title={`${utc.toFormat('yyyy-MM-dd HH:mm:ss')} UTC · ${zone}`}>
      {short ? clock : `${day}, ${clock}`} <span class="zone">{offsetText(time)}</span>
    </time>
  );
}

/** The time until or since an instant. The script updates it. */
export const RelativeTime = ({ at, now }: { readonly at: number; readonly now: number }) => (
  <span class="relative-time" data-at={at}>
    {formatRelativeTime(at, now)}
  </span>
);

/** The time zones to show times in. */
export interface Zones {
  /** The organization's; UTC if unknown. */
  of(org: string): string;
  /** The zone of all organizations; UTC when they have several. */
  readonly shared: string;
}

export function zonesOf(organizations: readonly Pick<OrganizationEntry, 'org' | 'timezone'>[]): Zones {
  const zones = new Map(organizations.flatMap(({ org, timezone }) => (timezone === null ? [] : [[org, timezone]])));
  const [first, ...others] = new Set(zones.values());
  return { of: (org) => zones.get(org) ?? 'UTC', shared: first !== undefined && others.length === 0 ? first : 'UTC' };
}
