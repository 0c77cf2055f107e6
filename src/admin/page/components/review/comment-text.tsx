import { type CommentSpan, parseComment } from '../../../../definitions/commentary/comment-text.ts';
import { figureQuoter, type ReviewView } from '../../../../services/reviews/review-service.ts';

interface CommentTextProps {
  /** The text as it was typed. */
  readonly text: string;
  readonly sections: ReviewView['sections'];
}

/** A comment as the pack prints it: its blocks, with references replaced by figures. */
export const CommentText = ({ text, sections }: CommentTextProps) => {
  const quote = figureQuoter(sections);
  return (
    <>
      {parseComment(text).map((block) => {
        if (block.kind === 'paragraph') {
          return (
            <p>
              <Spans spans={block.spans} quote={quote} />
            </p>
          );
        }
        const items = block.items.map((spans) => (
          <li>
            <Spans spans={spans} quote={quote} />
          </li>
        ));
        return block.ordered ? <ol>{items}</ol> : <ul>{items}</ul>;
      })}
    </>
  );
};

interface SpansProps {
  readonly spans: readonly CommentSpan[];
  readonly quote: (text: string) => string;
}

const Spans = ({ spans, quote }: SpansProps) => (
  <>
    {spans.map(({ text, emphasis }) => {
      const printed = quote(text);
      if (emphasis === undefined) return printed;
      return emphasis === 'em' ? <em>{printed}</em> : <strong>{printed}</strong>;
    })}
  </>
);
