import { createHash } from 'node:crypto';
import { realpath } from 'node:fs/promises';
import { dirname, isAbsolute, join } from 'node:path';
import { type Diagnostic, describeValue, fileDiagnostic } from '../diagnostics/diagnostic.ts';
import type { Definition } from '../schema/report-definition.ts';
import { ID_DESCRIPTION, ID_PATTERN } from '../schema/values/primitives.ts';
import type { PartialValue } from '../yaml/check-schema.ts';
import { diagnosticAt } from '../yaml/parse-yaml.ts';
import type { SourceFile } from '../yaml/source-file.ts';
import { type DirectoryEntry, listDirectory, readDefinitionFile } from './files.ts';
import type { LastKnownGood, LastKnownGoodReport } from './last-known-good.ts';
import { type LoadedTargets, loadTargets, TARGETS_STEM } from './load-targets.ts';
import { type InvalidLogo, readLogo } from './logo.ts';
import { hasSameFiles, readNamedFiles } from './named-files.ts';
import {
  type AdmissionCheck,
  applyAdmissionCheck,
  type DefinitionParser,
  deepFreeze,
  type LoadedOrg,
  type ParsedReport,
} from './parse-definitions.ts';

export const YAML_FILE = /\.ya?ml$/i;
const DEFINITION_FILE = /^(.+)\.ya?ml$/;

/** What has been loaded so far of a jobs folder. */
export interface LoadState {
  readonly root: string;
  readonly folder: string;
  readonly previous: LastKnownGood;
  readonly admissionCheck: AdmissionCheck | undefined;
  readonly parser: DefinitionParser;
  readonly orgs: Map<string, LoadedOrg>;
  readonly reports: Map<string, LastKnownGoodReport>;
  readonly sources: Map<string, SourceFile>;
  readonly targetSources: Map<string, SourceFile>;
  readonly diagnostics: Diagnostic[];
  readonly warnings: Diagnostic[];
  readonly usingLastKnownGood: Set<string>;
  readonly partialReports: Map<string, PartialValue<Definition>>;
}

/** Uses an organization's last known good settings, if there are any. */
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
  for (const [report, file] of stems) {
    if (report === TARGETS_STEM && targets.kind !== 'report') continue;
    if (report !== 'org') await loadReport(folder.name, report, file, org, state);
  }
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
  // Without its targets a pack would show figures as if nothing were breached.
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
  /** Part of the text that digests are computed from: a changed logo changes them. */
  readonly digest?: string;
}

async function loadLogo(folder: DirectoryEntry, source: SourceFile, logo: string): Promise<LoadedLogo | InvalidLogo> {
  const file = join(dirname(source.file), logo);
  const read = await readLogo(file, await realpath(folder.file));
  if ('expected' in read)
    return { ...read, next: isAbsolute(logo) ? 'write a path from the folder of org.yaml' : `${read.next}: ${file}` };
  return { settings: { logo: file }, digest: createHash('sha256').update(read.bytes).digest('hex') };
}

async function loadReport(
  org: string,
  report: string,
  file: DirectoryEntry,
  settings: LoadedOrg | undefined,
  state: LoadState,
): Promise<void> {
  const read = await readDefinitionFile(file.file);
  if ('fault' in read) {
    state.diagnostics.push(read.fault);
    return;
  }
  const name = `${org}/${report}`;
  const { text } = read;
  const last = state.previous.reports.get(name);
  const folder = dirname(file.file);
  const unchanged =
    last !== undefined &&
    last.text === text &&
    last.orgText === settings?.text &&
    (await hasSameFiles(last.definition, folder));
  const { source, definition, partial, diagnostics }: ParsedReport = unchanged
    ? { ...last, diagnostics: [] }
    : applyAdmissionCheck(
        await readNamedFiles(await state.parser.report(text, file.file, { org, report }, settings), folder),
        settings,
        state.admissionCheck,
      );
  state.sources.set(name, source);
  state.diagnostics.push(...diagnostics);
  if (partial !== undefined) state.partialReports.set(name, partial);
  if (definition === undefined || settings === undefined) return;
  state.reports.set(name, { text, orgText: settings.text, source, definition });
}
