import { calendarFaults } from './calendar-faults.ts';
import type { Fault } from './fault.ts';
import { type OrgFile, orgFileSchema } from './org.ts';
import { parseSource } from './parse.ts';
import { type LoadedOrg, type ReportOf, reportOf } from './report-of.ts';
import type { Source } from './source.ts';

/** What came of the text of an `org.yaml`. */
export interface SettingsOf {
  readonly source: Source;
  /** Absent when the text itself has a fault. */
  readonly value?: OrgFile;
  readonly faults: readonly Fault[];
}

/** How texts are read and checked: here, or in a thread that limits what it costs. */
export interface DefinitionReader {
  report(
    text: string,
    file: string,
    name: { readonly org: string; readonly report: string },
    of: LoadedOrg | undefined,
  ): ReportOf | Promise<ReportOf>;
  settings(text: string, file: string): SettingsOf | Promise<SettingsOf>;
}

/** An `org.yaml`, all but the picture that it names. */
export function settingsOf(text: string, file: string): SettingsOf {
  const { source, value, faults } = parseSource(file, text, orgFileSchema);
  return value === undefined ? { source, faults } : { source, value, faults: calendarFaults(source, value) };
}

/** Reads in this thread, however long it takes. */
export const readHere: DefinitionReader = { report: reportOf, settings: settingsOf };
