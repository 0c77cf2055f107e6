import type { PropsWithChildren } from 'hono/jsx';
import { DateTime } from 'luxon';

/** Whose zone a page uses. `org`: the organization's, or UTC if the page shows organizations with different zones. */
export const ZONE_CHOICES = ['org', 'viewer', 'utc'] as const;
export type ZoneChoice = (typeof ZONE_CHOICES)[number];

/** The zone of a page. */
export interface PageZone {
  readonly choice: ZoneChoice;
  /** IANA zone of every instant on the page. */
  readonly name: string;
  /** The zone of the choice `org`. */
  readonly org: string;
  /** The viewer's zone, from the browser; null if the browser has never sent it. */
  readonly viewer: string | null;
}

/** What a page is about. Without either member, it is about all visible organizations. */
export interface ZoneSubject {
  /** The zone of the run or report that the page is about. */
  readonly zone?: string | null | undefined;
  /** The only organization of the page. */
  readonly org?: string | undefined;
}

/** `UTC`, or `Europe/Zurich +01:00` with the current offset. */
const zoneText = (name: string, now: number): string => {
  const time = DateTime.fromMillis(now, { zone: name });
  return name === 'UTC' ? 'UTC' : `${name} ${time.toFormat('ZZ')}`;
};

interface ZoneSelectProps {
  readonly zone: PageZone;
  /** Epoch ms. */
  readonly now: number;
  /** The address of the page to return to. */
  readonly self: string;
}

/**
 * The zone of the page, and the form to choose another one. Only the script knows the browser's zone: it shows the
 * choice `viewer` and fills in its value.
 *
 * @param children the CSRF token of the form
 */
export const ZoneSelect = ({ zone, now, self, children }: PropsWithChildren<ZoneSelectProps>) => {
  const option = (choice: ZoneChoice, label: string, name: string | null) => (
    <button
      type="submit"
      name="zone"
      value={choice === 'viewer' ? `viewer:${name ?? ''}` : choice}
      {...(choice === zone.choice ? { 'aria-pressed': 'true' } : {})}
      {...(choice === 'viewer' ? { 'data-viewer-zone': '', hidden: name === null } : {})}
    >
      {label} <span class="muted">{name ?? ''}</span>
    </button>
  );
  return (
    <details class="zone-choice">
      <summary title="The time zone of this page">Times: {zoneText(zone.name, now)}</summary>
      <form method="post" action="/zone">
        {children}
        <input type="hidden" name="from" value={self} />
        {option('org', 'Organization', zone.org)}
        {option('viewer', 'This browser', zone.viewer)}
        {option('utc', 'UTC', null)}
      </form>
    </details>
  );
};
