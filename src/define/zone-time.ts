import { IANAZone } from 'luxon';
import { DAY_MS } from './day.ts';

const HOUR_MS = 3_600_000;
/** What is local now was or will be UTC's within these: zones are from UTC-12 to UTC+14. */
const EARLIEST_MS = 14 * HOUR_MS;
const LATEST_MS = 12 * HOUR_MS;
/** No zone changes its offset twice within so long. */
const BLOCK_MS = 7 * DAY_MS;

/** A zone's offset at an instant, both in ms: local time is the instant plus the offset. */
export type OffsetAt = (at: number) => number;

/**
 * The offsets of a zone. To ask Intl takes microseconds, and a year of slots asks often: in a block of days whose ends
 * agree it is asked for the ends only.
 * @param zone IANA zone, valid (`zoneSchema`)
 */
export function offsetsOf(zone: string): OffsetAt {
  const iana = IANAZone.create(zone);
  const ask: OffsetAt = (at) => iana.offset(at) * 60_000;
  const ends = new Map<number, number>();
  const end = (block: number): number => {
    const known = ends.get(block) ?? ask(block * BLOCK_MS);
    ends.set(block, known);
    return known;
  };
  return (at) => {
    const block = Math.floor(at / BLOCK_MS);
    const first = end(block);
    return first === end(block + 1) ? first : ask(at);
  };
}

/**
 * The instants at which a clock in the zone shows this time, and what stands in for a time that it never shows.
 *
 * - As a time of the day: one that comes twice is its first coming; one that is skipped is the first instant after the gap.
 * - As part of an interval ("every hour"): both comings; one that is skipped is where it would be had the clock not been
 *   changed, so that the pace is kept.
 *
 * @param civil the time as if it were UTC, epoch ms
 * @returns epoch ms, ascending
 */
export function instantsOf(civil: number, offsetAt: OffsetAt, interval: boolean): readonly number[] {
  const before = offsetAt(civil - EARLIEST_MS);
  const after = offsetAt(civil + LATEST_MS);
  if (before === after) return [civil - before];
  const comings = [civil - before, civil - after].filter((at) => at + offsetAt(at) === civil).sort((a, b) => a - b);
  if (comings.length === 0) {
    return [interval ? civil - before : changeBetween(civil - EARLIEST_MS, civil + LATEST_MS, offsetAt)];
  }
  return interval ? comings : comings.slice(0, 1);
}

/** The first instant that has the offset of the end; the offset changes once between them. */
function changeBetween(from: number, to: number, offsetAt: OffsetAt): number {
  const before = offsetAt(from);
  let [old, fresh] = [from, to];
  while (fresh - old > 1) {
    const middle = Math.floor((old + fresh) / 2);
    if (offsetAt(middle) === before) old = middle;
    else fresh = middle;
  }
  return fresh;
}
