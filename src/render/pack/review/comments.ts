import { isolateBidi, stripInvisible, toSingleLine } from '../../../base/text/bidi.ts';
import { cutAtWord } from '../../../base/text/cut-text.ts';
import type { CommentBlock, CommentSpan } from '../../../definitions/commentary/comment-text.ts';
import type { Comment } from '../../../definitions/commentary/printed-review.ts';
import { formatLocalDay } from '../../figures/format-date.ts';
import type { PackContext } from '../pack-context.ts';
import type { PackComment } from './review.ts';

/** The most characters of a person's name. */
const MAX_NAME_LENGTH = 80;

const authorName = (name: string): string => stripInvisible(toSingleLine(name)).trim();

/** A person's name as part of a line. It cannot add a line or change the direction of the text after it. */
const personName = (name: string): string => {
  const line = authorName(name);
  return isolateBidi(cutAtWord(line, MAX_NAME_LENGTH));
};

/** The day of an instant in the report's time zone; the text itself if it is not an instant. */
export function dayText(at: string, { dataset, locale }: Pick<PackContext, 'dataset' | 'locale'>): string {
  const instant = new Date(at);
  return Number.isNaN(instant.getTime()) ? toSingleLine(at) : formatLocalDay(instant, dataset.period.timezone, locale);
}

const cleanSpans = (spans: readonly CommentSpan[]): CommentSpan[] =>
  spans.map((span) => ({ ...span, text: toSingleLine(span.text) })).filter(({ text }) => text !== '');

/**
 * Makes each text a single line, so that none can add a line or change a direction. Empty paragraphs and list items are
 * left out.
 */
const cleanBlocks = (blocks: readonly CommentBlock[]): CommentBlock[] =>
  blocks.flatMap((block): CommentBlock[] => {
    if (block.kind === 'paragraph') {
      const spans = cleanSpans(block.spans);
      return spans.length === 0 ? [] : [{ ...block, spans }];
    }
    const items = block.items.map(cleanSpans).filter((spans) => spans.length > 0);
    return items.length === 0 ? [] : [{ ...block, items }];
  });

/** The comments of a dataset. A comment on a section that the report lacks becomes a comment on the whole report. */
export function packComments(context: Pick<PackContext, 'dataset' | 'locale' | 'words'>): PackComment[] {
  const { dataset, words } = context;
  const sections = new Set(dataset.tables.map(({ id }) => id));
  return (dataset.comments ?? []).map(({ section, author, at, blocks }: Comment) => ({
    section: section !== null && sections.has(section) ? section : null,
    heading: words.review.comment(personName(author), dayText(at, context)),
    author: authorName(author),
    at,
    blocks: cleanBlocks(blocks),
  }));
}

/** @param section null: comments on the whole report */
export const commentsOn = (comments: readonly PackComment[], section: string | null): PackComment[] =>
  comments.filter((comment) => comment.section === section);

/** The most names in the line. The manifest has all of them. */
const MAX_NAMES = 5;

/** `Approved by Ada Lovelace on 3 November 2026`; undefined without an approval. */
export function approvalText(context: Pick<PackContext, 'dataset' | 'locale' | 'words'>): string | undefined {
  const { by = [] } = context.dataset.approval ?? {};
  if (by.length === 0) return undefined;
  const { review } = context.words;
  const people = by.slice(0, MAX_NAMES).map(({ name, for: approver, at }) => ({
    name: approver === undefined ? personName(name) : review.deputy(personName(name), personName(approver)),
    day: dayText(at, context),
  }));
  return review.approved(people, by.length - people.length);
}
