import { createHash } from 'node:crypto';
import { dirname, isAbsolute, join } from 'node:path';
import { mapWithConcurrency } from '../../base/concurrency.ts';
import { type Diagnostic, describeValue, fileDiagnostic } from '../diagnostics/diagnostic.ts';
import type { Definition } from '../schema/report-definition.ts';
import { ID_DESCRIPTION, ID_PATTERN } from '../schema/values/primitives.ts';
import type { PartialValue } from '../yaml/check-schema.ts';
import { diagnosticAt } from '../yaml/parse-yaml.ts';
import type { SourceFile } from '../yaml/source-file.ts';
import { type DirectoryEntry, listDirectory, readDefinitionFile, realpath } from './files.ts';
import type { LastKnownGood } from './last-known-good.ts';
import { type LoadedTargets, loadTargets, TARGETS_STEM } from './load-targets.ts';
import { type InvalidLogo, readLogo } from './logo.ts';
import { hasSameFiles, readNamedFiles } from './named-files.ts';
import {
  type AdmissionCheck,
  applyAdmissionCheck,
  type DefinitionParser,
  deepFreeze,
  type LoadedOrg,
  type LoadedReport,
  type ParsedReport,
  type ReportName,
  type ReportText,
  reportTextDigest,
} from './parse-definitions.ts';

export const YAML_FILE = /\.ya?ml$/i;
const DEFINITION_FILE = /^(.+)\.ya?ml$/;

/** What has been loaded of a jobs folder so far. */
export interface LoadState {
  readonly root: string;
  readonly folder: string;
  readonly previous: LastKnownGood;
  readonly admissionCheck: AdmissionCheck | undefined;
  readonly parser: DefinitionParser;
  readonly orgs: Map<string, LoadedOrg>;
  readonly reports: Map<string, LoadedReport>;
  readonly sources: Map<string, SourceFile>;
  readonly targetSources: Map<string, SourceFile>;
  readonly diagnostics: Diagnostic[];
  readonly warnings: Diagnostic[];
  readonly usingLastKnownGood: Set<string>;
  readonly partialReports: Map<string, PartialValue<Definition>>;
}

/** Keeps an organization's last known good settings, if there are any. */
export function keepLastKnownGoodOrg(
  org: string,
  { previous, orgs, usingLastKnownGood }: LoadState,
): LoadedOrg | undefined {
  const last = previous.orgs.get(org);
  if (last === undefined) return undefined;
  orgs.set(org, last);
  usingLastKnownGood.add(org);
  return last;
}

