import type { DiagnosticCode } from '../../definitions/diagnostics/diagnostic.ts';

export interface ProblemPlace {
  readonly sheet: string;
  /** `B4` or `B4:C9`; absent: the sheet as a whole. */
  readonly cell?: string;
}

/** What a template cannot be filled with, or what its reader should know. */
export interface TemplateProblem {
  /** A template with an error is not filled; one with only `workbook.unit` is. */
  readonly severity: 'error' | 'warning';
  readonly code: TemplateProblemCode;
  /** Where in the workbook; absent: the file as a whole. */
  readonly at?: ProblemPlace;
  /** The rule, if `expected` is not enough; a sentence without full stop. */
  readonly message?: string;
  readonly expected: string;
  readonly got: string;
  /** What to do, as an imperative sentence without full stop. */
  readonly next: string;
}

export type TemplateProblemCode = Extract<DiagnosticCode, `workbook.${string}`>;

const MAX_SHOWN_LENGTH = 80;
const MAX_SAMPLE = 8;

/** A name from a workbook as part of a problem: shortened, on one line. */
export const quoted = (text: string): string => {
  const line = text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim();
  return `"${line.length <= MAX_SHOWN_LENGTH ? line : `${line.slice(0, MAX_SHOWN_LENGTH)}…`}"`;
};

/** The first of some names: `a, b, c, …`. */
export const sample = (names: readonly string[]): string =>
  [...names.slice(0, MAX_SAMPLE), ...(names.length > MAX_SAMPLE ? ['…'] : [])].join(', ');
