import { type DeliveryRow, NOTICE_TARGET } from '../deliver/ledger.ts';
import type { RunState } from '../run/record.ts';

/** States in which a run may be retried. */
export const RETRYABLE: readonly RunState[] = ['partly_delivered', 'cancelled', 'failed'];

/** Whether a delivery is one of the report, and no notice to its owner: a retry sends no notices. */
export const isOfReport = ({ target }: Pick<DeliveryRow, 'target'>): boolean => target !== NOTICE_TARGET;

/**
 * What a retry of a run would act on. `deliveries`: those that are known not to have arrived. `run`: the run itself, which
 * has not delivered anything, or was stopped after it had. `nothing`: the run is not over or all is well, or all that
 * is left may have arrived, which only somebody's decision about the delivery changes.
 */
export function retryScope(
  state: RunState,
  rows: readonly Pick<DeliveryRow, 'state' | 'target'>[],
): 'deliveries' | 'run' | 'nothing' {
  if (!RETRYABLE.includes(state)) return 'nothing';
  const own = rows.filter(isOfReport);
  if (own.some((row) => row.state === 'refused' || row.state === 'pending' || row.state === 'sending')) {
    return 'deliveries';
  }
  return state === 'partly_delivered' || own.some((row) => row.state === 'unknown') ? 'nothing' : 'run';
}
