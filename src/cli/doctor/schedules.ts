import type { Definitions } from '../../definitions/load/load-definitions.ts';
import { redisProcessRegistry } from '../../queue/process-registry.ts';
import { type Pause, redisPauses } from '../../queue/schedules/pauses.ts';
import { reportSchedules } from '../../queue/schedules/report-schedules.ts';
import { redisScheduleCursors } from '../../queue/schedules/schedule-cursors.ts';
import { redisSchedulerHeartbeats } from '../../queue/schedules/scheduler-heartbeat.ts';
import type { RedisClient } from '../../redis/client.ts';
import { DEFAULT_KEY_PREFIX } from '../../redis/keys.ts';
import { type CheckResult, type Finding, ok, runCheck, warn } from './finding.ts';

/** A scheduler looks every minute; what it has not opened after this long, ms, nobody is about to. */
const LATE_AFTER_MS = 5 * 60_000;

const formatSome = (names: readonly string[]): string =>
  names.length <= 5 ? names.join(', ') : `${names.slice(0, 5).join(', ')} and ${names.length - 5} more`;

/** @param scheduled reports that have a schedule @param late those of them whose slot came and was not opened */
export function evaluateSlots(scheduled: number, late: readonly string[]): CheckResult {
  if (late.length === 0)
    return ok(scheduled === 0 ? 'no report has a schedule' : `none late, of ${scheduled} with a schedule`);
  return warn(
    `late: ${formatSome(late)}`,
    'No scheduler is at work: run `docket start`, or `docket start --role scheduler`.',
  );
}

export function evaluatePauses(pauses: readonly Pick<Pause, 'org' | 'report' | 'who' | 'why'>[]): CheckResult {
  if (pauses.length === 0) return ok('nothing is paused');
  const [first] = pauses.map(
    ({ org, report, who, why }) => `${org}${report === null ? '' : `/${report}`} by ${who}: ${why}`,
  );
  const more = pauses.length === 1 ? '' : `; and ${pauses.length - 1} more`;
  return warn(`${first}${more}`, '`docket pause` lists them, `docket resume` lifts one.');
}

/** @param expected somebody has been at work before */
export function evaluateWorkers(count: number, expected: boolean): CheckResult {
  if (count > 0) return ok(`${count} at work`);
  return expected
    ? warn('none at work', 'Nothing runs until one is: `docket start`, or `docket start --role worker`.')
    : ok('none at work; `docket start` is one');
}

/** What the schedules wait for. It asks Redis alone, and changes nothing. */
export async function checkSchedules(jobs: Definitions, redis: RedisClient, now: number): Promise<Finding[]> {
  const prefix = { prefix: DEFAULT_KEY_PREFIX };
  const scheduled = [...jobs.reports.values()].filter(({ schedule }) => schedule.length > 0);
  return [
    await runCheck('Schedules', async () => {
      const paused = await redisPauses(redis, prefix).list();
      const waits = new Set(paused.map(({ org, report }) => (report === null ? org : `${org}/${report}`)));
      const timings = scheduled.flatMap((definition) => {
        const settings = jobs.orgs.get(definition.org);
        const name = `${definition.org}/${definition.report}`;
        if (settings === undefined || waits.has(name) || waits.has(definition.org)) return [];
        return reportSchedules({ definition, settings }).map((timing) => ({ name, ...timing }));
      });
      const stands = await redisScheduleCursors(redis, prefix).read(timings.map(({ cursor }) => cursor));
      const late = timings.flatMap(({ name, between }, index) => {
        const since = stands[index];
        // Never seen by a scheduler: nothing is due of it yet.
        return since !== undefined && between(since, now - LATE_AFTER_MS).length > 0 ? [name] : [];
      });
      return evaluateSlots(scheduled.length, [...new Set(late)]);
    }),
    await runCheck('Pauses', async () => evaluatePauses(await redisPauses(redis, prefix).list())),
    await runCheck('Workers', async () => {
      const count = (await redisProcessRegistry(redis, { ...prefix, self: 'doctor' }).countByRole()).get('worker') ?? 0;
      // Before the first `docket start` nobody expects a worker.
      return evaluateWorkers(
        count,
        scheduled.length > 0 && (await redisSchedulerHeartbeats(redis, prefix).last()) !== null,
      );
    }),
  ];
}
