import type { Granularity } from '../contract/report.ts';

/** What figures are compared with. */
export type ComparedWith = 'previous_period' | 'previous_year';
export type ToDateUnit = 'year' | 'fiscal_year' | 'quarter';

/** Why a change is not shown. */
export type NotComparedReason = 'unfinished' | 'no_partner' | 'partial' | 'weekdays' | 'length';

/** Buckets whose change is not shown. */
export interface NotComparableBuckets {
  readonly reason: NotComparedReason;
  /** The comparisons that this concerns; empty if it concerns the whole table. */
  readonly kinds: readonly ComparedWith[];
  /** Whether these buckets include the first of the table, the last, and others. */
  readonly first: boolean;
  readonly last: boolean;
  readonly others: boolean;
}

/** Totals that are not compared, or that are compared although their ranges differ. */
export interface NotComparableTotals {
  readonly kind: ComparedWith;
  readonly compared: boolean;
  readonly reason: NotComparedReason | null;
  /** The number of days in the range and in the compared range, if they differ. */
  readonly days: readonly [number, number] | null;
  /** The figures are readings: the counts of the last days are compared. */
  readonly ofReadings?: true;
}

/** Requested data that is missing in the response: a column by its label, or figures of metrics by their ids. */
export type MissingData =
  | { readonly of: 'column'; readonly label: string }
  /** Without metrics: all of them. */
  | {
      readonly of: 'previous' | 'previous_totals' | 'year_before' | 'year_before_totals' | 'to_date' | 'trend';
      readonly metrics: readonly string[];
    }
  | { readonly of: 'totals' }
  | { readonly of: 'total'; readonly metric: string };

interface MissingDataNames {
  readonly previous: string;
  readonly previous_totals: string;
  readonly year_before: string;
  readonly year_before_totals: string;
  readonly to_date: string;
  readonly trend: string;
  readonly totals: string;
  readonly total: (metric: string) => string;
}

/** Names missing data in a language. */
export function missingDataText(what: MissingData, names: MissingDataNames): string {
  if (what.of === 'column') return what.label;
  if (what.of === 'totals') return names.totals;
  if (what.of === 'total') return names.total(what.metric);
  return what.metrics.length === 0 ? names[what.of] : `${names[what.of]} (${what.metrics.join(', ')})`;
}

/** Identifies a row: its bucket, null without granularity, and the labels of its group. */
export interface RowKey {
  readonly bucket: string | null;
  readonly group: readonly string[];
}

interface Range {
  readonly from: string;
  readonly to: string;
}

interface AnswerConflict extends Range {
  readonly figures: number;
  readonly label: string;
  readonly one: number | null;
  readonly other: number | null;
  readonly at: readonly [string, string] | null;
  readonly timezone: string;
}

