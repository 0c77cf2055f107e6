import type { Clock } from '../base/clock.ts';
import { toDocketError } from '../base/error.ts';
import type { Log } from '../base/log.ts';
import type { RedisClient } from '../base/redis-client.ts';
import type { Archive } from '../deliver/archive.ts';
import { rowsAtEnd } from '../deliver/attempt.ts';
import type { Ledger } from '../deliver/ledger.ts';
import type { RunPosition, RunRecord, RunState, RunStore } from '../run/record.ts';

/** What Redis may lose of what it acknowledged is seconds old; runs that ended before have nothing that it could. */
const RECENT_MS = 15 * 60_000;
const ENDS: readonly RunState[] = ['done', 'partly_delivered', 'failed'];
/** Records that are read at once. */
const BATCH_SIZE = 1_000;

/**
 * Lets the ledger catch up with the archive for runs that ended of late. A worker outlives a Redis that comes back
 * without its last writes, and may then put an end to a run whose deliveries the ledger has forgotten: no further try
 * would look at them.
 */
export async function settleForgotten(ports: {
  readonly runs: Pick<RunStore, 'list'>;
  readonly archive: Pick<Archive, 'peek' | 'evidence'>;
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly log: Log;
  readonly batchSize?: number;
}): Promise<void> {
  const { runs, archive, ledger, clock, log, batchSize = BATCH_SIZE } = ports;
  const since = clock.now() - RECENT_MS;
  for await (const record of endedRuns(runs, batchSize)) {
    if (record.finishedAt === null || record.finishedAt < since || !record.deliver) continue;
    try {
      const sealed = await archive.peek(record);
      if (sealed !== undefined) await rowsAtEnd(record.id, await archive.evidence(sealed), ledger, clock);
    } catch (thrown) {
      const { id: run, org, report } = record;
      log.warn('What the archive knows of a run could not be read', {
        run,
        org,
        report,
        error: toDocketError(thrown).toJSON(),
      });
    }
  }
}

/** All of them: one that was opened long ago may have ended a moment ago. */
async function* endedRuns(runs: Pick<RunStore, 'list'>, batchSize: number): AsyncGenerator<RunRecord> {
  let after: RunPosition | undefined;
  for (let more = true; more; ) {
    const batch = await runs.list({ states: ENDS, limit: batchSize, ...(after === undefined ? {} : { after }) });
    yield* batch;
    after = batch.at(-1);
    more = batch.length === batchSize;
  }
}

/** A step of the reconciler that is taken after each time at which Redis was away, and not otherwise. */
export function afterEachAbsence(redis: RedisClient, step: () => Promise<void>): () => Promise<void> {
  let away = false;
  const wentAway = () => {
    away = true;
  };
  redis.on('close', wentAway);
  // Of a Cluster: one of its nodes.
  redis.on('-node', wentAway);
  return async () => {
    if (!away) return;
    away = false;
    try {
      await step();
    } catch (thrown) {
      away = true;
      throw thrown;
    }
  };
}
