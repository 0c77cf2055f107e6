import type { Granularity } from '../contract/report.ts';
import type { ChartSpec } from '../define/definition.ts';
import type { Period } from '../define/period.ts';
import type { Filter } from '../words/filter.ts';
import { type Said, say } from '../words/note.ts';
import { type Words, wordsOf } from '../words/words.ts';
import type { Rows } from './rows.ts';

/** A column of a table: what the header, the number format and the definitions page need to know. */
export interface Column {
  readonly name: string;
  /** The API's own label. */
  readonly label: string;
  readonly kind: 'time' | 'dimension' | 'metric' | 'field';
  /** As the API names it: `date`, `enum`, `integer`, `number`, `duration`, … */
  readonly type: string;
  /** `count`, `ratio` (0 to 1), `seconds`, or one we do not know and show as it is named; null for what is not a metric. */
  readonly unit: string | null;
  readonly description?: string;
  readonly aggregation?: string;
  /** When a row counts, in the API's words: `created`, `first decision`, `closed`, `now`. */
  readonly counts?: string;
  /** The first day with data, a civil date; earlier buckets read zero. */
  readonly availableFrom?: string;
  /** Id of the metric that takes its place; null when it is deprecated without one. */
  readonly replacedBy?: string | null;
  /** Of an enum: its values with their labels, in the catalog's order. */
  readonly values?: readonly { readonly value: string; readonly label: string }[];
}

/** A raw value: a count, a ratio 0–1 and seconds stay numbers; `null` is undefined, which is not 0. */
export type Value = string | number | boolean | null;

export interface Row {
  /** Keyed by column name; the time column is `bucket`, a civil date. */
  readonly values: Readonly<Record<string, Value>>;
  /** Metric values of the matching bucket of the previous period. */
  readonly compare?: Readonly<Record<string, number | null>>;
  /** Its bucket, or without one the range, is still running: its figures will grow. */
  readonly partial: boolean;
}

/** Kinds of notes, as manifests, webhooks and `--json` name them. */
export const NOTE_CODES = [
  'truncated',
  'missing',
  'missing_rows',
  'duplicate_rows',
  'unexpected_buckets',
  'filter_mismatch',
  'limit_exceeded',
  'order_mismatch',
  'granularity_mismatch',
  'compare_range_mismatch',
  'unit_mismatch',
  'invalid_value',
  'null_count',
  'total_mismatch',
  'not_additive',
  'computed_in_future',
  'stale',
  'partial',
  'undefined',
  'deprecated',
  'data_available_from',
  'unknown_unit',
  'count_changed',
  'fields_left_out',
] as const;
export type NoteCode = (typeof NOTE_CODES)[number];

/** A note as a sentence. */
export interface Note {
  readonly code: NoteCode;
  readonly text: string;
  readonly incomplete: boolean;
}

/** Something a reader must know of a table. `incomplete` ones make the run follow `on_incomplete`. */
export interface TableNote extends Omit<Note, 'text'> {
  /** What it says, as data: it becomes a sentence in the language of whoever reads it. */
  readonly says: Said;
}

/** Metrics whose figures in a table are sums of several calls' answers: those of its rows, and their totals. */
export interface Sums {
  readonly cells: readonly string[];
  readonly totals: readonly string[];
}

/** One section's typed table. Every renderer reads this alone, so a figure cannot differ between e-mail, workbook and CSV. */
export interface Table {
  readonly id: string;
  readonly title: string;
  readonly description?: string;
  readonly granularity: Granularity | null;
  /** A current count is the state at `asOf`; the period does not apply to it. */
  readonly current: boolean;
  /** What the service says it covered; null for a list and for current counts, and where it does not say. */
  readonly range: { readonly from: string; readonly to: string } | null;
  /** The previous period belongs to it: its columns stand beside the metrics', even where the service left it out. */
  readonly compared: boolean;
  /** The previous period, as the service says; null where nothing is compared, and where it does not say. */
  readonly compareRange: { readonly from: string; readonly to: string } | null;
  /** Instant of computation at the service, with its zone; null for a list, and where it cannot be read. */
  readonly asOf: string | null;
  readonly columns: readonly Column[];
  readonly rows: Rows;
  /** The service's own, or sums of its totals of several calls (the dataset's `sums`); never sums of rows. */
  readonly totals?: {
    readonly values: Readonly<Record<string, number | null>>;
    readonly compare?: Readonly<Record<string, number | null>>;
  };
  readonly chart?: ChartSpec;
  /** The range was not over at `asOf`: totals and rows without a bucket will grow. Never of a list or of current counts. */
  readonly running: boolean;
  /** The definition says in which order its groups stand; else the catalog's order is theirs. */
  readonly ordered?: boolean;
  /** Its rows stand in an order of the definition that does not begin with time: the first ones matter, not the last. */
  readonly ranked?: boolean;
  readonly filters: readonly Filter[];
  readonly notes: readonly TableNote[];
}

/** What was asked and answered, for the manifest and the run sheet. */
export interface CallRecord {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly sections: readonly string[];
  readonly asOf: string | null;
  readonly cached: boolean | null;
  readonly correlationId: string | null;
  readonly rows: number;
  /** Answered from the response store, or by another run's call: no token was spent in this try. */
  readonly saved: boolean;
  /** The run that asked, where that was another one, and the instant (ISO, UTC) at which its answer came. */
  readonly shared?: { readonly run: string; readonly at: string } | undefined;
}

export interface Dataset {
  readonly org: string;
  /** The organization's name for readers. */
  readonly organization: string;
  readonly report: string;
  readonly title: string;
  readonly description?: string;
  readonly owner: string;
  readonly period: Period;
  readonly tables: readonly Table[];
  /** Of sections with sums, by id. Every other figure is as the service computed it. */
  readonly sums?: Readonly<Record<string, Sums>>;
  readonly calls: readonly CallRecord[];
  readonly registryVersion: number;
}

/** Whether nobody knows the table's current counts of the time that its run is of; a note says why. */
export const lacksCounts = ({ notes }: Pick<Table, 'notes'>): boolean =>
  notes.some(({ says }) => says.id === 'counts_undefined');

/** A note that makes a run follow `on_incomplete`, with the section it is of. */
export interface IncompleteNote extends Note {
  /** The section's id. */
  readonly section: string;
}

/**
 * Everything by which the dataset is not whole, in the order of the sections. Empty: every figure is there.
 * @param words of the readers; English when absent, as in errors, events and the manifest
 */
export function incompleteNotes(dataset: Pick<Dataset, 'tables'>, words: Words = wordsOf()): IncompleteNote[] {
  return dataset.tables.flatMap(({ id, notes }) =>
    notes.filter(({ incomplete }) => incomplete).map((note) => ({ ...noteIn(words, note), section: id })),
  );
}

/** The note as a sentence in these words. */
export const noteIn = (words: Words, { code, incomplete, says }: TableNote): Note => ({
  code,
  text: say(words, says),
  incomplete,
});
