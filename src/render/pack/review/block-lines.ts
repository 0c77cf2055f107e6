import { withoutOpenFigure } from '../../../base/text/cut-text.ts';
import { type CommentBlock, type CommentSpan, spansText } from '../../../definitions/commentary/comment-text.ts';

/** A paragraph, or a list item. */
export interface BlockLine {
  /** `•` or `2.` before a list item; empty before a paragraph. */
  readonly marker: string;
  readonly spans: readonly CommentSpan[];
}

/** The lines of a comment, in order, for formats without lists of their own. */
export const blockLines = (blocks: readonly CommentBlock[]): BlockLine[] =>
  blocks.flatMap((block) =>
    block.kind === 'paragraph'
      ? [{ marker: '', spans: block.spans }]
      : block.items.map((spans, index) => ({ marker: block.ordered ? `${index + 1}.` : '•', spans })),
  );

/**
 * Where to cut a text that is longer than `max` UTF-16 units: after a word, otherwise between two characters. At least
 * 1.
 */
function cutIndex(text: string, max: number): number {
  const space = text.lastIndexOf(' ', max);
  // A cut far before the limit would waste the line: the next word is longer than what is left.
  if (space > max / 2) return space;
  const start = new Intl.Segmenter().segment(text).containing(max)?.index ?? max;
  const figure = start - withoutOpenFigure(text.slice(0, start)).length;
  return start > figure ? start - figure : start > 0 ? start : max;
}

/**
 * Splits a line into its first `max` UTF-16 units, cut between words if possible, and the rest. A short line has no
 * rest.
 */
function splitSpans(
  spans: readonly CommentSpan[],
  max: number,
): { readonly first: readonly CommentSpan[]; readonly rest: readonly CommentSpan[] } {
  const text = spansText(spans);
  if (text.length <= max) return { first: spans, rest: [] };
  const at = cutIndex(text, max);
  const first: CommentSpan[] = [];
  const rest: CommentSpan[] = [];
  let from = 0;
  for (const span of spans) {
    const cut = Math.min(span.text.length, Math.max(0, at - from));
    const [head, tail] = [span.text.slice(0, cut), span.text.slice(cut)];
    if (head !== '') first.push({ ...span, text: head });
    const continued = rest.length === 0 ? tail.trimStart() : tail;
    if (continued !== '') rest.push({ ...span, text: continued });
    from += span.text.length;
  }
  return { first, rest };
}

/** Splits a line into parts of at most `max` UTF-16 units, because a cell has a maximum height. */
export function splitParts(spans: readonly CommentSpan[], max: number): (readonly CommentSpan[])[] {
  const parts: (readonly CommentSpan[])[] = [];
  for (let left = spans; left.length > 0; ) {
    const { first, rest } = splitSpans(left, max);
    parts.push(first);
    left = rest;
  }
  return parts;
}

/**
 * The beginning of a comment: at most this many characters (UTF-16 units) and lines, cut at a word. A line that is cut
 * ends with an ellipsis.
 */
export function shortenLines(
  lines: readonly BlockLine[],
  characters: number,
  maxLines: number,
): { readonly lines: readonly BlockLine[]; readonly cut: boolean } {
  const shown: BlockLine[] = [];
  let left = characters;
  for (const { marker, spans } of lines) {
    if (left <= 0 || shown.length === maxLines) return { lines: shown, cut: true };
    const { first, rest } = splitSpans(spans, left);
    if (rest.length > 0) return { lines: [...shown, { marker, spans: [...first, { text: ' …' }] }], cut: true };
    shown.push({ marker, spans });
    left -= spansText(spans).length;
  }
  return { lines: shown, cut: false };
}
