/** The service's limits of one call (specification §8). */
const MOST = { metrics: 20, days: 366, values: 50 };

/**
 * Calls below which no plan can be, given what the sections ask (`askedBy`): a call has one set of dimensions, one of
 * filters and one of time, so each different combination takes one, and one more for each further 20 metrics, 366 days
 * or 50 values of a filter.
 *
 * Everything else is left out, so that it is a bound and not another plan: rows beyond the limit, order and `limit` (one
 * may sort and cut by oneself), and that a group which only another section's metric brings in must not show up. It
 * does not count on adding days up to weeks or groups up to a whole: rates and medians do not add up.
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
