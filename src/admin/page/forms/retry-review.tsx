import type { Child } from 'hono/jsx';
import { isReportDelivery } from '../../../services/deliveries/decision-rules.ts';
import type { DeliveryRow } from '../../../services/deliveries/decisions.ts';
import { AnswerList } from '../components/deliveries/answer-list.tsx';
import type { RunFilesView } from '../components/file-list.tsx';
import { formatCounted } from '../components/format-numbers.ts';

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
export const RetryReview = ({ scope, deliveries, files, zone, calm, children }: RetryProps) => (
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
