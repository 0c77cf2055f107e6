import { DateTime } from 'luxon';
import type { OrganizationEntry } from '../../access/access.ts';
import { formatRelativeTime } from './format-numbers.ts';

/** An instant, ISO in UTC. */
export const toIsoInstant = (at: number): string => new Date(at).toISOString();

/** `UTC`, `+01:00`: short, and unlike `CST` the same everywhere. */
const offsetText = (time: DateTime): string => (time.offset === 0 ? 'UTC' : time.toFormat('ZZ'));

interface TimestampProps {
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

/** How far an instant is; the script keeps it true while the page is open. */
export const RelativeTime = ({ at, now }: { readonly at: number; readonly now: number }) => (
  <span class="far" data-at={at}>
    {formatRelativeTime(at, now)}
  </span>
);

/** In which zone an instant is shown. */
export interface Zones {
  /** The organization's own; UTC where that is not known. */
  of(org: string): string;
  /** The zone that all organizations have; UTC when they have several. */
  readonly shared: string;
}

export function zonesOf(organizations: readonly Pick<OrganizationEntry, 'org' | 'timezone'>[]): Zones {
  const zones = new Map(organizations.flatMap(({ org, timezone }) => (timezone === null ? [] : [[org, timezone]])));
  const [first, ...others] = new Set(zones.values());
  return { of: (org) => zones.get(org) ?? 'UTC', shared: first !== undefined && others.length === 0 ? first : 'UTC' };
}
