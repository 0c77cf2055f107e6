import { englishCounter, type LocaleFormatters } from '../formatters.ts';

/** A person who approved, and the day in words. */
export interface ApproverText {
  readonly name: string;
  readonly day: string;
}

/** Texts of comments, approvals and corrected editions, in every format. */
export const review = (to: LocaleFormatters) => {
  const counted = englishCounter(to);
  return {
    /**
     * The heading of a comment.
     * @param day in words
     */
    comment: (author: string, day: string) => `Comment by ${author}, ${day}`,
    /** Headings above the decisions that a comment requests from its readers, and above the actions for others. */
    asked: 'Asked of you',
    actions: 'Actions',
    /**
     * Shown in brackets at the end of an action from an earlier period.
     * @param period e.g. `September 2026`
     */
    carried: (period: string) => `carried from ${period}`,
    /**
     * Shown after the beginning of a comment that is cut.
     * @param where e.g. `in the attached workbook`
     */
    continued: (where: string) => `Continued ${where}.`,
    /** A deputy who approved, and the approver. */
    deputy: (name: string, approver: string) => `${name} for ${approver}`,
    /** @param others the number of further people */
    approved: (people: readonly ApproverText[], others: number) =>
      `Approved by ${to.all([
        ...people.map(({ name, day }) => `${name} on ${day}`),
        ...(others === 0 ? [] : [counted(others, 'other person', 'other people')]),
      ])}`,
    /** @param day when the first edition was delivered, in words */
    corrected: (day: string) => `Corrected, replaces the edition of ${day}`,
    /**
     * The beginning of the subject of a corrected edition's e-mail.
     * @param edition counted from 1, the first edition
     */
    correctedSubject: (edition: number | undefined) =>
      edition === undefined ? 'Corrected' : `Corrected, edition ${edition}`,
    /** Shown in brackets at the end of the file names of a corrected edition. */
    correctedFile: (day: string) => `corrected, replaces the edition of ${day}`,
    changed: (figures: number) => `${counted(figures, 'figure')} changed`,
    /**
     * Shown after the reason for a corrected edition. Not all figures can be compared: lists and current counts cannot.
     */
    unchanged: 'No figure that can be compared has changed',
    /** @param place bucket and group of the figure; empty for totals */
    changedFigure: (section: string, metric: string, place: readonly string[]) =>
      `${section}: ${metric}${place.length === 0 ? '' : ` (${place.join(', ')})`}`,
    /** A figure, or its status. */
    change: (now: string, before: string) => `${now}, was ${before}`,
    moreChanges: (count: number) => `${counted(count, 'more figure')} changed.`,
    /** The label of the replaced run's id. */
    replaces: 'Replaces run',
    /**
     * Shown instead of `corrected` if somebody requested a delivered period again.
     * @param day when it was delivered before, in words
     */
    repeated: (day: string) => `Repeated copy, after the delivery of ${day}`,
    repeatedSubject: 'Repeated copy',
    repeats: 'Repeats run',
    /** The columns of a CSV file of comments, and their descriptions without a full stop. */
    csv: {
      title: 'Comments',
      section: { name: 'Section', description: 'Id of the section; empty for a comment on the whole report' },
      sectionTitle: {
        name: 'Section title',
        description: 'Title of the section; empty for a comment on the whole report',
      },
      comment: { name: 'Comment', description: 'Plain text; one line for each paragraph or item of a list' },
      author: { name: 'Author', description: 'Who wrote it' },
      at: { name: 'Written at', description: 'When it was written' },
    },
  };
};
