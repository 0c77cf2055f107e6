import cronstrue from 'cronstrue';
import 'cronstrue/locales/de.js';
import type { Dataset } from '../fetch/dataset.ts';
import { languageOf, type Words, wordsOf } from '../words/words.ts';
import type { Artifact } from './artifact.ts';
import type { Chart, Series } from './chart.ts';
import type { DigestSection } from './digest.ts';
import { valueText } from './format.ts';

/** Where the rest of what the mail shows is: attached, in a file that is named in the mail, or nowhere. */
export function elsewhereText(attached: ReadonlySet<string>, artifacts: readonly Artifact[], { mail }: Words): string {
  if (attached.has('xlsx')) return mail.inWorkbook;
  if (attached.has('csv') || attached.has('zip')) return mail.inCsv;
  return artifacts.length > 0 ? mail.inFiles : mail.leftOut;
}

/** `12 more headline figures are below.`; empty when there are none. */
export const moreText = (count: number, where: string, text: (count: number, where: string) => string): string =>
  count <= 0 ? '' : text(count, where);

/** What a section's table leaves out and where that is; empty when it shows everything. */
export function leftOutText(section: DigestSection, shown: number, where: string, { mail }: Words): string {
  const { of, which, headers } = section;
  const missing =
    shown >= of.rows ? [] : [shown === 0 ? mail.allRows(of.rows, where) : mail.someRows(which, shown, of.rows, where)];
  const columns = moreText(of.columns - headers.length, where, mail.moreColumns);
  return [...missing, ...(columns === '' ? [] : [columns])].join(' ');
}

/** A schedule, as far as its readers are told of it. */
export interface Occurrence {
  readonly cron: string;
  readonly timezone: string;
  readonly on?: { readonly business_day: number } | undefined;
  readonly shift?: 'next_business_day' | 'previous_business_day' | undefined;
}

export interface Occasion {
  /** When the report is made by itself; absent or empty: on demand only. */
  readonly schedules?: readonly Occurrence[] | undefined;
  /** Somebody asked for this one. */
  readonly onDemand?: boolean | undefined;
}

/** `at 08:00, only on Monday`; the expression itself where there are no words for it. */
function scheduleText(cron: string, locale: string): string {
  try {
    const words = cronstrue.toString(cron, {
      use24HourTimeFormat: true,
      verbose: false,
      locale: languageOf(locale),
    });
    return `${words.charAt(0).toLowerCase()}${words.slice(1)}`;
  } catch {
    return wordsOf(locale).mail.bySchedule(cron);
  }
}

/** Why the reader gets this mail, in sentences. */
export function reasonText(dataset: Dataset, { schedules = [], onDemand }: Occasion, locale: string): string {
  const { title, owner, organization } = dataset;
  const { mail } = wordsOf(locale);
  return [
    mail.onList(title, organization, owner),
    ...schedules.map(({ cron, timezone, on, shift }) => {
      const when = [
        scheduleText(cron, locale),
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

/** Of a series, as many groups as are named one by one. */
const NAMED_GROUPS = 6;
/** Of a chart, as many series as are told in figures. */
const TOLD_SERIES = 4;

function seriesText(chart: Chart, { name, values, quantity }: Series, locale: string): string {
  const words = wordsOf(locale).chart;
  const points = chart.categories.map((at, index) => ({ at, value: values[index] ?? null }));
  const text = (value: number | null) => valueText(value, quantity, locale);
  if (!chart.overTime) {
    const named = points.slice(0, NAMED_GROUPS).map(({ at, value }) => `${at} ${text(value)}`);
    return words.groups(name, named, points.length - named.length);
  }
  const known = points.flatMap(({ at, value }) => (value === null ? [] : [{ at, value }]));
  const [first] = known;
  const last = known.at(-1);
  const told = ({ at, value }: { readonly at: string; readonly value: number }) => ({ at, value: text(value) });
  if (first === undefined || last === undefined) return words.nothing(name);
  if (known.length === 1) return words.one(name, told(first));
  const highest = known.reduce((most, each) => (each.value > most.value ? each : most), first);
  const lowest = known.reduce((least, each) => (each.value < least.value ? each : least), first);
  return words.course(name, { first: told(first), last: told(last), highest: told(highest), lowest: told(lowest) });
}

/** What a picture of the chart shows, for who does not see it: its kind, what along what, and the figures in words. */
export function chartText(chart: Chart, locale: string): string {
  const words = wordsOf(locale).chart;
  const series = chart.axes.flatMap((axis) => axis.series);
  const told = series.slice(0, TOLD_SERIES);
  const rest = series.length - told.length;
  return [
    words.by(chart.kind, chart.categoryTitle),
    ...told.map((each) => seriesText(chart, each, locale)),
    ...(rest > 0 ? [words.moreSeries(rest)] : []),
  ].join(' ');
}

/** What a reader of a picture must know: what it leaves out, and that its end will grow. May be empty. */
export const pictureNote = ({ omitted, overTime }: Chart, { running }: DigestSection, { chart }: Words): string =>
  [...(omitted.length === 0 ? [] : [chart.omits(omitted)]), ...(overTime && running ? [chart.endRunning] : [])].join(
    ' ',
  );
