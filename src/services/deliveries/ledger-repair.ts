import { toDocketError } from '../../base/error.ts';
import { MINUTE_MS } from '../../base/time.ts';
import type { RunRef } from '../../deliver/archive/storage/archive-storage.ts';
import { reconcileRun } from '../../deliver/attempt.ts';
import type { DeliveryRow, Receipt } from '../../deliver/ledger/ledger.ts';
import type { RedisClient } from '../../redis/client.ts';
import type { RunCursor, RunRecord, RunState, RunStore } from '../../run/run-record.ts';
import type { Deployment } from '../deployment/deployment.ts';

/** A restarted Redis loses the last seconds of acknowledged writes. Runs that ended earlier are complete. */
const MAX_RUN_AGE_MS = 15 * MINUTE_MS;
const ENDED_WITH_FILES: readonly RunState[] = ['done', 'partly_delivered', 'failed'];
/** Records per read. */
const BATCH_SIZE = 1_000;

/** Updates a run's ledger rows from the archive, and returns them. */
export async function reconcileWithArchive(
  run: RunRef,
  { archive, ledger, clock }: Deployment,
): Promise<readonly DeliveryRow[]> {
  const published = await archive.peek(run);
  const archivedStates = published === undefined ? new Map() : await archive.getArchivedStates(published);
  return reconcileRun(run.id, archivedStates, ledger, clock);
}

/**
 * Reconciles the ledger with the archive for recently ended runs. A worker survives a Redis that returns without its
 * last writes. It may then end a run whose deliveries the ledger has lost, and no further attempt would check them. The
 * receipts of such a run repeat what the ledger said, so they are corrected too.
 */
export async function repairLedger(
  { runs, archive, ledger, clock, log }: Deployment,
  batchSize = BATCH_SIZE,
): Promise<void> {
  const since = clock.now() - MAX_RUN_AGE_MS;
  for await (const record of listEndedRuns(runs, batchSize)) {
    if (record.finishedAt === null || record.finishedAt < since || !record.deliver) continue;
    try {
      const published = await archive.peek(record);
      if (published === undefined) continue;
      const rows = await reconcileRun(record.id, await archive.getArchivedStates(published), ledger, clock);
      const receipts = await archive.getReceipts(published);
      const corrected = correctOpen(receipts, rows);
      if (corrected.some((receipt, index) => receipt !== receipts[index])) {
        await archive.putReceipts(published, corrected);
      }
    } catch (thrown) {
      const { id: run, org, report } = record;
      const error = toDocketError(thrown).toJSON();
      log.warn('Archived states of a run could not be read', { run, org, report, error });
    }
  }
}

/** Updates receipts from the ledger, for deliveries that were in progress when the receipts were written. */
function correctOpen(receipts: readonly Receipt[], rows: readonly DeliveryRow[]): readonly Receipt[] {
  const byId = new Map(rows.map((row) => [row.id, row]));
  return receipts.map((receipt) => {
    const row = byId.get(receipt.delivery);
    const open = receipt.state === 'sending' || receipt.state === 'pending';
    if (!open || row === undefined || row.state === receipt.state) return receipt;
    return { ...receipt, state: row.state, detail: row.detail };
  });
}

/** All ended runs, because a run that was opened long ago may have just ended. */
async function* listEndedRuns(runs: RunStore, batchSize: number): AsyncGenerator<RunRecord> {
  let after: RunCursor | undefined;
  for (let more = true; more; ) {
    const batch = await runs.list({ states: ENDED_WITH_FILES, limit: batchSize, ...(after && { after }) });
    yield* batch;
    after = batch.at(-1);
    more = batch.length === batchSize;
  }
}

/** A periodic task that runs `step` only after Redis was disconnected, and repeats it until it succeeds. */
export function onReconnect(redis: RedisClient, step: () => Promise<void>): () => Promise<void> {
  let disconnected = false;
  const onDisconnect = () => {
    disconnected = true;
  };
  redis.on('close', onDisconnect);
  // A node of a Cluster disconnected.
  redis.on('-node', onDisconnect);
  return async () => {
    if (!disconnected) return;
    disconnected = false;
    try {
      await step();
    } catch (thrown) {
      disconnected = true;
      throw thrown;
    }
  };
}
