import type { NoteSpan } from '../../../../definitions/commentary/note.ts';
import { parseNote } from '../../../../definitions/commentary/parse-note.ts';
import type { ReviewView } from '../../../../services/reviews/review-service.ts';

interface NoteTextProps {
  /** As typed. */
  readonly text: string;
  readonly sections: ReviewView['sections'];
}

/** A comment as the pack prints it: its blocks, with the figures that its references name. */
export const NoteText = ({ text, sections }: NoteTextProps) => {
  const figures = new Map(
    sections.flatMap(({ references }) => references.map(({ reference, text: figure }) => [keyOf(reference), figure])),
  );
  return (
    <>
      {parseNote(text).map((block) => {
        if (block.kind === 'paragraph') {
          return (
            <p>
              <Spans spans={block.spans} figures={figures} />
            </p>
          );
        }
        const items = block.items.map((spans) => (
          <li>
            <Spans spans={spans} figures={figures} />
          </li>
        ));
        return block.ordered ? <ol>{items}</ol> : <ul>{items}</ul>;
      })}
    </>
  );
};

interface SpansProps {
  readonly spans: readonly NoteSpan[];
  readonly figures: ReadonlyMap<string, string>;
}

const Spans = ({ spans, figures }: SpansProps) => (
  <>
    {spans.map(({ text, emphasis }) => {
      const printed = printFigures(text, figures);
      if (emphasis === undefined) return printed;
      return emphasis === 'em' ? <em>{printed}</em> : <strong>{printed}</strong>;
    })}
  </>
);

const printFigures = (text: string, figures: ReadonlyMap<string, string>): string =>
  text.replaceAll(/\{\{[^{}]*\}\}/g, (reference) => figures.get(keyOf(reference)) ?? reference);

const keyOf = (reference: string): string => reference.replaceAll(/\s+/g, '');
