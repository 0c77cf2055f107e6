import type { MetricBase } from '../contract/bases.ts';
import type { Granularity } from '../contract/report.ts';
import type { Approval, Comment } from '../definitions/commentary/printed-review.ts';
import type { Period } from '../definitions/periods/period.ts';
import type { ComparisonKind, ToDate } from '../definitions/schema/comparison.ts';
import type { ChartSpec } from '../definitions/schema/report-definition.ts';
import type { Better, TargetPeriod } from '../definitions/schema/targets.ts';
import type { DurationUnit } from '../definitions/schema/values/units.ts';
import type { FilterDescription } from '../i18n/note.ts';
import type { DateRange } from '../plan/buckets.ts';
import type { NotComparableReason } from '../plan/like-for-like.ts';
import type { TableNote } from './notes.ts';

/** A column of a table, with all that headers, number formats and the definitions page need. */
export interface Column {
  readonly name: string;
  /** The API's own label. */
  readonly label: string;
  readonly kind: 'time' | 'dimension' | 'metric' | 'field';
  /** The API's name of the type: `date`, `enum`, `integer`, `number`, `duration`, … */
  readonly type: string;
  /** `count`, `ratio` (0 to 1), `seconds`, or the name of an unknown unit; null for columns that are not metrics. */
  readonly unit: string | null;
  readonly description?: string;
  readonly aggregation?: string;
  /** The API's text for when a row counts: `created`, `first decision`, `closed`, `now`. */
  readonly counts?: string;
  /** The first day with data, a civil date. Earlier figures are null. */
  readonly availableFrom?: string;
  /** Id of the metric that replaces it; null if it is deprecated without replacement. */
  readonly replacedBy?: string | null;
  /** Figures of past periods still change, like those of cohorts ("so far"). No change is shown. */
  readonly provisional?: boolean;
  /** Groups may overlap, so their values must not be added up. Absent: unit and aggregation decide. */
  readonly addable?: false;
  /** The unit in which readers see a duration, the same in all tables of a report. Absent: fits the table's figures. */
  readonly shownIn?: DurationUnit;
  /** Enum values with their labels, in the catalog's order. */
  readonly values?: readonly { readonly value: string; readonly label: string }[];
}

/** Whether a column holds durations, in seconds. */
export const isDuration = ({ kind, unit }: Column): boolean => kind === 'metric' && unit === 'seconds';

/** A raw value. Counts, ratios (0–1) and seconds stay numbers; `null` means undefined, not 0. */
export type Value = string | number | boolean | null;

/** Values by metric. A value that the service left out is absent. */
export type MetricValues = Readonly<Record<string, number | null>>;

/** The figures that a row or the totals are compared with. */
export interface ComparedFigures {
  readonly values: MetricValues;
  /** The numbers of cases behind ratios and durations, by metric; absent if unknown. */
  readonly cases?: MetricValues;
  /** Why the change is not shown; absent if it is. */
  readonly unlike?: NotComparableReason;
  /** Metrics without a change, because one of the two figures cannot be right. Absent if there are none. */
  readonly wrong?: readonly string[];
}

export type Comparisons = { readonly [Kind in ComparisonKind]?: ComparedFigures };

export interface Row {
  /** Keyed by column name; the time column is `bucket`, a civil date. */
  readonly values: Readonly<Record<string, Value>>;
  /** The figures of each comparison: of the matching bucket, or of the whole range for rows without one. */
  readonly compare?: Comparisons;
  /** Figures from the start of the year or quarter; only in rows without a bucket. */
  readonly toDate?: MetricValues;
  /** The numbers of cases behind its ratios and durations, by metric; absent if unknown. */
  readonly cases?: MetricValues;
  readonly toDateCases?: MetricValues;
  /** Its bucket, or the range if it has none, has not ended: its values will grow. */
  readonly partial: boolean;
}

