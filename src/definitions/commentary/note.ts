/** A piece of a line. It is plain text: whatever looks like markup, a formula or a link in it is data. */
export interface NoteSpan {
  readonly text: string;
  readonly emphasis?: 'em' | 'strong';
}

/** A paragraph, or a list with one line an item. */
export type NoteBlock =
  | { readonly kind: 'paragraph'; readonly spans: readonly NoteSpan[] }
  | { readonly kind: 'list'; readonly ordered: boolean; readonly items: readonly (readonly NoteSpan[])[] };

/** Characters of a note, at most. */
export const MAX_NOTE_LENGTH = 4_000;
/** Characters of a note in an e-mail, at most. */
export const MAX_EMAIL_NOTE_LENGTH = 400;
