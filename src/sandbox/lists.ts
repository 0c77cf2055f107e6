import { ROLES, type StoredKey, USERS } from './api-keys.ts';
import { codeName, type FactTables, firstIndex, NEVER } from './generator/fact-tables.ts';
import type { OrganizationSpec } from './generator/organizations.ts';
import type { Snapshot } from './reports/snapshot.ts';

export type ListItem = Readonly<Record<string, unknown>> & { readonly id: number };

/** A list of an organization: its records ordered by id, and the fields for ordering and search. */
export interface RecordList {
  readonly count: number;
  /** The record at an index. */
  readonly at: (place: number) => ListItem;
  readonly orderable: readonly string[];
  readonly searchable: readonly string[];
}

/** The lists, by their path (specification §4.3 defines only `profiles`). */
export const LISTS = [
  'profiles',
  'blockchain-addresses',
  'alerts',
  'rfis',
  'members',
  'api-keys',
  'roles',
  'invitations',
  'profile-groups',
  'tags',
] as const;
export type ListName = (typeof LISTS)[number];

/** Ids are unique across organizations, like primary keys. */
const ID_SPACE = 1_000_000;

const iso = (instant: number | undefined): string => new Date(instant ?? 0).toISOString();
const isoIfPast = (instant: number | undefined, now: number): string | null =>
  instant === undefined || instant === NEVER || instant > now ? null : iso(instant);

/** The number of rows that exist now. Tables are sorted by their first column, so these rows come first. */
const countExisting = (column: Float64Array, now: number): number =>
  firstIndex(column.length, (row) => (column[row] ?? NEVER) > now);

const TAGS = ['VIP', 'Politically exposed', 'High volume', 'Dormant', 'Migrated'];

export function recordList(
  name: ListName,
  spec: OrganizationSpec,
  view: Snapshot,
  keys: readonly StoredKey[],
): RecordList {
  const { facts } = view.history;
  const id = (row: number) => spec.id * ID_SPACE + row + 1;
  switch (name) {
    case 'profiles':
      return {
        count: countExisting(facts.profiles.created, view.now),
        at: (row) => profile(spec, view, row, id),
        orderable: ['id', 'name', 'type', 'risk', 'review_status', 'created_at', 'updated_at'],
        searchable: ['name'],
      };
    case 'blockchain-addresses':
      return {
        count: countExisting(facts.addresses.added, view.now),
        at: (row) => address(facts, view.now, row, id),
        orderable: ['id', 'network', 'created_at'],
        searchable: ['address', 'network'],
      };
    case 'alerts':
      return {
        count: countExisting(facts.alerts.created, view.now),
        at: (row) => alert(facts, view, row, id),
        orderable: ['id', 'type', 'status', 'created_at', 'closed_at'],
        searchable: ['type', 'status'],
      };
    case 'rfis':
      return {
        count: countExisting(facts.rfis.sent, view.now),
        at: (row) => rfi(facts, view.now, row, id),
        orderable: ['id', 'status', 'sent_at', 'due_at', 'answered_at'],
        searchable: ['status'],
      };
    case 'members':
      return items(
        USERS.flatMap((user) => {
          const role = ROLES.find((candidate) => candidate.id === user.roles.get(spec.id));
          return role === undefined ? [] : [{ id: user.id, name: user.name, role: role.name }];
        }),
        ['id', 'name', 'role'],
      );
    case 'api-keys':
      return items(
        keys
          .filter((key) => key.home === spec.id)
          .map(({ id, label: name, prefix, access, scope, owner, ...key }) => ({
            ...{ id, name, prefix, access, scope, owner: owner.id },
            created_at: iso(key.createdAt),
            expires_at: iso(key.expiresAt),
            revoked_at: key.revokedAt === null ? null : iso(key.revokedAt),
          })),
        ['id', 'name', 'created_at', 'expires_at'],
      );
    case 'roles':
      return items(
        ROLES.map(({ id, name, analytics }) => ({ id, name, permissions: analytics ? ['analytics.read'] : [] })),
        ['id', 'name'],
      );
    case 'invitations':
      return items([], ['id', 'created_at']);
    case 'profile-groups':
      return items(
        spec.groups.map((group, row) => ({ id: id(row), name: group })),
        ['id', 'name'],
      );
    case 'tags':
      return items(spec.months === 0 ? [] : TAGS.map((tag, row) => ({ id: id(row), name: tag })), ['id', 'name']);
  }
}

