import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Check } from '../admin/app.ts';
import { redisAudit } from '../admin/auth/audit.ts';
import type { Readings } from '../admin/metrics.ts';
import { isRedisOutage, toDocketError } from '../base/error.ts';
import { createScope, type Scope } from '../base/scope.ts';
import { secretSource } from '../base/secret.ts';
import type { Jobs } from '../define/load.ts';
import { PRESENT_EVERY_MS, redisPresence } from '../queue/presence.ts';
import { startReconciler } from '../queue/reconciler.ts';
import { identityPorts } from './archive.ts';
import { sharedBudgets } from './budgets.ts';
import {
  type Adopter,
  adoptDeployment,
  confirmIdentity,
  type DeploymentIdentity,
  deploymentIdentity,
} from './deployment-identity.ts';
import type { Surroundings } from './ports.ts';
import { readNow } from './readings.ts';
import { openScheduler, type SchedulerSettings } from './scheduler.ts';
import { watchStorage } from './storage-health.ts';
import { redisProbe } from './storage-probes.ts';
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
  readonly health: () => Promise<readonly Check[]>;
  /** What the metrics tell of all processes; throws `redis.unreachable`. */
  readonly readings: () => Promise<Readings>;
  /** Lets runs in hand end for a while, hands over the rest, closes everything. */
  close(): Promise<void>;
}

/**
 * Opens what the process's roles need against one Redis; the role `admin` needs the store alone, and `composeAdmin` its
 * route. On a failed start everything that was opened is closed.
 * Throws `redis.unreachable`, `redis.unsuitable`, `config.invalid`, `deployment.conflict`, `deployment.mass_removal`.
 */
export async function composeDocket(around: Surroundings, settings: DocketSettings): Promise<RunningDocket> {
  const scope = createScope();
  try {
    return await open(around, settings, scope);
  } catch (error) {
    await scope.close();
    throw error;
  }
}

async function open(around: Surroundings, settings: DocketSettings, scope: Scope): Promise<RunningDocket> {
  const { jobs, roles = new Set(ROLES) } = settings;
  const store = await openStore(around, settings, scope);
  const identity = await startIdentity(around, settings, roles, store, scope);
  const checks: (() => readonly Check[])[] = [];
  const probes = [redisProbe(store.redis, store.prefix)];
  const redisWrites = await watchStorage(probes, around, scope, settings.observeStorage);
  if (roles.has('worker')) checks.push(await openWorker(around, settings, store, identity, scope));
  if (roles.has('scheduler')) {
    const scheduler = await openScheduler(around, settings, store, scope);
    checks.push(() => [scheduler()]);
  }
  checks.push(redisWrites.checks);
  sayPresent(around, { roles, checks, identity }, store, scope);
  const { clock, env } = around;
  const budgets = sharedBudgets(store.redis, store.prefix, clock);
  return {
    store,
    identity,
    health: async () => [
      await store.ping().then(
        () => ({ name: 'redis', ok: true }),
        (thrown: unknown) => ({ name: 'redis', ok: false, detail: toDocketError(thrown).message }),
      ),
      definitionsCheck(jobs.now()),
      ...identityCheck(identity),
      ...checks.flatMap((check) => check()),
    ],
    readings: () => readNow({ ...store, jobs: jobs.now(), budgets, secrets: secretSource(env, around), clock }),
    close: () => scope.close(),
  };
}

/** Compares Redis with the archive before anything is done with either. A scheduler alone may have no archive. */
async function startIdentity(
  around: Surroundings,
  { adopt }: Pick<DocketSettings, 'adopt'>,
  roles: ReadonlySet<Role>,
  { redis, prefix, runs }: Store,
  scope: Scope,
): Promise<DeploymentIdentity> {
  const { clock, log } = around;
  const writes = roles.has('worker') || roles.has('admin');
  const ports = identityPorts(around, { redis, prefix, runs, writes }, scope);
  if (adopt !== undefined && writes) await adoptDeployment(ports, redisAudit(redis, { prefix, clock, log }), adopt);
  const identity = deploymentIdentity(ports);
  await identity.start();
  return identity;
}

/** Said only while it fails. */
const identityCheck = (identity: DeploymentIdentity): readonly Check[] => {
  const conflict = identity.conflict();
  return conflict === undefined ? [] : [{ name: 'identity', ok: false, detail: conflict.message }];
};

/** Says again and again, until the scope closes, which of the process's roles are at work: others count them. */
function sayPresent(
  { clock, log }: Surroundings,
  {
    roles,
    checks,
    identity,
  }: {
    readonly roles: ReadonlySet<Role>;
    readonly checks: readonly (() => readonly Check[])[];
    readonly identity: DeploymentIdentity;
  },
  { redis, prefix }: Store,
  scope: Scope,
): void {
  const self = `${hostname()}:${process.pid}:${randomUUID().slice(0, 8)}`;
  const presence = redisPresence(redis, { prefix, self });
  // That Redis is away is said by whoever has work there; a process that is not heard of is what is meant then.
  const whileAway = (thrown: unknown) => {
    if (!isRedisOutage(toDocketError(thrown))) throw thrown;
  };
  const tell = async () => {
    const found = checks.flatMap((check) => check());
    const atWork = [...roles].filter((role) => found.find(({ name }) => name === role)?.ok ?? true);
    await presence.tell(atWork).catch(whileAway);
  };
  const telling = startReconciler({ steps: [tell, confirmIdentity(identity)], clock, log, everyMs: PRESENT_EVERY_MS });
  scope.use(telling, async (opened) => {
    await opened.close();
    await presence.leave().catch(whileAway);
  });
}

const definitionsCheck = ({ reports, faults, kept }: Jobs): Check => ({
  name: 'definitions',
  ok: reports.size > 0,
  detail: `${reports.size} loaded, ${faults.length} faults${kept.size === 0 ? '' : `, ${kept.size} on the last good version`}`,
});
