import { createHash } from 'node:crypto';
import { readdir, realpath } from 'node:fs/promises';
import { dirname, isAbsolute, join } from 'node:path';
import { DocketError } from '../base/error.ts';
import { conditionFaults } from './condition-faults.ts';
import { type Definition, type ReportFile, reportFileSchema } from './definition.ts';
import { type Entry, entriesOf } from './entries.ts';
import { atStart, byPosition, type Fault, formatFault, show } from './fault.ts';
import { type NoLogo, readLogo } from './logo.ts';
import { nearest } from './nearest.ts';
import { type OrgSettings, orgFileSchema } from './org.ts';
import { faultAt, parseSource } from './parse.ts';
import { readDefinition } from './read-file.ts';
import { addressKey, recipientFault } from './recipients.ts';
import type { Source } from './source.ts';
import { targetFaults } from './target-faults.ts';
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
}

const YAML_FILE = /\.ya?ml$/i;
const LEGAL_FILE = /^(.+)\.ya?ml$/;

/**
 * Reads `<folder>/<org>/org.yaml` and `<folder>/<org>/<report>.yaml` (or `.yml`). Faults of definitions are collected,
 * never thrown. Hidden entries and files that are not YAML are left alone.
 * Throws `config.invalid` when the folder itself cannot be read.
 */
export async function loadJobs(folder: string): Promise<Jobs> {
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
    orgs: new Map(),
    reports: new Map(),
    sources: new Map(),
    faults: [],
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
  const { orgs, reports, sources, faults } = loading;
  return { folder, orgs, reports, sources, faults: faults.sort(byPosition) };
}

/** Rejects for what is no folder or may not be listed. */
async function folderPath(folder: string): Promise<string> {
  await readdir(folder);
  return realpath(folder);
}

interface Loading {
  readonly root: string;
  readonly folder: string;
  readonly orgs: Map<string, OrgSettings>;
  readonly reports: Map<string, Definition>;
  readonly sources: Map<string, Source>;
  readonly faults: Fault[];
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
  const org = await loadSettings(folder, stems.get('org'), loading);
  for (const [report, file] of stems) {
    if (report !== 'org') await loadReport(folder.name, report, file, org, loading);
  }
}

interface LoadedOrg {
  readonly text: string;
  readonly settings: OrgSettings;
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
  const { source, value, faults } = parseSource(file.file, read.text, orgFileSchema);
  loading.sources.set(folder.name, source);
  loading.faults.push(...faults);
  if (value === undefined) return undefined;
  const { logo, ...rest } = value;
  const shown = logo === undefined ? {} : await loadLogo(folder, source, logo);
  if ('expected' in shown) {
    loading.faults.push(faultAt(source, ['logo'], shown));
    return undefined;
  }
  const settings = deepFreeze({ ...rest, ...shown.settings, id: folder.name });
  loading.orgs.set(folder.name, settings);
  return { text: read.text + (shown.digest ?? ''), settings };
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
  const { source, value, faults } = parseSource(file.file, read.text, reportFileSchema);
  loading.sources.set(`${org}/${report}`, source);
  const all =
    value === undefined
      ? faults
      : [
          ...recipientFaults(source, value, of?.settings),
          ...conditionFaults(source, value),
          ...targetFaults(source, { org, report }, value, of?.settings),
        ];
  loading.faults.push(...all);
  if (value === undefined || of === undefined || all.length > 0) return;
  const digest = createHash('sha256')
    .update(JSON.stringify([read.text, of.text]))
    .digest('hex');
  loading.reports.set(`${org}/${report}`, deepFreeze({ ...value, org, report, digest }));
}

/** Recipients that the organization does not allow. Without its settings only what is no address at all can be told. */
function recipientFaults(source: Source, report: ReportFile, settings: OrgSettings | undefined): Fault[] {
  return report.deliveries.flatMap((delivery, index) =>
    (delivery.email?.to ?? []).flatMap((address, position) => {
      const path = ['deliveries', index, 'email', 'to', position];
      if (addressKey(address) === undefined) {
        return faultAt(source, path, {
          expected: 'a plain e-mail address (name@domain.example)',
          got: show(address),
          next: 'write the address alone, without a display name',
        });
      }
      if (settings === undefined || recipientFault(address, settings.recipients) === undefined) return [];
      return faultAt(source, path, {
        message: 'a recipient outside the allow-list',
        expected: "one of the organization's recipients",
        got: show(address),
        next: "remove it, or have it added to recipients in the organization's org.yaml",
      });
    }),
  );
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    for (const inner of Object.values(value)) deepFreeze(inner);
    Object.freeze(value);
  }
  return value;
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

  const [org = '', report = ''] = name.split('/');
  const own = [report, 'org'].flatMap((stem) =>
    ['yaml', 'yml'].map((ending) => join(jobs.folder, org, `${stem}.${ending}`)),
  );
  const faults = jobs.faults.filter(({ file }) => own.includes(file) || file === join(jobs.folder, org));
  const exists = jobs.sources.has(name) || faults.some(({ file }) => own.slice(0, 2).includes(file));
  if (exists && faults.length > 0) {
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
    next: near[0] === undefined ? '`docket check` lists what is in the jobs folder.' : `Did you mean ${near[0]}?`,
  });
}
