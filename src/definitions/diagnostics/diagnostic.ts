/** Stable codes of diagnostics, for programs. */
export type DiagnosticCode =
  /** A file or folder as a whole: its name, place, size or encoding. */
  | 'file.invalid'
  /** Reading the file exceeds a resource limit. */
  | 'definition.over_limit'
  | 'yaml.syntax'
  | 'yaml.tab'
  /** A no-break space, or a character without a shape, where YAML needs a plain space or none. */
  | 'yaml.invisible_character'
  | 'yaml.unquoted_template'
  | 'yaml.missing_space'
  | 'yaml.unclosed_quote'
  | 'yaml.merge_conflict'
  | 'yaml.duplicate_field'
  | 'yaml.alias'
  | 'secret.literal'
  | 'field.unknown'
  | 'field.missing'
  | 'field.invalid'
  | 'recipient.invalid'
  | 'recipient.not_allowed'
  | 'scope.not_allowed'
  | 'template.invalid'
  | 'report.invalid'
  /** A value, an address list or a delivery of a report with `split`. */
  | 'split.invalid'
  /** What this version does not do in a report with `split`. */
  | 'split.not_supported'
  | 'budget.conflict'
  /** Figures of a protected workbook are sent in the clear. */
  | 'delivery.unprotected'
  /** None of the calls of a slot can be made before it. */
  | 'prepare.nothing'
  /** Calls may be made before the service has complete figures. */
  | 'prepare.early'
  /** Reports of a slot cannot all be delivered within their `late_after`. */
  | 'schedule.late'
  /** Fewer people can approve than an approval needs. */
  | 'approval.unreachable'
  /** The organization's catalog does not have it. */
  | 'catalog.unknown'
  /** The catalog has it, but does not allow it here. */
  | 'catalog.not_allowed'
  /** No workbook, damaged, encrypted, signed as a whole, too large, or with parts that break the rules of packages. */
  | 'workbook.invalid'
  /** External links, DDE, remote images and other content that reaches outside the workbook. */
  | 'workbook.external'
  /** A table or name that asks for what the report has not. */
  | 'workbook.unknown'
  /** Two tables for one column, names of sections that collide, one cell with two names. */
  | 'workbook.ambiguous'
  /** Merged cells, array formulas or another table in the way of growth. */
  | 'workbook.obstacle'
  /** A duration without a unit, or in a cell whose format names another unit. */
  | 'workbook.unit'
  /** INDIRECT, OFFSET and references across several sheets, which do not follow growth. */
  | 'workbook.not_followed'
  /** A section or metric of the report that the template does not show. */
  | 'workbook.unused';

/** An error in a file with its position. `docket check` shows it with its source line. */
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
  readonly code?: DiagnosticCode;
  /** Behind the last character, as `line` and `column`. Absent: not known. */
  readonly end?: { readonly line: number; readonly column: number };
  /** Keys and indexes from the root of the file to the value. Absent: no value, e.g. a syntax error. */
  readonly path?: readonly (string | number)[];
  /** Of a workbook, instead of line and column, which are 1: `Board!B4`, or `Board` for the sheet as a whole. */
  readonly cell?: string;
}

/** A diagnostic without its position. */
export type DiagnosticText = Pick<Diagnostic, 'message' | 'expected' | 'got' | 'next' | 'code'>;

/** A diagnostic of a whole file. */
export const fileDiagnostic = (file: string, expected: string, got: string, next: string): Diagnostic => ({
  file,
  line: 1,
  column: 1,
  expected,
  got,
  next,
  code: 'file.invalid',
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

/** `jobs/acme/weekly.yaml:4:12`, and of a workbook `jobs/acme/board.xlsx:Board!B4`. */
export const formatPosition = ({ file, line, column, cell }: Diagnostic): string =>
  cell === undefined ? `${file}:${line}:${column}` : `${file}:${cell}`;

/** `file:line:column: expected …, got …; do: …`, always one line; the code of an exceeded limit at its end. */
export function formatDiagnostic(diagnostic: Diagnostic): string {
  const message = diagnostic.message === undefined ? '' : `${diagnostic.message}: `;
  const code = diagnostic.code === 'definition.over_limit' ? ` [${diagnostic.code}]` : '';
  const line = `${formatPosition(diagnostic)}: ${message}expected ${diagnostic.expected}, got ${diagnostic.got}; do: ${diagnostic.next}${code}`;
  // File and field names may contain anything: line breaks must not forge lines, nor open bidi controls reorder text. Spaces
  // that are not plain ones and characters without a shape would be taken for nothing.
  return line.replace(
    /(?! )[\p{Cc}\p{Z}\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]/gu,
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