/** Rows in an NDJSON file, one object per row, keyed by column name. A list may be larger than memory. */
export interface RowFile {
  readonly path: string;
  readonly length: number;
  readonly columns: readonly string[];
}

/** Rows of a table, in memory or in a file; both can be sent to a worker thread. Read them with `iterateRows`. */
export type Rows = readonly Row[] | RowFile;

/** Metrics whose values are sums over the responses of several calls: in the rows of a table, and in its totals. */
export interface Sums {
  readonly cells: readonly string[];
  readonly totals: readonly string[];
}

/** A figure that cannot be right. It is shown as received and gets no status. */
export interface WrongFigure {
  readonly metric: string;
  /** `column`: the totals and every row. A row is identified by its bucket and its dimensions' values, in order. */
  readonly at: 'column' | 'totals' | { readonly bucket: string | null; readonly group: readonly (string | null)[] };
}

/** `undefined`: the figure has a target, but it has no value or cannot be right. */
export const STATUSES = ['on_target', 'watch', 'breached', 'undefined'] as const;
export type Status = (typeof STATUSES)[number];

/** Compared with its usual range. `drifting`: outside, but by a small step: no headline or colour, no condition. */
export const RANGE_STATES = ['usual', 'unusual', 'drifting'] as const;

/** One value of one dimension. */
export interface GroupKey {
  readonly dimension: string;
  readonly value: string;
}

/** A target as the run used it, frozen into the manifest. Numbers are in the metric's raw unit. */
export interface TargetRecord {
  readonly metric: string;
  readonly where?: GroupKey | undefined;
  readonly per?: TargetPeriod | undefined;
  readonly better: Better;
  /** Null: no status, only changes are coloured. */
  readonly target: number | null;
  readonly watch?: number | undefined;
  /** First day, a civil date. */
  readonly from?: string | undefined;
  /** The target also applies to the groups of these dimensions. */
  readonly rows?: readonly string[] | undefined;
  /** `ignore`: figures with few cases do not count for conditions. */
  readonly few?: 'ignore' | undefined;
  readonly owner?: string | undefined;
  readonly note?: string | undefined;
  /** Where it was defined: in `targets.yaml` or in the report. */
  readonly source: 'organization' | 'report';
}

/** The status of one figure: in a section's totals (or single row), or in a row. */
export interface Judgement {
  readonly section: string;
  readonly metric: string;
  /** The row's bucket; null for totals and for rows without a bucket. */
  readonly bucket: string | null;
  /** The row's group; null for totals. */
  readonly group: GroupKey | null;
  readonly figure: number | null;
  readonly status: Status;
  readonly target: number;
  /** Equal for the same figure in several sections (`figureKey`). Absent in older manifests. */
  readonly key?: string | undefined;
  /** The figure cannot be right, so its status is `undefined`. */
  readonly wrong?: true | undefined;
  /** It has few cases: its status is grey, without a headline. `ignored`: it does not count for conditions either. */
  readonly few?: true | 'ignored' | undefined;
  /** The figure can still improve, because the past still changes. This is its status so far. */
  readonly soFar?: true | undefined;
}

/** The reading that values of a table come from, or the gap in its place. */
export interface TableReading {
  readonly of: 'rows' | 'totals';
  /** The rows' bucket; null for totals and for rows without a bucket. */
  readonly bucket: string | null;
  /** Set for values that the table is compared with; null for the table's own values. */
  readonly comparison: ComparisonKind | null;
  /** A civil date. */
  readonly day: string;
  /** The name of the readings in the archive: `whole` or `by-<dimension>`. */
  readonly question: string;
  /** When the service computed the values; null for a gap. */
  readonly asOf: string | null;
  readonly correlationId: string | null;
}

/** What a table is compared with. */
export interface TableComparison {
  readonly kind: ComparisonKind;
  /** The days that totals, and rows without a bucket, are compared with. Null: none, or the service reports none. */
  readonly range: DateRange | null;
  /** The days that the buckets are compared with, if they differ from `range`. */
  readonly rows?: DateRange | null;
}

