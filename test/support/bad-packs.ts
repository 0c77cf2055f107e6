import type { Column, Dataset, Row, Table } from '../../src/fetch/dataset.ts';
import { dataset, row, table } from './dataset.ts';

// Sections that break a careless layout.

export const LAYOUTS = ['table', 'scorecard', 'trend', 'exceptions', 'text'] as const;
export type Layout = (typeof LAYOUTS)[number];

const UNITS = ['count', 'ratio', 'seconds'] as const;
const FIGURES = { count: 12_345_678, ratio: 0.987_654, seconds: 2_345_678 } as const;

const metricsOf = (count: number, label: (index: number) => string): Column[] =>
  Array.from({ length: count }, (_, index) => {
    const unit = UNITS[index % UNITS.length] ?? 'count';
    return {
      name: `metric.${index}`,
      label: label(index),
      kind: 'metric',
      type: 'number',
      unit,
      description: label(index),
    };
  });

const figuresOf = (metrics: readonly Column[], at: number): Record<string, number | null> =>
  Object.fromEntries(
    metrics.map(({ name, unit }, index) => {
      const figure = FIGURES[(unit ?? 'count') as keyof typeof FIGURES];
      return [name, (index + at) % 11 === 10 ? null : figure / (1 + ((index + at) % 7))];
    }),
  );

const MONTHS = Array.from({ length: 13 }, (_, index) =>
  new Date(Date.UTC(2025, 9 + index, 1)).toISOString().slice(0, 10),
);
const bucket: Column = { name: 'bucket', label: 'Month', kind: 'time', type: 'date', unit: null };
const groupOf = (values: readonly string[], label = 'Group'): Column => ({
  name: 'group',
  label,
  kind: 'dimension',
  type: 'enum',
  unit: null,
  values: values.map((value) => ({ value, label: value })),
});

interface Draft {
  readonly title: string;
  readonly description?: string;
  readonly metrics: readonly Column[];
  /** The groups of the rows; absent for no groups. */
  readonly groups?: readonly string[];
  readonly groupLabel?: string;
}

/** A section in this layout with what the layout needs: one row, months, groups or nothing. */
function sectionOf(
  layout: Layout,
  { title, description = title, metrics, groups = ['North', 'South'], groupLabel }: Draft,
): Table {
  const head = { id: 'section', title, description };
  const columns = [...metrics];
  if (layout === 'text') return table({ ...head, columns: [], rows: [], layout: { kind: 'text' } });
  if (layout === 'scorecard') {
    const names = columns.map(({ name }) => name);
    return table({
      ...head,
      columns,
      rows: [row(figuresOf(metrics, 0))],
      layout: { kind: 'scorecard', groups: [{ title: groups[0] ?? title, metrics: names.slice(1) }] },
      trend: {
        granularity: 'month',
        buckets: MONTHS.map((label) => ({ label, partial: false })),
        values: Object.fromEntries(names.map((name, at) => [name, MONTHS.map((_, month) => (at + month) % 9)])),
      },
    });
  }
  if (layout === 'trend') {
    const rows = MONTHS.map((month, at): Row => row({ bucket: month, ...figuresOf(metrics, at) }));
    return table({ ...head, granularity: 'month', columns: [bucket, ...columns], rows, layout: { kind: 'trend' } });
  }
  const rows = groups.map((group, at): Row => row({ group, ...figuresOf(metrics, at) }));
  return table({
    ...head,
    columns: [groupOf(groups, groupLabel), ...columns],
    rows,
    totals: { values: figuresOf(metrics, 3) },
    ...(layout === 'exceptions' ? { layout: { kind: 'exceptions' as const, top: 20 } } : { chart: 'bar' as const }),
  });
}

const LONG = 'Anteil der Gegenparteirisikoeinstufungen, die vor Ablauf der Frist abschliessend entschieden wurden, ';
/** A label of 200 characters. */
const longLabel = (index: number): string => `${index} ${LONG}${LONG}`.slice(0, 200);
const ARABIC = 'مجموعة العملاء في الشرق الأوسط';
const HEBREW = 'לקוחות חדשים (2026)';

/** The sections by name. */
const BAD_SECTIONS: Readonly<Record<string, (layout: Layout) => Table>> = {
  'a hundred metrics': (layout) =>
    sectionOf(layout, { title: 'All there is', metrics: metricsOf(100, (index) => `Metric number ${index}`) }),
  'labels of 200 characters': (layout) =>
    sectionOf(layout, {
      title: longLabel(0),
      metrics: metricsOf(6, longLabel),
      groups: [longLabel(7), longLabel(8)],
      groupLabel: longLabel(9),
    }),
  'forty values of a dimension': (layout) =>
    sectionOf(layout, {
      title: 'By country',
      metrics: metricsOf(3, (index) => `Metric ${index}`),
      groups: Array.from({ length: 40 }, (_, index) => `Country ${index + 1}`),
    }),
  'no rows': (layout) => {
    const section = sectionOf(layout, { title: 'Nothing', metrics: metricsOf(2, (index) => `Metric ${index}`) });
    const { totals: _, ...rest } = section;
    return { ...rest, rows: [] };
  },
  'names from right to left': (layout) =>
    sectionOf(layout, {
      title: ARABIC,
      metrics: metricsOf(4, (index) => (index % 2 === 0 ? `${ARABIC} ${index}` : `${HEBREW} ${index}`)),
      groups: [ARABIC, HEBREW, `${ARABIC} / Zürich`],
      groupLabel: HEBREW,
    }),
};

/** A pack with all of these sections in one layout. */
export const badPack = (layout: Layout): Dataset =>
  dataset(
    Object.values(BAD_SECTIONS).map((section, index) => ({ ...section(layout), id: `bad_${index}` })),
    { title: longLabel(0), headlines: [longLabel(1), ARABIC] },
  );
