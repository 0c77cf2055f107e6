import { join } from 'node:path';
import { DocketError } from '../../base/error.ts';
import {
  comparePositions,
  type Diagnostic,
  describeValue,
  fileDiagnostic,
  formatDiagnostic,
} from '../diagnostics/diagnostic.ts';
import { closestMatches } from '../diagnostics/suggest.ts';
import type { OrgSettings } from '../schema/org-settings.ts';
import type { Definition } from '../schema/report-definition.ts';
import type { PartialValue } from '../yaml/check-schema.ts';
import { parseYamlDocument, type SourceFile } from '../yaml/source-file.ts';
import { listDirectory, readdir, realpath } from './files.ts';
import {
  definitionPaths,
  isInvalidOrg,
  type LastKnownGood,
  lastKnownGoodReports,
  NO_LAST_KNOWN_GOOD,
} from './last-known-good.ts';
import { keepLastKnownGoodOrg, type LoadState, loadOrganization, YAML_FILE } from './load-organization.ts';
import { TARGETS_STEM } from './load-targets.ts';
import type { AdmissionCheck, DefinitionParser } from './parse-definitions.ts';

/** All definitions of a jobs folder. A file with errors is only in `diagnostics` and `sources`. */
export interface Definitions {
  /** As passed in. Every `file` of a diagnostic begins with it. */
  readonly folder: string;
  /** By the organization's folder. */
  readonly orgs: ReadonlyMap<string, OrgSettings>;
  /** By `org/report`. Only reports whose organization is valid. */
  readonly reports: ReadonlyMap<string, Definition>;
  /** All YAML files: reports by `org/report`, and `org.yaml` files by `org`. */
  readonly sources: ReadonlyMap<string, SourceFile>;
  /** Every `targets.yaml`, by organization. */
  readonly targetSources: ReadonlyMap<string, SourceFile>;
  /** Sorted by file and position. */
  readonly diagnostics: readonly Diagnostic[];
  /** What works but should be changed, sorted by file and position. */
  readonly warnings: readonly Diagnostic[];
  /**
   * Definitions with errors that use their last known good version: reports as `org/report`, an `org.yaml` as `org`.
   */
  readonly usingLastKnownGood: ReadonlySet<string>;
  /**
   * For reports with errors, by `org/report`: the parts that can still be compared with the catalog. They never run.
   */
  readonly partialReports?: ReadonlyMap<string, PartialValue<Definition>>;
  /** Used by the next reload. */
  readonly lastKnownGood: LastKnownGood;
}

/**
 * The file of a report or organization with the positions of its values. A running process keeps only the text, and
 * parses it again here, unless the file has errors.
 */
export function positionedSource(
  { sources, reports, orgs, usingLastKnownGood }: Omit<Definitions, 'lastKnownGood'>,
  name: string,
): SourceFile | undefined {
  const source = sources.get(name);
  const isValid = (reports.has(name) || orgs.has(name)) && !usingLastKnownGood.has(name);
  if (source === undefined || source.tree !== undefined || !isValid) return source;
  return parseYamlDocument(source.file, source.text).source;
}

export interface LoadOptions {
  /** From the previous load: definitions with errors use their last known good version. */
  readonly previous?: LastKnownGood;
  readonly admissionCheck?: AdmissionCheck;
  readonly parser: DefinitionParser;
}

/**
 * Loads `<folder>/<org>/org.yaml` and `<folder>/<org>/<report>.yaml` (or `.yml`). Errors in definitions are collected
 * in `diagnostics`. Hidden entries and files other than YAML are ignored. Throws `config.invalid` if the folder cannot
 * be read.
 */
export async function loadDefinitions(
  folder: string,
  { previous = NO_LAST_KNOWN_GOOD, admissionCheck, parser }: LoadOptions,
): Promise<Definitions> {
  const root = await resolveFolder(folder).catch((cause: unknown) => {
    throw new DocketError('config.invalid', `The jobs folder ${folder} cannot be read.`, {
      where: 'DOCKET_JOBS',
      expected: 'a folder with one folder per organization',
      got: folder,
      next: 'Set DOCKET_JOBS to the folder of the report definitions, or start Docket in its parent folder.',
      cause,
    });
  });
  const state: LoadState = {
    root,
    folder,
    previous,
    admissionCheck,
    parser,
    orgs: new Map(),
    reports: new Map(),
    sources: new Map(),
    targetSources: new Map(),
    diagnostics: [],
    warnings: [],
    usingLastKnownGood: new Set(),
    partialReports: new Map(),
  };
  for (const entry of await listDirectory(folder, root, state.diagnostics)) {
    if (entry.kind === 'folder') await loadOrganization(entry, state);
    else if (YAML_FILE.test(entry.name)) {
      state.diagnostics.push(
        fileDiagnostic(
          entry.file,
          'a definition in the folder of its organization',
          'one outside of it',
          `move it to ${join(folder, '<org>', entry.name)}`,
        ),
      );
    }
  }
  return toDefinitions(state);
}

