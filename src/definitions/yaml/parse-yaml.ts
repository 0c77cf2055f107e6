import type { z } from 'zod';
import { comparePositions, type Diagnostic, type DiagnosticText } from '../diagnostics/diagnostic.ts';
import { checkSchema, type PartialValue, type StandIns } from './check-schema.ts';
import { correctInvisible } from './invisible-characters.ts';
import { locate, type ParsedYaml, parseYamlDocument, type SourceFile, type ValuePath } from './source-file.ts';
import { checkStructure, hasSyntaxErrors, repairSyntax, stopDiagnostic } from './yaml-diagnostics.ts';

export interface ParsedSource<T> {
  readonly source: SourceFile;
  /** Absent if there is any diagnostic. */
  readonly value?: T;
  /** With diagnostics: what could be read beside them, for further checks. Never used for anything else. */
  readonly partial?: PartialValue<T>;
  readonly diagnostics: readonly Diagnostic[];
}

/** Parses YAML and validates it with a schema. Never throws. */
export function parseYaml<Schema extends z.ZodType>(
  file: string,
  text: string,
  schema: Schema,
  standIns: StandIns = () => undefined,
): ParsedSource<z.output<Schema>> {
  const parse = (each: string) => parseText(file, each, schema, standIns);
  const found = parse(text);
  const corrected = found.diagnostics.length === 0 ? undefined : correctInvisible(file, text, found, parse);
  if (corrected === undefined) return found;
  const { source, value, partial, diagnostics } = corrected.parsed;
  const rest = partial ?? (value === undefined ? undefined : { value, source, lost: [] });
  return {
    source,
    diagnostics: [...corrected.diagnostics, ...diagnostics].sort(comparePositions),
    ...(rest === undefined ? {} : { partial: rest }),
  };
}

function parseText<Schema extends z.ZodType>(
  file: string,
  text: string,
  schema: Schema,
  standIns: StandIns,
): ParsedSource<z.output<Schema>> {
  const { yaml, diagnostics: syntax, lostLines, complete } = readYaml(file, text);
  const { source } = yaml;
  if (!complete) return { source, diagnostics: syntax };
  const structure = checkStructure(yaml);
  const found = [...syntax, ...structure.diagnostics];
  if (!structure.aliasesResolve)
    return { source, diagnostics: limitDiagnostics(source, [...found].sort(comparePositions)) };
  // The expansion of aliases is limited by `checkStructure`.
  const plain: unknown = yaml.document.toJS({ maxAliasCount: -1 });
  const { value, partial, diagnostics, more } = checkSchema({
    source,
    plain,
    schema,
    standIns,
    secretPaths: structure.secretPaths,
    damaged: lostLines.flatMap((line) => damagedPaths(source, line)),
    max: MAX_FILE_DIAGNOSTICS,
  });
  const all = limitDiagnostics(source, [...found, ...diagnostics].sort(comparePositions), more);
  if (value !== undefined && all.length === 0) return { source, value, diagnostics: all };
  const rest = partial ?? (value === undefined ? undefined : { value, source, lost: [] });
  return { source, diagnostics: all, ...(rest === undefined ? {} : { partial: rest }) };
}

/** The document of a text, after repairs if it has syntax errors. */
function readYaml(file: string, text: string) {
  const yaml = parseYamlDocument(file, text);
  const stopped = stopDiagnostic(yaml);
  if (stopped !== undefined) return { yaml, diagnostics: [stopped], lostLines: [], complete: false };
  if (!hasSyntaxErrors(yaml)) return { yaml, diagnostics: [], lostLines: [], complete: true };
  const repaired = repairSyntax(yaml);
  const { diagnostics, lostLines, complete } = repaired;
  const reread: ParsedYaml = complete
    ? parseYamlDocument(file, text, { text: repaired.text, toOriginal: repaired.map.toOriginal })
    : yaml;
  return { yaml: reread, diagnostics, lostLines, complete };
}

/** What a line that could not be read may have belonged to: the field or entry around it, and the whole file. */
function damagedPaths({ tree, lines }: SourceFile, line: number): ValuePath[] {
  const offset = lines[line] ?? 0;
  const before = [...(tree?.fields ?? [])].filter(([, { key = Number.POSITIVE_INFINITY }]) => key <= offset);
  const [name, field] = before.sort(([, a], [, b]) => (a.key ?? 0) - (b.key ?? 0)).at(-1) ?? [];
  if (name === undefined) return [[]];
  const items = field?.value?.items ?? [];
  const item = items.findLastIndex((each) => (each?.offset ?? Number.POSITIVE_INFINITY) <= offset);
  return [[], item === -1 ? [name] : [name, item]];
}

const MAX_FILE_DIAGNOSTICS = 100;

/**
 * The first diagnostics, and one that counts the others.
 * @param more number of diagnostics not in the list
 */
export function limitDiagnostics(
  source: SourceFile,
  diagnostics: readonly Diagnostic[],
  more = 0,
): readonly Diagnostic[] {
  const shown = diagnostics.slice(0, MAX_FILE_DIAGNOSTICS);
  const others = diagnostics.length - shown.length + more;
  const last = shown.at(-1);
  if (others === 0 || last === undefined) return shown;
  const { line, column } = last;
  return [
    ...shown,
    {
      file: source.file,
      line,
      column,
      code: 'report.invalid',
      message: 'some errors of this file are not shown',
      expected: 'fewer errors',
      got: `${others} more`,
      next: 'correct the first ones and check again',
    },
  ];
}

/** A diagnostic at a path of a source, for rules outside its schema: the allow-lists, the catalog. */
export const diagnosticAt = (source: SourceFile, path: ValuePath, text: DiagnosticText): Diagnostic => ({
  file: source.file,
  ...locate(source, path),
  code: 'report.invalid',
  ...text,
});
