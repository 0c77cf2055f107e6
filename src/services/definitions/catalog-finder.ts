import { DocketError, toDocketError } from '../../base/error.ts';
import { cancel } from '../../base/outcome.ts';
import type { Secret, SecretSource } from '../../base/secrets/secret.ts';
import { SECOND_MS } from '../../base/time.ts';
import type { Catalog } from '../../contract/catalog.ts';
import type { OrgSettings } from '../../definitions/schema/org-settings.ts';
import type { CatalogCache } from '../../fetch/cache/catalog-cache.ts';
import type { ComplianceClient } from '../../fetch/client/compliance-client.ts';
import type { BudgetFactory } from '../budgets/budgets.ts';
import { type ActiveOrgs, lowestLimits, orgsSharingKey } from '../budgets/key-limits.ts';

/** A user waits for the response, so a longer wait for a token is reported instead. */
const MAX_TOKEN_WAIT_MS = 3 * SECOND_MS;
const CATALOG_TIMEOUT_MS = 20 * SECOND_MS;

export type CatalogFinder = ReturnType<typeof createCatalogFinder>;

/** Finds an organization's catalog outside a run, for a user who waits for the response. */
export function createCatalogFinder({
  secrets,
  budgetOf,
  orgs,
  catalogs,
  getCached,
  clientOf,
}: {
  readonly secrets: SecretSource;
  readonly budgetOf: BudgetFactory;
  /** The active organizations. */
  readonly orgs: () => ActiveOrgs;
  readonly catalogs: CatalogCache;
  /** The catalog that the workers have cached; undefined if there is none. Throws `redis.unreachable`. */
  readonly getCached: (key: Secret, settings: OrgSettings) => Promise<Catalog | undefined>;
  /** Undefined without `COMPLIANCE_API_URL`: the process then cannot call the service. */
  readonly clientOf: ((key: Secret) => ComplianceClient) | undefined;
}) {
  return {
    /** Throws `catalog.missing` if this process does not have the API key. */
    keyOf: (settings: OrgSettings): Promise<Secret> =>
      secrets(settings.api_key).catch((cause: unknown) => {
        throw new DocketError('catalog.missing', `This process does not have the API key of ${settings.id}.`, {
          expected: toDocketError(cause).expected ?? 'the key that org.yaml refers to',
          next: 'Give the admin process the same keys as the workers, or run `docket explain` where they are available.',
          cause,
        });
      }),

    getCached,

    /**
     * Fetches the catalog from the service for one token. Throws `catalog.missing`, and the service's errors.
     * @param maxAgeMs accepts a cached catalog up to this age
     */
    fetchCatalog: async (key: Secret, settings: OrgSettings, maxAgeMs?: number): Promise<Catalog> => {
      if (clientOf === undefined) {
        throw new DocketError('catalog.missing', noCachedCatalog(settings), {
          expected: 'a catalog of the last hour, from a run of the organization',
          next: 'Run one of its reports, or set COMPLIANCE_API_URL for the admin process, which then fetches the catalog itself.',
        });
      }
      const fingerprint = key.fingerprint();
      const [first = settings, ...others] = await orgsSharingKey(fingerprint, orgs().values(), secrets);
      const limit = AbortSignal.timeout(CATALOG_TIMEOUT_MS);
      const pending = catalogs.get(
        {
          client: clientOf(key),
          budget: budgetOf('metrics', lowestLimits([first, ...others])),
          key: fingerprint,
          org: settings.org,
          tenant: settings.id,
          priority: 'on_demand',
          maxWaitMs: MAX_TOKEN_WAIT_MS,
          maxAgeMs,
        },
        limit,
        () => {},
      );
      const outcome = await pending.catch((thrown: unknown) => {
        if (!limit.aborted) throw thrown;
        return cancel(`none within ${CATALOG_TIMEOUT_MS} ms`);
      });
      if (outcome.kind === 'done') return outcome.value;
      if (outcome.kind === 'fail') throw outcome.error;
      throw new DocketError(
        'catalog.missing',
        `No metric catalog of ${settings.id} is cached, and its API key has no free token.`,
        {
          got: outcome.kind === 'snooze' ? `a token expected at ${new Date(outcome.until).toISOString()}` : outcome.why,
          next: 'Try again then.',
        },
      );
    },
  };
}

const noCachedCatalog = ({ id }: OrgSettings): string => `No metric catalog of ${id} is cached.`;

/**
 * An organization's catalog: the cached one, or the service's for one token. Undefined if neither is available, for
 * whatever reason.
 */
export async function findOrgCatalog(finder: CatalogFinder, settings: OrgSettings): Promise<Catalog | undefined> {
  try {
    const key = await finder.keyOf(settings);
    return (await finder.getCached(key, settings)) ?? (await finder.fetchCatalog(key, settings));
  } catch (error) {
    if (error instanceof DocketError) return undefined;
    throw error;
  }
}

/** The cached catalog, or a sentence that says why it is missing. Does not call the service. */
export async function cachedCatalogOrReason(finder: CatalogFinder, settings: OrgSettings): Promise<Catalog | string> {
  const key = await finder.keyOf(settings).catch((thrown: unknown) => toDocketError(thrown).message);
  if (typeof key === 'string') return key;
  const cached = await finder.getCached(key, settings);
  return cached ?? `No metric catalog of ${settings.id} is cached: the workers keep one for an hour.`;
}

/**
 * The catalog for a user: the cached one or, for a user who may spend a token, the service's.
 *
 * @param maxAgeMs fetches a catalog newer than this. If that fails, the cached one is returned
 */
export async function catalogForUser(
  finder: CatalogFinder,
  settings: OrgSettings,
  { mayFetch, maxAgeMs }: { readonly mayFetch: boolean; readonly maxAgeMs: number | undefined },
): Promise<Catalog> {
  const key = await finder.keyOf(settings);
  const cached = await finder.getCached(key, settings);
  if (cached === undefined && !mayFetch) {
    throw new DocketError('catalog.missing', noCachedCatalog(settings), {
      expected: 'a catalog of the last hour, from a run of the organization',
      next: 'Ask an operator: fetching the catalog costs a token of the API key.',
    });
  }
  const found = cached ?? (await finder.fetchCatalog(key, settings));
  if (maxAgeMs === undefined || !mayFetch) return found;
  return finder.fetchCatalog(key, settings, maxAgeMs).catch((thrown: unknown) => {
    if (thrown instanceof DocketError) return found;
    throw thrown;
  });
}
