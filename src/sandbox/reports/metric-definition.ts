import { DAY_MS } from '../../base/time.ts';
import type { Metric } from '../../contract/catalog.ts';
import { type FactTables, NEVER, type TableName } from '../generator/fact-tables.ts';
import type { Feature } from '../generator/organizations.ts';
import type { DimensionId, Snapshot } from './snapshot.ts';

export type RowPredicate = (row: number) => boolean;

/** The values of `time_field` (specification §2.4). */
type TimeField = 'created' | 'first decision' | 'closed' | 'now';
/** As they are called in the catalog. */
type Aggregation = 'count' | 'distinct' | 'share' | 'p50' | 'p90';

interface MetricDescription {
  readonly description: string;
  /**
   * After this many days from the organization's first day, its meaning changed: its successor has another id
   * (specification §9).
   */
  readonly replaced?: { readonly afterDays: number; readonly by: string } | undefined;
}

/** A metric as data: its catalog entry, and how it is computed from rows. */
export interface MetricDefinition extends MetricDescription {
  readonly id: string;
  readonly label: string;
  readonly aggregation: Aggregation;
  readonly time_field: TimeField;
  readonly dimensions: readonly DimensionId[];
  /** The optional feature that an organization needs to have the metric. */
  readonly feature: Feature | undefined;
  readonly table: TableName;
  /** The instants at which rows count. Undefined for a current count, whose rows count now. */
  readonly at: ((facts: FactTables) => Float64Array) | undefined;
  /** Filters the rows. For a current count, it selects the state that is counted. */
  readonly where: ((view: Snapshot) => RowPredicate) | undefined;
  /** For a share: selects the rows of the numerator. */
  readonly part: ((view: Snapshot) => RowPredicate) | undefined;
  /** For a percentile: the duration, in seconds. */
  readonly seconds: ((view: Snapshot) => (row: number) => number) | undefined;
  /** For a distinct count: the counted value. */
  readonly key: ((facts: FactTables) => Uint32Array) | undefined;
}

type ColumnsOf<Table, Kind> = { [Name in keyof Table]: Table[Name] extends Kind ? Name : never }[keyof Table] & string;

interface MetricRule<Table> extends MetricDescription {
  /** The catalog's `time_field`, and the column with these instants; a current count has no column. */
  readonly time: readonly ['now'] | readonly [Exclude<TimeField, 'now'>, ColumnsOf<Table, Float64Array>];
  readonly where?: (rows: Table, view: Snapshot) => RowPredicate;
  readonly part?: (rows: Table, view: Snapshot) => RowPredicate;
  readonly seconds?: { readonly from: ColumnsOf<Table, Float64Array>; readonly to: ColumnsOf<Table, Float64Array> };
  readonly key?: ColumnsOf<Table, Uint32Array>;
}

function requireColumn<Column>(rows: object, name: string, kind: new () => Column): Column {
  const column: unknown = Reflect.get(rows, name);
  if (column instanceof kind) return column;
  throw new TypeError(`${name} is not a column of ${kind.name}`);
}

/** Declares the metrics of one table. They share dimensions and feature. */
export function metricBuilder<Name extends TableName>(
  table: Name,
  dimensions: readonly DimensionId[],
  feature?: Feature,
) {
  const define =
    (aggregation: Aggregation) =>
    (id: string, label: string, rule: MetricRule<FactTables[Name]>): MetricDefinition => {
      const { description, replaced, where, part, seconds, key } = rule;
      const [time_field, at] = rule.time;
      return {
        ...{ id, label, description, replaced, aggregation, time_field, dimensions, feature, table },
        at: at && ((facts) => requireColumn(facts[table], at, Float64Array)),
        where: where && ((view) => where(view.history.facts[table], view)),
        part: part && ((view) => part(view.history.facts[table], view)),
        seconds:
          seconds &&
          (({ history }) => {
            const from = requireColumn(history.facts[table], seconds.from, Float64Array);
            const to = requireColumn(history.facts[table], seconds.to, Float64Array);
            return (row) => ((to[row] ?? NEVER) - (from[row] ?? 0)) / 1000;
          }),
        key: key && ((facts) => requireColumn(facts[table], key, Uint32Array)),
      };
    };
  return {
    count: define('count'),
    distinct: define('distinct'),
    share: define('share'),
    p50: define('p50'),
    p90: define('p90'),
  };
}

/** Whether the event has happened at the time of the snapshot. */
export const hasHappened = (column: Float64Array, view: Snapshot): RowPredicate => {
  const { now } = view;
  return (row) => (column[row] ?? NEVER) <= now;
};
/** Whether the event was on a day before the snapshot. */
export const onEarlierDay = (column: Float64Array, view: Snapshot): RowPredicate => {
  const { today } = view;
  return (row) => (column[row] ?? NEVER) < today;
};
/** Whether the column has this code. */
export const equals =
  (column: Uint8Array, value: number): RowPredicate =>
  (row) =>
    column[row] === value;
export const not =
  (test: RowPredicate): RowPredicate =>
  (row) =>
    !test(row);
export const allOf =
  (...tests: readonly RowPredicate[]): RowPredicate =>
  (row) =>
    tests.every((test) => test(row));

const METRIC_TYPES = {
  count: { type: 'integer', unit: 'count' },
  distinct: { type: 'integer', unit: 'count' },
  share: { type: 'ratio', unit: 'ratio' },
  p50: { type: 'duration', unit: 'seconds' },
  p90: { type: 'duration', unit: 'seconds' },
} as const;

/**
 * The catalog entry of a metric (specification §2.4).
 * @param dataFrom epoch ms: midnight (UTC) of the first day with data
 */
export function toCatalogMetric(declaration: MetricDefinition, dataFrom: number): Metric {
  const { id, label, description, aggregation, time_field, dimensions, replaced } = declaration;
  return {
    id,
    label,
    description,
    ...METRIC_TYPES[aggregation],
    aggregation,
    time_field,
    granularities: time_field === 'now' ? [] : ['day', 'week', 'month'],
    dimensions: [...dimensions],
    additive_over_time: aggregation === 'count' && time_field !== 'now',
    data_available: { from: new Date(dataFrom).toISOString().slice(0, 10) },
    deprecated_at: replaced === undefined ? null : new Date(dataFrom + replaced.afterDays * DAY_MS).toISOString(),
    replaced_by: replaced?.by ?? null,
  };
}
