import type { Address, Book, Profile, Review } from './book.ts';
import { CODES, code, NEVER } from './facts.ts';
import type { OrganizationSpec } from './organizations.ts';
import type { Draw } from './random.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

export interface Scene {
  readonly spec: OrganizationSpec;
  /** One life's own. What draws until the horizon forks or comes last, so that a later horizon changes nothing before it. */
  readonly draw: Draw;
  readonly book: Book;
  /** Nothing that begins after this is written down. */
  readonly horizon: number;
}

const STATUS = {
  pending: code('status', 'PR'),
  review: code('status', 'UR'),
  rfiSent: code('status', 'RS'),
  rfiAnswered: code('status', 'RR'),
  escalated: code('status', 'ES'),
  approved: code('status', 'AP'),
  declined: code('status', 'DE'),
  archived: code('status', 'AR'),
} as const;

/** By risk: low, medium, high, severe. */
const BY_RISK = {
  weights: [62, 26, 9, 3],
  approved: [0.97, 0.92, 0.7, 0.35],
  escalated: [0.03, 0.08, 0.3, 0.6],
  hits: [0.12, 0.35, 1.1, 2.2],
  dueDays: [10, 7, 5, 3],
} as const;

/** Names the sequence by which a profile or an invitation has no group. */
const UNGROUPED = 0x6709;

/** The group of a profile or an invitation by its place among the organization's; one past the last where it has none. */
function drawGroup({ draw, spec: { groups, ungrouped = 0 } }: Scene): number {
  const group = draw.index(groups.map((_, index) => 4 - Math.min(index, 3)));
  // Drawn by itself: whoever has a group has the same one whether or not others have none.
  return ungrouped > 0 && draw.fork(UNGROUPED).chance(ungrouped) ? groups.length : group;
}

const pick = (list: readonly number[], index: number): number => list[index] ?? 0;

/** An invitation to an intake form, and the profile it becomes when it is submitted and not held. */
export function invite(scene: Scene, invited: number): void {
  const { draw, book, horizon } = scene;
  const group = drawGroup(scene);
  const submitted = draw.chance(0.74) ? invited + draw.lasting(1.6 * DAY, 1.2) : NEVER;
  const held = submitted !== NEVER && draw.chance(0.05);
  book.forms.push({ invited, submitted, held, group });
  if (submitted < horizon && !held) live(scene, submitted, code('source', 'intake_form'), group);
}

/** A profile from its creation to its end, with all that happens around it. */
export function live(scene: Scene, created: number, source: number, inGroup?: number): void {
  const { draw, book, spec, horizon } = scene;
  const profile: Profile = {
    row: -1,
    created,
    type: draw.chance(0.28) ? code('type', 'entity') : code('type', 'individual'),
    group: inGroup ?? drawGroup(scene),
    risk: draw.index(BY_RISK.weights),
    source,
    changes: [{ at: created, to: STATUS.pending }],
  };
  book.profiles.push(profile);
  screen(scene, profile, horizon);
  const approved = review(scene, profile, created + draw.lasting(5 * HOUR, 1.1), created);
  if (spec.features.includes('blockchain')) holdAddresses(scene, profile);
  if (approved === NEVER) return;
  if (spec.features.includes('transactions')) transact(scene, profile, approved);
  comeBack(scene, profile, approved);
}

/** One review from its opening to its decision; answers when it ended in Approved, else `NEVER`. */
function review({ draw, book }: Scene, profile: Profile, taken: number, opened: number): number {
  const entity = profile.type === code('type', 'entity');
  const open: Review = {
    profile,
    opened,
    due: opened + pick(BY_RISK.dueDays, profile.risk) * DAY,
    decided: NEVER,
    decision: 0,
  };
  book.reviews.push(open);
  let at = taken;
  const arrive = (to: number) => profile.changes.push({ at, to });
  arrive(STATUS.review);
  if (draw.chance(entity ? 0.34 : 0.16)) {
    at += draw.lasting(4 * HOUR, 0.9);
    arrive(STATUS.rfiSent);
    const sent = at;
    const due = sent + 7 * DAY;
    const waited = draw.chance(0.86) ? draw.lasting(2.2 * DAY, 0.9) : NEVER;
    // Whoever does not answer is declined after the reminder, or simply stays where he is.
    const withdrawn = waited === NEVER && draw.chance(0.94) ? due + draw.lasting(3 * DAY, 0.4) : NEVER;
    book.rfis.push({ profile, sent, due, answered: sent + waited, withdrawn });
    if (waited === NEVER) {
      if (withdrawn === NEVER) return NEVER;
      at = withdrawn;
      arrive(STATUS.declined);
      open.decided = at;
      open.decision = STATUS.declined;
      return NEVER;
    }
    at += waited;
    arrive(STATUS.rfiAnswered);
    at += draw.lasting(6 * HOUR, 0.8);
    arrive(STATUS.review);
  }
  if (draw.chance(pick(BY_RISK.escalated, profile.risk))) {
    at += draw.lasting(8 * HOUR, 0.9);
    arrive(STATUS.escalated);
    at += draw.lasting(1.5 * DAY, 0.8);
  }
  // A few reviews are forgotten for good, more for a while: they are what an overdue queue is made of.
  if (draw.chance(0.002)) return NEVER;
  if (draw.chance(0.03)) at += draw.lasting(12 * DAY, 0.6);
  at += draw.lasting(entity ? 1.4 * DAY : 9 * HOUR, 1);
  const to = draw.chance(pick(BY_RISK.approved, profile.risk)) ? STATUS.approved : STATUS.declined;
  arrive(to);
  open.decided = at;
  open.decision = to;
  return to === STATUS.approved ? at : NEVER;
}

