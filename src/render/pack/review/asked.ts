import {
  type CommentBlock,
  type CommentSpan,
  REQUEST_LINE,
  spansText,
} from '../../../definitions/commentary/comment-text.ts';
import { type BlockLine, blockLines } from './block-lines.ts';

/** The requests in a comment, separate from the rest of it. */
export interface RequestLines {
  /** The other lines. */
  readonly body: readonly BlockLine[];
  readonly decisions: readonly (readonly CommentSpan[])[];
  readonly actions: readonly Action[];
}

/** Each decision that a comment requests, as a line. */
export const decisionLines = ({ decisions }: RequestLines): BlockLine[] =>
  decisions.map((spans) => ({ marker: '▸', spans }));
export const actionLines = ({ actions }: RequestLines): BlockLine[] =>
  actions.map(({ who, spans }) => ({
    marker: '•',
    spans: who === '' ? spans : [{ text: `${who}: `, emphasis: 'strong' }, ...spans],
  }));

export interface Action {
  /** Owner and due date as typed: `MLRO, 30 November`; empty if there are none. */
  readonly who: string;
  readonly spans: readonly CommentSpan[];
}

/** Separates the lines of a comment that begin with `Decision:` or `Action (owner, due):` from the others. */
export function splitRequests(blocks: readonly CommentBlock[]): RequestLines {
  const body: BlockLine[] = [];
  const decisions: (readonly CommentSpan[])[] = [];
  const actions: Action[] = [];
  for (const line of blockLines(blocks)) {
    const match = REQUEST_LINE.exec(spansText(line.spans));
    const { decision, who = '' } = match?.groups ?? {};
    if (match === null) body.push(line);
    else if (decision === undefined) actions.push({ who: who.trim(), spans: spansFrom(line.spans, match[0].length) });
    else decisions.push(spansFrom(line.spans, match[0].length));
  }
  return { body, decisions, actions };
}

/** The spans without this many characters at their beginning. */
function spansFrom(spans: readonly CommentSpan[], from: number): readonly CommentSpan[] {
  let skip = from;
  return spans.flatMap((span) => {
    const text = span.text.slice(skip);
    skip = Math.max(0, skip - span.text.length);
    return text === '' ? [] : [{ ...span, text }];
  });
}
