import type { ReviewView } from './review-service.ts';

const keyOf = (reference: string): string => reference.replaceAll(/\s+/g, '');

/** Prints a text with the figures that its references name, however they are spaced. Unknown references stay. */
export function figureQuoter(sections: ReviewView['sections']): (text: string) => string {
  const figures = new Map(
    sections.flatMap(({ references }) => references.map(({ reference, text }) => [keyOf(reference), text])),
  );
  return (text) => text.replaceAll(/\{\{[^{}]*\}\}/g, (reference) => figures.get(keyOf(reference)) ?? reference);
}