/** What happens to an approved profile: periodic reviews, and its end. */
function comeBack(scene: Scene, profile: Profile, approved: number): void {
  const { draw, horizon } = scene;
  let since = approved;
  while (since < horizon) {
    if (draw.chance(0.12)) {
      profile.changes.push({ at: since + draw.lasting(200 * DAY, 0.5), to: STATUS.archived });
      return;
    }
    if (!draw.chance(0.5)) return;
    const opened = since + draw.lasting(240 * DAY, 0.35);
    if (opened >= horizon) return;
    since = review(scene, profile, opened, opened);
  }
}

/** Screening against lists at creation and while the profile is monitored; hits may raise alerts. */
function screen({ draw, book, spec }: Scene, profile: Profile, horizon: number): void {
  const adverse = spec.features.includes('adverse_media');
  const mean = pick(BY_RISK.hits, profile.risk);
  const found = [
    ...Array.from({ length: draw.count(mean) }, () => profile.created + draw.lasting(2 * MINUTE, 0.5)),
    ...Array.from({ length: draw.count(mean / 2) }, () => profile.created + draw.lasting(150 * DAY, 0.8)),
  ];
  for (const at of found) {
    const kind = draw.index(adverse ? [25, 40, 35] : [40, 60, 0]);
    const resolved = draw.chance(0.99) ? at + draw.lasting(1.3 * DAY, 1) : NEVER;
    const resolution = 1 + draw.index([82, 12, 6]);
    const alerted = draw.chance(0.7);
    const assigned = draw.chance(0.9) ? at + draw.lasting(3 * HOUR, 1) : NEVER;
    if (at >= horizon) continue;
    book.hits.push({ profile, found: at, kind, resolved, resolution });
    if (!alerted) continue;
    const type = code('alertType', CODES.hitKind[kind] === 'adverse_media' ? 'adverse_media' : 'watchlist');
    const dismissed = resolution === code('resolution', 'false_positive');
    raise(book, profile, type, at + 5000, assigned, resolved, dismissed);
  }
  if (draw.chance(0.03)) {
    const at = profile.created + draw.lasting(MINUTE, 0.4);
    const closed = draw.chance(0.98) ? at + draw.lasting(2 * DAY, 0.8) : NEVER;
    const assigned = draw.chance(0.8) ? at + draw.lasting(5 * HOUR, 0.8) : NEVER;
    raise(book, profile, code('alertType', 'duplicate'), at, assigned, closed, draw.chance(0.7));
  }
}

function raise(
  book: Book,
  profile: Profile,
  type: number,
  created: number,
  assigned: number,
  resolved: number,
  dismissed: boolean,
): void {
  const closed = resolved === NEVER ? NEVER : Math.max(resolved, created + 1000);
  book.alerts.push({
    profile,
    type,
    created,
    assigned: Math.min(closed, assigned),
    closed,
    outcome: code('alertStatus', dismissed ? 'dismissed' : 'closed'),
  });
}

/** Blockchain addresses of a profile and their screening, first and then about every quarter. */
function holdAddresses({ draw: life, book, horizon }: Scene, profile: Profile): void {
  const entity = profile.type === code('type', 'entity');
  const held = life.chance(entity ? 0.6 : 0.35) ? 1 + life.count(entity ? 1.2 : 0.3) : 0;
  for (let nth = 0; nth < held; nth++) {
    const draw = life.fork(nth);
    const added = profile.created + draw.lasting(1.5 * DAY, 1.4);
    const network = draw.index([30, 38, 14, 12, 6]);
    if (added >= horizon) continue;
    const screenable = CODES.network[network] !== 'monero';
    const address: Address = { row: -1, profile, added, screened: NEVER, network, screenable };
    book.addresses.push(address);
    if (!screenable) continue;
    let known = -1;
    let rating = draw.index([78, 14, 6, 2]);
    for (let at = added + draw.lasting(12 * MINUTE, 1); at < horizon; ) {
      const failed = draw.chance(0.05);
      if (draw.chance(0.05)) rating = Math.min(3, rating + 1);
      else if (draw.chance(0.03)) rating = Math.max(0, rating - 1);
      const rose = !failed && known >= 0 && rating > known;
      book.runs.push({ address, at, failed, rating, rose });
      if (rose) {
        const closed = draw.chance(0.98) ? at + draw.lasting(2.5 * DAY, 0.9) : NEVER;
        const assigned = draw.chance(0.85) ? at + draw.lasting(6 * HOUR, 0.9) : NEVER;
        raise(book, profile, code('alertType', 'blockchain_address'), at + 10_000, assigned, closed, draw.chance(0.5));
      }
      if (!failed) {
        known = rating;
        if (address.screened === NEVER) address.screened = at;
      }
      at += failed ? draw.lasting(HOUR, 0.3) : draw.lasting(90 * DAY, 0.1);
    }
  }
}

/** Alerts on transactions of an approved profile: a recommendation comes with each, a person decides. */
function transact({ draw, book, horizon }: Scene, profile: Profile, approved: number): void {
  for (let left = draw.count(0.4 + profile.risk * 0.5); left > 0; left--) {
    const received = approved + draw.lasting(120 * DAY, 1);
    const recommended = draw.index([70, 30]);
    const decided = draw.chance(0.12) ? 1 - recommended : recommended;
    const closed = draw.chance(0.95) ? received + draw.lasting(7 * HOUR, 1.1) : NEVER;
    if (received < horizon) book.transactions.push({ profile, received, closed, recommended, decided });
  }
}
