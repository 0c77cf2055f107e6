import { messagesFor, type Words } from '../i18n/messages.ts';
import { type NoteMessage, plainCommentText } from '../i18n/note.ts';

/** Kinds of notes, as they appear in manifests, webhooks and `--json`. */
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
  'read_at',
  'reading_missing',
  'target_mismatch',
  'unlike',
  'not_comparable',
] as const;
export type NoteCode = (typeof NOTE_CODES)[number];

/** A note as a sentence. */
export interface Note {
  readonly code: NoteCode;
  readonly text: string;
  readonly incomplete: boolean;
}

/** A note on a table. If it is `incomplete`, the run follows `on_incomplete`. */
export interface TableNote extends Omit<Note, 'text'> {
  /** The note as data, formatted in the reader's language. */
  readonly message: NoteMessage;
}

interface NotedTable {
  readonly notes: readonly TableNote[];
  readonly columns?: readonly { readonly kind: string }[];
}

/**
 * The notes of a table. If none of its metrics has data before the same day, one sentence says so: the organization is
 * new, and a sentence for each metric would add nothing.
 */
export function tableNotesOnce({ notes, columns = [] }: NotedTable): readonly TableNote[] {
  const metrics = columns.filter(({ kind }) => kind === 'metric').length;
  const lacking = notes.flatMap(({ message }) => (message.id === 'no_data_before' ? message.of.first : []));
  const [first] = lacking;
  if (first === undefined || lacking.length < Math.max(2, metrics) || lacking.some((day) => day !== first))
    return notes;
  const [whole] = notes.filter(({ message }) => message.id === 'no_data_before');
  const about = notes.filter(({ message }) => !ABOUT_DATA_STARTS.has(message.id));
  return whole === undefined ? notes : [{ ...whole, message: { id: 'no_figures_before', of: { first } } }, ...about];
}

/** Notes that follow from the day on which data begins. */
const ABOUT_DATA_STARTS: ReadonlySet<NoteMessage['id']> = new Set([
  'no_data_before',
  'not_compared_before',
  'to_date_from',
]);

/** Whether the table's current counts are undefined for the period of the run. A note then gives the reason. */
export const lacksCurrentCounts = ({ notes }: NotedTable): boolean =>
  notes.some(({ message }) => message.id === 'counts_undefined');

/** A note that makes a run follow `on_incomplete`. */
export interface IncompleteNote extends Note {
  /** The section's id. */
  readonly section: string;
}

/**
 * All notes that make the dataset incomplete, in the order of the sections.
 * @param words language; default: English, as in errors, events and the manifest
 */
export function incompleteNotes(
  dataset: { readonly tables: readonly (NotedTable & { readonly id: string })[] },
  words: Words = messagesFor(),
): IncompleteNote[] {
  return dataset.tables.flatMap((table) =>
    tableNotesOnce(table)
      .filter(({ incomplete }) => incomplete)
      .map((note) => ({ ...formatNote(words, note), section: table.id })),
  );
}

/** Formats the note as a sentence. */
export const formatNote = (words: Words, { code, incomplete, message }: TableNote): Note => ({
  code,
  text: plainCommentText(words, message),
  incomplete,
});
