import { randomUUID } from 'node:crypto';
import { Pool } from 'undici';
import type { SteadyClock } from '../base/clock.ts';
import { type Config, requireVariable } from '../base/config/config.ts';
import { DocketError, toDocketError } from '../base/error.ts';
import type { Log } from '../base/log.ts';
import { createScope, type Scope } from '../base/scope.ts';
import type { Redact, Redactor } from '../base/secrets/redactor.ts';
import { secretSource } from '../base/secrets/secret.ts';
import type { Trace } from '../base/trace.ts';
import type { Catalog } from '../contract/catalog.ts';
import { RATE_LIMITS } from '../contract/limits.ts';
import type { OrgSettings } from '../definitions/schema/org-settings.ts';
import type { Definition } from '../definitions/schema/report-definition.ts';
import type { Archive } from '../deliver/archive/archive.ts';
import { inlineArchive } from '../deliver/archive/inline-archive.ts';
import type { CircuitBreaker } from '../deliver/circuit/circuit-breaker.ts';
import type { LastSentFigures } from '../deliver/last-sent-figures.ts';
import type { Ledger } from '../deliver/ledger/ledger.ts';
import { memoryLedger } from '../deliver/ledger/memory-ledger.ts';
import { createMailRoutes, type GetMailRoute } from '../deliver/targets/email/mail-routes.ts';
import {
  type CatalogCache,
  memoryCatalogCache,
  RECENT_CATALOG_MAX_AGE_MS,
  redisCatalogCache,
} from '../fetch/cache/catalog-cache.ts';
import { memoryResponseCache } from '../fetch/cache/memory-response-cache.ts';
import { redisResponseCache } from '../fetch/cache/redis-response-cache.ts';
import type { ResponseCache } from '../fetch/cache/response-cache.ts';
import { memoryResponseStore, type ResponseStore } from '../fetch/cache/response-store.ts';
import { type ApiRequestResult, createClient } from '../fetch/client/compliance-client.ts';
import type { Budget } from '../fetch/rate-limit/budget.ts';
import type { QueueTelemetry } from '../queue/bullmq.ts';
import type { RedisClient } from '../redis/client.ts';
import { DEFAULT_KEY_PREFIX } from '../redis/keys.ts';
import { renderPool } from '../render/render-pool.ts';
import type { RunPorts } from '../run/run-context.ts';
import { type BudgetFactory, localBudgets, sharedBudgets } from '../services/budgets/budgets.ts';
import { type ActiveOrgs, keyLimits } from '../services/budgets/key-limits.ts';
import { createReportScope, type ReportScope } from '../services/definitions/report-scope.ts';
import { openOptionalRedis } from './optional-redis.ts';

/** The process's environment, as read once: what every composition starts from. */
export interface AppContext {
  readonly config: Config;
  /** Where secret references with `env` are looked up. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: SteadyClock;
  readonly log: Log;
  /** Told each secret that is read, so that the log can take it out of whatever it is given. */
  readonly registerSecret?: Redactor['registerSecret'];
  /** Takes out of a text what it was told of; for what leaves the process beside the log. */
  readonly redact?: Redact;
  /** Where spans go; none are made when absent. */
  readonly trace?: Trace;
  /** The queue's own; absent where no spans are made. */
  readonly queueTelemetry?: QueueTelemetry;
  /** What relative paths of directory deliveries are resolved against; the process's own when absent. */
  readonly workingDirectory?: string;
}

/** What differs between the worker (Redis) and an inline run (memory). */
interface RunStores {
  /** Of one organization's runs. */
  readonly responsesOf: (org: string) => ResponseStore;
  readonly sharedAnswers: ResponseCache;
  readonly catalogs: CatalogCache;
  readonly ledger: Ledger;
  readonly circuit?: CircuitBreaker;
  readonly archive: Archive;
  readonly budget: BudgetFactory;
  readonly maxWaitMs: number;
  /** Absent: an inline run, which remembers nothing. */
  readonly sentFigures?: LastSentFigures;
  /** Told of each request to the service, and for which organization it was. */
  readonly observeRequest?: (org: string, news: ApiRequestResult) => void;
  /** Of the definitions in force: they decide of the limits of each key. None when absent. */
  readonly orgs?: (() => ActiveOrgs) | undefined;
  /** Where the process's connections to mail servers are kept; its own when absent. */
  readonly mailOf?: GetMailRoute;
  /** What reports may refer to and where they may be delivered to; as the environment says when absent. */
  readonly reportScope?: ReportScope;
}

