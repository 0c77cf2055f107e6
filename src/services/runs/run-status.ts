import { type RunRecord, type RunState, TERMINAL_STATES } from '../../run/run-record.ts';

/**
 * A run as it is shown: its state, or what the state alone does not say. `cancelling`: a cancellation is requested and not
 * yet carried out. `delivery_unknown`: `partly_delivered`, and no recipient is known to have received it. Never stored.
 */
export type RunStatus = RunState | 'cancelling' | 'delivery_unknown';

/** @param deliveries of the ledger where they are known; by default those of the record. Without notices to the owner */
export function runStatus(
  { state, cancel, deliveries: recorded }: Pick<RunRecord, 'state' | 'cancel' | 'deliveries'>,
  deliveries: readonly { readonly state: string }[] = recorded,
): RunStatus {
  if (!TERMINAL_STATES.has(state)) return cancel === null ? state : 'cancelling';
  if (state !== 'partly_delivered' || deliveries.length === 0) return state;
  return deliveries.some((delivery) => delivery.state === 'sent') ? state : 'delivery_unknown';
}
