import { randomUUID } from 'node:crypto';
import { Pool } from 'undici';
import type { AppContext } from '../base/context.ts';
import { DocketError, toDocketError } from '../base/error.ts';
import type { Scope } from '../base/scope.ts';
import { type Secret, type SecretSource, secretSource } from '../base/secrets/secret.ts';
import type { Catalog } from '../contract/catalog.ts';
import { periodOf } from '../definitions/periods/period.ts';
import type { OrgSettings } from '../definitions/schema/org-settings.ts';
import { cachedCatalog, redisCatalogCache, withCatalog } from '../fetch/cache/catalog-cache.ts';
import { createClient } from '../fetch/client/compliance-client.ts';
import type { RedisClient } from '../redis/client.ts';
import { type BudgetFactory, sharedBudgets } from '../services/budgets/budgets.ts';
import { type ActiveOrgs, lowestLimits, orgsSharingKey } from '../services/budgets/key-limits.ts';
import { explainReport, type PlanExplainer } from '../services/definitions/explain-report.ts';

/** Somebody waits for the answer: a longer line for the key is told instead of stood in. */
const MAX_TOKEN_WAIT_MS = 3_000;
const CATALOG_TIMEOUT_MS = 20_000;

interface CatalogFinderParts {
  readonly redis: RedisClient;
  readonly prefix: string;
  /** Of the definitions in force. */
  readonly orgs: () => ActiveOrgs;
  /** The identity of the deployment, as the process compared it at its start. */
  readonly belongsTo?: () => string | undefined;
}

/** A report's catalog, for somebody who waits for the answer. */
interface CatalogFinder {
  readonly keyOf: (settings: OrgSettings) => Promise<Secret>;
  /** The one that the workers hold. */
  readonly getCached: (key: Secret, settings: OrgSettings) => Promise<Catalog | undefined>;
  /** The service's own, for one token. */
  readonly fetchCatalog: (key: Secret, settings: OrgSettings, maxAgeMs?: number) => Promise<Catalog>;
  readonly budgetOf: BudgetFactory;
  readonly secrets: SecretSource;
}

function createCatalogFinder(
  context: AppContext,
  { redis, prefix, orgs, belongsTo }: CatalogFinderParts,
  scope: Scope,
): CatalogFinder {
  const { config, env, clock, log } = context;
  const { COMPLIANCE_API_URL: baseUrl } = config;
  const secrets = secretSource(env, context);
  const names = `${prefix}:`;
  const catalogs = redisCatalogCache(redis, { prefix: names, clock });
  const budgetOf = sharedBudgets(redis, prefix, clock, log, belongsTo);
  const dispatcher =
    baseUrl === undefined
      ? undefined
      : scope.use(new Pool(new URL(baseUrl).origin, { connect: { timeout: 5_000 } }), (pool) => pool.close());

  const keyOf = (settings: OrgSettings): Promise<Secret> =>
    secrets(settings.api_key).catch((cause: unknown) => {
      throw new DocketError('catalog.missing', `The API key of ${settings.id} is not known to this process.`, {
        expected: toDocketError(cause).expected ?? 'the key that org.yaml refers to',
        next: 'Give the admin process the same keys as the workers, or use `docket explain` where they are.',
        cause,
      });
    });
  const getCached = (key: Secret, { org }: OrgSettings) => cachedCatalog(redis, names, key.fingerprint(), org);

  const fetchCatalog = async (key: Secret, settings: OrgSettings, maxAgeMs?: number): Promise<Catalog> => {
    if (baseUrl === undefined || dispatcher === undefined) {
      throw new DocketError('catalog.missing', `No metric catalog of ${settings.id} is held.`, {
        expected: 'one of the last hour, from a run of the organization',
        next: 'Run one of its reports, or set COMPLIANCE_API_URL for the admin process, which then asks for the catalog itself.',
      });
    }
    const fingerprint = key.fingerprint();
    const [first = settings, ...others] = await orgsSharingKey(fingerprint, orgs().values(), secrets);
    const outcome = await catalogs.get(
      {
        client: createClient({ baseUrl, key, redactor: secrets.redactor, dispatcher, clock }),
        budget: budgetOf('metrics', lowestLimits([first, ...others])),
        key: fingerprint,
        org: settings.org,
        tenant: settings.id,
        priority: 'on_demand',
        run: randomUUID(),
        maxWaitMs: MAX_TOKEN_WAIT_MS,
        maxAgeMs,
      },
      AbortSignal.timeout(CATALOG_TIMEOUT_MS),
      () => {},
    );
    if (outcome.kind === 'done') return outcome.value;
    if (outcome.kind === 'fail') throw outcome.error;
    throw new DocketError(
      'catalog.missing',
      `No metric catalog of ${settings.id} is held, and its key has no token free.`,
      {
        got: outcome.kind === 'snooze' ? `a token expected at ${new Date(outcome.until).toISOString()}` : outcome.why,
        next: 'Ask again then.',
      },
    );
  };

  return { keyOf, getCached, fetchCatalog, budgetOf, secrets };
}

