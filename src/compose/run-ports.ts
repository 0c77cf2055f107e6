import { randomUUID } from 'node:crypto';
import { Pool } from 'undici';
import { requireVariable } from '../base/config/config.ts';
import type { AppContext } from '../base/context.ts';
import { DocketError } from '../base/error.ts';
import { memoize } from '../base/memoize.ts';
import { proxiedConnector } from '../base/net/proxied-connector.ts';
import { findProxyBy } from '../base/net/proxies.ts';
import { createScope, type Scope } from '../base/scope.ts';
import { secretSource } from '../base/secrets/secret.ts';
import type { Catalog } from '../contract/catalog.ts';
import { RATE_LIMITS } from '../contract/limits.ts';
import type { OrgSettings } from '../definitions/schema/org-settings.ts';
import type { Archive } from '../deliver/archive/archive.ts';
import { inlineArchive } from '../deliver/archive/inline-archive.ts';
import { readingArchive } from '../deliver/archive/readings/reading-archive.ts';
import type { CircuitBreaker } from '../deliver/circuit/circuit-breaker.ts';
import type { PeriodClaims } from '../deliver/claims/claim.ts';
import type { Denials } from '../deliver/denials/shared-denials.ts';
import type { LastSentFigures } from '../deliver/last-sent-figures.ts';
import type { Ledger } from '../deliver/ledger/ledger.ts';
import type { Switches } from '../deliver/switches/shared-switches.ts';
import { createMailRoutes, type GetMailRoute } from '../deliver/targets/email/mail-routes.ts';
import { type CatalogCache, memoryCatalogCache, redisCatalogCache } from '../fetch/cache/catalog-cache.ts';
import { redisResponseCache } from '../fetch/cache/redis-response-cache.ts';
import { memoryResponseCache, type ResponseCache } from '../fetch/cache/response-cache.ts';
import { memoryResponseStore, type ResponseStore } from '../fetch/cache/response-store.ts';
import { type ApiRequestResult, createClient, keyRedactor } from '../fetch/client/compliance-client.ts';
import type { Budget } from '../fetch/rate-limit/budget.ts';
import type { RedisClient } from '../redis/client.ts';
import { DEFAULT_KEY_PREFIX } from '../redis/keys.ts';
import { renderPool } from '../render/render-pool.ts';
import type { EditionStore } from '../run/corrections/corrected-edition.ts';
import type { Reviews } from '../run/review/load-review.ts';
import type { RunOrder } from '../run/run-record.ts';
import { type BudgetFactory, localBudgets, sharedBudgets } from '../services/budgets/budgets.ts';
import { type ActiveOrgs, keyLimits } from '../services/budgets/key-limits.ts';
import { createReportScope, type ReportScope } from '../services/definitions/report-scope.ts';
import type { RequestPorts } from '../services/readings/ask-service.ts';
import { findReadings } from '../services/readings/reading-history.ts';
import type { RunPortsFactory } from '../services/runs/execute-run.ts';
import { openArchive } from './archive.ts';
import { BUILT_IN_KINDS, FORMATS } from './built-in-kinds.ts';
import { hasRedis, openSharedRedis, withPrivateRedis } from './redis.ts';
import { RENDER_THREAD } from './threads.ts';

/** Maximum API keys whose redactor is cached: each run creates a client. */
const KEY_REDACTORS = 256;

/** The parts of the run ports that differ between a worker (in Redis) and an inline run (in memory). */
interface RunStores {
  readonly responsesOf: (org: string) => ResponseStore;
  readonly sharedAnswers: ResponseCache;
  readonly catalogs: CatalogCache;
  /** Absent: nothing is delivered. */
  readonly ledger?: Ledger;
  /** Absent: repeated deliveries are allowed. */
  readonly claims?: PeriodClaims | undefined;
  /** Absent: deliveries are never stopped. */
  readonly switches?: Pick<Switches, 'assertOpen'>;
  /** Absent: no recipient is denied. */
  readonly denials?: Pick<Denials, 'list'>;
  readonly circuit?: CircuitBreaker;
  readonly archive: Archive;
  /** Absent: runs that wait for people fail. */
  readonly reviews?: Reviews | undefined;
  /** Figures of editions that are watched for corrections. Absent: none are stored. */
  readonly editions?: EditionStore | undefined;
  readonly budget: BudgetFactory;
  readonly maxWaitMs: number;
  /** Absent for an inline run, which stores no figures between runs. */
  readonly sentFigures?: LastSentFigures;
  /** Called for each request to the Compliance Service. */
  readonly observeRequest?: (org: string, request: ApiRequestResult) => void;
  /** The active organizations, which determine the limits of each API key. Absent: none. */
  readonly orgs?: (() => ActiveOrgs) | undefined;
  /** Mail connections that the process shares. Absent: new ones. */
  readonly mailOf?: GetMailRoute;
  /** Absent: created from the environment. */
  readonly reportScope?: ReportScope;
}

