import { createHash } from 'node:crypto';
import { readdir, realpath } from 'node:fs/promises';
import { dirname, isAbsolute, join } from 'node:path';
import { DocketError } from '../base/error.ts';
import type { Definition } from './definition.ts';
import { type Entry, entriesOf } from './entries.ts';
import { atStart, byPosition, type Fault, formatFault, show } from './fault.ts';
import { filesOf, type GoodReport, isFaultyOrg, keptReports, type LastGood, NOTHING_GOOD } from './last-good.ts';
import { type NoLogo, readLogo } from './logo.ts';
import { nearest } from './nearest.ts';
import type { OrgSettings } from './org.ts';
import { faultAt } from './parse.ts';
import { readDefinition } from './read-file.ts';
import { type DefinitionReader, readHere } from './reader.ts';
import { admit, deepFreeze, type LoadedOrg, type Refuse } from './report-of.ts';
import type { Source } from './source.ts';
import { ID, ID_WORDS } from './words.ts';

/** Everything under the jobs folder, read in one pass. What has a fault is in `faults` and in no other map but `sources`. */
export interface Jobs {
  /** As it was given; every `file` of a fault starts with it. */
  readonly folder: string;
  /** By the organization's folder. */
  readonly orgs: ReadonlyMap<string, OrgSettings>;
  /** By `org/report`; a report is here only when its organization is too. */
  readonly reports: ReadonlyMap<string, Definition>;
  /** Every file that is YAML, by `org/report`, and by `org` for its `org.yaml`. */
  readonly sources: ReadonlyMap<string, Source>;
  /** By file and position. */
  readonly faults: readonly Fault[];
  /** What goes on as its last good text says, since its file has faults now: `org/report`, and `org` for an `org.yaml`. */
  readonly kept: ReadonlySet<string>;
  /** What a reload compares with and falls back to. */
  readonly good: LastGood;
}

/** How a folder is read. */
export interface Loads {
  /** Of a folder that was read before: what has a fault now goes on as its last good text says. */
  readonly before?: LastGood;
  readonly refuse?: Refuse;
  /** In this thread, where nothing is said. */
  readonly reader?: DefinitionReader;
}

const YAML_FILE = /\.ya?ml$/i;
const LEGAL_FILE = /^(.+)\.ya?ml$/;

/**
 * Reads `<folder>/<org>/org.yaml` and `<folder>/<org>/<report>.yaml` (or `.yml`). Faults of definitions are collected,
 * never thrown. Hidden entries and files that are not YAML are left alone.
 * Throws `config.invalid` when the folder itself cannot be read.
 */
export async function loadJobs(
  folder: string,
  { before = NOTHING_GOOD, refuse, reader = readHere }: Loads = {},
): Promise<Jobs> {
  const root = await folderPath(folder).catch((cause: unknown) => {
    throw new DocketError('config.invalid', `The jobs folder ${folder} cannot be read.`, {
      where: 'DOCKET_JOBS',
      expected: 'a folder with one folder per organization',
      got: folder,
      next: 'Set DOCKET_JOBS to the folder of the report definitions, or start where it is.',
      cause,
    });
  });
  const loading: Loading = {
    root,
    folder,
    before,
    refuse,
    reader,
    orgs: new Map(),
    reports: new Map(),
    sources: new Map(),
    faults: [],
    keptOrgs: new Set(),
  };
  for (const entry of await entriesOf(folder, root, loading.faults)) {
    if (entry.kind === 'folder') await loadOrganization(entry, loading);
    else if (YAML_FILE.test(entry.name)) {
      loading.faults.push(
        atStart(
          entry.file,
          'a definition in the folder of its organization',
          'one outside of it',
          `move it to ${join(folder, '<org>', entry.name)}`,
        ),
      );
    }
  }
  return jobsOf(loading);
}

async function jobsOf(loading: Loading): Promise<Jobs> {
  const { folder, before, refuse, reader, orgs, reports, sources, faults } = loading;
  // A folder that cannot be read has named no organization.
  for (const org of before.orgs.keys()) {
    if (!orgs.has(org) && isFaultyOrg(folder, org, faults)) keepOrg(org, loading);
  }
  const kept = await keptReports(before, { folder, orgs, reports, faults }, reader, refuse);
  const all = new Map([...reports, ...kept]);
  return {
    folder,
    orgs: new Map([...orgs].map(([org, { settings }]) => [org, settings])),
    reports: new Map([...all].map(([name, { definition }]) => [name, definition])),
    sources,
    faults: faults.sort(byPosition),
    kept: new Set([...loading.keptOrgs, ...kept.keys()]),
    good: { orgs, reports: all },
  };
}

/** Rejects for what is no folder or may not be listed. */
async function folderPath(folder: string): Promise<string> {
  await readdir(folder);
  return realpath(folder);
}

interface Loading {
  readonly root: string;
  readonly folder: string;
  readonly before: LastGood;
  readonly refuse: Refuse | undefined;
  readonly reader: DefinitionReader;
  readonly orgs: Map<string, LoadedOrg>;
  readonly reports: Map<string, GoodReport>;
  readonly sources: Map<string, Source>;
  readonly faults: Fault[];
  readonly keptOrgs: Set<string>;
}

/** Goes on with an organization's last good settings, if there are any. */
function keepOrg(org: string, { before, orgs, keptOrgs }: Loading): LoadedOrg | undefined {
  const last = before.orgs.get(org);
  if (last === undefined) return undefined;
  orgs.set(org, last);
  keptOrgs.add(org);
  return last;
}

