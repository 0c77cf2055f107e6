import type { Granularity } from '../../contract/report.ts';
import type { Period } from '../../definitions/periods/period.ts';
import type { ChartPlace } from '../../definitions/schema/chart.ts';
import type { ComparisonKind, ToDate } from '../../definitions/schema/comparison.ts';
import type { Column, Row, Status, Table, Value } from '../../fetch/dataset.ts';
import type { Chart } from '../charts/chart.ts';
import type { Tone } from '../figures/change-text.ts';
import type { ViewColumn } from '../figures/columns.ts';
import type { Change, Quantity } from '../figures/quantity.ts';
import type { Paper } from './paper.ts';
import type { PackComment, PackCorrection } from './review/review.ts';

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
  /** `(n = 3)`, which `text` ends with: the figure has few cases. */
  readonly few?: string;
}

/** A figure that another is compared with, and the change from it. */
export interface ComparedFigure extends PackFigure {
  readonly kind: ComparisonKind;
  /**
   * Percentage points, a share or a difference (see `Change`), with its sign; `value` null and a dash where the two are not
   * compared, or there is no such number, as for growth from 0.
   */
  readonly change: PackFigure;
  /** Of a change that is shown as a percentage. */
  readonly percentDecimals?: number;
  /** One of the two figures has few cases: the change is a difference, and has no tone. */
  readonly fewChange?: true;
  /** Null where the two are not compared, and where they look the same. */
  readonly direction: Change['direction'];
  /** The change without its sign; absent for one without a size. */
  readonly size?: string;
  readonly tone: Tone;
  /** The change in words, with an arrow: `▲ 12.4% from 5,685, better`. */
  readonly phrase: string;
}

/** The status of a figure; `text` has a shape and a word, so that it can be told without colour. */
export interface PackStatus {
  readonly status: Status;
  /** With its shape. */
  readonly text: string;
  /** Without it. */
  readonly word: string;
}

/** One point of a small chart. */
export interface TrendPoint {
  /** A civil date: the first day of its bucket. */
  readonly bucket: string;
  /** The bucket for readers, e.g. `Oct 2026`. */
  readonly label: string;
  readonly value: number | null;
  /** The value for readers, with its unit; a dash where it is undefined. */
  readonly text: string;
  /** The bucket is cut off or has not ended. */
  readonly partial: boolean;
  /** It has not ended. */
  readonly running: boolean;
  /** It counts only its days inside the period. */
  readonly clipped: boolean;
}

export interface ScorecardRow {
  /** Id of the section that the figure is of. */
  readonly section: string;
  readonly column: Column;
  /** The metric's label, with its section where another row has the same label, and with what `scope` says. */
  readonly label: string;
  /** What the figure is of, where that differs from other rows of the scorecard; may be empty. */
  readonly scope: string;
  /** The unit for readers, e.g. `%` or `hours`; empty for counts. */
  readonly unit: string;
  readonly figure: PackFigure;
  /** One for each of `Scorecard.comparisons`; undefined where this figure has none of that kind. */
  readonly compared: readonly (ComparedFigure | undefined)[];
  readonly toDate?: PackFigure;
  readonly target?: PackFigure;
  /** The raw watch limit of the target. */
  readonly watch?: number;
  /** The same for readers, e.g. `watch 85.0%`. */
  readonly watchText?: string;
  /** Absent without a target. */
  readonly status?: PackStatus;
  /** Empty without a trend. */
  readonly trend: readonly TrendPoint[];
  /** The trend in words, for those who do not see it; absent without one. */
  readonly trendText?: string;
  /** `usual 420–520`; absent where its history gives no range. */
  readonly usual?: string;
  /** Its bucket or period has not ended. */
  readonly running: boolean;
}

export interface ScorecardHeadings {
  readonly metric: string;
  /** The month if it is one, e.g. `Oct 2026`. */
  readonly figure: string;
  /** One for each of `Scorecard.comparisons`. */
  readonly compared: readonly { readonly figure: string; readonly change: string }[];
  readonly toDate: string;
  readonly target: string;
  readonly status: string;
  readonly trend: string;
}

