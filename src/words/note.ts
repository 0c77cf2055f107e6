import type { Granularity } from '../contract/report.ts';

/** Something that was asked for and did not come: a column by its label, or figures of metrics by their ids. */
export type Lacking =
  | { readonly of: 'column'; readonly label: string }
  /** No metrics named: all of them. */
  | { readonly of: 'previous' | 'previous_totals'; readonly metrics: readonly string[] }
  | { readonly of: 'totals' }
  | { readonly of: 'total'; readonly metric: string };

/** Every note there is, and what its sentence is made of. Days are civil dates, instants ISO 8601. */
export interface NoteParams {
  readonly cut_piece: undefined;
  readonly cut: { readonly rows: number };
  readonly limited: { readonly rows: number };
  readonly lacking: { readonly what: readonly Lacking[] };
  readonly lacking_cells: { readonly cells: number };
  readonly other_count: { readonly said: number; readonly sent: number };
  readonly other_range: {
    readonly from: string;
    readonly to: string;
    readonly got: { readonly from: string; readonly to: string } | null;
  };
  readonly other_zone: { readonly asked: string; readonly got: string };
  readonly compared_days_unknown: undefined;
  readonly computed_unknown: { readonly cached: boolean };
  readonly computed_early: { readonly at: string; readonly to: string; readonly timezone: string };
  readonly computed_long_ago: { readonly at: string; readonly timezone: string };
  readonly period_running: undefined;
  readonly buckets_running: { readonly granularity: Granularity | null; readonly days: readonly string[] };
  /** The first bucket, the last or both have days outside of the period. */
  readonly buckets_clipped: {
    readonly granularity: 'week' | 'month';
    readonly first: boolean;
    readonly last: boolean;
  };
  readonly undefined_cells: { readonly labels: readonly string[] };
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
  readonly no_data_before: { readonly label: string; readonly first: string };
  readonly data_from: { readonly label: string; readonly first: string };
  readonly unknown_unit: { readonly label: string; readonly unit: string };
  readonly list_changed: { readonly counts: readonly number[]; readonly seen: number };
  readonly list_count: { readonly said: number; readonly seen: number };
  readonly list_fields: { readonly fields: readonly string[] };
}

/** A note as data: which, and what its sentence is made of. */
export type Said<Id extends keyof NoteParams = keyof NoteParams> = {
  readonly [Each in Id]: { readonly id: Each; readonly of: NoteParams[Each] };
}[Id];

/** A language's sentences. */
export type NoteWords = { readonly [Id in keyof NoteParams]: (of: NoteParams[Id]) => string };

/** The note as a sentence. */
export const say = <Id extends keyof NoteParams>(words: { readonly notes: NoteWords }, { id, of }: Said<Id>): string =>
  words.notes[id](of);
