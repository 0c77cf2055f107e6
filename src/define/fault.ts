/** What is wrong in a file, where, and what to do: one line of `docket check`. */
export interface Fault {
  /** As the reader would open it, from where Docket runs: `jobs/acme/weekly.yaml`. */
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** From 1, in UTF-16 code units, as editors count. */
  readonly column: number;
  /** Names the rule when `expected` alone would not say it. */
  readonly message?: string;
  readonly expected: string;
  /** What is there instead; never a secret. */
  readonly got: string;
  /** What to do, as an imperative sentence without its full stop. */
  readonly next: string;
  /** Stable, where programs may go by it: the file was given up, for what reading it costs. */
  readonly code?: 'definition.over_limit';
}

/** A fault of a file as a whole. */
export const atStart = (file: string, expected: string, got: string, next: string): Fault => ({
  file,
  line: 1,
  column: 1,
  expected,
  got,
  next,
});

/** A definition that takes more time or memory than it may. */
export const overLimit = (file: string, limit: string): Fault => ({
  ...atStart(
    file,
    `a definition that is read within ${limit}`,
    'one that is not',
    'shorten its lists, or split the report',
  ),
  code: 'definition.over_limit',
});

/** `file:line:column: expected …, got …; do: …`, always one line; the code, where there is one, at its end. */
export function formatFault(fault: Fault): string {
  const message = fault.message === undefined ? '' : `${fault.message}: `;
  const code = fault.code === undefined ? '' : ` [${fault.code}]`;
  const line = `${fault.file}:${fault.line}:${fault.column}: ${message}expected ${fault.expected}, got ${fault.got}; do: ${fault.next}${code}`;
  // A file's name or a field's may hold anything: a line break in it must not forge a line of the report, nor a direction
  // that is left open turn around what stands behind it.
  return line.replace(
    /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** By file, then by position. */
export const byPosition = (a: Fault, b: Fault): number =>
  (a.file < b.file ? -1 : a.file > b.file ? 1 : 0) || a.line - b.line || a.column - b.column;

const LONGEST = 60;

/** A value of a file as a fault shows it: short, on one line, and told apart from a text that looks like it. */
export function show(value: unknown): string {
  if (value === undefined || value === null) return 'nothing';
  if (typeof value === 'string')
    return value.length > LONGEST ? `${JSON.stringify(value.slice(0, LONGEST))}…` : JSON.stringify(value);
  if (typeof value === 'number') return `${value} (a number)`;
  if (typeof value === 'boolean') return `${value} (true or false)`;
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : `a list of ${value.length}`;
  return 'a mapping';
}
