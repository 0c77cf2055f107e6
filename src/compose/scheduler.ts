import { hostname } from 'node:os';
import type { Check } from '../admin/app.ts';
import type { Scope } from '../base/scope.ts';
import { secretSource } from '../base/secret.ts';
import type { JobsInForce } from '../define/in-force.ts';
import { redisCursors } from '../queue/cursors.ts';
import { dueMemory, openDue, type SlotNews } from '../queue/due.ts';
import { reportsInForce } from '../queue/in-force.ts';
import { indexRepair } from '../queue/index-repair.ts';
import { redisLooks } from '../queue/looks.ts';
import { assertNoMassRemoval, type Removal } from '../queue/mass-removal.ts';
import { pausedNow } from '../queue/pausing.ts';
import { redisPresence } from '../queue/presence.ts';
import { requeuer, startReconciler } from '../queue/reconciler.ts';
import { schedules, startTicks } from '../queue/schedules.ts';
import { lockShortener } from '../queue/shorten-locks.ts';
import { redisVersions } from '../queue/versions.ts';
import { currentKeys } from './current-keys.ts';
import type { Adopter } from './deployment-identity.ts';
import { KEEP_DAYS } from './keep-days.ts';
import type { Surroundings } from './ports.ts';
import type { Store } from './store.ts';

/** A scheduler that has not looked at the due slots for so long is of no use, ms. It looks every minute. */
const LATE_MS = 3 * 60_000;

export interface SchedulerSettings {
  readonly jobs: JobsInForce;
  readonly observeSlots?: (news: SlotNews) => void;
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
  around: Surroundings,
  { jobs, observeSlots, observeRepairs, adopt: adopts }: SchedulerSettings,
  store: Store,
  scope: Scope,
): Promise<() => Check> {
  const { clock, log, env } = around;
  const { redis, prefix, runs, queue, pauses, definitions } = store;
  const patient = await store.patient();
  const keyOf = currentKeys(jobs, secretSource(env, around));
  for (const { org, report, who, why, since } of (await pausedNow({ pauses, keyOf, log })).values()) {
    const of = report === null ? { org } : { org, report };
    const from = `since ${new Date(since).toISOString()}: ${why}`;
    log.warn(`The ${report === null ? 'organization' : 'report'} is paused: its scheduled runs wait`, {
      ...of,
      who,
      why: from,
    });
  }
  const duePorts = {
    cursors: redisCursors(redis, { prefix }),
    trigger: store.trigger,
    runs,
    ...(observeSlots === undefined ? {} : { observe: observeSlots }),
    paused: () => pausedNow({ pauses, keyOf, log }),
    clock,
    log,
  };
  const looks = redisLooks(redis, { prefix });
  const presence = redisPresence(redis, { prefix, self: 'start' });
  const inForce = reportsInForce({
    ...(adopts === undefined
      ? { admitRemoval: (removal: Removal) => assertNoMassRemoval(removal, { presence, looks, clock }) }
      : {}),
    jobs: jobs.now,
    versions: redisVersions(redis, { prefix }),
    definitions,
    by: `${hostname()}:${process.pid}`,
    clock,
    log,
  });
  const registered = scope.use(
    schedules(redis, { prefix, clock, log, ...(observeRepairs === undefined ? {} : { observe: observeRepairs }) }),
    (opened) => opened.close(),
  );
  // A change that cannot be adopted, because Redis is away, is adopted when it is back. One that comes while this process
  // starts is adopted by the first round.
  let changed = false;
  let wake = () => {};
  scope.use(
    jobs.changed(() => {
      changed = true;
      wake();
    }),
    (stop) => stop(),
  );
  await inForce.adopt();
  const memory = dueMemory();
  let lookedAt: number | undefined;
  const look = async () => {
    await inForce.follow();
    const { stuck = null } = await openDue(inForce.now(), duePorts, memory);
    lookedAt = clock.now();
    await looks.tell({ at: lookedAt, stuck });
  };
  const ticks = scope.use(startTicks(patient, { prefix, log, onTick: look }), (opened) => opened.close());
  const adopt = async () => {
    if (!changed) return;
    changed = false;
    try {
      await inForce.adopt();
    } catch (error) {
      changed = true;
      throw error;
    }
  };
  const reconciler = scope.use(
    startReconciler({
      steps: [
        adopt,
        look,
        lockShortener(redis, { prefix, log }),
        indexRepair(redis, { prefix, keepDays: KEEP_DAYS, log }),
        requeuer({ runs, queue, clock, log }),
        () => registered.sync(inForce.now()),
        () => inForce.keep(),
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
    ok: lookedAt !== undefined && clock.now() - lookedAt < LATE_MS,
    detail:
      lookedAt === undefined
        ? 'the due slots were not looked at yet'
        : `the due slots were looked at ${new Date(lookedAt).toISOString()}`,
  });
}
