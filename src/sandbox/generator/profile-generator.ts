import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../base/time.ts';
import { type Address, CODES, type Entities, NEVER, type Profile, valueCode } from './fact-tables.ts';
import type { OrganizationSpec } from './organizations.ts';
import type { RandomSource } from './random.ts';

export interface GeneratorContext {
  readonly spec: OrganizationSpec;
  /**
   * Random numbers of one entity. Draws that depend on the horizon fork or come last, so that a later horizon does not
   * change earlier events.
   */
  readonly draw: RandomSource;
  readonly entities: Entities;
  /** Nothing that begins later is generated. */
  readonly horizon: number;
}

const STATUS = {
  pending: valueCode('status', 'PR'),
  review: valueCode('status', 'UR'),
  rfiSent: valueCode('status', 'RS'),
  rfiAnswered: valueCode('status', 'RR'),
  escalated: valueCode('status', 'ES'),
  approved: valueCode('status', 'AP'),
  declined: valueCode('status', 'DE'),
  archived: valueCode('status', 'AR'),
} as const;

/** By risk: low, medium, high, severe. */
const BY_RISK = {
  weights: [62, 26, 9, 3],
  approved: [0.97, 0.92, 0.7, 0.35],
  escalated: [0.03, 0.08, 0.3, 0.6],
  hits: [0.12, 0.35, 1.1, 2.2],
  dueDays: [10, 7, 5, 3],
} as const;

/** Identifies the random sequence that decides which profiles and invitations have no group. */
const UNGROUPED_SEED = 0x6709;

/** The index of a profile's or invitation's group; without a group, one after the last index. */
function drawGroup({ draw, spec: { groups, ungrouped = 0 } }: GeneratorContext): number {
  const group = draw.weightedIndex(groups.map((_, index) => 4 - Math.min(index, 3)));
  // Drawn from a separate sequence, so that groups do not depend on the share without a group.
  return ungrouped > 0 && draw.fork(UNGROUPED_SEED).chance(ungrouped) ? groups.length : group;
}

const pick = (list: readonly number[], index: number): number => list[index] ?? 0;

/** Generates an invitation to an intake form, and the profile that it becomes if it is submitted and not held. */
export function generateInvitation(scene: GeneratorContext, invited: number): void {
  const { draw, entities, horizon } = scene;
  const group = drawGroup(scene);
  const submitted = draw.chance(0.74) ? invited + draw.durationMs(1.6 * DAY_MS, 1.2) : NEVER;
  const held = submitted !== NEVER && draw.chance(0.05);
  entities.forms.push({ invited, submitted, held: Number(held), group });
  if (submitted < horizon && !held) generateProfile(scene, submitted, valueCode('source', 'intake_form'), group);
}

/** Generates a profile from its creation to its end, with all related events. */
export function generateProfile(scene: GeneratorContext, created: number, source: number, inGroup?: number): void {
  const { draw, entities, spec, horizon } = scene;
  const profile: Profile = {
    row: -1,
    created,
    decided: NEVER,
    approved: 0,
    type: draw.chance(0.28) ? valueCode('type', 'entity') : valueCode('type', 'individual'),
    group: inGroup ?? drawGroup(scene),
    risk: draw.weightedIndex(BY_RISK.weights),
    source,
    changes: [{ at: created, to: STATUS.pending }],
  };
  entities.profiles.push(profile);
  addScreening(scene, profile, horizon);
  const approved = addReview(scene, profile, created + draw.durationMs(5 * HOUR_MS, 1.1), created);
  if (spec.features.includes('blockchain')) addAddresses(scene, profile);
  if (approved === NEVER) return;
  if (spec.features.includes('transactions')) addTransactionAlerts(scene, profile, approved);
  addPeriodicReviews(scene, profile, approved);
}

