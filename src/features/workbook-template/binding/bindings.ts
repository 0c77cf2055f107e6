import type { Granularity } from '../../../contract/report.ts';
import type { ComparisonKind, ToDate } from '../../../definitions/schema/comparison.ts';
import type { DurationUnit } from '../../../definitions/schema/values/units.ts';
import type { TemplateProblem } from '../template-problem.ts';
import type { DefinedName, TemplateTable } from '../workbook/workbook.ts';

/** What a cell gets: a number, a date, a text, or nothing. Never a formula. */
export type CellValue = number | string | boolean | ExcelDate | null;

/** A day, or an instant in the report's zone: days since 30 December 1899, as Excel counts from 1 March 1900 on. */
export interface ExcelDate {
  readonly serial: number;
}

/** A figure of a metric: its own, one that it is compared with, the change, from the start of a year on, or its target. */
export type FigureTarget =
  | { readonly figure: 'value' | 'to_date' | 'target' | 'status' }
  | { readonly figure: 'previous' | 'change'; readonly comparison: ComparisonKind };

/** What the cells of a table's column get. */
export interface ColumnTarget {
  /** Of the section: the name of its column. */
  readonly column: string;
  /** Absent for a bucket, a week, a dimension or a field. */
  readonly figure?: FigureTarget;
  /** `week`: the ISO week of the bucket, as text. `utc`: instants of a field in UTC, not in the report's zone. */
  readonly as?: 'week' | 'utc';
  /** Of a duration; seconds where absent. */
  readonly unit?: DurationUnit;
}

/** What the cell of a defined name gets. */
export type NameTarget =
  | { readonly kind: 'text'; readonly of: TextVariable }
  | { readonly kind: 'date'; readonly of: 'made_at' | 'period.start' | 'period.end' }
  /** From 1. */
  | { readonly kind: 'headline'; readonly number: number }
  /** Null: the comment on the whole report. */
  | { readonly kind: 'comment'; readonly section: string | null }
  /** What readers must know of a section's figures: days, filters, what still grows, what is not compared. */
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
  /** One for each column of the table; null: the template's own. */
  readonly columns: readonly (ColumnTarget | null)[];
}

export interface BoundName {
  readonly name: DefinedName;
  readonly target: NameTarget;
}

/** What of a template gets which values. */
export interface TemplateBindings {
  readonly tables: readonly BoundTable[];
  readonly names: readonly BoundName[];
  /** What asks for something that the report has not, and what of the report is shown nowhere. */
  readonly problems: readonly TemplateProblem[];
}

/** A section as far as templates bind to it: known from the definition and the catalog, before there are figures. */
export interface SectionOutline {
  readonly id: string;
  readonly title: string;
  /** Of a list that is not read yet: none, or those that are certain. */
  readonly columns: readonly OutlineColumn[];
  /** Null: one row for each group. */
  readonly granularity: Granularity | null;
  /** In their order: `.previous` and `.change` are those of the first. */
  readonly comparisons: readonly ComparisonKind[];
  readonly toDate: ToDate | null;
  /** It has totals, or a single row that stands for them: names may ask for its figures. */
  readonly totals: boolean;
  /** A text has no figures; a table for it is a problem. */
  readonly text: boolean;
  /** A list: the service gives its fields, and columns that bind to none of those known here are no problem. */
  readonly list: boolean;
}

export interface OutlineColumn {
  /** The API's id; `bucket` for time. */
  readonly name: string;
  readonly kind: 'time' | 'dimension' | 'metric' | 'field';
  /** The deprecated metric that the definition names, in whose place this one is. */
  readonly formerly?: string;
  /** What headers may call it: its label, the report's own where it has one. Empty where the catalog is not known. */
  readonly labels: readonly string[];
  /** `count`, `ratio`, `seconds` or another; null for what is no metric, undefined where the catalog is not known. */
  readonly unit?: string | null;
  /** The unit that the report's `units` gives a duration. */
  readonly shownIn?: DurationUnit;
}

/** What templates may ask for. */
export interface ReportOutline {
  readonly sections: readonly SectionOutline[];
  /** Of the report's headlines; names may ask for at most so many. */
  readonly headlines: number;
  /** The catalog is known, so that a header which is no id and no label is an error. */
  readonly labelsKnown: boolean;
  /** The report asks for approval, watches its figures for corrections: a template should show them. */
  readonly approval: boolean;
  /** Files may be made although figures are missing. */
  readonly incomplete: boolean;
  readonly corrections: boolean;
  /** Ids of the sections that have, or may have, a comment. */
  readonly commented: readonly string[];
}
