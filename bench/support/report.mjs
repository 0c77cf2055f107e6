/**
 * Exit code of a benchmark when one of Docket's figures exceeds its limit. It is 1, as for any program, if the
 * benchmark fails.
 */
export const OVER = 2;

/**
 * Prints the results of a benchmark, one JSON object per line. `limit` has the maximum of a figure; null: no limit, but
 * the figure is compared with the peers'. The process ends with `OVER` if one of Docket's figures exceeds its limit; a
 * peer's only gets `ok: false`. `absent` says why there are no figures.
 */
export const reportOf =
  (bench) =>
  ({ name, who = 'docket', limit = {}, ...figures }) => {
    const ok = Object.entries(limit).every(([figure, most]) => most === null || figures[figure] <= most);
    if (!ok && who === 'docket') process.exitCode = OVER;
    console.log(JSON.stringify({ bench, case: name, who, ...figures, limit, ok }));
  };

/** The sizes at which growth is measured, up to the largest requested one. */
export const sizesTo = (most) => [10, 100, 1_000, 10_000, 100_000, 1_000_000].filter((size) => size <= most);

/**
 * Reports how a cost grows. `exponent` is that of the last step, where fixed costs weigh least and a quadratic part
 * most: 1 if ten times as many cost ten times as much, 2 if they cost a hundred times as much.
 *
 * @param {ReturnType<typeof reportOf>} report
 * @param {{
 *   name: string, who?: string, by: string, unit: string, points: { n: number, cost: number }[], most?: number,
 * }} growth `by`: what grows; `points`: ascending, `cost` is the total for n; `most`: the limit of the exponent
 */
export function reportGrowth(report, { name, who, by, unit, points, most = 1.2 }) {
  // A single size shows no growth.
  if (points.length < 2) return;
  const [before, last] = points.slice(-2);
  const exponent = Math.log(last.cost / before.cost) / Math.log(last.n / before.n);
  const exact = points.map(({ n, cost }) => ({ n, cost: Number(cost.toPrecision(3)) }));
  report({ name, who, by, unit, points: exact, exponent: rounded(exponent, 2), limit: { exponent: most } });
}

export const rounded = (number, digits = 3) => Number(number.toFixed(digits));

/** The value below which this `share` of the values lies. */
export function percentile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