/** Binds the ports of a run to one organization: its API key, its budget, its mail server. */
export type RunPortsFactory = (settings: OrgSettings) => Promise<RunPorts>;

/** What an inline run goes through. */
export interface InlineContext {
  readonly portsOf: RunPortsFactory;
  /** The workers' budgets; undefined where no Redis is named, and each process has its own. */
  readonly sharedBudgets: BudgetFactory | undefined;
  readonly scope: Scope;
}

/** Where an inline run keeps what it delivers. */
export interface DeliveryStores {
  readonly archive: Archive;
  readonly ledger: Ledger;
  readonly sentFigures?: LastSentFigures;
}

export interface InlineOptions {
  /** Asks the service even where the workers hold its catalog. */
  readonly freshCatalogs?: boolean;
  /** Of the definitions: which of them share a key decides of its limits. */
  readonly orgs?: ActiveOrgs | undefined;
  /** In place of a ledger in memory. @param redis the workers'; undefined where none is named */
  readonly stores?: (redis: RedisClient | undefined, scope: Scope) => DeliveryStores;
}

/**
 * Ports of an inline run: everything in memory, except that with a `REDIS_URL` in the environment it stands in the same
 * line for its key as the workers, and knows their catalogs and answers: beside busy ones it would otherwise earn a 429 for all.
 * Throws `redis.unreachable`, `redis.unsuitable` for a Redis that is named and of no use: then nothing is called.
 */
export async function composeInline(
  around: AppContext,
  archive: Archive,
  { freshCatalogs = false, orgs, stores }: InlineOptions = {},
): Promise<InlineContext> {
  const scope = createScope();
  const { clock, log } = around;
  try {
    const redis = await openOptionalRedis(around, scope);
    const shared = redis === undefined ? undefined : sharedBudgets(redis, DEFAULT_KEY_PREFIX, clock, log);
    const prefix = `${DEFAULT_KEY_PREFIX}:`;
    const kept = stores?.(redis, scope) ?? { archive, ledger: memoryLedger() };
    const responses = memoryResponseStore();
    const portsOf = createRunPorts(around, scope, {
      responsesOf: () => responses,
      sharedAnswers: redis === undefined ? memoryResponseCache(clock) : redisResponseCache(redis, { prefix }),
      catalogs:
        redis === undefined || freshCatalogs ? memoryCatalogCache(clock) : redisCatalogCache(redis, { prefix, clock }),
      ...kept,
      budget: shared ?? localBudgets(clock, log),
      ...(orgs === undefined ? {} : { orgs: () => orgs }),
      // Nobody would wake an inline run: it waits in place, however long.
      maxWaitMs: Number.POSITIVE_INFINITY,
    });
    return { portsOf, sharedBudgets: shared, scope };
  } catch (error) {
    await scope.close();
    throw error;
  }
}

/**
 * An organization's catalog.
 * @param maxAgeMs asks for a new one where a held one is older
 */
export type GetCatalog = (settings: OrgSettings, maxAgeMs?: number) => Promise<Catalog>;

/** What is made of a catalog; of a new one where a held one does not allow what is asked (`plan.invalid`). */
export async function withCatalog<Made>(
  catalogOf: (maxAgeMs?: number) => Promise<Catalog>,
  make: (catalog: Catalog) => Made | Promise<Made>,
): Promise<Made> {
  try {
    return await make(await catalogOf());
  } catch (thrown) {
    if (toDocketError(thrown).code !== 'plan.invalid') throw thrown;
    return await make(await catalogOf(RECENT_CATALOG_MAX_AGE_MS));
  }
}

