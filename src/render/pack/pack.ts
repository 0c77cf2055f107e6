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
 * A pack: what workbook, PDF and e-mail show of a dataset, in one order and with the same figures. `buildPack` creates
 * it as data, without positions on a page.
 */

/** A figure, and how it is shown. `text` is for readers, with the unit; a dash if the figure is undefined. */
export interface PackFigure {
  /** Raw, as in the dataset. */
  readonly value: number | null;
  readonly quantity: Quantity;
  readonly text: string;
  /** `(n = 3)`, the end of `text`: the figure has few cases. */
  readonly few?: string;
}

/** An earlier figure to compare with, and the change from it. */
export interface ComparedFigure extends PackFigure {
  readonly kind: ComparisonKind;
  /**
   * Percentage points, a share or a difference (see `Change`), with its sign. `value` is null, and the text a dash, if
   * the two are not compared or no number exists, e.g. for growth from 0.
   */
  readonly change: PackFigure;
  /** Set if the change is shown as a percentage. */
  readonly percentDecimals?: number;
  /** One of the two figures has few cases, so the change is a difference and has no tone. */
  readonly fewChange?: true;
  /** Null if the two are not compared, or look the same. */
  readonly direction: Change['direction'];
  /** The change without its sign; absent if it has no size. */
  readonly size?: string;
  readonly tone: Tone;
  /** The change in words, with an arrow: `▲ 12.4% from 5,685, better`. */
  readonly phrase: string;
}

/** The status of a figure. `text` has a shape and a word, so that readers can tell it without colour. */
export interface PackStatus {
  readonly status: Status;
  /** With its shape. */
  readonly text: string;
  /** Without the shape. */
  readonly word: string;
}

/** A point of a small chart. */
export interface TrendPoint {
  /** The first day of its bucket, a civil date. */
  readonly bucket: string;
  /** The bucket for readers, e.g. `Oct 2026`. */
  readonly label: string;
  readonly value: number | null;
  /** The value for readers, with its unit; a dash if undefined. */
  readonly text: string;
  /** The bucket is cut off or has not ended. */
  readonly partial: boolean;
  /** The bucket has not ended. */
  readonly running: boolean;
  /** The bucket counts only its days inside the period. */
  readonly clipped: boolean;
}

export interface ScorecardRow {
  /** Id of the section that shows the figure. */
  readonly section: string;
  readonly column: Column;
  /** The metric's label, with `scope`. The section's title is added if another row has the same label. */
  readonly label: string;
  /** What the figure covers, if that differs from other rows of the scorecard; may be empty. */
  readonly scope: string;
  /** The unit for readers, e.g. `%` or `hours`; empty for counts. */
  readonly unit: string;
  readonly figure: PackFigure;
  /** One entry for each of `Scorecard.comparisons`; undefined if this figure lacks that comparison. */
  readonly compared: readonly (ComparedFigure | undefined)[];
  readonly toDate?: PackFigure;
  readonly target?: PackFigure;
  /** The raw watch limit of the target. */
  readonly watch?: number;
  /** The watch limit for readers, e.g. `watch 85.0%`. */
  readonly watchText?: string;
  /** Absent without a target. */
  readonly status?: PackStatus;
  /** Empty without a trend. */
  readonly trend: readonly TrendPoint[];
  /** The trend in words, for readers who cannot see it; absent without a trend. */
  readonly trendText?: string;
  /** E.g. `usual 420–520`; absent if its history gives no range. */
  readonly usual?: string;
  /** Its bucket or period has not ended. */
  readonly running: boolean;
}

export interface ScorecardHeadings {
  readonly metric: string;
  /** The month, if the period is one, e.g. `Oct 2026`. */
  readonly figure: string;
  /** One entry for each of `Scorecard.comparisons`. */
  readonly compared: readonly { readonly figure: string; readonly change: string }[];
  readonly toDate: string;
  readonly target: string;
  readonly status: string;
  readonly trend: string;
}

/** Metrics as rows. The lists and flags here leave out columns that no row fills. */
export interface Scorecard {
  /** What all its figures cover, if that is not everything in the report's period; may be empty. */
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
  /** Index of the first point that the range is computed from. */
  readonly from: number;
  /** E.g. `usual 420–520` */
  readonly text: string;
}

/** A small chart in a `trend` section. */
export interface TrendPanel {
  readonly column: Column;
  readonly label: string;
  readonly quantity: Quantity;
  readonly points: readonly TrendPoint[];
  /**
   * Drawn as a line, with one raw value for each point, null if no target applies. Absent if none applies to buckets of
   * this size. `text` is the last target.
   */
  readonly target?: { readonly values: readonly (number | null)[]; readonly text: string };
  /**
   * The usual range of the last point as raw values, drawn from the point `from` on. Absent if its history gives none.
   */
  readonly band?: Band;
  /** The panel in words, for readers who cannot see it. */
  readonly description: string;
}

