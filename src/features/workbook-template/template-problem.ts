import type { DiagnosticCode } from '../../definitions/diagnostics/diagnostic.ts';

export interface ProblemPlace {
  readonly sheet: string;
  /** `B4` or `B4:C9`. Absent: the whole sheet. */
  readonly cell?: string;
}

/** Something that prevents filling a template, or that its reader should know. */
export interface TemplateProblem {
  /** A template with an error is not filled, unless all its errors are `workbook.unit`. */
  readonly severity: 'error' | 'warning';
  readonly code: TemplateProblemCode;
  /** The place in the workbook. Absent: the whole file. */
  readonly at?: ProblemPlace;
  /** The rule, if `expected` does not make it clear. A sentence without a full stop. */
  readonly message?: string;
  readonly expected: string;
  readonly got: string;
  /** What to do: an imperative sentence without a full stop. */
  readonly next: string;
}

export type TemplateProblemCode = Extract<DiagnosticCode, `workbook.${string}`>;

const MAX_SHOWN_LENGTH = 80;
const MAX_SAMPLE = 8;

/** A name from a workbook for a problem's text: shortened, on one line. */
export const quoted = (text: string): string => {
  const line = text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim();
  return `"${line.length <= MAX_SHOWN_LENGTH ? line : `${line.slice(0, MAX_SHOWN_LENGTH)}…`}"`;
};

/** The first few names: `a, b, c, …`. */
export const sample = (names: readonly string[]): string =>
  [...names.slice(0, MAX_SAMPLE), ...(names.length > MAX_SAMPLE ? ['…'] : [])].join(', ');
