import { codeName, type FactTables, type History, NEVER } from './fact-tables.ts';
import { generateHistory } from './history.ts';
import { ORGANIZATIONS } from './organizations.ts';

/** The fields of an event besides its time (ISO, UTC), kind and organization. */
type EventFields = Readonly<Record<string, string | number | boolean | null>>;
type Row = readonly [at: number, event: string, fields: EventFields];
type Add = (at: number | undefined, event: string, fields: EventFields) => void;

/**
 * All events until now as NDJSON lines, by organization, then time. They are enough to recompute every metric.
 *
 * @param now epoch ms; later events are left out
 * @param organizations ids; absent: all
 * @param ungrouped like in `SandboxOptions`
 */
export function* dump({
  seed,
  now,
  organizations,
  ungrouped = 0,
}: {
  readonly seed: number;
  readonly now: number;
  readonly organizations?: readonly number[];
  readonly ungrouped?: number;
}): Generator<string> {
  for (const spec of ORGANIZATIONS) {
    if (organizations !== undefined && !organizations.includes(spec.id)) continue;
    const history = generateHistory({ ...spec, ungrouped }, seed, now, now + 1000);
    const rows = events(history, spec.groups).filter(([at]) => at <= now);
    rows.sort(([a], [b]) => a - b);
    for (const [at, event, fields] of rows) {
      yield `${JSON.stringify({ at: new Date(at).toISOString(), event, organization: spec.id, ...fields })}\n`;
    }
  }
}

const iso = (instant: number | undefined) => new Date(instant ?? 0).toISOString();

function events({ facts }: History, groups: readonly string[]): Row[] {
  const rows: Row[] = [];
  const add: Add = (at, event, fields) => {
    if (at !== undefined && at !== NEVER) rows.push([at, event, fields]);
  };
  addProfiles(facts, groups, add);
  addScreening(facts, add);
  addCasework(facts, groups, add);
  return rows;
}

/** Rows are numbered from 1, like the ids in the lists. */
function addProfiles({ profiles, changes, reviews }: FactTables, groups: readonly string[], add: Add): void {
  for (const [row, at] of profiles.created.entries()) {
    add(at, 'profile.created', {
      profile: row + 1,
      type: codeName('type', profiles.type[row]),
      group: groups[profiles.group[row] ?? 0] ?? null,
      risk: codeName('risk', profiles.risk[row]),
      creation_source: codeName('source', profiles.source[row]),
    });
    const first = profiles.changes[row] ?? 0;
    for (let change = first; change < (profiles.changes[row + 1] ?? 0); change++) {
      const status = codeName('status', changes.to[change]);
      add(changes.at[change], 'profile.status_changed', { profile: row + 1, nth: change - first + 1, status });
    }
  }
  for (const [row, at] of reviews.opened.entries()) {
    const review = { review: row + 1, profile: (reviews.profile[row] ?? 0) + 1 };
    add(at, 'review.opened', { ...review, due_at: iso(reviews.due[row]) });
    add(reviews.decided[row], 'review.decided', { ...review, decision: codeName('status', reviews.decision[row]) });
  }
}

function addScreening({ hits, addresses, runs }: FactTables, add: Add): void {
  for (const [row, at] of hits.found.entries()) {
    const hit = { hit: row + 1, profile: (hits.profile[row] ?? 0) + 1 };
    add(at, 'hit.found', { ...hit, kind: codeName('hitKind', hits.kind[row]) });
    add(hits.resolved[row], 'hit.resolved', { ...hit, resolution: codeName('resolution', hits.resolution[row]) });
  }
  for (const [row, at] of addresses.added.entries()) {
    add(at, 'address.added', {
      address: row + 1,
      profile: (addresses.profile[row] ?? 0) + 1,
      network: codeName('network', addresses.network[row]),
      can_be_screened: addresses.screenable[row] === 1,
    });
  }
  for (const [row, at] of runs.at.entries()) {
    const failed = runs.failed[row] === 1;
    add(at, 'address.screened', {
      run: row + 1,
      address: (runs.address[row] ?? 0) + 1,
      failed,
      risk: failed ? null : codeName('risk', runs.rating[row]),
    });
  }
}

function addCasework({ alerts, rfis, forms, transactions }: FactTables, groups: readonly string[], add: Add): void {
  for (const [row, at] of alerts.created.entries()) {
    const alert = { alert: row + 1, profile: (alerts.profile[row] ?? 0) + 1 };
    add(at, 'alert.created', { ...alert, type: codeName('alertType', alerts.type[row]) });
    add(alerts.assigned[row], 'alert.assigned', alert);
    add(alerts.closed[row], 'alert.closed', { ...alert, status: codeName('alertStatus', alerts.outcome[row]) });
  }
  for (const [row, at] of rfis.sent.entries()) {
    const rfi = { rfi: row + 1, profile: (rfis.profile[row] ?? 0) + 1 };
    add(at, 'rfi.sent', { ...rfi, due_at: iso(rfis.due[row]) });
    add(rfis.answered[row], 'rfi.answered', rfi);
    add(rfis.withdrawn[row], 'rfi.withdrawn', rfi);
  }
  for (const [row, at] of forms.invited.entries()) {
    const form = { form: row + 1, group: groups[forms.group[row] ?? 0] ?? null };
    add(at, 'intake.invited', form);
    add(forms.submitted[row], 'intake.submitted', { ...form, held: forms.held[row] === 1 });
  }
  for (const [row, at] of transactions.received.entries()) {
    const transaction = { transaction_alert: row + 1, profile: (transactions.profile[row] ?? 0) + 1 };
    const recommendation = codeName('verdict', transactions.recommended[row]);
    const decision = codeName('verdict', transactions.decided[row]);
    add(at, 'transaction_alert.received', { ...transaction, recommendation });
    add(transactions.closed[row], 'transaction_alert.closed', { ...transaction, decision });
  }
}
