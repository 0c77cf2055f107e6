import type { LocalTimes } from '../local-times.ts';

/** A cell of a table that a terminal shows in fewer characters than a pipe, a file and `--wide`. */
export interface Cell {
  /** The complete value, for programs. */
  readonly exact: string;
  /** For people. */
  readonly brief: string;
}

const MIN_DIGITS = 8;
/** A delivery's id begins with 16 digits of its run's, which deliveries that are not listed share, e.g. a notice. */
const MIN_DELIVERY_DIGITS = 20;

/** Cells of ids of deliveries. */
export const deliveryIdCells = (ids: readonly string[]): ((id: string) => Cell) => idCells(ids, MIN_DELIVERY_DIGITS);

/** Cells of ids: their first 8 digits, or as many as tell those of the listing apart. */
export function idCells(ids: readonly string[], minDigits = MIN_DIGITS): (id: string) => Cell {
  const all = [...new Set(ids)];
  const longest = Math.max(minDigits, ...all.map((id) => id.length));
  let digits = minDigits;
  while (digits < longest && new Set(all.map((id) => id.slice(0, digits))).size < all.length) digits += 1;
  return (id) => ({ exact: id, brief: id.slice(0, digits) });
}

/** A cell of an instant, epoch ms: UTC to the second; for people, `3 min ago` or local time. */
export const instantCell = (at: number, times: LocalTimes): Cell => ({
  exact: formatInstant(at),
  brief: times.relative(at),
});

/** UTC, to the second. */
const formatInstant = (at: number): string => `${new Date(at).toISOString().slice(0, 19)}Z`;

/** A cell of a state: `partly_delivered`; for people, `partly delivered`. */
export const stateCell = (state: string): Cell => ({ exact: state, brief: state.replaceAll('_', ' ') });
