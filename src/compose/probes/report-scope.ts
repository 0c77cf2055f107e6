import { checkAllowLists } from '../../definitions/allow-lists/check-allow-lists.ts';
import { readScopePolicy } from '../../services/definitions/report-scope.ts';
import { type CheckResult, type Finding, fail, formatSome, ok, warn } from '../../services/deployment/probe.ts';
import { BUILT_IN_KINDS } from '../built-in-kinds.ts';
import type { Examination } from './probe-context.ts';

export async function checkReportScope({ jobs, context }: Pick<Examination, 'jobs' | 'context'>): Promise<Finding[]> {
  const { secrets, destinations, ...policy } = readScopePolicy(context);
  const found = await checkAllowLists(jobs, { secrets, destinations, ...policy }, BUILT_IN_KINDS);
  const folders = secrets.allowedFolders.length;
  const open = [...jobs.orgs.values()].filter((org) => org.destinations === undefined).map(({ id }) => id);
  const remedy = '`docket check` shows each with its line.';
  const scope = (): CheckResult => {
    const [refused, allowed] = [found.errors.length, found.warnings.length];
    if (refused > 0) return fail(`${refused} secrets or destinations of reports are refused`, remedy);
    return allowed === 0
      ? ok('every report stays within its organization')
      : warn(`${allowed} secrets or destinations of reports are allowed only by DOCKET_REPORT_SCOPE=warn`, remedy);
  };
  const places = (): CheckResult => {
    if (open.length === 0) return ok('every organization lists its own');
    if (destinations.required) return ok(`required; none, so only e-mail, for: ${formatSome(open)}`);
    return warn(
      `reports may be delivered anywhere: ${formatSome(open)}`,
      'List hosts, buckets and folders under "destinations" in org.yaml; DOCKET_REQUIRE_DESTINATIONS=on requires it.',
    );
  };
  const files =
    folders > 0
      ? ok(`reports may only refer to files in ${folders} ${folders === 1 ? 'folder' : 'folders'}`)
      : warn(
          'a report may refer to any file that this process can read',
          'Set DOCKET_SECRET_FOLDERS to the folders that contain secrets.',
        );
  return [
    { what: 'Scope of reports', ...scope() },
    { what: 'Secret folders', ...files },
    { what: 'Destinations', ...places() },
  ];
}
