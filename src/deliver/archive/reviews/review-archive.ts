import type { RunRef } from '../storage/archive-storage.ts';

/**
 * Folder in the archive: `<org>/<report>/<run>/` with `events/`, `figures/` and `content/`; beside it
 * `.open/<run>.json`.
 */
export const REVIEWS_FOLDER = '.reviews';

/**
 * Stores reviews: the frozen figures, the events, and the files that people looked at. Files are written once. Generic
 * over events, whose schema is in `run/review`.
 *
 * Throws `archive.unwritable`, `archive.unreachable`, `archive.corrupt`.
 */
export interface ReviewArchive<Event> {
  /**
   * Throws `archive.unconditional` if the store could lose one of two events appended at once, and
   * `archive.key_unknown` if the organization's reviews are signed and this process has no key.
   */
  assertUsable(run: RunRef): Promise<void>;
  /** All events of a run, in order; empty if the run has no review. */
  events(run: RunRef): Promise<readonly Event[]>;
  /**
   * Appends an event under number `seq`, the last number + 1. Atomic: only one of several processes succeeds. If events
   * are signed, it may get a higher number.
   * @returns false when another event has this number: read the events again and decide again
   */
  append(run: RunRef, seq: number, event: Event): Promise<boolean>;
  /** Stores a file of the run's review, once. `name` contains `/`, e.g. `figures/<sha256>/dataset.json`. */
  put(run: RunRef, name: string, bytes: string | Uint8Array): Promise<void>;
  get(run: RunRef, name: string): Promise<Buffer | undefined>;
  /** Names of the files of the run's review below a folder, sorted. */
  list(run: RunRef, folder: string): Promise<readonly string[]>;
  /**
   * Marks the review as open, and stores the order, which restores the run's record if Redis is lost. Call it before
   * the first event.
   */
  open(run: RunRef, order: string): Promise<void>;
  /**
   * The open reviews with the orders that `open` stored, from a listing of one small folder. If one is unreadable,
   * throws after yielding the others.
   */
  listOpen(): AsyncIterable<{ readonly run: RunRef; readonly order: string }>;
  /** Marks a review whose events are signed, so that versions that cannot verify them refuse it. @param at epoch ms */
  markSigned(run: RunRef, at: number): Promise<void>;
  /** Ends the review: its run is published, rejected or cancelled. */
  close(run: RunRef): Promise<void>;
}
