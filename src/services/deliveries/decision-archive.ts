import { forEachWithConcurrency } from '../../base/concurrency.ts';
import { DocketError } from '../../base/error.ts';
import { attemptFromDecision } from '../../deliver/archive/archive.ts';
import type { DeliveryRow, Resolution } from '../../deliver/ledger/ledger.ts';
import type { DecisionAuthor, RunOrder, RunRecord } from '../../run/run-record.ts';
import { findFrozenDefinition } from '../definitions/frozen-definition.ts';
import type { Deployment } from '../deployment/deployment.ts';

/** Files written at the same time. */
const CONCURRENCY = 8;

/** What decisions read from the archive and record in it. */
export function createDecisionArchive({ archive, definitions, runs, clock }: Deployment) {
  /**
   * The order of an archived run whose record has expired, restored from its manifest. Undefined if the archive or the
   * definition has expired as well: nothing can be delivered without them.
   */
  const restoreOrder = async ({ run, org, report }: DeliveryRow): Promise<RunOrder | undefined> => {
    const published = await archive.peek({ id: run, org, report });
    if (published === undefined) return undefined;
    const { slot, period, digest } = published.manifest;
    if ((await findFrozenDefinition({ org, report, digest }, definitions)) === undefined) return undefined;
    // Always on demand: a scheduled run would be cancelled because of its age.
    const kind = { trigger: 'on_demand', priority: 'on_demand' } as const;
    return { id: run, org, report, slot, ...kind, period, digest, deliver: true, createdAt: clock.now() };
  };
  /** Whether the run's files are in the archive, unchanged. Throws `archive.corrupt`. */
  const isPublished = async (order: RunOrder): Promise<boolean> => {
    const published = await archive.find(order);
    if (published !== undefined) await archive.discardCheckout(published);
    return published !== undefined;
  };
  /** Throws `run.conflict` if the run's files are missing. */
  const assertPublished = async (run: RunOrder): Promise<void> => {
    if (await isPublished(run)) return;
    throw new DocketError('run.conflict', `The files of run ${run.id} are not in the archive.`, {
      expected: 'the files that the other recipients have received',
      next: 'Check DOCKET_ARCHIVE, restore the folder from a backup, or trigger the report again.',
    });
  };
  return {
    isPublished,
    assertPublished,
    /** Restores an expired record from the archive. Its run continues with the deliveries. Throws `run.not_found`. */
    restoreRecord: async (row: DeliveryRow): Promise<RunRecord> => {
      const record = await runs.get(row.run);
      if (record !== undefined) return record;
      const order = await restoreOrder(row);
      if (order === undefined) {
        throw new DocketError('run.not_found', `The record of run ${row.run} has expired.`, {
          expected: 'the record, or the archived files and the definition they were made from',
          next: 'Record the delivery as sent with --sent, or trigger the report again.',
        });
      }
      await assertPublished(order);
      return (await runs.open(order)).record;
    },
    /**
     * Records decisions about deliveries of one run beside its files, if those are in the archive. @param rows the rows
     * after the decision
     */
    recordDecisions: async (rows: readonly DeliveryRow[], decision: Resolution): Promise<void> => {
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
    release: async (order: RunOrder, { by, reason }: DecisionAuthor): Promise<void> => {
      const published = await archive.peek(order);
      if (published !== undefined) await archive.putRelease(published, { by, reason, at: clock.now() });
    },
  };
}
