import type { ReportResponse } from '../../contract/report.ts';
import type { Join } from '../../plan/plan.ts';
import type { Sums } from '../dataset.ts';

type Figures = Record<string, number | null>;

/**
 * The totals of a joined table. A metric of one piece has the service's own. One of several has the sum of the service's
 * totals of them: never of rows, which `limit` cuts and in which one thing may stand twice, and only for metrics that the
 * catalog says may be added up. The others are null. Undefined when a piece did not answer what it was asked for.
 */
export function joinTotals(
  join: Join,
  answers: ReadonlyMap<string, { readonly response: ReportResponse }>,
): Readonly<Record<string, number | null | Figures>> | undefined {
  const undefinable = join.undefinedTotals?.metrics ?? [];
  const now: Figures = Object.fromEntries(undefinable.map((id) => [id, null]));
  const before: Figures = { ...now };
  let asked = undefinable.length > 0;
  for (const { call, of, totals } of join.parts) {
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

/** Which figures of a joined table were added up from several answers; undefined where each is in one, as the service gave it. */
export function summedFigures({ request, parts, sums }: Join): Sums | undefined {
  const own = parts.filter(({ of }) => of === 'this');
  // Pieces of one bucket may also be parted by groups, each of which is in one of them alone: then `sums` is false.
  const cells = request.metrics.filter((id) => {
    const parts = own.filter(({ metrics }) => metrics.includes(id));
    return sums && parts.some((one, at) => parts.slice(at + 1).some((other) => overlap(one, other)));
  });
  const totals = request.metrics.filter((id) => own.filter((piece) => piece.totals.includes(id)).length > 1);
  return cells.length + totals.length === 0 ? undefined : { cells, totals };
}

type Buckets = Pick<Join['parts'][number], 'first' | 'buckets'>;

const overlap = (one: Buckets, other: Buckets): boolean =>
  one.first < other.first + other.buckets && other.first < one.first + one.buckets;