/** How a table is laid out, if it is not a plain table. */
export type TableLayout =
  | { readonly kind: 'table' | 'trend' | 'text' }
  /** `groups`: metrics under subheadings. Metrics without a group come first. */
  | { readonly kind: 'scorecard'; readonly groups: readonly MetricGroup[] }
  /** `top`: the most rows shown. `worst`: shows the rows with the worst figures, whatever their status. */
  | { readonly kind: 'exceptions'; readonly top: number; readonly worst?: true };

/** Metrics under a subheading. */
export interface MetricGroup {
  readonly title: string;
  readonly metrics: readonly string[];
}

/** The figures of the last buckets up to the end of the table's period, for small charts. */
export interface TableTrend {
  readonly granularity: Granularity;
  /** In order of time. The last bucket contains the last day of the period. */
  readonly buckets: readonly { readonly label: string; readonly partial: boolean }[];
  /** By metric, one value per bucket. Null is undefined and leaves a gap. */
  readonly values: Readonly<Record<string, readonly (number | null)[]>>;
  /** The numbers of cases behind the values, if known. */
  readonly cases?: Readonly<Record<string, readonly (number | null)[]>>;
  /** The readings that the values come from, one for each bucket. Absent if they are not readings. */
  readonly readings?: readonly TrendReading[];
}

/** The reading of the last day of a trend's bucket, or the gap in its place. */
export interface TrendReading extends Pick<TableReading, 'day' | 'question' | 'asOf' | 'correlationId'> {
  readonly bucket: string;
}

/** A section's typed table. Renderers get nothing else, so values cannot differ between e-mail, workbook and CSV. */
export interface Table {
  readonly id: string;
  readonly title: string;
  readonly description?: string;
  readonly granularity: Granularity | null;
  /** Current counts are the state at `asOf`; the period does not apply. */
  readonly current: boolean;
  /** The section's own period, or the report's. */
  readonly period: Period;
  /** The range that the service reports. Null if it reports none, and for lists and current counts. */
  readonly range: DateRange | null;
  /** The table has columns for each comparison, in this order, even if the service omitted the values. */
  readonly comparisons: readonly TableComparison[];
  /** The table also has columns with figures from the start of a year or quarter to the last day of the range. */
  readonly toDate?: { readonly unit: ToDate; readonly range: DateRange };
  /** When the service computed it, with its zone. Null for a list, and if unreadable. */
  readonly asOf: string | null;
  /** If the values are readings of current counts: one entry for each bucket, comparison and total. */
  readonly readings?: readonly TableReading[];
  readonly columns: readonly Column[];
  readonly rows: Rows;
  /** The service's totals, or sums of them over several calls (`Dataset.sums`). Never sums of rows. */
  readonly totals?: Omit<Row, 'values' | 'partial'> & { readonly values: MetricValues };
  readonly chart?: ChartSpec;
  /** Absent: a plain table. A `text` layout has neither columns nor rows. */
  readonly layout?: TableLayout;
  /** Only in scorecards that request it. */
  readonly trend?: TableTrend;
  /** The section is left out of print and PDF. */
  readonly print?: false;
  /** The range had not ended at `asOf`: totals and rows without a bucket will grow. False for lists, current counts. */
  readonly running: boolean;
  /** The definition sets the order of the groups. Absent: the catalog's order. */
  readonly ordered?: boolean;
  /** The definition sorts the rows by something other than time first, so the first rows matter most, not the last. */
  readonly ranked?: boolean;
  readonly filters: readonly FilterDescription[];
  /** In the report of one `split` value: a section with `split: false`, which covers all values. */
  readonly unsplit?: true;
  readonly notes: readonly TableNote[];
  /** Absent if there are none. */
  readonly wrong?: readonly WrongFigure[];
}

