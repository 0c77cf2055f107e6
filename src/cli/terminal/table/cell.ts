import type { LocalTimes } from '../local-times.ts';

/** A cell of a table. A terminal shows it shorter than a pipe, a file and `--wide` do. */
export interface Cell {
  /** The full value, for programs. */
  readonly exact: string;
  /** The short form, for people. */
  readonly brief: string;
}

const MIN_DIGITS = 8;
/** A delivery's id starts with 16 digits of its run's id. Unlisted deliveries of the run, e.g. a notice, share them. */
const MIN_DELIVERY_DIGITS = 20;

/** Cells with ids of deliveries. */
export const deliveryIdCells = (ids: readonly string[]): ((id: string) => Cell) => idCells(ids, MIN_DELIVERY_DIGITS);

/** Cells with ids: their first 8 digits, or as many as are needed to distinguish the ids in the listing. */
export function idCells(ids: readonly string[], minDigits = MIN_DIGITS): (id: string) => Cell {
  const all = [...new Set(ids)];
  const longest = Math.max(minDigits, ...all.map((id) => id.length));
  let digits = minDigits;
  while (digits < longest && new Set(all.map((id) => id.slice(0, digits))).size < all.length) digits += 1;
  return (id) => ({ exact: id, brief: id.slice(0, digits) });
}

/** A cell with an instant (epoch ms): in UTC to the second; for people `3 min ago` or local time. */
export const instantCell = (at: number, times: LocalTimes): Cell => ({
  exact: formatInstant(at),
  brief: times.relative(at),
});

/** UTC, to the second. */
const formatInstant = (at: number): string => `${new Date(at).toISOString().slice(0, 19)}Z`;

/** A cell with a state: `partly_delivered`; for people `partly delivered`. */
export const stateCell = (state: string): Cell => ({ exact: state, brief: state.replaceAll('_', ' ') });
