import type { Clock } from '../../base/clock.ts';
import { isRedisOutage, toDocketError } from '../../base/error.ts';
import type { Log } from '../../base/log.ts';
import type { Archive } from '../../deliver/archive/archive.ts';
import type { ArchiveStorage, RunRef } from '../../deliver/archive/storage/archive-storage.ts';
import { type DeliveryRow, hashTagOfDelivery, hashTagOfRun, type Ledger } from '../../deliver/ledger/ledger.ts';
import { recoverRows } from '../../deliver/ledger/ledger-recovery.ts';
import { listExpiredUnknown, removeExpiredUnknown } from '../../deliver/ledger/unknown-set.ts';
import type { DefinitionStore } from '../../queue/definitions/definition-store.ts';
import type { RedisRunStore } from '../../queue/runs/run-store.ts';
import type { RedisClient } from '../../redis/client.ts';
import { type RunStore, TERMINAL_STATES } from '../../run/run-record.ts';

/** Rows that wait for a decision, read at once. */
const BATCH_SIZE = 500;

export interface TouchUndecidedPorts {
  readonly runs: Pick<RedisRunStore, 'get' | 'update'>;
  readonly definitions: Pick<DefinitionStore, 'touch'>;
  readonly ledger: Pick<Ledger, 'listUnknown' | 'open'>;
  readonly log: Log;
}

/**
 * Keeps what a decision needs for as long as one is waited for: the rows, also those that an older version has left to
 * expire, the record of their run and the version of its definition. Call it now and then; each of them outlives some
 * weeks without a call.
 */
export async function touchUndecided({ runs, definitions, ledger, log }: TouchUndecidedPorts): Promise<void> {
  const seen = new Set<string>();
  let last: DeliveryRow | undefined;
  for (let more = true; more; ) {
    const rows = await ledger.listUnknown(BATCH_SIZE, last);
    for (const { id, run, org, report, target, recipient, state, epoch, detail, at } of rows) {
      await ledger.open({ id, run, org, report, target, recipient }, at, { state, epoch, detail });
      if (seen.has(run)) continue;
      seen.add(run);
      try {
        const record = await runs.get(run);
        if (record === undefined) continue;
        await runs.update(run, {});
        await definitions.touch([record.digest]);
      } catch (thrown) {
        const error = toDocketError(thrown);
        if (isRedisOutage(error)) throw error;
        if (error.code === 'run.not_found') continue;
        log.error('The record of a run with an undecided delivery cannot be read', { run, error: error.toJSON() });
      }
    }
    last = rows.at(-1);
    more = rows.length === BATCH_SIZE;
  }
}

/**
 * Looks in the archive for deliveries whose rows an older version let expire while they waited for a decision, and takes
 * those that it does not have off the list. Those of runs that cannot be read stay on it.
 */
export async function recoverExpiredRows(redis: RedisClient, prefix: string, ports: RecoverRowsPorts): Promise<void> {
  const expired = await listExpiredUnknown(redis, prefix);
  if (expired.length === 0) return;
  const unread = await recoverRowsOf(expired, ports);
  for (const id of expired) if (!unread.has(hashTagOfDelivery(id))) await removeExpiredUnknown(redis, prefix, id);
}

export interface RecoverRowsPorts {
  readonly runs: Pick<RedisRunStore, 'get'>;
  readonly ledger: Ledger;
  readonly archive: Pick<Archive, 'peek' | 'getArchivedStates' | 'getReceipts'>;
  readonly storage: Pick<ArchiveStorage, 'listRuns'>;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Puts the rows of runs back that the ledger has lost, from the archive. Only the start of a run's id is known from a
 * delivery, so the archive of these organizations is listed. A run that is still going on is left alone: it recovers its
 * rows by itself. Returns the places in the ledger of runs that could not be read.
 */
export async function recoverRowsOf(
  deliveries: readonly string[],
  ports: RecoverRowsPorts,
  orgs: readonly string[] | '*' = '*',
): Promise<ReadonlySet<string>> {
  const { storage, log } = ports;
  const wanted = new Set(deliveries.map(hashTagOfDelivery));
  const unread = new Set<string>();
  for (const listing of orgs === '*' ? [storage.listRuns()] : orgs.map((org) => storage.listRuns(org))) {
    for await (const run of listing) {
      const place = hashTagOfRun(run.id);
      if (!wanted.has(place) || run.unpublishedAt !== undefined) continue;
      await recoverRun(run, ports).catch((thrown: unknown) => {
        const error = toDocketError(thrown);
        if (isRedisOutage(error) || error.code === 'archive.unreachable') throw error;
        // One run that cannot be read must not hold up the others.
        unread.add(place);
        log.error('The deliveries of an archived run cannot be read', { run: run.id, error: error.toJSON() });
      });
    }
  }
  return unread;
}

async function recoverRun(run: RunRef, { runs, ledger, archive, clock, log }: RecoverRowsPorts): Promise<void> {
  const record = await runs.get(run.id);
  if (record !== undefined && !TERMINAL_STATES.has(record.state)) return;
  const sealed = await archive.peek(run);
  if (sealed === undefined) return;
  const [archivedStates, receipts] = await Promise.all([
    archive.getArchivedStates(sealed),
    archive.getReceipts(sealed),
  ]);
  const rows = await recoverRows({ manifest: sealed.manifest, archivedStates, receipts }, ledger, clock);
  const { id, org, report } = run;
  const count = rows.length;
  log.info('Deliveries that the ledger had lost were put back from the archive', { run: id, org, report, count });
}

/** Whether the files of a run are still needed: until it has ended, and while it is held and a decision is pending. */
export const createNeededCheck =
  (runs: Pick<RunStore, 'get'>) =>
  async (id: string): Promise<boolean> => {
    const record = await runs.get(id);
    return record !== undefined && (record.state === 'held' || !TERMINAL_STATES.has(record.state));
  };
