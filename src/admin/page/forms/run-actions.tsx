import type { Child } from 'hono/jsx';
import { isInlineRun, type RunRecord, TERMINAL_STATES, WAITING_STATES } from '../../../run/run-record.ts';
import { isReportDelivery, retryScope } from '../../../services/deliveries/decision-rules.ts';
import type { DeliveryRow } from '../../../services/deliveries/decisions.ts';
import type { HeldRun, RunTimeline } from '../../access/runs.ts';
import { AnswerList } from '../components/deliveries/answer-list.tsx';
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

interface RetryProps {
  readonly scope: 'deliveries' | 'run' | 'wait';
  /** All deliveries of the run. */
  readonly deliveries: readonly DeliveryRow[];
  readonly files: RunFilesView;
  readonly zone: string;
  /** Whether somebody stopped the run. Then nothing needs a decision. */
  readonly calm: boolean;
  /** The form, for operators. */
  readonly children?: Child;
}

/** What a retry would do, and the form for it. */
const RetryReview = ({ scope, deliveries, files, zone, calm, children }: RetryProps) => (
  <section class={calm ? 'review calm' : 'review'} id="retry" aria-labelledby="retry-heading">
    <h2 id="retry-heading">{HEADINGS[scope]}</h2>
    {scope === 'deliveries' ? (
      <FailedDeliveries rows={deliveries.filter(isReportDelivery)} zone={zone} />
    ) : (
      <p>{scope === 'wait' ? WAIT_EFFECT : runEffect(files)}</p>
    )}
    {children === null || children === undefined ? null : <div class="actions">{children}</div>}
  </section>
);

const HEADINGS = {
  deliveries: 'Retry the deliveries that failed',
  run: 'Retry the run',
  wait: 'Continue the run now',
} as const;

const WAIT_EFFECT =
  'The run continues by itself when its wait ends. Once the cause is fixed, you can end the wait now. Deliveries that arrived are not repeated.';

function runEffect(files: RunFilesView): string {
  const archived = 'files' in files && files.files.some(({ kind }) => kind === 'file');
  const rest =
    'It keeps the definition and the period that it was triggered with: after a correction of the definition, run the report again instead.';
  return archived
    ? `Nothing was delivered. A retry delivers the archived files and makes no calls. ${rest}`
    : `No files were archived and nothing was delivered. A retry starts again; calls whose responses are still cached are not repeated. ${rest}`;
}

const FailedDeliveries = ({ rows, zone }: { readonly rows: readonly DeliveryRow[]; readonly zone: string }) => {
  const failed = rows.filter(({ state }) => state === 'refused' || state === 'pending' || state === 'sending');
  const count = (state: DeliveryRow['state']): number => rows.filter((row) => row.state === state).length;
  const others = [
    ...(count('sent') === 0 ? [] : [`${formatCounted(count('sent'), 'delivery', 'deliveries')} that arrived`]),
    ...(count('unknown') === 0
      ? []
      : [`${formatCounted(count('unknown'), 'delivery', 'deliveries')} with unknown result`]),
  ];
  return (
    <>
      <p>
        Repeats {formatCounted(failed.length, 'delivery', 'deliveries')} that failed, with the archived files.
        {others.length === 0 ? '' : ` Not affected: ${others.join(' and ')}.`} A server that refused them will do so
        again until the reason is corrected. If an address is wrong, correct it in the definition and run the report
        again: a retry sends to the addresses of this run.
      </p>
      <AnswerList rows={failed} zone={zone} />
    </>
  );
};
