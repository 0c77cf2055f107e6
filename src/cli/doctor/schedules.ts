import type { RedisClient } from '../../base/redis-client.ts';
import type { Jobs } from '../../define/load.ts';
import { redisCursors } from '../../queue/cursors.ts';
import { DEFAULT_PREFIX } from '../../queue/keys.ts';
import { redisLooks } from '../../queue/looks.ts';
import { type Pause, redisPauses } from '../../queue/pauses.ts';
import { redisPresence } from '../../queue/presence.ts';
import { timingsOf } from '../../queue/timing.ts';
import { examine, type Finding, ok, type Verdict, warn } from './finding.ts';

/** A scheduler looks every minute; what it has not opened after this long, ms, nobody is about to. */
const LATE_MS = 5 * 60_000;

const some = (names: readonly string[]): string =>
  names.length <= 5 ? names.join(', ') : `${names.slice(0, 5).join(', ')} and ${names.length - 5} more`;

/** @param scheduled reports that have a schedule @param late those of them whose slot came and was not opened */
export function judgeSlots(scheduled: number, late: readonly string[]): Verdict {
  if (late.length === 0)
    return ok(scheduled === 0 ? 'no report has a schedule' : `none late, of ${scheduled} with a schedule`);
  return warn(
    `late: ${some(late)}`,
    'No scheduler is at work: run `docket start`, or `docket start --role scheduler`.',
  );
}

export function judgePauses(pauses: readonly Pick<Pause, 'org' | 'report' | 'who' | 'why'>[]): Verdict {
  if (pauses.length === 0) return ok('nothing is paused');
  const [first] = pauses.map(
    ({ org, report, who, why }) => `${org}${report === null ? '' : `/${report}`} by ${who}: ${why}`,
  );
  const more = pauses.length === 1 ? '' : `; and ${pauses.length - 1} more`;
  return warn(`${first}${more}`, '`docket pause` lists them, `docket resume` lifts one.');
}

/** @param expected somebody has been at work before */
export function judgeWorkers(count: number, expected: boolean): Verdict {
  if (count > 0) return ok(`${count} at work`);
  return expected
    ? warn('none at work', 'Nothing runs until one is: `docket start`, or `docket start --role worker`.')
    : ok('none at work; `docket start` is one');
}

/** What the schedules wait for. It asks Redis alone, and changes nothing. */
export async function examineSchedules(jobs: Jobs, redis: RedisClient, now: number): Promise<Finding[]> {
  const prefix = { prefix: DEFAULT_PREFIX };
  const scheduled = [...jobs.reports.values()].filter(({ schedule }) => schedule.length > 0);
  return [
    await examine('Schedules', async () => {
      const paused = await redisPauses(redis, prefix).list();
      const waits = new Set(paused.map(({ org, report }) => (report === null ? org : `${org}/${report}`)));
      const timings = scheduled.flatMap((definition) => {
        const settings = jobs.orgs.get(definition.org);
        const name = `${definition.org}/${definition.report}`;
        if (settings === undefined || waits.has(name) || waits.has(definition.org)) return [];
        return timingsOf({ definition, settings }).map((timing) => ({ name, ...timing }));
      });
      const stands = await redisCursors(redis, prefix).read(timings.map(({ cursor }) => cursor));
      const late = timings.flatMap(({ name, between }, index) => {
        const since = stands[index];
        // Never seen by a scheduler: nothing is due of it yet.
        return since !== undefined && between(since, now - LATE_MS).length > 0 ? [name] : [];
      });
      return judgeSlots(scheduled.length, [...new Set(late)]);
    }),
    await examine('Pauses', async () => judgePauses(await redisPauses(redis, prefix).list())),
    await examine('Workers', async () => {
      const count = (await redisPresence(redis, { ...prefix, self: 'doctor' }).count()).get('worker') ?? 0;
      // Before the first `docket start` nobody expects a worker.
      return judgeWorkers(count, scheduled.length > 0 && (await redisLooks(redis, prefix).last()) !== null);
    }),
  ];
}
