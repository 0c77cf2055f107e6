import type { PropsWithChildren } from 'hono/jsx';
import { DateTime } from 'luxon';

/** Whose zone the times of pages are shown in. `org`: the organization's, or UTC where organizations of several are shown. */
export const ZONE_CHOICES = ['org', 'viewer', 'utc'] as const;
export type ZoneChoice = (typeof ZONE_CHOICES)[number];

/** The zone of a page. */
export interface PageZone {
  readonly choice: ZoneChoice;
  /** IANA zone of every instant on the page. */
  readonly name: string;
  /** The zone of the choice `org`. */
  readonly org: string;
  /** The viewer's zone, as the browser said it; null if it never did. */
  readonly viewer: string | null;
}

/** What a page is about; without either, all visible organizations. */
export interface ZoneSubject {
  /** The zone of the run or report that the page is about. */
  readonly zone?: string | null | undefined;
  /** The only organization of the page. */
  readonly org?: string | undefined;
}

/** `UTC`, or `Europe/Zurich +01:00`: the offset that holds now. */
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
 * The zone of the page, and the form to choose another. The browser's zone is only known to the script, which shows the
 * choice `viewer` and fills in its value.
 *
 * @param children the token of the form
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
