import { isRedisOutage, toDocketError } from '../../../base/error.ts';
import { type RunRecord, TERMINAL_STATES } from '../../../run/run-record.ts';
import type { DeliveryRow, DeliveryState } from '../../../services/deliveries/decisions.ts';
import type { Access } from '../../access/access.ts';

/** The notices after actions, by the value of `did` in the address. */
const NOTICES: Readonly<Record<string, string>> = {
  opened: 'The run is queued.',
  'opened-many': 'New runs are queued for these reports.',
  repeated: 'This form was sent before; this is the run that it triggered.',
  paused: 'Paused: scheduled runs wait.',
  resumed: 'Resumed: scheduled runs continue.',
  stopped: 'Deliveries are stopped. Runs are created and wait.',
  'stop-released': 'The stop is released. The runs that waited continue.',
  denied: 'Added to the deny list.',
  allowed: 'Removed from the deny list. Skipped deliveries are not sent automatically.',
  held: 'The legal hold is in force: nothing is deleted and nothing expires.',
  'hold-released': 'The legal hold is released. Retention and expiry continue.',
  cancel: 'Cancellation requested. The run stops before its next step.',
  retry: 'The run is queued again.',
  release: 'The run is released and queued for delivery.',
  withdrawn: 'The comment is withdrawn.',
  commented: 'The comment is stored.',
  approved: 'Approved. The run continues once enough people have approved this content.',
  delegated: 'The deputy may approve it, and gets a notice.',
  rejected: 'Rejected. The run ends, and nothing is sent.',
  refetch: 'Rejected. The figures are fetched again and need approval again.',
  recipient: 'The delivery to the address is queued.',
  'recipient-waits': 'The address waits for approval. Nothing is sent to it before.',
  'recipient-rejected': 'Rejected. Nothing is sent to the address.',
  correction: 'The run of the corrected edition is queued.',
  dismissed: 'The correction is dismissed. The delivered edition remains valid.',
  sent: 'The delivery is marked as sent.',
  resend: 'The delivery is queued to be sent again.',
  'sent-many': 'The deliveries are marked as sent.',
  'resend-many': 'The deliveries are queued to be sent again.',
};

/** The notice after a resend, by the current state of the delivery. */
const RESEND_NOTICES: Readonly<Record<DeliveryState, string>> = {
  pending: 'The delivery is queued to be sent again.',
  sending: 'The delivery is being sent again.',
  sent: 'The delivery was sent again and accepted.',
  refused: 'The delivery was sent again and refused.',
  unknown: 'The delivery was sent again, and its result is unknown again.',
  replaced: 'Another address gets the files instead.',
  withdrawn: 'A corrected edition is sent instead.',
  skipped: 'The recipient is on the deny list: the delivery is not sent.',
};

/** The notice for a value of `did`; undefined for unknown values. @param row the delivery, if known */
export const actionNotice = (did: string | undefined, row?: Pick<DeliveryRow, 'state'>): string | undefined =>
  did === 'resend' && row !== undefined
    ? RESEND_NOTICES[row.state]
    : did !== undefined && Object.hasOwn(NOTICES, did)
      ? NOTICES[did]
      : undefined;

/**
 * The notice on the page of a run: what the action has led to so far.
 * @param of.doubts numbers in a comment that contradict the figures of its section
 * @param of.line what to add to the definition, which names the recipients
 */
export function runNotice(
  did: string | undefined,
  { state, org, report }: Pick<RunRecord, 'state' | 'org' | 'report'>,
  { doubts = [], line }: { readonly doubts?: readonly string[]; readonly line?: string | undefined } = {},
): string | undefined {
  if ((did === 'recipient' || did === 'recipient-waits') && line !== undefined && /^\d{1,6}$/.test(line)) {
    return `${NOTICES[did] ?? ''} For later runs, correct ${org}/${report}.yaml, line ${line}.`;
  }
  if (did === 'commented' && doubts.length > 0) {
    return `The comment is stored. Check ${doubts.join(', ')}: no figure of the section prints ${doubts.length === 1 ? 'this number' : 'these numbers'}.`;
  }
  if (did === 'cancel' && state === 'cancelled') return 'The run is cancelled.';
  if (did === 'cancel' && TERMINAL_STATES.has(state)) return 'The run ended before it was cancelled.';
  return actionNotice(did);
}

/** The notice on a page of several deliveries. @param delivery the id in the address */
export async function deliveryNotice(
  access: Pick<Access, 'delivery'>,
  did: string | undefined,
  delivery: string | undefined,
): Promise<string | undefined> {
  if (did !== 'resend' || delivery === undefined) return actionNotice(did);
  const row = await access.delivery(delivery).catch((thrown: unknown) => {
    // The address may name any delivery. If it is not known, the notice is less specific.
    if (isRedisOutage(toDocketError(thrown))) throw thrown;
    return undefined;
  });
  return actionNotice(did, row);
}
