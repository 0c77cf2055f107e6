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

export type TemplateProblemCode =
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
  /** INDIRECT, OFFSET and references across several sheets, which do not follow growth. */
  | 'workbook.not_followed'
  /** A section or metric of the report that the template does not show. */
  | 'workbook.unused';
