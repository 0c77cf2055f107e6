import type { Granularity } from '../../contract/report.ts';
import type { LocaleFormatters } from '../formatters.ts';
import type { ComparedWith, NotComparedReason, ToDateUnit } from '../note.ts';
import { COMPARED_WITH, NOT_COMPARED, TO_DATE_UNITS } from './comparisons.ts';

/** Texts in and around tables, in every format. */
export const table = (to: LocaleFormatters) => ({
  yes: 'yes',
  no: 'no',
  total: 'Total',
  /** Shown instead of "Total" for counts that were read day by day. */
  lastDay: 'Last day',
  fromTo: (from: string, last: string) => `${from} to ${last}`,
  /** E.g. `FY2026-Q1`. In ASCII, because file names contain it. */
  fiscal: (year: number, quarter?: number) => `FY${year}${quarter === undefined ? '' : `-Q${quarter}`}`,
  stillRunning: 'still running',
  /** Headings of figures to compare with, and names of their series. */
  previousName: { previous_period: 'Previous period', previous_year: 'Year before' } satisfies Record<
    ComparedWith,
    string
  >,
  toDateName: {
    year: 'Year to date',
    fiscal_year: 'Fiscal year to date',
    quarter: 'Quarter to date',
  } satisfies Record<ToDateUnit, string>,
  bucket: { day: 'Day', week: 'Week starting', month: 'Month' } satisfies Record<Granularity, string>,
  isoWeek: 'ISO week',
  /** E.g. `2026-W46 (from 9 Nov)` */
  weekFrom: (week: string, first: string) => `${week} (from ${first})`,
  previous: (header: string, kind: ComparedWith) => `${header}, ${COMPARED_WITH[kind]}`,
  /** @param kind undefined if the previous period is the only comparison */
  change: (label: string, kind: ComparedWith | undefined) =>
    `${label}, change${kind === undefined ? '' : ` (${COMPARED_WITH[kind]})`}`,
  toDate: (header: string, unit: ToDateUnit) => `${header}, ${TO_DATE_UNITS[unit]}`,
  /** Percentage points. */
  points: 'pp',
  /** The units of durations, after a figure and in headers. */
  durations: { minutes: 'minutes', hours: 'hours', days: 'days' },
  rawRatio: 'ratio 0–1',
  incomplete: (note: string) => `Incomplete: ${note}`,

  filterIs: (label: string, values: readonly string[]) => `${label} is ${to.any(values)}`,
  filterIsNot: (label: string, values: readonly string[]) =>
    values.length < 2
      ? `${label} is not ${values.join('')}`
      : `${label} is neither ${values.slice(0, -1).join(', ')} nor ${values.at(-1)}`,
  search: (text: string) => `Search: ${text}`,
  /** In the report of one `split` value: for a figure that covers all values. */
  everything: 'whole organization',
  ofEverything: 'Of the whole organization.',
  onlyWhere: (filters: readonly string[]) => `Only where ${filters.join(' and ')}.`,
  currentCounts: (asOf: string | undefined) =>
    `Current counts${asOf === undefined ? '' : `, as of ${asOf}`}. The period does not apply to them.`,
  /**
   * @param cells labels of metrics whose figures are sums over several calls
   * @param totals labels of metrics whose totals are such sums
   */
  sumsOfCalls: (cells: readonly string[], totals: readonly string[]) =>
    [
      ...(cells.length === 0
        ? []
        : [`Figures of ${cells.join(', ')} are sums of what the service answered to several calls.`]),
      ...(totals.length === 0
        ? []
        : [`Totals of ${totals.join(', ')} are sums of the service’s totals of several calls.`]),
    ].join(' '),
  noCounts: 'No rows: the figures of this section are undefined.',
  covers: (range: string) => range,
  /** @param others `days` is null if the service does not report them */
  coversCompared: (range: string, others: readonly { readonly kind: ComparedWith; readonly days: string | null }[]) =>
    `${range}, compared with ${to.all(others.map(({ kind, days }) => days ?? `the ${COMPARED_WITH[kind]} (its days are not known)`))}`,
  coversToDate: (range: string, unit: ToDateUnit, days: string) => `${range}; ${TO_DATE_UNITS[unit]}: ${days}`,
  computed: (covers: string, at: string | undefined) => `${covers}${at === undefined ? '' : `. Computed ${at}`}.`,
  /** For readings of current counts. */
  read: (covers: string, at: string | undefined) => `${covers}${at === undefined ? '' : `. As read ${at}`}.`,

  undefinedMeans: (dash: string) =>
    `“${dash}” means undefined, such as a rate or a median over nothing, or a change from nothing. It is not zero.`,
  emptyMeans: (dash: string) => `“${dash}” in a name or a field means that it has no value.`,
  /** For tables with more than twelve rows. */
  unrounded: 'Changes are computed from unrounded figures.',
  italicsMean: 'Rows in italics are of a time that is still running: their figures will grow.',
  /** An e-mail shows it once for all sections, so it must also be true for those with sums. */
  totalsMean:
    'Totals are computed by the service, never from the rows. Where they are sums of several calls, the section names them.',

  /** Descriptions of columns in a Table Schema: sentences without a full stop. */
  schema: {
    running: 'Still running',
    clipped: 'Cut off',
    clippedMeans: 'Whether the row counts only the days of its week or month that lie in the period.',
    runningMeans: 'Whether the row is of a time that is still running: its figures will grow.',
    previous: (kind: ComparedWith) => `The figure of the ${COMPARED_WITH[kind]}`,
    toDate: (unit: ToDateUnit, from: string) => `The figure of the ${TO_DATE_UNITS[unit]}, from ${from}`,
    unlike: (kind: ComparedWith) => `Not comparable, ${COMPARED_WITH[kind]}`,
    unlikeMeans: (kind: ComparedWith, empty: string) =>
      `Why the figures must not be compared with those of the ${COMPARED_WITH[kind]}. ${empty}: they may be`,
    /** @param kind undefined for the figures themselves */
    readAt: (kind: ComparedWith | undefined) => `Read at${kind === undefined ? '' : `, ${COMPARED_WITH[kind]}`}`,
    readAtMeans: (kind: ComparedWith | undefined, empty: string) =>
      `When the service computed the current counts${kind === undefined ? '' : ` of the ${COMPARED_WITH[kind]}`}. ${empty}: they were not read`,
    unlikeReason: NOT_COMPARED satisfies Record<NotComparedReason, string>,
    countsAt: (when: string) => `Counts at: ${when}`,
    aggregation: (name: string) => `Aggregation: ${name}`,
    availableFrom: (day: string) => `Available from ${day}; earlier figures are undefined and not compared`,
    firstDay: 'The first day',
    emptyField: 'An empty field',
    undefinedMeans: (nothing: string) =>
      `${nothing} is undefined, such as a rate or a median over nothing. It is not zero`,
    emptyMeans: (nothing: string) => `${nothing} has no value`,
    name: (id: string) => `The service's name: ${id}`,
  },
});
