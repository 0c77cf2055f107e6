import { MINUTE_MS } from '../../../base/time.ts';
import type { Definitions } from '../../../definitions/load/load-definitions.ts';
import { redisProcessRegistry } from '../../../queue/process-registry.ts';
import { type Pause, redisPauses } from '../../../queue/schedules/pauses.ts';
import { reportSchedules } from '../../../queue/schedules/report-schedules.ts';
import { redisScheduleCursors } from '../../../queue/schedules/schedule-cursors.ts';
import { redisSchedulerHeartbeats } from '../../../queue/schedules/scheduler-heartbeat.ts';
import type { RedisClient } from '../../../redis/client.ts';
import { DEFAULT_KEY_PREFIX } from '../../../redis/keys.ts';
import { type CheckResult, type Finding, formatSome, ok, runCheck, warn } from '../finding.ts';

/** Schedulers check every minute: a slot that is not open after this time, ms, is late. */
const LATE_AFTER_MS = 5 * MINUTE_MS;

/** @param scheduled number of reports with a schedule @param late those with an overdue slot */
export function evaluateSlots(scheduled: number, late: readonly string[]): CheckResult {
  if (late.length === 0)
    return ok(scheduled === 0 ? 'no report has a schedule' : `none late, of ${scheduled} with a schedule`);
  return warn(
    `late: ${formatSome(late)}`,
    'No scheduler is running: run `docket start`, or `docket start --role scheduler`.',
  );
}

export function evaluatePauses(pauses: readonly Pick<Pause, 'org' | 'report' | 'who' | 'why'>[]): CheckResult {
  if (pauses.length === 0) return ok('nothing is paused');
  const [first] = pauses.map(
    ({ org, report, who, why }) => `${org}${report === null ? '' : `/${report}`} by ${who}: ${why}`,
  );
  const more = pauses.length === 1 ? '' : `; and ${pauses.length - 1} more`;
  return warn(`${first}${more}`, '`docket pause` lists them, `docket resume` ends one.');
}

/** @param expected whether a worker is needed */
export function evaluateWorkers(count: number, expected: boolean): CheckResult {
  if (count > 0) return ok(`${count} running`);
  return expected
    ? warn('none running', 'Reports are not run without one: `docket start`, or `docket start --role worker`.')
    : ok('none running; `docket start` starts one');
}

/** Late slots, pauses and workers. Reads Redis only. */
export async function checkSchedules(jobs: Definitions, redis: RedisClient, now: number): Promise<Finding[]> {
  const prefix = { prefix: DEFAULT_KEY_PREFIX };
  const scheduled = [...jobs.reports.values()].filter(({ schedule }) => schedule.length > 0);
  return [
    await runCheck('Schedules', async () => {
      const paused = await redisPauses(redis, prefix).list();
      const pausedNames = new Set(paused.map(({ org, report }) => (report === null ? org : `${org}/${report}`)));
      const timings = scheduled.flatMap((definition) => {
        const settings = jobs.orgs.get(definition.org);
        const name = `${definition.org}/${definition.report}`;
        if (settings === undefined || pausedNames.has(name) || pausedNames.has(definition.org)) return [];
        return reportSchedules({ definition, settings }).map((timing) => ({ name, ...timing }));
      });
      const cursors = await redisScheduleCursors(redis, prefix).read(timings.map(({ cursor }) => cursor));
      const late = timings.flatMap(({ name, between }, index) => {
        const since = cursors[index];
        // No scheduler has seen the report yet: nothing is due.
        return since !== undefined && between(since, now - LATE_AFTER_MS).length > 0 ? [name] : [];
      });
      return evaluateSlots(scheduled.length, [...new Set(late)]);
    }),
    await runCheck('Pauses', async () => evaluatePauses(await redisPauses(redis, prefix).list())),
    await runCheck('Workers', async () => {
      const count = (await redisProcessRegistry(redis, { ...prefix, self: 'doctor' }).countByRole()).get('worker') ?? 0;
      // Before the first `docket start` no worker is expected.
      return evaluateWorkers(
        count,
        scheduled.length > 0 && (await redisSchedulerHeartbeats(redis, prefix).last()) !== null,
      );
    }),
  ];
}