async function toDefinitions(state: LoadState): Promise<Definitions> {
  const { folder, previous, admissionCheck, parser, orgs, reports, sources, targetSources, diagnostics, warnings } =
    state;
  // Only the previous load knows the organization of a folder that cannot be read.
  for (const org of previous.orgs.keys()) {
    if (!orgs.has(org) && isInvalidOrg(folder, org, diagnostics)) keepLastKnownGoodOrg(org, state);
  }
  const kept = await lastKnownGoodReports(previous, { folder, orgs, reports, diagnostics }, parser, admissionCheck);
  const all = new Map([...reports, ...kept]);
  return {
    folder,
    orgs: new Map([...orgs].map(([org, { settings }]) => [org, settings])),
    reports: new Map([...all].map(([name, { definition }]) => [name, definition])),
    sources,
    targetSources,
    diagnostics: diagnostics.sort(comparePositions),
    warnings: warnings.sort(comparePositions),
    usingLastKnownGood: new Set([...state.usingLastKnownGood, ...kept.keys()]),
    partialReports: state.partialReports,
    lastKnownGood: { orgs, reports: all },
  };
}

/** Rejects unless the path is a folder that can be listed. */
async function resolveFolder(folder: string): Promise<string> {
  await readdir(folder);
  return realpath(folder);
}

/** The diagnostics of a report and of its organization. Empty if the report has no file. */
export function reportDiagnostics(
  jobs: Pick<Definitions, 'folder' | 'diagnostics' | 'sources'>,
  name: string,
): readonly Diagnostic[] {
  const [org = '', report = ''] = name.split('/');
  // If targets.yaml is a report itself, its errors do not concern the others.
  const stems = [report, 'org', ...(jobs.sources.has(`${org}/${TARGETS_STEM}`) ? [] : [TARGETS_STEM])];
  const [own, ...settings] = stems.map((stem) => definitionPaths(jobs.folder, org, stem));
  const exists = jobs.sources.has(name) || jobs.diagnostics.some(({ file }) => own?.includes(file));
  return exists ? jobs.diagnostics.filter(({ file }) => own?.includes(file) || settings.flat().includes(file)) : [];
}

/**
 * Finds a report with its organization's settings. Throws `definition.not_found` with similar names, or
 * `definition.invalid` with all diagnostics.
 * @param name `org/report`
 */
export function requireReport(jobs: Definitions, name: string): { definition: Definition; settings: OrgSettings } {
  const definition = jobs.reports.get(name);
  const settings = definition === undefined ? undefined : jobs.orgs.get(definition.org);
  if (definition !== undefined && settings !== undefined) return { definition, settings };

  const diagnostics = reportDiagnostics(jobs, name);
  if (diagnostics.length > 0) {
    throw new DocketError(
      'definition.invalid',
      `The report ${name} has ${diagnostics.length === 1 ? 'an error' : `${diagnostics.length} errors`}:\n  ${diagnostics.map(formatDiagnostic).join('\n  ')}`,
      { next: 'Correct the files; `docket check` shows all errors.' },
    );
  }
  const known = [...jobs.reports.keys()];
  const similar = closestMatches(name, known, 3);
  throw new DocketError('definition.not_found', `There is no report ${describeValue(name)}.`, {
    expected:
      known.length === 0
        ? `a report in ${jobs.folder}`
        : `one of ${(similar.length > 0 ? similar : known.slice(0, 20)).join(', ')}`,
    got: describeValue(name),
    where: jobs.folder,
    next:
      similar[0] === undefined
        ? 'Choose one of these. DOCKET_JOBS sets the folder; `docket check` validates it.'
        : `Did you mean ${similar[0]}?`,
  });
}
