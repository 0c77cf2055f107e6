import { DAY_MS } from '../../base/time.ts';
import type { Entities } from './entities.ts';
import { type FactTables, type History, NEVER, valueCode } from './fact-tables.ts';
import type { OrganizationSpec } from './organizations.ts';
import { type GeneratorContext, generateInvitation, generateProfile } from './profile-generator.ts';
import { type RandomSource, randomSource } from './random.ts';

/** Monday first. */
const WEEKDAYS = [1.05, 1.1, 1.05, 1, 0.85, 0.16, 0.1];

/** The first day of an organization: whole months before the present month (UTC); today without history. */
function firstDay(spec: OrganizationSpec, now: number): number {
  const date = new Date(now);
  if (spec.months === 0) return Math.floor(now / DAY_MS);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() - spec.months, 1) / DAY_MS;
}

/** Expected number of profiles and invitations on a day. */
function expectedArrivals(spec: OrganizationSpec, first: number, day: number): number {
  const weekday = WEEKDAYS[(day + 3) % 7] ?? 1;
  const date = new Date(day * DAY_MS);
  const holidays = date.getUTCMonth() === 11 && date.getUTCDate() > 22 ? 0.4 : 1;
  return spec.arrivals * (1 + spec.growth) ** ((day - first) / 30.4) * weekday * holidays;
}

/** Mostly office hours; API events at any hour. */
function timeOfDay(draw: RandomSource, anyHour: boolean): number {
  const hours = anyHour ? draw.uniform() * 24 : 12 + 3 * draw.normal();
  return Math.floor(Math.min(86_399, Math.max(0, hours * 3600))) * 1000;
}

/**
 * All events of an organization from its first day to the horizon, and their continuation.
 * Reproducible from the seed, the organization and the month of `startedAt`; a later horizon only adds to it.
 *
 * @param startedAt epoch ms at which the sandbox started: the first day is counted back from it
 * @param horizon epoch ms; later beginnings are not generated
 */
export function generateHistory(spec: OrganizationSpec, seed: number, startedAt: number, horizon: number): History {
  const first = firstDay(spec, startedAt);
  const entities: Entities = {
    profiles: [],
    reviews: [],
    hits: [],
    alerts: [],
    rfis: [],
    addresses: [],
    runs: [],
    forms: [],
    transactions: [],
  };
  for (let day = first; spec.arrivals > 0 && day * DAY_MS < horizon; day++) {
    const today = randomSource(seed, spec.id, day);
    for (let left = today.poisson(expectedArrivals(spec, first, day)); left > 0; left--) {
      const draw = today.fork(left);
      const scene: GeneratorContext = { spec, draw, entities, horizon };
      const source = draw.weightedIndex(spec.features.includes('intake') ? [18, 30, 7, 45] : [45, 40, 15, 0]);
      const at = day * DAY_MS + timeOfDay(draw, source === valueCode('source', 'api'));
      if (source === valueCode('source', 'intake_form')) generateInvitation(scene, at);
      else generateProfile(scene, at, source);
    }
  }
  return { facts: toColumns(entities), start: first * DAY_MS, horizon };
}

