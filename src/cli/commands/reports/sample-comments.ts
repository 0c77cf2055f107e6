import type { Definition } from '../../../definitions/schema/report-definition.ts';
import type { Dataset } from '../../../fetch/dataset.ts';
import { type TypedComment, withComments } from '../../../render/figures/comments/printed-comments.ts';
import { figureReferences, referenceText } from '../../../render/figures/comments/references.ts';

/** What a sample of a comment says, with figures of its section if there are any. */
interface SampleText {
  readonly author: string;
  readonly text: (figures: string) => string;
}

const ENGLISH: SampleText = {
  author: 'A sample author',
  text: (figures) =>
    `**A sample of a comment**${figures}. It is written for this period, and printed with its author and time.\n\n- An item of a list\n- *Emphasis*, and text that is no markup: <b>, =1+1`,
};
const GERMAN: SampleText = {
  author: 'Beispielperson',
  text: (figures) =>
    `**Beispiel eines Kommentars**${figures}. Er wird für diesen Zeitraum geschrieben und mit Person und Zeit gedruckt.\n\n- Ein Punkt einer Liste\n- *Betonung*, und Text ohne Auszeichnung: <b>, =1+1`,
};

/**
 * Adds a comment to each section that may have one, or to the whole report where it needs an approval only. A report without
 * review stays as it is.
 * @param now epoch ms
 */
export const sampleComments =
  ({ sections, approval }: Pick<Definition, 'sections' | 'approval'>, now: number) =>
  (dataset: Dataset, locale: string): Dataset => {
    const commented: readonly (string | null)[] = sections.flatMap(({ id, commentary }) =>
      commentary === undefined ? [] : [id],
    );
    const ids = commented.length === 0 && approval !== undefined ? [null] : commented;
    if (ids.length === 0) return dataset;
    const references = [...figureReferences(dataset, locale).values()];
    const { author, text } = locale.startsWith('de') ? GERMAN : ENGLISH;
    const typed = ids.map((section): TypedComment => {
      const [first, ...others] = references.filter((each) => each.section === section);
      const change = others.find(({ name }) => name === `${first?.name}.change`);
      const figures =
        first === undefined ? '' : `: ${[first, ...(change ? [change] : [])].map(referenceText).join(', ')}`;
      return { section, author, at: now, text: text(figures) };
    });
    return withComments(dataset, typed, locale);
  };