/** Columns that stay together. A page shows one block, with the key columns repeated. */
export interface ColumnBlock {
  readonly keys: readonly ViewColumn[];
  /** The figures of each metric under its heading, or a single figure without a heading. */
  readonly groups: readonly ColumnGroup[];
}

export interface ColumnGroup {
  readonly title: string | null;
  readonly columns: readonly ViewColumn[];
  /** One for each column: below `title` without the metric's label, otherwise the full header. */
  readonly headings: readonly string[];
  /** One for each column, with the metric's label, if there is no heading above. Same periods as in `headings`. */
  readonly names: readonly string[];
}

/** A cell of a table for readers. */
export interface PackCell {
  /** Raw, as in the dataset. */
  readonly value: Value;
  /** For readers, with the unit; a dash if undefined. */
  readonly text: string;
  /** Set for a change; null if the two are not compared, or look the same. */
  readonly direction?: Change['direction'];
  /** The tone of a change. */
  readonly tone: Tone;
  /** The figure has few cases, as `text` says. */
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
  /** Absent for `text`, which has `paragraphs` instead. */
  readonly description?: string;
  /** Its most important sentence, if there is one. */
  readonly takeaway?: string;
  /** Shown above its figures. */
  readonly comments: readonly PackComment[];
  /** What it covers, its filters, and which figures are sums. */
  readonly facts: readonly string[];
  /** What makes it incomplete. Shown above its figures. */
  readonly warnings: readonly string[];
  /** Shown below its figures. */
  readonly notes: readonly string[];
  /** Explains dashes, italics, totals and colours. Many sections share these, so a document may show each once. */
  readonly legend: readonly string[];
  /** Why it shows no figures. */
  readonly empty?: string;
  /** False: left out of print and PDF. */
  readonly printed: boolean;
  readonly chart?: { readonly chart: Chart; readonly place: ChartPlace };
}

export type { ChartPlace };

/** The number of rows in an exceptions section, by kind. */
export interface ExceptionCounts {
  /** All rows. */
  readonly of: number;
  readonly behind: number;
  readonly judged: number;
  /** Rows with a target but without a figure that can be judged. */
  readonly notJudged: number;
  /** Whether the rows with the worst figures are listed, whatever their status. */
  readonly worst: boolean;
}

/** The rows of an exceptions section. */
export interface Exceptions {
  /** Rows breached or on watch, or the worst ones, the worst first; at most as many as the layout says. */
  readonly rows: readonly { readonly row: Row; readonly status: Status }[];
  readonly counts: ExceptionCounts;
}

export type PackSection = SectionHead &
  (
    | { readonly kind: 'scorecard'; readonly scorecard: Scorecard }
    | { readonly kind: 'trend'; readonly granularity: Granularity; readonly panels: readonly TrendPanel[] }
    /** `table` contains the rows breached or on watch, or the worst ones, and has no totals. */
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
        /** It has few rows with many figures: a page shows the figures as rows. */
        readonly transposedOnPages: boolean;
        /** The single row as a scorecard. Absent if its totals differ from the row. */
        readonly scorecard?: Scorecard;
      }
  );

export type SectionOf<Kind extends PackSection['kind']> = Extract<PackSection, { readonly kind: Kind }>;

/** A metric, dimension or field, as the appendix explains it. */
export interface PackDefinition {
  readonly column: Column;
  readonly unit: string;
  /** When it counts a case, since when it has data, what replaces it. */
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
  /** `Approved by … on …`. Nothing else in the pack depends on the approval. */
  readonly approval?: string;
  /** Only in a corrected edition. */
  readonly correction?: PackCorrection;
  readonly owner: string;
  readonly completeness: {
    readonly complete: boolean;
    /** One line. */
    readonly text: string;
    /** What makes it incomplete. `section` is the id, `title` the title. */
    readonly notes: readonly { readonly section: string; readonly title: string; readonly text: string }[];
  };
  readonly headlines: readonly string[];
  /** Comments on the whole report. */
  readonly comments: readonly PackComment[];
  /** All present figures that are breached, then those on watch. Headlines have at most five, of chosen metrics. */
  readonly attention: readonly Attention[];
  /**
   * From the first printed scorecard section, with the id `of`. Without one: the totals of the metrics in `headline`,
   * or else of the first eight unfiltered metrics.
   */
  readonly summary: { readonly of?: string; readonly scorecard: Scorecard } | undefined;
  /** Facts and notes about the figures of the summary. The first page shows them below the figures. */
  readonly summaryNotes: readonly string[];
  /** Printed texts directly after that section, or first in a report without one. The first page shows them. */
  readonly remarks: readonly PackText[];
  /** In the order of the report, including the scorecard of the summary. */
  readonly sections: readonly PackSection[];
  readonly definitions: readonly PackDefinition[];
}
