import type { ReportRequest, ReportResponse, ReportRow } from '../../contract/report.ts';

/** By which of its dimensions a row does not pass the filters of the request; undefined: it passes, as far as it shows. */
export function excludingDimension({
  filters = [],
  dimensions = [],
}: ReportRequest): (row: ReportRow) => string | undefined {
  const gates = filters
    .filter(({ dimension }) => dimensions.includes(dimension))
    .map(({ dimension, op, values }) => ({ dimension, values: new Set<unknown>(values), passing: op !== 'not_in' }));
  return (row) =>
    gates.find(({ dimension, values, passing }) => row[dimension] != null && values.has(row[dimension]) !== passing)
      ?.dimension;
}

/**
 * The answer without the rows that its request excludes. Among the answers of a joined table such a row would be taken
 * for another call's, and added to it.
 */
export function withoutExcluded(request: ReportRequest, response: ReportResponse): ReportResponse {
  const excludes = excludingDimension(request);
  const rows = response.rows.filter((row) => excludes(row) === undefined);
  return rows.length === response.rows.length ? response : { ...response, rows };
}
