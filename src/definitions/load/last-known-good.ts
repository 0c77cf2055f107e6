import { join } from 'node:path';
import type { Diagnostic } from '../diagnostics/diagnostic.ts';
import { withFileHashes } from './named-files.ts';
import {
  type AdmissionCheck,
  applyAdmissionCheck,
  type DefinitionParser,
  type LoadedOrg,
  type LoadedReport,
  reportTextDigest,
} from './parse-definitions.ts';

/** The last valid version of each file. It is used while the file has errors. */
export interface LastKnownGood {
  /** By the organization's folder. */
  readonly orgs: ReadonlyMap<string, LoadedOrg>;
  /** By `org/report`. */
  readonly reports: ReadonlyMap<string, LoadedReport>;
}

export const NO_LAST_KNOWN_GOOD: LastKnownGood = { orgs: new Map(), reports: new Map() };

/** The files and folders whose diagnostics belong to an organization or a report. */
export const definitionPaths = (folder: string, org: string, stem: string): string[] => [
  join(folder, org),
  join(folder, org, `${stem}.yaml`),
  join(folder, org, `${stem}.yml`),
];

/** Whether the organization's settings or targets have errors or are missing. */
export const isInvalidOrg = (folder: string, org: string, diagnostics: readonly Diagnostic[]): boolean =>
  diagnostics.some(({ file }) => ['org', 'targets'].some((stem) => definitionPaths(folder, org, stem).includes(file)));

/**
 * The last known good versions of reports whose files have errors, with the present settings of their organizations: a
 * removed recipient gets nothing more, and a version that the settings no longer allow is dropped. Reports whose files
 * were deleted are not included.
 */
export async function lastKnownGoodReports(
  previous: LastKnownGood,
  loaded: {
    readonly folder: string;
    readonly orgs: ReadonlyMap<string, LoadedOrg>;
    readonly reports: ReadonlyMap<string, unknown>;
    readonly diagnostics: readonly Diagnostic[];
  },
  parser: DefinitionParser,
  admissionCheck?: AdmissionCheck,
): Promise<Map<string, LoadedReport>> {
  const versions = new Map<string, LoadedReport>();
  const invalidFiles = new Set(loaded.diagnostics.map(({ file }) => file));
  for (const [name, last] of previous.reports) {
    const { text, definition: before } = last;
    const { org, report } = before;
    const settings = loaded.orgs.get(org);
    if (loaded.reports.has(name) || settings === undefined) continue;
    if (!definitionPaths(loaded.folder, org, report).some((file) => invalidFiles.has(file))) continue;
    if (last.orgText === settings.text) {
      versions.set(name, last);
      continue;
    }
    const read = await parser.report(text, last.source.file, { org, report }, settings);
    // The files that it names may be the cause of the error.
    const files = read.definition === undefined ? undefined : withFileHashes(read.definition, before.files);
    const known = files === undefined ? read : { ...read, definition: files };
    const { definition, source } = applyAdmissionCheck(known, settings, admissionCheck);
    if (definition === undefined) continue;
    const textDigest = reportTextDigest({ org, report }, text, settings.text);
    versions.set(name, { text, definition, textDigest, orgText: settings.text, source });
  }
  return versions;
}
