import type { Book } from './book.ts';
import { code, type Facts, type History, NEVER } from './facts.ts';
import { invite, live, type Scene } from './life.ts';
import type { OrganizationSpec } from './organizations.ts';
import { type Draw, draws } from './random.ts';

const DAY = 86_400_000;
/** Monday first. */
const WEEKDAYS = [1.05, 1.1, 1.05, 1, 0.85, 0.16, 0.1];

/** The first day of an organization: so many whole months before the month of now (UTC); today when it has none. */
function firstDay(spec: OrganizationSpec, now: number): number {
  const date = new Date(now);
  if (spec.months === 0) return Math.floor(now / DAY);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() - spec.months, 1) / DAY;
}

/** How many profiles and invitations to expect on a day. */
function expected(spec: OrganizationSpec, first: number, day: number): number {
  const weekday = WEEKDAYS[(day + 3) % 7] ?? 1;
  const date = new Date(day * DAY);
  const holidays = date.getUTCMonth() === 11 && date.getUTCDate() > 22 ? 0.4 : 1;
  return spec.arrivals * (1 + spec.growth) ** ((day - first) / 30.4) * weekday * holidays;
}

/** Office hours mostly; what comes through the API comes at any hour. */
function timeOfDay(draw: Draw, anyHour: boolean): number {
  const hours = anyHour ? draw.share() * 24 : 12 + 3 * draw.normal();
  return Math.floor(Math.min(86_399, Math.max(0, hours * 3600))) * 1000;
}

/**
 * Everything that happened in an organization from its first day to the horizon, and what of it goes on afterwards.
 * Reproducible from the seed, the organization and the month of `startedAt`; a later horizon only adds to it.
 *
 * @param startedAt epoch ms at which the sandbox started: the first day is counted back from it
 * @param horizon epoch ms; nothing that begins later is there
 */
export function generate(spec: OrganizationSpec, seed: number, startedAt: number, horizon: number): History {
  const first = firstDay(spec, startedAt);
  const book: Book = {
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
  for (let day = first; spec.arrivals > 0 && day * DAY < horizon; day++) {
    const today = draws(seed, spec.id, day);
    for (let left = today.count(expected(spec, first, day)); left > 0; left--) {
      const draw = today.fork(left);
      const scene: Scene = { spec, draw, book, horizon };
      const source = draw.index(spec.features.includes('intake') ? [18, 30, 7, 45] : [45, 40, 15, 0]);
      const at = day * DAY + timeOfDay(draw, source === code('source', 'api'));
      if (source === code('source', 'intake_form')) invite(scene, at);
      else live(scene, at, source);
    }
  }
  return { facts: columns(book), start: first * DAY, horizon };
}

/** The book, each table sorted by time and turned into columns. */
function columns(book: Book): Facts {
  const profiles = numbered(sorted(book.profiles, (profile) => profile.created));
  const addresses = numbered(sorted(book.addresses, (address) => address.added));
  const reviews = sorted(book.reviews, (review) => review.opened);
  const hits = sorted(book.hits, (hit) => hit.found);
  const alerts = sorted(book.alerts, (alert) => alert.created);
  const rfis = sorted(book.rfis, (rfi) => rfi.sent);
  const runs = sorted(book.runs, (run) => run.at);
  const forms = sorted(book.forms, (form) => form.invited);
  const transactions = sorted(book.transactions, (transaction) => transaction.received);
  const changes = profiles.flatMap((profile) => profile.changes);
  const starts = new Uint32Array(profiles.length + 1);
  for (const [row, profile] of profiles.entries()) starts[row + 1] = (starts[row] ?? 0) + profile.changes.length;
  const approved = code('status', 'AP');
  const declined = code('status', 'DE');
  const decisions = profiles.map((profile) =>
    profile.changes.find((change) => change.to === approved || change.to === declined),
  );
  return {
    profiles: {
      created: instants(profiles, (profile) => profile.created),
      decided: instants(decisions, (decision) => decision?.at ?? NEVER),
      approved: codes(decisions, (decision) => Number(decision?.to === approved)),
      type: codes(profiles, (profile) => profile.type),
      group: codes(profiles, (profile) => profile.group),
      risk: codes(profiles, (profile) => profile.risk),
      source: codes(profiles, (profile) => profile.source),
      changes: starts,
    },
    changes: { at: instants(changes, (change) => change.at), to: codes(changes, (change) => change.to) },
    reviews: {
      opened: instants(reviews, (review) => review.opened),
      due: instants(reviews, (review) => review.due),
      decided: instants(reviews, (review) => review.decided),
      decision: codes(reviews, (review) => review.decision),
      profile: owners(reviews),
    },
    hits: {
      found: instants(hits, (hit) => hit.found),
      resolved: instants(hits, (hit) => hit.resolved),
      kind: codes(hits, (hit) => hit.kind),
      resolution: codes(hits, (hit) => hit.resolution),
      profile: owners(hits),
    },
    alerts: {
      created: instants(alerts, (alert) => alert.created),
      assigned: instants(alerts, (alert) => alert.assigned),
      closed: instants(alerts, (alert) => alert.closed),
      type: codes(alerts, (alert) => alert.type),
      outcome: codes(alerts, (alert) => alert.outcome),
      profile: owners(alerts),
    },
    rfis: {
      sent: instants(rfis, (rfi) => rfi.sent),
      due: instants(rfis, (rfi) => rfi.due),
      answered: instants(rfis, (rfi) => rfi.answered),
      withdrawn: instants(rfis, (rfi) => rfi.withdrawn),
      profile: owners(rfis),
    },
    addresses: {
      added: instants(addresses, (address) => address.added),
      screened: instants(addresses, (address) => address.screened),
      network: codes(addresses, (address) => address.network),
      screenable: codes(addresses, (address) => Number(address.screenable)),
      profile: owners(addresses),
    },
    runs: {
      at: instants(runs, (run) => run.at),
      failed: codes(runs, (run) => Number(run.failed)),
      rating: codes(runs, (run) => run.rating),
      rose: codes(runs, (run) => Number(run.rose)),
      address: Uint32Array.from(runs, (run) => run.address.row),
      profile: Uint32Array.from(runs, (run) => run.address.profile.row),
    },
    forms: {
      invited: instants(forms, (form) => form.invited),
      submitted: instants(forms, (form) => form.submitted),
      held: codes(forms, (form) => Number(form.held)),
      group: codes(forms, (form) => form.group),
    },
    transactions: {
      received: instants(transactions, (transaction) => transaction.received),
      closed: instants(transactions, (transaction) => transaction.closed),
      recommended: codes(transactions, (transaction) => transaction.recommended),
      decided: codes(transactions, (transaction) => transaction.decided),
      profile: owners(transactions),
    },
  };
}

const sorted = <Row>(rows: Row[], at: (row: Row) => number): Row[] => rows.sort((a, b) => at(a) - at(b));

function numbered<Row extends { row: number }>(rows: Row[]): Row[] {
  for (const [index, row] of rows.entries()) row.row = index;
  return rows;
}

function instants<Row>(rows: readonly Row[], of: (row: Row) => number): Float64Array {
  const column = new Float64Array(rows.length);
  for (const [index, row] of rows.entries()) column[index] = of(row);
  return column;
}

function codes<Row>(rows: readonly Row[], of: (row: Row) => number): Uint8Array {
  const column = new Uint8Array(rows.length);
  for (const [index, row] of rows.entries()) column[index] = of(row);
  return column;
}

const owners = (rows: readonly { readonly profile: { readonly row: number } }[]) =>
  Uint32Array.from(rows, (row) => row.profile.row);
