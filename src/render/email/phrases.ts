import cronstrue from 'cronstrue';
import 'cronstrue/locales/de.js';
import type { Dataset } from '../../fetch/dataset.ts';
import { languageOf, messagesFor, type Words } from '../../i18n/messages.ts';
import type { Artifact } from '../artifact.ts';
import type { Chart } from '../charts/chart.ts';
import type { Series } from '../charts/chart-data.ts';
import { formatValue } from '../figures/format-value.ts';
import type { SectionTable } from './section-tables.ts';
import type { SummarySection } from './summary.ts';

/** Where the e-mail's omitted figures are: in an attachment, in a file that it names, or nowhere. */
export function remainderLocation(
  attached: ReadonlySet<string>,
  artifacts: readonly Artifact[],
  { mail }: Words,
): string {
  const attachment = Object.entries(mail.inAttached).find(([format]) => attached.has(format));
  return attachment?.[1] ?? (artifacts.length > 0 ? mail.inFiles : mail.leftOut);
}

/** E.g. `12 more headline figures are below.`; empty for none. */
export const moreCountText = (
  count: number,
  location: string,
  text: (count: number, location: string) => string,
): string => (count <= 0 ? '' : text(count, location));

/** What a section's table leaves out, and where to find it; empty when it shows everything. */
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

/** A schedule, for the sentence that describes it. */
export interface ScheduleSummary {
  readonly cron: string;
  readonly timezone: string;
  readonly on?: { readonly business_day: number } | undefined;
  readonly shift?: 'next_business_day' | 'previous_business_day' | undefined;
}

export interface TriggerInfo {
  /** Absent or empty: on demand only. */
  readonly schedules?: readonly ScheduleSummary[] | undefined;
  /** Whether this run was triggered on demand. */
  readonly onDemand?: boolean | undefined;
}

/** E.g. `at 08:00, only on Monday`; the cron expression where it cannot be described. */
function describeCron(cron: string, locale: string): string {
  try {
    const words = cronstrue.toString(cron, {
      use24HourTimeFormat: true,
      verbose: false,
      locale: languageOf(locale),
    });
    return `${words.charAt(0).toLowerCase()}${words.slice(1)}`;
  } catch {
    return messagesFor(locale).mail.bySchedule(cron);
  }
}

/** Why the recipient gets the e-mail. */
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

/** Groups of a series that an alternative text names. */
const MAX_NAMED_GROUPS = 6;
/** Series of a chart that an alternative text describes. */
const MAX_DESCRIBED_SERIES = 4;

function describeSeries(chart: Chart, { name, values, quantity }: Series, locale: string): string {
  const words = messagesFor(locale).chart;
  const points = chart.categories.map((at, index) => ({ at, value: values[index] ?? null }));
  const text = (value: number | null) => formatValue(value, quantity, locale);
  if (!chart.overTime) {
    const named = points.slice(0, MAX_NAMED_GROUPS).map(({ at, value }) => `${at} ${text(value)}`);
    return words.groups(name, named, points.length - named.length);
  }
  const known = points.flatMap(({ at, value }) => (value === null ? [] : [{ at, value }]));
  const [first] = known;
  const last = known.at(-1);
  const point = ({ at, value }: { readonly at: string; readonly value: number }) => ({ at, value: text(value) });
  if (first === undefined || last === undefined) return words.nothing(name);
  if (known.length === 1) return words.one(name, point(first));
  const highest = known.reduce((max, each) => (each.value > max.value ? each : max), first);
  const lowest = known.reduce((min, each) => (each.value < min.value ? each : min), first);
  return words.trend(name, { first: point(first), last: point(last), highest: point(highest), lowest: point(lowest) });
}

/** The alternative text of a chart's image: kind, category axis, and the figures in words. */
export function chartAltText(chart: Chart, locale: string): string {
  const words = messagesFor(locale).chart;
  const series = chart.axes.flatMap((axis) => axis.series);
  const described = series.slice(0, MAX_DESCRIBED_SERIES);
  const rest = series.length - described.length;
  return [
    words.by(chart.kind, chart.categoryTitle),
    ...described.map((each) => describeSeries(chart, each, locale)),
    ...(rest > 0 ? [words.moreSeries(rest)] : []),
  ].join(' ');
}

/**
 * The caption of a chart's image: what it leaves out, whether its end is still running, and the statuses of its totals. May
 * be empty.
 */
export const chartCaption = (
  { omitted, overTime }: Chart,
  { running, chartStatuses = [] }: SummarySection,
  { chart }: Words,
): string =>
  [
    ...(omitted.length === 0 ? [] : [chart.omits(omitted)]),
    ...(overTime && running ? [chart.endRunning] : []),
    ...chartStatuses.map((status) => `${status}.`),
  ].join(' ');
