import type { DeliveryRow } from '../../deliver/ledger/ledger.ts';
import type { DecisionAuthor, RunRecord } from '../../run/run-record.ts';
import type { DeliveryFilter, DeliveryPage } from './query-deliveries.ts';

/** What a person may decide about deliveries and ended runs. */
export interface DecisionService {
  find(delivery: string): Promise<DeliveryRow | undefined>;
  /** As `find`; restores a delivery that the ledger has lost from the archive of these organizations. */
  recover(delivery: string, orgs: readonly string[] | '*'): Promise<DeliveryRow | undefined>;
  page(filter: DeliveryFilter): Promise<DeliveryPage>;
  /** Only the first page. */
  list(filter: Omit<DeliveryFilter, 'after'>): Promise<readonly DeliveryRow[]>;
  /**
   * `sent`: an `unknown` delivery has arrived. `resend`: sends an `unknown` or `refused` delivery again, with the same
   * Message-ID, and no other delivery of its run; a notice to an owner is sent within a minute. Restores expired ledger
   * rows and records from the archive. Throws `delivery.not_found`, `delivery.conflict`, `run.not_found`.
   */
  resolve(delivery: string, as: 'sent' | 'resend', author: DecisionAuthor): Promise<DeliveryRow>;
  /**
   * As `resolve`, of several deliveries of a run: these, or `all` that are `unknown`, without notices to the owner. Changes
   * nothing unless the decision fits each of them. One that changes meanwhile is left out of the result. The run is reopened
   * once. Throws `run.not_found`, `delivery.not_found`, `delivery.conflict`.
   */
  resolveMany(
    run: string,
    deliveries: readonly string[] | 'all',
    as: 'sent' | 'resend',
    author: DecisionAuthor,
  ): Promise<readonly DeliveryRow[]>;
  /**
   * Retries the deliveries known to have failed, or the whole run if it failed before its files were published. A waiting run
   * begins its next attempt now. Keeps `unknown` deliveries. Throws `run.not_found`, `run.conflict`, `period.not_begun`.
   */
  retry(run: string, author: DecisionAuthor): Promise<RunRecord>;
  /** Sends the files of a held run unchanged. Throws `run.not_found`, `run.conflict`, `period.not_begun`. */
  release(run: string, author: DecisionAuthor): Promise<RunRecord>;
  /** Stops a run that has not ended: see `cancelRun`. Throws `run.not_found`, `run.conflict`. */
  cancel(run: string, author: DecisionAuthor): Promise<RunRecord>;
}
