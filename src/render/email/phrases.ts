import cronstrue from 'cronstrue';
import 'cronstrue/locales/de.js';
import { isolateBidi } from '../../base/text/bidi.ts';
import type { Dataset } from '../../fetch/dataset.ts';
import { messagesFor, selectLanguage, type Words } from '../../i18n/messages.ts';
import type { Chart } from '../charts/chart.ts';
import type { SummarySection } from './summary.ts';
import type { SectionTable } from './summary-cells.ts';

/** Where readers find the figures that the e-mail leaves out: in an attachment, or in no file that they can open. */
export function remainderLocation(attached: ReadonlySet<string>, { mail }: Words): string {
  const attachment = Object.entries(mail.inAttached).find(([format]) => attached.has(format));
  return attachment?.[1] ?? mail.leftOut;
}

/** E.g. `12 more headline figures are below.`; empty if there are none. */
export const moreCountText = (
  count: number,
  location: string,
  text: (count: number, location: string) => string,
): string => (count <= 0 ? '' : text(count, location));

/** What a section's table leaves out and where to find it. Empty if it shows everything. */
export function omissionText(
  { size, which, headers }: SectionTable,
  shown: number,
  location: string,
  { mail }: Words,
): string {
  const rowText = (): string =>
    shown === 0 ? mail.allRows(size.rows, location) : mail.someRows(which, shown, size.rows, location);
  const rows = shown >= size.rows ? '' : rowText();
  const columns = moreCountText(size.columns - headers.length, location, mail.moreColumns);
  return [rows, columns].filter((sentence) => sentence !== '').join(' ');
}

/** A schedule, as the sentence about it needs it. */
export interface ScheduleSummary {
  readonly cron: string;
  readonly timezone: string;
  readonly on?: { readonly business_day: number } | undefined;
  readonly shift?: 'next_business_day' | 'previous_business_day' | undefined;
}

export interface TriggerInfo {
  /** Absent or empty: on demand only. */
  readonly schedules?: readonly ScheduleSummary[] | undefined;
  /** Whether somebody started this run on demand. */
  readonly onDemand?: boolean | undefined;
}

/** A schedule in words, e.g. `at 08:00, only on Monday`, or the cron expression if it cannot be described. */
export function describeCron(cron: string, locale: string): string {
  try {
    const words = cronstrue.toString(cron, {
      use24HourTimeFormat: true,
      verbose: false,
      locale: selectLanguage(locale),
    });
    return `${words.charAt(0).toLowerCase()}${words.slice(1)}`;
  } catch {
    return messagesFor(locale).mail.bySchedule(cron);
  }
}

/** Why the recipient gets this e-mail. */
export function recipientReason(dataset: Dataset, { schedules = [], onDemand }: TriggerInfo, locale: string): string {
  const { title, owner, organization } = dataset;
  const { mail } = messagesFor(locale);
  return [
    mail.onList(title, organization, owner),
    ...schedules.map(({ cron, timezone, on, shift }) => {
      const when = [
        describeCron(cron, locale),
        on === undefined ? '' : mail.businessDay(on.business_day),
        shift === undefined ? '' : mail.shifted(shift),
      ];
      return mail.madeWhen(when.filter((part) => part !== '').join(', '), timezone);
    }),
    onDemand ? mail.onDemand : '',
  ]
    .filter((sentence) => sentence !== '')
    .join(' ');
}

/**
 * The caption of a chart's image: what it leaves out, whether its last time is still running, and the statuses of its
 * totals. May be empty.
 */
export const chartCaption = (
  { omitted, overTime }: Chart,
  { running, chartStatuses = [], codes = [] }: SummarySection,
  { chart }: Words,
): string =>
  [
    ...(omitted.length === 0 ? [] : [chart.omits(omitted)]),
    ...(codes.length === 0 ? [] : [chart.codes(codes.map(({ code, name }) => `${code} = ${isolateBidi(name)}`))]),
    ...(overTime && running ? [chart.endRunning] : []),
    ...chartStatuses.map((status) => `${status}.`),
  ].join(' ');
