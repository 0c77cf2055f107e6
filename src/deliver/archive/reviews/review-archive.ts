import type { RunRef } from '../storage/archive-storage.ts';

/** Folder in the archive: `<org>/<report>/<run>/` with `events/`, `figures/` and `content/`; `open/<run>.json` beside. */
export const REVIEWS_FOLDER = '.reviews';

/**
 * The reviews of an archive: what is frozen, what happened, and what people looked at. Files are written once. Generic over
 * the events, whose schema is a matter of `run/review`.
 *
 * Throws `archive.unwritable`, `archive.unreachable`, `archive.corrupt`.
 */
export interface ReviewArchive<Event> {
  /**
   * Throws `archive.unconditional` where the store would lose one of two events that are appended at once, and
   * `archive.key_unknown` where the reviews of the organization are signed and this process has no key.
   */
  assertUsable(run: RunRef): Promise<void>;
  /** All events of a run, in order; empty where the run has no review. */
  events(run: RunRef): Promise<readonly Event[]>;
  /**
   * Appends an event under number `seq`, the last number + 1. Atomic: of several processes one succeeds.
   * Where events are signed it may get a higher number.
   * @returns false when another event has this number; read the events again and decide again
   */
  append(run: RunRef, seq: number, event: Event): Promise<boolean>;
  /** Stores a file of the run's review, once; `name` has `/`, e.g. `figures/<sha256>/dataset.json`. */
  put(run: RunRef, name: string, bytes: string | Uint8Array): Promise<void>;
  get(run: RunRef, name: string): Promise<Buffer | undefined>;
  /** Names of the files of the run's review below a folder, sorted. */
  list(run: RunRef, folder: string): Promise<readonly string[]>;
  /** Marks the review as open, with what opens its record again after Redis was lost; before the first event. */
  open(run: RunRef, order: string): Promise<void>;
  /** The open reviews with what `open` stored. Few: a listing of one folder. Throws after the others for an unreadable one. */
  listOpen(): AsyncIterable<{ readonly run: RunRef; readonly order: string }>;
  /** Marks a review whose events are signed, so that a version that does not verify them refuses it. @param at epoch ms */
  markSigned(run: RunRef, at: number): Promise<void>;
  /** The review has ended: its run is published, rejected or cancelled. */
  close(run: RunRef): Promise<void>;
}