/** Every note, with the parameters of its sentence. Days are civil dates, instants ISO 8601. */
export interface NoteParams {
  readonly cut_piece: undefined;
  readonly cut: { readonly rows: number };
  readonly limited: { readonly rows: number };
  readonly lacking: { readonly what: readonly MissingData[] };
  readonly lacking_cells: { readonly cells: number };
  readonly other_count: { readonly said: number; readonly sent: number };
  readonly other_range: Range & { readonly got: Range | null };
  readonly other_zone: { readonly asked: string; readonly got: string };
  readonly compared_days_unknown: undefined;
  /** Null: one row for the whole range. */
  readonly granularity_mismatch: { readonly asked: Granularity | null; readonly got: string | null };
  readonly compare_range_mismatch: { readonly expected: Range; readonly got: Range };
  /** Metrics with a column whose unit differs from the catalog. */
  readonly unit_mismatch: {
    readonly columns: readonly { readonly label: string; readonly expected: string; readonly got: string }[];
  };
  /** Columns whose description differs from the catalog: `got` is the label, kind, type or unit. */
  readonly column_mismatch: {
    readonly columns: readonly {
      readonly label: string;
      readonly of: 'label' | 'kind' | 'type' | 'unit';
      readonly got: string;
    }[];
  };
  /** The number of impossible figures, and the first of them. `bucket` is null for totals and without granularity. */
  readonly invalid_value: {
    readonly figures: number;
    readonly label: string;
    readonly value: number;
    readonly bucket: string | null;
  };
  /** Medians above the 90th percentile of the same measure, which is `other`: the first of them. */
  readonly median_above_p90: {
    readonly figures: number;
    readonly label: string;
    readonly other: string;
    readonly bucket: string | null;
  };
  readonly null_count: { readonly figures: number; readonly label: string; readonly bucket: string | null };
  readonly missing_rows: { readonly rows: number; readonly first: RowKey };
  readonly duplicate_rows: { readonly rows: number; readonly first: RowKey };
  /** Rows with a bucket that was not requested. `first` is null for a row without a bucket. */
  readonly unexpected_buckets: { readonly rows: number; readonly first: string | null };
  /** Rows of groups that the filter excludes. */
  readonly filter_mismatch: { readonly rows: number; readonly dimension: string; readonly value: string };
  readonly limit_exceeded: { readonly limit: number; readonly rows: number };
  readonly order_mismatch: undefined;
  readonly total_mismatch: {
    readonly totals: readonly {
      readonly label: string;
      readonly total: number;
      readonly sum: number;
      readonly previous: boolean;
    }[];
  };
  /** Totals that contradict their rows. Null: undefined. */
  readonly total_outside: {
    readonly totals: readonly {
      readonly label: string;
      readonly total: number | null;
      readonly low: number | null;
      readonly high: number | null;
      readonly previous: boolean;
    }[];
  };
  /**
   * A figure with two different values in two responses: the first of `figures`. `at` says when both were computed, if
   * that may be the reason.
   */
  readonly answers_differ: AnswerConflict;
  /** A figure to date (`other`) is smaller than a figure for some of its days. */
  readonly to_date_below: AnswerConflict;
  /** The figures of these metrics equal those that they are compared with. */
  readonly figures_repeated: {
    readonly labels: readonly string[];
    readonly kind: ComparedWith;
    readonly at: readonly [string, string] | null;
    readonly timezone: string;
  };
  readonly not_additive: { readonly labels: readonly string[] };
  readonly computed_unknown: { readonly cached: boolean };
  readonly computed_early: { readonly at: string; readonly to: string; readonly timezone: string };
  readonly computed_long_ago: { readonly at: string; readonly timezone: string };
  readonly computed_in_future: { readonly at: string; readonly timezone: string };
  readonly computed_before_call: { readonly at: string; readonly timezone: string };
  readonly period_running: undefined;
  readonly buckets_running: { readonly granularity: Granularity | null; readonly days: readonly string[] };
  readonly buckets_to_come: { readonly granularity: Granularity | null; readonly days: readonly string[] };
  /**
   * Rows that the service marks as ended or running although the dates say otherwise. For the first: its bucket, and
   * whether it was running.
   */
  readonly partial_mismatch: { readonly rows: number; readonly bucket: string | null; readonly running: boolean };
  /** The first bucket, the last or both include days outside the period. */
  readonly buckets_clipped: {
    readonly granularity: 'week' | 'month';
    readonly first: boolean;
    readonly last: boolean;
  };
  readonly undefined_cells: { readonly labels: readonly string[] };
  /** Current counts in a backfill, or requested more than a day after the run was due. `due` is an ISO instant. */
  readonly counts_undefined: { readonly why: 'backfill' | 'late'; readonly due: string; readonly timezone: string };
  /** The values are readings of the last day of each bucket. `at` is the instant of the latest one. */
  readonly read_at: { readonly at: string; readonly timezone: string; readonly granularity: Granularity };
  /** Days without a reading. */
  readonly readings_missing: { readonly days: readonly string[] };
  /** Days whose reading is not due yet. */
  readonly readings_to_come: { readonly days: readonly string[] };
  readonly undefined_totals: { readonly labels: readonly string[]; readonly why: 'range' | 'filter' };
  readonly deprecated: {
    readonly label: string;
    readonly id: string;
    /** A civil date. */
    readonly since: string;
    /** The successor's id. */
    readonly successor: string | null;
  };
  readonly replaced: {
    readonly from: { readonly label: string; readonly id: string };
    readonly to: { readonly label: string; readonly id: string };
  };
  readonly no_figures_before: { readonly first: string };
  readonly no_data_before: { readonly label: string; readonly first: string };
  readonly data_from: { readonly label: string; readonly first: string };
  /** There is no data for the compared days, so the comparison is undefined. */
  readonly not_compared_before: { readonly label: string; readonly first: string };
  /** A target that cannot be compared with the metric's figures. */
  readonly target_mismatch: { readonly label: string; readonly target: string; readonly unit: string };
  /** There is no data for some days of the year or quarter to date. */
  readonly to_date_from: { readonly label: string; readonly first: string };
  readonly unlike_rows: { readonly granularity: Granularity; readonly reasons: readonly NotComparableBuckets[] };
  readonly unlike_totals: { readonly totals: readonly NotComparableTotals[]; readonly several: boolean };
  /** Figures of past periods still change, like those of cohorts. */
  readonly provisional: { readonly labels: readonly string[] };
  readonly unknown_unit: { readonly label: string; readonly unit: string };
  readonly list_changed: { readonly counts: readonly number[]; readonly seen: number };
  readonly list_count: { readonly said: number; readonly seen: number };
  readonly list_order: { readonly by: string };
  readonly list_fields: { readonly fields: readonly string[] };
}

/** A note as data: its id and the parameters of its sentence. */
export type NoteMessage<Id extends keyof NoteParams = keyof NoteParams> = {
  readonly [Each in Id]: { readonly id: Each; readonly of: NoteParams[Each] };
}[Id];

/** The sentences of a language. */
export type NoteFormatters = { readonly [Id in keyof NoteParams]: (of: NoteParams[Id]) => string };

/** The note as a sentence. */
export const plainCommentText = <Id extends keyof NoteParams>(
  words: { readonly notes: NoteFormatters },
  { id, of }: NoteMessage<Id>,
): string => words.notes[id](of);

/** A filter by ids, because labels may be ambiguous. */
interface FilterIds {
  readonly dimension: string;
  readonly values: readonly string[];
}

/** A filter as data, with the catalog's labels. `of` is absent in figures that version 0.2.0 stored. */
export type FilterDescription =
  | { readonly is: readonly string[]; readonly label: string; readonly of?: FilterIds }
  | { readonly isNot: readonly string[]; readonly label: string; readonly of?: FilterIds }
  | { readonly search: string };
