import type { AppContext } from '../../../base/context.ts';
import { checkAllowLists } from '../../../definitions/allow-lists/check-allow-lists.ts';
import type { Definitions } from '../../../definitions/load/load-definitions.ts';
import { BUILT_IN_KINDS } from '../../../services/definitions/built-in-kinds.ts';
import { readScopePolicy } from '../../../services/definitions/report-scope.ts';
import { type CheckResult, type Finding, fail, formatSome, ok, warn } from '../finding.ts';

/** The scope of secrets and destinations of reports. */
export interface ReportScopeFacts {
  /** Number of folders in DOCKET_SECRET_FOLDERS. */
  readonly folders: number;
  /** DOCKET_REQUIRE_DESTINATIONS. */
  readonly required: boolean;
  /** Organizations without `destinations`. */
  readonly open: readonly string[];
  readonly faults: number;
  readonly warnings: number;
}

export function evaluateSecretFolders({ folders }: Pick<ReportScopeFacts, 'folders'>): CheckResult {
  if (folders > 0) return ok(`reports may only refer to files in ${folders} ${folders === 1 ? 'folder' : 'folders'}`);
  return warn(
    'a report may refer to any file that this process can read',
    'Set DOCKET_SECRET_FOLDERS to the folders that contain secrets.',
  );
}

export function evaluateDestinations({ required, open }: Pick<ReportScopeFacts, 'required' | 'open'>): CheckResult {
  if (open.length === 0) return ok('every organization lists its own');
  if (required) return ok(`required; none, so only e-mail, for: ${formatSome(open)}`);
  return warn(
    `reports may be delivered anywhere: ${formatSome(open)}`,
    'List hosts, buckets and folders under "destinations" in org.yaml; DOCKET_REQUIRE_DESTINATIONS=on requires it.',
  );
}

export function evaluateScope({ faults, warnings }: Pick<ReportScopeFacts, 'faults' | 'warnings'>): CheckResult {
  const remedy = '`docket check` shows each with its line.';
  if (faults > 0) return fail(`${faults} secrets or destinations of reports are refused`, remedy);
  if (warnings > 0)
    return warn(`${warnings} secrets or destinations of reports are allowed only by DOCKET_REPORT_SCOPE=warn`, remedy);
  return ok('every report stays within its organization');
}

export async function checkReportScope(jobs: Definitions, context: AppContext): Promise<Finding[]> {
  const policy = readScopePolicy(context);
  const { errors, warnings } = await checkAllowLists(jobs, policy, BUILT_IN_KINDS);
  const facts: ReportScopeFacts = {
    folders: policy.secrets.allowedFolders.length,
    required: policy.destinations.required,
    open: [...jobs.orgs.values()].flatMap(({ id, destinations }) => (destinations === undefined ? [id] : [])),
    faults: errors.length,
    warnings: warnings.length,
  };
  return [
    { what: 'Scope of reports', ...evaluateScope(facts) },
    { what: 'Secret folders', ...evaluateSecretFolders(facts) },
    { what: 'Destinations', ...evaluateDestinations(facts) },
  ];
}
