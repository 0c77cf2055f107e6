import { type CommentSpan, spansText } from '../../../../definitions/commentary/comment-text.ts';
import type { Words } from '../../../../i18n/messages.ts';
import { actionLines, decisionLines, splitRequests } from '../../../pack/review/asked.ts';
import { type BlockLine, splitParts } from '../../../pack/review/block-lines.ts';
import type { PackComment } from '../../../pack/review/review.ts';
import type { TextRun } from '../package/sheet-rows.ts';
import { type CellStyle, STYLES } from '../style/styles.ts';
import { textWidth } from '../style/text-size.ts';

/** A text that spans the columns of a sheet. */
export interface SheetLine {
  readonly text: string;
  readonly style: CellStyle;
  /** The same text in parts, some of them emphasized. */
  readonly runs?: readonly TextRun[];
}

/**
 * The most UTF-16 units per row, of usual and of wide letters: Excel's rows are at most 409 points high, about 30
 * lines.
 */
const MAX_ROW_LENGTH = { usual: 2_000, wide: 1_000 } as const;
/** From this average width, in characters of a column, a text has wide letters: East Asian ones have almost two. */
const WIDE_LETTER = 1.3;

interface NoteStyles {
  readonly paragraph: CellStyle;
  readonly item: CellStyle;
}

/** The styles of a comment on a section. */
const MARKED: NoteStyles = { paragraph: STYLES.comment, item: STYLES.commentItem };
/** The styles of a comment below a heading of its own. */
const PLAIN: NoteStyles = { paragraph: STYLES.text, item: STYLES.textItem };

/**
 * The lines of a comment: one for each paragraph and list item, and more for a very long one. Its requests come last.
 */
function noteSheetLines({ blocks }: PackComment, styles: NoteStyles, { review }: Words): SheetLine[] {
  const requests = splitRequests(blocks);
  const part = (text: string, lines: readonly BlockLine[]): SheetLine[] =>
    lines.length === 0 ? [] : [{ text, style: STYLES.commentHeading }, ...lineRows(lines, styles)];
  return [
    ...lineRows(requests.body, styles),
    ...part(review.asked, decisionLines(requests)),
    ...part(review.actions, actionLines(requests)),
  ];
}

const lineRows = (lines: readonly BlockLine[], { paragraph, item }: NoteStyles): SheetLine[] =>
  lines.flatMap(({ marker, spans }) => {
    const text = spansText(spans);
    const wide = textWidth(text) > WIDE_LETTER * text.length;
    return splitParts(spans, wide ? MAX_ROW_LENGTH.wide : MAX_ROW_LENGTH.usual).map((part, index): SheetLine => {
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
