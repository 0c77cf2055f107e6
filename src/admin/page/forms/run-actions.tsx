import { isInlineRun, type RunRecord, TERMINAL_STATES, WAITING_STATES } from '../../../run/run-record.ts';
import { isReportDelivery, retryScope } from '../../../services/deliveries/decision-rules.ts';
import type { DeliveryRow } from '../../../services/deliveries/decisions.ts';
import type { HeldRun, RunTimeline } from '../../access/runs.ts';
import { ErrorDetails } from '../components/error-details.tsx';
import type { RunFilesView } from '../components/file-list.tsx';
import { formatCounted } from '../components/format-numbers.ts';
import { canAct, type LayoutData } from '../components/layout.tsx';
import { runZone } from '../components/run-table.tsx';
import type { RunReview } from '../routes/loaders.ts';
import { REVIEW_ACTIONS } from '../routes/review-actions.ts';
import { DecideDeliveries } from './decide-deliveries.tsx';
import { OpenReasonForm, ReasonForm, type RejectedForm } from './reason-form.tsx';
import { ReleaseReview } from './release-review.tsx';
import { RetryReview } from './retry-review.tsx';

interface RunActionsProps {
  readonly layout: LayoutData;
  readonly record: RunRecord;
  readonly deliveries: readonly DeliveryRow[];
  readonly files: RunFilesView;
  readonly held: HeldRun | null;
  readonly review: RunReview;
  readonly earlier: RunTimeline['earlier'];
  readonly refused: RejectedForm | undefined;
}

/** The decisions that a run needs and the actions that its state allows, each with its details. */
export const RunActions = ({ layout, record, deliveries, files, held, review, earlier, refused }: RunActionsProps) => {
  const path = `/runs/${record.id}`;
  const zone = runZone(record);
  const form = { layout, from: path, refused };
  const scope = isInlineRun(record) && record.state === 'waiting' ? 'nothing' : retryScope(record, deliveries);
  // A run in review can be cancelled while it waits for people.
  const isOpen = !TERMINAL_STATES.has(record.state) || (review !== null && WAITING_STATES.has(record.state));
  // A running worker may still learn their outcome.
  const decides =
    record.state !== 'running' && deliveries.some((row) => row.state === 'unknown' && isReportDelivery(row));
  const offered = new Set([
    ...(isOpen ? ['cancel'] : []),
    ...(scope === 'nothing' ? [] : ['retry']),
    ...(held === null || !record.deliver ? [] : ['release']),
    ...(decides ? ['deliveries/resolve'] : []),
  ]);
  // A rejected action that is no longer offered has no form to show the rejection on.
  const withoutForm =
    refused !== undefined &&
    !isReviewAction(refused.action, path, review) &&
    !refused.action.startsWith(`${path}/recipients`) &&
    ![...offered].some((what) => refused.action === `${path}/${what}`);
  const isOperator = canAct(layout);
  return (
    <div id="actions" data-live>
      {withoutForm ? <ErrorDetails error={refused.error} id="rejected" heading="Action rejected" /> : null}
      {held === null ? null : (
        <ReleaseReview
          run={record.id}
          zone={zone}
          held={held}
          files={files}
          earlier={earlier}
          delivers={record.deliver}
        >
          {isOperator && offered.has('release') ? (
            <OpenReasonForm
              {...form}
              class="resolve"
              action={`${path}/release`}
              label="Release"
              question="Why is it released?"
            >
              <p>{releaseEffect(held)}</p>
            </OpenReasonForm>
          ) : null}
        </ReleaseReview>
      )}
      {decides ? (
        <DecideDeliveries
          layout={layout}
          run={record.id}
          zone={zone}
          deliveries={deliveries}
          files={files}
          earlier={earlier}
          refused={refused}
        />
      ) : null}
      {scope === 'nothing' ? null : (
        <RetryReview
          scope={scope}
          deliveries={deliveries}
          files={files}
          zone={zone}
          calm={record.state === 'cancelled' || scope === 'wait'}
        >
          {isOperator ? (
            <ReasonForm
              {...form}
              action={`${path}/retry`}
              label={RETRY_LABELS[scope]}
              question={scope === 'wait' ? 'Why is its wait ended?' : 'Why is it retried?'}
            />
          ) : null}
        </RetryReview>
      )}
      {isOperator && offered.has('cancel') && record.cancel === null ? (
        <div class="actions">
          <ReasonForm
            {...form}
            action={`${path}/cancel`}
            label="Cancel this run"
            question="Why is it cancelled?"
            danger
          >
            <p>The run stops before its next step. Completed deliveries are not affected.</p>
          </ReasonForm>
        </div>
      ) : null}
    </div>
  );
};

const RETRY_LABELS = { deliveries: 'Retry deliveries', run: 'Retry the run', wait: 'Continue now' } as const;

/** Whether the review shows the rejection, because it has the form. */
const isReviewAction = (action: string, path: string, review: RunReview): boolean =>
  review !== null &&
  'view' in review &&
  (Object.keys(REVIEW_ACTIONS).some((what) => action === `${path}/${what}`) ||
    (action === `${path}/release` && review.view.state.phase === 'incomplete'));

function releaseEffect({ recipients }: HeldRun): string {
  const rest = 'as they are, with their notes on missing figures.';
  if (recipients === null) return `Delivers the files to the recipients of its definition ${rest}`;
  const count = recipients.filter(({ receives }) => receives).length;
  return `Delivers the files to ${formatCounted(count, 'recipient')} above ${rest} This cannot be undone.`;
}
