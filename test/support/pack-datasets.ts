import fc from 'fast-check';
import type {
  Column,
  Dataset,
  Judgement,
  MetricValues,
  Row,
  Status,
  Table,
  TableComparison,
  TableLayout,
  TargetRecord,
} from '../../src/fetch/dataset.ts';
import { dataset, PERIOD, table } from './dataset.ts';

// Random datasets in every layout: packs as people might define them, unlike those of the demo.

/** A pack and its locale. */
export interface PackCase {
  readonly dataset: Dataset;
  readonly locale: string;
}

const SEED = 20_261_123;

/** The same packs every time. */
export const samplePacks = (count: number, arbitrary = packCase()): PackCase[] =>
  fc.sample(arbitrary, { numRuns: count, seed: SEED });

/** The most columns of figures in a section. */
export const MAX_FIGURE_COLUMNS = 16;
const MAX_SECTIONS = 30;

const WORDS = [
  'Profiles',
  'decided',
  'after',
  'review',
  'Bearbeitungszeit',
  'Gegenparteirisikoeinstufung',
  'hits',
  'of',
  'screening',
  'der',
  'Erstentscheidung',
  'overdue',
  'Anti-Geldwäscherei',
  'requests',
  'for',
  'information',
];
/** A label of about this many characters, made of random words. */
const labelOf = (length: number): fc.Arbitrary<string> =>
  fc.array(fc.constantFrom(...WORDS), { minLength: 40, maxLength: 40 }).map((words) => {
    const text = words.join(' ').slice(0, length).trim();
    return text.charAt(0).toUpperCase() + text.slice(1);
  });
const label = fc.oneof(
  { weight: 6, arbitrary: labelOf(16) },
  { weight: 4, arbitrary: labelOf(34) },
  { weight: 2, arbitrary: labelOf(80) },
  { weight: 1, arbitrary: labelOf(200) },
);

const UNITS = {
  count: fc.oneof(fc.nat({ max: 2_000 }), fc.nat({ max: 40_000_000 })),
  ratio: fc.nat({ max: 10_000 }).map((parts) => parts / 10_000),
  seconds: fc.oneof(fc.nat({ max: 7_000 }), fc.nat({ max: 3_000_000 })),
} as const;
type Unit = keyof typeof UNITS;
const unit = fc.constantFrom<Unit[]>('count', 'count', 'count', 'ratio', 'ratio', 'seconds');

interface Metric {
  readonly column: Column;
  /** The figures of rows, comparisons and points in random order; null is undefined. */
  readonly figures: readonly (number | null)[];
}
const FIGURES = 29;
const metric: fc.Arbitrary<Omit<Metric, 'column'> & { readonly unit: Unit; readonly label: string }> = fc
  .record({ unit, label })
  .chain(({ unit: own, label: name }) =>
    fc.record({
      unit: fc.constant(own),
      label: fc.constant(name),
      figures: fc.array(fc.option(UNITS[own], { freq: 12 }), { minLength: FIGURES, maxLength: FIGURES }),
    }),
  );

const CHARTS = ['line', 'column', 'stacked_column', 'bar', 'sparkline'] as const;
const sectionDraft = fc.record({
  layout: fc.constantFrom(...(['table', 'table', 'table', 'scorecard', 'trend', 'exceptions', 'text'] as const)),
  title: fc.oneof({ weight: 3, arbitrary: labelOf(24) }, label),
  description: fc.option(labelOf(160), { freq: 2 }),
  metrics: fc.array(metric, { minLength: 1, maxLength: MAX_FIGURE_COLUMNS }),
  time: fc.constantFrom(null, 'day' as const, 'week' as const, 'month' as const),
  dimensions: fc.nat(2),
  rows: fc.oneof({ weight: 4, arbitrary: fc.integer({ min: 1, max: 14 }) }, fc.integer({ min: 0, max: 70 })),
  compared: fc.nat(2),
  toDate: fc.boolean(),
  totals: fc.boolean(),
  chart: fc.option(fc.constantFrom(...CHARTS), { freq: 2 }),
  top: fc.integer({ min: 1, max: 30 }),
  trend: fc.boolean(),
  judged: fc.boolean(),
  printed: fc.nat(9),
});
type SectionDraft = typeof sectionDraft extends fc.Arbitrary<infer Value> ? Value : never;