/** Loads an organization's settings and reports into `state`. */
export async function loadOrganization(folder: DirectoryEntry, state: LoadState): Promise<void> {
  const { diagnostics } = state;
  const entries = await listDirectory(folder.file, state.root, diagnostics);
  const files = entries.filter(({ name, kind }) => kind === 'file' && YAML_FILE.test(name));
  for (const entry of entries) {
    if (entry.kind === 'folder') {
      diagnostics.push(
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
    diagnostics.push(
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
      diagnostics.push(
        fileDiagnostic(
          file.file,
          `a file name of ${ID_DESCRIPTION}, ending in .yaml`,
          describeValue(file.name),
          'rename the file',
        ),
      );
    else if (first !== undefined)
      diagnostics.push(
        fileDiagnostic(file.file, 'one file a report', `${first.name} beside it`, 'remove one of the two'),
      );
    else stems.set(stem, file);
  }
  const targets = await loadTargets(folder.name, stems.get(TARGETS_STEM), state);
  const org =
    (await loadSettings(folder, stems.get('org'), targets, state)) ?? keepLastKnownGoodOrg(folder.name, state);
  const reports = [...stems].filter(([stem]) => stem !== 'org' && (stem !== TARGETS_STEM || targets.kind === 'report'));
  await loadReports(folder.name, reports, org, state);
}

async function loadSettings(
  folder: DirectoryEntry,
  file: DirectoryEntry | undefined,
  targets: LoadedTargets,
  state: LoadState,
): Promise<LoadedOrg | undefined> {
  if (file === undefined) {
    state.diagnostics.push(
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
    state.diagnostics.push(read.fault);
    return undefined;
  }
  const { source, value, diagnostics } = await state.parser.settings(read.text, file.file);
  state.sources.set(folder.name, source);
  state.diagnostics.push(...diagnostics);
  if (value === undefined) return undefined;
  const { logo, ...rest } = value;
  const loadedLogo = logo === undefined ? {} : await loadLogo(folder, source, logo);
  if ('expected' in loadedLogo) {
    state.diagnostics.push(diagnosticAt(source, ['logo'], loadedLogo));
    return undefined;
  }
  // Without its targets, a report would look as if nothing were breached.
  if (diagnostics.length > 0 || targets.kind === 'invalid') return undefined;
  const ofTargets =
    targets.kind === 'targets' ? { text: `\n${targets.text}`, targets: targets.value.targets } : undefined;
  const text = read.text + (loadedLogo.digest ?? '') + (ofTargets?.text ?? '');
  const last = state.previous.orgs.get(folder.name);
  const settings = deepFreeze({
    ...rest,
    ...loadedLogo.settings,
    ...(ofTargets === undefined ? {} : { targets: ofTargets.targets }),
    id: folder.name,
  });
  const org = last?.text === text ? last : { text, settings };
  state.orgs.set(folder.name, org);
  return org;
}

interface LoadedLogo {
  readonly settings?: { readonly logo: string };
  /** Part of the text that digests are computed from, so that a changed logo changes them. */
  readonly digest?: string;
}

async function loadLogo(folder: DirectoryEntry, source: SourceFile, logo: string): Promise<LoadedLogo | InvalidLogo> {
  const file = join(dirname(source.file), logo);
  const read = await readLogo(file, await realpath(folder.file));
  if ('expected' in read)
    return { ...read, next: isAbsolute(logo) ? 'write a path from the folder of org.yaml' : `${read.next}: ${file}` };
  return { settings: { logo: file }, digest: createHash('sha256').update(read.bytes).digest('hex') };
}

/** How many files are read at the same time. */
const READ_CONCURRENCY = 32;
/** How many texts, and how many characters, are parsed together. All of them are lost if one takes too long. */
const PARSED_TOGETHER = { texts: 50, characters: 200_000 };

interface ChangedReport extends ReportText {
  readonly textDigest: string;
}

/** Loads an organization's reports into `state`. Reports whose text and files have not changed are not parsed again. */
async function loadReports(
  org: string,
  files: readonly (readonly [report: string, file: DirectoryEntry])[],
  settings: LoadedOrg | undefined,
  state: LoadState,
): Promise<void> {
  const read = await mapWithConcurrency(files, READ_CONCURRENCY, ([report, { file }]) =>
    readReport({ org, report }, file, settings, state),
  );
  const kept = read.flatMap((each) => (each !== undefined && 'definition' in each ? each : []));
  const changed = read.flatMap((each) => (each !== undefined && !('definition' in each) ? each : []));
  for (const batch of batchesToParse(changed)) {
    const parsed = await parseReports(batch, settings, state.parser);
    for (const [index, one] of batch.entries()) {
      const report = await takeParsed(one, parsed[index], settings, state);
      if (report !== undefined) kept.push(report);
    }
  }
  const byName = new Map(kept.map((report) => [report.definition.report, report]));
  for (const [stem] of files) {
    const report = byName.get(stem);
    if (report === undefined) continue;
    const name = `${org}/${stem}`;
    state.sources.set(name, report.source);
    state.reports.set(name, report);
  }
}

/**
 * Returns the earlier version if the file has not changed, otherwise its text. If it cannot be read: undefined, and a
 * diagnostic in `state`.
 */
async function readReport(
  name: ReportName,
  file: string,
  settings: LoadedOrg | undefined,
  { previous, diagnostics }: LoadState,
): Promise<LoadedReport | ChangedReport | undefined> {
  const read = await readDefinitionFile(file);
  if ('fault' in read) {
    diagnostics.push(read.fault);
    return undefined;
  }
  const textDigest = reportTextDigest(name, read.text, settings?.text);
  const last = previous.reports.get(`${name.org}/${name.report}`);
  if (settings !== undefined && last?.textDigest === textDigest && (await hasSameFiles(last, dirname(file))))
    return last;
  return { text: read.text, file, name, textDigest };
}

function* batchesToParse(texts: readonly ChangedReport[]): Generator<readonly ChangedReport[]> {
  let batch: ChangedReport[] = [];
  let characters = 0;
  for (const each of texts) {
    characters += each.text.length;
    if (batch.length > 0 && (batch.length >= PARSED_TOGETHER.texts || characters > PARSED_TOGETHER.characters)) {
      yield batch;
      batch = [];
      characters = each.text.length;
    }
    batch.push(each);
  }
  if (batch.length > 0) yield batch;
}

async function parseReports(
  batch: readonly ReportText[],
  settings: LoadedOrg | undefined,
  parser: DefinitionParser,
): Promise<readonly ParsedReport[]> {
  if (parser.reports !== undefined) return parser.reports(batch, settings);
  return Promise.all(batch.map(({ text, file, name }) => parser.report(text, file, name, settings)));
}

/** Returns a parsed report if it may run here. Otherwise its diagnostics go into `state`. */
async function takeParsed(
  { text, file, name, textDigest }: ChangedReport,
  parsed: ParsedReport | undefined,
  settings: LoadedOrg | undefined,
  state: LoadState,
): Promise<LoadedReport | undefined> {
  if (parsed === undefined) throw new Error(`${file} was not parsed.`);
  const { source, definition, partial, diagnostics } = applyAdmissionCheck(
    await readNamedFiles(parsed, dirname(file)),
    settings,
    state.admissionCheck,
  );
  state.sources.set(`${name.org}/${name.report}`, source);
  state.diagnostics.push(...diagnostics);
  if (partial !== undefined) state.partialReports.set(`${name.org}/${name.report}`, partial);
  if (definition === undefined || settings === undefined) return undefined;
  return { text, definition, textDigest, orgText: settings.text, source };
}
