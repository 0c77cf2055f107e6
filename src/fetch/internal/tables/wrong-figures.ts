import type { Catalog, Metric } from '../../../contract/catalog.ts';
import { isPossible } from '../../answer-checks/figure-checks.ts';
import type { Comparisons, MetricValues, Row, Table, WrongFigure } from '../../dataset.ts';
import { wrongFigures } from '../../rows.ts';

/**
 * Adds figures that cannot be right to those that the table already has. Changes of them and against them are not
 * shown.
 */
export function withWrongFigures(table: Table, found: readonly WrongFigure[], { metrics: known }: Catalog): Table {
  const { columns, rows, totals } = table;
  if ('path' in rows) return table;
  const wrong = [...(table.wrong ?? []), ...found];
  const own = wrongFigures({ columns, wrong });
  const metrics = columns.flatMap(({ name }) => known.find(({ id }) => id === name) ?? []);
  return {
    ...table,
    rows: rows.map((row): Row => {
      if (row.compare === undefined) return row;
      return { ...row, compare: marked(row.compare, metrics, (metric) => own.inRow(metric, row.values)) };
    }),
    ...(totals?.compare === undefined
      ? {}
      : { totals: { ...totals, compare: marked(totals.compare, metrics, own.inTotals) } }),
    ...(wrong.length === 0 ? {} : { wrong }),
  };
}

/** Marks in each comparison the metrics whose change is not shown. */
function marked(compare: Comparisons, metrics: readonly Metric[], isWrong: (metric: string) => boolean): Comparisons {
  return Object.fromEntries(
    Object.entries(compare).map(([kind, figures]) => {
      const wrong = metrics
        .filter((metric) => isWrong(metric.id) || !isPossibleIn(figures.values, metric))
        .map(({ id }) => id);
      return [kind, wrong.length === 0 ? figures : { ...figures, wrong }] as const;
    }),
  );
}

function isPossibleIn(values: MetricValues, metric: Metric): boolean {
  const value = values[metric.id];
  return typeof value !== 'number' || isPossible(value, metric);
}
