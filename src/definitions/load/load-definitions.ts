import { createHash } from 'node:crypto';
import { readdir, realpath } from 'node:fs/promises';
import { dirname, isAbsolute, join } from 'node:path';
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
import { ID_DESCRIPTION, ID_PATTERN } from '../schema/primitives.ts';
import type { Definition } from '../schema/report-definition.ts';
import { diagnosticAt } from '../yaml/parse-yaml.ts';
import type { SourceFile } from '../yaml/source-file.ts';
import { type DirectoryEntry, listDirectory, readDefinitionFile } from './files.ts';
import {
  definitionPaths,
  isInvalidOrg,
  type LastKnownGood,
  type LastKnownGoodReport,
  lastKnownGoodReports,
  NO_LAST_KNOWN_GOOD,
} from './last-known-good.ts';
import { type InvalidLogo, readLogo } from './logo.ts';
import {
  type AdmissionCheck,
  applyAdmissionCheck,
  type DefinitionParser,
  deepFreeze,
  type LoadedOrg,
} from './parse-definitions.ts';

/** Everything under the jobs folder, read in one pass. What has a fault is in `faults` and in no other map but `sources`. */
export interface Definitions {
  /** As it was given; every `file` of a fault starts with it. */
  readonly folder: string;
  /** By the organization's folder. */
  readonly orgs: ReadonlyMap<string, OrgSettings>;
  /** By `org/report`; a report is here only when its organization is too. */
  readonly reports: ReadonlyMap<string, Definition>;
  /** Every file that is YAML, by `org/report`, and by `org` for its `org.yaml`. */
  readonly sources: ReadonlyMap<string, SourceFile>;
  /** By file and position. */
  readonly diagnostics: readonly Diagnostic[];
  /** What goes on as its last good text says, since its file has faults now: `org/report`, and `org` for an `org.yaml`. */
  readonly usingLastKnownGood: ReadonlySet<string>;
  /** What a reload compares with and falls back to. */
  readonly lastKnownGood: LastKnownGood;
}

/** How a folder is read. */
export interface LoadOptions {
  /** Of a folder that was read before: what has a fault now goes on as its last good text says. */
  readonly previous?: LastKnownGood;
  readonly admissionCheck?: AdmissionCheck;
  readonly parser: DefinitionParser;
}

const YAML_FILE = /\.ya?ml$/i;
const DEFINITION_FILE = /^(.+)\.ya?ml$/;

/**
 * Reads `<folder>/<org>/org.yaml` and `<folder>/<org>/<report>.yaml` (or `.yml`). Faults of definitions are collected,
 * never thrown. Hidden entries and files that are not YAML are left alone.
 * Throws `config.invalid` when the folder itself cannot be read.
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
      next: 'Set DOCKET_JOBS to the folder of the report definitions, or start where it is.',
      cause,
    });
  });
  const loading: LoadState = {
    root,
    folder,
    before: previous,
    refuse: admissionCheck,
    reader: parser,
    orgs: new Map(),
    reports: new Map(),
    sources: new Map(),
    faults: [],
    keptOrgs: new Set(),
  };
  for (const entry of await listDirectory(folder, root, loading.faults)) {
    if (entry.kind === 'folder') await loadOrganization(entry, loading);
    else if (YAML_FILE.test(entry.name)) {
      loading.faults.push(
        fileDiagnostic(
          entry.file,
          'a definition in the folder of its organization',
          'one outside of it',
          `move it to ${join(folder, '<org>', entry.name)}`,
        ),
      );
    }
  }
  return toDefinitions(loading);
}

async function toDefinitions(loading: LoadState): Promise<Definitions> {
  const { folder, before, refuse, reader, orgs, reports, sources, faults } = loading;
  // A folder that cannot be read has named no organization.
  for (const org of before.orgs.keys()) {
    if (!orgs.has(org) && isInvalidOrg(folder, org, faults)) keepLastKnownGoodOrg(org, loading);
  }
  const kept = await lastKnownGoodReports(before, { folder, orgs, reports, faults }, reader, refuse);
  const all = new Map([...reports, ...kept]);
  return {
    folder,
    orgs: new Map([...orgs].map(([org, { settings }]) => [org, settings])),
    reports: new Map([...all].map(([name, { definition }]) => [name, definition])),
    sources,
    diagnostics: faults.sort(comparePositions),
    usingLastKnownGood: new Set([...loading.keptOrgs, ...kept.keys()]),
    lastKnownGood: { orgs, reports: all },
  };
}

/** Rejects for what is no folder or may not be listed. */
async function resolveFolder(folder: string): Promise<string> {
  await readdir(folder);
  return realpath(folder);
}

