import { join } from 'node:path';
import type { Definition } from './definition.ts';
import type { Fault } from './fault.ts';
import type { DefinitionReader } from './reader.ts';
import { admit, type LoadedOrg, type Refuse } from './report-of.ts';
import type { Source } from './source.ts';

/** The texts that were good when they were last read: what is gone on with while a file has faults. */
export interface LastGood {
  /** By the organization's folder. */
  readonly orgs: ReadonlyMap<string, LoadedOrg>;
  /** By `org/report`. */
  readonly reports: ReadonlyMap<string, GoodReport>;
}

/** A report's text as it made this definition, with its organization's text as it was then. */
export interface GoodReport {
  readonly text: string;
  readonly orgText: string;
  readonly source: Source;
  readonly definition: Definition;
}

export const NOTHING_GOOD: LastGood = { orgs: new Map(), reports: new Map() };

/** The files and folders whose faults are an organization's or a report's. */
export const filesOf = (folder: string, org: string, stem: string): string[] => [
  join(folder, org),
  join(folder, org, `${stem}.yaml`),
  join(folder, org, `${stem}.yml`),
];

/** Whether a fault stands where the organization's settings were, or should be. */
export const isFaultyOrg = (folder: string, org: string, faults: readonly Fault[]): boolean =>
  faults.some(({ file }) => filesOf(folder, org, 'org').includes(file));

/**
 * The reports that are missing because their file has faults, as their last good text says – under their organization's
 * settings of now: who was taken off its recipients gets nothing more, and a text that they no longer allow is not kept.
 * A report whose file is gone is not among them.
 */
export async function keptReports(
  before: LastGood,
  loaded: {
    readonly folder: string;
    readonly orgs: ReadonlyMap<string, LoadedOrg>;
    readonly reports: ReadonlyMap<string, unknown>;
    readonly faults: readonly Fault[];
  },
  reader: DefinitionReader,
  refuse?: Refuse,
): Promise<Map<string, GoodReport>> {
  const kept = new Map<string, GoodReport>();
  const faulty = new Set(loaded.faults.map(({ file }) => file));
  for (const [name, last] of before.reports) {
    const { org, report } = last.definition;
    const of = loaded.orgs.get(org);
    if (loaded.reports.has(name) || of === undefined) continue;
    if (!filesOf(loaded.folder, org, report).some((file) => faulty.has(file))) continue;
    if (last.orgText === of.text) {
      kept.set(name, last);
      continue;
    }
    const read = await reader.report(last.text, last.source.file, { org, report }, of);
    const { definition, source } = admit(read, of, refuse);
    if (definition !== undefined) kept.set(name, { text: last.text, orgText: of.text, source, definition });
  }
  return kept;
}
