import { englishCounter, type LocaleFormatters } from '../formatters.ts';

/** Who approved, and on which day, in words. */
export interface ApproverText {
  readonly name: string;
  readonly day: string;
}

/** Texts of comments, approvals and corrected editions, in every format. */
export const review = (to: LocaleFormatters) => {
  const counted = englishCounter(to);
  return {
    /** Above a comment. @param day in words */
    comment: (author: string, day: string) => `Comment by ${author}, ${day}`,
    /** Above what a comment asks its readers to decide, and what others will do. */
    asked: 'Asked of you',
    actions: 'Actions',
    /** Ends an action of an earlier period, in brackets. @param period `September 2026` */
    carried: (period: string) => `carried from ${period}`,
    /** Ends the beginning of a comment. @param where e.g. `in the attached workbook` */
    continued: (where: string) => `Continued ${where}.`,
    /** A deputy who has approved, and the approver. */
    deputy: (name: string, approver: string) => `${name} for ${approver}`,
    /** @param others how many more people */
    approved: (people: readonly ApproverText[], others: number) =>
      `Approved by ${to.all([
        ...people.map(({ name, day }) => `${name} on ${day}`),
        ...(others === 0 ? [] : [counted(others, 'other person', 'other people')]),
      ])}`,
    /** @param day of the first edition's delivery, in words */
    corrected: (day: string) => `Corrected, replaces the edition of ${day}`,
    /** Begins the subject of a corrected edition's e-mail. @param edition counted from 1, the first one */
    correctedSubject: (edition: number | undefined) =>
      edition === undefined ? 'Corrected' : `Corrected, edition ${edition}`,
    /** Ends the names of a corrected edition's files, in brackets. */
    correctedFile: (day: string) => `corrected, replaces the edition of ${day}`,
    changed: (figures: number) => `${counted(figures, 'figure')} changed`,
    /** After the reason of a corrected edition. Not all figures can be compared: lists and current counts are new. */
    unchanged: 'No figure that can be compared has changed',
    /** @param place bucket and group of the figure; empty for totals */
    changedFigure: (section: string, metric: string, place: readonly string[]) =>
      `${section}: ${metric}${place.length === 0 ? '' : ` (${place.join(', ')})`}`,
    /** A figure, or its status. */
    change: (now: string, before: string) => `${now}, was ${before}`,
    moreChanges: (count: number) => `${counted(count, 'more figure')} changed.`,
    /** Label of the replaced run's id. */
    replaces: 'Replaces run',
    /** In place of `corrected` where somebody asked for a delivered period again. @param day of the delivery before, in words */
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
