import { sha256 } from '../../base/sha256.ts';
import type { DeliveryRow } from '../../deliver/ledger/ledger.ts';
import type { SelectedItem, SelectionAction } from '../../queue/runs/selections.ts';
import {
  type DecisionAuthor,
  isInlineRun,
  type RunRecord,
  type RunState,
  TERMINAL_STATES,
} from '../../run/run-record.ts';
import { isReportDelivery, REOPENABLE_STATES, retryScope } from '../deliveries/decision-rules.ts';

export type RunSelectionAction = Extract<SelectionAction, 'cancel' | 'retry' | 'release'>;
export type DeliverySelectionAction = Exclude<SelectionAction, RunSelectionAction>;

export const isRunAction = (action: SelectionAction): action is RunSelectionAction =>
  action === 'cancel' || action === 'retry' || action === 'release';

/**
 * The states in which a filter looks for runs. A cancelled run is only retried if the filter names its state, because
 * somebody stopped it on purpose.
 */
export const SEARCHED_STATES: Readonly<Record<SelectionAction, readonly RunState[]>> = {
  cancel: ['queued', 'running', 'waiting', 'awaiting_approval', 'held'],
  retry: ['waiting', 'partly_delivered', 'failed'],
  release: ['held'],
  resend: REOPENABLE_STATES,
  sent: REOPENABLE_STATES,
};

/** The required state of a delivery. A delivery that may have arrived is only ever sent again individually. */
export const DELIVERY_STATE = { resend: 'refused', sent: 'unknown' } as const;

/** Why the action is impossible for a run; null if it is possible. @param rows the run's rows, needed for `retry` */
export function runObstacle(
  action: RunSelectionAction,
  record: RunRecord,
  rows: readonly DeliveryRow[],
): string | null {
  const { state, cancel, review, deliver } = record;
  switch (action) {
    case 'cancel':
      if (cancel !== null && !TERMINAL_STATES.has(state)) return 'Its cancellation is requested.';
      return !TERMINAL_STATES.has(state) || state === 'awaiting_approval' || (state === 'held' && review !== undefined)
        ? null
        : `It has ended: ${state}.`;
    case 'retry':
      if (isInlineRun(record) && state === 'waiting') return 'The command that opened it executes it.';
      if (retryScope(record, rows) !== 'nothing') return null;
      return state === 'partly_delivered' || state === 'failed'
        ? 'None of its deliveries is known to have failed.'
        : `It is ${state}.`;
    case 'release':
      if (state !== 'held') return `It is not held, but ${state}.`;
      if (review !== undefined) return 'It has a review: decide on the page of the run.';
      return deliver ? null : 'It was triggered without deliveries.';
  }
}

/** Why the action is impossible for a delivery; null if it is possible. */
export function deliveryObstacle(action: DeliverySelectionAction, row: DeliveryRow): string | null {
  if (!isReportDelivery(row)) return 'It is a notice to the owner.';
  if (row.state === DELIVERY_STATE[action]) return null;
  return action === 'resend' && row.state === 'unknown'
    ? 'It may have arrived: ask the recipient, then decide on the page of the delivery.'
    : `It is not ${DELIVERY_STATE[action]}, but ${row.state}.`;
}

const buildMark = (decisions: number, facts: unknown): string =>
  `${decisions}.${sha256(JSON.stringify(facts)).slice(0, 16)}`;

/** Changes once anything has happened to the run that matters to a decision. */
export const runMark = ({ state, cancel, review, reopened }: RunRecord, rows: readonly DeliveryRow[]): string =>
  buildMark(reopened.length, [state, cancel !== null, review?.seq ?? null, rows.map((row) => [row.id, row.state])]);

export const deliveryMark = ({ state, epoch, decisions }: DeliveryRow): string =>
  buildMark(decisions.length, [state, epoch]);

/** Number of decisions made before the preview. */
const decisionsBefore = ({ mark }: SelectedItem): number => Number(mark.slice(0, mark.indexOf('.')));
const isBy = (one: DecisionAuthor | undefined | null, author: DecisionAuthor): boolean =>
  one != null && one.by === author.by && one.reason === author.reason;

/**
 * Whether the first decision after the preview is this one, carried out before the process could record its outcome.
 */
export function wasDecided(
  action: SelectionAction,
  item: SelectedItem,
  now: RunRecord | DeliveryRow,
  author: DecisionAuthor,
): boolean {
  const nth = decisionsBefore(item);
  if ('reopened' in now) {
    if (action === 'cancel') return isBy(now.cancel, author);
    return now.reopened[nth]?.what === action && isBy(now.reopened[nth], author);
  }
  const decision = now.decisions[nth];
  return decision?.to === (action === 'sent' ? 'sent' : 'pending') && isBy(decision, author);
}
