import type { ReviewView } from '../../../services/reviews/review-service.ts';
import { ErrorDetails } from '../components/error-details.tsx';
import { Csrf, type LayoutData } from '../components/layout.tsx';
import { ReasonForm, ReasonInput, type RejectedForm } from './reason-form.tsx';

interface DecisionProps {
  readonly layout: LayoutData;
  readonly run: string;
  /** SHA-256 of the content on the page. The decision is about exactly this content. */
  readonly content: string;
  readonly refused: RejectedForm | undefined;
}

/** The first eight digits of a hash: enough for people to compare. */
export const shortHash = (hash: string): string => hash.slice(0, 8);

const selectRejection = (refused: RejectedForm | undefined, action: string): RejectedForm | undefined =>
  refused?.action === action ? refused : undefined;

interface ApproveProps extends DecisionProps {
  /** What another run has delivered for the period; null if nothing. */
  readonly delivered: string | null;
}

/** Approves the content on the page. If the period was already delivered, an extra box must be ticked. */
export const ApproveForm = ({ layout, run, content, delivered, refused }: ApproveProps) => {
  const action = `/runs/${run}/approve`;
  const rejected = selectRejection(refused, action);
  return (
    <form class="resolve" method="post" action={action} id="approve">
      <Csrf layout={layout} />
      <input type="hidden" name="content" value={content} />
      {rejected === undefined ? null : (
        <ErrorDetails error={rejected.error} id="approve-error" heading="Not approved" />
      )}
      <p>
        You approve exactly what this page shows: figures, comments, files and e-mail (content{' '}
        <code title={content}>{shortHash(content)}</code>). If any of it has changed since, your approval is refused.
      </p>
      {delivered === null ? null : (
        <div id="approve-delivered">
          <p>
            <strong>Already delivered.</strong> {delivered}
          </p>
          <div class="choice">
            <input type="checkbox" name="again" value="yes" id="approve-again" required />
            <label for="approve-again">Approve it anyway: it is delivered again, to all recipients</label>
          </div>
        </div>
      )}
      <label for="approve-reason">Note (optional)</label>
      <input
        id="approve-reason"
        name="reason"
        maxlength={500}
        autocomplete="off"
        value={rejected?.values.reason ?? ''}
        aria-describedby={rejected === undefined ? undefined : 'approve-error'}
      />
      <p class="hint">
        The note is recorded and not printed. The pack names you as approver, and for whom if you are a deputy.
      </p>
      <button type="submit" class="primary">
        Approve
      </button>
    </form>
  );
};

interface DelegateProps {
  readonly layout: LayoutData;
  readonly view: ReviewView;
  readonly refused: RejectedForm | undefined;
}

/** Names a deputy for an approver. */
export const DelegateForm = ({ layout, view: { record, deputies }, refused }: DelegateProps) => {
  const path = `/runs/${record.id}`;
  const action = `${path}/delegate`;
  const values = refused?.action === action ? refused.values : {};
  const people = new Map(deputies.flatMap(({ to }) => to.map(({ id, name }) => [id, name] as const)));
  const select = (name: 'from' | 'to', options: Iterable<readonly [id: string, label: string]>) => (
    <select id={`delegate-${name}`} name={name} required>
      {[...options].map(([id, label]) => (
        <option value={id} selected={values[name] === id}>
          {label}
        </option>
      ))}
    </select>
  );
  return (
    <ReasonForm
      {...{ layout, action, refused }}
      from={path}
      label="Name a deputy"
      question="Why does the approver need one?"
    >
      <p>Only one of approver and deputy can approve. The pack names both. The deputy gets a notice.</p>
      <label for="delegate-from">Approver</label>
      {select(
        'from',
        deputies.map(({ from: { id, name } }) => [id, name] as const),
      )}
      <label for="delegate-to">Deputy</label>
      {select('to', people)}
      <label for="delegate-until">Last day (optional)</label>
      <input id="delegate-until" name="until" type="date" value={values.until ?? ''} />
    </ReasonForm>
  );
};

/** Rejects the content on the page, with a reason: the run ends, or its figures are fetched again. */
export const RejectForm = ({ layout, run, content, refused }: DecisionProps) => {
  const action = `/runs/${run}/reject`;
  const rejected = selectRejection(refused, action);
  return (
    <details class="action" open={rejected !== undefined}>
      <summary class="button danger">Reject…</summary>
      <form method="post" action={action}>
        <Csrf layout={layout} />
        <input type="hidden" name="content" value={content} />
        {rejected === undefined ? null : (
          <ErrorDetails error={rejected.error} id="reject-error" heading="Not rejected" />
        )}
        <fieldset>
          <legend>What happens then</legend>
          {REJECTIONS.map(([value, label]) => (
            <div class="choice">
              <input
                type="radio"
                name="outcome"
                value={value}
                id={`reject-${value}`}
                required
                checked={rejected?.values.outcome === value}
              />
              <label for={`reject-${value}`}>{label}</label>
            </div>
          ))}
        </fieldset>
        <ReasonInput
          id="reject-reason"
          question="Why is it rejected?"
          value={rejected?.values.reason}
          describedBy={rejected === undefined ? undefined : 'reject-error'}
        />
        <p class="hint">
          Recorded under your name, {layout.principal.name}, and sent to the report’s owner and to the person who
          triggered it.
        </p>
        <button type="submit" class="danger">
          Reject
        </button>
      </form>
    </details>
  );
};

const REJECTIONS = [
  ['end', 'The run ends and nothing is sent'],
  ['refetch', 'The figures are fetched again and need approval again'],
] as const;
