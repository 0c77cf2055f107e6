import { hostname } from 'node:os';
import type { AppContext } from '../base/context.ts';
import { startPeriodicTasks } from '../base/periodic.ts';
import type { Scope } from '../base/scope.ts';
import { secretSource } from '../base/secrets/secret.ts';
import type { DefinitionSource } from '../definitions/load/definition-source.ts';
import { TARGETS } from '../deliver/targets/registry.ts';
import { createActiveReports } from '../queue/definitions/active-reports.ts';
import { redisActiveVersions } from '../queue/definitions/active-versions.ts';
import { assertNoMassRemoval, type RemovalSummary } from '../queue/definitions/mass-removal.ts';
import { activePauses } from '../queue/jobs/pause-enforcement.ts';
import { createOrphanRequeuer } from '../queue/jobs/requeue-orphans.ts';
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
import type { Store } from './store.ts';

export interface SchedulerSettings {
  readonly jobs: DefinitionSource;
  readonly observeSlots?: (event: SlotEvent) => void;
  /** Called with the number of re-registered BullMQ job schedulers. */
  readonly observeRepairs?: (repaired: number) => void;
  /** Allows the files of this process to remove most reports. */
  readonly adopt?: Adopter;
}

/**
 * Runs the role `scheduler` until the scope closes: opens due slots and requeues orphaned runs. It needs neither the
 * API nor a mail server. Any number may run: each slot opens only once.
 *
 * @returns a function for the time of the last scan for due slots, epoch ms; undefined before the first scan. Throws
 * `deployment.mass_removal`.
 */
export async function openScheduler(
  context: AppContext,
  { jobs, observeSlots, observeRepairs, adopt: adopts }: SchedulerSettings,
  store: Store,
  scope: Scope,
): Promise<() => number | undefined> {
  const { clock, log, env } = context;
  const { redis, prefix, runs, queue, pauses, definitions } = store;
  const blockingClient = await store.blockingClient();
  const keyOf = currentKeyFingerprint(jobs, secretSource(env, context));
  for (const { org, report, who, why, since } of (await activePauses({ pauses, keyOf, log })).values()) {
    log.warn(`The ${report === null ? 'organization' : 'report'} is paused: its scheduled runs wait`, {
      org,
      ...(report === null ? {} : { report }),
      who,
      why: `since ${new Date(since).toISOString()}: ${why}`,
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
  const activeReports = createActiveReports({
    targets: TARGETS,
    ...(adopts === undefined
      ? {
          assertRemovalAllowed: (removal: RemovalSummary) => assertNoMassRemoval(removal, processes, heartbeats, clock),
        }
      : {}),
    jobs: jobs.current,
    versions: redisActiveVersions(redis, { prefix }),
    definitions,
    by: `${hostname()}:${process.pid}`,
    clock,
    log,
  });
  const registered = scope.add(
    jobSchedulers(redis, { prefix, clock, log, ...(observeRepairs === undefined ? {} : { observe: observeRepairs }) }),
  );
  // A change during a Redis outage is activated afterwards. A change during the start is activated by the first round.
  let changed = false;
  let wake = () => {};
  scope.use(
    jobs.onChange(() => {
      changed = true;
      wake();
    }),
    (stop) => stop(),
  );
  await activeReports.activate();
  const cache = createDueSlotCache();
  let scannedAt: number | undefined;
  const scan = async () => {
    await activeReports.refresh();
    const { stuck = null } = await openDueSlots(activeReports.current(), duePorts, cache);
    scannedAt = clock.now();
    await heartbeats.record({ at: scannedAt, stuck });
  };
  const ticks = scope.add(startTickWorker(blockingClient, { prefix, log, onTick: scan }));
  const activateChanges = async () => {
    if (!changed) return;
    changed = false;
    try {
      await activeReports.activate();
    } catch (error) {
      changed = true;
      throw error;
    }
  };
  const reconciler = scope.add(
    startPeriodicTasks({
      steps: [
        activateChanges,
        scan,
        createIndexRepair(redis, { prefix, keepDays: RETENTION_DAYS, log }),
        createOrphanRequeuer({ runs, queue, clock, log }),
        () => registered.sync(activeReports.current()),
        () => activeReports.touch(),
      ],
      clock,
      log,
    }),
  );
  wake = reconciler.wake;
  await ticks.ready();
  return () => scannedAt;
}
