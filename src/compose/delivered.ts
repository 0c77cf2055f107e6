import { toDocketError } from '../base/error.ts';
import type { Log } from '../base/log.ts';
import type { Scope } from '../base/scope.ts';
import { type FindArchivedRuns, findArchivedRuns } from '../deliver/archived-deliveries.ts';
import { findLedgerRuns } from '../deliver/file-ledger.ts';
import type { Ledger } from '../deliver/ledger.ts';
import type { ArchiveStorage, RunRef } from '../deliver/shelf.ts';
import {
  type FindEarlierDelivery,
  findDeliveredInRecords,
  firstFound,
  summarizeDeliveries,
} from '../queue/already-delivered.ts';
import type { RunStore } from '../run/record.ts';
import { openArchive } from './archive.ts';
import type { AppContext } from './ports.ts';

/**
 * Finds what was delivered already: as Redis knows it and, where that knows of nothing, the archive. So a Redis that was emptied,
 * or has let a record expire, does not make anybody receive a report twice. Undefined where `DOCKET_REPEAT=allow` says that
 * nobody is asked. Asks nothing yet; the scope closes the archive.
 */
export function composeFindDelivered(
  around: AppContext,
  ports: { readonly runs: Pick<RunStore, 'list'>; readonly ledger: Pick<Ledger, 'list'> },
  scope: Scope,
): FindEarlierDelivery | undefined {
  if (around.config.DOCKET_REPEAT === 'allow') return undefined;
  return firstFound([
    findDeliveredInRecords(ports),
    findDeliveredInArchive(openArchive(around, scope).storage, around.log),
  ]);
}

/** By the runs in the archive, and by the ledgers there of runs without Redis. */
export function findDeliveredInArchive(
  shelf: Pick<ArchiveStorage, 'listRuns' | 'metadata' | 'location'>,
  log: Log,
): FindEarlierDelivery {
  const unreadable = ({ id: run, org, report }: RunRef, thrown: unknown): void => {
    const error = toDocketError(thrown).toJSON();
    log.warn('What the archive knows of a run could not be read', { run, org, report, error });
  };
  return firstFound([
    findDeliveredIn(findLedgerRuns(shelf, unreadable)),
    findDeliveredIn(findArchivedRuns(shelf, unreadable)),
  ]);
}

const findDeliveredIn =
  (runsOf: FindArchivedRuns): FindEarlierDelivery =>
  async (asked) => {
    for await (const { run, deliveries } of runsOf(asked)) {
      const found = run === asked.id ? undefined : summarizeDeliveries(run, asked.period, deliveries);
      if (found !== undefined) return found;
    }
    return undefined;
  };
