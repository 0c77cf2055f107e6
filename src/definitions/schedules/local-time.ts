import { IANAZone } from 'luxon';
import { memoize } from '../../base/memoize.ts';
import { DAY_MS, HOUR_MS } from '../../base/time.ts';

/** Range of zone offsets: UTC-12 to UTC+14. */
const MAX_OFFSET_MS = 14 * HOUR_MS;
const MAX_NEGATIVE_OFFSET_MS = 12 * HOUR_MS;
/** No zone changes its offset twice within this. */
const BLOCK_MS = 7 * DAY_MS;

/** A zone's offset at an instant, both in ms: local time is the instant plus the offset. */
export type OffsetAt = (at: number) => number;

/** All zones of the IANA database. */
const MAX_CACHED_ZONES = 1_000;

/**
 * The offsets of a zone. An Intl lookup takes microseconds, so offsets are cached for blocks of days with equal ends.
 * @param zone IANA zone, valid (`zoneSchema`)
 */
export const zoneOffsets: (zone: string) => OffsetAt = memoize((zone) => {
  const iana = IANAZone.create(zone);
  const lookup: OffsetAt = (at) => iana.offset(at) * 60_000;
  const ends = new Map<number, number>();
  const end = (block: number): number => {
    const known = ends.get(block) ?? lookup(block * BLOCK_MS);
    ends.set(block, known);
    return known;
  };
  return (at) => {
    const block = Math.floor(at / BLOCK_MS);
    const first = end(block);
    return first === end(block + 1) ? first : lookup(at);
  };
}, MAX_CACHED_ZONES);

/**
 * The instants of a local time in the zone, also around DST changes:
 *
 * - A time of the day: of a repeated time the first instant; of a skipped time the first instant after the gap.
 * - Part of an interval ("every hour"): of a repeated time both instants; of a skipped time the instant without the change,
 *   so that the interval is kept.
 *
 * @param civil local time as if it were UTC, epoch ms
 * @returns epoch ms, ascending
 */
export function localToInstants(civil: number, offsetAt: OffsetAt, interval: boolean): readonly number[] {
  const before = offsetAt(civil - MAX_OFFSET_MS);
  const after = offsetAt(civil + MAX_NEGATIVE_OFFSET_MS);
  if (before === after) return [civil - before];
  const instants = [civil - before, civil - after].filter((at) => at + offsetAt(at) === civil).sort((a, b) => a - b);
  if (instants.length === 0) {
    return [
      interval ? civil - before : transitionBetween(civil - MAX_OFFSET_MS, civil + MAX_NEGATIVE_OFFSET_MS, offsetAt),
    ];
  }
  return interval ? instants : instants.slice(0, 1);
}

/** The first instant with the offset of the end; the offset changes once between them. */
function transitionBetween(from: number, to: number, offsetAt: OffsetAt): number {
  const before = offsetAt(from);
  let [low, high] = [from, to];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offsetAt(middle) === before) low = middle;
    else high = middle;
  }
  return high;
}
