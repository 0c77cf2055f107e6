import { type RunRecord, TERMINAL_STATES } from '../../../run/run-record.ts';
import { isReportDelivery, retryScope } from '../../../services/deliveries/decision-rules.ts';
import type { DeliveryRow } from '../../../services/deliveries/decisions.ts';
import type { HeldRun } from '../../access/access.ts';
import { ErrorDetails } from '../components/error-details.tsx';
import { formatCounted, formatInteger } from '../components/format-numbers.ts';
import { canAct, type LayoutData } from '../components/layout.tsx';
import type { RunFilesView } from '../routes/loaders.ts';
import { ReasonForm, type RejectedForm } from './reason-form.tsx';
import { ReleaseReview } from './release-review.tsx';

interface RunActionsProps {
  readonly frame: LayoutData;
  readonly record: RunRecord;
  readonly deliveries: readonly DeliveryRow[];
  readonly files: RunFilesView;
  readonly held: HeldRun | null;
  readonly refused: RejectedForm | undefined;
}

/** What may be decided of a run in its state, with what whoever decides wants to know. */
export const RunActions = ({ frame, record, deliveries, files, held, refused }: RunActionsProps) => {
  const path = `/runs/${record.id}`;
  const shown = { frame, from: path, refused };
  const scope = retryScope(record.state, deliveries);
  const offered = new Set([
    ...(TERMINAL_STATES.has(record.state) ? [] : ['cancel']),
    ...(scope === 'nothing' ? [] : ['retry']),
    ...(held === null ? [] : ['release']),
  ]);
  const elsewhere = refused !== undefined && ![...offered].some((what) => refused.action === `${path}/${what}`);
  const acts = canAct(frame);
  return (
    <div id="acts" data-live>
      {held === null ? null : (
        <ReleaseReview held={held} files={files}>
          {acts ? (
            <ReasonForm
              {...shown}
              action={`${path}/release`}
              label="Release the pack"
              ask="Why may it go out as it is?"
            >
              <p>The files go to these recipients as they are, with their marks of what is missing.</p>
            </ReasonForm>
          ) : null}
        </ReleaseReview>
      )}
      <div class="acts">
        {elsewhere ? <ErrorDetails error={refused.error} id="refused" heading="This was not done" /> : null}
        {acts && offered.has('cancel') ? (
          <ReasonForm {...shown} action={`${path}/cancel`} label="Cancel this run" ask="Why is it stopped?" danger>
            <p>It stops before its next step. What has been sent stays sent.</p>
          </ReasonForm>
        ) : null}
        <UndecidedDeliveries rows={deliveries.filter(({ state }) => state === 'unknown')} acts={acts} />
        {acts && offered.has('retry') ? (
          <ReasonForm {...shown} action={`${path}/retry`} {...RETRY_TEXTS[scope]} ask="Why is it tried again?">
            <p>{scope === 'deliveries' ? retrySummary(deliveries) : RETRY_TEXTS.run.text}</p>
          </ReasonForm>
        ) : null}
      </div>
    </div>
  );
};

const RETRY_TEXTS = {
  deliveries: { label: 'Retry the rest' },
  run: {
    label: 'Retry the run',
    text: 'It goes on where it stopped, with the definition and the period that it was triggered with. Files that are archived are used as they are.',
  },
  nothing: { label: '' },
} as const;

/** Which deliveries a retry sends, and which it does not. */
function retrySummary(rows: readonly DeliveryRow[]): string {
  const own = rows.filter(isReportDelivery);
  const of = (...states: DeliveryRow['state'][]) => own.filter(({ state }) => states.includes(state)).length;
  const parts = [
    ...(of('refused') === 0 ? [] : [`${formatInteger(of('refused'))} refused`]),
    ...(of('pending', 'sending') === 0 ? [] : [`${formatInteger(of('pending', 'sending'))} pending`]),
  ];
  const one = of('refused', 'pending', 'sending') === 1;
  const sent = `${parts.join(' and ')} ${one ? 'delivery is' : 'deliveries are'} sent again with the same files.`;
  if (of('unknown') === 0) return sent;
  return `${sent} ${formatCounted(of('unknown'), 'unknown delivery stays as it is', 'unknown deliveries stay as they are')}.`;
}

/** Deliveries that only somebody's decision moves on. */
const UndecidedDeliveries = ({ rows, acts }: { readonly rows: readonly DeliveryRow[]; readonly acts: boolean }) =>
  rows.length === 0 ? null : (
    <div class="needs">
      <p>
        <strong>{formatCounted(rows.length, 'delivery', 'deliveries')}</strong> may have arrived, and may not have:
        nothing is sent again until somebody decides.
      </p>
      <ul class="plainlist close">
        {rows.map(({ id, recipient, target }) => (
          <li>
            <a class="wrap" href={`/deliveries/${id}`}>
              {acts ? `Decide about ${recipient}` : recipient}
            </a>{' '}
            <span class="soft target">{target}</span>
          </li>
        ))}
      </ul>
    </div>
  );
