import type { z } from 'zod';
import { INVISIBLE } from '../../base/text/bidi.ts';
import { comparePositions, type Diagnostic, type DiagnosticText } from '../diagnostics/diagnostic.ts';
import { checkSchema, type PartialValue, type StandIns } from './check-schema.ts';
import { locate, parseYamlDocument, type SourceFile, type ValuePath } from './source-file.ts';
import { checkStructure, stopDiagnostic, syntaxDiagnostics } from './yaml-diagnostics.ts';

export interface ParsedSource<T> {
  readonly source: SourceFile;
  /** Absent if there is any diagnostic. */
  readonly value?: T;
  /** If there are diagnostics: what could be read, for further checks only. */
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
  const yaml = parseYamlDocument(file, text);
  const { source } = yaml;
  const stopped = stopDiagnostic(yaml);
  const syntax = stopped === undefined ? syntaxDiagnostics(yaml) : [stopped];
  if (syntax.length > 0) return { source, diagnostics: limitDiagnostics(source, syntax) };
  const structure = checkStructure(yaml);
  const found = structure.diagnostics;
  if (!structure.aliasesResolve) return { source, diagnostics: limitDiagnostics(source, found) };
  // `checkStructure` limits the expansion of aliases.
  const plain: unknown = yaml.document.toJS({ maxAliasCount: -1 });
  const { value, partial, diagnostics, more } = checkSchema({
    source,
    plain,
    schema,
    standIns,
    secretPaths: structure.secretPaths,
    max: MAX_FILE_DIAGNOSTICS,
  });
  const all = limitDiagnostics(source, [...found, ...diagnostics].sort(comparePositions), more);
  if (value !== undefined && all.length === 0) return { source, value, diagnostics: all };
  const rest = partial ?? (value === undefined ? undefined : { value, source, lost: [] });
  return { source, diagnostics: all, ...(rest === undefined ? {} : { partial: rest }) };
}

const MAX_FILE_DIAGNOSTICS = 100;

/**
 * The first diagnostics, and one that counts the others.
 * @param more number of further diagnostics that are not in the list
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

/** A diagnostic at a path in a file, for rules outside its schema: allow-lists, catalog. */
export const diagnosticAt = (source: SourceFile, path: ValuePath, text: DiagnosticText): Diagnostic => ({
  file: source.file,
  ...locate(source, path),
  code: 'report.invalid',
  ...text,
});

/** Spaces that look like an ordinary one, but are not spaces in YAML. */
const SPACES = /[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]/g;
/** Invisible characters, including joiners. */
const SHAPELESS = new RegExp(`${INVISIBLE.source}|[\\u200c\\u200d]`, 'g');
const ANY = new RegExp(`${SPACES.source}|${SHAPELESS.source}`, 'g');

const NAMES: Readonly<Record<string, string>> = {
  '\u00a0': 'a no-break space',
  '\u202f': 'a narrow no-break space',
  '\u3000': 'an ideographic space',
  '\u200b': 'a zero-width space',
  '\ufeff': 'a byte order mark',
  '\u00ad': 'a soft hyphen',
};

/** The most lines that are tried one by one. Further ones all count as mistakes. */
const MAX_LINES = 50;

interface Diagnosed {
  readonly diagnostics: readonly Diagnostic[];
}

/** A syntax error counts more than all others, because they are shown only if there is none. */
const severity = ({ diagnostics }: Diagnosed): number =>
  diagnostics.reduce((sum, { code }) => sum + (code?.startsWith('yaml.') ? 1_000 : 1), 0);

/**
 * Finds the invisible characters that cause errors in a file. Texts may contain some, so a line only counts if the file
 * has fewer errors with ordinary spaces in it.
 *
 * @param parse reads a text of the file
 * @returns the result for the corrected text, with a diagnostic for each such line; undefined if no line is the cause
 */
function correctInvisible<Parsed extends Diagnosed>(
  file: string,
  text: string,
  faulty: Parsed,
  parse: (text: string) => Parsed,
): { readonly parsed: Parsed; readonly diagnostics: readonly Diagnostic[] } | undefined {
  if (text.search(ANY) === -1) return undefined;
  const lines = text.split('\n');
  const corrected = lines.map((line) => line.replace(SPACES, ' ').replace(SHAPELESS, ''));
  let parsed = parse(corrected.join('\n'));
  if (severity(parsed) >= severity(faulty)) return undefined;
  const changed = lines.flatMap((line, index) => (line === corrected[index] ? [] : [index]));
  for (const index of changed.slice(0, MAX_LINES)) {
    const plain = corrected[index] ?? '';
    corrected[index] = lines[index] ?? '';
    const without = parse(corrected.join('\n'));
    if (severity(without) <= severity(parsed)) parsed = without;
    else corrected[index] = plain;
  }
  const mistakes = changed.filter((index) => lines[index] !== corrected[index]);
  return { parsed, diagnostics: mistakes.map((index) => buildDiagnostic(file, lines[index] ?? '', index)) };
}

function buildDiagnostic(file: string, line: string, index: number): Diagnostic {
  const column = line.search(ANY);
  const character = line[column] ?? '';
  const isSpace = character.search(SPACES) === 0;
  const name = NAMES[character] ?? (isSpace ? 'an unusual space' : 'an invisible character');
  const code = character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0');
  const more = (line.match(ANY)?.length ?? 1) - 1;
  return {
    file,
    line: index + 1,
    column: column + 1,
    code: 'yaml.invisible_character',
    message: name,
    expected: isSpace ? 'a plain space' : 'visible characters',
    got: `${name} (U+${code})${more === 0 ? '' : `, and ${more} more in this line`}`,
    next: isSpace ? 'write plain spaces' : 'delete it',
    end: { line: index + 1, column: column + 2 },
  };
}
