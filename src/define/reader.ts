import { calendarDiagnostics } from './calendar-faults.ts';
import type { Diagnostic } from './fault.ts';
import { type OrgFile, orgFileSchema } from './org.ts';
import { parseYaml } from './parse.ts';
import { type LoadedOrg, type ParsedReport, parseReport } from './report-of.ts';
import type { SourceFile } from './source.ts';

/** What came of the text of an `org.yaml`. */
export interface ParsedSettings {
  readonly source: SourceFile;
  /** Absent when the text itself has a fault. */
  readonly value?: OrgFile;
  readonly diagnostics: readonly Diagnostic[];
}

/** How texts are read and checked: here, or in a thread that limits what it costs. */
export interface DefinitionParser {
  report(
    text: string,
    file: string,
    name: { readonly org: string; readonly report: string },
    of: LoadedOrg | undefined,
  ): ParsedReport | Promise<ParsedReport>;
  settings(text: string, file: string): ParsedSettings | Promise<ParsedSettings>;
}

/** An `org.yaml`, all but the picture that it names. */
export function parseSettings(text: string, file: string): ParsedSettings {
  const { source, value, diagnostics } = parseYaml(file, text, orgFileSchema);
  return value === undefined
    ? { source, diagnostics }
    : { source, value, diagnostics: calendarDiagnostics(source, value) };
}

/** Reads in this thread, however long it takes. */
export const inProcessParser: DefinitionParser = { report: parseReport, settings: parseSettings };
