import { isRedisOutage, toDocketError } from '../../base/error.ts';
import type { RunRef } from '../../deliver/archive/storage/archive-storage.ts';
import { type DeliveryRow, hashTagOfDelivery, hashTagOfRun } from '../../deliver/ledger/ledger.ts';
import { recoverRows } from '../../deliver/ledger/ledger-recovery.ts';
import { listExpiredUnknown, removeExpiredUnknown } from '../../deliver/ledger/unknown-set.ts';
import { type RunStore, TERMINAL_STATES, WAITING_STATES } from '../../run/run-record.ts';
import type { Deployment } from '../deployment/deployment.ts';

/** Undecided rows per read. */
const BATCH_SIZE = 500;

/**
 * Extends the retention of what pending decisions need: the rows (older versions let them expire), the records of their
 * runs, and the definitions. Run it periodically; the retention spans several weeks without a call.
 */
export async function touchUndecided({ runs, definitions, ledger, log }: Deployment): Promise<void> {
  const seen = new Set<string>();
  let last: DeliveryRow | undefined;
  for (let more = true; more; ) {
    const rows = await ledger.listUnknown(BATCH_SIZE, last);
    for (const row of rows) {
      const { run, state, epoch, detail, at } = row;
      await ledger.open(row, at, { state, epoch, detail });
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
        log.error('Record of a run with an undecided delivery is unreadable', { run, error: error.toJSON() });
      }
    }
    last = rows.at(-1);
    more = rows.length === BATCH_SIZE;
  }
}

/**
 * Restores undecided rows from the archive that an older version let expire. Rows that the archive does not have are
 * removed from the list of undecided deliveries; rows of unreadable runs stay.
 */
export async function recoverExpiredRows(deployment: Deployment): Promise<void> {
  const { redis } = deployment;
  const prefix = `${deployment.prefix}:`;
  const expired = await listExpiredUnknown(redis, prefix);
  if (expired.length === 0) return;
  const unreadable = await recoverDeliveryRows(expired, deployment);
  for (const id of expired) if (!unreadable.has(hashTagOfDelivery(id))) await removeExpiredUnknown(redis, prefix, id);
}

/**
 * Restores ledger rows from the archive. A delivery id contains only the start of its run's id, so these organizations'
 * archives are listed. Skips runs that have not ended, which restore their rows themselves.
 *
 * @returns the ledger keys of unreadable runs
 */
export async function recoverDeliveryRows(
  deliveries: readonly string[],
  deployment: Deployment,
  orgs: readonly string[] | '*' = '*',
): Promise<ReadonlySet<string>> {
  const { storage, log } = deployment;
  const wanted = new Set(deliveries.map(hashTagOfDelivery));
  const unreadable = new Set<string>();
  for (const listing of orgs === '*' ? [storage.listRuns()] : orgs.map((org) => storage.listRuns(org))) {
    for await (const run of listing) {
      const ledgerKey = hashTagOfRun(run.id);
      if (!wanted.has(ledgerKey) || run.unpublishedAt !== undefined) continue;
      await recoverRun(run, deployment).catch((thrown: unknown) => {
        const error = toDocketError(thrown);
        if (isRedisOutage(error) || error.code === 'archive.unreachable') throw error;
        // An unreadable run must not block the others.
        unreadable.add(ledgerKey);
        log.error('Deliveries of an archived run are unreadable', { run: run.id, error: error.toJSON() });
      });
    }
  }
  return unreadable;
}

async function recoverRun(run: RunRef, { runs, ledger, archive, clock, log }: Deployment): Promise<void> {
  const record = await runs.get(run.id);
  if (record !== undefined && !TERMINAL_STATES.has(record.state)) return;
  const published = await archive.peek(run);
  if (published === undefined) return;
  const [archivedStates, receipts] = await Promise.all([
    archive.getArchivedStates(published),
    archive.getReceipts(published),
  ]);
  const rows = await recoverRows({ manifest: published.manifest, archivedStates, receipts }, ledger, clock);
  const { id, org, report } = run;
  const count = rows.length;
  log.info('Lost ledger rows restored from the archive', { run: id, org, report, count });
}

/** Whether a run's files are still needed: until it has ended, and while it waits for a person's decision. */
export const createNeededCheck =
  (runs: RunStore) =>
  async (id: string): Promise<boolean> => {
    const record = await runs.get(id);
    return record !== undefined && (WAITING_STATES.has(record.state) || !TERMINAL_STATES.has(record.state));
  };
