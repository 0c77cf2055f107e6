import type { Context, Hono } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';
import { IANAZone } from 'luxon';
import { DAY_MS, SECOND_MS } from '../../../base/time.ts';
import type { OrganizationEntry } from '../../access/reports.ts';
import type { Env } from '../../hono-env.ts';
import { type PageZone, ZONE_CHOICES, type ZoneChoice, type ZoneSubject } from '../components/header/zone-choice.tsx';
import { zonesOf } from '../components/time.tsx';
import { readFormFields, safeRedirectPath } from './page-context.ts';

/** The cookie holds only a preference: `org`, `utc` or `viewer:<IANA zone>`. */
const ZONE_COOKIE = 'docket-zone';
const ZONE_COOKIE_LIFETIME_S = (365 * DAY_MS) / SECOND_MS;

interface StoredChoice {
  readonly choice: ZoneChoice;
  readonly viewer: string | null;
}

/** Unreadable values, such as an unknown zone, count as the default, `org`. */
export function parseZoneChoice(text: string | undefined): StoredChoice {
  const [word, ...rest] = (text ?? '').split(':');
  const choice = ZONE_CHOICES.find((each) => each === word) ?? 'org';
  const viewer = rest.join(':');
  if (choice !== 'viewer') return { choice, viewer: null };
  return viewer.length <= 64 && IANAZone.isValidZone(viewer) ? { choice, viewer } : { choice: 'org', viewer: null };
}

/** The zone of a page, which all of its times use. */
export function pageZone(
  context: Context<Env>,
  organizations: readonly Pick<OrganizationEntry, 'org' | 'timezone'>[],
  { zone, org }: ZoneSubject,
): PageZone {
  const { choice, viewer } = parseZoneChoice(getCookie(context, ZONE_COOKIE));
  const zones = zonesOf(organizations);
  const ofSubject = zone ?? (org === undefined ? zones.shared : zones.of(org));
  const name = choice === 'utc' ? 'UTC' : (viewer ?? ofSubject);
  return { choice, name, org: ofSubject, viewer };
}

/** Adds the form's target: it stores the choice and returns to the page. */
export function addZoneChoice(app: Hono<Env>): void {
  app.post('/zone', async (context) => {
    const { zone, from } = await readFormFields(context);
    const { choice, viewer } = parseZoneChoice(zone);
    setCookie(context, ZONE_COOKIE, viewer === null ? choice : `${choice}:${viewer}`, {
      path: '/',
      httpOnly: true,
      sameSite: 'Strict',
      secure: context.get('client').secure,
      maxAge: ZONE_COOKIE_LIFETIME_S,
    });
    return context.redirect(safeRedirectPath(from), 303);
  });
}
