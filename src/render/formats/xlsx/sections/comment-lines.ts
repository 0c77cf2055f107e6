import { type CommentSpan, spansText } from '../../../../definitions/commentary/comment-text.ts';
import type { Words } from '../../../../i18n/messages.ts';
import { actionLines, askedLines, decisionLines } from '../../../pack/review/asked.ts';
import { type BlockLine, partsOf } from '../../../pack/review/block-lines.ts';
import type { PackComment } from '../../../pack/review/review.ts';
import type { TextRun } from '../package/sheet-rows.ts';
import { type CellStyle, STYLES } from '../style/styles.ts';
import { textWidth } from '../style/text-size.ts';

/** A text across the columns of a sheet. */
export interface SheetLine {
  readonly text: string;
  readonly style: CellStyle;
  /** The same text in pieces, some of them emphasized. */
  readonly runs?: readonly TextRun[];
}

/** UTF-16 units of a row, of usual and of wide letters: no row of Excel is higher than 409 points, some 30 lines. */
const MAX_ROW_LENGTH = { usual: 2_000, wide: 1_000 } as const;
/** In characters of a column's width: East Asian letters have almost two. */
const WIDE_LETTER = 1.3;

interface NoteStyles {
  readonly paragraph: CellStyle;
  readonly item: CellStyle;
}

/** Of a comment on a section. */
const MARKED: NoteStyles = { paragraph: STYLES.comment, item: STYLES.commentItem };
/** Of a comment with a heading of its own. */
const PLAIN: NoteStyles = { paragraph: STYLES.text, item: STYLES.textItem };

/** The lines of a note: one for each paragraph and item, more for a very long one; what it asks for comes last. */
function noteSheetLines({ blocks }: PackComment, styles: NoteStyles, { review }: Words): SheetLine[] {
  const asked = askedLines(blocks);
  const part = (text: string, lines: readonly BlockLine[]): SheetLine[] =>
    lines.length === 0 ? [] : [{ text, style: STYLES.commentHeading }, ...lineRows(lines, styles)];
  return [
    ...lineRows(asked.body, styles),
    ...part(review.asked, decisionLines(asked)),
    ...part(review.actions, actionLines(asked)),
  ];
}

const lineRows = (lines: readonly BlockLine[], { paragraph, item }: NoteStyles): SheetLine[] =>
  lines.flatMap(({ marker, spans }) => {
    const text = spansText(spans);
    const wide = textWidth(text) > WIDE_LETTER * text.length;
    return partsOf(spans, wide ? MAX_ROW_LENGTH.wide : MAX_ROW_LENGTH.usual).map((part, index): SheetLine => {
      const runs: readonly CommentSpan[] = marker === '' || index > 0 ? part : [{ text: `${marker} ` }, ...part];
      return { text: spansText(runs), style: marker === '' ? paragraph : item, runs };
    });
  });

/** A comment on the whole report, below a heading. */
export const reportCommentLines = (comment: PackComment, words: Words): SheetLine[] =>
  noteSheetLines(comment, PLAIN, words);

/** A comment between the title of a section and its figures. */
export const commentLines = (comment: PackComment, words: Words): SheetLine[] => [
  { text: comment.heading, style: STYLES.commentHeading },
  ...noteSheetLines(comment, MARKED, words),
];
