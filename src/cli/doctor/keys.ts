import { DocketError, toDocketError } from '../../base/error.ts';
import type { RedisClient } from '../../base/redis-client.ts';
import { secretSource } from '../../base/secret.ts';
import { type KeyBudgets, lookAtBudgets, sharedBudgets } from '../../compose/budgets.ts';
import { organizationsOf } from '../../compose/organizations.ts';
import { composeCatalogs, type Surroundings } from '../../compose/ports.ts';
import { type Catalog, isWronglyAdditive } from '../../contract/catalog.ts';
import type { Organization } from '../../contract/organization.ts';
import type { Jobs } from '../../define/load.ts';
import type { OrgSettings } from '../../define/org.ts';
import { heldCatalog } from '../../fetch/catalogs.ts';
import { DEFAULT_PREFIX } from '../../queue/keys.ts';
import { examine, type Finding, fail, failed, ok, type Verdict, warn } from './finding.ts';

/** What the service said to the key of an organization. */
export interface KeySeen {
  /** Undefined: the key is limited to a permission, and may not list them. */
  readonly organizations: readonly Pick<Organization, 'id' | 'name'>[] | undefined;
  /** Other organizations of ours with the same key. */
  readonly shared: readonly string[];
}

export function judgeKey({ organizations, shared }: KeySeen, { org }: Pick<OrgSettings, 'org'>): Verdict {
  const also = shared.length === 0 ? '' : `; one key and one budget with ${shared.join(', ')}`;
  if (organizations === undefined) return ok(`accepted; limited to a permission, such as analytics.read${also}`);
  if (organizations.length === 0) {
    return fail('accepted, but its owner is a member of no organization', 'Ask for a key of somebody who is.');
  }
  const names = organizations.slice(0, 5).map(({ id, name }) => `${name} (${id})`);
  const more = organizations.length > names.length ? ` and ${organizations.length - names.length} more` : '';
  const reached = `reaches ${names.join(', ')}${more}`;
  if (org !== 'current' && organizations.every(({ id }) => id !== org)) {
    return fail(`${reached}, and not ${org}`, 'Correct `org` in org.yaml, or refer to a key of that organization.');
  }
  return ok(`accepted, ${reached}${also}`);
}

export function judgeCatalog({ metrics, dimensions, registry_version, unread = [] }: Catalog): Verdict {
  const read = `${metrics.length} metrics, ${dimensions.length} dimensions, registry version ${registry_version}`;
  if (metrics.length === 0) {
    return fail(read, 'Ask the service which metrics the organization may report on: every report of it fails.');
  }
  const odd = unread.map(({ id, why }) => `${id} (${why})`);
  const wrong = metrics.filter(isWronglyAdditive).map(({ id }) => id);
  if (odd.length === 0 && wrong.length === 0) return ok(read);
  return warn(
    [
      read,
      ...(odd.length === 0 ? [] : [`not readable and left out: ${odd.join(', ')}`]),
      ...(wrong.length === 0 ? [] : [`called additive, which only counts are: ${wrong.join(', ')}`]),
    ].join('; '),
    'Report it to the service. Reports that do not use them are not affected.',
  );
}

export function judgeBudget({ metrics, limits }: Pick<KeyBudgets, 'metrics' | 'limits'>, now: number): Verdict {
  const { tokens, limit, inFlight, waiting, blockedUntil, slowedUntil } = metrics;
  const detail = `${tokens} of ${limit} calls free, ${inFlight} in flight, ${waiting} waiting`;
  if (blockedUntil !== null && blockedUntil > now) {
    return warn(
      `${detail}; none before ${new Date(blockedUntil).toISOString()}`,
      'The service answered 429 although the budget was kept: find out who else uses the key.',
    );
  }
  if (slowedUntil !== null && slowedUntil > now) {
    return warn(
      `${detail} (${limits.calls} when whole); slowed after a 429 until ${new Date(slowedUntil).toISOString()}`,
      'Find out who else uses the key; `docket budget` shows its line.',
    );
  }
  return ok(detail);
}

