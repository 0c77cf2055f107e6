import type { z } from 'zod';
import { comparePositions, type Diagnostic, type DiagnosticText } from '../diagnostics/diagnostic.ts';
import { issueDiagnostics, zodErrorMap } from './schema-diagnostics.ts';
import { locate, parseYamlDocument, type SourceFile, type ValuePath } from './source-file.ts';
import { checkStructure, syntaxDiagnostics } from './yaml-diagnostics.ts';

export interface ParsedSource<T> {
  readonly source: SourceFile;
  /** Absent if there is any diagnostic. */
  readonly value?: T;
  readonly diagnostics: readonly Diagnostic[];
}

/** Parses YAML and validates it with a schema. Never throws. */
export function parseYaml<Schema extends z.ZodType>(
  file: string,
  text: string,
  schema: Schema,
): ParsedSource<z.output<Schema>> {
  const yaml = parseYamlDocument(file, text);
  const { source } = yaml;
  const syntax = syntaxDiagnostics(yaml);
  if (syntax.length > 0) return { source, diagnostics: syntax };
  const structure = checkStructure(yaml);
  if (!structure.aliasesResolve) return { source, diagnostics: limitDiagnostics(source, structure.diagnostics) };
  // The expansion of aliases is limited by `checkStructure`.
  const plain: unknown = yaml.document.toJS({ maxAliasCount: -1 });
  const parsed = schema.safeParse(plain, { error: zodErrorMap });
  const issues = parsed.success ? [] : parsed.error.issues;
  const { diagnostics, more } = issueDiagnostics(source, plain, issues, structure.secretPaths, MAX_FILE_DIAGNOSTICS);
  const all = limitDiagnostics(source, [...structure.diagnostics, ...diagnostics].sort(comparePositions), more);
  return parsed.success && all.length === 0
    ? { source, value: parsed.data, diagnostics: all }
    : { source, diagnostics: all };
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
  ...text,
});
