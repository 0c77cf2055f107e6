import { CODES, type Facts, NEVER } from './facts.ts';
import { ROLES, type StoredKey, USERS } from './keys.ts';
import { profileName } from './names.ts';
import type { OrganizationSpec } from './organizations.ts';
import type { View } from './view.ts';

export type Item = Readonly<Record<string, unknown>> & { readonly id: number };

/** An organization-scoped list: its records in the order of their ids, and what they can be ordered by and searched in. */
export interface List {
  readonly count: number;
  /** The record at a place, 0 being the first. */
  readonly at: (place: number) => Item;
  readonly orderable: readonly string[];
  readonly searchable: readonly string[];
}

/** The lists by their path (specification §4.3 leaves all but `profiles` open). */
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

/** Ids are unique across organizations, as primary keys are. */
const ID_SPACE = 1_000_000;

const iso = (instant: number | undefined): string => new Date(instant ?? 0).toISOString();
const isoBy = (instant: number | undefined, now: number): string | null =>
  instant === undefined || instant === NEVER || instant > now ? null : iso(instant);

/** Rows that exist by now: the tables are sorted by their first column, so they are a prefix. */
function existing(column: Float64Array, now: number): number {
  let low = 0;
  let high = column.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((column[middle] ?? NEVER) <= now) low = middle + 1;
    else high = middle;
  }
  return low;
}

const TAGS = ['VIP', 'Politically exposed', 'High volume', 'Dormant', 'Migrated'];

export function list(name: ListName, spec: OrganizationSpec, view: View, keys: readonly StoredKey[]): List {
  const { facts } = view.history;
  const id = (row: number) => spec.id * ID_SPACE + row + 1;
  switch (name) {
    case 'profiles':
      return {
        count: existing(facts.profiles.created, view.now),
        at: (row) => profile(spec, view, row, id),
        orderable: ['id', 'name', 'type', 'risk', 'review_status', 'created_at', 'updated_at'],
        searchable: ['name'],
      };
    case 'blockchain-addresses':
      return {
        count: existing(facts.addresses.added, view.now),
        at: (row) => address(facts, view.now, row, id),
        orderable: ['id', 'network', 'created_at'],
        searchable: ['address', 'network'],
      };
    case 'alerts':
      return {
        count: existing(facts.alerts.created, view.now),
        at: (row) => alert(facts, view, row, id),
        orderable: ['id', 'type', 'status', 'created_at', 'closed_at'],
        searchable: ['type', 'status'],
      };
    case 'rfis':
      return {
        count: existing(facts.rfis.sent, view.now),
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
          .map((key) => ({
            id: key.id,
            name: key.label,
            prefix: key.prefix,
            access: key.access,
            scope: key.scope,
            owner: key.owner.id,
            created_at: iso(key.createdAt),
            expires_at: iso(key.expiresAt),
            revoked_at: key.revokedAt === null ? null : iso(key.revokedAt),
          })),
        ['id', 'name', 'created_at', 'expires_at'],
      );
    case 'roles':
      return items(
        ROLES.map((role) => ({
          id: role.id,
          name: role.name,
          permissions: role.analytics ? ['analytics.read'] : [],
        })),
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

const items = (records: readonly Item[], orderable: readonly string[]): List => ({
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
const value = <List extends keyof typeof CODES>(list: List, code: number | undefined): string =>
  CODES[list][code ?? 0] ?? '';

function profile(spec: OrganizationSpec, view: View, row: number, id: IdOf): Item {
  const { profiles } = view.history.facts;
  return {
    id: id(row),
    name: profileName(id(row), profiles.type[row] === 1),
    type: value('type', profiles.type[row]),
    group: spec.groups[profiles.group[row] ?? 0] ?? null,
    review_status: value('status', view.status[row]),
    relationship_status: value('relationship', view.column('profiles', 'profile.relationship_status')[row]),
    risk: value('risk', profiles.risk[row]),
    creation_source: value('source', profiles.source[row]),
    decided_at: isoBy(profiles.decided[row], view.now),
    created_at: iso(profiles.created[row]),
    updated_at: iso(view.since[row]),
  };
}

function address({ addresses }: Facts, now: number, row: number, id: IdOf): Item {
  return {
    id: id(row),
    address: `${value('network', addresses.network[row]).slice(0, 3)}1sandbox${id(row).toString(36)}`,
    network: value('network', addresses.network[row]),
    can_be_screened: addresses.screenable[row] === 1,
    first_screened_at: isoBy(addresses.screened[row], now),
    profile: id(addresses.profile[row] ?? 0),
    created_at: iso(addresses.added[row]),
  };
}

function alert({ alerts }: Facts, view: View, row: number, id: IdOf): Item {
  return {
    id: id(row),
    type: value('alertType', alerts.type[row]),
    status: value('alertStatus', view.column('alerts', 'alert.status')[row]),
    profile: id(alerts.profile[row] ?? 0),
    created_at: iso(alerts.created[row]),
    assigned_at: isoBy(alerts.assigned[row], view.now),
    closed_at: isoBy(alerts.closed[row], view.now),
  };
}

function rfi({ rfis }: Facts, now: number, row: number, id: IdOf): Item {
  const answered = isoBy(rfis.answered[row], now);
  const withdrawn = isoBy(rfis.withdrawn[row], now);
  return {
    id: id(row),
    status: answered !== null ? 'answered' : withdrawn !== null ? 'withdrawn' : 'open',
    profile: id(rfis.profile[row] ?? 0),
    sent_at: iso(rfis.sent[row]),
    due_at: iso(rfis.due[row]),
    answered_at: answered,
  };
}
