/** What a bench ends with when a figure of ours is over its limit; 1, as for any program, when it is broken. */
export const OVER = 2;

/**
 * Prints what a bench found, one JSON object a line. `limit` names the most that a figure may be; null: it is to be seen
 * beside the peers', and may be anything. The process ends with `OVER` when a figure of ours is over its limit; a peer's
 * only says `ok: false`. `absent` says why there are no figures here.
 */
export const reportOf =
  (bench) =>
  ({ name, who = 'docket', limit = {}, ...figures }) => {
    const ok = Object.entries(limit).every(([figure, most]) => most === null || figures[figure] <= most);
    if (!ok && who === 'docket') process.exitCode = OVER;
    console.log(JSON.stringify({ bench, case: name, who, ...figures, limit, ok }));
  };

/** The sizes at which growth is looked at, up to the largest requested one. */
export const sizesTo = (most) => [10, 100, 1_000, 10_000, 100_000, 1_000_000].filter((size) => size <= most);

/**
 * Reports how a cost grows. `exponent` is that of the last step, where what costs the same for every size weighs least and
 * a quadratic most: 1 when ten times as many cost ten times as much, 2 when they cost a hundred times as much.
 *
 * @param {ReturnType<typeof reportOf>} report
 * @param {{
 *   name: string, who?: string, by: string, unit: string, points: { n: number, cost: number }[], most?: number,
 * }} growth `by`: what there are more and more of; `points`: ascending, `cost` is that of all n; `most`: the limit of the exponent
 */
export function reportGrowth(report, { name, who, by, unit, points, most = 1.2 }) {
  // Of one size nothing can be told.
  if (points.length < 2) return;
  const [before, last] = points.slice(-2);
  const exponent = Math.log(last.cost / before.cost) / Math.log(last.n / before.n);
  const exact = points.map(({ n, cost }) => ({ n, cost: Number(cost.toPrecision(3)) }));
  report({ name, who, by, unit, points: exact, exponent: rounded(exponent, 2), limit: { exponent: most } });
}

export const rounded = (number, digits = 3) => Number(number.toFixed(digits));

/** The value below which `share` of them lie. */
export function percentile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
