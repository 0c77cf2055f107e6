import type { Metric } from '../contract/catalog.ts';
import { type Facts, NEVER, type TableName } from './facts.ts';
import type { Feature } from './organizations.ts';
import type { DimensionId, View } from './view.ts';

export type Test = (row: number) => boolean;

/** The values of `time_field` (specification §2.4). */
export type TimeField = 'created' | 'first decision' | 'closed' | 'now';
export type Aggregation = 'count' | 'distinct' | 'share' | 'p50' | 'p90';

/** How rows become a figure, in the words of the catalog. */
interface Counting {
  readonly description: string;
  readonly time_field: TimeField;
  readonly aggregation: Aggregation;
  /** Its meaning changed so many days after the organization's first: its successor has another id (specification §9). */
  readonly replaced?: { readonly afterDays: number; readonly by: string } | undefined;
}

/** Which rows of which table count when. */
interface Bound {
  readonly table: TableName;
  /** The instants at which rows count; undefined for a current count, whose rows count now. */
  readonly at: ((facts: Facts) => Float64Array) | undefined;
  /** Which rows count at all; of a current count, the state that is counted. */
  readonly where: ((view: View) => Test) | undefined;
  /** Of a share: which of the counted rows are its numerator. */
  readonly part: ((view: View) => Test) | undefined;
  /** Of a percentile: how long it took, in seconds. */
  readonly seconds: ((view: View) => (row: number) => number) | undefined;
  /** Of a distinct count: what is counted once. */
  readonly key: ((facts: Facts) => Uint32Array) | undefined;
}

/** A metric as data: its words for the catalog, and its rows for the computation. */
export interface MetricDeclaration extends Counting, Bound {
  readonly id: string;
  readonly label: string;
  readonly dimensions: readonly DimensionId[];
  /** The optional feature without which the organization does not have the metric. */
  readonly feature: Feature | undefined;
}

type ColumnsOf<Table, Kind> = { [Name in keyof Table]: Table[Name] extends Kind ? Name : never }[keyof Table] & string;

interface Rule<Table> {
  /** Column of the instants; absent for a current count. */
  readonly at?: ColumnsOf<Table, Float64Array>;
  readonly where?: (rows: Table, view: View) => Test;
  readonly part?: (rows: Table, view: View) => Test;
  readonly seconds?: { readonly from: ColumnsOf<Table, Float64Array>; readonly to: ColumnsOf<Table, Float64Array> };
  readonly key?: ColumnsOf<Table, Uint32Array>;
}

const instants = <Table>(rows: Table, name: ColumnsOf<Table, Float64Array>): Float64Array => {
  const column = rows[name];
  if (column instanceof Float64Array) return column;
  throw new TypeError(`${name} is not a column of instants`);
};

/** Declares the metrics over the rows of one table, which share their dimensions and the feature they belong to. */
export function area<Name extends TableName>(table: Name, dimensions: readonly DimensionId[], feature?: Feature) {
  return (
    id: string,
    label: string,
    { description, aggregation, time_field, replaced, ...rule }: Counting & Rule<Facts[Name]>,
  ): MetricDeclaration => ({
    id,
    label,
    description,
    dimensions,
    aggregation,
    time_field,
    feature,
    replaced,
    ...bound(table, rule),
  });
}

/** The rule of one table, to be followed without knowing the table. */
function bound<Name extends TableName>(table: Name, rule: Rule<Facts[Name]>): Bound {
  const { at, where, part, seconds, key } = rule;
  return {
    table,
    at: at === undefined ? undefined : (facts) => instants(facts[table], at),
    where: where === undefined ? undefined : (view) => where(view.history.facts[table], view),
    part: part === undefined ? undefined : (view) => part(view.history.facts[table], view),
    seconds:
      seconds === undefined
        ? undefined
        : (view) => {
            const rows = view.history.facts[table];
            const from = instants(rows, seconds.from);
            const to = instants(rows, seconds.to);
            return (row) => ((to[row] ?? NEVER) - (from[row] ?? 0)) / 1000;
          },
    key:
      key === undefined
        ? undefined
        : (facts) => {
            const column = facts[table][key];
            if (column instanceof Uint32Array) return column;
            throw new TypeError(`${key} is not a column of rows`);
          },
  };
}

/** Has happened by the time of the view. */
export const past = (column: Float64Array, view: View): Test => {
  const { now } = view;
  return (row) => (column[row] ?? NEVER) <= now;
};
/** Was on a day before that of the view. */
export const onEarlierDay = (column: Float64Array, view: View): Test => {
  const { today } = view;
  return (row) => (column[row] ?? NEVER) < today;
};
/** The column's code is this one. */
export const is =
  (column: Uint8Array, value: number): Test =>
  (row) =>
    column[row] === value;
export const not =
  (test: Test): Test =>
  (row) =>
    !test(row);
export const both =
  (...tests: readonly Test[]): Test =>
  (row) =>
    tests.every((test) => test(row));

const DAY = 86_400_000;

const SHAPES = {
  count: { type: 'integer', unit: 'count' },
  distinct: { type: 'integer', unit: 'count' },
  share: { type: 'ratio', unit: 'ratio' },
  p50: { type: 'duration', unit: 'seconds' },
  p90: { type: 'duration', unit: 'seconds' },
} as const;

/**
 * The declaration as the catalog shows it (specification §2.4).
 * @param dataFrom epoch ms: midnight (UTC) of the first day with data
 */
export function describe(declaration: MetricDeclaration, dataFrom: number): Metric {
  const { id, label, description, aggregation, time_field, dimensions, replaced } = declaration;
  return {
    id,
    label,
    description,
    ...SHAPES[aggregation],
    aggregation,
    time_field,
    granularities: time_field === 'now' ? [] : ['day', 'week', 'month'],
    dimensions: [...dimensions],
    additive_over_time: aggregation === 'count' && time_field !== 'now',
    data_available: { from: new Date(dataFrom).toISOString().slice(0, 10) },
    deprecated_at: replaced === undefined ? null : new Date(dataFrom + replaced.afterDays * DAY).toISOString(),
    replaced_by: replaced?.by ?? null,
  };
}
