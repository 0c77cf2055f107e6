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
import type { UnlikeReason } from '../plan/like-for-like.ts';
import type { TableNote } from './notes.ts';

/** A column of a table, with what headers, number formats and the definitions page need. */
export interface Column {
  readonly name: string;
  /** The API's own label. */
  readonly label: string;
  readonly kind: 'time' | 'dimension' | 'metric' | 'field';
  /** As the API names it: `date`, `enum`, `integer`, `number`, `duration`, … */
  readonly type: string;
  /** `count`, `ratio` (0 to 1), `seconds`, or an unknown unit shown by its name; null for columns that are no metrics. */
  readonly unit: string | null;
  readonly description?: string;
  readonly aggregation?: string;
  /** The API's text for when a row counts: `created`, `first decision`, `closed`, `now`. */
  readonly counts?: string;
  /** The first day with data, a civil date; earlier figures are null. */
  readonly availableFrom?: string;
  /** Id of the metric that replaces it; null if deprecated without replacement. */
  readonly replacedBy?: string | null;
  /** Its figures of past periods still change, as those of cohorts ("so far"): it shows no change. */
  readonly provisional?: boolean;
  /** Groups may overlap, so that their values must not be added up. Absent: unit and aggregation tell. */
  readonly addable?: false;
  /** The unit that readers see a duration in, the same in all tables of a report. Absent: fits the table's figures. */
  readonly shownIn?: DurationUnit;
  /** Enum values with their labels, in the catalog's order. */
  readonly values?: readonly { readonly value: string; readonly label: string }[];
}

/** Whether a column holds durations, in seconds. */
export const isDuration = ({ kind, unit }: Column): boolean => kind === 'metric' && unit === 'seconds';

/** A raw value: a count, a ratio 0–1 and seconds stay numbers; `null` is undefined, which is not 0. */
export type Value = string | number | boolean | null;

/** Values by metric. One that the service left out is absent. */
export type MetricValues = Readonly<Record<string, number | null>>;

/** The figures that a row or the totals are compared with. */
export interface ComparedFigures {
  readonly values: MetricValues;
  /** The numbers of cases behind ratios and durations, by metric; absent where they are not known. */
  readonly cases?: MetricValues;
  /** Why the change is not shown; absent if it is. */
  readonly unlike?: UnlikeReason;
  /** Metrics without a change, because one of the two figures cannot be right. Absent without any. */
  readonly wrong?: readonly string[];
}

export type Comparisons = { readonly [Kind in ComparisonKind]?: ComparedFigures };

export interface Row {
  /** Keyed by column name; the time column is `bucket`, a civil date. */
  readonly values: Readonly<Record<string, Value>>;
  /** The matching bucket, or the whole range for rows without one, of each comparison of the table. */
  readonly compare?: Comparisons;
  /** From the start of the year or quarter on; of rows without a bucket. */
  readonly toDate?: MetricValues;
  /** The numbers of cases behind its ratios and durations, by metric; absent where they are not known. */
  readonly cases?: MetricValues;
  readonly toDateCases?: MetricValues;
  /** Its bucket (without one: the range) has not ended: its values will grow. */
  readonly partial: boolean;
}

/** Rows in an NDJSON file, one object per row, keyed by column name: a list may be larger than memory. */
export interface RowFile {
  readonly path: string;
  readonly length: number;
  readonly columns: readonly string[];
}

/** Rows of a table, in memory or in a file; both can be sent to a worker thread. Read them with `iterateRows`. */
export type Rows = readonly Row[] | RowFile;

/** Metrics whose values in a table are sums over the responses of several calls: in its rows, and in their totals. */
export interface Sums {
  readonly cells: readonly string[];
  readonly totals: readonly string[];
}

/** A figure that cannot be right: shown as it came, and not judged. */
export interface WrongFigure {
  readonly metric: string;
  /** `column`: the totals and every row. A row is identified by its bucket and the values of its dimensions, in their order. */
  readonly at: 'column' | 'totals' | { readonly bucket: string | null; readonly group: readonly (string | null)[] };
}

/** `undefined`: the figure has a target, but no value, or one that cannot be right. */
export const STATUSES = ['on_target', 'watch', 'breached', 'undefined'] as const;
export type Status = (typeof STATUSES)[number];

/** Where a figure is to its usual range. `drifting`: outside, but without a step as large: no headline, colour or condition. */
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
  /** Null: only changes are coloured. */
  readonly target: number | null;
  readonly watch?: number | undefined;
  /** A civil date. */
  readonly from?: string | undefined;
  /** Dimensions whose groups it is also about. */
  readonly rows?: readonly string[] | undefined;
  /** `ignore`: figures of few cases do not count for conditions. */
  readonly few?: 'ignore' | undefined;
  readonly owner?: string | undefined;
  readonly note?: string | undefined;
  /** The file it is from: `targets.yaml` or the report. */
  readonly source: 'organization' | 'report';
}

