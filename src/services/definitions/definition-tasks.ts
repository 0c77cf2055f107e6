import type { Catalog } from '../../contract/catalog.ts';
import { comparePositions, type Diagnostic } from '../../definitions/diagnostics/diagnostic.ts';
import { protectionDiagnostics } from '../../definitions/diagnostics/protection-diagnostics.ts';
import {
  type LoadedOrg,
  type ParsedReport,
  type ParsedSettings,
  type ParsedTargets,
  parseSettings,
  parseTargets,
  type ReportText,
  type SyncDefinitionParser,
} from '../../definitions/load/parse-definitions.ts';
import type { DefinitionKinds } from '../../definitions/schema/kinds.ts';
import { limitDiagnostics } from '../../definitions/yaml/parse-yaml.ts';
import type { SourceFile } from '../../definitions/yaml/source-file.ts';
import { catalogDiagnostics } from './catalog-diagnostics.ts';

/** A task for the definition thread: parse a file, or validate a submitted text. */
export type DefinitionTask =
  | {
      readonly kind: 'reports';
      readonly positions: boolean;
      readonly texts: readonly ReportText[];
      readonly of: LoadedOrg | undefined;
    }
  | {
      readonly kind: 'settings';
      readonly positions: boolean;
      readonly text: string;
      readonly file: string;
    }
  | { readonly kind: 'targets'; readonly positions: boolean; readonly text: string; readonly file: string }
  | ({ readonly kind: 'posted' } & ValidationTask);

export interface ValidationTask extends ReportText {
  readonly of: LoadedOrg | undefined;
  readonly catalog: Catalog | undefined;
  readonly now: number;
}

export type DefinitionAnswer =
  | { readonly kind: 'reports'; readonly read: readonly ParsedReport[] }
  | { readonly kind: 'settings'; readonly read: ParsedSettings }
  | { readonly kind: 'targets'; readonly read: ParsedTargets }
  | { readonly kind: 'posted'; readonly faults: readonly Diagnostic[] };

/** What a thread needs to read definitions. */
export interface DefinitionReading {
  readonly parser: SyncDefinitionParser;
  readonly kinds: DefinitionKinds;
}

export function handleTask(reading: DefinitionReading, task: DefinitionTask): DefinitionAnswer {
  if (task.kind === 'posted') return { kind: 'posted', faults: validateText(reading, task) };
  if (task.kind === 'settings') {
    const read = parseSettings(task.text, task.file);
    return { kind: 'settings', read: withoutText(read, task.positions && read.value !== undefined) };
  }
  if (task.kind === 'targets') {
    const read = parseTargets(task.text, task.file);
    return { kind: 'targets', read: withoutText(read, task.positions && read.value !== undefined) };
  }
  const { positions, texts, of } = task;
  const all = texts.map(({ text, file, name }) => {
    const read = reading.parser.report(text, file, name, of);
    return withoutText(partialWithoutText(read, positions), positions && read.definition !== undefined);
  });
  return { kind: 'reports', read: all };
}

/** All diagnostics of a text: syntax and catalog. */
export function validateText(
  { parser, kinds }: DefinitionReading,
  { text, file, name, of, catalog, now }: ValidationTask,
): readonly Diagnostic[] {
  const { source, definition, partial, diagnostics } = parser.report(text, file, name, of);
  const read = definition === undefined ? partial : { value: definition, source, lost: [] };
  // A submitted text has no earlier version that was allowed.
  const clear = definition === undefined ? [] : protectionDiagnostics(source, definition, kinds);
  if (read === undefined || of === undefined || catalog === undefined) return [...diagnostics, ...clear];
  return limitDiagnostics(
    source,
    [...diagnostics, ...clear, ...catalogDiagnostics(read, of.settings, catalog, now)].sort(comparePositions),
  );
}

const NO_LINES = new Uint32Array();

/** Drops what the caller already has (the text) or does not need (positions, which are larger than the text). */
const withoutText = <Read extends { readonly source: SourceFile }>(read: Read, positions: boolean): Read => {
  const { tree, lines, file } = read.source;
  const kept = positions && tree !== undefined ? { lines, tree } : { lines: NO_LINES };
  return { ...read, source: { file, text: '', ...kept } };
};

/** The same for the valid parts of a report with faults. They are only useful with their positions. */
const partialWithoutText = ({ partial, ...read }: ParsedReport, positions: boolean): ParsedReport =>
  partial === undefined || !positions
    ? read
    : { ...read, partial: { ...partial, source: { ...partial.source, text: '' } } };
