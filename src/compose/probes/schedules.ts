import { DAY_MS, MINUTE_MS, SECOND_MS } from '../../base/time.ts';
import { redisProcessRegistry } from '../../queue/process-registry.ts';
import { type Pause, redisPauses } from '../../queue/schedules/pauses.ts';
import { reportSchedules } from '../../queue/schedules/report-schedules.ts';
import { redisScheduleCursors } from '../../queue/schedules/schedule-cursors.ts';
import { redisSchedulerHeartbeats, type SchedulerHeartbeat } from '../../queue/schedules/scheduler-heartbeat.ts';
import { type CheckResult, formatSome, ok, warn } from '../../services/deployment/probe.ts';
import type { Probed } from './probe-context.ts';

/** Schedulers check every minute, so a slot that is not open after this many ms is late. */
const LATE_AFTER_MS = 5 * MINUTE_MS;

/** @param scheduled number of reports with a schedule @param late names of those with an overdue slot */
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

/** Schedulers scan every minute, so after this many ms without a scan, none is running. */
export const MAX_SCAN_AGE_MS = 3 * MINUTE_MS;
/** A slot that cannot be opened is retried every minute. */
const MAX_STUCK_MS = 5 * MINUTE_MS;

/** Evaluates the last scan for due slots; null before the first one. Undefined if a scheduler runs well. */
export function evaluateHeartbeat(heartbeat: SchedulerHeartbeat | null, now: number): CheckResult | undefined {
  if (heartbeat === null || now - heartbeat.at > MAX_SCAN_AGE_MS) {
    const since = heartbeat === null ? 'yet' : `for ${formatMs(now - heartbeat.at)}`;
    return {
      ...warn(
        `no scheduler has run ${since}: no report starts by its schedule`,
        'Start one: `docket start --role scheduler`. It catches up missed slots as `catch_up` of each report says.',
      ),
      problem: 'scheduler.none',
    };
  }
  if (heartbeat.stuck === null || now - heartbeat.stuck <= MAX_STUCK_MS) return undefined;
  return {
    ...warn(
      `a slot has been due for ${formatMs(now - heartbeat.stuck)} and cannot be opened`,
      'Read the log of the scheduler ("Due slots could not be opened"), and check the definitions with `docket check`.',
    ),
    problem: 'slot.stuck',
  };
}

export const checkScheduler = async ({ redis, prefix, clock }: Probed): Promise<CheckResult | undefined> =>
  evaluateHeartbeat(await redisSchedulerHeartbeats(redis, { prefix }).last(), clock.now());

/** Checks for late slots, by report, and the scheduler. Reads a cursor per schedule. */
export async function checkSchedules(at: Probed): Promise<CheckResult> {
  const { jobs, redis, prefix, clock } = at;
  const scheduled = [...jobs.reports.values()].filter(({ schedule }) => schedule.length > 0);
  const paused = await redisPauses(redis, { prefix }).list();
  const pausedNames = new Set(paused.map(({ org, report }) => (report === null ? org : `${org}/${report}`)));
  const timings = scheduled.flatMap((definition) => {
    const settings = jobs.orgs.get(definition.org);
    const name = `${definition.org}/${definition.report}`;
    if (settings === undefined || pausedNames.has(name) || pausedNames.has(definition.org)) return [];
    return reportSchedules({ definition, settings }).map((timing) => ({ name, ...timing }));
  });
  const cursors = await redisScheduleCursors(redis, { prefix }).read(timings.map(({ cursor }) => cursor));
  const late = timings.flatMap(({ name, between }, index) => {
    const since = cursors[index];
    // No scheduler has seen the report yet, so nothing is due.
    return since !== undefined && between(since, clock.now() - LATE_AFTER_MS).length > 0 ? [name] : [];
  });
  return evaluateSlots(scheduled.length, [...new Set(late)]);
}

export const checkPauses = async ({ redis, prefix }: Pick<Probed, 'redis' | 'prefix'>): Promise<CheckResult> =>
  evaluatePauses(await redisPauses(redis, { prefix }).list());

/** @param expected whether a worker is needed */
export function evaluateWorkers(count: number, expected: boolean): CheckResult {
  if (count > 0) return ok(`${count} running`);
  if (!expected) return ok('none running; `docket start` starts one');
  const remedy = 'Start one: `docket start`, or `docket start --role worker`. `docket doctor` checks what it needs.';
  return { ...warn('no worker is running: runs are queued, and none starts', remedy), problem: 'worker.none' };
}

export async function checkWorkers({ jobs, redis, prefix, started }: Probed): Promise<CheckResult> {
  const roles = await redisProcessRegistry(redis, { prefix, self: 'reader' }).countByRole();
  // No worker is expected before the first `docket start`.
  const hasStarted = async () =>
    [...jobs.reports.values()].some(({ schedule }) => schedule.length > 0) &&
    (await redisSchedulerHeartbeats(redis, { prefix }).last()) !== null;
  return evaluateWorkers(roles.get('worker') ?? 0, started || (await hasStarted()));
}

/** E.g. `45 s`, `12 min`, `3 h`, `2 d`. */
function formatMs(ms: number): string {
  if (ms < 2 * MINUTE_MS) return `${Math.round(ms / SECOND_MS)} s`;
  if (ms < 120 * MINUTE_MS) return `${Math.round(ms / MINUTE_MS)} min`;
  return ms < 2 * DAY_MS ? `${Math.round(ms / (60 * MINUTE_MS))} h` : `${Math.round(ms / DAY_MS)} d`;
}
