import { randomUUID } from 'node:crypto';
import { Pool } from 'undici';
import type { SteadyClock } from '../base/clock.ts';
import { type Config, required } from '../base/config.ts';
import { DocketError, toDocketError } from '../base/error.ts';
import type { Log } from '../base/log.ts';
import type { Redact, Redactor } from '../base/redactor.ts';
import type { RedisClient } from '../base/redis-client.ts';
import { createScope, type Scope } from '../base/scope.ts';
import { secretSource } from '../base/secret.ts';
import type { Trace } from '../base/trace.ts';
import type { Catalog } from '../contract/catalog.ts';
import { RATES } from '../contract/limits.ts';
import type { Definition } from '../define/definition.ts';
import type { OrgSettings } from '../define/org.ts';
import type { Archive } from '../deliver/archive.ts';
import type { Circuit } from '../deliver/circuit.ts';
import { inlineArchive } from '../deliver/directory-archive.ts';
import type { Ledger } from '../deliver/ledger.ts';
import { memoryLedger } from '../deliver/memory-ledger.ts';
import type { SentFigures } from '../deliver/sent-figures.ts';
import type { Budget } from '../fetch/budget.ts';
import { type Catalogs, memoryCatalogs, RECENT_CATALOG_MS, redisCatalogs } from '../fetch/catalogs.ts';
import { createClient, type RequestNews } from '../fetch/client.ts';
import { memoryShared } from '../fetch/memory-shared.ts';
import { memoryStore } from '../fetch/memory-store.ts';
import { redisShared } from '../fetch/redis-shared.ts';
import type { ResponseStore } from '../fetch/response-store.ts';
import type { SharedAnswers } from '../fetch/shared-answers.ts';
import { DEFAULT_PREFIX } from '../queue/keys.ts';
import type { QueueTelemetry } from '../queue/telemetry.ts';
import { renderPool } from '../render/pool.ts';
import type { RunPorts } from '../run/ports.ts';
import { type Budgets, ownBudgets, sharedBudgets } from './budgets.ts';
import { keyLimits, type OrgsInForce } from './key-limits.ts';
import { type MailOf, mailRoutes } from './mail.ts';
import { redisIfNamed } from './redis-if-named.ts';
import { type ReportScope, reportScope } from './report-scope.ts';

