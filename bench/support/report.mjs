/**
 * Prints what a bench found, one JSON object a line. `limit` names the most that a figure may be. The process ends with
 * 1 when a figure of ours is over its limit; a peer's only says `ok: false`.
 */
export const reportOf =
  (bench) =>
  ({ name, who = 'docket', limit = {}, ...figures }) => {
    const ok = Object.entries(limit).every(([figure, most]) => figures[figure] <= most);
    if (!ok && who === 'docket') process.exitCode = 1;
    console.log(JSON.stringify({ bench, case: name, who, ...figures, limit, ok }));
  };

export const rounded = (number, digits = 3) => Number(number.toFixed(digits));

/** The value below which `share` of them lie. */
export function percentile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
