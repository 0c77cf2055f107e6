import { DocketError } from '../../base/error.ts';
import { describeValue, formatDiagnostic } from '../../definitions/diagnostics/diagnostic.ts';
import { didYouMean } from '../../definitions/diagnostics/suggest.ts';
import { isInvalidOrg } from '../../definitions/load/last-known-good.ts';
import type { Definitions } from '../../definitions/load/load-definitions.ts';
import type { OrgSettings } from '../../definitions/schema/org-settings.ts';

/**
 * The settings of an organization. Without a name, those of the only one. Throws `usage.invalid` if there are several,
 * `definition.not_found`, `definition.invalid`.
 */
export function requireOrganization(jobs: Definitions, org?: string): OrgSettings {
  const known = [...jobs.orgs.keys()].sort();
  const [only, ...others] = known;
  if (org === undefined && others.length > 0) {
    throw new DocketError('usage.invalid', `There are ${known.length} organizations: choose one.`, {
      where: '--org',
      expected: `one of ${known.slice(0, 20).join(', ')}${known.length > 20 ? ', …' : ''}`,
      next: 'Add --org with one of them.',
    });
  }
  const name = org ?? only;
  const settings = name === undefined ? undefined : jobs.orgs.get(name);
  if (settings !== undefined) return settings;
  const invalid = jobs.diagnostics.filter(
    (diagnostic) => name === undefined || isInvalidOrg(jobs.folder, name, [diagnostic]),
  );
  if (invalid.length > 0) {
    throw new DocketError(
      'definition.invalid',
      `The settings of ${name ?? 'the organization'} have errors:\n  ${invalid.map(formatDiagnostic).join('\n  ')}`,
      { next: 'Correct them; `docket check` shows all errors.' },
    );
  }
  throw new DocketError(
    'definition.not_found',
    `There is no organization ${name === undefined ? `in ${jobs.folder}` : describeValue(name)}.`,
    {
      expected:
        known.length === 0 ? `a folder with an org.yaml in ${jobs.folder}` : `one of ${known.slice(0, 20).join(', ')}`,
      where: jobs.folder,
      next:
        (name === undefined ? undefined : capitalized(didYouMean(name, known))) ??
        (known.length === 0 ? '`docket init` creates one; DOCKET_JOBS sets the folder.' : 'Choose one of these.'),
    },
  );
}

const capitalized = (text: string | undefined): string | undefined =>
  text === undefined ? undefined : text.charAt(0).toUpperCase() + text.slice(1);