/** The process's environment, as read once: what every composition starts from. */
export interface Surroundings {
  readonly config: Config;
  /** Where secret references with `env` are looked up. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: SteadyClock;
  readonly log: Log;
  /** Told each secret that is read, so that the log can take it out of whatever it is given. */
  readonly learn?: Redactor['learn'];
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
interface Stores {
  /** Of one organization's runs. */
  readonly responsesOf: (org: string) => ResponseStore;
  readonly sharedAnswers: SharedAnswers;
  readonly catalogs: Catalogs;
  readonly ledger: Ledger;
  readonly circuit?: Circuit;
  readonly archive: Archive;
  readonly budget: Budgets;
  readonly patienceMs: number;
  /** Absent: an inline run, which remembers nothing. */
  readonly sentFigures?: SentFigures;
  /** Told of each request to the service, and for which organization it was. */
  readonly observeRequest?: (org: string, news: RequestNews) => void;
  /** Of the definitions in force: they decide of the limits of each key. None when absent. */
  readonly orgs?: (() => OrgsInForce) | undefined;
  /** Where the process's connections to mail servers are kept; its own when absent. */
  readonly mailOf?: MailOf;
  /** What reports may refer to and where they may be delivered to; as the environment says when absent. */
  readonly reportScope?: ReportScope;
}

/** Binds the ports of a run to one organization: its API key, its budget, its mail server. */
export type PortsOf = (settings: OrgSettings) => Promise<RunPorts>;

/** What an inline run goes through. */
export interface Inline {
  readonly portsOf: PortsOf;
  /** The workers' budgets; undefined where no Redis is named, and each process has its own. */
  readonly shared: Budgets | undefined;
  readonly scope: Scope;
}

/** Where an inline run keeps what it delivers. */
export interface InlineStores {
  readonly archive: Archive;
  readonly ledger: Ledger;
  readonly sentFigures?: SentFigures;
}

export interface InlineOptions {
  /** Asks the service even where the workers hold its catalog. */
  readonly freshCatalogs?: boolean;
  /** Of the definitions: which of them share a key decides of its limits. */
  readonly orgs?: OrgsInForce | undefined;
  /** In place of a ledger in memory. @param redis the workers'; undefined where none is named */
  readonly stores?: (redis: RedisClient | undefined, scope: Scope) => InlineStores;
}

/**
 * Ports of an inline run: everything in memory, except that with a `REDIS_URL` in the environment it stands in the same
 * line for its key as the workers, and knows their catalogs and answers: beside busy ones it would otherwise earn a 429 for all.
 * Throws `redis.unreachable`, `redis.unsuitable` for a Redis that is named and of no use: then nothing is called.
 */
export async function composeInline(
  around: Surroundings,
  archive: Archive,
  { freshCatalogs = false, orgs, stores }: InlineOptions = {},
): Promise<Inline> {
  const scope = createScope();
  const { clock, log } = around;
  try {
    const redis = await redisIfNamed(around, scope);
    const shared = redis === undefined ? undefined : sharedBudgets(redis, DEFAULT_PREFIX, clock, log);
    const prefix = `${DEFAULT_PREFIX}:`;
    const kept = stores?.(redis, scope) ?? { archive, ledger: memoryLedger() };
    const responses = memoryStore();
    const portsOf = bindPorts(around, scope, {
      responsesOf: () => responses,
      sharedAnswers: redis === undefined ? memoryShared(clock) : redisShared(redis, { prefix }),
      catalogs: redis === undefined || freshCatalogs ? memoryCatalogs(clock) : redisCatalogs(redis, { prefix, clock }),
      ...kept,
      budget: shared ?? ownBudgets(clock, log),
      ...(orgs === undefined ? {} : { orgs: () => orgs }),
      // Nobody would wake an inline run: it waits in place, however long.
      patienceMs: Number.POSITIVE_INFINITY,
    });
    return { portsOf, shared, scope };
  } catch (error) {
    await scope.close();
    throw error;
  }
}

/**
 * An organization's catalog.
 * @param maxAgeMs asks for a new one where a held one is older
 */
export type CatalogOf = (settings: OrgSettings, maxAgeMs?: number) => Promise<Catalog>;

/** What is made of a catalog; of a new one where a held one does not allow what is asked (`plan.invalid`). */
export async function withCatalog<Made>(
  catalogOf: (maxAgeMs?: number) => Promise<Catalog>,
  make: (catalog: Catalog) => Made | Promise<Made>,
): Promise<Made> {
  try {
    return await make(await catalogOf());
  } catch (thrown) {
    if (toDocketError(thrown).code !== 'plan.invalid') throw thrown;
    return await make(await catalogOf(RECENT_CATALOG_MS));
  }
}

/** The organizations' catalogs: what `check`, `explain` and `doctor` need of the service. Throws as `composeInline`. */
export async function composeCatalogs(
  around: Surroundings,
  options: InlineOptions = {},
): Promise<Inline & { readonly catalogOf: CatalogOf }> {
  const { portsOf, shared, scope } = await composeInline(around, inlineArchive('.'), options);
  const catalogOf: CatalogOf = async (settings, maxAgeMs) => {
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
  return { portsOf, catalogOf, shared, scope };
}

/** See `PortsOf`. What is opened for an organization is kept until the scope closes. */
export function bindPorts(around: Surroundings, scope: Scope, stores: Stores): PortsOf {
  const { config, env, clock, workingDirectory = process.cwd() } = around;
  const mailOf = stores.mailOf ?? mailRoutes(around, scope);
  const secrets = secretSource(env, around);
  const baseUrl = required(config, 'COMPLIANCE_API_URL', 'it names the service that answers the reports');
  const dispatcher = scope.use(
    new Pool(new URL(baseUrl).origin, { connect: { timeout: 5_000 }, keepAliveTimeout: 30_000 }),
    (pool) => pool.close(),
  );
  const pool = scope.use(renderPool(), (opened) => opened.close());
  const orgs = stores.orgs ?? (() => new Map());
  const scoped = stores.reportScope ?? reportScope(around, orgs);
  const limits = keyLimits({ orgs, secrets, log: around.log });
  const reads = stores.budget('reads', RATES.reads);
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
        told: (news) => stores.observeRequest?.(settings.id, news),
        trace: around.trace,
      }),
      budget: await metricsOf(key, settings),
      reads,
      responses: stores.responsesOf(settings.id),
      sharedAnswers: stores.sharedAnswers,
      catalogs: stores.catalogs,
      render: pool.render,
      archive: stores.archive,
      ledger: stores.ledger,
      sentFigures: stores.sentFigures,
      circuit: stores.circuit,
      patienceMs: stores.patienceMs,
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
export function requireMail(
  { org, report, deliveries }: Definition,
  { smtp }: OrgSettings,
  config: Config,
  otherwise?: string,
): void {
  if (!deliveries.some(({ email }) => email !== undefined)) return;
  const why = `${org}/${report} has an e-mail delivery${otherwise === undefined ? '' : ` (${otherwise})`}`;
  if (smtp?.url === undefined) required(config, 'SMTP_URL', why);
  if (smtp?.from === undefined) required(config, 'MAIL_FROM', why);
}
