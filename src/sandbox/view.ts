import { CODES, code, type Facts, type History, NEVER, type TableName } from './facts.ts';

const DAY = 86_400_000;

export type DimensionId =
  | 'profile.type'
  | 'profile.group'
  | 'profile.review_status'
  | 'profile.relationship_status'
  | 'profile.risk'
  | 'profile.creation_source'
  | 'review.age'
  | 'alert.type'
  | 'alert.status'
  | 'hit.kind'
  | 'hit.resolution';

/** A history as it stands at one instant: states are what the past events made of them, the future is unseen. */
export interface View {
  readonly history: History;
  readonly now: number;
  /** Epoch ms: the first instant of the day of `now`, in UTC or in the zone of whoever asks. */
  readonly today: number;
  /** One code a row: the value of the dimension for each row of the table. */
  column(table: TableName, dimension: DimensionId): Uint8Array;
  /** Review status of each profile. */
  readonly status: Uint8Array;
  /** Arrival at that status. */
  readonly since: Float64Array;
}

/** @param now epoch ms */
export function viewAt(history: History, now: number): View {
  const { facts } = history;
  const columns = new Map<string, Uint8Array>();
  const { status, since, relationship } = states(facts, now);

  const ofProfile = (dimension: DimensionId): Uint8Array | undefined => {
    switch (dimension) {
      case 'profile.type':
        return facts.profiles.type;
      case 'profile.group':
        return facts.profiles.group;
      case 'profile.risk':
        return facts.profiles.risk;
      case 'profile.creation_source':
        return facts.profiles.source;
      case 'profile.review_status':
        return status;
      case 'profile.relationship_status':
        return relationship;
      case 'review.age':
        return since.length === 0 ? status : Uint8Array.from(since, (at) => age(now - at));
      default:
        return undefined;
    }
  };

  const find = (table: TableName, dimension: DimensionId): Uint8Array => {
    if (table === 'alerts' && dimension === 'alert.type') return facts.alerts.type;
    if (table === 'alerts' && dimension === 'alert.status') return alertStatus(facts.alerts, now);
    if (table === 'hits' && dimension === 'hit.kind') return facts.hits.kind;
    if (table === 'hits' && dimension === 'hit.resolution') return hitResolution(facts.hits, now);
    if (table === 'forms' && dimension === 'profile.group') return facts.forms.group;
    const profile = ofProfile(dimension);
    if (profile === undefined || table === 'forms') throw new RangeError(`${table} has no ${dimension}`);
    return table === 'profiles' ? profile : Uint8Array.from(facts[table].profile, (row) => profile[row] ?? 0);
  };

  return {
    history,
    now,
    today: Math.floor(now / DAY) * DAY,
    status,
    since,
    column(table, dimension) {
      const name = `${table} ${dimension}`;
      const held = columns.get(name);
      if (held !== undefined) return held;
      const found = find(table, dimension);
      columns.set(name, found);
      return found;
    },
  };
}

/** Whole days in the current status → 0-2, 3-7, 8-14, 15+ (specification §2.5). */
function age(ms: number): number {
  const days = Math.floor(ms / DAY);
  if (days <= 2) return 0;
  if (days <= 7) return 1;
  return days <= 14 ? 2 : 3;
}

/**
 * Review status, its beginning and the relationship it means, for each profile: a prospect until the first approval,
 * then active, under review while a later review goes on, rejected after a decline, ended once archived.
 */
function states({ profiles, changes }: Facts, now: number) {
  const count = profiles.created.length;
  const status = new Uint8Array(count);
  const since = new Float64Array(count);
  const relationship = new Uint8Array(count);
  const [approved, declined, archived] = [code('status', 'AP'), code('status', 'DE'), code('status', 'AR')];
  const [active, underReview, rejected, ended] = [
    code('relationship', 'active'),
    code('relationship', 'under_review'),
    code('relationship', 'rejected'),
    code('relationship', 'ended'),
  ];
  for (let row = 0; row < count; row++) {
    const last = profiles.changes[row + 1] ?? 0;
    let wasApproved = false;
    for (let change = profiles.changes[row] ?? 0; change < last; change++) {
      const at = changes.at[change] ?? NEVER;
      if (at > now) break;
      const to = changes.to[change] ?? 0;
      status[row] = to;
      since[row] = at;
      wasApproved ||= to === approved;
      if (to === approved) relationship[row] = active;
      else if (to === declined) relationship[row] = rejected;
      else if (to === archived) relationship[row] = ended;
      else if (wasApproved) relationship[row] = underReview;
    }
  }
  return { status, since, relationship };
}

function alertStatus(alerts: Facts['alerts'], now: number): Uint8Array {
  const open = CODES.alertStatus.indexOf('open');
  const inProgress = CODES.alertStatus.indexOf('in_progress');
  return alerts.outcome.map((outcome, row) => {
    if ((alerts.closed[row] ?? NEVER) <= now) return outcome;
    return (alerts.assigned[row] ?? NEVER) <= now ? inProgress : open;
  });
}

function hitResolution(hits: Facts['hits'], now: number): Uint8Array {
  const unresolved = CODES.resolution.indexOf('unresolved');
  return hits.resolution.map((resolution, row) => ((hits.resolved[row] ?? NEVER) <= now ? resolution : unresolved));
}