/** The status of one figure: of a section's totals (or its single row), or of a row. */
export interface Judgement {
  /** The section's id. */
  readonly section: string;
  readonly metric: string;
  /** The row's bucket; null for totals and rows without one. */
  readonly bucket: string | null;
  /** The row's group; null for totals. */
  readonly group: GroupKey | null;
  readonly figure: number | null;
  readonly status: Status;
  /** Index in `Dataset.targets`. */
  readonly target: number;
  /** Equal for the same figure in several sections (`figureKey`); absent in older manifests. */
  readonly key?: string | undefined;
  /** The figure cannot be right, so its status is `undefined`. */
  readonly wrong?: true | undefined;
  /** It has few cases: its status is grey, and no headline. `ignored`: it does not count for conditions either. */
  readonly few?: true | 'ignored' | undefined;
  /** The figure can still become better, because its past still changes: its status is that of now. */
  readonly soFar?: true | undefined;
}

/** The reading that values of a table are of, or the gap in its place. */
export interface TableReading {
  readonly of: 'rows' | 'totals';
  /** Of the rows; null for totals, and for rows without one. */
  readonly bucket: string | null;
  /** Null: of the values themselves, not of those that they are compared with. */
  readonly comparison: ComparisonKind | null;
  /** A civil date. */
  readonly day: string;
  /** Its name in the archive: `whole` or `by-<dimension>`. */
  readonly question: string;
  /** When the service computed the values; null for a gap. */
  readonly asOf: string | null;
  readonly correlationId: string | null;
}

/** A comparison of a table. */
export interface TableComparison {
  readonly kind: ComparisonKind;
  /** What totals, and rows without a bucket, are compared with; null if there is nothing, or the service reports none. */
  readonly range: DateRange | null;
  /** What the buckets are compared with, if other days. */
  readonly rows?: DateRange | null;
}

/** How a table is laid out, where it is not a plain table. */
export type TableLayout =
  | { readonly kind: 'table' | 'trend' | 'text' }
  /** `groups`: metrics under subheadings; a metric in none of them comes first. */
  | { readonly kind: 'scorecard'; readonly groups: readonly MetricGroup[] }
  /** `top`: rows shown at most. `worst`: the worst judged rows, whatever their status. */
  | { readonly kind: 'exceptions'; readonly top: number; readonly worst?: true };

/** Metrics under a subheading. */
export interface MetricGroup {
  readonly title: string;
  readonly metrics: readonly string[];
}

/** The figures of the buckets up to the end of the table's period, for small charts. */
export interface TableTrend {
  readonly granularity: Granularity;
  /** In order of time; the last holds the last day of the period. */
  readonly buckets: readonly { readonly label: string; readonly partial: boolean }[];
  /** By metric, one value per bucket; null is undefined and leaves a gap. */
  readonly values: Readonly<Record<string, readonly (number | null)[]>>;
  /** The numbers of cases behind them, as far as they are known. */
  readonly cases?: Readonly<Record<string, readonly (number | null)[]>>;
  /** The readings that its values are, one for each bucket. Absent where they are not of readings. */
  readonly readings?: readonly TrendReading[];
}

/** The reading of the last day of a bucket of a trend, or the gap in its place. */
export interface TrendReading extends Pick<TableReading, 'day' | 'question' | 'asOf' | 'correlationId'> {
  readonly bucket: string;
}

