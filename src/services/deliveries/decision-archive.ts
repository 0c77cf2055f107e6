import type { Clock } from '../../base/clock.ts';
import { forEachWithConcurrency } from '../../base/concurrency.ts';
import type { Log } from '../../base/log.ts';
import { type Archive, attemptFromDecision } from '../../deliver/archive/archive.ts';
import type { ArchiveStorage } from '../../deliver/archive/storage/archive-storage.ts';
import type { DeliveryRow, Ledger, Resolution } from '../../deliver/ledger/ledger.ts';
import type { DefinitionStore } from '../../queue/definitions/definition-store.ts';
import type { RedisRunStore } from '../../queue/runs/run-store.ts';
import type { DecisionAuthor, RunOrder } from '../../run/run-record.ts';
import { findFrozenDefinition } from '../definitions/frozen-definition.ts';
import { recoverRowsOf } from './undecided-deliveries.ts';

/** Files that are written at the same time. */
const CONCURRENCY = 8;

/** What decisions read from the archive and record there. */
export interface DecisionArchive {
  /** Whether the files of the run are in the archive, unchanged. Throws `archive.corrupt`. */
  readonly isPublished: (order: RunOrder) => Promise<boolean>;
  /** Records decisions about deliveries of one run beside its files, if they are in the archive. @param rows as decided */
  readonly recordDecisions: (rows: readonly DeliveryRow[], decision: Resolution) => Promise<void>;
  readonly release: (order: RunOrder, author: DecisionAuthor & { readonly at: number }) => Promise<void>;
  /** Restores the ledger rows of the delivery's run, if one of these organizations has it in the archive. */
  readonly recover?: (delivery: string, orgs: readonly string[] | '*') => Promise<void>;
  /**
   * The order of an archived run whose record has expired, from its manifest. Undefined where the archive or the
   * definition has expired, too: without it nothing can be delivered.
   */
  readonly orderOf?: (row: DeliveryRow) => Promise<RunOrder | undefined>;
}

export interface DecisionArchivePorts {
  readonly runs: RedisRunStore;
  readonly ledger: Ledger;
  readonly archive: Archive;
  readonly storage: ArchiveStorage;
  readonly definitions: DefinitionStore;
  readonly clock: Clock;
  readonly log: Log;
}

export function createDecisionArchive(ports: DecisionArchivePorts): DecisionArchive {
  const { archive, definitions, clock } = ports;
  return {
    recover: async (delivery, orgs) => {
      await recoverRowsOf([delivery], ports, orgs);
    },
    orderOf: async ({ run, org, report }) => {
      const published = await archive.peek({ id: run, org, report });
      if (published === undefined) return undefined;
      const { slot, period, digest } = published.manifest;
      if ((await findFrozenDefinition({ org, report, digest }, definitions)) === undefined) return undefined;
      // On demand, whatever opened the slot: a scheduled run would be cancelled for its age.
      const kind = { trigger: 'on_demand', priority: 'on_demand' } as const;
      return { id: run, org, report, slot, ...kind, period, digest, deliver: true, createdAt: clock.now() };
    },
    isPublished: async (order) => {
      const published = await archive.find(order);
      if (published !== undefined) await archive.discardCheckout(published);
      return published !== undefined;
    },
    recordDecisions: async (rows, decision) => {
      const [first] = rows;
      const published = first && (await archive.peek({ id: first.run, org: first.org, report: first.report }));
      if (published === undefined) return;
      await forEachWithConcurrency(rows, CONCURRENCY, (row) =>
        archive.putAttempt(published, attemptFromDecision(row, decision)),
      );
      const decided = new Map(rows.map((row) => [row.id, row]));
      const receipts = await archive.getReceipts(published);
      await archive.putReceipts(
        published,
        receipts.map((receipt) => {
          const row = decided.get(receipt.delivery);
          if (row === undefined) return receipt;
          const { state, detail } = row;
          return { ...receipt, state, detail, ...(decision.to === 'pending' ? { messageId: null } : {}) };
        }),
      );
    },
    release: async (order, release) => {
      const published = await archive.peek(order);
      if (published !== undefined) await archive.putRelease(published, release);
    },
  };
}
