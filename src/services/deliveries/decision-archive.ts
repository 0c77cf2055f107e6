import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { type Archive, attemptFromDecision } from '../../deliver/archive/archive.ts';
import type { ArchiveStorage } from '../../deliver/archive/storage/archive-storage.ts';
import type { DeliveryRow, Ledger, Resolution } from '../../deliver/ledger/ledger.ts';
import type { DefinitionStore } from '../../queue/definitions/definition-store.ts';
import type { DecisionAuthor, RunOrder, RunStore } from '../../run/run-record.ts';
import { findFrozenDefinition } from '../definitions/frozen-definition.ts';
import { recoverRowsOf } from './undecided-deliveries.ts';

/** What decisions read from the archive and record there. */
export interface DecisionArchive {
  /** Whether the files of the run are in the archive, unchanged. Throws `archive.corrupt`. */
  readonly isPublished: (order: RunOrder) => Promise<boolean>;
  /** Records a decision beside the files of the run, if they are in the archive. */
  readonly recordDecision: (row: DeliveryRow, decision: Resolution) => Promise<void>;
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
  readonly runs: Pick<RunStore, 'get'>;
  readonly ledger: Ledger;
  readonly archive: Archive;
  readonly storage: Pick<ArchiveStorage, 'listRuns'>;
  readonly definitions: Pick<DefinitionStore, 'get'>;
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
    recordDecision: async (row, decision) => {
      const published = await archive.peek({ id: row.run, org: row.org, report: row.report });
      if (published === undefined) return;
      await archive.putAttempt(published, attemptFromDecision(row, decision));
      const { id, state, detail } = row;
      const messageId = decision.to === 'pending' ? { messageId: null } : {};
      const receipts = await archive.getReceipts(published);
      await archive.putReceipts(
        published,
        receipts.map((receipt) => (receipt.delivery === id ? { ...receipt, state, detail, ...messageId } : receipt)),
      );
    },
    release: async (order, release) => {
      const published = await archive.peek(order);
      if (published !== undefined) await archive.putRelease(published, release);
    },
  };
}
