import { z } from 'zod';
import type { Clock } from '../../base/clock.ts';
import { DocketError, toDocketError } from '../../base/error.ts';
import type { Log } from '../../base/log.ts';
import { DAY_MS, isoInstant } from '../../base/time.ts';
import { deleteExpiredClaims } from '../claims/archive-claims.ts';
import { deleteExpiredLedgers } from '../ledger/archived-ledger.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { recoverRows } from '../ledger/ledger-recovery.ts';
import { readArchivedStates, readReceipts } from './attempt-log.ts';
import type { RunChain } from './chain/run-chain.ts';
import { CORRECTIONS_FOLDER, correctionArchive, correctionFolder } from './corrections/correction-archive.ts';
import type { EventSigning } from './events/event-signing.ts';
import { heldStorage, type IsHeld, type RetainedSince } from './held-storage.ts';
import { deleteExpiredReadings } from './readings/reading-archive.ts';
import { OPEN_FOLDER, reviewFolder } from './reviews/create-review-archive.ts';
import { REVIEWS_FOLDER } from './reviews/review-archive.ts';
import { parseMetadata, readManifest } from './run-folder/run-metadata.ts';
import { ABANDONED_AFTER_MS } from './run-folder/staging.ts';
import type { ArchiveStorage, RunRef, StoredRun } from './storage/archive-storage.ts';

/**
 * File with the time of the last retention, epoch ms. It lies in the archive itself, so that all processes sharing the
 * archive run retention once a day.
 */
export const LAST_SWEEP_FILE = '.swept';

export interface RetentionPorts {
  readonly storage: ArchiveStorage;
  /** Records each removal before it happens. Absent without a signing key. */
  readonly signing?: RunChain | undefined;
  /** Retention of an organization in days; undefined: no limit. */
  readonly daysOf: (org: string) => number | undefined;
  /** Absent if there are no legal holds. */
  readonly isHeld?: IsHeld | undefined;
  readonly ledger: Ledger;
  /** Whether a run has not ended, or waits for a decision. */
  readonly isOpen: (run: string) => Promise<boolean>;
  readonly clock: Clock;
  readonly log: Log;
  /** Stops retention between two runs. */
  readonly signal: AbortSignal;
}

/**
 * Deletes runs older than their organization's retention, at most once a day. Keeps a run that has not ended or has an
 * `unknown` delivery: the decision needs its files. If the ledger has lost such a delivery, restores it. Deletes
 * nothing of an organization under a legal hold. Safe to interrupt and to run in two processes at once.
 * @returns the number of deleted runs; undefined when retention has already run today
 */
export async function applyRetention(given: RetentionPorts): Promise<number | undefined> {
  const { isHeld = async () => false } = given;
  const ports = { ...given, storage: heldStorage(given.storage, isHeld) };
  const { storage, signing, clock, log, signal } = ports;
  const last = Number((await storage.metadata.get(LAST_SWEEP_FILE)) ?? 0);
  const now = clock.now();
  // A time in the future comes from a wrong clock: run anyway.
  if (last <= now && now - last < DAY_MS) return undefined;
  let removed = 0;
  for await (const run of storage.listRuns()) {
    if (signal.aborted) return removed;
    const fields = { run: run.id, org: run.org, report: run.report };
    try {
      if (run.unpublishedAt !== undefined) {
        const isAbandoned = now - run.unpublishedAt > ABANDONED_AFTER_MS && !(await ports.isOpen(run.id));
        if (isAbandoned && !(await isHeld(run.org))) await storage.delete(run);
        continue;
      }
      await completeRecent(run, ports, now);
      const days = ports.daysOf(run.org);
      // Does not read the manifest of a recent run if the listing shows its age.
      const isRecent = days !== undefined && run.publishedAt !== undefined && now - run.publishedAt <= days * DAY_MS;
      const madeAt = days === undefined || isRecent ? undefined : await creationTime(run);
      if (days === undefined || madeAt === undefined || now - madeAt <= days * DAY_MS) continue;
      if (await isHeld(run.org)) continue;
      if (await needsDecision(run, ports)) {
        log.warn('Expired run kept in the archive: it waits for a decision', fields);
        continue;
      }
      const why = `made ${isoInstant(madeAt)}, kept for ${days} days`;
      const result = await deleteUnlocked(run, why, ports);
      if ('lock' in result) {
        log.warn('Expired run kept in the archive: the store refuses to delete it', { ...fields, why: result.lock });
      }
      if (!('removed' in result) || !result.removed) continue;
      removed += 1;
      log.info('Archived run deleted', { ...fields, why });
    } catch (thrown) {
      log.error('Archived run could not be deleted', { ...fields, error: toDocketError(thrown).toJSON() });
    }
  }
  const retainedSince: RetainedSince = async (org) => {
    const days = ports.daysOf(org);
    return days === undefined || (await isHeld(org)) ? undefined : now - days * DAY_MS;
  };
  const logFailure = (message: string) => (path: string, thrown: unknown) => {
    log.error(message, { path, error: toDocketError(thrown).toJSON() });
  };
  const ledgerFailure = logFailure('Expired ledger could not be deleted from the archive');
  await deleteExpiredLedgers(storage, retainedSince, ledgerFailure);
  const claimFailure = logFailure('Expired claim could not be deleted from the archive');
  await deleteExpiredClaims(storage, retainedSince, claimFailure);
  const readingFailure = logFailure('Expired readings could not be deleted from the archive');
  await deleteExpiredReadings(storage, retainedSince, readingFailure);
  const reviewFailure = logFailure('Expired review could not be deleted from the archive');
  await deleteExpiredReviews(storage, retainedSince, reviewFailure, signing?.events);
  const correctionFailure = logFailure('Expired corrections could not be deleted from the archive');
  await deleteExpiredCorrections(storage, retainedSince, ports.isOpen, correctionFailure, signing?.events);
  for (const org of signing === undefined ? [] : await storage.listOrgs()) await signCheckpoint(org, ports);
  await storage.metadata.put(LAST_SWEEP_FILE, String(now));
  return removed;
}

