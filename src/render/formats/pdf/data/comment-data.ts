import { blockLines } from '../../../pack/review/block-lines.ts';
import type { PackComment } from '../../../pack/review/review.ts';

/** A piece of a line. */
interface SpanData {
  readonly text: string;
  readonly emphasis: '' | 'em' | 'strong';
}

/** A comment of a person as a template lays it out. */
export interface CommentData {
  /** Who wrote it, and when. */
  readonly heading: string;
  /** Paragraphs, and items of lists. `marker` is empty for a paragraph. */
  readonly lines: readonly { readonly marker: string; readonly spans: readonly SpanData[] }[];
}

export const commentData = ({ heading, blocks }: PackComment): CommentData => ({
  heading,
  lines: blockLines(blocks).map(({ marker, spans }) => ({
    marker,
    spans: spans.map(({ text, emphasis }): SpanData => ({ text, emphasis: emphasis ?? '' })),
  })),
});
