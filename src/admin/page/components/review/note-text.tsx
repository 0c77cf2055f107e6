import type { NoteSpan } from '../../../../definitions/commentary/note.ts';
import { parseNote } from '../../../../definitions/commentary/parse-note.ts';
import { figureQuoter } from '../../../../services/reviews/quoted-figures.ts';
import type { ReviewView } from '../../../../services/reviews/review-service.ts';

interface NoteTextProps {
  /** As typed. */
  readonly text: string;
  readonly sections: ReviewView['sections'];
}

/** A comment as the pack prints it: its blocks, with the figures that its references name. */
export const NoteText = ({ text, sections }: NoteTextProps) => {
  const quote = figureQuoter(sections);
  return (
    <>
      {parseNote(text).map((block) => {
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
  readonly spans: readonly NoteSpan[];
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