/** Metrics as rows. Columns that no row fills are absent from the lists and flags here. */
export interface Scorecard {
  /** What all its figures are of, where that is not everything in the report's period; may be empty. */
  readonly scope: string;
  readonly headings: ScorecardHeadings;
  readonly comparisons: readonly ComparisonKind[];
  readonly toDate?: ToDate;
  readonly hasTargets: boolean;
  readonly hasRanges: boolean;
  readonly trend?: Granularity;
  readonly groups: readonly { readonly title: string | null; readonly rows: readonly ScorecardRow[] }[];
}

/** A usual range in a small chart. */
export interface Band {
  readonly low: number;
  readonly high: number;
  /** Index of the first of the points that it is computed from. */
  readonly from: number;
  /** `usual 420–520` */
  readonly text: string;
}

/** One small chart of a `trend` section. */
export interface TrendPanel {
  readonly column: Column;
  readonly label: string;
  readonly quantity: Quantity;
  readonly points: readonly TrendPoint[];
  /**
   * Drawn as a line; raw, one value for each point, null where none holds. Absent where none holds for buckets of this
   * size. `text` is the last one.
   */
  readonly target?: { readonly values: readonly (number | null)[]; readonly text: string };
  /** The usual range of the last point, raw, drawn from the point `from` on. Absent where its history gives none. */
  readonly band?: Band;
  /** The panel in words, for those who do not see it. */
  readonly description: string;
}

/** Columns that stand together: a page shows one block, with the key columns repeated. */
export interface ColumnBlock {
  readonly keys: readonly ViewColumn[];
  /** Figures under one heading (their metric), or a single one without. */
  readonly groups: readonly ColumnGroup[];
}

export interface ColumnGroup {
  readonly title: string | null;
  readonly columns: readonly ViewColumn[];
  /** One for each column: below `title` without the metric's label, otherwise the whole header. */
  readonly headings: readonly string[];
  /** One for each column: with the metric's label, for places without a heading above; the same periods as in `headings`. */
  readonly names: readonly string[];
}

/** A cell of a table for readers. */
export interface PackCell {
  /** Raw, as in the dataset. */
  readonly value: Value;
  /** With its unit; a dash where it is undefined. */
  readonly text: string;
  /** Of a change; null where the two are not compared, and where they look the same. */
  readonly direction?: Change['direction'];
  /** Of a change. */
  readonly tone: Tone;
  /** A figure of few cases, which `text` says. */
  readonly few?: true;
  /** Absent without a target. */
  readonly status?: PackStatus;
}

/** The cells of a section's table. */
export interface SectionCells {
  readonly ofRow: (view: ViewColumn, row: Row) => PackCell;
  /** Undefined for columns without a total. */
  readonly ofTotals: (view: ViewColumn) => PackCell | undefined;
  /** Ids of the metrics that have a status, in rows or totals. */
  readonly judged: ReadonlySet<string>;
}

interface SectionHead {
  readonly table: Table;
  /** All columns of the table. */
  readonly columns: readonly ViewColumn[];
  /** The texts, tones and statuses of its cells. */
  readonly cells: SectionCells;
  readonly title: string;
  /** Absent for `text`, which has it as paragraphs. */
  readonly description?: string;
  /** Its most important sentence, where there is one. */
  readonly takeaway?: string;
  /** Above its figures. */
  readonly comments: readonly PackComment[];
  /** What it covers, its filters, its sums. */
  readonly facts: readonly string[];
  /** What makes it incomplete; shown above its figures. */
  readonly warnings: readonly string[];
  /** Shown below its figures. */
  readonly notes: readonly string[];
  /** What dashes, italics, totals and colours mean. Many sections have the same ones: a document may show each once. */
  readonly legend: readonly string[];
  /** Why it shows no figures. */
  readonly empty?: string;
  /** Out of print and PDF. */
  readonly printed: boolean;
  readonly chart?: { readonly chart: Chart; readonly place: ChartPlace };
}

export type { ChartPlace };

