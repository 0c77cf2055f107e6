import type { AppContext } from '../../base/context.ts';
import { DocketError, toDocketError } from '../../base/error.ts';
import { secretSource } from '../../base/secrets/secret.ts';
import { SECOND_MS } from '../../base/time.ts';
import { type Catalog, isWronglyAdditive } from '../../contract/catalog.ts';
import type { Organization } from '../../contract/organization.ts';
import type { Definitions } from '../../definitions/load/load-definitions.ts';
import type { OrgSettings } from '../../definitions/schema/org-settings.ts';
import { cachedCatalog } from '../../fetch/cache/catalog-cache.ts';
import type { RedisClient } from '../../redis/client.ts';
import { DEFAULT_KEY_PREFIX } from '../../redis/keys.ts';
import { sharedBudgets } from '../../services/budgets/budgets.ts';
import { inspectBudgets, type KeyBudgets } from '../../services/budgets/inspect-budgets.ts';
import { BUDGET_CONFLICT_HINT, budgetConflicts } from '../../services/budgets/key-limits.ts';
import { listOrganizations } from '../../services/budgets/list-organizations.ts';
import {
  type CheckResult,
  type Finding,
  fail,
  formatSome,
  ok,
  resultOfError,
  runCheck,
  warn,
} from '../../services/deployment/probe.ts';
import { composeCatalogs } from '../run-ports.ts';
import type { DiagnoseOptions, Examination } from './probe-context.ts';

/**
 * Evaluates what a key can access.
 *
 * @param organizations undefined: the key is restricted, and may not list them
 * @param shared other organizations in DOCKET_JOBS with the same key
 */
export function evaluateKey(
  { org }: Pick<OrgSettings, 'org'>,
  organizations: readonly Pick<Organization, 'id' | 'name'>[] | undefined,
  shared: readonly string[] = [],
): CheckResult {
  const also = shared.length === 0 ? '' : `; one key and one budget with ${shared.join(', ')}`;
  if (organizations === undefined) return ok(`accepted; limited to a permission, such as analytics.read${also}`);
  if (organizations.length === 0) {
    return fail('accepted, but its owner is a member of no organization', 'Use a key of a member of the organization.');
  }
  const reached = `reaches ${formatSome(organizations.map(({ id, name }) => `${name} (${id})`))}`;
  if (org !== 'current' && organizations.every(({ id }) => id !== org)) {
    return fail(`${reached}, and not ${org}`, 'Correct `org` in org.yaml, or refer to a key of that organization.');
  }
  return ok(`accepted, ${reached}${also}`);
}

export function evaluateCatalog({ metrics, dimensions, registry_version, unread = [] }: Catalog): CheckResult {
  const read = `${metrics.length} metrics, ${dimensions.length} dimensions, registry version ${registry_version}`;
  if (metrics.length === 0) {
    return fail(read, 'Ask the operator of the service which metrics the organization may read: all its reports fail.');
  }
  const odd = unread.map(({ id, why }) => `${id} (${why})`);
  const wrong = metrics.filter(isWronglyAdditive).map(({ id }) => id);
  if (odd.length === 0 && wrong.length === 0) return ok(read);
  return warn(
    [
      read,
      ...(odd.length === 0 ? [] : [`unreadable and skipped: ${odd.join(', ')}`]),
      ...(wrong.length === 0 ? [] : [`wrongly marked additive: ${wrong.join(', ')}`]),
    ].join('; '),
    'Report it to the operator of the service. Reports that do not use them are not affected.',
  );
}

export function evaluateBudget({ metrics, limits }: Pick<KeyBudgets, 'metrics' | 'limits'>, now: number): CheckResult {
  const { tokens, limit, inFlight, waiting, blockedUntil, slowedUntil } = metrics;
  const detail = `${tokens} of ${limit} calls free, ${inFlight} in flight, ${waiting} waiting`;
  if (blockedUntil !== null && blockedUntil > now) {
    return warn(
      `${detail}; none before ${new Date(blockedUntil).toISOString()}`,
      'The service returned 429 within the budget: find out who else uses the key.',
    );
  }
  if (slowedUntil !== null && slowedUntil > now) {
    return warn(
      `${detail} (normally ${limits.calls}); slowed after a 429 until ${new Date(slowedUntil).toISOString()}`,
      'Find out who else uses the key; `docket budget` shows its state.',
    );
  }
  return ok(detail);
}