/** Generates a review from its opening to its decision. Returns when it was approved, otherwise `NEVER`. */
function addReview({ draw, entities }: GeneratorContext, profile: Profile, taken: number, opened: number): number {
  const entity = profile.type === valueCode('type', 'entity');
  const due = opened + pick(BY_RISK.dueDays, profile.risk) * DAY_MS;
  const review = { profile, opened, due, decided: NEVER, decision: 0 };
  entities.reviews.push(review);
  let at = taken;
  const arrive = (to: number) => profile.changes.push({ at, to });
  const decide = (to: number) => {
    arrive(to);
    review.decided = at;
    review.decision = to;
    if (profile.decided !== NEVER) return;
    profile.decided = at;
    profile.approved = Number(to === STATUS.approved);
  };
  arrive(STATUS.review);
  if (draw.chance(entity ? 0.34 : 0.16)) {
    at += draw.durationMs(4 * HOUR_MS, 0.9);
    arrive(STATUS.rfiSent);
    const sent = at;
    const replyDue = sent + 7 * DAY_MS;
    const waited = draw.chance(0.86) ? draw.durationMs(2.2 * DAY_MS, 0.9) : NEVER;
    // Without a reply, the profile is declined after the reminder, or stays as it is.
    const withdrawn = waited === NEVER && draw.chance(0.94) ? replyDue + draw.durationMs(3 * DAY_MS, 0.4) : NEVER;
    entities.rfis.push({ profile, sent, due: replyDue, answered: sent + waited, withdrawn });
    if (waited === NEVER) {
      if (withdrawn === NEVER) return NEVER;
      at = withdrawn;
      decide(STATUS.declined);
      return NEVER;
    }
    at += waited;
    arrive(STATUS.rfiAnswered);
    at += draw.durationMs(6 * HOUR_MS, 0.8);
    arrive(STATUS.review);
  }
  if (draw.chance(pick(BY_RISK.escalated, profile.risk))) {
    at += draw.durationMs(8 * HOUR_MS, 0.9);
    arrive(STATUS.escalated);
    at += draw.durationMs(1.5 * DAY_MS, 0.8);
  }
  // A few reviews are never finished and more are late, which fills the overdue queue.
  if (draw.chance(0.002)) return NEVER;
  if (draw.chance(0.03)) at += draw.durationMs(12 * DAY_MS, 0.6);
  at += draw.durationMs(entity ? 1.4 * DAY_MS : 9 * HOUR_MS, 1);
  const to = draw.chance(pick(BY_RISK.approved, profile.risk)) ? STATUS.approved : STATUS.declined;
  decide(to);
  return to === STATUS.approved ? at : NEVER;
}

/** Generates what happens to an approved profile: periodic reviews, and its end. */
function addPeriodicReviews(scene: GeneratorContext, profile: Profile, approved: number): void {
  const { draw, horizon } = scene;
  let since = approved;
  while (since < horizon) {
    if (draw.chance(0.12)) {
      profile.changes.push({ at: since + draw.durationMs(200 * DAY_MS, 0.5), to: STATUS.archived });
      return;
    }
    if (!draw.chance(0.5)) return;
    const opened = since + draw.durationMs(240 * DAY_MS, 0.35);
    if (opened >= horizon) return;
    since = addReview(scene, profile, opened, opened);
  }
}

