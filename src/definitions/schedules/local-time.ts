import { IANAZone } from 'luxon';
import { memoize } from '../../base/memoize.ts';
import { DAY_MS, HOUR_MS } from '../../base/time.ts';

/** Largest offset of a time zone: they range from UTC-12 to UTC+14. */
const MAX_OFFSET_MS = 14 * HOUR_MS;
const MAX_NEGATIVE_OFFSET_MS = 12 * HOUR_MS;
/** No time zone changes its offset twice within this time. */
const BLOCK_MS = 7 * DAY_MS;

/** A time zone's offset at an instant, both in ms. Local time is the instant plus the offset. */
export type OffsetAt = (at: number) => number;

/** More than all zones in the IANA database. */
const MAX_CACHED_ZONES = 1_000;

/**
 * The offsets of a time zone. An Intl lookup takes microseconds, so offsets are cached for blocks of days with equal
 * ends.
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
 * The instants of a local time in the time zone, also when clocks change:
 *
 * - A time of the day: if the time is repeated, the first instant; if it is skipped, the first instant after the gap.
 * - Part of an interval ("every hour"): if the time is repeated, both instants; if it is skipped, the instant as if
 *   there were no change, so that the interval stays the same.
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

/** The first instant with the offset of the end. The offset must change once in between. */
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
