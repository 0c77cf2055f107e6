import type { Surroundings } from '../../compose/ports.ts';
import { scopePolicy } from '../../compose/report-scope.ts';
import type { Jobs } from '../../define/load.ts';
import { scopeFaults } from '../../define/scope-faults.ts';
import { type Finding, fail, ok, type Verdict, warn } from './finding.ts';

/** What the deployment and its definitions say of which secrets and destinations reports may have. */
export interface ScopeSeen {
  /** Folders that are named for secrets. */
  readonly folders: number;
  /** A deployment that requires destinations. */
  readonly required: boolean;
  /** Organizations without `destinations`. */
  readonly open: readonly string[];
  readonly faults: number;
  readonly warnings: number;
}

export function judgeSecretFolders({ folders }: Pick<ScopeSeen, 'folders'>): Verdict {
  if (folders > 0) return ok(`reports may refer to files in ${folders} ${folders === 1 ? 'folder' : 'folders'} alone`);
  return warn(
    'a report may refer to any file that this process can read',
    'Set DOCKET_SECRET_FOLDERS to the folders that hold secrets.',
  );
}

export function judgeDestinations({ required, open }: Pick<ScopeSeen, 'required' | 'open'>): Verdict {
  const shown = `${open.slice(0, 5).join(', ')}${open.length > 5 ? ` and ${open.length - 5} more` : ''}`;
  if (open.length === 0) return ok('every organization lists its own');
  if (required) return ok(`required; without any, and so e-mail alone: ${shown}`);
  return warn(
    `reports may be delivered anywhere: ${shown}`,
    'List hosts, buckets and folders under "destinations" in org.yaml; DOCKET_REQUIRE_DESTINATIONS=on requires it.',
  );
}

export function judgeScope({ faults, warnings }: Pick<ScopeSeen, 'faults' | 'warnings'>): Verdict {
  const remedy = '`docket check` shows each of them with its line.';
  if (faults > 0) return fail(`${faults} secrets or destinations of reports are refused`, remedy);
  if (warnings > 0)
    return warn(`${warnings} secrets or destinations of reports will be refused by a later version`, remedy);
  return ok('every report stays within its organization');
}

export async function examineScope(jobs: Jobs, around: Surroundings): Promise<Finding[]> {
  const policy = scopePolicy(around);
  const { faults, warnings } = await scopeFaults(jobs, policy);
  const seen: ScopeSeen = {
    folders: policy.secrets.folders.length,
    required: policy.destinations.required,
    open: [...jobs.orgs.values()].flatMap(({ id, destinations }) => (destinations === undefined ? [id] : [])),
    faults: faults.length,
    warnings: warnings.length,
  };
  return [
    { what: 'Scope of reports', ...judgeScope(seen) },
    { what: 'Secret folders', ...judgeSecretFolders(seen) },
    { what: 'Destinations', ...judgeDestinations(seen) },
  ];
}