/** How many rows of an exceptions section there are of which kind. */
export interface ExceptionCounts {
  /** All rows. */
  readonly of: number;
  readonly behind: number;
  readonly judged: number;
  /** Rows with a target, but without a figure that can be judged. */
  readonly notJudged: number;
  /** Whether the worst judged rows are listed, whatever their status. */
  readonly worst: boolean;
}

/** The rows of an exceptions section. */
export interface Exceptions {
  /** Breached or on watch, or the worst judged ones, the worst first; at most as many as the layout says. */
  readonly rows: readonly { readonly row: Row; readonly status: Status }[];
  readonly counts: ExceptionCounts;
}

export type PackSection = SectionHead &
  (
    | { readonly kind: 'scorecard'; readonly scorecard: Scorecard }
    | { readonly kind: 'trend'; readonly granularity: Granularity; readonly panels: readonly TrendPanel[] }
    /** Rows breached or on watch, or the worst: those of its `table`, which has no totals. */
    | ({
        readonly kind: 'exceptions';
        readonly blocks: readonly ColumnBlock[];
      } & Exceptions)
    /** Paragraphs. */
    | { readonly kind: 'text'; readonly paragraphs: readonly string[] }
    | {
        readonly kind: 'table';
        readonly blocks: readonly ColumnBlock[];
        /** Its single row is shown with metrics as rows, in the workbook as well. */
        readonly transposed: boolean;
        /** Too many figures for few rows: a page shows the figures as rows. */
        readonly transposedOnPages: boolean;
        /** The single row as a scorecard. Absent where its totals are another figure. */
        readonly scorecard?: Scorecard;
      }
  );

export type SectionOf<Kind extends PackSection['kind']> = Extract<PackSection, { readonly kind: Kind }>;

/** A metric, dimension or field as the appendix explains it. */
export interface PackDefinition {
  readonly column: Column;
  readonly unit: string;
  /** When it counts, since when it is there, what replaces it. */
  readonly notes: readonly string[];
  /** Titles of the sections that show it. */
  readonly sections: readonly string[];
  /** Whether a printed section shows it. */
  readonly printed: boolean;
}

/** A figure that is breached or on watch now, as a sentence. */
export interface Attention {
  readonly status: 'breached' | 'watch';
  /** Id of its section. */
  readonly section: string;
  readonly metric: string;
  readonly text: string;
}

/** A text on the first page. */
export interface PackText {
  /** Its section's id. */
  readonly of: string;
  readonly title: string;
  readonly paragraphs: readonly string[];
  readonly comments: readonly PackComment[];
}

export interface Pack {
  /** BCP 47. */
  readonly locale: string;
  readonly paper: Paper;
  readonly organization: string;
  readonly title: string;
  readonly description?: string;
  readonly period: Period;
  /** The period for readers, e.g. `October 2026 (Europe/Zurich)`. */
  readonly periodText: string;
  readonly classification?: string;
  /** `Approved by … on …`. Nothing else depends on it: without it the pack shows the same. */
  readonly approval?: string;
  /** Of a corrected edition. */
  readonly correction?: PackCorrection;
  readonly owner: string;
  readonly completeness: {
    readonly complete: boolean;
    /** One line. */
    readonly text: string;
    /** What makes it incomplete. `section` is an id, `title` its title. */
    readonly notes: readonly { readonly section: string; readonly title: string; readonly text: string }[];
  };
  readonly headlines: readonly string[];
  /** On the whole report. */
  readonly comments: readonly PackComment[];
  /** All present figures that are breached, then those on watch. Headlines are at most five, of chosen metrics. */
  readonly attention: readonly Attention[];
  /** Of the first printed scorecard section, whose id is `of`; else the totals of the first eight unfiltered metrics, or of `headline`. */
  readonly summary: { readonly of?: string; readonly scorecard: Scorecard } | undefined;
  /** Facts and notes about the figures of the summary, which the first page shows below them. */
  readonly summaryNotes: readonly string[];
  /** Printed texts that stand directly after that section, or first in a report without one: the first page shows them. */
  readonly remarks: readonly PackText[];
  /** In the order of the report, the summary's scorecard included. */
  readonly sections: readonly PackSection[];
  readonly definitions: readonly PackDefinition[];
}