/** The entities as columns, each table sorted by time. */
function toColumns(book: Entities): FactTables {
  const profiles = numberRows(sortRows(book.profiles, (profile) => profile.created));
  const addresses = numberRows(sortRows(book.addresses, (address) => address.added));
  const reviews = sortRows(book.reviews, (review) => review.opened);
  const hits = sortRows(book.hits, (hit) => hit.found);
  const alerts = sortRows(book.alerts, (alert) => alert.created);
  const rfis = sortRows(book.rfis, (rfi) => rfi.sent);
  const runs = sortRows(book.runs, (run) => run.at);
  const forms = sortRows(book.forms, (form) => form.invited);
  const transactions = sortRows(book.transactions, (transaction) => transaction.received);
  const changes = profiles.flatMap((profile) => profile.changes);
  const starts = new Uint32Array(profiles.length + 1);
  for (const [row, profile] of profiles.entries()) starts[row + 1] = (starts[row] ?? 0) + profile.changes.length;
  const approved = valueCode('status', 'AP');
  const declined = valueCode('status', 'DE');
  const decisions = profiles.map((profile) =>
    profile.changes.find((change) => change.to === approved || change.to === declined),
  );
  return {
    profiles: {
      created: instantColumn(profiles, (profile) => profile.created),
      decided: instantColumn(decisions, (decision) => decision?.at ?? NEVER),
      approved: codeColumn(decisions, (decision) => Number(decision?.to === approved)),
      type: codeColumn(profiles, (profile) => profile.type),
      group: codeColumn(profiles, (profile) => profile.group),
      risk: codeColumn(profiles, (profile) => profile.risk),
      source: codeColumn(profiles, (profile) => profile.source),
      changes: starts,
    },
    changes: { at: instantColumn(changes, (change) => change.at), to: codeColumn(changes, (change) => change.to) },
    reviews: {
      opened: instantColumn(reviews, (review) => review.opened),
      due: instantColumn(reviews, (review) => review.due),
      decided: instantColumn(reviews, (review) => review.decided),
      decision: codeColumn(reviews, (review) => review.decision),
      profile: profileRows(reviews),
    },
    hits: {
      found: instantColumn(hits, (hit) => hit.found),
      resolved: instantColumn(hits, (hit) => hit.resolved),
      kind: codeColumn(hits, (hit) => hit.kind),
      resolution: codeColumn(hits, (hit) => hit.resolution),
      profile: profileRows(hits),
    },
    alerts: {
      created: instantColumn(alerts, (alert) => alert.created),
      assigned: instantColumn(alerts, (alert) => alert.assigned),
      closed: instantColumn(alerts, (alert) => alert.closed),
      type: codeColumn(alerts, (alert) => alert.type),
      outcome: codeColumn(alerts, (alert) => alert.outcome),
      profile: profileRows(alerts),
    },
    rfis: {
      sent: instantColumn(rfis, (rfi) => rfi.sent),
      due: instantColumn(rfis, (rfi) => rfi.due),
      answered: instantColumn(rfis, (rfi) => rfi.answered),
      withdrawn: instantColumn(rfis, (rfi) => rfi.withdrawn),
      profile: profileRows(rfis),
    },
    addresses: {
      added: instantColumn(addresses, (address) => address.added),
      screened: instantColumn(addresses, (address) => address.screened),
      network: codeColumn(addresses, (address) => address.network),
      screenable: codeColumn(addresses, (address) => Number(address.screenable)),
      profile: profileRows(addresses),
    },
    runs: {
      at: instantColumn(runs, (run) => run.at),
      failed: codeColumn(runs, (run) => Number(run.failed)),
      rating: codeColumn(runs, (run) => run.rating),
      rose: codeColumn(runs, (run) => Number(run.rose)),
      address: Uint32Array.from(runs, (run) => run.address.row),
      profile: Uint32Array.from(runs, (run) => run.address.profile.row),
    },
    forms: {
      invited: instantColumn(forms, (form) => form.invited),
      submitted: instantColumn(forms, (form) => form.submitted),
      held: codeColumn(forms, (form) => Number(form.held)),
      group: codeColumn(forms, (form) => form.group),
    },
    transactions: {
      received: instantColumn(transactions, (transaction) => transaction.received),
      closed: instantColumn(transactions, (transaction) => transaction.closed),
      recommended: codeColumn(transactions, (transaction) => transaction.recommended),
      decided: codeColumn(transactions, (transaction) => transaction.decided),
      profile: profileRows(transactions),
    },
  };
}

const sortRows = <Row>(rows: Row[], at: (row: Row) => number): Row[] => rows.sort((a, b) => at(a) - at(b));

function numberRows<Row extends { row: number }>(rows: Row[]): Row[] {
  for (const [index, row] of rows.entries()) row.row = index;
  return rows;
}

function instantColumn<Row>(rows: readonly Row[], of: (row: Row) => number): Float64Array {
  const column = new Float64Array(rows.length);
  for (const [index, row] of rows.entries()) column[index] = of(row);
  return column;
}

function codeColumn<Row>(rows: readonly Row[], of: (row: Row) => number): Uint8Array {
  const column = new Uint8Array(rows.length);
  for (const [index, row] of rows.entries()) column[index] = of(row);
  return column;
}

const profileRows = (rows: readonly { readonly profile: { readonly row: number } }[]) =>
  Uint32Array.from(rows, (row) => row.profile.row);
