import { toDocketError } from '../base/error.ts';
import type { Log } from '../base/log.ts';
import type { Scope } from '../base/scope.ts';
import { type ArchivedRuns, archivedRuns } from '../deliver/archived-deliveries.ts';
import { ledgerRuns } from '../deliver/file-ledger.ts';
import type { Ledger } from '../deliver/ledger.ts';
import type { RunName, Shelf } from '../deliver/shelf.ts';
import { countDelivered, deliveredByRecords, type FindDelivered, firstToKnow } from '../queue/already-delivered.ts';
import type { RunStore } from '../run/record.ts';
import { openArchive } from './archive.ts';
import type { Surroundings } from './ports.ts';

/**
 * Finds what was delivered already: as Redis knows it and, where that knows of nothing, the archive. So a Redis that was emptied,
 * or has let a record expire, does not make anybody receive a report twice. Undefined where `DOCKET_REPEAT=allow` says that
 * nobody is asked. Asks nothing yet; the scope closes the archive.
 */
export function findDelivered(
  around: Surroundings,
  ports: { readonly runs: Pick<RunStore, 'list'>; readonly ledger: Pick<Ledger, 'list'> },
  scope: Scope,
): FindDelivered | undefined {
  if (around.config.DOCKET_REPEAT === 'allow') return undefined;
  return firstToKnow([deliveredByRecords(ports), deliveredByArchive(openArchive(around, scope).shelf, around.log)]);
}

/** By the runs in the archive, and by the ledgers there of runs without Redis. */
export function deliveredByArchive(shelf: Pick<Shelf, 'runs' | 'notes' | 'place'>, log: Log): FindDelivered {
  const unreadable = ({ id: run, org, report }: RunName, thrown: unknown): void => {
    const error = toDocketError(thrown).toJSON();
    log.warn('What the archive knows of a run could not be read', { run, org, report, error });
  };
  return firstToKnow([deliveredIn(ledgerRuns(shelf, unreadable)), deliveredIn(archivedRuns(shelf, unreadable))]);
}

const deliveredIn =
  (runsOf: ArchivedRuns): FindDelivered =>
  async (asked) => {
    for await (const { run, deliveries } of runsOf(asked)) {
      const found = run === asked.id ? undefined : countDelivered(run, asked.period, deliveries);
      if (found !== undefined) return found;
    }
    return undefined;
  };
