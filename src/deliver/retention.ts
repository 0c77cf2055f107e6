import type { Clock } from '../base/clock.ts';
import { DocketError, toDocketError } from '../base/error.ts';
import type { Log } from '../base/log.ts';
import type { ChainedRuns } from './chained-runs.ts';
import { sweepLedgers } from './file-ledger.ts';
import { readEvidence, readReceipts } from './kept-attempts.ts';
import type { Ledger } from './ledger.ts';
import { recoverRows } from './ledger-recovery.ts';
import { readManifest } from './run-papers.ts';
import type { Shelf, Shelved } from './shelf.ts';
import { ABANDONED_MS } from './staging.ts';

const DAY_MS = 86_400_000;
/** When the archive was swept last: in the archive itself, so that all who share it sweep it once a day together. */
export const SWEPT = '.swept';

export interface RetentionPorts {
  readonly shelf: Shelf;
  /** Where everything is signed: what leaves is entered first. */
  readonly signing?: Pick<ChainedRuns, 'complete' | 'isKept' | 'removed' | 'checkpoint'> | undefined;
  /** Days for which an organization's runs are kept; undefined: for ever. */
  readonly daysOf: (org: string) => number | undefined;
  readonly ledger: Ledger;
  /** Whether a run has not ended, or waits for a decision about the whole of it. */
  readonly open: (run: string) => Promise<boolean>;
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
export async function sweepArchive(ports: RetentionPorts): Promise<number | undefined> {
  const { shelf, signing, clock, log, signal } = ports;
  const last = Number((await shelf.notes.read(SWEPT)) ?? 0);
  const now = clock.now();
  // A mark of the future was written by a clock that was wrong.
  if (last <= now && now - last < DAY_MS) return undefined;
  let removed = 0;
  for await (const run of shelf.runs()) {
    if (signal.aborted) return removed;
    const of = { run: run.id, org: run.org, report: run.report };
    try {
      if (run.halfMadeAt !== undefined) {
        if (now - run.halfMadeAt > ABANDONED_MS && !(await ports.open(run.id))) await shelf.remove(run);
        continue;
      }
      await completeYoung(run, ports, now);
      const days = ports.daysOf(run.org);
      // Where listing tells when a run was sealed, the young ones are not opened.
      const young = days !== undefined && run.sealedAt !== undefined && now - run.sealedAt <= days * DAY_MS;
      const madeAt = days === undefined || young ? undefined : await ageOf(run);
      if (days === undefined || madeAt === undefined || now - madeAt <= days * DAY_MS) continue;
      if (await waits(run, ports)) {
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
  await sweepLedgers(shelf, keptSince, (path, thrown) => {
    log.error('A ledger could not be removed from the archive', { path, error: toDocketError(thrown).toJSON() });
  });
  for (const org of signing === undefined ? [] : await shelf.orgs()) await signCheckpoint(org, ports);
  await shelf.notes.put(SWEPT, String(now));
  return removed;
}

/** Runs this young may have been left amid it by a process that died. */
const YOUNG_MS = 3 * DAY_MS;

async function completeYoung(run: Shelved, { signing, log }: RetentionPorts, now: number): Promise<void> {
  if (signing === undefined) return;
  const of = { run: run.id, org: run.org, report: run.report };
  try {
    const at = run.sealedAt ?? (await ageOf(run));
    if (at === undefined || now - at > YOUNG_MS) return;
    const count = await signing.complete(run);
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
  run: Shelved,
  why: string,
  { shelf, signing, clock }: RetentionPorts,
): Promise<{ readonly removed: boolean } | { readonly lock: string }> {
  const lock = await shelf.locked?.(run, clock.now());
  if (lock !== undefined) return { lock };
  let entered = false;
  const leaving = async (): Promise<void> => {
    await signing?.removed(run, 'removed', why);
    entered = true;
  };
  // A store that has refused may refuse each day: nothing is entered until it has let a file go.
  const refused = shelf.locked !== undefined && (await signing?.isKept(run)) === true;
  if (!refused) await leaving();
  try {
    return { removed: await shelf.remove(run, refused ? leaving : undefined) };
  } catch (thrown) {
    if (!(thrown instanceof DocketError && thrown.code === 'archive.locked')) throw thrown;
    if (entered) await signing?.removed(run, 'kept', thrown.message);
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
async function ageOf({ box }: Shelved): Promise<number | undefined> {
  const manifest = await readManifest(box);
  const at = manifest === undefined ? Number.NaN : Date.parse(manifest.made_at);
  return Number.isNaN(at) ? undefined : at;
}

async function waits({ id, box }: Shelved, { ledger, open, clock }: RetentionPorts): Promise<boolean> {
  if (await open(id)) return true;
  const rows = await ledger.list(id);
  const known = new Map(rows.map(({ id: delivery, state }) => [delivery, state]));
  if (rows.some(({ state }) => state === 'unknown' || state === 'sending')) return true;
  // What the ledger has forgotten, the archive may still know to be open.
  const evidence = await readEvidence(box);
  const lost = [...evidence].some(
    ([delivery, { state }]) => (state === 'unknown' || state === 'sending') && !known.has(delivery),
  );
  const manifest = lost ? await readManifest(box) : undefined;
  if (manifest !== undefined) {
    await recoverRows({ manifest, evidence, receipts: await readReceipts(box) }, ledger, clock);
  }
  return lost;
}
