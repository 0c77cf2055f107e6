import type { SourcedTarget } from '../../../src/definitions/schema/targets.ts';
import type { Column, Dataset, MetricGroup, Table, TableTrend } from '../../../src/fetch/dataset.ts';
import { judgeDataset } from '../../../src/render/figures/judge.ts';
import type { PackSection, SectionOf } from '../../../src/render/pack/pack.ts';
import { bucketColumn, countColumn, dataset, durationColumn, ratioColumn, row, table } from '../../support/dataset.ts';

export const OCTOBER = { from: '2026-10-01', to: '2026-10-31', timezone: 'Europe/Zurich', label: '2026-10' };
export const RANGE = { from: OCTOBER.from, to: OCTOBER.to };
export const SEPTEMBER = { from: '2026-09-01', to: '2026-09-30' };

/** A dataset of October. */
export const october = (tables: readonly Table[], change: Partial<Dataset> = {}): Dataset =>
  dataset(tables, { period: OCTOBER, ...change });

/** A table of October. */
export const monthTable = (change: Parameters<typeof table>[0]): Table =>
  table({ period: OCTOBER, range: RANGE, ...change });

export const target = (change: Partial<SourcedTarget> & Pick<SourcedTarget, 'metric'>): SourcedTarget => ({
  better: 'higher',
  source: 'organization',
  ...change,
});

export const judged = (of: Dataset, targets: readonly SourcedTarget[]): Dataset =>
  judgeDataset(of, targets, { sections: of.tables.map(({ id }) => ({ id })) });

export const MONTHS: TableTrend['buckets'] = ['2026-07-01', '2026-08-01', '2026-09-01', '2026-10-01'].map((label) => ({
  label,
  partial: false,
}));

/** One row of three metrics beside September, with the year so far and a trend of four months. */
export const kpis = (change: Partial<Table> = {}, groups: readonly MetricGroup[] = []): Table =>
  monthTable({
    id: 'kpis',
    title: 'Key figures',
    comparisons: [{ kind: 'previous_period', range: SEPTEMBER }],
    toDate: { unit: 'year', range: { from: '2026-01-01', to: '2026-10-31' } },
    columns: [countColumn, ratioColumn, { ...durationColumn, shownIn: 'hours' }],
    rows: [
      row(
        {
          [countColumn.name]: 1204,
          [ratioColumn.name]: 0.8997,
          [durationColumn.name]: 90_000,
        },
        {
          compare: {
            previous_period: {
              values: { [countColumn.name]: 1000, [ratioColumn.name]: 0.85, [durationColumn.name]: null },
            },
          },
          toDate: { [countColumn.name]: 9001, [ratioColumn.name]: 0.87, [durationColumn.name]: 80_000 },
        },
      ),
    ],
    layout: { kind: 'scorecard', groups },
    trend: {
      granularity: 'month',
      buckets: MONTHS,
      values: { [countColumn.name]: [900, null, 1000, 1204], [ratioColumn.name]: [0.8, 0.82, 0.85, 0.8997] },
    },
    ...change,
  });

/** A row for each month of a count and a rate. */
export const months = (change: Partial<Table> = {}): Table => {
  const range = { from: '2026-07-01', to: '2026-10-31' };
  return table({
    id: 'months',
    title: 'Four months',
    period: { ...OCTOBER, ...range },
    range,
    granularity: 'month',
    columns: [bucketColumn, countColumn, ratioColumn],
    rows: MONTHS.map(({ label }, index) =>
      row({ bucket: label, [countColumn.name]: 900 + index * 100, [ratioColumn.name]: (80 + index * 3) / 100 }),
    ),
    layout: { kind: 'trend' },
    ...change,
  });
};

/** Metrics that exist in tests only. */
export const metrics = (count: number, change: (index: number) => Partial<Column> = () => ({})): Column[] =>
  Array.from({ length: count }, (_, index) => ({
    ...countColumn,
    name: `metric.m${index}`,
    label: `Metric ${index}`,
    ...change(index),
  }));

/** The first section of this kind. */
export function sectionOf<Kind extends PackSection['kind']>(
  sections: readonly PackSection[],
  kind: Kind,
): SectionOf<Kind> {
  const found = sections.find((section): section is SectionOf<Kind> => section.kind === kind);
  if (found === undefined) throw new Error(`no section of kind ${kind}`);
  return found;
}
