import { toDiskError } from '../../base/files/disk-error.ts';
import type { Artifact, RunMail } from '../../render/artifact.ts';
import type { ArchivedState, DeliveryRow, Receipt, Resolution } from '../ledger/ledger.ts';
import type { AttemptRecord, Release } from './attempt-log.ts';
import type { Manifest } from './manifest.ts';
import type { RunRef, SharedLink } from './storage/archive-storage.ts';

export type { Manifest } from './manifest.ts';

/** A published run, with everything that deliveries need, so that a retry neither fetches nor renders again. */
export interface PublishedRun {
  /** Absolute path of a local folder with the files: the archive's own, or a copy that `discardCheckout` removes. */
  readonly folder: string;
  readonly manifest: Manifest;
  readonly artifacts: readonly Artifact[];
  readonly mail: RunMail;
}

/** The archive's record of a person's decision on a delivery. It counts like the result of an attempt. */
export const attemptFromDecision = (row: DeliveryRow, decision: Resolution): AttemptRecord => ({
  delivery: row.id,
  target: row.target,
  epoch: row.epoch,
  state: row.state,
  detail: row.detail,
  at: decision.at,
  decision,
  ...(row.added && row.epoch === 0 && { recipient: row.recipient }),
});

/** The part of a published run that the archive needs for its metadata files. */
export type PublishedManifest = Pick<PublishedRun, 'manifest'>;

/** Stores runs with the exact bytes that were sent. A run is visible as a whole or not at all. */
export interface Archive {
  /** Creates a private, empty local folder for the files of a run. */
  stage(run: string): Promise<string>;
  /** Publishes the staged folder with its manifest in one step. If the run is already published, returns that run. */
  publish(staged: string, manifest: Manifest, artifacts: readonly Artifact[], mail: RunMail): Promise<PublishedRun>;
  /**
   * The published run, after comparing each file with the manifest's hashes. Undefined when it is not published. Throws
   * `archive.corrupt` when a file is missing or changed; nothing of the run may be sent then.
   */
  find(run: RunRef): Promise<PublishedRun | undefined>;
  /** The manifest of a published run, without reading its files. Throws `archive.corrupt`. */
  peek(run: RunRef): Promise<PublishedManifest | undefined>;
  /** Removes the local copy that a result of `publish` or `find` may have. */
  discardCheckout(published: Pick<PublishedRun, 'folder'>): Promise<void>;
  /**
   * Stores the exact message (an e-mail, or the body of a webhook) and its hash, before the message is sent. The file
   * name contains the hash, so a later attempt with other bytes never overwrites a message that was sent. Returns its
   * SHA-256, hex.
   */
  putMessage(
    published: PublishedManifest,
    delivery: string,
    message: Uint8Array,
    kind?: 'eml' | 'json',
  ): Promise<string>;
  /**
   * The message of the delivery's last attempt; undefined if no attempt had one. Throws `archive.corrupt` when the file
   * is missing or its hash differs.
   */
  getMessage(published: PublishedManifest, delivery: string, kind?: 'eml' | 'json'): Promise<Uint8Array | undefined>;
  /** Replaces `receipts.json`. */
  putReceipts(published: PublishedManifest, receipts: readonly Receipt[]): Promise<void>;
  /** Reads `receipts.json`; empty before the first delivery. */
  getReceipts(published: PublishedManifest): Promise<readonly Receipt[]>;
  /** Records the start or the result of an attempt. Keeps records of other epochs. */
  putAttempt(published: PublishedManifest, attempt: AttemptRecord): Promise<void>;
  /** The state of each delivery by id, for a ledger that was lost or rolled back. */
  getArchivedStates(published: PublishedManifest): Promise<ReadonlyMap<string, ArchivedState>>;
  putRelease(published: PublishedManifest, release: Release): Promise<void>;
  /** Removes a staged folder; harmless when it is gone. */
  discard(staged: string): Promise<void>;
  /**
   * A link to a file that opens without a login for at least a day. The link is stable within a day, so that a retry
   * sends the same bytes. Undefined when no link can be made; absent in an archive that never has links.
   */
  readonly link?: (published: PublishedManifest, name: string) => Promise<SharedLink | undefined>;
}

/**
 * Runs `work` in a private folder of the run. The folder is deleted afterwards, unless it was published. Throws
 * `disk.unavailable`.
 */
export async function inStagedFolder<T>(
  { id }: Pick<RunRef, 'id'>,
  { archive }: { readonly archive: Archive },
  work: (folder: string) => Promise<T>,
): Promise<T> {
  const folder = await archive.stage(id);
  try {
    return await work(folder);
  } catch (thrown) {
    throw await toDiskError(thrown, folder);
  } finally {
    await archive.discard(folder);
  }
}