interface LoadState {
  readonly root: string;
  readonly folder: string;
  readonly before: LastKnownGood;
  readonly refuse: AdmissionCheck | undefined;
  readonly reader: DefinitionParser;
  readonly orgs: Map<string, LoadedOrg>;
  readonly reports: Map<string, LastKnownGoodReport>;
  readonly sources: Map<string, SourceFile>;
  readonly faults: Diagnostic[];
  readonly keptOrgs: Set<string>;
}

/** Goes on with an organization's last good settings, if there are any. */
function keepLastKnownGoodOrg(org: string, { before, orgs, keptOrgs }: LoadState): LoadedOrg | undefined {
  const last = before.orgs.get(org);
  if (last === undefined) return undefined;
  orgs.set(org, last);
  keptOrgs.add(org);
  return last;
}

async function loadOrganization(folder: DirectoryEntry, loading: LoadState): Promise<void> {
  const { faults } = loading;
  const entries = await listDirectory(folder.file, loading.root, faults);
  const files = entries.filter(({ name, kind }) => kind === 'file' && YAML_FILE.test(name));
  for (const entry of entries) {
    if (entry.kind === 'folder') {
      faults.push(
        fileDiagnostic(
          entry.file,
          "definitions directly in the organization's folder",
          'a folder in it',
          `move its files to ${folder.file}`,
        ),
      );
    }
  }
  if (files.length === 0) return;
  if (!ID_PATTERN.test(folder.name)) {
    faults.push(
      fileDiagnostic(
        folder.file,
        `a folder name of ${ID_DESCRIPTION}`,
        describeValue(folder.name),
        'rename the folder',
      ),
    );
    return;
  }
  const stems = new Map<string, DirectoryEntry>();
  for (const file of files) {
    const stem = DEFINITION_FILE.exec(file.name)?.[1] ?? '';
    const first = stems.get(stem);
    if (!ID_PATTERN.test(stem))
      faults.push(
        fileDiagnostic(
          file.file,
          `a file name of ${ID_DESCRIPTION}, ending in .yaml`,
          describeValue(file.name),
          'rename the file',
        ),
      );
    else if (first !== undefined)
      faults.push(fileDiagnostic(file.file, 'one file a report', `${first.name} beside it`, 'remove one of the two'));
    else stems.set(stem, file);
  }
  const org = (await loadSettings(folder, stems.get('org'), loading)) ?? keepLastKnownGoodOrg(folder.name, loading);
  for (const [report, file] of stems) {
    if (report !== 'org') await loadReport(folder.name, report, file, org, loading);
  }
}

async function loadSettings(
  folder: DirectoryEntry,
  file: DirectoryEntry | undefined,
  loading: LoadState,
): Promise<LoadedOrg | undefined> {
  if (file === undefined) {
    loading.faults.push(
      fileDiagnostic(
        join(folder.file, 'org.yaml'),
        'an org.yaml in the folder of an organization',
        'none',
        'write one: org, api_key, timezone, recipients',
      ),
    );
    return undefined;
  }
  const read = await readDefinitionFile(file.file);
  if ('fault' in read) {
    loading.faults.push(read.fault);
    return undefined;
  }
  const { source, value, diagnostics } = await loading.reader.settings(read.text, file.file);
  loading.sources.set(folder.name, source);
  loading.faults.push(...diagnostics);
  if (value === undefined) return undefined;
  const { logo, ...rest } = value;
  const shown = logo === undefined ? {} : await loadLogo(folder, source, logo);
  if ('expected' in shown) {
    loading.faults.push(diagnosticAt(source, ['logo'], shown));
    return undefined;
  }
  if (diagnostics.length > 0) return undefined;
  const text = read.text + (shown.digest ?? '');
  const last = loading.before.orgs.get(folder.name);
  const settings = deepFreeze({ ...rest, ...shown.settings, id: folder.name });
  const org = last?.text === text ? last : { text, settings };
  loading.orgs.set(folder.name, org);
  return org;
}