/** The ports of an inline run, until `scope` closes. */
export interface InlineContext {
  readonly buildRunPorts: RunPortsFactory;
  /** The workers' budgets. Undefined without Redis: the process then has its own. */
  readonly sharedBudgets: BudgetFactory | undefined;
  /** Loads the renderers while the run plans and fetches. */
  readonly warmUp: () => void;
  readonly scope: Scope;
}

/** Where an inline run with deliveries stores its files and deliveries. */
export type DeliveryStores = Pick<
  RunStores,
  'archive' | 'reviews' | 'editions' | 'ledger' | 'claims' | 'switches' | 'denials' | 'sentFigures'
>;

export interface InlineOptions {
  /** Ignores the workers' cached catalogs. */
  readonly freshCatalogs?: boolean;
  /** The active organizations. Those that share an API key determine its limits. */
  readonly orgs?: ActiveOrgs | undefined;
}

/**
 * The ports of an inline run without deliveries: everything in memory. If `REDIS_URL` is set, or a private Redis is
 * running, it shares the workers' rate limiter, catalogs and responses: a separate budget would exceed the limit of the
 * API key. It does not try the default address, because any program may listen there.
 *
 * Throws `redis.unreachable`, `redis.unsuitable` before any call to the service.
 */
export async function composeInline(
  given: AppContext,
  archive: Archive,
  options: InlineOptions = {},
): Promise<InlineContext> {
  const scope = createScope();
  try {
    const context = await withPrivateRedis(given, scope);
    const redis = hasRedis(context) ? await openSharedRedis(context, scope) : undefined;
    return createInlinePorts(context, redis, scope, { archive }, options);
  } catch (error) {
    await scope.close();
    throw error;
  }
}

/** The ports of a run that a command executes. @param redis absent: the process has its own budget */
export function createInlinePorts(
  context: AppContext,
  redis: RedisClient | undefined,
  scope: Scope,
  stores: DeliveryStores,
  { freshCatalogs = false, orgs }: InlineOptions,
): InlineContext {
  const { clock, log } = context;
  const shared = redis === undefined ? undefined : sharedBudgets(redis, DEFAULT_KEY_PREFIX, clock, log);
  const prefix = `${DEFAULT_KEY_PREFIX}:`;
  const responses = memoryResponseStore();
  const { buildRunPorts, warmUp } = createRunPorts(context, scope, {
    ...stores,
    responsesOf: () => responses,
    sharedAnswers: redis === undefined ? memoryResponseCache(clock) : redisResponseCache(redis, { prefix }),
    catalogs:
      redis === undefined || freshCatalogs ? memoryCatalogCache(clock) : redisCatalogCache(redis, { prefix, clock }),
    budget: shared ?? localBudgets(clock, log),
    ...(orgs === undefined ? {} : { orgs: () => orgs }),
    // An inline run cannot be snoozed, so it waits.
    maxWaitMs: Number.POSITIVE_INFINITY,
  });
  return { buildRunPorts, sharedBudgets: shared, warmUp, scope };
}

/**
 * Throws if the archive has no space for the run. Call it before the first request: an unwritable folder would waste
 * all of them.
 */
export async function probeArchive(archive: Archive, order: RunOrder): Promise<void> {
  await archive.find(order);
  await archive.discard(await archive.stage(order.id));
}

/**
 * The catalog of an organization.
 *
 * @param maxAgeMs fetches a new one if the cached one is older
 */
export type GetCatalog = (settings: OrgSettings, maxAgeMs?: number) => Promise<Catalog>;

