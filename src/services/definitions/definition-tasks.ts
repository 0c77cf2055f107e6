import type { Catalog } from '../../contract/catalog.ts';
import { comparePositions, type Diagnostic } from '../../definitions/diagnostics/diagnostic.ts';
import {
  type LoadedOrg,
  type ParsedReport,
  type ParsedSettings,
  type ParsedTargets,
  parseSettings,
  parseTargets,
} from '../../definitions/load/parse-definitions.ts';
import { runPeriodsOf } from '../../definitions/periods/period.ts';
import { diagnosticAt, limitDiagnostics } from '../../definitions/yaml/parse-yaml.ts';
import type { SourceFile } from '../../definitions/yaml/source-file.ts';
import { checkPlan } from '../../plan/checks/check-plan.ts';
import { checkTargets } from '../../plan/checks/check-targets.ts';
import { definitionParser } from './built-in-kinds.ts';

/** The text of a report and the context to parse it in. */
export interface ReportText {
  readonly text: string;
  /** File name in diagnostics. */
  readonly file: string;
  readonly name: { readonly org: string; readonly report: string };
  readonly of: LoadedOrg | undefined;
}

/** A task of the definition thread: parse a file, or validate a submitted text. */
export type DefinitionTask =
  | ({ readonly kind: 'report'; readonly positions: boolean } & ReportText)
  | {
      readonly kind: 'settings';
      readonly positions: boolean;
      readonly text: string;
      readonly file: string;
    }
  | { readonly kind: 'targets'; readonly positions: boolean; readonly text: string; readonly file: string }
  | ({ readonly kind: 'posted' } & ValidationTask);

export interface ValidationTask extends ReportText {
  readonly catalog: Catalog | undefined;
  readonly now: number;
}

export type DefinitionAnswer =
  | { readonly kind: 'report'; readonly read: ParsedReport }
  | { readonly kind: 'settings'; readonly read: ParsedSettings }
  | { readonly kind: 'targets'; readonly read: ParsedTargets }
  | { readonly kind: 'posted'; readonly faults: readonly Diagnostic[] };

export function handleTask(task: DefinitionTask): DefinitionAnswer {
  if (task.kind === 'posted') return { kind: 'posted', faults: validateText(task) };
  if (task.kind === 'settings') {
    const read = parseSettings(task.text, task.file);
    return { kind: 'settings', read: withoutText(read, task.positions && read.value !== undefined) };
  }
  if (task.kind === 'targets') {
    const read = parseTargets(task.text, task.file);
    return { kind: 'targets', read: withoutText(read, task.positions && read.value !== undefined) };
  }
  const read = definitionParser.report(task.text, task.file, task.name, task.of);
  return { kind: 'report', read: withoutText(read, task.positions && read.definition !== undefined) };
}

/** All diagnostics of a text: of its syntax, and of the catalog. */
export function validateText({ text, file, name, of, catalog, now }: ValidationTask): readonly Diagnostic[] {
  const { source, definition, diagnostics } = definitionParser.report(text, file, name, of);
  if (definition === undefined || of === undefined || catalog === undefined) return diagnostics;
  const periods = runPeriodsOf(definition, of.settings, now);
  const planned = [
    ...checkPlan({ definition, settings: of.settings, ...periods, catalog }),
    ...checkTargets(definition.targets ?? [], catalog),
  ];
  return limitDiagnostics(
    source,
    planned.map(({ path, ...fault }) => diagnosticAt(source, path, fault)).sort(comparePositions),
  );
}

const NO_LINES = new Uint32Array();

/** Drops what the caller has (the text) or does not need (positions, which are larger than the text). */
const withoutText = <Read extends { readonly source: SourceFile }>(read: Read, positions: boolean): Read => {
  const { tree, lines, file } = read.source;
  const kept = positions && tree !== undefined ? { lines, tree } : { lines: NO_LINES };
  return { ...read, source: { file, text: '', ...kept } };
};
