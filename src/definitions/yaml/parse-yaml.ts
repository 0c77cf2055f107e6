import type { z } from 'zod';
import { comparePositions, type Diagnostic } from '../diagnostics/diagnostic.ts';
import { issueDiagnostics, zodErrorMap } from './schema-diagnostics.ts';
import { locate, parseYamlDocument, type SourceFile, type ValuePath } from './source-file.ts';
import { checkStructure, syntaxDiagnostics } from './yaml-diagnostics.ts';

export interface ParsedSource<T> {
  readonly source: SourceFile;
  /** Absent when there is any fault. */
  readonly value?: T;
  readonly diagnostics: readonly Diagnostic[];
}

/** A file's text through YAML and a schema, with every fault at its position. Never throws. */
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
  // What the aliases come to is limited by the structure.
  const plain: unknown = yaml.document.toJS({ maxAliasCount: -1 });
  const parsed = schema.safeParse(plain, { error: zodErrorMap });
  const issues = parsed.success ? [] : parsed.error.issues;
  const { faults, more } = issueDiagnostics(source, plain, issues, structure.secretPaths, MAX_FILE_DIAGNOSTICS);
  const all = limitDiagnostics(source, [...structure.diagnostics, ...faults].sort(comparePositions), more);
  return parsed.success && all.length === 0
    ? { source, value: parsed.data, diagnostics: all }
    : { source, diagnostics: all };
}

/** A person corrects some and checks again; a file of nothing but faults must not take minutes to say so. */
const MAX_FILE_DIAGNOSTICS = 100;

/**
 * The first faults, and one that counts the others.
 * @param more how many there are beside them
 */
export function limitDiagnostics(source: SourceFile, faults: readonly Diagnostic[], more = 0): readonly Diagnostic[] {
  const shown = faults.slice(0, MAX_FILE_DIAGNOSTICS);
  const others = faults.length - shown.length + more;
  const last = shown.at(-1);
  if (others === 0 || last === undefined) return shown;
  const { line, column } = last;
  return [
    ...shown,
    {
      file: source.file,
      line,
      column,
      message: 'not all faults of this file are shown',
      expected: 'fewer faults',
      got: `${others} more`,
      next: 'correct the first ones and check again',
    },
  ];
}

/** A fault at a path of a source, for rules that know more than its schema: the allow-list, the catalog. */
export const diagnosticAt = (
  source: SourceFile,
  path: ValuePath,
  parts: Pick<Diagnostic, 'message' | 'expected' | 'got' | 'next'>,
): Diagnostic => ({
  file: source.file,
  ...locate(source, path),
  ...parts,
});
