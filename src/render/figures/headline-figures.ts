import { isolateBidi } from '../../base/text/bidi.ts';
import type { FiscalCalendar } from '../../definitions/periods/fiscal-calendar.ts';
import type { Column, Dataset, Judgement, Table } from '../../fetch/dataset.ts';
import { lacksCurrentCounts } from '../../fetch/notes.ts';
import { firstRows } from '../../fetch/rows.ts';
import { messagesFor } from '../../i18n/messages.ts';
import { unlikeness } from '../../plan/like-for-like.ts';
import { currentJudgements } from './current-statuses.ts';
import { formatBucket } from './format-date.ts';
import type { HeadlineComparison, HeadlineFigure } from './headlines.ts';
import { parseCivilDate, quantityCollector } from './quantity.ts';
import { figureScope } from './scope.ts';
import { boundariesOf } from './status-text.ts';
import { totalsOf } from './total-figures.ts';

/**
 * What a metric's total is compared with. The only function that reads how a table holds its comparisons.
 */
function comparisonOf(table: Table, metric: string, calendar: FiscalCalendar): HeadlineComparison | undefined {
  const { columns, comparisons, range, running } = table;
  const [comparison] = comparisons;
  if (comparison === undefined || columns.find(({ name }) => name === metric)?.provisional) return undefined;
  const { kind, range: days } = comparison;
  const before = (table.totals ?? firstRows(table.rows, 1)[0])?.compare?.[kind];
  // Totals that are compared although their ranges are unlike have a note, which a headline has not.
  const like =
    !running &&
    before?.unlike === undefined &&
    before?.wrong?.includes(metric) !== true &&
    range !== null &&
    days !== null &&
    unlikeness(range, days, calendar) === undefined;
  return { kind, value: before?.values[metric] ?? null, days, unlike: !like };
}

/** The figure of a judgement of a row, named by its group and its bucket. */
function rowScope(table: Table, { group, bucket }: Judgement, locale: string): string {
  const column = table.columns.find(({ name }) => name === group?.dimension);
  const value = column?.values?.find((each) => each.value === group?.value)?.label ?? group?.value ?? '';
  const day = parseCivilDate(bucket);
  return [
    ...(column === undefined
      ? []
      : [messagesFor(locale).table.filterIs(isolateBidi(column.label), [isolateBidi(value)])]),
    ...(day === undefined ? [] : [formatBucket(day, table.granularity ?? 'day', locale)]),
  ].join('; ');
}

/**
 * The figures of a dataset that may become headlines: totals, single rows, and judged rows.
 * @param calendar the organization's fiscal year: its months are whole months
 */
export function headlineFigures(dataset: Dataset, locale: string, calendar: FiscalCalendar = {}): HeadlineFigure[] {
  const { targets = [], judgements = [] } = dataset;
  const current = currentJudgements(judgements);
  const judgedOf = (judgement: Judgement | undefined): Pick<HeadlineFigure, 'judged'> => {
    const boundaries = boundariesOf(dataset, judgement);
    return judgement === undefined || boundaries === undefined
      ? {}
      : { judged: { status: judgement.status, ...boundaries, ...(judgement.soFar && { soFar: judgement.soFar }) } };
  };
  return dataset.tables.flatMap((table): HeadlineFigure[] => {
    if (lacksCurrentCounts(table)) return [];
    const metrics = table.columns.filter(({ kind }) => kind === 'metric');
    const scope = figureScope(dataset, table, locale);
    const totals = totalsOf(table);
    return metrics.flatMap((column): HeadlineFigure[] => {
      const { name: metric, label, unit } = column;
      const own = current.filter((each) => each.section === table.id && each.metric === metric);
      const base = { section: table.id, metric, label, unit };
      const figure = (value: number | null, comparison: HeadlineComparison | undefined, of: Judgement | undefined) => ({
        ...base,
        value,
        ...quantityOf(column, [value, comparison?.value, of === undefined ? null : targets[of.target]?.target]),
        ...judgedOf(of),
        ...(comparison === undefined ? {} : { comparison }),
      });
      const total = totals?.values[metric];
      const ofTotals = own.find(({ bucket, group }) => bucket === null && group === null);
      const rows = own.filter((each) => each !== ofTotals);
      return [
        ...(totals === undefined
          ? []
          : [
              {
                ...figure(typeof total === 'number' ? total : null, comparisonOf(table, metric, calendar), ofTotals),
                scope,
              },
            ]),
        ...rows.map((of) => ({
          ...figure(of.figure, undefined, of),
          scope: [scope, rowScope(table, of, locale)].filter((text) => text !== '').join('; '),
        })),
      ];
    });
  });
}

/** The quantity of the numbers of one sentence. */
function quantityOf(column: Column, values: readonly (number | null | undefined)[]): Pick<HeadlineFigure, 'quantity'> {
  const collector = quantityCollector(column, 'day');
  for (const value of values) collector.add(value ?? null);
  return { quantity: collector.quantity() };
}
