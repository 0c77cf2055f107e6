import type { Clock } from '../../base/clock.ts';
import { DocketError, toDocketError } from '../../base/error.ts';
import type { Log } from '../../base/log.ts';
import type { RunChain } from './chain/run-chain.ts';
import { deleteExpiredLedgers } from '../ledger/file-ledger.ts';
import { readArchivedStates, readReceipts } from './attempt-log.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { recoverRows } from '../ledger/ledger-recovery.ts';
import { readManifest } from './run-metadata.ts';
import type { ArchiveStorage, StoredRun } from './storage/archive-storage.ts';
import { ABANDONED_AFTER_MS } from './staging.ts';

const DAY_MS = 86_400_000;
/** When the archive was swept last: in the archive itself, so that all who share it sweep it once a day together. */
export const LAST_SWEEP_FILE = '.swept';

export interface RetentionPorts {
  readonly storage: ArchiveStorage;
  /** Where everything is signed: what leaves is entered first. */
  readonly signing?: Pick<RunChain, 'recordMissing' | 'isDeletionBlocked' | 'recordRemoval' | 'checkpoint'> | undefined;
  /** Days for which an organization's runs are kept; undefined: for ever. */
  readonly daysOf: (org: string) => number | undefined;
  readonly ledger: Ledger;
  /** Whether a run has not ended, or waits for a decision about the whole of it. */
  readonly isOpen: (run: string) => Promise<boolean>;
  readonly clock: Clock;
  readonly log: Log;
  /** Stops between two runs. */
  readonly signal: AbortSignal;
}

/**
 * Removes runs that are older than their organization keeps them, at most once a day. Never one that has not ended or
 * has a delivery of which nobody knows whether it arrived: its files are what the decision is about, and a ledger that
 * has lost that delivery gets it back, so that somebody can decide. Dying amid it is harmless, and so is doing it twice at once. Returns how many were removed; undefined when it was done today already.
 */
export async function applyRetention(ports: RetentionPorts): Promise<number | undefined> {
  const { storage, signing, clock, log, signal } = ports;
  const last = Number((await storage.metadata.get(LAST_SWEEP_FILE)) ?? 0);
  const now = clock.now();
  // A mark of the future was written by a clock that was wrong.
  if (last <= now && now - last < DAY_MS) return undefined;
  let removed = 0;
  for await (const run of storage.listRuns()) {
    if (signal.aborted) return removed;
    const of = { run: run.id, org: run.org, report: run.report };
    try {
      if (run.unpublishedAt !== undefined) {
        if (now - run.unpublishedAt > ABANDONED_AFTER_MS && !(await ports.isOpen(run.id))) await storage.delete(run);
        continue;
      }
      await completeRecent(run, ports, now);
      const days = ports.daysOf(run.org);
      // Where listing tells when a run was sealed, the young ones are not opened.
      const young = days !== undefined && run.publishedAt !== undefined && now - run.publishedAt <= days * DAY_MS;
      const madeAt = days === undefined || young ? undefined : await creationTime(run);
      if (days === undefined || madeAt === undefined || now - madeAt <= days * DAY_MS) continue;
      if (await needsDecision(run, ports)) {
        log.warn('A run is past its days in the archive, and stays: it waits for a decision', of);
        continue;
      }
      const why = `made ${iso(madeAt)}, kept for ${days} days`;
      const result = await removeUnlocked(run, why, ports);
      if ('lock' in result) {
        log.warn('A run is past its days in the archive, and stays: its store keeps it', { ...of, why: result.lock });
      }
      if (!('removed' in result) || !result.removed) continue;
      removed += 1;
      log.info('A run has left the archive', { ...of, why });
    } catch (thrown) {
      log.error('A run could not be removed from the archive', { ...of, error: toDocketError(thrown).toJSON() });
    }
  }
  const keptSince = (org: string): number | undefined => {
    const days = ports.daysOf(org);
    return days === undefined ? undefined : now - days * DAY_MS;
  };
  await deleteExpiredLedgers(storage, keptSince, (path, thrown) => {
    log.error('A ledger could not be removed from the archive', { path, error: toDocketError(thrown).toJSON() });
  });
  for (const org of signing === undefined ? [] : await storage.listOrgs()) await signCheckpoint(org, ports);
  await storage.metadata.put(LAST_SWEEP_FILE, String(now));
  return removed;
}

/** Runs this young may have been left amid it by a process that died. */
const COMPLETION_WINDOW_MS = 3 * DAY_MS;

async function completeRecent(run: StoredRun, { signing, log }: RetentionPorts, now: number): Promise<void> {
  if (signing === undefined) return;
  const of = { run: run.id, org: run.org, report: run.report };
  try {
    const at = run.publishedAt ?? (await creationTime(run));
    if (at === undefined || now - at > COMPLETION_WINDOW_MS) return;
    const count = await signing.recordMissing(run);
    if (count > 0) log.warn('Files of a run were signed later than they were written', { ...of, count });
  } catch (thrown) {
    log.error('A run could not be compared with the chain of the archive', {
      ...of,
      error: toDocketError(thrown).toJSON(),
    });
  }
}

/**
 * Takes a run away, and says so in the chain before it is out of sight: a run that is gone without a word was not removed
 * by retention.
 * @returns whether this process has removed it, or why its store keeps it
 */
async function removeUnlocked(
  run: StoredRun,
  why: string,
  { storage, signing, clock }: RetentionPorts,
): Promise<{ readonly removed: boolean } | { readonly lock: string }> {
  const lock = await storage.lockReason?.(run, clock.now());
  if (lock !== undefined) return { lock };
  let entered = false;
  const leaving = async (): Promise<void> => {
    await signing?.recordRemoval(run, 'removed', why);
    entered = true;
  };
  // A store that has refused may refuse each day: nothing is entered until it has let a file go.
  const refused = storage.lockReason !== undefined && (await signing?.isDeletionBlocked(run)) === true;
  if (!refused) await leaving();
  try {
    return { removed: await storage.delete(run, refused ? leaving : undefined) };
  } catch (thrown) {
    if (!(thrown instanceof DocketError && thrown.code === 'archive.locked')) throw thrown;
    if (entered) await signing?.recordRemoval(run, 'kept', thrown.message);
    return { lock: thrown.message };
  }
}

/** For whoever keeps the log elsewhere: what the archive alone says of its end proves nothing to who can write there. */
async function signCheckpoint(org: string, { signing, log }: RetentionPorts): Promise<void> {
  try {
    const signed = await signing?.checkpoint(org);
    if (signed === undefined) return;
    const { sequence: count, head: state } = signed.body;
    const event = 'archive.checkpoint';
    log.info('The chain of the archive was signed', { org, event, count, state, why: signed.text.trim() });
  } catch (thrown) {
    log.error('The chain of the archive could not be signed', { org, error: toDocketError(thrown).toJSON() });
  }
}

const iso = (at: number): string => new Date(at).toISOString();

/** Epoch ms at which the run was made; undefined for a folder without a manifest, which is left for a person to look at. */
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
  // What the ledger has forgotten, the archive may still know to be open.
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