/**
 * The catalog of an organization: the one that the workers hold, or the service's own for one token. Undefined where the
 * process cannot have it: without the key or COMPLIANCE_API_URL, and where the service or the line of the key is busy.
 */
export async function findCatalog(
  context: AppContext,
  parts: CatalogFinderParts,
  settings: OrgSettings,
  scope: Scope,
): Promise<Catalog | undefined> {
  const { keyOf, getCached, fetchCatalog } = createCatalogFinder(context, parts, scope);
  try {
    const key = await keyOf(settings);
    return (await getCached(key, settings)) ?? (await fetchCatalog(key, settings));
  } catch (error) {
    if (error instanceof DocketError) return undefined;
    throw error;
  }
}

/** The catalog that the workers hold, or why there is none; asks nobody for another. */
export type GetCachedCatalog = (settings: OrgSettings) => Promise<Catalog | string>;

/** What is there will do where no newer one is to be had. */
const keepCached =
  (found: Catalog) =>
  (thrown: unknown): Catalog => {
    if (thrown instanceof DocketError) return found;
    throw thrown;
  };

/**
 * What the admin route knows of what definitions ask. It goes by the catalogs that the workers hold. Where they hold none
 * it asks the service as a run would, for one token in the line of the key, if the process knows COMPLIANCE_API_URL and
 * whoever wants to know may spend it; otherwise it throws `catalog.missing`.
 */
export function createPlanExplainer(
  context: AppContext,
  parts: CatalogFinderParts,
  scope: Scope,
): PlanExplainer & { readonly catalogIfHeld: GetCachedCatalog } {
  const { clock } = context;
  const { orgs } = parts;
  const { keyOf, getCached, fetchCatalog, budgetOf, secrets } = createCatalogFinder(context, parts, scope);
  const notHeld = ({ id }: OrgSettings): never => {
    throw new DocketError('catalog.missing', `No metric catalog of ${id} is held.`, {
      expected: 'one of the last hour, from a run of the organization',
      next: 'Ask an operator: looking into it would spend a token of the API key.',
    });
  };

  const catalogIfHeld: GetCachedCatalog = async (settings) => {
    const key = await keyOf(settings).catch((thrown: unknown) => toDocketError(thrown).message);
    if (typeof key === 'string') return key;
    const found = await getCached(key, settings);
    return found ?? `No metric catalog of ${settings.id} is held: the workers keep one for an hour.`;
  };

  return {
    catalogIfHeld,

    explain: async ({ definition, settings }, spec, { mayAsk }) => {
      const period = periodOf(definition, settings, clock.now(), spec ?? definition.period);
      const key = await keyOf(settings);
      const catalogOf = async (maxAgeMs?: number): Promise<Catalog> => {
        const found =
          (await getCached(key, settings)) ?? (mayAsk ? await fetchCatalog(key, settings) : notHeld(settings));
        // Where no newer one is to be had, what the held one does not allow is the answer.
        return maxAgeMs === undefined || !mayAsk
          ? found
          : fetchCatalog(key, settings, maxAgeMs).catch(keepCached(found));
      };
      return withCatalog(catalogOf, (catalog) =>
        explainReport({ definition, settings }, period, {
          catalog,
          secrets,
          budgetOf,
          inForce: orgs().values(),
          clock,
        }),
      );
    },
  };
}
