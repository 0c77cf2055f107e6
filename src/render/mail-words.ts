import cronstrue from 'cronstrue';
import type { Dataset } from '../fetch/dataset.ts';
import type { Chart, Series } from './chart.ts';
import type { DigestSection } from './digest.ts';
import { valueText } from './format.ts';
import { counted } from './words.ts';

/** Where the rest of what the mail shows is. */
export function elsewhereText(attached: ReadonlySet<string>): string {
  if (attached.has('xlsx')) return 'in the attached workbook';
  return attached.has('csv') || attached.has('zip') ? 'in the attached CSV files' : 'in the full report';
}

const is = (count: number): string => (count === 1 ? 'is' : 'are');

/** `12 more headline figures are below and in the full report.`; empty when there are none. */
export function moreText(count: number, one: string, where: string, locale: string): string {
  return count <= 0 ? '' : `${counted(count, `more ${one}`, `more ${one}s`, locale)} ${is(count)} ${where}.`;
}

/** What a section's table leaves out and where that is; empty when it shows everything. */
export function leftOutText(section: DigestSection, shown: number, where: string, locale: string): string {
  const { of, which, headers } = section;
  const rows = counted(of.rows, 'row', 'rows', locale);
  const missing =
    shown >= of.rows
      ? []
      : [
          shown === 0
            ? `${of.rows === 1 ? 'The only' : 'All'} ${rows} ${is(of.rows)} ${where}.`
            : `The ${which} ${shown} of ${rows}; the rest is ${where}.`,
        ];
  const columns = moreText(of.columns - headers.length, 'column', where, locale);
  return [...missing, ...(columns === '' ? [] : [columns])].join(' ');
}

export interface Occasion {
  /** When the report is made by itself; absent: on demand only. */
  readonly schedule?: { readonly cron: string; readonly timezone: string } | undefined;
  /** Somebody asked for this one. */
  readonly onDemand?: boolean | undefined;
}

/** `at 08:00, only on Monday (Europe/Zurich)`; the expression itself where there are no words for it. */
function scheduleText({ cron, timezone }: { readonly cron: string; readonly timezone: string }): string {
  try {
    const words = cronstrue.toString(cron, { use24HourTimeFormat: true, verbose: false });
    return `${words.charAt(0).toLowerCase()}${words.slice(1)} (${timezone})`;
  } catch {
    return `by the schedule ${cron} (${timezone})`;
  }
}

/** Why the reader gets this mail, in sentences. */
export function reasonText(dataset: Dataset, { schedule, onDemand }: Occasion): string {
  const { title, owner, organization } = dataset;
  return [
    `You get this mail because you are on the recipient list of the report “${title}” of ${organization}, which ${owner} keeps.`,
    schedule === undefined ? '' : `The report is made ${scheduleText(schedule)}.`,
    onDemand ? 'This one was made because somebody asked for it.' : '',
  ]
    .filter((sentence) => sentence !== '')
    .join(' ');
}

/** Of a series, as many groups as are named one by one. */
const NAMED_GROUPS = 6;
/** Of a chart, as many series as are told in figures. */
const TOLD_SERIES = 4;

const KINDS = {
  line: 'Line chart',
  column: 'Column chart',
  stacked_column: 'Stacked column chart',
  bar: 'Bar chart',
  sparkline: 'Small line chart',
} as const satisfies Record<Chart['kind'], string>;

function seriesText(chart: Chart, { name, values, quantity }: Series, locale: string): string {
  const points = chart.categories.map((at, index) => ({ at, value: values[index] ?? null }));
  const text = (value: number | null) => valueText(value, quantity, locale);
  if (!chart.overTime) {
    const named = points.slice(0, NAMED_GROUPS).map(({ at, value }) => `${at} ${text(value)}`);
    const rest = points.length - named.length;
    return `${name}: ${named.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}.`;
  }
  const known = points.flatMap(({ at, value }) => (value === null ? [] : [{ at, value }]));
  const [first] = known;
  const last = known.at(-1);
  if (first === undefined || last === undefined) return `${name}: no figures.`;
  if (known.length === 1) return `${name}: ${text(first.value)} (${first.at}).`;
  const highest = known.reduce((most, each) => (each.value > most.value ? each : most), first);
  const lowest = known.reduce((least, each) => (each.value < least.value ? each : least), first);
  const from = `${name}: from ${text(first.value)} (${first.at}) to ${text(last.value)} (${last.at})`;
  return `${from}, highest ${text(highest.value)} (${highest.at}), lowest ${text(lowest.value)} (${lowest.at}).`;
}

/** What a picture of the chart shows, for who does not see it: its kind, what along what, and the figures in words. */
export function chartText(chart: Chart, locale: string): string {
  const series = chart.axes.flatMap((axis) => axis.series);
  const told = series.slice(0, TOLD_SERIES);
  const rest = series.length - told.length;
  return [
    `${KINDS[chart.kind]} by ${chart.categoryTitle}.`,
    ...told.map((each) => seriesText(chart, each, locale)),
    ...(rest > 0 ? [`${counted(rest, 'more series', 'more series', locale)} not told here.`] : []),
  ].join(' ');
}

/** What a reader of a picture must know: what it leaves out, and that its end will grow. May be empty. */
export const pictureNote = ({ omitted, overTime }: Chart, { rows }: DigestSection): string =>
  [
    ...(omitted.length === 0 ? [] : [`In this chart ${omitted.join('; ')}.`]),
    ...(overTime && rows.some(({ partial }) => partial)
      ? ['Its last figures are of a time that is still running.']
      : []),
  ].join(' ');

/** Said where there would be a picture. */
export const UNPAINTABLE = 'The chart is not drawn here: it has names in a script that its font does not have.';
