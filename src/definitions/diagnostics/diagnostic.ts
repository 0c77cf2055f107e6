/** An error in a file with its position: one line of `docket check`. */
export interface Diagnostic {
  /** Path from the working directory: `jobs/acme/weekly.yaml`. */
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** From 1, in UTF-16 code units, as editors count. */
  readonly column: number;
  /** The rule, if `expected` is not enough. */
  readonly message?: string;
  readonly expected: string;
  /** The actual value; never a secret. */
  readonly got: string;
  /** What to do, as an imperative sentence without full stop. */
  readonly next: string;
  /** Stable error code for programs: reading the file exceeds a resource limit. */
  readonly code?: 'definition.over_limit';
}

/** A diagnostic without its position. */
export type DiagnosticText = Pick<Diagnostic, 'message' | 'expected' | 'got' | 'next'>;

/** A diagnostic of a whole file. */
export const fileDiagnostic = (file: string, expected: string, got: string, next: string): Diagnostic => ({
  file,
  line: 1,
  column: 1,
  expected,
  got,
  next,
});

/** A definition that takes too much time or memory. */
export const overLimitDiagnostic = (file: string, limit: string): Diagnostic => ({
  ...fileDiagnostic(
    file,
    `a definition that is read within ${limit}`,
    'one that takes longer',
    'shorten its lists, or split the report',
  ),
  code: 'definition.over_limit',
});

/** `file:line:column: expected …, got …; do: …`, always one line; the code, where there is one, at its end. */
export function formatDiagnostic(diagnostic: Diagnostic): string {
  const message = diagnostic.message === undefined ? '' : `${diagnostic.message}: `;
  const code = diagnostic.code === undefined ? '' : ` [${diagnostic.code}]`;
  const line = `${diagnostic.file}:${diagnostic.line}:${diagnostic.column}: ${message}expected ${diagnostic.expected}, got ${diagnostic.got}; do: ${diagnostic.next}${code}`;
  // File and field names may contain anything: line breaks must not forge lines, nor open bidi controls reorder text.
  return line.replace(
    /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** By file, then by position. */
export const comparePositions = (a: Diagnostic, b: Diagnostic): number =>
  (a.file < b.file ? -1 : a.file > b.file ? 1 : 0) || a.line - b.line || a.column - b.column;

const MAX_SHOWN_LENGTH = 60;

/** A value of a file for a diagnostic: short, on one line, strings in quotes. */
export function describeValue(value: unknown): string {
  if (value === undefined || value === null) return 'nothing';
  if (typeof value === 'string')
    return value.length > MAX_SHOWN_LENGTH
      ? `${JSON.stringify(value.slice(0, MAX_SHOWN_LENGTH))}…`
      : JSON.stringify(value);
  if (typeof value === 'number') return `${value} (a number)`;
  if (typeof value === 'boolean') return `${value} (true or false)`;
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : `a list of ${value.length}`;
  return 'a mapping';
}
