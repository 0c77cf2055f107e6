import type { Granularity } from '../../../contract/report.ts';
import type { ComparisonKind, ToDate } from '../../../definitions/schema/comparison.ts';
import type { DurationUnit } from '../../../definitions/schema/values/units.ts';
import type { TemplateProblem } from '../template-problem.ts';
import type { DefinedName, TemplateTable } from '../workbook/workbook.ts';

/** The value of a cell: a number, date, text or nothing. Never a formula. */
export type CellValue = number | string | boolean | ExcelDate | null;

/**
 * A day, or an instant in the report's zone, as days since 30 December 1899. This is how Excel counts from 1 March 1900
 * on.
 */
export interface ExcelDate {
  readonly serial: number;
}

/**
 * A figure of a metric: its value, a compared value, the change, the total since the start of e.g. the year, or its
 * target.
 */
export type FigureTarget =
  | { readonly figure: 'value' | 'to_date' | 'target' | 'status' }
  | { readonly figure: 'previous' | 'change'; readonly comparison: ComparisonKind };

/** What a table's column is filled with. */
export interface ColumnTarget {
  /** The name of the column in its section. */
  readonly column: string;
  /** Absent for a bucket, week, dimension or field. */
  readonly figure?: FigureTarget;
  /** `week`: the ISO week of the bucket, as text. `utc`: instants of a field in UTC instead of the report's zone. */
  readonly as?: 'week' | 'utc';
  /** Unit of a duration; absent: seconds. */
  readonly unit?: DurationUnit;
}

/** What the cell of a defined name is filled with. */
export type NameTarget =
  | { readonly kind: 'text'; readonly of: TextVariable }
  | { readonly kind: 'date'; readonly of: 'made_at' | 'period.start' | 'period.end' }
  /** `number` counts from 1. */
  | { readonly kind: 'headline'; readonly number: number }
  /** Null: the comment on the whole report. */
  | { readonly kind: 'comment'; readonly section: string | null }
  /** What readers must know about a section's figures: days, filters, figures that still grow, or are not compared. */
  | { readonly kind: 'notes'; readonly section: string }
  /** The total of a section. */
  | { readonly kind: 'figure'; readonly section: string; readonly target: ColumnTarget };

export type TextVariable =
  | 'period.label'
  | 'org'
  | 'report'
  | 'title'
  | 'completeness'
  | 'classification'
  | 'approval'
  | 'correction';

export interface BoundTable {
  readonly table: TemplateTable;
  /** The section's id. */
  readonly section: string;
  /** One per column of the table. Null: the author's own column. */
  readonly columns: readonly (ColumnTarget | null)[];
}

export interface BoundName {
  readonly name: DefinedName;
  readonly target: NameTarget;
}

/** Which values fill which tables and cells of a template. */
export interface TemplateBindings {
  readonly tables: readonly BoundTable[];
  readonly names: readonly BoundName[];
  /** References to things that the report does not have, and parts of the report that are not shown. */
  readonly problems: readonly TemplateProblem[];
}

/** What templates can bind to in a section. Known from the definition and the catalog, before there are figures. */
export interface SectionOutline {
  readonly id: string;
  readonly title: string;
  /** For a list that was not read yet: empty, or only the certain columns. */
  readonly columns: readonly OutlineColumn[];
  /** Null: one row per group. */
  readonly granularity: Granularity | null;
  /** Order matters: `.previous` and `.change` belong to the first one. */
  readonly comparisons: readonly ComparisonKind[];
  readonly toDate: ToDate | null;
  /** Whether names can refer to its figures: it has totals, or one row that stands for them. */
  readonly totals: boolean;
  /** Whether it is a text, which has no figures. A table for it is a problem. */
  readonly text: boolean;
  /** Whether it is a list. The service determines its fields, so unknown columns are not a problem. */
  readonly list: boolean;
}

export interface OutlineColumn {
  /** The API's id; `bucket` for time. */
  readonly name: string;
  readonly kind: 'time' | 'dimension' | 'metric' | 'field';
  /** The deprecated metric in the definition that this one replaces. */
  readonly formerly?: string;
  /** Names that headers can use: the label of the catalog or of the report. Empty if the catalog is unknown. */
  readonly labels: readonly string[];
  /** `count`, `ratio`, `seconds` or another unit. Null if it is no metric, undefined if the catalog is unknown. */
  readonly unit?: string | null;
  /** The unit for this duration from the report's `units`. */
  readonly shownIn?: DurationUnit;
}

/** What templates can refer to. */
export interface ReportOutline {
  readonly sections: readonly SectionOutline[];
  /** Maximum number of a headline that names can refer to. */
  readonly headlines: number;
  /** Whether labels are known. If so, a header that is neither id nor label is an error. */
  readonly labelsKnown: boolean;
  /** Whether the report needs approval. A template should then show it, and corrections too if they are watched. */
  readonly approval: boolean;
  /** Whether the report can have files with missing figures. */
  readonly incomplete: boolean;
  readonly corrections: boolean;
  /** Ids of the sections that have, or can have, a comment. */
  readonly commented: readonly string[];
}
