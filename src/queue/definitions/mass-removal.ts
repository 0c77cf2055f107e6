import type { Clock } from '../../base/clock.ts';
import { DocketError } from '../../base/error.ts';
import { HOUR_MS } from '../../base/time.ts';
import type { ProcessRegistry } from '../process-registry.ts';
import type { SchedulerHeartbeats } from '../schedules/scheduler-heartbeat.ts';

/** Most scheduled reports that a start may remove, unless they are a small share of all. */
const MAX_REMOVED = 3;
const MAX_REMOVED_SHARE = 0.5;
/** A deployment is in use if slots were scanned within this time, ms. */
const RECENT_ACTIVITY_MS = HOUR_MS;
/** Most hosts to name in the error. */
const MAX_HOSTS = 5;

/** What the start of a scheduler would remove. */
export interface RemovalSummary {
  /** Number of scheduled reports that it would remove. */
  readonly removed: number;
  /** Number of active scheduled reports. */
  readonly known: number;
  /** The processes that activated the reports to be removed, as `host:pid`. */
  readonly by: readonly string[];
  /** This process's jobs folder. */
  readonly folder: string;
}

/**
 * Prevents a start that would remove most reports of a deployment in use: probably the jobs folder or the Redis belongs
 * to another deployment. Removals from the folder of a running process are intended, and not checked. Throws
 * `deployment.mass_removal`.
 */
export async function assertNoMassRemoval(
  removal: RemovalSummary,
  ...evidence: Parameters<typeof describeActivity>
): Promise<void> {
  const { removed, known, by, folder } = removal;
  if (removed <= MAX_REMOVED || removed <= known * MAX_REMOVED_SHARE) return;
  const activity = await describeActivity(...evidence);
  if (activity === undefined) return;
  const hosts = [...new Set(by)].sort();
  const more = hosts.length > MAX_HOSTS ? ` and ${hosts.length - MAX_HOSTS} more` : '';
  throw new DocketError(
    'deployment.mass_removal',
    `This start would remove ${removed} of ${known} scheduled reports.`,
    {
      where: `DOCKET_JOBS, ${folder}`,
      expected: 'the jobs folder of the deployment that uses this Redis',
      got: `a folder without reports that ${hosts.slice(0, MAX_HOSTS).join(', ')}${more} activated; ${activity}`,
      next: 'Correct DOCKET_JOBS or REDIS_URL. To remove the reports, delete their files in the folder of the running deployment, or run docket start --adopt once.',
    },
  );
}

/** Evidence that the deployment is in use; undefined if there is none. */
async function describeActivity(
  processes: ProcessRegistry,
  heartbeats: SchedulerHeartbeats,
  clock: Clock,
): Promise<string | undefined> {
  const counts = await processes.countByRole();
  const working = (counts.get('scheduler') ?? 0) + (counts.get('worker') ?? 0);
  if (working > 0) return 'its processes are running';
  const last = await heartbeats.last();
  // A scan in the future was recorded by a wrong clock.
  if (last === null || Math.abs(clock.now() - last.at) > RECENT_ACTIVITY_MS) return undefined;
  return `its last scheduler was active at ${new Date(last.at).toISOString()}`;
}