/** Packs of `sections` sections, in English, German and American English. */
export const packCase = (
  sections: { readonly min: number; readonly max: number } = { min: 1, max: MAX_SECTIONS },
): fc.Arbitrary<PackCase> =>
  fc
    .record({
      sections: fc.array(sectionDraft, { minLength: sections.min, maxLength: sections.max, size: 'max' }),
      locale: fc.constantFrom('en-GB', 'de-CH', 'en-US', 'de-DE'),
      title: label,
      headlines: fc.array(labelOf(90), { maxLength: 5 }),
    })
    .map(({ sections: drafts, locale, title, headlines }) => ({
      locale,
      dataset: packOf(drafts, { title, headlines }),
    }));

function packOf(drafts: readonly SectionDraft[], change: Partial<Dataset>): Dataset {
  const tables = drafts.map((draft, index) => tableOf(draft, index));
  const targets: TargetRecord[] = [];
  const judgements = tables.flatMap((each, index) => {
    if (!drafts[index]?.judged) return [];
    const [first] = each.columns.filter(({ kind }) => kind === 'metric');
    if (first === undefined || 'path' in each.rows) return [];
    targets.push({
      metric: first.name,
      better: 'lower',
      target: first.unit === 'ratio' ? 0.5 : 1_000,
      source: 'organization',
    });
    return judgementsOf(each, first, targets.length - 1);
  });
  return dataset(tables, { ...change, targets, judgements });
}

const statusOf = (figure: number | null, target: number): Status => {
  if (figure === null) return 'undefined';
  return figure <= target ? 'on_target' : figure <= 1.1 * target ? 'watch' : 'breached';
};

/** Judgements of the totals, of the only row, or of rows with one group. */
function judgementsOf({ id: section, rows, columns, totals }: Table, of: Column, target: number): Judgement[] {
  if ('path' in rows) return [];
  const limit = of.unit === 'ratio' ? 0.5 : 1_000;
  const judge = (figure: number | null, group: Judgement['group']): Judgement => {
    return { section, metric: of.name, bucket: null, group, figure, status: statusOf(figure, limit), target };
  };
  const keys = columns.filter(({ kind }) => kind !== 'metric');
  const figure = (value: unknown) => (typeof value === 'number' ? value : null);
  const whole = totals?.values ?? (keys.length === 0 ? rows[0]?.values : undefined);
  const [key] = keys;
  return [
    ...(whole === undefined ? [] : [judge(figure(whole[of.name]), null)]),
    ...(keys.length !== 1 || key?.kind !== 'dimension'
      ? []
      : rows.map(({ values }) =>
          judge(figure(values[of.name]), { dimension: key.name, value: String(values[key.name]) }),
        )),
  ];
}

const COMPARISONS: readonly TableComparison[] = [
  { kind: 'previous_period', range: { from: '2026-11-02', to: '2026-11-08' } },
  { kind: 'previous_year', range: { from: '2025-11-10', to: '2025-11-16' } },
];
const DAY_MS = 86_400_000;
const STEP_DAYS = { day: 1, week: 7 } as const;

function bucketAt(granularity: 'day' | 'week' | 'month', index: number): string {
  if (granularity === 'month') return new Date(Date.UTC(2020, index, 1)).toISOString().slice(0, 10);
  // A Monday.
  return new Date(Date.UTC(2026, 5, 1) + index * STEP_DAYS[granularity] * DAY_MS).toISOString().slice(0, 10);
}

interface Shape {
  readonly granularity: 'day' | 'week' | 'month' | null;
  readonly dimensions: number;
  readonly rows: number;
}
/** The shapes that definitions allow for a layout. */
function shapeOf({ layout, time, dimensions, rows }: SectionDraft): Shape {
  if (layout === 'scorecard') return { granularity: null, dimensions: 0, rows: 1 };
  if (layout === 'trend') return { granularity: time ?? 'month', dimensions: 0, rows: Math.max(rows, 1) };
  if (layout === 'exceptions') return { granularity: null, dimensions: Math.max(dimensions, 1), rows };
  return { granularity: time, dimensions, rows: time === null && dimensions === 0 ? 1 : rows };
}

