import type { Clock } from '../base/clock.ts';
import { DocketError } from '../base/error.ts';
import type { Looks } from './looks.ts';
import type { Presence } from './presence.ts';

/** So many scheduled reports may go at a start without a question. */
const MAX_REMOVED = 3;
/** And so large a part of them. */
const MAX_REMOVED_SHARE = 0.5;
/** A deployment whose schedulers looked at the due slots so lately is restarted, not given up, ms. */
const RECENT_MS = 3_600_000;
/** Hosts that an error names. */
const MAX_HOSTS = 5;

/** What the start of a scheduler would take out of force. */
export interface Removal {
  /** Scheduled reports that it would take out. */
  readonly removed: number;
  /** Scheduled reports in force. */
  readonly known: number;
  /** The processes that put the removed ones in force, as `host:pid`. */
  readonly by: readonly string[];
  /** The jobs folder of this process. */
  readonly folder: string;
}

export interface RemovalPorts {
  readonly presence: Pick<Presence, 'count'>;
  readonly looks: Pick<Looks, 'last'>;
  readonly clock: Clock;
}

/**
 * Refuses to start with a folder that would silence most reports of a deployment that lives: it is another deployment's
 * folder, or another deployment's Redis. An edit of the folder of a running process is on purpose and is not asked about.
 * Throws `deployment.mass_removal`.
 */
export async function assertNoMassRemoval(removal: Removal, ports: RemovalPorts): Promise<void> {
  const { removed, known, by, folder } = removal;
  if (removed <= MAX_REMOVED || removed <= known * MAX_REMOVED_SHARE) return;
  const alive = await aliveness(ports);
  if (alive === undefined) return;
  const hosts = [...new Set(by)].sort();
  const more = hosts.length > MAX_HOSTS ? ` and ${hosts.length - MAX_HOSTS} more` : '';
  throw new DocketError(
    'deployment.mass_removal',
    `This start would remove ${removed} of ${known} scheduled reports.`,
    {
      where: `DOCKET_JOBS, ${folder}`,
      expected: 'the jobs folder of the deployment that uses this Redis',
      got: `a folder without reports that ${hosts.slice(0, MAX_HOSTS).join(', ')}${more} put in force; ${alive}`,
      next: 'Correct DOCKET_JOBS or REDIS_URL. To remove the reports on purpose, remove their files in the folder of the running deployment, or run docket start --adopt once.',
    },
  );
}

/** How it shows that the deployment lives; undefined when it does not. */
async function aliveness({ presence, looks, clock }: RemovalPorts): Promise<string | undefined> {
  const counts = await presence.count();
  const working = (counts.get('scheduler') ?? 0) + (counts.get('worker') ?? 0);
  if (working > 0) return 'its processes are at work';
  const last = await looks.last();
  // A look of the future: a clock that was wrong.
  if (last === null || Math.abs(clock.now() - last.at) > RECENT_MS) return undefined;
  return `its last scheduler was at work ${new Date(last.at).toISOString()}`;
}
