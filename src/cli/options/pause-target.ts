import type { Definitions } from '../../definitions/load/load-definitions.ts';
import type { PauseTarget } from '../../queue/schedules/pauses.ts';

/** `<org>` or `<org>/<report>` as it was typed. */
export function parsePauseTarget(text: string): PauseTarget {
  const [org = '', ...rest] = text.split('/');
  return { org, report: rest.length === 0 ? null : rest.join('/') };
}

/**
 * What is not there was misspelt, and must not be answered as if all were well. Throws `definition.not_found` with what is near.
 * What has a fault is there: its last good version goes on, and is what somebody may have to stop.
 */
export async function assertPauseTargetExists(jobs: Definitions, { org, report }: PauseTarget): Promise<void> {
  const [{ DocketError }, { reportDiagnostics, requireReport }, { isInvalidOrg }, { closestMatches }] =
    await Promise.all([
      import('../../base/error.ts'),
      import('../../definitions/load/load-definitions.ts'),
      import('../../definitions/load/last-known-good.ts'),
      import('../../definitions/diagnostics/suggest.ts'),
    ]);
  if (report !== null) {
    const name = `${org}/${report}`;
    if (reportDiagnostics(jobs, name).length === 0) requireReport(jobs, name);
    return;
  }
  if (jobs.orgs.has(org) || isInvalidOrg(jobs.folder, org, jobs.diagnostics)) return;
  const known = [...jobs.orgs.keys()];
  const near = closestMatches(org, known, 3);
  throw new DocketError('definition.not_found', `There is no organization ${JSON.stringify(org)}.`, {
    expected:
      known.length === 0
        ? `an organization in ${jobs.folder}`
        : `one of ${(near.length > 0 ? near : known.slice(0, 20)).join(', ')}`,
    next: '`docket pause` lists what is paused.',
  });
}
