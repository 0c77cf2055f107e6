import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { AppContext } from '../base/context.ts';
import { isRedisOutage, toDocketError } from '../base/error.ts';
import { startPeriodicTasks } from '../base/periodic.ts';
import { createScope, type Scope } from '../base/scope.ts';
import { secretSource } from '../base/secrets/secret.ts';
import type { Definitions } from '../definitions/load/load-definitions.ts';
import { PROCESS_HEARTBEAT_INTERVAL_MS, redisProcessRegistry } from '../queue/process-registry.ts';
import { redisAuditLog } from '../services/audit-log.ts';
import { sharedBudgets } from '../services/budgets/budgets.ts';
import {
  type Adopter,
  adoptDeployment,
  confirmIdentity,
  type DeploymentIdentity,
  deploymentIdentity,
} from '../services/deployment/deployment-identity.ts';
import { type MetricsSnapshot, readMetricsSnapshot } from '../services/deployment/metrics-snapshot.ts';
import { type HealthCheck, monitorStorage, redisProbe } from '../services/deployment/storage-health.ts';
import { identityPorts } from './archive.ts';
import { openScheduler, type SchedulerSettings } from './scheduler.ts';
import { openStore, type Store, type StoreSettings } from './store.ts';
import { openWorker, type WorkerSettings } from './worker.ts';

/** What a process may do; any number of processes may do each, against one Redis. */
export const ROLES = ['worker', 'scheduler', 'admin'] as const;
export type Role = (typeof ROLES)[number];

export interface DocketSettings extends WorkerSettings, SchedulerSettings, StoreSettings {
  /** All when absent. */
  readonly roles?: ReadonlySet<Role>;
  /** Joins Redis, archive and definitions that do not belong together, on purpose. */
  readonly adopt?: Adopter;
}

/** A process's roles, at work. */
export interface RunningDocket {
  readonly store: Store;
  readonly identity: DeploymentIdentity;
  /** What `/readyz` asks: Redis, the definitions, each role and what they write to; never rejects. */
  readonly health: () => Promise<readonly HealthCheck[]>;
  /** What the metrics tell of all processes; throws `redis.unreachable`. */
  readonly metricsSnapshot: () => Promise<MetricsSnapshot>;
  /** Lets runs in hand end for a while, hands over the rest, closes everything. */
  close(): Promise<void>;
}

/**
 * Opens what the process's roles need against one Redis; the role `admin` needs the store alone, and `composeAdmin` its
 * route. On a failed start everything that was opened is closed.
 * Throws `redis.unreachable`, `redis.unsuitable`, `config.invalid`, `deployment.conflict`, `deployment.mass_removal`.
 */
export async function composeDocket(context: AppContext, settings: DocketSettings): Promise<RunningDocket> {
  const scope = createScope();
  try {
    return await openRoles(context, settings, scope);
  } catch (error) {
    await scope.close();
    throw error;
  }
}

async function openRoles(context: AppContext, settings: DocketSettings, scope: Scope): Promise<RunningDocket> {
  const { jobs, roles = new Set(ROLES) } = settings;
  const store = await openStore(context, settings, scope);
  const identity = await startIdentity(context, settings, roles, store, scope);
  const checks: (() => readonly HealthCheck[])[] = [];
  const probes = [redisProbe(store.redis, store.prefix)];
  const redisWrites = await monitorStorage(probes, context, scope, settings.observeStorage);
  if (roles.has('worker')) checks.push(await openWorker(context, settings, store, identity, scope));
  if (roles.has('scheduler')) {
    const scheduler = await openScheduler(context, settings, store, scope);
    checks.push(() => [scheduler()]);
  }
  checks.push(redisWrites.checks);
  startHeartbeat(context, { roles, checks, identity }, store, scope);
  const { clock, env } = context;
  const budgets = sharedBudgets(store.redis, store.prefix, clock);
  return {
    store,
    identity,
    health: async () => [
      await store.ping().then(
        () => ({ name: 'redis', ok: true }),
        (thrown: unknown) => ({ name: 'redis', ok: false, detail: toDocketError(thrown).message }),
      ),
      definitionsCheck(jobs.current()),
      ...identityCheck(identity),
      ...checks.flatMap((check) => check()),
    ],
    metricsSnapshot: () =>
      readMetricsSnapshot({ ...store, jobs: jobs.current(), budgets, secrets: secretSource(env, context), clock }),
    close: () => scope.close(),
  };
}

/** Compares Redis with the archive before anything is done with either. A scheduler alone may have no archive. */
async function startIdentity(
  context: AppContext,
  { adopt }: Pick<DocketSettings, 'adopt'>,
  roles: ReadonlySet<Role>,
  { redis, prefix, runs }: Store,
  scope: Scope,
): Promise<DeploymentIdentity> {
  const { clock, log } = context;
  const writes = roles.has('worker') || roles.has('admin');
  const ports = identityPorts(context, { redis, prefix, runs, writes }, scope);
  if (adopt !== undefined && writes) await adoptDeployment(ports, redisAuditLog(redis, { prefix, clock, log }), adopt);
  const identity = deploymentIdentity(ports);
  await identity.start();
  return identity;
}

/** Said only while it fails. */
const identityCheck = (identity: DeploymentIdentity): readonly HealthCheck[] => {
  const conflict = identity.conflict();
  return conflict === undefined ? [] : [{ name: 'identity', ok: false, detail: conflict.message }];
};

/** Says again and again, until the scope closes, which of the process's roles are at work: others count them. */
function startHeartbeat(
  { clock, log }: AppContext,
  {
    roles,
    checks,
    identity,
  }: {
    readonly roles: ReadonlySet<Role>;
    readonly checks: readonly (() => readonly HealthCheck[])[];
    readonly identity: DeploymentIdentity;
  },
  { redis, prefix }: Store,
  scope: Scope,
): void {
  const self = `${hostname()}:${process.pid}:${randomUUID().slice(0, 8)}`;
  const presence = redisProcessRegistry(redis, { prefix, self });
  // That Redis is away is said by whoever has work there; a process that is not heard of is what is meant then.
  const whileAway = (thrown: unknown) => {
    if (!isRedisOutage(toDocketError(thrown))) throw thrown;
  };
  const tell = async () => {
    const found = checks.flatMap((check) => check());
    const atWork = [...roles].filter((role) => found.find(({ name }) => name === role)?.ok ?? true);
    await presence.heartbeat(atWork).catch(whileAway);
  };
  const telling = startPeriodicTasks({
    steps: [tell, confirmIdentity(identity)],
    clock,
    log,
    everyMs: PROCESS_HEARTBEAT_INTERVAL_MS,
  });
  scope.use(telling, async (opened) => {
    await opened.close();
    await presence.leave().catch(whileAway);
  });
}

const definitionsCheck = ({ reports, diagnostics, usingLastKnownGood }: Definitions): HealthCheck => ({
  name: 'definitions',
  ok: reports.size > 0,
  detail: `${reports.size} loaded, ${diagnostics.length} faults${usingLastKnownGood.size === 0 ? '' : `, ${usingLastKnownGood.size} on the last good version`}`,
});
