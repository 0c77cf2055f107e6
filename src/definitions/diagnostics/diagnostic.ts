/** Stable codes of diagnostics, for programs. */
export type DiagnosticCode =
  /** The file or folder itself: its name, place, size or encoding. */
  | 'file.invalid'
  /** Reading the file exceeds a resource limit. */
  | 'definition.over_limit'
  | 'yaml.syntax'
  | 'yaml.tab'
  /** A no-break space, or an invisible character, where YAML needs an ordinary space or none. */
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
  /** A value, a list of addresses or a delivery in a report with `split`. */
  | 'split.invalid'
  /** This version cannot do it in a report with `split`. */
  | 'split.not_supported'
  | 'budget.conflict'
  /** Figures of a protected workbook are also sent without protection. */
  | 'delivery.unprotected'
  /** No call of a slot can be made before it. */
  | 'prepare.nothing'
  /** Calls may be made before the service has complete figures. */
  | 'prepare.early'
  /** The reports of a slot cannot all be delivered within `late_after`. */
  | 'schedule.late'
  /** Fewer people can approve than the approval needs. */
  | 'approval.unreachable'
  /** The organization's catalog does not have it. */
  | 'catalog.unknown'
  /** The catalog has it, but does not allow it here. */
  | 'catalog.not_allowed'
  /**
   * Not a workbook, damaged, encrypted, signed as a whole, too large, or with parts that break the rules of packages.
   */
  | 'workbook.invalid'
  /** External links, DDE, remote images and other content that reaches outside the workbook. */
  | 'workbook.external'
  /** A table or name in the template refers to something that the report does not have. */
  | 'workbook.unknown'
  /** Two tables for one column, sections with colliding names, or two names for one cell. */
  | 'workbook.ambiguous'
  /** Merged cells, array formulas or another table where a table must grow. */
  | 'workbook.obstacle'
  /** A duration without a unit, or in a cell whose format names another unit. */
  | 'workbook.unit'
  /** INDIRECT, OFFSET and references across several sheets, which do not adapt when a table grows. */
  | 'workbook.not_followed'
  /** The template does not show a section or metric of the report. */
  | 'workbook.unused';

/** An error in a file, with its position. `docket check` shows it with its source line. */
export interface Diagnostic {
  /** Path from the working directory: `jobs/acme/weekly.yaml`. */
  readonly file: string;
  /** Counted from 1. */
  readonly line: number;
  /** Counted from 1, in UTF-16 code units, like editors do. */
  readonly column: number;
  /** The rule, if `expected` does not explain it. */
  readonly message?: string;
  readonly expected: string;
  /** The actual value; never a secret. */
  readonly got: string;
  /** What to do, as an imperative sentence without a full stop. */
  readonly next: string;
  readonly code?: DiagnosticCode;
  /** The position after the last character, in the same units. Absent: not known. */
  readonly end?: { readonly line: number; readonly column: number };
  /** Keys and indexes from the root of the file to the value. Absent if there is no value, e.g. for a syntax error. */
  readonly path?: readonly (string | number)[];
  /** In a workbook, where line and column are 1: `Board!B4`, or `Board` for the whole sheet. */
  readonly cell?: string;
}

/** A diagnostic without its position. */
export type DiagnosticText = Pick<Diagnostic, 'message' | 'expected' | 'got' | 'next' | 'code'>;

/** A diagnostic about a whole file. */
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

/** `jobs/acme/weekly.yaml:4:12`, or `jobs/acme/board.xlsx:Board!B4` for a workbook. */
export const formatPosition = ({ file, line, column, cell }: Diagnostic): string =>
  cell === undefined ? `${file}:${line}:${column}` : `${file}:${cell}`;

/** `file:line:column: expected …, got …; do: …`, always on one line. The code of an exceeded limit is at its end. */
export function formatDiagnostic(diagnostic: Diagnostic): string {
  const message = diagnostic.message === undefined ? '' : `${diagnostic.message}: `;
  const code = diagnostic.code === 'definition.over_limit' ? ` [${diagnostic.code}]` : '';
  const line = `${formatPosition(diagnostic)}: ${message}expected ${diagnostic.expected}, got ${diagnostic.got}; do: ${diagnostic.next}${code}`;
  // File and field names may contain anything: line breaks must not forge lines, and open bidi controls must not
  // reorder text. Unusual spaces and invisible characters would not be noticed.
  return line.replace(
    /(?! )[\p{Cc}\p{Z}\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Compares by file, then by position. */
export const comparePositions = (a: Diagnostic, b: Diagnostic): number =>
  (a.file < b.file ? -1 : a.file > b.file ? 1 : 0) || a.line - b.line || a.column - b.column;

const MAX_SHOWN_LENGTH = 60;

/** Describes a value in a diagnostic: short, on one line, with strings in quotes. */
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
