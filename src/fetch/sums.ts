import type { Join } from '../plan/plan.ts';
import type { Sums } from './dataset.ts';

/** Which figures of a joined table were added up from several answers; undefined where each is in one, as the service gave it. */
export function sumsOf({ request, pieces, sums }: Join): Sums | undefined {
  const own = pieces.filter(({ of }) => of === 'this');
  // Pieces of one bucket may also be parted by groups, each of which is in one of them alone: then `sums` is false.
  const cells = request.metrics.filter((id) => {
    const parts = own.filter(({ metrics }) => metrics.includes(id));
    return sums && parts.some((one, at) => parts.slice(at + 1).some((other) => overlap(one, other)));
  });
  const totals = request.metrics.filter((id) => own.filter((piece) => piece.totals.includes(id)).length > 1);
  return cells.length + totals.length === 0 ? undefined : { cells, totals };
}

type Buckets = Pick<Join['pieces'][number], 'first' | 'buckets'>;

const overlap = (one: Buckets, other: Buckets): boolean =>
  one.first < other.first + other.buckets && other.first < one.first + one.buckets;