/** A section's typed table, the only input of renderers: values cannot differ between e-mail, workbook and CSV. */
export interface Table {
  readonly id: string;
  readonly title: string;
  readonly description?: string;
  readonly granularity: Granularity | null;
  /** Current counts are the state at `asOf`; the period does not apply. */
  readonly current: boolean;
  /** The section's own period, or the report's. */
  readonly period: Period;
  /** The range that the service reports; null for lists and current counts, and if it reports none. */
  readonly range: DateRange | null;
  /** It has columns for each, in this order, even if the service omitted their values. */
  readonly comparisons: readonly TableComparison[];
  /** It has columns with figures from the start of a year or quarter to the last day of the range. */
  readonly toDate?: { readonly unit: ToDate; readonly range: DateRange };
  /** Instant of computation at the service, with its zone; null for a list, and if unreadable. */
  readonly asOf: string | null;
  /** Its values are readings of current counts, and these are they: one for each bucket, comparison and total. */
  readonly readings?: readonly TableReading[];
  readonly columns: readonly Column[];
  readonly rows: Rows;
  /** The service's totals, or sums of its totals over several calls (`Dataset.sums`); never sums of rows. */
  readonly totals?: Omit<Row, 'values' | 'partial'> & { readonly values: MetricValues };
  readonly chart?: ChartSpec;
  /** Absent: a plain table. A `text` has neither columns nor rows. */
  readonly layout?: TableLayout;
  /** Of scorecards that ask for it. */
  readonly trend?: TableTrend;
  /** The section stays out of print and PDF. */
  readonly print?: false;
  /** The range had not ended at `asOf`: totals and rows without a bucket will grow. False for lists and current counts. */
  readonly running: boolean;
  /** The definition gives the order of the groups; otherwise it is the catalog's. */
  readonly ordered?: boolean;
  /** Its rows are in an order of the definition that does not begin with time: the first ones matter, not the last. */
  readonly ranked?: boolean;
  readonly filters: readonly FilterDescription[];
  /** In the pack of a value of `split`: a section with `split: false`, which is not of the value. */
  readonly unsplit?: true;
  readonly notes: readonly TableNote[];
  /** Absent without any. */
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
  /** Answered from the response store, or by another run's call: no token was spent in this attempt. */
  readonly saved: boolean;
  /** The other run that made the request, if any, and when its response was received (ISO, UTC). */
  readonly shared?: { readonly run: string; readonly at: string } | undefined;
  /** Labels of columns that differ from the catalog's, by column. Nobody but the run record shows them. Absent without any. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
}

export interface Dataset {
  readonly org: string;
  /** The organization's name for readers. */
  readonly organization: string;
  readonly report: string;
  readonly title: string;
  readonly description?: string;
  readonly owner: string;
  /** The value of a report with `split` that these are the figures of. Absent in other reports. */
  readonly desk?: { readonly value: string; readonly label: string; readonly slug: string };
  readonly period: Period;
  readonly tables: readonly Table[];
  /** By section id. All other values are as the service computed them. */
  readonly sums?: Readonly<Record<string, Sums>>;
  readonly calls: readonly CallRecord[];
  readonly registryVersion: number;
  /** Figures of fewer cases are few. Absent: of runs of older versions, in which none is. */
  readonly small?: number;
  /** The bases of its ratios and durations, as far as they are known. Absent without any. */
  readonly bases?: readonly MetricBase[];
  /** The targets that hold for its figures. Absent: not judged. */
  readonly targets?: readonly TargetRecord[];
  /** In the order of the sections, their metrics and rows. */
  readonly judgements?: readonly Judgement[];
  /** The metrics that the definition wants headlines of, in order. Absent: the most important ones. */
  readonly headlineMetrics?: readonly string[];
  /** Sentences about the most important figures, in the report's language. Absent: not written. */
  readonly headlines?: readonly string[];
  /** Comments of people on these figures, in the order of the sections, that on the whole report first. Absent: none. */
  readonly comments?: readonly Comment[];
  /** Who approved this content. Absent: no approval was requested, or none is given yet. */
  readonly approval?: Approval;
  /** The edition that this one replaces. Absent: a first edition. */
  readonly correction?: CorrectedEdition;
  /** The run that delivered the period before, and when (ISO, UTC): somebody asked for it again. Absent otherwise. */
  readonly repeats?: { readonly run: string; readonly at: string };
}

/** What a corrected edition changes, for its first page. */
export interface CorrectedEdition {
  /** The replaced run, and when it was delivered (ISO, UTC). */
  readonly replaces: { readonly run: string; readonly at: string };
  /** Counted from 1, the first edition. Absent in older stored figures, as `automatic`. */
  readonly edition?: number;
  /** How many of the corrected editions up to this one Docket sent by itself. */
  readonly automatic?: number;
  readonly changes: readonly FigureChange[];
  /** Figures of both editions were compared, and none differs. */
  readonly unchanged?: true;
  /** Who received that edition, or may have: nobody else gets this one. `target` as in the ledger, e.g. `0-email`. */
  readonly recipients?: readonly { readonly target: string; readonly recipient: string }[];
  /** Why a person sends it. Absent: Docket found the changes. */
  readonly reason?: string;
  /** Whose open delivery of the replaced run was withdrawn: they get this edition without the mark. Absent without any. */
  readonly unmarked?: readonly { readonly target: string; readonly recipient: string }[];
}

/** A figure that the service has changed after it was delivered. */
export interface FigureChange {
  readonly section: string;
  readonly metric: string;
  readonly bucket: string | null;
  readonly group: GroupKey | null;
  /** The second dimension of its row, where it has two. */
  readonly within?: GroupKey;
  /** Raw values as in a table; null: undefined at the service. */
  readonly before: number | null;
  readonly after: number | null;
  /** Statuses before and after, where the figure is judged. */
  readonly statusBefore?: Status;
  readonly statusAfter?: Status;
}

/** Whether the section is a text: it has a title and a description, and no figures. */
export const isTextTable = ({ layout }: Pick<Table, 'layout'>): boolean => layout?.kind === 'text';
