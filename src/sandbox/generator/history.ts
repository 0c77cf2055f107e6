import { DAY_MS } from '../../base/time.ts';
import {
  COLUMNS,
  type Columns,
  type Entities,
  type FactTables,
  type History,
  type TableName,
  valueCode,
} from './fact-tables.ts';
import type { OrganizationSpec } from './organizations.ts';
import { type GeneratorContext, generateInvitation, generateProfile } from './profile-generator.ts';
import { type RandomSource, randomSource } from './random.ts';

/** By weekday, Monday first. */
const WEEKDAYS = [1.05, 1.1, 1.05, 1, 0.85, 0.16, 0.1];

/**
 * The first day of an organization, in days since 1970: whole months before the present month (UTC), or today if it has
 * no history.
 */
export function firstDay(spec: OrganizationSpec, startedAt: number): number {
  const date = new Date(startedAt);
  if (spec.months === 0) return Math.floor(startedAt / DAY_MS);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() - spec.months, 1) / DAY_MS;
}

/** The expected number of profiles and invitations on a day. */
function expectedArrivals(spec: OrganizationSpec, first: number, day: number): number {
  const weekday = WEEKDAYS[(day + 3) % 7] ?? 1;
  const date = new Date(day * DAY_MS);
  const holidays = date.getUTCMonth() === 11 && date.getUTCDate() > 22 ? 0.4 : 1;
  return spec.arrivals * (1 + spec.growth) ** ((day - first) / 30.4) * weekday * holidays;
}

/** Mostly office hours, but events from the API occur at any hour. */
function timeOfDay(draw: RandomSource, anyHour: boolean): number {
  const hours = anyHour ? draw.uniform() * 24 : 12 + 3 * draw.normal();
  return Math.floor(Math.min(86_399, Math.max(0, hours * 3600))) * 1000;
}

/**
 * Generates all events of an organization from its first day to the horizon, and what follows from them. The result
 * depends only on the seed, the organization and the month of `startedAt`. A later horizon only adds to it.
 *
 * @param startedAt epoch ms at which the sandbox started; the first day is counted back from it
 * @param horizon epoch ms; nothing that begins later is generated
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
  return { facts: toFactTables(entities), horizon };
}

/** Converts the entities to tables of columns. */
function toFactTables(entities: Entities): FactTables {
  const profiles = sortRows('profiles', entities.profiles);
  const addresses = sortRows('addresses', entities.addresses);
  for (const [row, profile] of profiles.entries()) profile.row = row;
  for (const [row, address] of addresses.entries()) address.row = row;
  const changes = profiles.flatMap((profile) => profile.changes);
  const starts = new Uint32Array(profiles.length + 1);
  for (const [row, profile] of profiles.entries()) starts[row + 1] = (starts[row] ?? 0) + profile.changes.length;
  return {
    profiles: { ...toColumns('profiles', profiles), changes: starts },
    changes: { at: Float64Array.from(changes, ({ at }) => at), to: Uint8Array.from(changes, ({ to }) => to) },
    reviews: toColumns('reviews', entities.reviews),
    hits: toColumns('hits', entities.hits),
    alerts: toColumns('alerts', entities.alerts),
    rfis: toColumns('rfis', entities.rfis),
    addresses: toColumns('addresses', addresses),
    runs: toColumns('runs', entities.runs),
    forms: toColumns('forms', entities.forms),
    transactions: toColumns('transactions', entities.transactions),
  };
}

type Row = Readonly<Record<string, unknown>>;

/** A cell that refers to a row of another table contains the row's number. */
const toCell = (value: unknown): number =>
  Number(typeof value === 'object' && value !== null && 'row' in value ? value.row : value);

/** Sorts rows by the first column of their table. */
function sortRows<R extends Row>(name: TableName, rows: readonly R[]): R[] {
  const [first = ''] = Object.keys(COLUMNS[name]);
  const keyed = rows.map((row) => ({ row, key: toCell(row[first]) }));
  return keyed.sort((a, b) => a.key - b.key).map(({ row }) => row);
}

function toColumns<Name extends TableName>(name: Name, rows: readonly Row[]): Columns<Name> {
  const sorted = sortRows(name, rows);
  const columns = Object.entries(COLUMNS[name]).map(([column, Column]) => {
    return [column, Column.from(sorted.map((row) => toCell(row[column])))];
  });
  return Object.fromEntries(columns);
}
