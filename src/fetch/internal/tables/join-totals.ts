import type { ReportResponse } from '../../../contract/report.ts';
import type { Join, SectionPlan } from '../../../plan/plan.ts';
import type { Sums } from '../../dataset.ts';

type Figures = Record<string, number | null>;

/**
 * The totals of a joined table. A metric in one part has the service's total. A metric in several parts has the sum of
 * the service's totals, if the catalog says that it is additive, and null otherwise. Rows are never added up: `limit`
 * truncates them, and they may count one thing twice. Undefined if a part lacks a requested total.
 */
export function joinTotals(
  join: Join,
  answers: ReadonlyMap<string, { readonly response: ReportResponse }>,
): Readonly<Record<string, number | null | Figures>> | undefined {
  const undefinable = join.undefinedTotals?.metrics ?? [];
  const current: Figures = Object.fromEntries(undefinable.map((id) => [id, null]));
  const previous: Figures = { ...current };
  let requested = undefinable.length > 0;
  for (const { call, period, totals } of join.parts) {
    if (totals.length === 0) continue;
    requested = true;
    const reported = answers.get(call)?.response.totals;
    if (reported == null) return undefined;
    const { compare, ...values } = reported;
    if (!add(period === 'this' ? current : previous, values, totals)) return undefined;
    if (compare != null) add(previous, compare, totals);
  }
  if (!requested) return undefined;
  return { ...current, ...(join.previous === undefined ? {} : { compare: previous }) };
}

/** Adds the values of these metrics to `sums`; false if one is missing. */
function add(sums: Figures, reported: Readonly<Record<string, unknown>>, metrics: readonly string[]): boolean {
  return metrics.every((id) => {
    const value = reported[id];
    if (typeof value !== 'number' && value !== null) return false;
    const sum = sums[id];
    sums[id] = sum === undefined ? value : sum === null || value === null ? null : sum + value;
    return true;
  });
}

/** Lists the values of a joined table that are sums over several responses; undefined if there are none. */
export function summedFigures({ request, parts, sums }: Join): Sums | undefined {
  const values = parts.filter(({ period }) => period === 'this');
  // Parts of one bucket may also be split by groups, with each group in one part only. Then `sums` is false.
  const cells = request.metrics.filter((id) => {
    const parts = values.filter(({ metrics }) => metrics.includes(id));
    return sums && parts.some((one, at) => parts.slice(at + 1).some((other) => overlap(one, other)));
  });
  const totals = request.metrics.filter((id) => values.filter((part) => part.totals.includes(id)).length > 1);
  return cells.length + totals.length === 0 ? undefined : { cells, totals };
}

type Buckets = Pick<Join['parts'][number], 'first' | 'buckets'>;

const overlap = (one: Buckets, other: Buckets): boolean =>
  one.first < other.first + other.buckets && other.first < one.first + one.buckets;

/**
 * Lists the values of a section's table that are sums over several responses, including values for other days;
 * undefined if there are none.
 */
export function collectSums({ join, partners }: Pick<SectionPlan, 'join' | 'partners'>): Sums | undefined {
  const own = join === undefined ? [] : [summedFigures(join)];
  const others = partners.map((partner) => {
    const sums = partner.join === undefined ? undefined : summedFigures(partner.join);
    // The single row of a request for totals is the total.
    return sums === undefined || partner.of === 'rows' ? sums : { cells: [], totals: [...sums.cells, ...sums.totals] };
  });
  const found = [...own, ...others].flatMap((sums) => sums ?? []);
  if (found.length === 0) return undefined;
  const distinct = (ids: readonly string[]) => [...new Set(ids)];
  return {
    cells: distinct(found.flatMap(({ cells }) => cells)),
    totals: distinct(found.flatMap(({ totals }) => totals)),
  };
}