async function loadOrganization(folder: Entry, loading: Loading): Promise<void> {
  const { faults } = loading;
  const entries = await entriesOf(folder.file, loading.root, faults);
  const files = entries.filter(({ name, kind }) => kind === 'file' && YAML_FILE.test(name));
  for (const entry of entries) {
    if (entry.kind === 'folder') {
      faults.push(
        atStart(
          entry.file,
          "definitions directly in the organization's folder",
          'a folder in it',
          `move its files to ${folder.file}`,
        ),
      );
    }
  }
  if (files.length === 0) return;
  if (!ID.test(folder.name)) {
    faults.push(atStart(folder.file, `a folder name of ${ID_WORDS}`, show(folder.name), 'rename the folder'));
    return;
  }
  const stems = new Map<string, Entry>();
  for (const file of files) {
    const stem = LEGAL_FILE.exec(file.name)?.[1] ?? '';
    const first = stems.get(stem);
    if (!ID.test(stem))
      faults.push(
        atStart(file.file, `a file name of ${ID_WORDS}, ending in .yaml`, show(file.name), 'rename the file'),
      );
    else if (first !== undefined)
      faults.push(atStart(file.file, 'one file a report', `${first.name} beside it`, 'remove one of the two'));
    else stems.set(stem, file);
  }
  const org = (await loadSettings(folder, stems.get('org'), loading)) ?? keepOrg(folder.name, loading);
  for (const [report, file] of stems) {
    if (report !== 'org') await loadReport(folder.name, report, file, org, loading);
  }
}

async function loadSettings(folder: Entry, file: Entry | undefined, loading: Loading): Promise<LoadedOrg | undefined> {
  if (file === undefined) {
    loading.faults.push(
      atStart(
        join(folder.file, 'org.yaml'),
        'an org.yaml in the folder of an organization',
        'none',
        'write one: org, api_key, timezone, recipients',
      ),
    );
    return undefined;
  }
  const read = await readDefinition(file.file);
  if ('fault' in read) {
    loading.faults.push(read.fault);
    return undefined;
  }
  const { source, value, faults } = await loading.reader.settings(read.text, file.file);
  loading.sources.set(folder.name, source);
  loading.faults.push(...faults);
  if (value === undefined) return undefined;
  const { logo, ...rest } = value;
  const shown = logo === undefined ? {} : await loadLogo(folder, source, logo);
  if ('expected' in shown) {
    loading.faults.push(faultAt(source, ['logo'], shown));
    return undefined;
  }
  if (faults.length > 0) return undefined;
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

async function loadLogo(folder: Entry, source: Source, logo: string): Promise<LoadedLogo | NoLogo> {
  const file = join(dirname(source.file), logo);
  const read = await readLogo(file, await realpath(folder.file));
  if ('expected' in read)
    return isAbsolute(logo) ? { ...read, next: 'write a path from the folder of org.yaml' } : read;
  return { settings: { logo: file }, digest: createHash('sha256').update(read.bytes).digest('hex') };
}

async function loadReport(
  org: string,
  report: string,
  file: Entry,
  of: LoadedOrg | undefined,
  loading: Loading,
): Promise<void> {
  const read = await readDefinition(file.file);
  if ('fault' in read) {
    loading.faults.push(read.fault);
    return;
  }
  const name = `${org}/${report}`;
  const { text } = read;
  const last = loading.before.reports.get(name);
  // Most files of a reload are as they were.
  const unchanged = last !== undefined && last.text === text && last.orgText === of?.text;
  const { source, definition, faults } = unchanged
    ? { ...last, faults: [] }
    : admit(await loading.reader.report(text, file.file, { org, report }, of), of, loading.refuse);
  loading.sources.set(name, source);
  loading.faults.push(...faults);
  if (definition === undefined || of === undefined) return;
  loading.reports.set(name, { text, orgText: of.text, source, definition });
}

/** The faults for which a report that has a file is not there: its own, and its organization's. None: it has no file. */
export function faultsOf(jobs: Pick<Jobs, 'folder' | 'faults' | 'sources'>, name: string): readonly Fault[] {
  const [org = '', report = ''] = name.split('/');
  const [own, settings] = [report, 'org'].map((stem) => filesOf(jobs.folder, org, stem));
  const exists = jobs.sources.has(name) || jobs.faults.some(({ file }) => own?.includes(file));
  return exists ? jobs.faults.filter(({ file }) => own?.includes(file) || settings?.includes(file)) : [];
}

/**
 * A report with its organization's settings.
 * Throws `definition.not_found` with the nearest names, or `definition.invalid` with all its faults.
 * @param name `org/report`
 */
export function requireReport(jobs: Jobs, name: string): { definition: Definition; settings: OrgSettings } {
  const definition = jobs.reports.get(name);
  const settings = definition === undefined ? undefined : jobs.orgs.get(definition.org);
  if (definition !== undefined && settings !== undefined) return { definition, settings };

  const faults = faultsOf(jobs, name);
  if (faults.length > 0) {
    throw new DocketError(
      'definition.invalid',
      `The report ${name} has ${faults.length === 1 ? 'a fault' : `${faults.length} faults`}:\n  ${faults.map(formatFault).join('\n  ')}`,
      { next: 'Correct the files; `docket check` shows all faults at once.' },
    );
  }
  const known = [...jobs.reports.keys()];
  const near = nearest(name, known, 3);
  throw new DocketError('definition.not_found', `There is no report ${show(name)}.`, {
    expected:
      known.length === 0
        ? `a report in ${jobs.folder}`
        : `one of ${(near.length > 0 ? near : known.slice(0, 20)).join(', ')}`,
    got: show(name),
    where: jobs.folder,
    next:
      near[0] === undefined
        ? 'Choose one of these; DOCKET_JOBS names the folder, and `docket check` finds what is wrong in it.'
        : `Did you mean ${near[0]}?`,
  });
}
