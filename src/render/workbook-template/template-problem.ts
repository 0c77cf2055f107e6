import type { DiagnosticCode } from '../../definitions/diagnostics/diagnostic.ts';

export interface ProblemPlace {
  readonly sheet: string;
  /** `B4` or `B4:C9`; absent: the sheet as a whole. */
  readonly cell?: string;
}

/** What a template cannot be filled with, or what its reader should know. */
export interface TemplateProblem {
  /** A template with an error is not filled. */
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
