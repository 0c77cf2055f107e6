import { englishCounter, type LocaleFormatters } from '../formatters.ts';
import type { ComparedWith } from '../note.ts';
import { COMPARED_WITH } from './comparisons.ts';

type Direction = 'up' | 'down';
/** Arrows show the direction. "Up" and "down" would suggest more than an ordinary change. */
const ARROWS = { up: '▲', down: '▼' } as const satisfies Record<Direction, string>;

const ENDINGS = { one: 'st', two: 'nd', few: 'rd', other: 'th', zero: 'th', many: 'th' } as const;
const ordinal = (n: number): string => `${n}${ENDINGS[new Intl.PluralRules('en', { type: 'ordinal' }).select(n)]}`;

/** The sentences of the e-mail, including the template variable `words`. */
export const mail = (to: LocaleFormatters) => {
  const counted = englishCounter(to);
  const more = (count: number, one: string, where: string): string =>
    `${counted(count, `more ${one}`, `more ${one}s`)} ${count === 1 ? 'is' : 'are'} ${where}.`;
  return {
    noPrevious: (kind: ComparedWith) => `no figure for the ${COMPARED_WITH[kind]}`,
    /** One of several changes of a figure. */
    changeFrom: (change: string, kind: ComparedWith) => `${change} (${COMPARED_WITH[kind]})`,
    was: (before: string) => `was ${before}`,
    unchanged: (at: string) => `= unchanged at ${at}`,
    /** @param size undefined for a change without a size, such as growth from 0 */
    changed: (direction: Direction, size: string | undefined, from: string) =>
      `${ARROWS[direction]}${size === undefined ? '' : ` ${size}`} from ${from}`,
    /** @param times `1,333 times as many` */
    changedTimes: (times: string, from: string) => `▲ ${times}, was ${from}`,
    /** @param unseen that no change is visible */
    unseen: (unseen: string, from: string) => `${unseen} from ${from}`,
    /** A figure's name with its section or scope. */
    named: (label: string, about: readonly string[]) => `${label} (${about.join('; ')})`,
    /** The period is still running. */
    soFar: 'so far',
    /**
     * A current count.
     * @param at an ISO instant; null if unknown
     */
    now: (at: string | null, timezone: string) => (at === null ? 'now' : `now, ${to.instant(at, timezone)}`),
    /**
     * A reading of a current count.
     * @param at an ISO instant
     */
    read: (at: string, timezone: string) => `as read ${to.instant(at, timezone)}`,
    /** For filters with many values. */
    filterIsAmong: (label: string, values: number) => `${label} is one of ${to.number(values)}`,
    filterIsNotAmong: (label: string, values: number) => `${label} is none of ${to.number(values)}`,

    /** The heading above figures that are breached or on watch. */
    attention: (breached: number, watch: number) =>
      [
        ...(breached === 0 ? [] : [`${to.number(breached)} breached`]),
        ...(watch === 0 ? [] : [`${to.number(watch)} on watch`]),
      ].join(', '),
    nothingBreached: 'Nothing is breached or on watch.',
    moreAttention: (count: number) =>
      count === 1
        ? '1 more figure is breached or on watch.'
        : `${to.number(count)} more figures are breached or on watch.`,
    rowCount: (rows: number) => counted(rows, 'row'),
    /**
     * The only sentence of an e-mail without figures.
     * @param period e.g. `October 2026`
     */
    ready: (period: string) => `The report for ${period} is ready.`,

    /** By output format, in order of preference. */
    inAttached: { xlsx: 'in the attached workbook', csv: 'in the attached CSV files', pdf: 'in the attached PDF' },
    leftOut: 'left out here',
    below: 'below',
    thingsToKnow: (count: number) => `${counted(count, 'thing')} to know before you use these figures`,
    moreRemarks: (count: number, where: string) => more(count, 'such remark', where),
    moreFigures: (count: number, where: string) => more(count, 'headline figure', where),
    moreColumns: (count: number, where: string) => more(count, 'column', where),
    moreSections: (count: number, where: string) => more(count, 'section', where),
    moreFiles: (count: number) => `The run created ${counted(count, 'more file')}.`,
    allRows: (rows: number, where: string) =>
      `${rows === 1 ? 'The only' : 'All'} ${counted(rows, 'row')} ${rows === 1 ? 'is' : 'are'} ${where}.`,
    someRows: (which: 'first' | 'last', shown: number, rows: number, where: string) =>
      `The ${which} ${to.number(shown)} of ${counted(rows, 'row')}; the rest is ${where}.`,

    onList: (title: string, organization: string, owner: string) =>
      `You receive this e-mail because you are on the recipient list of the report “${title}” of ${organization}, which ${owner} manages.`,
    madeWhen: (schedule: string, timezone: string) => `The report is created ${schedule} (${timezone}).`,
    /** A business day of a month, counted from its end if `n` is negative. */
    businessDay: (n: number): string =>
      `on the ${n < 0 ? (n === -1 ? 'last' : `${ordinal(-n)} last`) : ordinal(n)} business day of the month`,
    /** For a schedule that moves days off. */
    shifted: (to: 'next_business_day' | 'previous_business_day'): string =>
      to === 'next_business_day' ? 'or on the next business day' : 'or on the business day before',
    /** For a schedule that cannot be described in words. */
    bySchedule: (cron: string) => `by the schedule ${cron}`,
    onDemand: 'This one was created on request.',

    /** The template variable `words`. */
    template: {
      incomplete: 'Incomplete',
      headline: 'Headline',
      still_running: 'still running',
      cut_off: 'cut off',
      no_rows: 'No rows: the service has nothing for this section.',
      files: 'Files',
      attached: 'attached',
      how_to_read: 'How to read',
      questions: 'Questions, corrections, or removal from the list:',
      made: 'Made',
      report: 'report',
      run: 'run',
      open_page: 'Open the run in Docket',
      needs_attention: 'Needs attention',
    },
  };
};
