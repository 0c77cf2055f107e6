import { DocketError } from '../../base/error.ts';
import { isHeldPack, UNASSIGNED_TARGET } from '../../definitions/split.ts';
import { isDenied } from '../../deliver/denials/deny-list.ts';
import { type DeliveryRow, type DeliveryState, NOTICE_TARGET } from '../../deliver/ledger/ledger.ts';
import type { RunRecord, RunState } from '../../run/run-record.ts';

export type RunAction = 'retry' | 'release' | 'cancel';

/** Why a finished run has sent nothing. @param deliveries all of its deliveries, each of them skipped */
export const nothingSent = (
  deliveries: readonly { readonly state: string; readonly detail: string | null }[],
): string =>
  deliveries.some(isDenied) ? 'Nobody got the files: the recipients are denied.' : 'There was nothing to send.';

/** States in which a run can be retried. */
export const RETRYABLE_STATES: readonly RunState[] = ['partly_delivered', 'cancelled', 'failed'];
/** States in which a run can be reopened to send one delivery again. */
export const REOPENABLE_STATES: readonly RunState[] = ['done', ...RETRYABLE_STATES];
/** States that are reported to the owner. */
export const NOTIFIED_STATES: readonly RunState[] = ['partly_delivered', 'held', 'failed'];

/** Whether a delivery belongs to the report, as opposed to a notice to its owner. A retry sends no notices. */
export const isReportDelivery = ({ target }: Pick<DeliveryRow, 'target'>): boolean => target !== NOTICE_TARGET;

/**
 * What a retry of a run acts on. `deliveries`: those that certainly failed. `run`: the run itself, because it delivered
 * nothing, or was stopped after its deliveries. `wait`: the run waits, and continues now. `nothing`: the run has not
 * ended, or everything was delivered, or the rest may have arrived (only a decision about the delivery changes that),
 * or only packs that nobody gets are missing.
 */
export function retryScope(
  record: Pick<RunRecord, 'state' | 'deliveries'>,
  rows: readonly Pick<DeliveryRow, 'state' | 'target'>[],
): 'deliveries' | 'run' | 'wait' | 'nothing' {
  const { state } = record;
  if (state === 'waiting') return 'wait';
  if (!RETRYABLE_STATES.includes(state)) return 'nothing';
  const own = rows.filter(isReportDelivery);
  if (own.some((row) => row.state === 'refused' || row.state === 'pending' || row.state === 'sending')) {
    return 'deliveries';
  }
  if (heldPacks(record).length > 0 && own.every((row) => row.state === 'sent')) return 'nothing';
  return state === 'partly_delivered' || own.some((row) => row.state === 'unknown') ? 'nothing' : 'run';
}

/** The packs of an ended run that nobody gets, and that no retry sends. */
export const heldPacks = ({ deliveries }: Pick<RunRecord, 'deliveries'>): RunRecord['deliveries'] =>
  deliveries.filter(isHeldPack);

/** How many held packs a sentence names. */
const MAX_NAMED = 5;

/** One sentence about a run's packs that nobody gets; empty if everything has recipients. */
export function heldSentence(record: Pick<RunRecord, 'deliveries'>): string {
  const names = heldPacks(record).map(({ target, recipient }) =>
    target === UNASSIGNED_TARGET ? 'rows without a value' : recipient,
  );
  if (names.length === 0) return '';
  const more = names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : '';
  return `Held: ${names.slice(0, MAX_NAMED).join(', ')}${more}.`;
}

/** The states in which a delivery can be declared sent, or sent again. */
export const openStates = (as: 'sent' | 'resend'): readonly DeliveryState[] =>
  as === 'sent' ? ['unknown'] : ['unknown', 'refused', 'skipped'];

export const nothingToDecideError = (run: string): DocketError =>
  new DocketError('delivery.conflict', `No delivery of run ${run} needs a decision.`, {
    expected: 'deliveries whose result is unknown',
    next: `\`docket deliveries --run ${run}\` lists its deliveries.`,
  });

export const deliveryChangedError = ({ id }: Pick<DeliveryRow, 'id'>): DocketError =>
  new DocketError('delivery.conflict', `Delivery ${id} has changed in the meantime.`, {
    next: 'Check it with `docket deliveries`, then decide again.',
  });

/** The error if a corrected edition replaces, or has replaced, the run. */
export const editionReplacedError = (run: string): DocketError =>
  new DocketError('delivery.conflict', `A corrected edition replaces run ${run}: nothing more of the run is sent.`, {
    next: '`docket runs` lists the run of the corrected edition.',
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
      refused: 'The target refused it. Fix the reason that it gives, then use --resend.',
      unknown: 'Check it again.',
      replaced: 'It is never sent: another address gets the files instead.',
      withdrawn: 'It is never sent: a corrected edition is sent instead.',
      skipped: 'Its recipient is on the deny list, or was. Once `docket deny` does not list it any more, use --resend.',
    }[row.state],
  });
}

/**
 * Throws `delivery.conflict` if the decision does not fit one of a run's deliveries, or if several of them may have
 * arrived: each of those is sent again separately, with its own reason.
 */
export function assertDecidable(
  rows: readonly DeliveryRow[],
  as: 'sent' | 'resend',
  open: readonly DeliveryState[],
): void {
  for (const row of rows) if (!open.includes(row.state)) throw noDecisionNeededError(row, as, open);
  const unknown = as === 'sent' ? [] : rows.filter(({ state }) => state === 'unknown');
  const [first, second] = unknown;
  if (first === undefined || second === undefined) return;
  throw new DocketError('delivery.conflict', 'Deliveries that may have arrived are sent again one by one.', {
    where: `run ${first.run}`,
    expected: 'one of them, with its own reason',
    got: `${unknown.length} of them`,
    next: `\`docket deliveries --run ${first.run}\` lists them. Ask the recipient, then e.g. \`docket deliveries resolve ${first.id} --resend --reason …\`.`,
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

/** The error if the run has ended, and none of its deliveries certainly failed. */
export function nothingToRetryError(record: RunRecord, rows: readonly DeliveryRow[]): DocketError {
  const { id } = record;
  const unknown = rows.filter(({ state }) => state === 'unknown').length;
  const held = heldPacks(record).length;
  if (unknown === 0 && held > 0) {
    return new DocketError('run.conflict', `Run ${id} cannot be retried: only packs without recipients are left.`, {
      got: `${held} held ${held === 1 ? 'pack' : 'packs'}`,
      next: 'Add their recipients under `split.to` of the definition, or correct the value, then run the report again for this period.',
    });
  }
  return new DocketError(
    'run.conflict',
    `Run ${id} cannot be retried: none of its deliveries is known to have failed.`,
    {
      got: `${unknown} ${unknown === 1 ? 'delivery' : 'deliveries'} that may have arrived`,
      next: `Ask the recipients, then use \`docket deliveries resolve\`; \`docket deliveries --run ${id}\` lists them.`,
    },
  );
}

export const noticeOutdatedError = ({ id, recipient }: DeliveryRow, { state }: RunRecord): DocketError =>
  new DocketError('delivery.conflict', 'The notice is out of date.', {
    where: `delivery ${id} to ${recipient}`,
    expected: `a run in state ${NOTIFIED_STATES.join(', ')}`,
    got: state,
    next: 'The owner is notified again if the run ends badly again. Resolve an unknown notice with --sent.',
  });