/** Generates screening against lists, at creation and while the profile is monitored. Hits may raise alerts. */
function addScreening({ draw, entities, spec }: GeneratorContext, profile: Profile, horizon: number): void {
  const adverse = spec.features.includes('adverse_media');
  const mean = pick(BY_RISK.hits, profile.risk);
  const found = [
    ...Array.from({ length: draw.poisson(mean) }, () => profile.created + draw.durationMs(2 * MINUTE_MS, 0.5)),
    ...Array.from({ length: draw.poisson(mean / 2) }, () => profile.created + draw.durationMs(150 * DAY_MS, 0.8)),
  ];
  for (const at of found) {
    const kind = draw.weightedIndex(adverse ? [25, 40, 35] : [40, 60, 0]);
    const resolved = draw.chance(0.99) ? at + draw.durationMs(1.3 * DAY_MS, 1) : NEVER;
    const resolution = 1 + draw.weightedIndex([82, 12, 6]);
    const alerted = draw.chance(0.7);
    const assigned = draw.chance(0.9) ? at + draw.durationMs(3 * HOUR_MS, 1) : NEVER;
    if (at >= horizon) continue;
    entities.hits.push({ profile, found: at, kind, resolved, resolution });
    if (!alerted) continue;
    const type = valueCode('alertType', CODES.hitKind[kind] === 'adverse_media' ? 'adverse_media' : 'watchlist');
    const dismissed = resolution === valueCode('resolution', 'false_positive');
    addAlert(entities, profile, type, at + 5000, assigned, resolved, dismissed);
  }
  if (draw.chance(0.03)) {
    const at = profile.created + draw.durationMs(MINUTE_MS, 0.4);
    const closed = draw.chance(0.98) ? at + draw.durationMs(2 * DAY_MS, 0.8) : NEVER;
    const assigned = draw.chance(0.8) ? at + draw.durationMs(5 * HOUR_MS, 0.8) : NEVER;
    addAlert(entities, profile, valueCode('alertType', 'duplicate'), at, assigned, closed, draw.chance(0.7));
  }
}

function addAlert(
  book: Entities,
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
    outcome: valueCode('alertStatus', dismissed ? 'dismissed' : 'closed'),
  });
}

/** Generates the blockchain addresses of a profile and their screening: the first, then about one per quarter. */
function addAddresses({ draw: life, entities, horizon }: GeneratorContext, profile: Profile): void {
  const entity = profile.type === valueCode('type', 'entity');
  const held = life.chance(entity ? 0.6 : 0.35) ? 1 + life.poisson(entity ? 1.2 : 0.3) : 0;
  for (let nth = 0; nth < held; nth++) {
    const draw = life.fork(nth);
    const added = profile.created + draw.durationMs(1.5 * DAY_MS, 1.4);
    const network = draw.weightedIndex([30, 38, 14, 12, 6]);
    if (added >= horizon) continue;
    const screenable = CODES.network[network] !== 'monero';
    const address: Address = { row: -1, profile, added, screened: NEVER, network, screenable: Number(screenable) };
    entities.addresses.push(address);
    if (!screenable) continue;
    let known = -1;
    let rating = draw.weightedIndex([78, 14, 6, 2]);
    for (let at = added + draw.durationMs(12 * MINUTE_MS, 1); at < horizon; ) {
      const failed = draw.chance(0.05);
      if (draw.chance(0.05)) rating = Math.min(3, rating + 1);
      else if (draw.chance(0.03)) rating = Math.max(0, rating - 1);
      const rose = !failed && known >= 0 && rating > known;
      entities.runs.push({ address, profile, at, failed: Number(failed), rating, rose: Number(rose) });
      if (rose) {
        const closed = draw.chance(0.98) ? at + draw.durationMs(2.5 * DAY_MS, 0.9) : NEVER;
        const assigned = draw.chance(0.85) ? at + draw.durationMs(6 * HOUR_MS, 0.9) : NEVER;
        const type = valueCode('alertType', 'blockchain_address');
        addAlert(entities, profile, type, at + 10_000, assigned, closed, draw.chance(0.5));
      }
      if (!failed) {
        known = rating;
        if (address.screened === NEVER) address.screened = at;
      }
      at += failed ? draw.durationMs(HOUR_MS, 0.3) : draw.durationMs(90 * DAY_MS, 0.1);
    }
  }
}

/** Generates alerts on transactions of an approved profile. Each has a recommendation, and a person decides. */
function addTransactionAlerts({ draw, entities, horizon }: GeneratorContext, profile: Profile, approved: number): void {
  for (let left = draw.poisson(0.4 + profile.risk * 0.5); left > 0; left--) {
    const received = approved + draw.durationMs(120 * DAY_MS, 1);
    const recommended = draw.weightedIndex([70, 30]);
    const decided = draw.chance(0.12) ? 1 - recommended : recommended;
    const closed = draw.chance(0.95) ? received + draw.durationMs(7 * HOUR_MS, 1.1) : NEVER;
    if (received < horizon) entities.transactions.push({ profile, received, closed, recommended, decided });
  }
}
