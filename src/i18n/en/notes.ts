import { englishCounter, type LocaleFormatters } from '../formatters.ts';
import { type ComparedWith, missingDataText, type NoteFormatters, type RowKey } from '../note.ts';
import { COMPARED_WITH, formatBucketMismatch, formatTotalMismatch } from './comparisons.ts';

const MISSING = {
  previous: 'the previous period',
  previous_totals: 'the previous period of the totals',
  year_before: 'the year before',
  year_before_totals: 'the year before of the totals',
  to_date: 'the figures to date',
  trend: 'the figures of the trend',
  totals: 'the totals',
  total: (metric: string) => `the total of ${metric}`,
};

const formatPlace = ({ bucket, group }: RowKey): string => [...(bucket === null ? [] : [bucket]), ...group].join(', ');

const ofKinds = (kinds: readonly ComparedWith[]): string =>
  kinds.length === 0 ? '' : ` (${kinds.map((kind) => COMPARED_WITH[kind]).join(', ')})`;

const inBucket = (bucket: string | null): string => (bucket === null ? '' : ` (${bucket})`);

export const notes = (to: LocaleFormatters): NoteFormatters => {
  const counted = englishCounter(to);
  const figure = (value: number | null): string => (value === null ? 'undefined' : to.exactNumber(value));
  const computed = (at: readonly [string, string] | null, timezone: string): string =>
    at === null
      ? ''
      : ` The first was computed ${to.instant(at[0], timezone)}, the second ${to.instant(at[1], timezone)}.`;
  const more = (figures: number): string => (figures === 1 ? '' : ` So do ${counted(figures - 1, 'other figure')}.`);
  return {
    cut_piece: () => 'The service truncated a response that this table is made of: there are more rows.',
    cut: ({ rows }) => `The service truncated the table after ${counted(rows, 'row')}: there are more.`,
    limited: ({ rows }) => `Only the first ${counted(rows, 'row')}, as the report defines; there are more.`,
    lacking: ({ what }) =>
      `The service did not return ${what.map((each) => missingDataText(each, MISSING)).join(', ')}: not known here.`,
    lacking_cells: ({ cells }) =>
      `The service left out ${counted(cells, 'cell')}: ${cells === 1 ? 'its value is' : 'their values are'} not known.`,
    other_count: ({ said, sent }) => `The service announced ${counted(said, 'row')} and sent ${to.number(sent)}.`,
    other_range: ({ from, to: last, got }) =>
      `Requested: ${from} to ${last}. ${got === null ? 'The response does not say which days it covers' : `The response covers ${got.from} to ${got.to}`}.`,
    other_zone: ({ asked, got }) => `Requested: days in ${asked}. The response has days in ${got}.`,
    compared_days_unknown: () => 'The service does not say which days the previous period covers.',
    granularity_mismatch: ({ asked, got }) =>
      `Requested: ${asked === null ? 'the whole range in one row' : `one row per ${asked}`}. The response has ${got === null ? 'the whole range in one row' : `rows per ${got}`}.`,
    compare_range_mismatch: ({ expected, got }) =>
      `The previous period is ${expected.from} to ${expected.to}; the service compared with ${got.from} to ${got.to}.`,
    unit_mismatch: ({ columns }) =>
      `The response has other units than the catalog of the service: ${columns
        .map(({ label, expected, got }) => `${label} in "${got}", not "${expected}"`)
        .join('; ')}. Shown as plain numbers.`,
    column_mismatch: ({ columns }) =>
      `The response describes columns differently from the catalog of the service: ${columns
        .map(({ label, of, got }) => {
          if (of === 'label') return got.trim() === '' ? `${label} has no label` : `${label} is called "${got}"`;
          if (of === 'kind') return `${label} is a column of the kind "${got}"`;
          return of === 'type' ? `${label} is of the type "${got}"` : `${label} is in "${got}"`;
        })
        .join('; ')}. These may be different figures.`,
    median_above_p90: ({ figures, label, other, bucket }) =>
      `${counted(figures, 'figure')} cannot be right: ${label} is above ${other}${inBucket(bucket)}.`,
    invalid_value: ({ figures, label, value, bucket }) =>
      `${counted(figures, 'figure')} cannot be right, for example ${to.exactNumber(value)} for ${label}${inBucket(bucket)}.`,
    null_count: ({ figures, label, bucket }) =>
      `${counted(figures, 'count')} came without a value, for example ${label}${inBucket(bucket)}: a count is 0 when nothing happened.`,
    missing_rows: ({ rows, first }) =>
      formatPlace(first) === ''
        ? 'The service sent no row.'
        : `The service left out ${counted(rows, 'row')}, for example ${formatPlace(first)}.`,
    duplicate_rows: ({ rows, first }) =>
      `${counted(rows, 'row came', 'rows came')} more than once${formatPlace(first) === '' ? '' : `, for example ${formatPlace(first)}`}; they were not added up.`,
    unexpected_buckets: ({ rows, first }) =>
      `${counted(rows, 'row belongs', 'rows belong')} to no requested bucket, for example ${first === null ? 'one without a date' : first}.`,
    filter_mismatch: ({ rows, dimension, value }) =>
      `${counted(rows, 'row is', 'rows are')} of groups that the filter excludes, for example ${dimension} ${value}.`,
    limit_exceeded: ({ limit, rows }) => `At most ${counted(limit, 'row')} requested, ${to.number(rows)} received.`,
    order_mismatch: () => 'The rows did not come in the requested order.',
    total_mismatch: ({ totals }) =>
      `A total is not the sum of its rows: ${totals
        .map(
          ({ label, total, sum, previous }) =>
            `${label}${previous ? ' of the previous period' : ''} ${to.exactNumber(total)}, not ${to.exactNumber(sum)}`,
        )
        .join('; ')}.`,
    total_outside: ({ totals }) =>
      `A total does not fit its rows: ${totals
        .map(({ label, total, low, high, previous }) => {
          const rows = low === null || high === null ? 'undefined' : `${figure(low)} to ${figure(high)}`;
          return `${label}${previous ? ' of the previous period' : ''} is ${figure(total)}, its rows ${low === high ? figure(low) : rows}`;
        })
        .join('; ')}.`,
    answers_differ: ({ figures, label, from, to: last, one, other, at, timezone }) =>
      `Two responses differ: ${label} from ${from} to ${last} is ${figure(one)} in one and ${figure(other)} in the other.${more(figures)}${computed(at, timezone)}`,
    to_date_below: ({ label, from, to: last, one, other, at, timezone }) =>
      `${label} is ${figure(one)} from ${from} to ${last}, and only ${figure(other)} to date, which includes these days.${computed(at, timezone)}`,
    figures_repeated: ({ labels, kind, at, timezone }) =>
      `${to.all(labels)}: every row has the figures of the ${COMPARED_WITH[kind]}, which cannot all be the same.${computed(at, timezone)}`,
    not_additive: ({ labels }) =>
      `The catalog marks ${labels.join(', ')} as additive, but only counts can be added: nothing was added up.`,
    computed_in_future: ({ at }) =>
      `The service says that it computed the figures at ${at}, which is after its response arrived.`,
    computed_before_call: ({ at }) =>
      `Computed at ${at}, long before the request, although the service says that they are not from its cache.`,
    computed_unknown: ({ cached }) =>
      `The service gives no valid time at which it computed the figures${cached ? ', and they are from its cache: they may be old' : ''}.`,
    computed_early: ({ at, to: last, timezone }) =>
      `Computed at ${at}, before the period had ended (${last}, ${timezone}): its end is not counted.`,
    computed_long_ago: ({ at }) => `From the service's cache, computed at ${at}: older than an hour.`,
    period_running: () => 'The period is still running: its figures will grow.',
    buckets_running: ({ granularity, days }) =>
      days.length === 1
        ? `The ${granularity ?? 'bucket'} from ${days.join()} is still running: its figures will grow.`
        : `The ${granularity ?? 'bucket'}s from ${to.all(days)} are still running: their figures will grow.`,
    buckets_to_come: ({ granularity, days }) =>
      days.length === 1
        ? `The ${granularity ?? 'bucket'} from ${days.join()} has not begun: its figures mean nothing yet.`
        : `The ${granularity ?? 'bucket'}s from ${to.all(days)} have not begun: their figures mean nothing yet.`,
    partial_mismatch: ({ rows, bucket, running }) =>
      `The service wrongly marks ${counted(rows, 'row')} as still running or as ended, for example ${bucket ?? 'the whole period'}, which ${running ? 'was still running' : 'had ended'}. Shown here by date.`,
    buckets_clipped: ({ granularity, first, last }) =>
      `The ${
        first && last ? `first and the last ${granularity} count` : `${first ? 'first' : 'last'} ${granularity} counts`
      } only the days inside the period.`,
    undefined_cells: ({ labels }) =>
      `Undefined in some rows (a rate or a median over nothing), not 0: ${labels.join(', ')}.`,
    counts_undefined: ({ why, due, timezone }) =>
      `Undefined: the service knows only the present values of current counts. ${
        why === 'backfill'
          ? 'A backfill does not show the figures of today instead of past ones.'
          : `This run requested them more than 24 hours after it was due (${to.instant(due, timezone)}, ${timezone}).`
      }`,
    read_at: ({ at, timezone, granularity }) =>
      `Each value is the reading of ${granularity === 'day' ? 'its day' : `the last day of its ${granularity} within the period`}; the latest as read ${to.instant(at, timezone)} (${timezone}).`,
    readings_missing: ({ days }) =>
      `No reading on ${days.join(', ')}: shown as a gap, because the service knows only the present values of current counts.`,
    readings_to_come: ({ days }) => `Not read yet: ${days.join(', ')}.`,
    undefined_totals: ({ labels, why }) =>
      `The total of ${labels.join(', ')} is undefined: ${why === 'range' ? 'the period is longer' : 'a filter has more values'} than one call of the service takes, and what is not a plain count cannot be added up from parts.`,
    deprecated: ({ label, id, since, successor }) =>
      `${label} (${id}) is deprecated since ${since}${successor === null ? '' : `; ${successor} takes its place`}.`,
    replaced: ({ from, to: successor }) =>
      `${successor.label} (${successor.id}) replaces ${from.label} (${from.id}), which is deprecated.`,
    no_figures_before: ({ first }) => `No figures before ${to.day(first)}.`,
    no_data_before: ({ label, first }) => `${label} has no data before ${first}: its figures are undefined.`,
    data_from: ({ label, first }) =>
      `${label} has data from ${first}: earlier figures are undefined, and those that include that day count from it on.`,
    not_compared_before: ({ label, first }) =>
      `${label} has data from ${first}: its comparison with days before that is undefined.`,
    target_mismatch: ({ label, target, unit }) =>
      `${label} has no status: its target ${target} does not fit its unit (${unit}).`,
    unlike_rows: ({ granularity, reasons }) =>
      `No change is shown ${reasons.map((reason) => `${formatBucketMismatch(granularity, reason)}${ofKinds(reason.kinds)}`).join(', nor ')}.`,
    unlike_totals: ({ totals, several }) => totals.map((total) => formatTotalMismatch(total, several)).join(' '),
    provisional: ({ labels }) =>
      `No change is shown for ${to.all(labels)}: figures of past periods still change as more cases come to an end.`,
    to_date_from: ({ label, first }) => `${label} has data from ${first}: the figure to date begins there.`,
    unknown_unit: ({ label, unit }) => `${label} is in "${unit}", shown unchanged.`,
    list_changed: ({ counts, seen }) =>
      `The list changed while it was read (it announced ${counts.map(to.number).join(', then ')}); ${counted(seen, 'record was', 'records were')} read.`,
    list_count: ({ said, seen }) =>
      `The list announced ${counted(said, 'record')}; ${to.number(seen)} ${seen === 1 ? 'was' : 'were'} read.`,
    list_order: ({ by }) => `The list did not come in the requested order (${by}).`,
    list_fields: ({ fields }) => `Not shown, because they hold more than a single value: ${fields.join(', ')}.`,
  };
};