interface LoadedLogo {
  readonly settings?: { readonly logo: string };
  /** Another picture makes another pack. */
  readonly digest?: string;
}

async function loadLogo(folder: DirectoryEntry, source: SourceFile, logo: string): Promise<LoadedLogo | InvalidLogo> {
  const file = join(dirname(source.file), logo);
  const read = await readLogo(file, await realpath(folder.file));
  if ('expected' in read)
    return isAbsolute(logo) ? { ...read, next: 'write a path from the folder of org.yaml' } : read;
  return { settings: { logo: file }, digest: createHash('sha256').update(read.bytes).digest('hex') };
}

async function loadReport(
  org: string,
  report: string,
  file: DirectoryEntry,
  of: LoadedOrg | undefined,
  loading: LoadState,
): Promise<void> {
  const read = await readDefinitionFile(file.file);
  if ('fault' in read) {
    loading.faults.push(read.fault);
    return;
  }
  const name = `${org}/${report}`;
  const { text } = read;
  const last = loading.before.reports.get(name);
  // Most files of a reload are as they were.
  const unchanged = last !== undefined && last.text === text && last.orgText === of?.text;
  const { source, definition, diagnostics } = unchanged
    ? { ...last, diagnostics: [] }
    : applyAdmissionCheck(await loading.reader.report(text, file.file, { org, report }, of), of, loading.refuse);
  loading.sources.set(name, source);
  loading.faults.push(...diagnostics);
  if (definition === undefined || of === undefined) return;
  loading.reports.set(name, { text, orgText: of.text, source, definition });
}

/** The faults for which a report that has a file is not there: its own, and its organization's. None: it has no file. */
export function reportDiagnostics(
  jobs: Pick<Definitions, 'folder' | 'diagnostics' | 'sources'>,
  name: string,
): readonly Diagnostic[] {
  const [org = '', report = ''] = name.split('/');
  const [own, settings] = [report, 'org'].map((stem) => definitionPaths(jobs.folder, org, stem));
  const exists = jobs.sources.has(name) || jobs.diagnostics.some(({ file }) => own?.includes(file));
  return exists ? jobs.diagnostics.filter(({ file }) => own?.includes(file) || settings?.includes(file)) : [];
}

/**
 * A report with its organization's settings.
 * Throws `definition.not_found` with the nearest names, or `definition.invalid` with all its faults.
 * @param name `org/report`
 */
export function requireReport(jobs: Definitions, name: string): { definition: Definition; settings: OrgSettings } {
  const definition = jobs.reports.get(name);
  const settings = definition === undefined ? undefined : jobs.orgs.get(definition.org);
  if (definition !== undefined && settings !== undefined) return { definition, settings };

  const faults = reportDiagnostics(jobs, name);
  if (faults.length > 0) {
    throw new DocketError(
      'definition.invalid',
      `The report ${name} has ${faults.length === 1 ? 'a fault' : `${faults.length} faults`}:\n  ${faults.map(formatDiagnostic).join('\n  ')}`,
      { next: 'Correct the files; `docket check` shows all faults at once.' },
    );
  }
  const known = [...jobs.reports.keys()];
  const near = closestMatches(name, known, 3);
  throw new DocketError('definition.not_found', `There is no report ${describeValue(name)}.`, {
    expected:
      known.length === 0
        ? `a report in ${jobs.folder}`
        : `one of ${(near.length > 0 ? near : known.slice(0, 20)).join(', ')}`,
    got: describeValue(name),
    where: jobs.folder,
    next:
      near[0] === undefined
        ? 'Choose one of these; DOCKET_JOBS names the folder, and `docket check` finds what is wrong in it.'
        : `Did you mean ${near[0]}?`,
  });
}
