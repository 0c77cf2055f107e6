import { MAX_COMMENT_LENGTH } from '../../../definitions/commentary/comment-text.ts';
import { isSplitTarget } from '../../../definitions/schema/kinds.ts';
import type { RunRecord } from '../../../run/run-record.ts';
import { isReportDelivery } from '../../../services/deliveries/decision-rules.ts';
import type { DeliveryRow } from '../../../services/deliveries/decisions.ts';
import { formatCounted } from '../components/format-numbers.ts';
import { canAct, type LayoutData } from '../components/layout.tsx';
import { ReasonForm, type RejectedForm } from './reason-form.tsx';

interface CorrectionFormProps {
  readonly layout: LayoutData;
  readonly record: RunRecord;
  readonly deliveries: readonly DeliveryRow[];
  readonly refused: RejectedForm | undefined;
}

const ARRIVED: ReadonlySet<string> = new Set(['sent', 'unknown', 'sending']);

/** Sends a corrected edition of a run that was delivered to somebody. */
export const CorrectionForm = ({ layout, record, deliveries, refused }: CorrectionFormProps) => {
  const action = `/runs/${record.id}/correct`;
  const rows = deliveries.filter(isReportDelivery);
  const received = rows.filter(({ state }) => ARRIVED.has(state)).length;
  const open = rows.filter(({ state }) => state === 'pending' || state === 'refused').length;
  if (!canAct(layout) || received === 0) return null;
  const isSplit = rows.some(({ target }) => isSplitTarget(target));
  const values = refused?.action === action ? refused.values : {};
  return (
    <div class="actions" id="correct" data-live>
      <ReasonForm
        layout={layout}
        from={`/runs/${record.id}`}
        refused={refused}
        action={action}
        label="Send a corrected edition"
        question="What was wrong? The first page prints it."
      >
        {isSplit ? (
          <p>
            New figures are fetched. Packs with changed figures go to those who have them, marked as corrected. All
            packs do if none has changed, or with a comment or the current definition. Nothing more of this run is sent.
            If the report has an approval, the edition waits for it. Each pack prints the reason and the comment: name
            no value in them.
          </p>
        ) : (
          <p>
            New figures are fetched. The edition goes to {formatCounted(received, 'recipient')} of this run, marked as
            corrected{open === 0 ? '' : `, and without the mark to ${open} who did not get this run`}. Nobody else gets
            it. Nothing more of this run is sent. If the report has an approval, the edition waits for it.
          </p>
        )}
        <label for="correction-comment">Comment (optional)</label>
        <textarea id="correction-comment" name="comment" rows={4} maxlength={MAX_COMMENT_LENGTH}>
          {values.comment ?? ''}
        </textarea>
        <label for="correction-definition">Definition</label>
        <select id="correction-definition" name="definition">
          <option value="delivered">as delivered</option>
          <option value="current" selected={values.definition === 'current'}>
            as it is now
          </option>
        </select>
      </ReasonForm>
    </div>
  );
};
