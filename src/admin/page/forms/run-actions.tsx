import { type RunRecord, TERMINAL_STATES } from '../../../run/run-record.ts';
import { isReportDelivery, retryScope } from '../../../services/deliveries/decision-rules.ts';
import type { DeliveryRow } from '../../../services/deliveries/decisions.ts';
import type { HeldRun } from '../../access/access.ts';
import { ErrorDetails } from '../components/error-details.tsx';
import type { RunFilesView } from '../components/file-list.tsx';
import { formatCounted, formatInteger } from '../components/format-numbers.ts';
import { canAct, type LayoutData } from '../components/layout.tsx';
import { ReasonForm, type RejectedForm } from './reason-form.tsx';
import { ReleaseReview } from './release-review.tsx';

interface RunActionsProps {
  readonly layout: LayoutData;
  readonly record: RunRecord;
  readonly deliveries: readonly DeliveryRow[];
  readonly files: RunFilesView;
  readonly held: HeldRun | null;
  readonly refused: RejectedForm | undefined;
}

/** The actions that a run's state allows, with what to check before. */
export const RunActions = ({ layout, record, deliveries, files, held, refused }: RunActionsProps) => {
  const path = `/runs/${record.id}`;
  const form = { layout, from: path, refused };
  const scope = retryScope(record.state, deliveries);
  const offered = new Set([
    ...(TERMINAL_STATES.has(record.state) ? [] : ['cancel']),
    ...(scope === 'nothing' ? [] : ['retry']),
    ...(held === null ? [] : ['release']),
  ]);
  // The rejection of an action that is no longer offered has no form to be shown on.
  const withoutForm = refused !== undefined && ![...offered].some((what) => refused.action === `${path}/${what}`);
  const isOperator = canAct(layout);
  return (
    <div id="actions" data-live>
      {held === null ? null : (
        <ReleaseReview held={held} files={files}>
          {isOperator ? (
            <ReasonForm {...form} action={`${path}/release`} label="Release" question="Why is it released?">
              <p>Delivers the files to these recipients as they are, with their notes on missing figures.</p>
            </ReasonForm>
          ) : null}
        </ReleaseReview>
      )}
      <div class="actions">
        {withoutForm ? <ErrorDetails error={refused.error} id="rejected" heading="Action rejected" /> : null}
        {isOperator && offered.has('cancel') ? (
          <ReasonForm
            {...form}
            action={`${path}/cancel`}
            label="Cancel this run"
            question="Why is it cancelled?"
            danger
          >
            <p>The run stops before its next step. Completed deliveries are not affected.</p>
          </ReasonForm>
        ) : null}
        <UndecidedDeliveries rows={deliveries.filter(({ state }) => state === 'unknown')} isOperator={isOperator} />
        {isOperator && offered.has('retry') ? (
          <ReasonForm {...form} action={`${path}/retry`} {...RETRY_TEXTS[scope]} question="Why is it retried?">
            <p>{scope === 'deliveries' ? retrySummary(deliveries) : RETRY_TEXTS.run.text}</p>
          </ReasonForm>
        ) : null}
      </div>
    </div>
  );
};

const RETRY_TEXTS = {
  deliveries: { label: 'Retry deliveries' },
  run: {
    label: 'Retry the run',
    text: 'Continues where the run stopped, with the definition and the period that it was triggered with. Archived files are reused.',
  },
  nothing: { label: '' },
} as const;

/** The deliveries that a retry sends, and those that it does not. */
function retrySummary(rows: readonly DeliveryRow[]): string {
  const deliveries = rows.filter(isReportDelivery);
  const count = (...states: DeliveryRow['state'][]) => deliveries.filter(({ state }) => states.includes(state)).length;
  const parts = [
    ...(count('refused') === 0 ? [] : [`${formatInteger(count('refused'))} refused`]),
    ...(count('pending', 'sending') === 0 ? [] : [`${formatInteger(count('pending', 'sending'))} pending`]),
  ];
  const one = count('refused', 'pending', 'sending') === 1;
  const sent = `Sends ${parts.join(' and ')} ${one ? 'delivery' : 'deliveries'} again with the same files.`;
  if (count('unknown') === 0) return sent;
  return `${sent} ${formatCounted(count('unknown'), 'unknown delivery is', 'unknown deliveries are')} not affected.`;
}

/** Deliveries that need a decision. */
const UndecidedDeliveries = ({
  rows,
  isOperator,
}: {
  readonly rows: readonly DeliveryRow[];
  readonly isOperator: boolean;
}) =>
  rows.length === 0 ? null : (
    <div class="attention">
      <p>
        <strong>{formatCounted(rows.length, 'delivery', 'deliveries')}</strong> with unknown result: nothing is sent
        again until you decide.
      </p>
      <ul class="plain-list compact">
        {rows.map(({ id, recipient, target }) => (
          <li>
            <a class="wrap" href={`/deliveries/${id}`}>
              {isOperator ? `Decide about ${recipient}` : recipient}
            </a>{' '}
            <span class="muted target">{target}</span>
          </li>
        ))}
      </ul>
    </div>
  );