function tableOf(draft: SectionDraft, index: number): Table {
  const { layout, title, description, toDate, chart, printed } = draft;
  const id = `s${index}`;
  const head = {
    id,
    title,
    ...(description === null ? {} : { description }),
    ...(printed === 0 ? { print: false as const } : {}),
  };
  if (layout === 'text') {
    return table({ ...head, description: description ?? title, columns: [], rows: [], layout: { kind: 'text' } });
  }
  const shape = shapeOf(draft);
  const comparisons = COMPARISONS.slice(0, draft.compared);
  const perMetric = 1 + 2 * comparisons.length + (toDate ? 1 : 0);
  // A scorecard shows its metrics as rows.
  const most = layout === 'scorecard' ? MAX_FIGURE_COLUMNS : Math.max(1, Math.floor(MAX_FIGURE_COLUMNS / perMetric));
  const metrics = draft.metrics.slice(0, most).map(({ unit: own, label: name, figures }, nth): Metric => {
    const column: Column = {
      name: `${id}.metric_${nth}`,
      label: name,
      kind: 'metric',
      type: own === 'count' ? 'integer' : own === 'ratio' ? 'ratio' : 'duration',
      unit: own,
      description: name,
      aggregation: 'count',
    };
    return { column, figures };
  });
  const valuesAt = (at: number): MetricValues =>
    Object.fromEntries(
      metrics.map(({ column, figures }, nth) => [column.name, figures[(at + nth) % figures.length] ?? null]),
    );
  const compareAt = (at: number) =>
    Object.fromEntries(comparisons.map(({ kind }, nth) => [kind, { values: valuesAt(at + 7 * (nth + 1)) }]));
  const withYear = toDate && shape.granularity === null;
  const extraAt = (at: number): Pick<Row, 'compare' | 'toDate'> => ({
    ...(comparisons.length === 0 ? {} : { compare: compareAt(at) }),
    ...(withYear ? { toDate: valuesAt(at + 3) } : {}),
  });
  const dimensions = Array.from({ length: shape.dimensions }, (_, nth): Column => {
    return {
      name: `${id}.dimension_${nth}`,
      label: nth === 0 ? 'Group' : 'Risk',
      kind: 'dimension',
      type: 'enum',
      unit: null,
    };
  });
  const rows = Array.from(
    { length: shape.rows },
    (_, at): Row => ({
      values: {
        ...(shape.granularity === null ? {} : { bucket: bucketAt(shape.granularity, at) }),
        ...Object.fromEntries(
          dimensions.map(({ name }, nth) => [name, nth === 0 ? `Group ${at + 1}` : `Risk ${at % 5}`]),
        ),
        ...valuesAt(at),
      },
      ...extraAt(at),
      partial: false,
    }),
  );
  const bucket: Column = { name: 'bucket', label: 'Bucket', kind: 'time', type: 'date', unit: null };
  const hasChart = chart !== null && layout === 'table' && (shape.granularity !== null || shape.dimensions > 0);
  const kind = shape.granularity === null && (chart === 'line' || chart === 'sparkline') ? 'bar' : chart;
  return table({
    ...head,
    granularity: shape.granularity,
    comparisons,
    ...(withYear ? { toDate: { unit: 'year' as const, range: { from: '2026-01-01', to: PERIOD.to } } } : {}),
    columns: [...(shape.granularity === null ? [] : [bucket]), ...dimensions, ...metrics.map(({ column }) => column)],
    rows,
    ...(draft.totals && layout !== 'scorecard' ? { totals: { values: valuesAt(5), ...extraAt(5) } } : {}),
    ...(hasChart && kind !== null ? { chart: kind } : {}),
    ...layoutOf(draft, metrics),
  });
}

function layoutOf({ layout, top, trend }: SectionDraft, metrics: readonly Metric[]): Pick<Table, 'layout' | 'trend'> {
  const kinds: { readonly [Kind in Exclude<SectionDraft['layout'], 'text'>]: TableLayout | undefined } = {
    table: undefined,
    trend: { kind: 'trend' },
    exceptions: { kind: 'exceptions', top },
    scorecard: {
      kind: 'scorecard',
      // The first metric is in no group.
      groups:
        metrics.length < 3 ? [] : [{ title: 'Speed', metrics: metrics.slice(1).map(({ column }) => column.name) }],
    },
  };
  const own = layout === 'text' ? undefined : kinds[layout];
  return {
    ...(own === undefined ? {} : { layout: own }),
    ...(layout === 'scorecard' && trend
      ? {
          trend: {
            granularity: 'week',
            buckets: Array.from({ length: 13 }, (_, at) => ({ label: bucketAt('week', at), partial: at === 12 })),
            values: Object.fromEntries(metrics.map(({ column, figures }) => [column.name, figures.slice(0, 13)])),
          },
        }
      : {}),
  };
}
