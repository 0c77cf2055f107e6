import type { MetricBase } from '../../../contract/bases.ts';
import type { Catalog, Metric } from '../../../contract/catalog.ts';
import type { ReportResponse, ReportRow } from '../../../contract/report.ts';
import type { ReportCall } from '../../../plan/plan.ts';
import type { MetricValues, TableTrend } from '../../dataset.ts';

const identify = (row: ReportRow, dimensions: readonly string[]): string =>
  JSON.stringify([row.bucket ?? null, ...dimensions.map((id) => row[id] ?? null)]);

/**
 * Removes from a response what was requested only for the bases of ratios and durations: their columns, and groups that
 * have data of a base only. The remaining rows keep the values of the bases.
 */
export function withoutBaseRows({ request, bases = [] }: ReportCall, response: ReportResponse): ReportResponse {
  if (bases.length === 0) return response;
  const columns = response.columns.filter(({ name }) => !bases.includes(name));
  const { dimensions = [] } = request;
  if (dimensions.length === 0) return { ...response, columns };
  const own = request.metrics.filter((id) => !bases.includes(id));
  const counts = new Set(response.columns.flatMap(({ name, unit }) => (unit === 'count' ? [name] : [])));
  // A rate of 0 is data. A count of 0 is not.
  const hasData = (values: Readonly<Record<string, unknown>> | null | undefined, ids: readonly string[]): boolean =>
    ids.some((id) => typeof values?.[id] === 'number' && !(counts.has(id) && values[id] === 0));
  const toGroupKey = (row: ReportRow): string => JSON.stringify(dimensions.map((id) => row[id] ?? null));
  const found = { own: new Set<string>(), bases: new Set<string>() };
  for (const row of response.rows) {
    if (hasData(row, own) || hasData(row.compare, own)) found.own.add(toGroupKey(row));
    if (hasData(row, bases) || hasData(row.compare, bases)) found.bases.add(toGroupKey(row));
  }
  const rows = response.rows.filter((row) => found.own.has(toGroupKey(row)) || !found.bases.has(toGroupKey(row)));
  const without = response.rows.length - rows.length;
  const { row_count, rows_count } = response.meta;
  const meta = {
    ...response.meta,
    ...(typeof row_count === 'number' ? { row_count: row_count - without } : {}),
    ...(typeof rows_count === 'number' ? { rows_count: rows_count - without } : {}),
  };
  return { ...response, columns, rows, meta };
}

/** Adds the values of the bases, which are joined separately, to a joined response. */
export function withBaseValues(
  response: ReportResponse,
  { rows, totals }: ReportResponse,
  { dimensions = [], metrics }: ReportCall['request'],
): ReportResponse {
  const sides = new Map(rows.map((row) => [identify(row, dimensions), row]));
  const added = <Values extends Readonly<Record<string, unknown>>>(
    values: Values,
    from: Readonly<Record<string, unknown>> | null | undefined,
  ): Values => ({
    ...values,
    ...Object.fromEntries(metrics.flatMap((id) => (from?.[id] === undefined ? [] : [[id, from[id]]]))),
  });
  return {
    ...response,
    rows: response.rows.map((row) => {
      const side = sides.get(identify(row, dimensions));
      const compare = row.compare == null ? row.compare : added(row.compare, side?.compare);
      return { ...added(row, side), compare };
    }),
    ...(response.totals == null
      ? {}
      : {
          totals: {
            ...added(response.totals, totals),
            ...(response.totals.compare == null ? {} : { compare: added(response.totals.compare, totals?.compare) }),
          },
        }),
  };
}

/** Reads the numbers of cases that a section's ratios and durations are computed from. */
export type CaseReader = ReturnType<typeof caseReader>;

/** @param own the section's metrics */
export function caseReader(own: readonly Metric[], bases: readonly MetricBase[], { metrics }: Catalog) {
  const names = new Set(own.map(({ id }) => id));
  const hidden = new Set(bases.map(({ base }) => base).filter((id) => !names.has(id)));
  const countCases = (values: MetricValues): readonly (readonly [string, number])[] =>
    bases.flatMap(({ metric, base, share }) => {
      const [count, part] = [values[base], share === undefined ? 1 : values[share]];
      return typeof count === 'number' && typeof part === 'number' ? [[metric, Math.round(count * part)] as const] : [];
    });
  const withoutHidden = <Kept>(values: Readonly<Record<string, Kept>>): Readonly<Record<string, Kept>> =>
    hidden.size === 0 ? values : Object.fromEntries(Object.entries(values).filter(([id]) => !hidden.has(id)));
  return {
    /** The section's metrics, and the bases that it does not show. */
    metrics: [...own, ...[...hidden].flatMap((id) => metrics.find((metric) => metric.id === id) ?? [])],
    /** Splits values into the section's own and the numbers of cases by metric. `cases` is absent if none is known. */
    split: (values: MetricValues): { readonly values: MetricValues; readonly cases?: MetricValues } => {
      const cases = countCases(values);
      return { values: withoutHidden(values), ...(cases.length === 0 ? {} : { cases: Object.fromEntries(cases) }) };
    },
    /** Does the same for each point of a trend. */
    splitTrend: (trend: TableTrend): TableTrend => {
      if (bases.length === 0) return trend;
      const points = trend.buckets.map((_, index) =>
        Object.fromEntries(
          countCases(
            Object.fromEntries(Object.entries(trend.values).map(([id, values]) => [id, values[index] ?? null])),
          ),
        ),
      );
      const known = bases.map(({ metric }) => metric).filter((metric) => points.some((point) => metric in point));
      return {
        ...trend,
        values: withoutHidden(trend.values),
        ...(known.length === 0
          ? {}
          : { cases: Object.fromEntries(known.map((id) => [id, points.map((point) => point[id] ?? null)])) }),
      };
    },
  };
}