/** Retention checks runs younger than this for files that a dead process did not record in the chain. */
const COMPLETION_WINDOW_MS = 3 * DAY_MS;

async function completeRecent(run: StoredRun, { signing, log }: RetentionPorts, now: number): Promise<void> {
  if (signing === undefined) return;
  const fields = { run: run.id, org: run.org, report: run.report };
  try {
    const at = run.publishedAt ?? (await creationTime(run));
    if (at === undefined || now - at > COMPLETION_WINDOW_MS) return;
    const count = await signing.recordMissing(run);
    if (count > 0) log.warn('Files of a run were signed later than they were written', { ...fields, count });
  } catch (thrown) {
    log.error('Run could not be compared with the chain of the archive', {
      ...fields,
      error: toDocketError(thrown).toJSON(),
    });
  }
}

/**
 * Deletes a run. Records the removal in the chain while the run is still listed: verification reports a run that is
 * missing without such an entry.
 * @returns whether this process deleted it, or why the store refuses
 */
async function deleteUnlocked(
  run: StoredRun,
  why: string,
  { storage, signing, clock }: RetentionPorts,
): Promise<{ readonly removed: boolean } | { readonly lock: string }> {
  const lock = await storage.lockReason?.(run, clock.now());
  if (lock !== undefined) return { lock };
  let recorded = false;
  const recordRemoval = async (): Promise<void> => {
    await signing?.recordRemoval(run, 'removed', why);
    recorded = true;
  };
  // After one refusal the store may refuse every day, so record the removal only once a file is deleted.
  const wasBlocked = storage.lockReason !== undefined && (await signing?.isDeletionBlocked(run)) === true;
  if (!wasBlocked) await recordRemoval();
  try {
    return { removed: await storage.delete(run, wasBlocked ? recordRemoval : undefined) };
  } catch (thrown) {
    if (!(thrown instanceof DocketError && thrown.code === 'archive.locked')) throw thrown;
    if (recorded) await signing?.recordRemoval(run, 'kept', thrown.message);
    return { lock: thrown.message };
  }
}

/** Signs a checkpoint and logs it: a copy outside the archive proves that nobody cut off the end of the chain. */
async function signCheckpoint(org: string, { signing, log }: RetentionPorts): Promise<void> {
  try {
    const signed = await signing?.checkpoint(org);
    if (signed === undefined) return;
    const { sequence: count, head: state } = signed.body;
    const event = 'archive.checkpoint';
    log.info('Checkpoint of the archive signed', { org, event, count, state, why: signed.text.trim() });
  } catch (thrown) {
    log.error('Checkpoint of the archive could not be signed', { org, error: toDocketError(thrown).toJSON() });
  }
}

/** Epoch ms; undefined for a folder without a manifest. Retention leaves that alone. */
async function creationTime({ files }: StoredRun): Promise<number | undefined> {
  const manifest = await readManifest(files);
  const at = manifest === undefined ? Number.NaN : Date.parse(manifest.made_at);
  return Number.isNaN(at) ? undefined : at;
}

