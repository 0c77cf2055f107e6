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

/** Roles of a process. Any number of processes may have each role. */
export const ROLES = ['worker', 'scheduler', 'admin'] as const;
export type Role = (typeof ROLES)[number];

export interface DocketSettings extends WorkerSettings, SchedulerSettings, StoreSettings {
  /** All when absent. */
  readonly roles?: ReadonlySet<Role>;
  /** Joins Redis, archive and definitions of different deployments. */
  readonly adopt?: Adopter;
}

export interface RunningDocket {
  readonly store: Store;
  readonly identity: DeploymentIdentity;
  /** The checks of `/readyz`: Redis, definitions, roles and storage. Never rejects. */
  readonly health: () => Promise<readonly HealthCheck[]>;
  /** Throws `redis.unreachable`. */
  readonly metricsSnapshot: () => Promise<MetricsSnapshot>;
  /** Lets running runs finish for a while, requeues the rest, closes everything. */
  close(): Promise<void>;
}

/**
 * Opens the roles of a process. The role `admin` needs only the store; `composeAdmin` opens its server. A failed start
 * closes everything.
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

/** Compares Redis with the archive before either is used. A scheduler may have no archive. */
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

/** Present only while it fails. */
const identityCheck = (identity: DeploymentIdentity): readonly HealthCheck[] => {
  const conflict = identity.conflict();
  return conflict === undefined ? [] : [{ name: 'identity', ok: false, detail: conflict.message }];
};

/** Registers the healthy roles of the process periodically, until the scope closes. */
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
  const registry = redisProcessRegistry(redis, { prefix, self });
  // An outage is reported elsewhere, and a missing heartbeat is the correct result of it.
  const ignoreOutage = (thrown: unknown) => {
    if (!isRedisOutage(toDocketError(thrown))) throw thrown;
  };
  const sendHeartbeat = async () => {
    const results = checks.flatMap((check) => check());
    const healthyRoles = [...roles].filter((role) => results.find(({ name }) => name === role)?.ok ?? true);
    await registry.heartbeat(healthyRoles).catch(ignoreOutage);
  };
  const heartbeats = startPeriodicTasks({
    steps: [sendHeartbeat, confirmIdentity(identity)],
    clock,
    log,
    everyMs: PROCESS_HEARTBEAT_INTERVAL_MS,
  });
  scope.use(heartbeats, async (opened) => {
    await opened.close();
    await registry.leave().catch(ignoreOutage);
  });
}

const definitionsCheck = ({ reports, diagnostics, usingLastKnownGood }: Definitions): HealthCheck => ({
  name: 'definitions',
  ok: reports.size > 0,
  detail: `${reports.size} loaded, ${diagnostics.length} faults${usingLastKnownGood.size === 0 ? '' : `, ${usingLastKnownGood.size} on the last good version`}`,
});
