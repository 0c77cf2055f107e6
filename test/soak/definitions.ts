import { stringify } from 'yaml';
import { splitSlug } from '../../src/definitions/split.ts';
import { ORGANIZATIONS } from '../../src/sandbox/generator/organizations.ts';

/** A fictitious organization of the soak, and the service’s organization whose figures it gets. */
export interface SoakOrg {
  /** `org-07`. */
  readonly id: string;
  /** Appears in everything that belongs to this organization, and in nothing else. */
  readonly canary: string;
  /** Label of the sandbox's key, and the service's organization. */
  readonly key: string;
  readonly service: 101 | 102 | 103;
  readonly timezone: string;
  readonly kind: Kind;
  /** Whether calls of its scheduled report are made before the slot. */
  readonly prepares: boolean;
}

/** How its scheduled report is delivered. */
export const KINDS = ['two-mails', 'folder-and-mail', 's3', 'everywhere', 'together'] as const;
export type Kind = (typeof KINDS)[number];

/** Hours between two slots of every scheduled report, on the hour, UTC. */
export const EVERY_HOURS = 4;
/** Clocks jump to half an hour after a slot: the next one is prepared from then on. */
const PREPARE = `${EVERY_HOURS * 60 - 30}m`;
/**
 * Calls per key and window in seconds. The window is shorter than the service’s minute, so that a minute of soak has
 * many of them. The number is lower than the calls of forty runs.
 */
export const BUDGET = { calls: 6, window: 2 };
export const METRICS = ['profiles.created', 'profiles.decided'] as const;
export const SCHEDULED = 'daily';
export const ON_DEMAND = 'adhoc';
/** Also on demand: one pack for each group of profiles. */
export const SPLIT = 'desks';
export const SPLIT_BY = 'profile.group';

const ZONES = [
  'UTC',
  'Europe/Zurich',
  'America/New_York',
  'Asia/Kolkata',
  'Australia/Lord_Howe',
  'Pacific/Auckland',
  'America/Los_Angeles',
  'Asia/Tokyo',
  'Africa/Nairobi',
  'America/Sao_Paulo',
  'Asia/Kathmandu',
] as const;

/** More than half of the organizations share one key, for three of the service’s organizations. */
const REACH = [
  ['all', 101],
  ['acme', 101],
  ['all', 102],
  ['northwind', 102],
  ['all', 103],
  ['lakeside', 103],
  ['metrics', 101],
] as const;

function pick<Item>(items: readonly Item[], index: number): Item {
  const item = items[index % items.length];
  if (item === undefined) throw new RangeError('nothing to pick from');
  return item;
}

export const soakOrgs = (count: number): SoakOrg[] =>
  Array.from({ length: count }, (_, index) => {
    const [key, service] = pick(REACH, index);
    const number = String(index).padStart(2, '0');
    return {
      id: `org-${number}`,
      canary: `Canary${number}x`,
      key,
      service,
      timezone: pick(ZONES, index),
      kind: pick(KINDS, index),
      prepares: key !== 'all' || index % 2 === 0,
    };
  });

export const keyVariable = (key: string): string => `KEY_${key.toUpperCase()}`;
/** Local parts of the addresses that get the scheduled report by mail. */
export const READERS: Readonly<Record<Kind, readonly string[]>> = {
  'two-mails': ['lead', 'board'],
  'folder-and-mail': ['lead'],
  s3: [],
  everywhere: ['lead', 'board', 'audit'],
  together: ['lead', 'board'],
};
export const OWNER = 'owner';
export const mailbox = (org: Pick<SoakOrg, 'id'>, who: string): string => `${who}@${org.id}.example`;
/** A value of the split report, with its address and its name in paths and targets. */
export interface SoakDesk {
  readonly value: string;
  readonly slug: string;
  readonly address: string;
}

export const desksOf = (org: Pick<SoakOrg, 'id' | 'service'>): readonly SoakDesk[] =>
  (ORGANIZATIONS.find(({ id }) => id === org.service)?.groups ?? []).map((value) => ({
    value,
    slug: splitSlug(value),
    address: mailbox(org, `desk-${splitSlug(value)}`),
  }));
export const usesFolder = (kind: Kind): boolean => kind === 'folder-and-mail' || kind === 'everywhere';
export const usesS3 = (kind: Kind): boolean => kind === 's3' || kind === 'everywhere';

/** Places outside of the jobs folder to which the definitions refer. */
export interface Outside {
  readonly out: string;
  readonly s3: { readonly endpoint: string; readonly bucket: string };
}

/** The jobs folder of all organizations in this version, from 1 on: path → content. */
export function definitionsOf(orgs: readonly SoakOrg[], version: number, outside: Outside): Record<string, string> {
  return Object.fromEntries(
    orgs.flatMap((org): [string, string][] => [
      [`${org.id}/org.yaml`, stringify(orgFile(org))],
      [`${org.id}/${SCHEDULED}.yaml`, stringify(scheduled(org, version, outside))],
      [`${org.id}/${ON_DEMAND}.yaml`, stringify(onDemand(org, version))],
      [`${org.id}/${SPLIT}.yaml`, stringify(split(org, version, outside))],
    ]),
  );
}