async function needsDecision({ id, files }: StoredRun, { ledger, isOpen, clock }: RetentionPorts): Promise<boolean> {
  if (await isOpen(id)) return true;
  const rows = await ledger.list(id);
  const known = new Map(rows.map(({ id: delivery, state }) => [delivery, state]));
  if (rows.some(({ state }) => state === 'unknown' || state === 'sending')) return true;
  // The archive may know an open delivery that the ledger has lost.
  const archivedStates = await readArchivedStates(files);
  const lost = [...archivedStates].some(
    ([delivery, { state }]) => (state === 'unknown' || state === 'sending') && !known.has(delivery),
  );
  const manifest = lost ? await readManifest(files) : undefined;
  if (manifest !== undefined) {
    await recoverRows({ manifest, archivedStates, receipts: await readReceipts(files) }, ledger, clock);
  }
  return lost;
}

/**
 * Deletes figures and corrections of runs that are no longer in the archive, in organizations with a retention. Safe to
 * interrupt and to run in two processes at once.
 *
 * @param retainedSince epoch ms; undefined: no limit
 * @param isOpen whether a run has not ended: its figures are stored before it is published
 * @param signing records each deletion first
 * @returns the number of runs
 */
export async function deleteExpiredCorrections(
  storage: ArchiveStorage,
  retainedSince: RetainedSince,
  isOpen: (run: string) => Promise<boolean>,
  onFailure: (folder: string, error: unknown) => void,
  signing?: Pick<EventSigning, 'recordDeletion'>,
): Promise<number> {
  const corrections = correctionArchive(storage);
  let deleted = 0;
  for (const { run } of await corrections.list()) {
    if ((await retainedSince(run.org)) === undefined) continue;
    try {
      // Calls `isOpen` first: a run that is published between the two checks was still open then.
      if ((await isOpen(run.id)) || (await storage.runFiles(run).get('manifest.json')) !== undefined) continue;
      await signing?.recordDeletion(run.org, correctionFolder(run));
      await corrections.delete(run);
      deleted += 1;
    } catch (error) {
      onFailure(`${CORRECTIONS_FOLDER}/${run.org}/${run.report}/${run.id}`, error);
    }
  }
  return deleted;
}

/** `<org>/<report>/<run>/…`. Does not match the folder of open reviews, which begins with a dot. */
const REVIEW_FILE = /^([^/.][^/]*)\/([^/]+)\/([^/]+)\/(?:events\/(\d{6})\.json$)?/;

const eventSchema = z.object({ at: z.number() });

interface FoundReview {
  readonly run: RunRef;
  readonly lastEvent: number;
}

/**
 * Deletes reviews that ended longer ago than their organization's retention, once their run is no longer in the
 * archive. Safe to interrupt and to run in two processes at once.
 *
 * @param retainedSince epoch ms; undefined: no limit
 * @param signing records each deletion first
 * @returns the number of deleted reviews
 */
export async function deleteExpiredReviews(
  storage: ArchiveStorage,
  retainedSince: RetainedSince,
  onFailure: (folder: string, error: unknown) => void,
  signing?: Pick<EventSigning, 'recordDeletion'>,
): Promise<number> {
  const { metadata } = storage;
  const names = await metadata.list(REVIEWS_FOLDER);
  // Listed after the files: a review is marked as open before it has any other file.
  const open = new Set((await metadata.list(OPEN_FOLDER)).map((name) => name.slice(0, name.indexOf('/'))));
  let deleted = 0;
  for (const { run, lastEvent } of reviewsIn(names)) {
    const since = await retainedSince(run.org);
    if (since === undefined || open.has(run.id)) continue;
    const folder = reviewFolder(run);
    try {
      if ((await storage.runFiles(run).get('manifest.json')) !== undefined) continue;
      if (lastEvent > 0 && (await timeOf(folder, lastEvent, storage)) >= since) continue;
      await signing?.recordDeletion(run.org, folder);
      await metadata.deleteAll(folder);
      deleted += 1;
    } catch (error) {
      onFailure(folder, error);
    }
  }
  return deleted;
}

function reviewsIn(names: readonly string[]): Iterable<FoundReview> {
  const found = new Map<string, FoundReview>();
  for (const name of names) {
    const [, org, report, id, seq = '0'] = REVIEW_FILE.exec(name) ?? [];
    if (org === undefined || report === undefined || id === undefined) continue;
    const lastEvent = Math.max(Number(seq), found.get(id)?.lastEvent ?? 0);
    found.set(id, { run: { id, org, report }, lastEvent });
  }
  return found.values();
}

/** When an event happened, epoch ms. Throws `archive.corrupt`. */
async function timeOf(folder: string, seq: number, { metadata, location }: ArchiveStorage): Promise<number> {
  const name = `${folder}/events/${String(seq).padStart(6, '0')}.json`;
  const bytes = await metadata.get(name);
  // Another process is deleting it.
  return bytes === undefined ? 0 : parseMetadata(location, name, bytes, eventSchema).at;
}
