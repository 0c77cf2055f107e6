import { DocketError } from '../../base/error.ts';
import { closestMatches } from '../../definitions/diagnostics/suggest.ts';
import { isInvalidOrg } from '../../definitions/load/last-known-good.ts';
import type { Definitions } from '../../definitions/load/load-definitions.ts';
import type { PauseTarget } from '../../queue/schedules/pauses.ts';
import { reportDiagnostics, requireReport } from '../../services/definitions/built-in-kinds.ts';

/** `<org>` or `<org>/<report>`. */
export function parsePauseTarget(text: string): PauseTarget {
  const [org = '', ...rest] = text.split('/');
  return { org, report: rest.length === 0 ? null : rest.join('/') };
}

/**
 * Throws `definition.not_found` with similar names. An invalid definition exists: its last good version is still scheduled,
 * and an operator may have to pause it.
 */
export function assertPauseTargetExists(jobs: Definitions, { org, report }: PauseTarget): void {
  if (report !== null) {
    const name = `${org}/${report}`;
    if (reportDiagnostics(jobs, name).length === 0) requireReport(jobs, name);
    return;
  }
  if (jobs.orgs.has(org) || isInvalidOrg(jobs.folder, org, jobs.diagnostics)) return;
  const known = [...jobs.orgs.keys()];
  const similar = closestMatches(org, known, 3);
  throw new DocketError('definition.not_found', `There is no organization ${JSON.stringify(org)}.`, {
    expected:
      known.length === 0
        ? `an organization in ${jobs.folder}`
        : `one of ${(similar.length > 0 ? similar : known.slice(0, 20)).join(', ')}`,
    next: '`docket pause` lists what is paused.',
  });
}
