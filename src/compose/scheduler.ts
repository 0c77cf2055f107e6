import { hostname } from 'node:os';
import type { AppContext } from '../base/context.ts';
import { startPeriodicTasks } from '../base/periodic.ts';
import type { Scope } from '../base/scope.ts';
import { secretSource } from '../base/secrets/secret.ts';
import type { DefinitionSource } from '../definitions/load/definition-source.ts';
import { createActiveReports } from '../queue/definitions/active-reports.ts';
import { redisActiveVersions } from '../queue/definitions/active-versions.ts';
import { assertNoMassRemoval, type RemovalSummary } from '../queue/definitions/mass-removal.ts';
import { activePauses } from '../queue/jobs/pause-enforcement.ts';
import { createOrphanRequeuer } from '../queue/jobs/requeue-orphans.ts';
import { createLockShortener } from '../queue/jobs/shorten-locks.ts';
import { redisProcessRegistry } from '../queue/process-registry.ts';
import { createIndexRepair } from '../queue/runs/run-index-repair.ts';
import { createDueSlotCache } from '../queue/schedules/due-slots.ts';
import { jobSchedulers, startTickWorker } from '../queue/schedules/job-schedulers.ts';
import { openDueSlots, type SlotEvent } from '../queue/schedules/open-due-slots.ts';
import { redisScheduleCursors } from '../queue/schedules/schedule-cursors.ts';
import { redisSchedulerHeartbeats } from '../queue/schedules/scheduler-heartbeat.ts';
import { RETENTION_DAYS } from '../redis/keys.ts';
import { currentKeyFingerprint } from '../services/budgets/key-limits.ts';
import type { Adopter } from '../services/deployment/deployment-identity.ts';
import type { HealthCheck } from '../services/deployment/storage-health.ts';
import type { Store } from './store.ts';

/** A scheduler that has not looked at the due slots for so long is of no use, ms. It looks every minute. */
const MAX_SCAN_AGE_MS = 3 * 60_000;

export interface SchedulerSettings {
  readonly jobs: DefinitionSource;
  readonly observeSlots?: (news: SlotEvent) => void;
  /** Told how many of BullMQ's schedulers had stopped ticking and were registered again. */
  readonly observeRepairs?: (repaired: number) => void;
  /** The files of this process may take most reports out of force. */
  readonly adopt?: Adopter;
}

/**
 * The role `scheduler`, until the scope closes: opens slots as they come due and puts runs in line again whose job was
 * lost. It needs neither the API nor a mail server. Any number may run: a slot opens once.
 * Returns whether it looks at the due slots, for `/readyz`. Throws `deployment.mass_removal`.
 */
export async function openScheduler(
  context: AppContext,
  { jobs, observeSlots, observeRepairs, adopt: adopts }: SchedulerSettings,
  store: Store,
  scope: Scope,
): Promise<() => HealthCheck> {
  const { clock, log, env } = context;
  const { redis, prefix, runs, queue, pauses, definitions } = store;
  const patient = await store.blockingClient();
  const keyOf = currentKeyFingerprint(jobs, secretSource(env, context));
  for (const { org, report, who, why, since } of (await activePauses({ pauses, keyOf, log })).values()) {
    const of = report === null ? { org } : { org, report };
    const from = `since ${new Date(since).toISOString()}: ${why}`;
    log.warn(`The ${report === null ? 'organization' : 'report'} is paused: its scheduled runs wait`, {
      ...of,
      who,
      why: from,
    });
  }
  const duePorts = {
    cursors: redisScheduleCursors(redis, { prefix }),
    trigger: store.trigger,
    runs,
    ...(observeSlots === undefined ? {} : { observe: observeSlots }),
    paused: () => activePauses({ pauses, keyOf, log }),
    clock,
    log,
  };
  const heartbeats = redisSchedulerHeartbeats(redis, { prefix });
  const processes = redisProcessRegistry(redis, { prefix, self: 'start' });
  const inForce = createActiveReports({
    ...(adopts === undefined
      ? {
          assertRemovalAllowed: (removal: RemovalSummary) =>
            assertNoMassRemoval(removal, { processes, heartbeats, clock }),
        }
      : {}),
    jobs: jobs.current,
    versions: redisActiveVersions(redis, { prefix }),
    definitions,
    by: `${hostname()}:${process.pid}`,
    clock,
    log,
  });
  const registered = scope.use(
    jobSchedulers(redis, { prefix, clock, log, ...(observeRepairs === undefined ? {} : { observe: observeRepairs }) }),
    (opened) => opened.close(),
  );
  // A change that cannot be adopted, because Redis is away, is adopted when it is back. One that comes while this process
  // starts is adopted by the first round.
  let changed = false;
  let wake = () => {};
  scope.use(
    jobs.onChange(() => {
      changed = true;
      wake();
    }),
    (stop) => stop(),
  );
  await inForce.activate();
  const memory = createDueSlotCache();
  let lookedAt: number | undefined;
  const look = async () => {
    await inForce.refresh();
    const { stuck = null } = await openDueSlots(inForce.current(), duePorts, memory);
    lookedAt = clock.now();
    await heartbeats.record({ at: lookedAt, stuck });
  };
  const ticks = scope.use(startTickWorker(patient, { prefix, log, onTick: look }), (opened) => opened.close());
  const adopt = async () => {
    if (!changed) return;
    changed = false;
    try {
      await inForce.activate();
    } catch (error) {
      changed = true;
      throw error;
    }
  };
  const reconciler = scope.use(
    startPeriodicTasks({
      steps: [
        adopt,
        look,
        createLockShortener(redis, { prefix, log }),
        createIndexRepair(redis, { prefix, keepDays: RETENTION_DAYS, log }),
        createOrphanRequeuer({ runs, queue, clock, log }),
        () => registered.sync(inForce.current()),
        () => inForce.touch(),
      ],
      clock,
      log,
    }),
    (opened) => opened.close(),
  );
  wake = reconciler.wake;
  await ticks.ready();
  return () => ({
    name: 'scheduler',
    ok: lookedAt !== undefined && clock.now() - lookedAt < MAX_SCAN_AGE_MS,
    detail:
      lookedAt === undefined
        ? 'the due slots were not looked at yet'
        : `the due slots were looked at ${new Date(lookedAt).toISOString()}`,
  });
}