/** What is known of the organizations' keys and catalogs already, so that nobody asks twice. */
export interface KeyOptions {
  /** Asks each organization's catalog, which costs its key one metrics call. */
  readonly askCatalogs: boolean;
  /** Those that the caller holds, by organization. */
  readonly known?: ReadonlyMap<string, Catalog>;
  /** The Redis of the workers, where it can be used and is named. */
  readonly redis?: RedisClient | undefined;
  readonly signal: AbortSignal;
}

/** Every organization's key: found, accepted, whose it is, its catalog and its budget. */
export async function examineKeys(
  jobs: Jobs,
  around: Surroundings,
  { askCatalogs, known = new Map(), redis, signal }: KeyOptions,
): Promise<{ readonly findings: Finding[]; readonly catalogs: ReadonlyMap<string, Catalog> }> {
  const catalogs = new Map(known);
  const findings: Finding[] = [];
  const opened = await composeCatalogs(around, { freshCatalogs: askCatalogs, orgs: jobs.orgs }).catch(toDocketError);
  if (opened instanceof DocketError) return { findings: [{ what: 'API keys', ...failed(opened) }], catalogs };
  const { portsOf, catalogOf, scope } = opened;
  try {
    const owners = await ownersOf(jobs, around);
    for (const settings of jobs.orgs.values()) {
      const { id } = settings;
      const ports = await portsOf(settings).catch(toDocketError);
      if (ports instanceof DocketError) {
        findings.push({ what: `API key of ${id}`, ...failed(ports) });
        continue;
      }
      const shared = (owners.get(ports.key) ?? []).filter((other) => other !== id);
      const key = await examine(`API key of ${id}`, async () =>
        judgeKey({ organizations: await reachedBy(() => organizationsOf(ports, settings, signal)), shared }, settings),
      );
      findings.push(key);
      if (key.state === 'fail') continue;
      findings.push(
        await examine(`Catalog of ${id}`, async () => {
          const held =
            known.get(id) ??
            (askCatalogs
              ? await catalogOf(settings)
              : redis && (await heldCatalog(redis, `${DEFAULT_PREFIX}:`, ports.key, settings.org)));
          if (held === undefined)
            return ok('not held by the workers now, and not asked for: --catalog asks, for one call of the key');
          catalogs.set(id, held);
          return judgeCatalog(held);
        }),
      );
    }
    if (redis !== undefined) findings.push(...(await budgets(redis, jobs, around)));
    return { findings, catalogs };
  } finally {
    await scope.close();
  }
}

/** Undefined: accepted, but limited to a permission. */
async function reachedBy(ask: () => Promise<readonly Organization[]>): Promise<readonly Organization[] | undefined> {
  try {
    return await ask();
  } catch (thrown) {
    if (toDocketError(thrown).code === 'api.forbidden') return undefined;
    throw thrown;
  }
}

/** Organizations by the fingerprint of their key; one that cannot be read is left out, and told of elsewhere. */
async function ownersOf(jobs: Jobs, { env }: Surroundings): Promise<ReadonlyMap<string, readonly string[]>> {
  const owners = new Map<string, string[]>();
  for (const { id, api_key } of jobs.orgs.values()) {
    const key = await secretSource(env)(api_key).then(
      (secret) => secret.fingerprint(),
      () => undefined,
    );
    if (key !== undefined) owners.set(key, [...(owners.get(key) ?? []), id]);
  }
  return owners;
}

async function budgets(redis: RedisClient, jobs: Jobs, { env, clock }: Surroundings): Promise<Finding[]> {
  const looked = await lookAtBudgets(jobs.orgs.values(), {
    secrets: secretSource(env),
    budgetOf: sharedBudgets(redis, DEFAULT_PREFIX, clock),
  }).catch(toDocketError);
  if (looked instanceof DocketError) return [{ what: 'Budget', ...failed(looked) }];
  return looked.keys.map((of) => ({
    what: `Budget of ${of.organizations.join(', ')}`,
    ...judgeBudget(of, clock.now()),
  }));
}