const orgFile = (org: SoakOrg) => ({
  name: org.canary,
  org: org.service,
  api_key: { env: keyVariable(org.key) },
  timezone: org.timezone,
  recipients: { domains: [`${org.id}.example`] },
  // The S3 server is on this machine.
  allow_private: true,
  budget: BUDGET,
});

const FIGURES = { id: 'figures', metrics: [...METRICS] };
const BY_DAY = {
  id: 'by-day',
  metrics: ['profiles.approval_rate', 'profiles.time_to_decision_p50'],
  granularity: 'day',
};

/**
 * Filters of the scheduled report in this version. They alternate, so that a call prepared for another version has
 * other figures.
 */
export const filtersOf = (org: Pick<SoakOrg, 'id' | 'service'>, version: number) =>
  version % 2 === 1
    ? []
    : [
        {
          dimension: SPLIT_BY,
          op: 'eq',
          values: desksOf(org)
            .slice(0, 1)
            .map(({ value }) => value),
        },
      ];

const base = (org: SoakOrg, title: string, version: number, figures: object = FIGURES) => ({
  version: 1,
  title: `${org.canary} ${title} v${version}`,
  owner: mailbox(org, OWNER),
  // A run may take hours by the clocks, which jump while it is running.
  deadline: '7d',
  period: 'previous_day',
  sections: version % 2 === 1 ? [figures, BY_DAY] : [BY_DAY, figures],
});

function scheduled(org: SoakOrg, version: number, { out, s3 }: Outside) {
  const xlsx = usesFolder(org.kind) || usesS3(org.kind);
  const to = READERS[org.kind].map((who) => mailbox(org, who));
  return {
    ...base(org, 'daily', version, { ...FIGURES, filters: filtersOf(org, version) }),
    schedule: {
      ...{ cron: `0 */${EVERY_HOURS} * * *`, timezone: 'UTC', catch_up: 'all' },
      ...(org.prepares ? { prepare: PREPARE } : {}),
    },
    outputs: [{ format: 'csv' }, ...(xlsx ? [{ format: 'xlsx' }] : [])],
    deliveries: [
      ...(to.length === 0
        ? []
        : [{ email: { to, attach: ['csv'], ...(org.kind === 'together' ? { together: true } : {}) } }]),
      ...(usesFolder(org.kind) ? [{ directory: { path: `${out}/${org.id}/{{ run }}` } }] : []),
      ...(usesS3(org.kind)
        ? [
            {
              s3: {
                ...s3,
                key: `${org.id}/{{ run }}/{{ file.name }}`,
                region: 'us-east-1',
                credentials: { access_key_id: { env: 'S3_KEY_ID' }, secret_access_key: { env: 'S3_SECRET' } },
              },
            },
          ]
        : []),
    ],
  };
}

const onDemand = (org: SoakOrg, version: number) => ({
  ...base(org, 'on demand', version),
  outputs: [{ format: 'csv' }],
  deliveries: [{ email: { to: [mailbox(org, 'lead')], attach: ['csv'] } }],
});

const split = (org: SoakOrg, version: number, { out }: Outside) => ({
  ...base(org, 'desks', version),
  split: { by: SPLIT_BY, to: Object.fromEntries(desksOf(org).map(({ value, address }) => [value, [address]])) },
  outputs: [{ format: 'csv' }],
  deliveries: [
    { email: { to: 'split', attach: ['csv'] } },
    { split: true, directory: { path: `${out}/${org.id}/{{ run }}/{{ split.slug }}` } },
  ],
});

/** An organization whose key the service refuses. Its report is prepared, but its slot never comes. */
export const REFUSED = 'refused';
export const REFUSED_KEY = 'key-that-was-revoked';
const REFUSED_AHEAD_HOURS = 20;

/** Files of the refused organization. Its slot is hours ahead of `now`, epoch ms. */
export function refusedDefinitions(now: number): { readonly slot: number; readonly files: Record<string, string> } {
  const slot = (Math.floor(now / 3_600_000) + REFUSED_AHEAD_HOURS) * 3_600_000;
  const org: SoakOrg = {
    ...{ id: REFUSED, canary: 'Refused', key: REFUSED, service: 101, timezone: 'UTC', kind: 'two-mails' },
    prepares: true,
  };
  const schedule = {
    ...{ cron: `0 ${new Date(slot).getUTCHours()} * * *`, timezone: 'UTC', catch_up: 'skip' },
    prepare: `${REFUSED_AHEAD_HOURS}h`,
  };
  const files = {
    [`${REFUSED}/org.yaml`]: stringify(orgFile(org)),
    [`${REFUSED}/${SCHEDULED}.yaml`]: stringify({ ...onDemand(org, 1), schedule }),
  };
  return { slot, files };
}
