import { createHash, randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { type AppContext, version } from '../base/context.ts';
import { isRedisOutage, toDocketError } from '../base/error.ts';
import { startPeriodicTasks } from '../base/periodic.ts';
import { createScope, type Scope } from '../base/scope.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../base/time.ts';
import type { DefinitionSource } from '../definitions/load/definition-source.ts';
import type { Definitions } from '../definitions/load/load-definitions.ts';
import { PROCESS_HEARTBEAT_INTERVAL_MS, redisProcessRegistry } from '../queue/process-registry.ts';
import {
  type ProcessFailure,
  type ProcessReport,
  type ProcessReports,
  redisProcessReports,
} from '../queue/process-reports.ts';
import {
  type Adopter,
  adoptDeployment,
  confirmIdentity,
  type DeploymentIdentity,
} from '../services/deployment/deployment-identity.ts';
import { type MetricsSnapshot, readMetricsSnapshot } from '../services/deployment/metrics-snapshot.ts';
import type { DeploymentProblem, Finding, HealthCheck } from '../services/deployment/probe.ts';
import { monitorStorage, type StoragePart } from '../services/deployment/storage-health.ts';
import { identityPorts } from './archive.ts';
import type { DocketContext } from './feature.ts';
import type { ProcessParts } from './probes/probe-context.ts';
import { checkParts, collectProbes, findProblems } from './probes/probes.ts';
import { openScheduler, type SchedulerSettings } from './scheduler.ts';
import { openStore, type Store, type StoreSettings } from './store.ts';
import { DEFAULT_CONCURRENCY, openWorker, type WorkerSettings } from './worker.ts';

/** Roles of processes. Any number of processes may have a role. */
export const ROLES = ['worker', 'scheduler', 'admin'] as const;
export type Role = (typeof ROLES)[number];

export interface DocketSettings extends WorkerSettings, SchedulerSettings, StoreSettings {
  /** Absent: all roles. */
  readonly roles?: ReadonlySet<Role>;
  /** Called with the result of each trial write. */
  readonly observeStorage?: (part: StoragePart, usable: boolean) => void;
  /** Lets this process join Redis, archive and definitions of different deployments. */
  readonly adopt?: Adopter;
}

export interface RunningDocket {
  readonly store: Store;
  readonly identity: DeploymentIdentity;
  /** Codes of the problems that the last check found, for `/readyz` and the metrics. Checked every 25 seconds. */
  readonly problemCodes: () => readonly string[];
  /** The checks of `/readyz`: Redis, definitions, roles and storage. Never rejects. */
  readonly health: () => Promise<readonly HealthCheck[]>;
  /** Why reports do not go out, or soon will not, most urgent first. Throws `redis.unreachable`. */
  readonly problems: () => Promise<readonly DeploymentProblem[]>;
  /** Throws `redis.unreachable`. */
  readonly metricsSnapshot: () => Promise<MetricsSnapshot>;
  /** Gives running runs some time to finish, requeues the others, and closes everything. */
  close(): Promise<void>;
}

/**
 * Opens the roles of a process. The role `admin` only needs the store; `composeAdmin` opens its server. If the start
 * fails, closes everything. Throws `redis.unreachable`, `redis.unsuitable`, `config.invalid`, `deployment.conflict`,
 * `deployment.mass_removal`.
 */
export async function composeDocket(context: DocketContext, settings: DocketSettings): Promise<RunningDocket> {
  const scope = createScope();
  try {
    return await openRoles(context, settings, scope);
  } catch (error) {
    await scope.close();
    throw error;
  }
}

async function openRoles(context: DocketContext, settings: DocketSettings, scope: Scope): Promise<RunningDocket> {
  const { jobs, roles = new Set(ROLES) } = settings;
  const { clock } = context;
  const store = await openStore(
    context,
    { ...settings, orgs: () => jobs.current().orgs, writes: roles.has('worker') || roles.has('admin') },
    scope,
  );
  const { identity, redis, prefix } = store;
  await startIdentity(context, settings, roles, store, scope);
  const parts: ProcessParts = {
    store,
    clock,
    jobs: jobs.current,
    identity,
    ...(roles.has('worker') ? { worker: await openWorker(context, settings, store, scope) } : {}),
    ...(roles.has('scheduler') ? { scheduler: await openScheduler(context, settings, store, scope) } : {}),
  };
  const probes = collectProbes(context.features);
  const trials = await monitorStorage(
    probes.flatMap((probe) => probe.trials?.(parts) ?? []),
    context,
    scope,
    settings.observeStorage,
  );
  const health = async () => [...(await checkParts(parts, probes)), ...trials()];
  const problems = async () => {
    const writeFailure = trials().find(({ name, ok }) => name === 'redis_writes' && !ok)?.detail;
    return findProblems({ redis, prefix, clock, jobs: jobs.current(), started: true, writeFailure }, probes);
  };
  const problemCodes = startHeartbeat(context, { ...settings, roles, identity, health, problems }, store, scope);
  return {
    store,
    identity,
    health,
    problems,
    problemCodes,
    metricsSnapshot: async () => ({
      ...(await readMetricsSnapshot(store, jobs.current())),
      problems: problemCodes(),
    }),
    close: () => scope.close(),
  };
}

/** Confirms that Redis and the archive belong together before either is used. A scheduler may have no archive. */
async function startIdentity(
  context: AppContext,
  { adopt }: Pick<DocketSettings, 'adopt'>,
  roles: ReadonlySet<Role>,
  { redis, prefix, runs, identity, audit }: Store,
  scope: Scope,
): Promise<void> {
  const writes = roles.has('worker') || roles.has('admin');
  if (adopt !== undefined && writes)
    await adoptDeployment(identityPorts(context, { redis, prefix, runs, writes }, scope), audit, adopt);
  await identity.start();
}

/** Interval of the checks of `docket doctor` that need other servers. */
const EXAMINATION_INTERVAL_MS = HOUR_MS;
/** Delay of the first of these checks after the start. */
const EXAMINATION_DELAY_MS = MINUTE_MS;

/**
 * Until the scope closes, periodically registers the healthy roles of the process, publishes its state, and looks for
 * problems. Returns a function for the codes of the problems last found.
 */
function startHeartbeat(
  context: DocketContext,
  {
    roles,
    health,
    identity,
    problems,
    jobs,
    concurrency = DEFAULT_CONCURRENCY,
  }: Pick<RunningDocket, 'health' | 'identity' | 'problems'> & {
    readonly roles: ReadonlySet<Role>;
    readonly jobs: DefinitionSource;
    readonly concurrency?: number | undefined;
  },
  { redis, prefix }: Store,
  scope: Scope,
): () => readonly string[] {
  const { clock, log } = context;
  const self = `${hostname()}:${process.pid}:${randomUUID().slice(0, 8)}`;
  const registry = redisProcessRegistry(redis, { prefix, self });
  const reports = redisProcessReports(redis, { prefix });
  const report = processState(
    { self, roles, jobs, started: clock.now(), ...(roles.has('worker') ? { concurrency } : {}) },
    reports,
  );
  // Without Redis there can be no heartbeats. The outage itself is reported elsewhere.
  const ignoreOutage = (thrown: unknown) => {
    if (!isRedisOutage(toDocketError(thrown))) throw thrown;
  };
  let found: readonly DeploymentProblem[] = [];
  let findings: readonly Finding[] = [];
  const sendHeartbeat = async () => {
    const results = await health();
    const healthyRoles = [...roles].filter((role) => results.find(({ name }) => name === role)?.ok ?? true);
    await registry.heartbeat(healthyRoles).catch(ignoreOutage);
    await report(results, findings, clock.now()).catch(ignoreOutage);
    found = await problems().catch((thrown: unknown) => {
      ignoreOutage(thrown);
      return found;
    });
  };
  const closing = new AbortController();
  const examineHourly = async () => {
    const { diagnose } = await import('./probes/diagnose.ts');
    const options = { fetchCatalogs: false, signal: closing.signal };
    findings = await diagnose(
      jobs.current(),
      context,
      options,
      ({ hourly }) => hourly === 'all' || (hourly === 'worker' && roles.has('worker')),
    );
  };
  const examinations = (async () => {
    for (let wait = EXAMINATION_DELAY_MS; ; wait = EXAMINATION_INTERVAL_MS) {
      await clock.sleep(wait, closing.signal);
      await examineHourly();
    }
  })().catch((thrown: unknown) => {
    if (!closing.signal.aborted) log.error('Hourly checks failed', { error: toDocketError(thrown).toJSON() });
  });
  const heartbeats = startPeriodicTasks({
    steps: [sendHeartbeat, confirmIdentity(identity)],
    clock,
    log,
    everyMs: PROCESS_HEARTBEAT_INTERVAL_MS,
  });
  scope.use(heartbeats, async (opened) => {
    closing.abort();
    await opened.close();
    await examinations;
    await registry.leave().catch(ignoreOutage);
    await reports.remove(self).catch(ignoreOutage);
  });
  return () => [...new Set(found.map(({ code }) => code))];
}

/** A hash that is equal for equal definitions and settings. */
function definitionsDigest({ reports, orgs }: Pick<Definitions, 'reports' | 'orgs'>): string {
  const names = [...reports].map(([name, { digest }]) => `${name} ${digest}`).sort();
  const settings = [...orgs].map(([name, of]) => `${name} ${JSON.stringify(of)}`).sort();
  return createHash('sha256')
    .update(JSON.stringify([names, settings]))
    .digest('hex')
    .slice(0, 16);
}

/**
 * Checks of `/readyz` that others do not need from here: readers of the page see them elsewhere, or they cannot be
 * stored without Redis.
 */
const OWN_PROBES: ReadonlySet<string> = new Set(['redis', 'redis_writes']);

/**
 * Publishes the state of this process, so that the page of any process shows what fails in each.
 * @returns a function that stores the state; `now` is epoch ms
 */
export function processState(
  {
    self,
    roles,
    jobs,
    started,
    concurrency,
  }: Pick<ProcessReport, 'self' | 'started' | 'concurrency'> & {
    readonly roles: Iterable<string>;
    readonly jobs: DefinitionSource;
  },
  store: ProcessReports,
) {
  const since = new Map<string, number>();
  let digested: { readonly of: Definitions; readonly digest: string } | undefined;
  return async (checks: readonly HealthCheck[], findings: readonly Finding[], now: number): Promise<void> => {
    const current = jobs.current();
    if (digested?.of !== current) digested = { of: current, digest: definitionsDigest(current) };
    const failures = [
      ...checks
        .filter(({ name, ok }) => !ok && !OWN_PROBES.has(name))
        .map(({ name, detail = '', remedy }) => ({ name, detail, ...(remedy === undefined ? {} : { remedy }) })),
      ...findings
        .filter(({ state, problem }) => state === 'fail' || problem !== undefined)
        .map(({ what, detail, remedy, problem, affects }) => ({
          name: what,
          detail,
          ...(remedy === undefined ? {} : { remedy }),
          ...(problem === undefined ? {} : { problem }),
          ...(affects === undefined ? {} : { affects }),
        })),
    ];
    for (const name of since.keys()) if (!failures.some((failure) => failure.name === name)) since.delete(name);
    for (const { name } of failures) since.set(name, since.get(name) ?? now);
    const { size: reports } = current.reports;
    await store.put({
      self,
      host: hostname(),
      roles: [...roles],
      ...(concurrency === undefined ? {} : { concurrency }),
      version: version(),
      started,
      at: now,
      definitions: { digest: digested.digest, reports, unreadable: jobs.unreadable?.() ?? null },
      failing: failures.map((failure): ProcessFailure => ({ ...failure, since: since.get(failure.name) ?? now })),
    });
    // The most reports that any process had within a day. If a folder is emptied, this process has fewer, even after a
    // restart.
    const peak = await store.peak();
    if (peak === undefined || reports >= peak.reports) await store.putPeak({ reports, at: now }, DAY_MS);
  };
}
