/** Limits of the service for one call (specification §8). */
const MOST = { metrics: 20, days: 366, values: 50 };

/**
 * The minimum number of calls for any plan, from the requests of the sections (`askedBy`): a call has one set of
 * dimensions, one of filters and one time range, so each different combination takes a call, and another one for each
 * further 20 metrics, 366 days or 50 values of a filter.
 *
 * Everything else is ignored, so this is a lower limit and not another plan: rows beyond the limit, order and `limit`
 * (which a client can apply itself), and that groups which appear only through another section's metric must be hidden.
 * It does not assume that days can be added up to weeks, or groups to a total: rates and medians cannot.
 */
export function leastCalls(requests) {
  const combinations = new Map();
  for (const request of requests) {
    const { dimensions = [], filters = [], time = {} } = request;
    const name = JSON.stringify([[...dimensions].sort(), [...filters].map(canonical).sort(), canonical(time)]);
    const metrics = combinations.get(name)?.metrics ?? new Set();
    for (const metric of request.metrics) metrics.add(metric);
    combinations.set(name, { metrics, pieces: piecesOf(filters, time) });
  }
  return [...combinations.values()].reduce(
    (sum, { metrics, pieces }) => sum + Math.ceil(metrics.size / MOST.metrics) * pieces,
    0,
  );
}

const canonical = (value) => JSON.stringify(Object.entries(value).sort(([a], [b]) => a.localeCompare(b)));

function piecesOf(filters, { from, to }) {
  const days = from === undefined ? 1 : (Date.parse(to) - Date.parse(from)) / 86_400_000 + 1;
  const values = filters.reduce(
    (product, { op, values }) => product * (op === 'in' ? Math.ceil(values.length / MOST.values) : 1),
    1,
  );
  return Math.ceil(days / MOST.days) * values;
}
