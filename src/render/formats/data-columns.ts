import type { ComparisonKind } from '../../definitions/schema/comparison.ts';
import type { Column, ComparedFigures, Dataset, Row, Table, Value } from '../../fetch/dataset.ts';
import { iterateRows } from '../../fetch/rows.ts';
import { parseCivilDate } from '../figures/quantity.ts';
import { isClipped } from '../figures/whole-period.ts';
import { hasPeriod } from './csv/section-csv.ts';
import { rowJudgements } from './csv/status-fields.ts';

/** `any`: a field of a list with values of several types. */
export type DataType = 'string' | 'integer' | 'number' | 'boolean' | 'date' | 'any';

/**
 * A column in files for programs. Values are raw: counts, ratios 0 to 1, seconds, ISO dates, codes; null is undefined.
 */
export interface DataColumn {
  /** The service's name, followed by the comparison for compared figures: `profiles.created.previous_period`. */
  readonly name: string;
  readonly type: DataType;
  /** Absent if the column is Docket's own. */
  readonly source?: Column;
  readonly read: (row: Row) => Value;
  /** The value in the totals; undefined if they have none. */
  readonly total: Value | undefined;
}

type Part = Omit<DataColumn, 'type'> & { readonly type?: DataType };

function metricParts(table: Table, source: Column): readonly Part[] {
  const { name } = source;
  const { totals, toDate } = table;
  const total = (values: Readonly<Record<string, number | null>> | undefined): Value | undefined =>
    totals === undefined ? undefined : (values?.[name] ?? null);
  const compared = table.comparisons.map(
    ({ kind }): Part => ({
      name: `${name}.${kind}`,
      source,
      read: ({ compare }) => compare?.[kind]?.values[name] ?? null,
      total: total(totals?.compare?.[kind]?.values),
    }),
  );
  const sinceStart = toDate && {
    name: `${name}.${toDate.unit}_to_date`,
    source,
    read: (row: Row): Value => row.toDate?.[name] ?? null,
    total: total(totals?.toDate),
  };
  const own: Part = { name, source, read: ({ values }) => values[name] ?? null, total: total(totals?.values) };
  return [own, ...compared, ...(sinceStart === undefined ? [] : [sinceStart])];
}

function statusParts(dataset: Pick<Dataset, 'judgements'>, table: Table): readonly Part[] {
  const judgementsOf = rowJudgements(table, dataset);
  return table.columns.flatMap(({ kind, name }): Part[] => {
    const own = kind === 'metric' ? judgementsOf(name) : undefined;
    if (own === undefined) return [];
    return [
      {
        name: `${name}.status`,
        type: 'string',
        read: (row) => own.ofRow(row)?.status ?? null,
        total: table.totals === undefined ? undefined : (own.ofTotals?.status ?? null),
      },
    ];
  });
}

/**
 * Columns with what readers must know before they compare or add up: which rows are running, cut off, or not
 * comparable.
 */
function rowFacts(table: Table): readonly Part[] {
  const { granularity, totals } = table;
  if (!hasPeriod(table)) return [];
  const buildReasonPart = (kind: ComparisonKind): Part => {
    const reason = (compared: ComparedFigures | undefined): Value => compared?.unlike ?? null;
    return {
      name: `not_comparable.${kind}`,
      type: 'string',
      read: ({ compare }) => reason(compare?.[kind]),
      total: totals === undefined ? undefined : reason(totals.compare?.[kind]),
    };
  };
  const running: Part = { name: 'running', type: 'boolean', read: ({ partial }) => partial, total: table.running };
  const comparisons = table.comparisons.map(({ kind }) => buildReasonPart(kind));
  if (granularity === null || granularity === 'day') return [running, ...comparisons];
  const clipped: Part = {
    name: 'clipped',
    type: 'boolean',
    read: ({ values: { bucket } }) => typeof bucket === 'string' && isClipped(table, bucket, granularity),
    total: undefined,
  };
  return [running, ...comparisons, clipped];
}

/** The type that holds all values: the service's declared type, unless values contradict it. */
function findCommonType({ source }: Part, seen: ReadonlySet<DataType>): DataType {
  const types = [...seen];
  if (source?.kind === 'metric') return source.type === 'integer' && !seen.has('number') ? 'integer' : 'number';
  if (types.length === 0) return source?.kind === 'time' ? 'date' : 'string';
  if (types.length === 1) return types[0] ?? 'any';
  if (types.every((type) => type === 'integer' || type === 'number')) return 'number';
  return types.every((type) => type === 'string' || type === 'date') ? 'string' : 'any';
}

function valueType(value: string | number | boolean): DataType {
  if (typeof value === 'boolean') return 'boolean';
  if (typeof value === 'number') return Number.isSafeInteger(value) ? 'integer' : 'number';
  return parseCivilDate(value) === undefined ? 'string' : 'date';
}

/** The columns of a section, in order. Reads all rows to find the types. */
export function dataColumns(dataset: Pick<Dataset, 'judgements'>, table: Table): readonly DataColumn[] {
  const parts = [
    ...table.columns.flatMap((source): readonly Part[] =>
      source.kind === 'metric'
        ? metricParts(table, source)
        : [{ name: source.name, source, read: ({ values }) => values[source.name] ?? null, total: undefined }],
    ),
    ...statusParts(dataset, table),
    ...rowFacts(table),
  ];
  const seen = parts.map(() => new Set<DataType>());
  const add = (value: Value | undefined, index: number): void => {
    if (value !== null && value !== undefined) seen[index]?.add(valueType(value));
  };
  const untyped = [...parts.entries()].filter(([, { type }]) => type === undefined);
  for (const row of iterateRows(table.rows)) for (const [index, { read }] of untyped) add(read(row), index);
  for (const [index, { total }] of untyped) add(total, index);
  const taken = new Set<string>();
  return parts.map((part, index) => {
    let { name } = part;
    for (let count = 2; taken.has(name); count += 1) name = `${part.name}_${count}`;
    taken.add(name);
    return { ...part, name, type: part.type ?? findCommonType(part, seen[index] ?? new Set()) };
  });
}
