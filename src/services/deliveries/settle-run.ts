import { DocketError, toDocketError } from '../../base/error.ts';
import { isClosed } from '../../deliver/ledger/ledger.ts';
import {
  type DecisionAuthor,
  type RunDecision,
  type RunRecord,
  type RunState,
  TERMINAL_STATES,
} from '../../run/run-record.ts';
import type { Deployment } from '../deployment/deployment.ts';
import { isReportDelivery } from './decision-rules.ts';

/** Reopens and enqueues an ended run. Throws `run.conflict` if it is in another state. */
export async function reopenRun(
  run: RunRecord,
  from: readonly RunState[],
  what: RunDecision['what'],
  { by, reason }: DecisionAuthor,
  { runs, queue, clock, log }: Deployment,
): Promise<RunRecord> {
  const record = await runs.reopen(run.id, from, { what, by, reason, at: clock.now() });
  if (record === undefined) {
    throw new DocketError('run.conflict', `Run ${run.id} has changed in the meantime.`, {
      next: 'Check it with `docket runs show`, then decide again.',
    });
  }
  await queue.requeue(record);
  const { id, org, report, state } = run;
  log.info('Run reopened', { run: id, org, report, stage: what, state, who: by, why: reason });
  return record;
}

/** Like `reopenRun`, but does nothing if another decision has just reopened the run. */
export async function reopenOnce(...of: Parameters<typeof reopenRun>): Promise<void> {
  await reopenRun(...of).catch(async (thrown: unknown) => {
    const [{ id }, , , , { runs }] = of;
    const state = (await runs.get(id))?.state;
    if (toDocketError(thrown).code !== 'run.conflict' || state === undefined || TERMINAL_STATES.has(state))
      throw thrown;
  });
}

/**
 * Updates the record after a decision closed deliveries or declared them sent. Once no delivery is open, the run is
 * settled.
 */
export async function settleRun(id: string, author: DecisionAuthor, deployment: Deployment): Promise<void> {
  const { runs, ledger, archive } = deployment;
  const record = await runs.get(id);
  if (record === undefined) return;
  const rows = (await ledger.list(id)).filter(isReportDelivery);
  const deliveries = rows.map(({ target, recipient, state, detail }) => ({ target, recipient, state, detail }));
  if (rows.length > 0) await runs.update(id, { deliveries });
  if (record.state !== 'partly_delivered' || rows.some(({ state }) => state !== 'sent' && !isClosed(state))) return;
  const published = await archive.find(record).catch(() => undefined);
  if (published === undefined) return;
  await archive.discardCheckout(published);
  await reopenOnce(record, ['partly_delivered'], 'settle', author, deployment);
}
