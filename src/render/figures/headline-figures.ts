import { isolateBidi } from '../../base/text/bidi.ts';
import type { FiscalCalendar } from '../../definitions/periods/fiscal-calendar.ts';
import type { Column, Dataset, Judgement, Table } from '../../fetch/dataset.ts';
import { lacksCurrentCounts } from '../../fetch/notes.ts';
import { firstRows } from '../../fetch/rows.ts';
import { type DateRange, sameDays } from '../../plan/buckets.ts';
import { findMismatch } from '../../plan/like-for-like.ts';
import { currentJudgements } from './current-statuses.ts';
import { type FewRules, isFewChange } from './few.ts';
import {
  areAmbiguous,
  distinctBy,
  figureKey,
  figurePlace,
  type RowPlace,
  sharedFilters,
  TOTALS,
} from './figure-identity.ts';
import { type HeadlineComparison, type HeadlineFigure, headlineText } from './headlines.ts';
import { numberOrNull, quantityCollector } from './quantity.ts';
import { figureScope } from './scope.ts';
import { findBoundaries, isTotal, shownStatus } from './status-text.ts';
import { findTotals } from './total-figures.ts';
import { totalRange } from './usual-range.ts';

/**
 * The days of a table's first comparison; undefined if they are not comparable with its own, or its own have not ended.
 */
export const findComparableDays = (
  { comparisons: [first], range, running }: Table,
  calendar: FiscalCalendar,
): DateRange | undefined =>
  running || range === null || !first?.range || findMismatch(range, first.range, calendar) !== undefined
    ? undefined
    : first.range;

/** Finds what a metric's total is compared with. The only function that reads how a table stores its comparisons. */
function findComparison(
  rules: FewRules,
  table: Table,
  metric: string,
  calendar: FiscalCalendar,
): HeadlineComparison | undefined {
  const { columns, comparisons } = table;
  const [comparison] = comparisons;
  const column = columns.find(({ name }) => name === metric);
  if (comparison === undefined || column === undefined || column.provisional) return undefined;
  const { kind, range: days } = comparison;
  const figures = table.totals ?? firstRows(table.rows, 1)[0];
  const before = figures?.compare?.[kind];
  const few = figures !== undefined && isFewChange(rules, column, figures, before);
  // If totals are compared although their ranges differ, a note says so. A headline has no note.
  const isComparable =
    findComparableDays(table, calendar) !== undefined &&
    // A small count shows by itself that there are few cases.
    !(few && column.unit !== 'count') &&
    before?.unlike === undefined &&
    before?.wrong?.includes(metric) !== true;
  return { kind, value: before?.values[metric] ?? null, days, unlike: !isComparable, ...(few ? { few } : {}) };
}

/**
 * The figures of a dataset that may become sentences: totals, single rows, and judged rows, without repetitions. Each
 * has the comparisons and the status that any of its sections has.
 * @param calendar the organization's fiscal calendar: its months count as whole months
 */
export const headlineFigures = (dataset: Dataset, locale: string, calendar: FiscalCalendar = {}): HeadlineFigure[] =>
  distinctFigures(dataset.tables.flatMap((table) => sectionFigures(dataset, table, locale, calendar)));

/** The figures of one section that may become sentences. */
export function sectionFigures(
  dataset: Dataset,
  table: Table,
  locale: string,
  calendar: FiscalCalendar = {},
): HeadlineFigure[] {
  if (lacksCurrentCounts(table)) return [];
  const { targets = [], judgements = [] } = dataset;
  const current = currentJudgements(judgements.filter(({ section }) => section === table.id));
  const buildJudged = (judgement: Judgement | undefined): Pick<HeadlineFigure, 'judged'> => {
    const boundaries = findBoundaries(dataset, judgement);
    return judgement === undefined || boundaries === undefined
      ? {}
      : { judged: { ...shownStatus(judgement), ...boundaries } };
  };
  const shared = sharedFilters(dataset.tables);
  const totals = findTotals(table);
  return table.columns
    .filter(({ kind }) => kind === 'metric')
    .flatMap((column): HeadlineFigure[] => {
      const { name: metric, label, unit } = column;
      const own = current.filter((each) => each.metric === metric);
      const figure = (
        row: RowPlace,
        value: number | null,
        comparison: HeadlineComparison | undefined,
        of: Judgement | undefined,
      ): HeadlineFigure => ({
        section: table.id,
        title: table.title,
        metric,
        label,
        unit,
        key: figureKey(table, metric, row),
        place: figurePlace(dataset, table, shared, row),
        scope: figureScope(dataset, table, locale, row, shared),
        value,
        ...buildQuantity(column, [value, comparison?.value, of === undefined ? null : targets[of.target]?.target]),
        ...buildJudged(of),
        comparisons: comparison === undefined ? [] : [comparison],
      });
      const withRange = (total: HeadlineFigure): HeadlineFigure => {
        const usual = totalRange(dataset, table, column, total.value, total.quantity);
        return usual === undefined ? total : { ...total, usual };
      };
      const total = totals?.values[metric];
      const ofTotals = own.find(isTotal);
      return [
        ...(totals === undefined
          ? []
          : [
              withRange(
                figure(TOTALS, numberOrNull(total), findComparison(dataset, table, metric, calendar), ofTotals),
              ),
            ]),
        ...own.filter((each) => each !== ofTotals).map((of) => figure(of, of.figure, undefined, of)),
      ];
    });
}

/** The raw figures with a usual range. `headline`: index of the dataset's headline about it. */
export const usualFigures = (dataset: Dataset, locale: string, calendar?: FiscalCalendar) =>
  headlineFigures(dataset, locale, calendar).flatMap((figure) => {
    const { section, metric, value, usual } = figure;
    if (usual === undefined || value === null) return [];
    const { low, high, is: state } = usual;
    const headline = dataset.headlines?.indexOf(headlineText(figure, locale) ?? '') ?? -1;
    return [{ section, metric, value, low, high, state, ...(headline < 0 ? {} : { headline }) }];
  });

/** Removes repeated figures. If another figure has the same name, the section's title is added to the name. */
function distinctFigures(figures: readonly HeadlineFigure[]): HeadlineFigure[] {
  const distinct = distinctBy(figures, (known, other) => {
    const { judged = other.judged, usual = other.usual } = known;
    // Readings of one day may be compared with readings of several other days.
    const more = other.comparisons.filter(({ kind, days }) =>
      known.comparisons.every((each) => each.kind !== kind || !sameDays(each.days, days)),
    );
    return {
      ...known,
      ...(judged === undefined ? {} : { judged }),
      ...(usual === undefined ? {} : { usual }),
      comparisons: [...known.comparisons, ...more],
    };
  });
  const ambiguous = areAmbiguous(distinct.map(({ label, scope }) => JSON.stringify([label, scope])));
  return distinct.map((figure, index) =>
    ambiguous[index] === true
      ? { ...figure, scope: [isolateBidi(figure.title), figure.scope].filter((text) => text !== '').join('; ') }
      : figure,
  );
}

/** The quantity that all numbers of one sentence are shown in. */
function buildQuantity(
  column: Column,
  values: readonly (number | null | undefined)[],
): Pick<HeadlineFigure, 'quantity'> {
  const collector = quantityCollector(column, 'day');
  for (const value of values) collector.add(value ?? null);
  return { quantity: collector.quantity() };
}
