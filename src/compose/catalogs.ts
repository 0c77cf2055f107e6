import { Pool } from 'undici';
import type { AppContext } from '../base/context.ts';
import { proxiedConnector } from '../base/net/proxied-connector.ts';
import { findProxyBy } from '../base/net/proxies.ts';
import type { Scope } from '../base/scope.ts';
import { secretSource } from '../base/secrets/secret.ts';
import { SECOND_MS } from '../base/time.ts';
import type { Catalog } from '../contract/catalog.ts';
import type { OrgSettings } from '../definitions/schema/org-settings.ts';
import { cachedCatalog, redisCatalogCache } from '../fetch/cache/catalog-cache.ts';
import { createClient } from '../fetch/client/compliance-client.ts';
import type { RedisClient } from '../redis/client.ts';
import { sharedBudgets } from '../services/budgets/budgets.ts';
import type { ActiveOrgs } from '../services/budgets/key-limits.ts';
import { cachedCatalogOrReason, createCatalogFinder, findOrgCatalog } from '../services/definitions/catalog-finder.ts';
import type { GetCachedCatalog } from '../services/definitions/definition-threads.ts';
import { createPlanExplainer, type PlanExplainer } from '../services/definitions/explain-report.ts';

interface CatalogFinderParts {
  readonly redis: RedisClient;
  readonly prefix: string;
  /** The active organizations. */
  readonly orgs: () => ActiveOrgs;
  /** The id of the deployment, as confirmed when the process started. */
  readonly belongsTo?: () => string | undefined;
}

function openCatalogFinder(context: AppContext, { redis, prefix, orgs, belongsTo }: CatalogFinderParts, scope: Scope) {
  const { config, env, clock, log } = context;
  const { COMPLIANCE_API_URL: baseUrl } = config;
  const secrets = secretSource(env, context);
  const { redactor } = secrets;
  const keyPrefix = `${prefix}:`;
  const budgetOf = sharedBudgets(redis, prefix, clock, log, belongsTo);
  const connect = proxiedConnector(findProxyBy(config, secrets), { timeout: 5 * SECOND_MS });
  const dispatcher = baseUrl && scope.add(new Pool(new URL(baseUrl).origin, { connect }));
  const finder = createCatalogFinder({
    secrets,
    budgetOf,
    orgs,
    catalogs: redisCatalogCache(redis, { prefix: keyPrefix, clock }),
    getCached: (key, { org }) => cachedCatalog(redis, keyPrefix, key.fingerprint(), org),
    clientOf: dispatcher ? (key) => createClient({ baseUrl, key, redactor, dispatcher, clock }) : undefined,
  });
  return { finder, secrets, budgetOf };
}

/**
 * The catalog of an organization: from the workers' cache, or from the service for one token. Undefined if the process
 * has neither the API key nor COMPLIANCE_API_URL, or if the service or the rate limiter is busy.
 */
export const findCatalog = (
  context: AppContext,
  parts: CatalogFinderParts,
  settings: OrgSettings,
  scope: Scope,
): Promise<Catalog | undefined> => findOrgCatalog(openCatalogFinder(context, parts, scope).finder, settings);

/** Explains reports for the admin route, and finds cached catalogs for the validation of definitions. */
export function composePlanExplainer(
  context: AppContext,
  parts: CatalogFinderParts,
  scope: Scope,
): PlanExplainer & { readonly getCachedCatalog: GetCachedCatalog } {
  const { finder, secrets, budgetOf } = openCatalogFinder(context, parts, scope);
  const { clock } = context;
  return {
    ...createPlanExplainer({ secrets, orgs: parts.orgs, clock }, finder, budgetOf),
    getCachedCatalog: (settings) => cachedCatalogOrReason(finder, settings),
  };
}
