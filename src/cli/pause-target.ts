import type { Jobs } from '../define/load.ts';
import type { Paused } from '../queue/pauses.ts';

/** `<org>` or `<org>/<report>` as it was typed. */
export function readTarget(text: string): Paused {
  const [org = '', ...rest] = text.split('/');
  return { org, report: rest.length === 0 ? null : rest.join('/') };
}

/**
 * What is not there was misspelt, and must not be answered as if all were well. Throws `definition.not_found` with what is near.
 * What has a fault is there: its last good version goes on, and is what somebody may have to stop.
 */
export async function requireTarget(jobs: Jobs, { org, report }: Paused): Promise<void> {
  const [{ DocketError }, { faultsOf, requireReport }, { isFaultyOrg }, { nearest }] = await Promise.all([
    import('../base/error.ts'),
    import('../define/load.ts'),
    import('../define/last-good.ts'),
    import('../define/nearest.ts'),
  ]);
  if (report !== null) {
    const name = `${org}/${report}`;
    if (faultsOf(jobs, name).length === 0) requireReport(jobs, name);
    return;
  }
  if (jobs.orgs.has(org) || isFaultyOrg(jobs.folder, org, jobs.faults)) return;
  const known = [...jobs.orgs.keys()];
  const near = nearest(org, known, 3);
  throw new DocketError('definition.not_found', `There is no organization ${JSON.stringify(org)}.`, {
    expected:
      known.length === 0
        ? `an organization in ${jobs.folder}`
        : `one of ${(near.length > 0 ? near : known.slice(0, 20)).join(', ')}`,
    next: '`docket pause` lists what is paused.',
  });
}