/** The catalogs of organizations, for commands that do not run a report. Throws what `composeInline` throws. */
export async function composeCatalogs(
  context: AppContext,
  options: InlineOptions = {},
): Promise<InlineContext & { readonly catalogOf: GetCatalog }> {
  const { buildRunPorts, scope, ...inline } = await composeInline(context, inlineArchive('.'), options);
  const catalogOf: GetCatalog = async (settings, maxAgeMs) => {
    const ports = await buildRunPorts(settings);
    const source = {
      ...ports,
      run: randomUUID(),
      org: settings.org,
      tenant: settings.id,
      priority: 'on_demand' as const,
      maxAgeMs,
    };
    const outcome = await ports.catalogs.get(source, new AbortController().signal, (event) => {
      if (event.type !== 'waiting') return;
      context.log.info('Waiting for a token of the API key', {
        key: ports.key,
        org: settings.id,
        count: event.ahead,
        until: new Date(event.until).toISOString(),
      });
    });
    if (outcome.kind === 'done') return outcome.value;
    throw outcome.kind === 'fail' ? outcome.error : new DocketError('run.cancelled', outcome.why);
  };
  return { ...inline, buildRunPorts, catalogOf, scope };
}

/** Creates the ports of runs, and those for requests to the service alone. */
export type PortsFactories = ReturnType<typeof createRunPorts>;

/** Creates the ports of runs; closing the scope closes the connections. */
export function createRunPorts(context: AppContext, scope: Scope, stores: RunStores) {
  const { config, env, clock, workingDirectory = process.cwd() } = context;
  const mailOf = stores.mailOf ?? createMailRoutes(context, scope);
  const secrets = secretSource(env, context);
  const baseUrl = requireVariable(config, 'COMPLIANCE_API_URL', 'it names the service that answers the reports');
  const dispatcher = scope.add(
    new Pool(new URL(baseUrl).origin, {
      connect: proxiedConnector(findProxyBy(config, secrets), { timeout: 5_000 }),
      keepAliveTimeout: 30_000,
    }),
  );
  const pool = scope.add(renderPool({ entry: RENDER_THREAD }));
  const orgs = stores.orgs ?? (() => new Map());
  const reportScope = stores.reportScope ?? createReportScope(context, orgs, BUILT_IN_KINDS);
  const readings = readingArchive(openArchive(context, scope).storage);
  const limits = keyLimits({ orgs, secrets, clock, log: context.log });
  const reads = stores.budget('reads', RATE_LIMITS.reads);
  const metrics = new Map<string, Budget>();
  const redactKeyOf = memoize(keyRedactor, KEY_REDACTORS);
  /** One budget per API key. Its limits follow the definitions, even during a run. */
  const openMetricsBudget = async (key: string, settings: OrgSettings): Promise<Budget> => {
    await limits.resolve(key, settings);
    const budget = metrics.get(key) ?? stores.budget('metrics', limits.of(key));
    metrics.set(key, budget);
    return budget;
  };

  const buildRequestPorts = async (settings: OrgSettings): Promise<RequestPorts> => {
    // Read for each run, so that a rotated key takes effect without a restart.
    const secret = await secrets(settings.api_key);
    const key = secret.fingerprint();
    return {
      clock,
      key,
      client: createClient({
        baseUrl,
        key: secret,
        redactKey: redactKeyOf(secret.reveal()),
        redactor: secrets.redactor,
        dispatcher,
        clock,
        onRequestEnd: (request) => stores.observeRequest?.(settings.id, request),
        trace: context.trace,
      }),
      budget: await openMetricsBudget(key, settings),
      catalogs: stores.catalogs,
    };
  };
  const buildRunPorts: RunPortsFactory = async (settings) => {
    const requestPorts = await buildRequestPorts(settings);
    return {
      ...requestPorts,
      clock,
      trace: context.trace,
      secrets: reportScope.secretsOf(settings),
      destinations: reportScope.destinations,
      reads,
      responses: stores.responsesOf(settings.id),
      responseCache: stores.sharedAnswers,
      formats: FORMATS,
      render: pool.render,
      archive: stores.archive,
      editions: stores.editions,
      readings: findReadings(readings, settings.org),
      reviews: stores.reviews,
      ledger: stores.ledger,
      claims: stores.claims,
      switches: stores.switches,
      denials: stores.denials,
      sentFigures: stores.sentFigures,
      circuit: stores.circuit,
      maxWaitMs: stores.maxWaitMs,
      mail: await mailOf(settings),
      templates: config.DOCKET_TEMPLATES,
      definitionsFolder: config.DOCKET_JOBS,
      publicUrl: config.DOCKET_PUBLIC_URL,
      workingDirectory,
    };
  };
  return {
    buildRunPorts /** Needs no mail server and no secret except the API key, so readings continue while the mail settings are wrong. */,
    buildRequestPorts,
    warmUp: pool.warmUp,
  };
}
