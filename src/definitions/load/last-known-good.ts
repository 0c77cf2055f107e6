import { join } from 'node:path';
import type { Diagnostic } from '../diagnostics/diagnostic.ts';
import type { Definition } from '../schema/report-definition.ts';
import type { SourceFile } from '../yaml/source-file.ts';
import {
  type AdmissionCheck,
  applyAdmissionCheck,
  type DefinitionParser,
  type LoadedOrg,
} from './parse-definitions.ts';

/** The texts that were good when they were last read: what is gone on with while a file has faults. */
export interface LastKnownGood {
  /** By the organization's folder. */
  readonly orgs: ReadonlyMap<string, LoadedOrg>;
  /** By `org/report`. */
  readonly reports: ReadonlyMap<string, LastKnownGoodReport>;
}

/** A report's text as it made this definition, with its organization's text as it was then. */
export interface LastKnownGoodReport {
  readonly text: string;
  readonly orgText: string;
  readonly source: SourceFile;
  readonly definition: Definition;
}

export const NO_LAST_KNOWN_GOOD: LastKnownGood = { orgs: new Map(), reports: new Map() };

/** The files and folders whose faults are an organization's or a report's. */
export const definitionPaths = (folder: string, org: string, stem: string): string[] => [
  join(folder, org),
  join(folder, org, `${stem}.yaml`),
  join(folder, org, `${stem}.yml`),
];

/** Whether a fault stands where the organization's settings were, or should be. */
export const isInvalidOrg = (folder: string, org: string, faults: readonly Diagnostic[]): boolean =>
  faults.some(({ file }) => definitionPaths(folder, org, 'org').includes(file));

/**
 * The reports that are missing because their file has faults, as their last good text says – under their organization's
 * settings of now: who was taken off its recipients gets nothing more, and a text that they no longer allow is not kept.
 * A report whose file is gone is not among them.
 */
export async function lastKnownGoodReports(
  before: LastKnownGood,
  loaded: {
    readonly folder: string;
    readonly orgs: ReadonlyMap<string, LoadedOrg>;
    readonly reports: ReadonlyMap<string, unknown>;
    readonly faults: readonly Diagnostic[];
  },
  reader: DefinitionParser,
  refuse?: AdmissionCheck,
): Promise<Map<string, LastKnownGoodReport>> {
  const kept = new Map<string, LastKnownGoodReport>();
  const faulty = new Set(loaded.faults.map(({ file }) => file));
  for (const [name, last] of before.reports) {
    const { org, report } = last.definition;
    const of = loaded.orgs.get(org);
    if (loaded.reports.has(name) || of === undefined) continue;
    if (!definitionPaths(loaded.folder, org, report).some((file) => faulty.has(file))) continue;
    if (last.orgText === of.text) {
      kept.set(name, last);
      continue;
    }
    const read = await reader.report(last.text, last.source.file, { org, report }, of);
    const { definition, source } = applyAdmissionCheck(read, of, refuse);
    if (definition !== undefined) kept.set(name, { text: last.text, orgText: of.text, source, definition });
  }
  return kept;
}
