import { stripInvisible } from '../../base/text/bidi.ts';

/**
 * A part of a line with one emphasis. It is plain text: anything in it that looks like markup, a formula or a link is
 * data.
 */
export interface CommentSpan {
  readonly text: string;
  readonly emphasis?: 'em' | 'strong';
}

/** A paragraph, or a list with one line per item. */
export type CommentBlock =
  | { readonly kind: 'paragraph'; readonly spans: readonly CommentSpan[] }
  | { readonly kind: 'list'; readonly ordered: boolean; readonly items: readonly (readonly CommentSpan[])[] };

/** The most characters of a comment. */
export const MAX_COMMENT_LENGTH = 4_000;
/** The most characters of a comment in an e-mail. */
export const MAX_EMAIL_COMMENT_LENGTH = 400;

/** Why a text cannot be a comment; undefined if it can. Lengths are in characters (code points). */
export function commentProblem(text: string): 'empty' | 'too_long' | undefined {
  if (commentLength(text) > MAX_COMMENT_LENGTH) return 'too_long';
  // Otherwise a dash or an invisible character would satisfy `commentary: required` without saying anything.
  return /[\p{L}\p{N}]/u.test(text) ? undefined : 'empty';
}

export const commentLength = (text: string): number => [...text].length;

/**
 * Matches the beginning of a line with a request: `Decision:`, `Action:`, `Action (owner, due):`, or the same in
 * German. Such a line is a paragraph of its own.
 */
export const REQUEST_LINE =
  /^(?:(?<decision>decision|beschluss)|(?<action>action|massnahme|maßnahme)(?: ?\((?<who>[^()]{0,200})\))?) ?: ?(?=\S)/iu;

const BULLET = /^-[ \t]+(?=\S)/;
const NUMBER = /^(\d{1,9})\.[ \t]+(?=\S)/;

/** A list or a paragraph that is still being read: the lines of each of its items. */
interface OpenBlock {
  readonly kind: 'paragraph' | 'bullets' | 'numbers';
  readonly items: string[];
}

/**
 * Parses a comment into blocks: paragraphs (a blank line ends one), lists (`- ` or `1. `, `2. `, …), `*em*` and
 * `**strong**`. Everything else is text: there are no links, HTML, headings or nesting, and a `*` without a partner
 * stays. Line breaks in a paragraph become spaces, except before `REQUEST_LINE`. The numbers of a list begin at 1 and are
 * consecutive, so that they are printed as they were typed: `3. November` is text. Control characters, unpaired
 * surrogates and what `stripInvisible` removes are left out. Pure.
 */
export function parseComment(text: string): readonly CommentBlock[] {
  const blocks: OpenBlock[] = [];
  let afterBlank = true;
  for (const line of splitLines(text)) {
    if (line === '') {
      afterBlank = true;
      continue;
    }
    addLine(blocks, line, afterBlank);
    afterBlank = false;
  }
  return blocks.map(({ kind, items }) =>
    kind === 'paragraph'
      ? { kind, spans: parseSpans(items.join(' ')) }
      : { kind: 'list', ordered: kind === 'numbers', items: items.map(parseSpans) },
  );
}

const splitLines = (text: string): readonly string[] =>
  text.split(/\r\n|[\n\r\u0085\u2028\u2029]/).map((line) =>
    stripInvisible(line)
      .replace(/\t/g, ' ')
      .replace(/\p{Cc}|\p{Cs}|[\ufffe\uffff]/gu, '')
      .trim(),
  );

function addLine(blocks: OpenBlock[], line: string, afterBlank: boolean): void {
  const last = blocks.at(-1);
  if (BULLET.test(line)) {
    const item = line.replace(BULLET, '');
    if (last?.kind === 'bullets') last.items.push(item);
    else blocks.push({ kind: 'bullets', items: [item] });
    return;
  }
  const number = NUMBER.exec(line)?.[1];
  const follows = last?.kind === 'numbers' && number === String(last.items.length + 1);
  if (number === '1' || follows) {
    if (follows) last.items.push(line.replace(NUMBER, ''));
    else blocks.push({ kind: 'numbers', items: [line.replace(NUMBER, '')] });
    return;
  }
  // A number out of order does not belong to the item before it.
  const isRequest = REQUEST_LINE.test(line.replace(/^\*\*/, ''));
  const continues = !isRequest && !afterBlank && !(number !== undefined && last?.kind !== 'paragraph');
  if (last === undefined || !continues) blocks.push({ kind: 'paragraph', items: [line] });
  else last.items.push(last.kind === 'paragraph' ? line : `${last.items.pop() ?? ''} ${line}`);
}

/**
 * A pair of stars around text that neither begins nor ends with a space. There is no letter or digit outside, so that
 * `3*4*5` stays. The text does not contain the closing stars, so each character is examined a limited number of times.
 */
const PAIR =
  /(?<![\p{L}\p{N}*])(?:\*\*(?<strong>[^\s*](?:[^*]*[^\s*])?)\*\*|\*(?<em>[^\s*](?:[^*]*[^\s*])?)\*)(?![\p{L}\p{N}*])/gu;

function parseSpans(text: string): readonly CommentSpan[] {
  const spans: CommentSpan[] = [];
  let end = 0;
  for (const match of text.matchAll(PAIR)) {
    const { strong, em } = match.groups ?? {};
    if (match.index > end) spans.push({ text: text.slice(end, match.index) });
    if (strong !== undefined) spans.push({ text: strong, emphasis: 'strong' });
    else if (em !== undefined) spans.push({ text: em, emphasis: 'em' });
    end = match.index + match[0].length;
  }
  if (end < text.length) spans.push({ text: text.slice(end) });
  return spans;
}

/** The text of blocks without emphasis: one paragraph or item per line, items with `-` or their number. */
export const plainCommentText = (blocks: readonly CommentBlock[]): string =>
  blocks
    .flatMap((block) =>
      block.kind === 'paragraph'
        ? spansText(block.spans)
        : block.items.map((item, index) => `${block.ordered ? `${index + 1}.` : '-'} ${spansText(item)}`),
    )
    .join('\n');

export const spansText = (spans: readonly CommentSpan[]): string => spans.map(({ text }) => text).join('');