/** A check must finish even while all tokens of a key are in use. */
const MAX_KEY_WAIT_MS = 20 * SECOND_MS;
const WAITING = Symbol('waiting');

/** Checks every organization's key, catalog and budget. */
export async function checkApiKeys(
  jobs: Definitions,
  context: AppContext,
  { fetchCatalogs, known = new Map(), redis, signal }: DiagnoseOptions & { readonly redis: RedisClient | undefined },
): Promise<{ readonly findings: Finding[]; readonly catalogs: ReadonlyMap<string, Catalog> }> {
  const catalogs = new Map(known);
  const findings: Finding[] = [];
  const opened = await composeCatalogs(context, { freshCatalogs: fetchCatalogs, orgs: jobs.orgs }).catch(toDocketError);
  if (opened instanceof DocketError) return { findings: [{ what: 'API keys', ...resultOfError(opened) }], catalogs };
  const { buildRunPorts, catalogOf, scope } = opened;
  try {
    const owners = await organizationsByKey(jobs, context);
    for (const settings of jobs.orgs.values()) {
      const { id } = settings;
      const ports = await buildRunPorts(settings).catch(toDocketError);
      if (ports instanceof DocketError) {
        findings.push({ what: `API key of ${id}`, ...resultOfError(ports) });
        continue;
      }
      const shared = (owners.get(ports.key) ?? []).filter((other) => other !== id);
      const key = await runCheck(`API key of ${id}`, async () => {
        const limit = AbortSignal.timeout(MAX_KEY_WAIT_MS);
        const calling = AbortSignal.any([signal, limit]);
        const organizations = await listOrganizations(ports, settings, calling).catch((thrown: unknown) => {
          if (limit.aborted && !signal.aborted) return WAITING;
          if (toDocketError(thrown).code === 'api.forbidden') return undefined;
          throw thrown;
        });
        if (organizations === WAITING) {
          return warn(
            'not tried: its calls wait for tokens',
            '`docket budget` shows who uses them. After Redis has lost data they are held for a few minutes.',
          );
        }
        return evaluateKey(settings, organizations, shared);
      });
      findings.push(key);
      if (key.state === 'fail') continue;
      findings.push(
        await runCheck(`Catalog of ${id}`, async () => {
          const catalog =
            known.get(id) ??
            (fetchCatalogs
              ? await catalogOf(settings)
              : redis && (await cachedCatalog(redis, `${DEFAULT_KEY_PREFIX}:`, ports.key, settings.org)));
          if (catalog === undefined)
            return ok('not cached by the workers; --catalog fetches it with one call of the key');
          catalogs.set(id, catalog);
          return evaluateCatalog(catalog);
        }),
      );
    }
    if (redis !== undefined) findings.push(...(await checkBudgets(redis, jobs, context)));
    return { findings, catalogs };
  } finally {
    await scope.close();
  }
}

/** Organizations by the fingerprint of their key. Leaves out unreadable keys, which have their own finding. */
async function organizationsByKey(jobs: Definitions, { env }: AppContext) {
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

async function checkBudgets(redis: RedisClient, jobs: Definitions, { env, clock }: AppContext): Promise<Finding[]> {
  const inspection = await inspectBudgets(jobs.orgs.values(), {
    secrets: secretSource(env),
    budgetOf: sharedBudgets(redis, DEFAULT_KEY_PREFIX, clock),
  }).catch(toDocketError);
  if (inspection instanceof DocketError) return [{ what: 'Budget', ...resultOfError(inspection) }];
  return inspection.keys.map((budgets) => ({
    what: `Budget of ${budgets.organizations.join(', ')}`,
    ...evaluateBudget(budgets, clock.now()),
  }));
}

/** Returns a finding for each API key whose organizations set different budgets. Makes no call. */
export async function checkBudgetSettings({ jobs, context }: Examination): Promise<readonly Finding[]> {
  const conflicts = await budgetConflicts(jobs.orgs.values(), secretSource(context.env, context));
  return conflicts.map(({ organizations, message }) => ({
    what: `Budget settings of ${organizations.join(', ')}`,
    ...fail(message, `${BUDGET_CONFLICT_HINT.charAt(0).toUpperCase()}${BUDGET_CONFLICT_HINT.slice(1)}.`),
  }));
}
