import { memoize } from '../../base/memoize.ts';
import { DAY_MS } from '../../base/time.ts';
import type { DIMENSION_IDS } from '../../contract/catalog.ts';
import { type FactTables, type History, NEVER, type TableName, valueCode } from '../generator/fact-tables.ts';

export type DimensionId = (typeof DIMENSION_IDS)[number];

/** The state of a history at one instant, derived from past events only. */
export interface Snapshot {
  readonly history: History;
  readonly now: number;
  /** Epoch ms: the first instant of the day of `now`, in UTC or in the requested zone. */
  readonly today: number;
  /** The dimension's code in each row of the table. */
  column(table: TableName, dimension: DimensionId): Uint8Array;
  /** Review status of each profile. */
  readonly status: Uint8Array;
  /** When the profile got that status. */
  readonly since: Float64Array;
}

/** More than the number of tables times dimensions. */
const MAX_COLUMNS = 200;

/** @param now epoch ms */
export function snapshotAt(history: History, now: number): Snapshot {
  const { facts } = history;
  const { status, since, relationship } = profileStates(facts, now);

  const { type, group, risk, source } = facts.profiles;
  const ofProfile = (dimension: DimensionId): Uint8Array | undefined =>
    dimension === 'review.age'
      ? Uint8Array.from(since, (at) => ageCode(now - at))
      : new Map<DimensionId, Uint8Array>([
          ['profile.type', type],
          ['profile.group', group],
          ['profile.risk', risk],
          ['profile.creation_source', source],
          ['profile.review_status', status],
          ['profile.relationship_status', relationship],
        ]).get(dimension);

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
    today: Math.floor(now / DAY_MS) * DAY_MS,
    status,
    since,
    column: memoize(find, MAX_COLUMNS),
  };
}

/** The code for whole days in the current status: 0-2, 3-7, 8-14, 15+ (specification §2.5). */
function ageCode(ms: number): number {
  const days = Math.floor(ms / DAY_MS);
  if (days <= 2) return 0;
  if (days <= 7) return 1;
  return days <= 14 ? 2 : 3;
}

/**
 * For each profile: its review status, since when, and the resulting relationship. It is a prospect until the first
 * approval, then active, under review during later reviews, rejected after a decline, and ended once archived.
 */
function profileStates({ profiles, changes }: FactTables, now: number) {
  const count = profiles.created.length;
  const status = new Uint8Array(count);
  const since = new Float64Array(count);
  const relationship = new Uint8Array(count);
  const approved = valueCode('status', 'AP');
  /** The relationship that begins when a profile gets one of these statuses. */
  const begins = new Map([
    [approved, valueCode('relationship', 'active')],
    [valueCode('status', 'DE'), valueCode('relationship', 'rejected')],
    [valueCode('status', 'AR'), valueCode('relationship', 'ended')],
  ]);
  const underReview = valueCode('relationship', 'under_review');
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
      relationship[row] = begins.get(to) ?? (wasApproved ? underReview : (relationship[row] ?? 0));
    }
  }
  return { status, since, relationship };
}

function alertStatus(alerts: FactTables['alerts'], now: number): Uint8Array {
  const open = valueCode('alertStatus', 'open');
  const inProgress = valueCode('alertStatus', 'in_progress');
  return alerts.outcome.map((outcome, row) => {
    if ((alerts.closed[row] ?? NEVER) <= now) return outcome;
    return (alerts.assigned[row] ?? NEVER) <= now ? inProgress : open;
  });
}

function hitResolution(hits: FactTables['hits'], now: number): Uint8Array {
  const unresolved = valueCode('resolution', 'unresolved');
  return hits.resolution.map((resolution, row) => ((hits.resolved[row] ?? NEVER) <= now ? resolution : unresolved));
}
