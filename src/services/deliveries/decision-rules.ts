import { DocketError } from '../../base/error.ts';
import { type DeliveryRow, type DeliveryState, NOTICE_TARGET } from '../../deliver/ledger/ledger.ts';
import type { RunRecord, RunState } from '../../run/run-record.ts';

/** States in which a run may be retried. */
export const RETRYABLE_STATES: readonly RunState[] = ['partly_delivered', 'cancelled', 'failed'];
/** States in which a run is reopened to send one delivery again. */
export const REOPENABLE_STATES: readonly RunState[] = ['done', ...RETRYABLE_STATES];
/** States that are reported to the owner. */
export const NOTIFIED_STATES: readonly RunState[] = ['partly_delivered', 'held', 'failed'];

/** Whether a delivery is one of the report, and not a notice to its owner: a retry sends no notices. */
export const isReportDelivery = ({ target }: Pick<DeliveryRow, 'target'>): boolean => target !== NOTICE_TARGET;

/**
 * What a retry of a run acts on. `deliveries`: those known to have failed. `run`: the run itself, which has delivered
 * nothing, or was stopped after its deliveries. `wait`: the run waits, and continues now. `nothing`: the run has not ended, all
 * is delivered, or the rest may have arrived, which only a decision about the delivery changes.
 */
export function retryScope(
  state: RunState,
  rows: readonly Pick<DeliveryRow, 'state' | 'target'>[],
): 'deliveries' | 'run' | 'wait' | 'nothing' {
  if (state === 'waiting') return 'wait';
  if (!RETRYABLE_STATES.includes(state)) return 'nothing';
  const own = rows.filter(isReportDelivery);
  if (own.some((row) => row.state === 'refused' || row.state === 'pending' || row.state === 'sending')) {
    return 'deliveries';
  }
  return state === 'partly_delivered' || own.some((row) => row.state === 'unknown') ? 'nothing' : 'run';
}

/** The states of a delivery in which it may be declared sent, or sent again. */
export const openStates = (as: 'sent' | 'resend'): readonly DeliveryState[] =>
  as === 'sent' ? ['unknown'] : ['unknown', 'refused'];

export const nothingToDecideError = (run: string): DocketError =>
  new DocketError('delivery.conflict', `No delivery of run ${run} needs a decision.`, {
    expected: 'deliveries whose result is unknown',
    next: `\`docket deliveries --run ${run}\` lists its deliveries.`,
  });

export const deliveryChangedError = ({ id }: DeliveryRow): DocketError =>
  new DocketError('delivery.conflict', `Delivery ${id} has changed in the meantime.`, {
    next: 'Check it with `docket deliveries`, then decide again.',
  });

export function noDecisionNeededError(
  row: DeliveryRow,
  as: 'sent' | 'resend',
  open: readonly DeliveryState[],
): DocketError {
  return new DocketError('delivery.conflict', `Delivery ${row.id} does not need a decision.`, {
    where: `delivery ${row.id} to ${row.recipient}`,
    expected: `${open.join(' or ')}, to be ${as === 'sent' ? 'declared sent' : 'sent again'}`,
    got: row.state,
    next: {
      pending: `It is retried automatically, or by \`docket runs retry ${row.run} --reason …\` once its run has ended.`,
      sending: 'It is being sent: check again in a minute.',
      sent: 'It has arrived; trigger the report again to send new files.',
      refused: 'The target refused it. Correct the reason it gives, then use --resend.',
      unknown: 'Check it again.',
    }[row.state],
  });
}

export function notRetryableError({ id, state }: RunRecord): DocketError {
  const next =
    state === 'held'
      ? `\`docket runs release ${id} --reason …\` sends its files unchanged.`
      : state === 'awaiting_approval'
        ? `It waits for approval: \`docket runs approve ${id} --reason …\`.`
        : state === 'done'
          ? 'Everything was delivered; trigger the report again for new figures.'
          : 'It has not ended, and continues by itself.';
  return new DocketError('run.conflict', `Run ${id} cannot be retried.`, {
    expected: `a run in state ${RETRYABLE_STATES.join(', ')} or waiting`,
    got: state,
    next,
  });
}
