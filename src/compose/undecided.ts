import type { Clock } from '../base/clock.ts';
import { isRedisOutage, toDocketError } from '../base/error.ts';
import type { Log } from '../base/log.ts';
import type { RedisClient } from '../base/redis-client.ts';
import type { Archive } from '../deliver/archive.ts';
import { type DeliveryRow, type Ledger, placeOfDelivery, placeOfRun } from '../deliver/ledger.ts';
import { recoverRows } from '../deliver/ledger-recovery.ts';
import { expiredUnknown, forgetUnknown } from '../deliver/redis-ledger.ts';
import type { RunName, Shelf } from '../deliver/shelf.ts';
import type { DefinitionStore } from '../queue/definition-store.ts';
import type { RedisRunStore } from '../queue/run-store.ts';
import { ENDED } from '../run/record.ts';

/** Rows that wait for a decision, read at once. */
const BATCH_SIZE = 500;

export interface KeepingPorts {
  readonly runs: Pick<RedisRunStore, 'get' | 'update'>;
  readonly definitions: Pick<DefinitionStore, 'keep'>;
  readonly ledger: Pick<Ledger, 'unknown' | 'open'>;
  readonly log: Log;
}

/**
 * Keeps what a decision needs for as long as one is waited for: the rows, also those that an older version has left to
 * expire, the record of their run and the version of its definition. Call it now and then; each of them outlives some
 * weeks without a call.
 */
export async function keepUndecided({ runs, definitions, ledger, log }: KeepingPorts): Promise<void> {
  const seen = new Set<string>();
  let last: DeliveryRow | undefined;
  for (let more = true; more; ) {
    const rows = await ledger.unknown(BATCH_SIZE, last);
    for (const { id, run, org, report, target, recipient, state, epoch, detail, at } of rows) {
      await ledger.open({ id, run, org, report, target, recipient }, at, { state, epoch, detail });
      if (seen.has(run)) continue;
      seen.add(run);
      try {
        const record = await runs.get(run);
        if (record === undefined) continue;
        await runs.update(run, {});
        await definitions.keep([record.digest]);
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
export async function recoverExpired(redis: RedisClient, prefix: string, ports: RecoveryPorts): Promise<void> {
  const expired = await expiredUnknown(redis, prefix);
  if (expired.length === 0) return;
  const unread = await recoverUndecided(expired, ports);
  for (const id of expired) if (!unread.has(placeOfDelivery(id))) await forgetUnknown(redis, prefix, id);
}

export interface RecoveryPorts {
  readonly runs: Pick<RedisRunStore, 'get'>;
  readonly ledger: Ledger;
  readonly archive: Pick<Archive, 'peek' | 'evidence' | 'receipts'>;
  readonly shelf: Pick<Shelf, 'runs'>;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Puts the rows of runs back that the ledger has lost, from the archive. Only the start of a run's id is known from a
 * delivery, so the archive of these organizations is listed. A run that is still going on is left alone: it recovers its
 * rows by itself. Returns the places in the ledger of runs that could not be read.
 */
export async function recoverUndecided(
  deliveries: readonly string[],
  ports: RecoveryPorts,
  orgs: readonly string[] | '*' = '*',
): Promise<ReadonlySet<string>> {
  const { shelf, log } = ports;
  const wanted = new Set(deliveries.map(placeOfDelivery));
  const unread = new Set<string>();
  for (const listing of orgs === '*' ? [shelf.runs()] : orgs.map((org) => shelf.runs(org))) {
    for await (const run of listing) {
      const place = placeOfRun(run.id);
      if (!wanted.has(place) || run.halfMadeAt !== undefined) continue;
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

async function recoverRun(run: RunName, { runs, ledger, archive, clock, log }: RecoveryPorts): Promise<void> {
  const record = await runs.get(run.id);
  if (record !== undefined && !ENDED.has(record.state)) return;
  const sealed = await archive.peek(run);
  if (sealed === undefined) return;
  const [evidence, receipts] = await Promise.all([archive.evidence(sealed), archive.receipts(sealed)]);
  const rows = await recoverRows({ manifest: sealed.manifest, evidence, receipts }, ledger, clock);
  const { id, org, report } = run;
  const count = rows.length;
  log.info('Deliveries that the ledger had lost were put back from the archive', { run: id, org, report, count });
}
