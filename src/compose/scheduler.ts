import type { Check } from '../admin/app.ts';
import type { Scope } from '../base/scope.ts';
import { secretSource } from '../base/secret.ts';
import type { Jobs } from '../define/load.ts';
import { redisCursors } from '../queue/cursors.ts';
import type { FrozenDefinition } from '../queue/definition-store.ts';
import { nameOf, openDue } from '../queue/due.ts';
import { pausedNow } from '../queue/pausing.ts';
import { requeueLost, startReconciler } from '../queue/reconciler.ts';
import { schedules, startTicks } from '../queue/schedules.ts';
import { currentKeys } from './current-keys.ts';
import type { Surroundings } from './ports.ts';
import type { Store } from './store.ts';

/** A scheduler that has not looked at the due slots for so long is of no use, ms. It looks every minute. */
const LATE_MS = 3 * 60_000;

/**
 * The role `scheduler`, until the scope closes: opens slots as they come due and puts runs in line again whose job was
 * lost. It needs neither the API nor a mail server. Any number may run: a slot opens once.
 * Returns whether it looks at the due slots, for `/readyz`.
 */
export async function openScheduler(
  { clock, log, env }: Surroundings,
  { jobs }: { readonly jobs: Jobs },
  store: Store,
  scope: Scope,
): Promise<() => Check> {
  const { redis, prefix, runs, queue, pauses } = store;
  const patient = await store.patient();
  const keyOf = currentKeys(jobs, secretSource(env));
  const reports = frozenReports(jobs);
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
    paused: () => pausedNow({ pauses, keyOf, log }),
    clock,
    log,
  };
  const registered = scope.use(schedules(redis, { prefix, clock, log }), (opened) => opened.close());
  await registered.sync(reports);
  const ticks = scope.use(
    startTicks(patient, {
      prefix,
      log,
      onTick: async (name) => {
        await openDue(
          reports.filter((report) => nameOf(report) === name),
          duePorts,
        );
      },
    }),
    (opened) => opened.close(),
  );
  let lookedAt: number | undefined;
  scope.use(
    startReconciler({
      steps: [
        async () => {
          await openDue(reports, duePorts);
          lookedAt = clock.now();
        },
        () => requeueLost({ runs, queue, clock, log }),
        () => registered.sync(reports),
      ],
      clock,
      log,
    }),
    (opened) => opened.close(),
  );
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

const frozenReports = ({ reports, orgs }: Jobs): FrozenDefinition[] =>
  [...reports.values()].flatMap((definition) => {
    const settings = orgs.get(definition.org);
    return settings === undefined ? [] : [{ definition, settings }];
  });