/** The organizations' catalogs: what `check`, `explain` and `doctor` need of the service. Throws as `composeInline`. */
export async function composeCatalogs(
  around: AppContext,
  options: InlineOptions = {},
): Promise<InlineContext & { readonly catalogOf: GetCatalog }> {
  const { portsOf, sharedBudgets, scope } = await composeInline(around, inlineArchive('.'), options);
  const catalogOf: GetCatalog = async (settings, maxAgeMs) => {
    const ports = await portsOf(settings);
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
      around.log.info('Waiting for a token of the API key', {
        key: ports.key,
        org: settings.id,
        count: event.ahead,
        until: new Date(event.until).toISOString(),
      });
    });
    if (outcome.kind === 'done') return outcome.value;
    throw outcome.kind === 'fail' ? outcome.error : new DocketError('run.cancelled', outcome.why);
  };
  return { portsOf, catalogOf, sharedBudgets, scope };
}

/** See `PortsOf`. What is opened for an organization is kept until the scope closes. */
export function createRunPorts(around: AppContext, scope: Scope, stores: RunStores): RunPortsFactory {
  const { config, env, clock, workingDirectory = process.cwd() } = around;
  const mailOf = stores.mailOf ?? createMailRoutes(around, scope);
  const secrets = secretSource(env, around);
  const baseUrl = requireVariable(config, 'COMPLIANCE_API_URL', 'it names the service that answers the reports');
  const dispatcher = scope.use(
    new Pool(new URL(baseUrl).origin, { connect: { timeout: 5_000 }, keepAliveTimeout: 30_000 }),
    (pool) => pool.close(),
  );
  const pool = scope.use(renderPool(), (opened) => opened.close());
  const orgs = stores.orgs ?? (() => new Map());
  const scoped = stores.reportScope ?? createReportScope(around, orgs);
  const limits = keyLimits({ orgs, secrets, log: around.log });
  const reads = stores.budget('reads', RATE_LIMITS.reads);
  const metrics = new Map<string, Budget>();
  /** One for each key, whose limits follow the definitions: also those of a run that is under way. */
  const metricsOf = async (key: string, settings: OrgSettings): Promise<Budget> => {
    await limits.resolve(key, settings);
    const budget = metrics.get(key) ?? stores.budget('metrics', limits.of(key));
    metrics.set(key, budget);
    return budget;
  };

  return async (settings) => {
    // Read anew for each run, so that a rotated key is used without a restart.
    const secret = await secrets(settings.api_key);
    const key = secret.fingerprint();
    return {
      clock,
      trace: around.trace,
      secrets: scoped.secretsOf(settings),
      destinations: scoped.destinations,
      key,
      client: createClient({
        baseUrl,
        key: secret,
        redactor: secrets.redactor,
        dispatcher,
        clock,
        onRequestEnd: (news) => stores.observeRequest?.(settings.id, news),
        trace: around.trace,
      }),
      budget: await metricsOf(key, settings),
      reads,
      responses: stores.responsesOf(settings.id),
      responseCache: stores.sharedAnswers,
      catalogs: stores.catalogs,
      render: pool.render,
      archive: stores.archive,
      ledger: stores.ledger,
      sentFigures: stores.sentFigures,
      circuit: stores.circuit,
      maxWaitMs: stores.maxWaitMs,
      mail: await mailOf(settings),
      templates: config.DOCKET_TEMPLATES,
      workingDirectory,
    };
  };
}

/**
 * Refuses a report with e-mail deliveries before a call is spent on it. Throws `config.invalid`.
 *
 * @param otherwise how the command does without them, where it can
 */
export function assertMailConfigured(
  { org, report, deliveries }: Definition,
  { smtp }: OrgSettings,
  config: Config,
  otherwise?: string,
): void {
  if (!deliveries.some(({ email }) => email !== undefined)) return;
  const why = `${org}/${report} has an e-mail delivery${otherwise === undefined ? '' : ` (${otherwise})`}`;
  if (smtp?.url === undefined) requireVariable(config, 'SMTP_URL', why);
  if (smtp?.from === undefined) requireVariable(config, 'MAIL_FROM', why);
}