const items = (records: readonly ListItem[], orderable: readonly string[]): RecordList => ({
  count: records.length,
  at: (place) => {
    const record = records[place];
    if (record === undefined) throw new RangeError(`no record at ${place}`);
    return record;
  },
  orderable,
  searchable: ['name'],
});

type IdOf = (row: number) => number;

function profile(spec: OrganizationSpec, view: Snapshot, row: number, id: IdOf): ListItem {
  const { profiles } = view.history.facts;
  return {
    id: id(row),
    name: profileName(id(row), profiles.type[row] === 1),
    type: codeName('type', profiles.type[row]),
    group: spec.groups[profiles.group[row] ?? 0] ?? null,
    review_status: codeName('status', view.status[row]),
    relationship_status: codeName('relationship', view.column('profiles', 'profile.relationship_status')[row]),
    risk: codeName('risk', profiles.risk[row]),
    creation_source: codeName('source', profiles.source[row]),
    decided_at: isoIfPast(profiles.decided[row], view.now),
    created_at: iso(profiles.created[row]),
    updated_at: iso(view.since[row]),
  };
}

function address({ addresses }: FactTables, now: number, row: number, id: IdOf): ListItem {
  return {
    id: id(row),
    address: `${codeName('network', addresses.network[row]).slice(0, 3)}1sandbox${id(row).toString(36)}`,
    network: codeName('network', addresses.network[row]),
    can_be_screened: addresses.screenable[row] === 1,
    first_screened_at: isoIfPast(addresses.screened[row], now),
    profile: id(addresses.profile[row] ?? 0),
    created_at: iso(addresses.added[row]),
  };
}

function alert({ alerts }: FactTables, view: Snapshot, row: number, id: IdOf): ListItem {
  return {
    id: id(row),
    type: codeName('alertType', alerts.type[row]),
    status: codeName('alertStatus', view.column('alerts', 'alert.status')[row]),
    profile: id(alerts.profile[row] ?? 0),
    created_at: iso(alerts.created[row]),
    assigned_at: isoIfPast(alerts.assigned[row], view.now),
    closed_at: isoIfPast(alerts.closed[row], view.now),
  };
}

function rfi({ rfis }: FactTables, now: number, row: number, id: IdOf): ListItem {
  const answered = isoIfPast(rfis.answered[row], now);
  const withdrawn = isoIfPast(rfis.withdrawn[row], now);
  return {
    id: id(row),
    status: answered !== null ? 'answered' : withdrawn !== null ? 'withdrawn' : 'open',
    profile: id(rfis.profile[row] ?? 0),
    sent_at: iso(rfis.sent[row]),
    due_at: iso(rfis.due[row]),
    answered_at: answered,
  };
}

const FIRST = (
  'Amara Anton Aylin Beatrice Bram Carla Chidi Clara Daniel Daria Elif Emil Farah Felix Freya Giulia Hana Hugo ' +
  'Ines Ivan Jana Jonas Kaveh Kim Lars Leila Lina Luca Maja Marco Mei Milan Nadia Noah Nora Omar Petra Priya Quinn ' +
  'Rafael Rosa Samir Sofia Tariq Tomas Uma Viktor Wanda Yara Zoe'
).split(' ');
const LAST = (
  'Abe Alvarez Andersen Bauer Bianchi Brunner Cohen Costa Demir Dubois Eriksen Ferrari Fischer Garcia Grant Haddad ' +
  'Hansen Huber Ito Jansen Kaya Keller Khan Kowalski Kumar Larsen Lopez Maier Mensah Meyer Moreau Nakamura Novak ' +
  'Nowak Okafor Olsen Park Peeters Petrov Rossi Sato Schmid Silva Smith Suzuki Tan Torres Weber Wong Zhang'
).split(' ');
const TRADES = 'Analytics Capital Foods Freight Holdings Imports Labs Logistics Media Payments Robotics Textiles'.split(
  ' ',
);
const FORMS = ['AG', 'B.V.', 'GmbH', 'Inc.', 'Ltd', 'S.A.'];

/** A fictitious name, derived from the id. */
function profileName(id: number, entity: boolean): string {
  // A step that is coprime to the lengths covers all combinations before it repeats.
  const mixed = Math.imul(id, 0x9e3779b1) >>> 0;
  const pick = (from: readonly string[], salt: number) => from[Math.floor(mixed / salt) % from.length] ?? '';
  return entity ? `${pick(LAST, 1)} ${pick(TRADES, 64)} ${pick(FORMS, 1024)}` : `${pick(FIRST, 1)} ${pick(LAST, 4096)}`;
}