/** A call and its response, for the manifest and the run sheet. */
export interface CallRecord {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly sections: readonly string[];
  readonly asOf: string | null;
  readonly cached: boolean | null;
  readonly correlationId: string | null;
  readonly rows: number;
  /** Answered from the response store or by another run's call: this attempt spent no token. */
  readonly saved: boolean;
  /** The other run that made the request, if any, and when its response was received (ISO, UTC). */
  readonly shared?: { readonly run: string; readonly at: string } | undefined;
  /** Column labels that differ from the catalog's, by column. Only the run record shows them. Absent: none. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
}

export interface Dataset {
  readonly org: string;
  /** The organization's name, as readers know it. */
  readonly organization: string;
  readonly report: string;
  readonly title: string;
  readonly description?: string;
  readonly owner: string;
  /** The `split` value that these figures belong to. Absent in other reports. */
  readonly desk?: { readonly value: string; readonly label: string; readonly slug: string };
  readonly period: Period;
  readonly tables: readonly Table[];
  /** By section id. The service itself computed all other values. */
  readonly sums?: Readonly<Record<string, Sums>>;
  readonly calls: readonly CallRecord[];
  readonly registryVersion: number;
  /** A figure with fewer cases than this has "few cases". Absent in runs of older versions, which did not mark them. */
  readonly small?: number;
  /** What its ratios and durations are computed from, if known. Absent if there are none. */
  readonly bases?: readonly MetricBase[];
  /** The targets for its figures. Absent: figures get no status. */
  readonly targets?: readonly TargetRecord[];
  /** In the order of the sections, their metrics and their rows. */
  readonly judgements?: readonly Judgement[];
  /** The metrics that the definition selects for headlines, in order. Absent: the most important ones. */
  readonly headlineMetrics?: readonly string[];
  /** Sentences about the most important figures, in the report's language. Absent: none were written. */
  readonly headlines?: readonly string[];
  /** People's comments, in the order of the sections; the comment on the whole report is first. Absent: none. */
  readonly comments?: readonly Comment[];
  /** Who approved this content. Absent: approval is not required, or not given yet. */
  readonly approval?: Approval;
  /** The edition that this one replaces. Absent in a first edition. */
  readonly correction?: CorrectedEdition;
  /** If somebody requested the period again: the run that delivered it before, and when (ISO, UTC). */
  readonly repeats?: { readonly run: string; readonly at: string };
}

/** What a corrected edition changes, for its first page. */
export interface CorrectedEdition {
  /** The replaced run, and when it was delivered (ISO, UTC). */
  readonly replaces: { readonly run: string; readonly at: string };
  /** Counted from 1, the first edition. Absent in older stored figures, like `automatic`. */
  readonly edition?: number;
  /** How many of the corrected editions so far Docket sent by itself. */
  readonly automatic?: number;
  readonly changes: readonly FigureChange[];
  /** Both editions were compared, and no figure differs. */
  readonly unchanged?: true;
  /** Who received that edition, or may have: nobody else gets this one. `target` as in the ledger: `0-email`. */
  readonly recipients?: readonly { readonly target: string; readonly recipient: string }[];
  /** The reason that a person gave for it. Absent: Docket found the changes. */
  readonly reason?: string;
  /** Recipients whose delivery of the replaced run was withdrawn: their edition is not marked as corrected. */
  readonly unmarked?: readonly { readonly target: string; readonly recipient: string }[];
}

/** A figure that the service changed after it was delivered. */
export interface FigureChange {
  readonly section: string;
  readonly metric: string;
  readonly bucket: string | null;
  readonly group: GroupKey | null;
  /** The value of the row's second dimension, if it has one. */
  readonly within?: GroupKey;
  /** Raw values as in a table; null is undefined. */
  readonly before: number | null;
  readonly after: number | null;
  /** The status before and after, if the figure has one. */
  readonly statusBefore?: Status;
  readonly statusAfter?: Status;
}

/** Whether the section is a text: a title and a description without figures. */
export const isTextTable = ({ layout }: Pick<Table, 'layout'>): boolean => layout?.kind === 'text';
