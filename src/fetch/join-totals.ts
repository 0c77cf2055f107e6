import type { ReportResponse } from '../contract/report.ts';
import type { Join } from '../plan/plan.ts';

type Figures = Record<string, number | null>;

/**
 * The totals of a joined table. A metric of one piece has the service's own. One of several has the sum of the service's
 * totals of them: never of rows, which `limit` cuts and in which one thing may stand twice, and only for metrics that the
 * catalog says may be added up. The others are null. Undefined when a piece did not answer what it was asked for.
 */
export function readTotals(
  join: Join,
  answers: ReadonlyMap<string, { readonly response: ReportResponse }>,
): Readonly<Record<string, number | null | Figures>> | undefined {
  const undefinable = join.undefinedTotals?.metrics ?? [];
  const now: Figures = Object.fromEntries(undefinable.map((id) => [id, null]));
  const before: Figures = { ...now };
  let asked = undefinable.length > 0;
  for (const { call, of, totals } of join.pieces) {
    if (totals.length === 0) continue;
    asked = true;
    const said = answers.get(call)?.response.totals;
    if (said == null) return undefined;
    const { compare, ...own } = said;
    if (!add(of === 'this' ? now : before, own, totals)) return undefined;
    if (compare != null) add(before, compare, totals);
  }
  if (!asked) return undefined;
  return { ...now, ...(join.previous === undefined ? {} : { compare: before }) };
}

/** Adds to `sums` what was said of these metrics; false when something of it is missing. */
function add(sums: Figures, said: Readonly<Record<string, unknown>>, metrics: readonly string[]): boolean {
  return metrics.every((id) => {
    const value = said[id];
    if (typeof value !== 'number' && value !== null) return false;
    const sum = sums[id];
    sums[id] = sum === undefined ? value : sum === null || value === null ? null : sum + value;
    return true;
  });
}
