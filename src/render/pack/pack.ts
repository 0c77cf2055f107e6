import type { Granularity } from '../../contract/report.ts';
import type { Period } from '../../definitions/periods/period.ts';
import type { ComparisonKind, ToDate } from '../../definitions/schema/comparison.ts';
import type { Column, Row, Status, Table } from '../../fetch/dataset.ts';
import type { Chart } from '../charts/chart.ts';
import type { Tone } from '../figures/change-text.ts';
import type { ViewColumn } from '../figures/columns.ts';
import type { Quantity } from '../figures/quantity.ts';

/*
 * A pack: what the workbook, the PDF and the e-mail show of a dataset, in one order and with one set of figures. Built by
 * `buildPack`, as data without a place on a page.
 */

/** A figure with what shows it. `text` is for readers, with its unit; a dash where it is undefined. */
export interface PackFigure {
  /** Raw, as in the dataset. */
  readonly value: number | null;
  readonly quantity: Quantity;
  readonly text: string;
}

/** A figure that another is compared with, and the change from it. */
export interface ComparedFigure extends PackFigure {
  readonly kind: ComparisonKind;
  /** Percentage points, a share or a difference (see `Change`); `value` null and a dash where the two are not compared. */
  readonly change: PackFigure;
  readonly tone: Tone;
}

/** One point of a small chart. */
export interface TrendPoint {
  /** A civil date: the first day of its bucket. */
  readonly bucket: string;
  /** The bucket for readers, e.g. `Oct 2026`. */
  readonly label: string;
  readonly value: number | null;
  /** The bucket is cut off or has not ended. */
  readonly partial: boolean;
}

export interface ScorecardRow {
  /** Id of the section that the figure is of. */
  readonly section: string;
  readonly column: Column;
  /** The metric's label, with its scope where the figure is not of everything in the period. */
  readonly label: string;
  /** The unit for readers, e.g. `%` or `hours`; empty for counts. */
  readonly unit: string;
  readonly figure: PackFigure;
  /** One for each of `Scorecard.comparisons`; undefined where this figure has none of that kind. */
  readonly compared: readonly (ComparedFigure | undefined)[];
  readonly toDate?: PackFigure;
  readonly target?: PackFigure;
  /** Absent without a target. */
  readonly status?: { readonly status: Status; readonly text: string };
  /** Empty without a trend. */
  readonly trend: readonly TrendPoint[];
  /** Its bucket or period has not ended. */
  readonly running: boolean;
}

/** Metrics as rows. Columns that no row fills are absent from the lists and flags here. */
export interface Scorecard {
  readonly comparisons: readonly ComparisonKind[];
  readonly toDate?: ToDate;
  readonly hasTargets: boolean;
  readonly trend?: Granularity;
  readonly groups: readonly { readonly title: string | null; readonly rows: readonly ScorecardRow[] }[];
}

/** One small chart of a `trend` section. */
export interface TrendPanel {
  readonly column: Column;
  readonly label: string;
  readonly quantity: Quantity;
  readonly points: readonly TrendPoint[];
  /** Drawn as a line; raw. Only where it holds for buckets of this size. */
  readonly target?: number;
}

/** Columns that stand together: a page shows one block, with the key columns repeated. */
export interface ColumnBlock {
  readonly keys: readonly ViewColumn[];
  /** Figures under one heading (their metric), or a single one without. */
  readonly groups: readonly { readonly title: string | null; readonly columns: readonly ViewColumn[] }[];
}

interface SectionHead {
  readonly table: Table;
  /** All columns of the table. */
  readonly columns: readonly ViewColumn[];
  readonly title: string;
  readonly description?: string;
  /** Its first headline, where there is one. */
  readonly takeaway?: string;
  /** What it covers, its filters, its sums. */
  readonly facts: readonly string[];
  readonly notes: readonly string[];
  /** Out of print and PDF. */
  readonly printed: boolean;
  readonly chart?: { readonly chart: Chart; readonly place: 'above' | 'beside' | 'own_sheet' };
}

export type PackSection = SectionHead &
  (
    | { readonly kind: 'scorecard'; readonly scorecard: Scorecard }
    | { readonly kind: 'trend'; readonly panels: readonly TrendPanel[] }
    /** `rows` breached or worst first, `of` all rows. */
    | {
        readonly kind: 'exceptions';
        readonly blocks: readonly ColumnBlock[];
        readonly rows: readonly { readonly row: Row; readonly status?: Status }[];
        readonly of: number;
      }
    /** Paragraphs. */
    | { readonly kind: 'text'; readonly paragraphs: readonly string[] }
    /** `transposed`: its single row is shown with metrics as rows. */
    | { readonly kind: 'table'; readonly blocks: readonly ColumnBlock[]; readonly transposed: boolean }
  );

/** A metric or dimension as the appendix explains it. */
export interface PackDefinition {
  readonly column: Column;
  readonly unit: string;
  /** Titles of the sections that show it. */
  readonly sections: readonly string[];
}

export interface Pack {
  /** BCP 47. */
  readonly locale: string;
  readonly paper: 'a4' | 'letter';
  readonly organization: string;
  readonly title: string;
  readonly description?: string;
  readonly period: Period;
  readonly classification?: string;
  readonly owner: string;
  readonly completeness: {
    readonly complete: boolean;
    /** One line. */
    readonly text: string;
    readonly notes: readonly { readonly section: string; readonly text: string }[];
  };
  readonly headlines: readonly string[];
  /** Of the first scorecard section, whose id is `of`; else the totals of the first eight unfiltered metrics, or of `headline`. */
  readonly summary: { readonly of?: string; readonly scorecard: Scorecard } | undefined;
  /** In the order of the report, the summary's scorecard included. */
  readonly sections: readonly PackSection[];
  readonly definitions: readonly PackDefinition[];
}
