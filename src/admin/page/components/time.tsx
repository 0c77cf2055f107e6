import { DateTime } from 'luxon';
import { isoInstant } from '../../../base/time.ts';
import type { OrganizationEntry } from '../../access/reports.ts';
import { formatRelativeTime } from './format-numbers.ts';
import { usePageSettings } from './header/settings.tsx';

/** `UTC` or `+01:00`. Abbreviations such as `CST` would be ambiguous. */
const offsetText = (time: DateTime): string => (time.offset === 0 ? 'UTC' : time.toFormat('ZZ'));

interface TimestampProps {
  /** Epoch ms. */
  readonly at: number;
  /** IANA zone. Inside a page, all times use the page's zone instead. */
  readonly zone: string;
  /** Leaves out the date. */
  readonly short?: boolean;
  readonly seconds?: boolean;
  readonly weekday?: boolean;
}

/** An instant to the second, for a title: `2026-11-21 08:12:00 UTC · 09:12:00 +01:00`. */
function exactText(time: DateTime): string {
  const utc = `${time.toUTC().toFormat('yyyy-MM-dd HH:mm:ss')} UTC`;
  return time.offset === 0 ? utc : `${utc} · ${time.toFormat('HH:mm:ss ZZ')}`;
}

/** The offset of an instant, if it differs from the one in the page's header. */
const Offset = ({ time, now }: { readonly time: DateTime; readonly now: number | undefined }) =>
  now !== undefined && time.offset === DateTime.fromMillis(now, { zone: time.zone }).offset ? null : (
    <span class="zone"> {offsetText(time)}</span>
  );

/**
 * An instant in the page's zone. Shows its offset if it differs from the current one; its title has the time in UTC.
 */
export function Timestamp({ at, zone, short = false, seconds = false, weekday = false }: TimestampProps) {
  const page = usePageSettings();
  const time = DateTime.fromMillis(at, { zone: page?.zone ?? zone, locale: 'en-GB' });
  const clock = time.toFormat(seconds ? 'HH:mm:ss' : 'HH:mm');
  const day = time.toFormat(weekday ? 'ccc d LLL yyyy' : 'd LLL yyyy');
  return (
    <time datetime={isoInstant(at)} title={exactText(time)}>
      {short ? clock : `${day}, ${clock}`}
      <Offset time={time} now={page?.now} />
    </time>
  );
}

interface WhenProps {
  /** Epoch ms. */
  readonly at: number;
  /** IANA zone. Inside a page, all times use the page's zone instead. */
  readonly zone: string;
  /** Epoch ms. Absent: the time of the page. If there is no page either, only the exact time is shown. */
  readonly now?: number;
}

/** A relative time, and beside it the exact one: `3 h ago 11:12`. The script updates the relative time. */
export function When({ at, zone, now: given }: WhenProps) {
  const page = usePageSettings();
  const now = given ?? page?.now;
  if (now === undefined) return <Timestamp at={at} zone={zone} />;
  const time = DateTime.fromMillis(at, { zone: page?.zone ?? zone, locale: 'en-GB' });
  const today = DateTime.fromMillis(now, { zone: time.zone });
  const day = time.hasSame(today, 'day') ? '' : time.hasSame(today, 'year') ? 'd LLL, ' : 'd LLL yyyy, ';
  return (
    <time class="when" datetime={isoInstant(at)} title={exactText(time)}>
      <span>{formatRelativeTime(at, now)}</span>{' '}
      <small>
        {time.toFormat(`${day}HH:mm`)}
        <Offset time={time} now={page?.now} />
      </small>
    </time>
  );
}

/** The time until or since an instant. The script updates it. */
export const RelativeTime = ({ at, now }: { readonly at: number; readonly now: number }) => (
  <span class="relative-time" data-at={at}>
    {formatRelativeTime(at, now)}
  </span>
);

/** The zones in which a page shows times. */
export interface Zones {
  /** The organization's; UTC if unknown. */
  of(org: string): string;
  /** The zone that all organizations share; UTC if they have several. */
  readonly shared: string;
}

export function collectZones(organizations: readonly Pick<OrganizationEntry, 'org' | 'timezone'>[]): Zones {
  const zones = new Map(organizations.flatMap(({ org, timezone }) => (timezone === null ? [] : [[org, timezone]])));
  const [first, ...others] = new Set(zones.values());
  return { of: (org) => zones.get(org) ?? 'UTC', shared: first !== undefined && others.length === 0 ? first : 'UTC' };
}
