import { voterName } from '../../../../run/review/delegations.ts';
import type { ReviewPhase } from '../../../../run/review/review-state.ts';
import type { ReviewView } from '../../../../services/reviews/review-service.ts';
import type { HeldRun } from '../../../access/runs.ts';
import { ApproveForm, DelegateForm, RejectForm, shortHash } from '../../forms/approval-forms.tsx';
import { sectionKey } from '../../forms/comment-form.tsx';
import { OpenReasonForm, type RejectedForm } from '../../forms/reason-form.tsx';
import { MissingFigures, Recipients } from '../../forms/release-review.tsx';
import { DEFAULT_APPROVAL_REASON } from '../../routes/review-actions.ts';
import { ErrorDetails } from '../error-details.tsx';
import { formatByteCount, formatCounted } from '../format-numbers.ts';
import { canAct, Fact, type LayoutData } from '../layout.tsx';
import { RelativeTime, Timestamp } from '../time.tsx';
import { CommentHistory } from './review-history.tsx';
import { ReviewSections } from './review-sections.tsx';

interface ReviewPanelProps {
  readonly layout: LayoutData;
  readonly view: ReviewView;
  /** What is missing in the files, and who would receive them. Null if there are no files, or nothing waits. */
  readonly reviewed: HeldRun | null;
  readonly zone: string;
  /** The section whose draft somebody wants to start from. */
  readonly draft: string | undefined;
  readonly refused: RejectedForm | undefined;
}

/** What a reviewed run waits for, what people check before they decide, and the forms for comments and decisions. */
export const ReviewPanel = ({ layout, view, reviewed, zone, draft, refused }: ReviewPanelProps) => {
  const { state, record } = view;
  const { phase, content } = state;
  const isOpen = OPEN_PHASES.includes(phase);
  // Files that do not exist yet cannot be approved.
  const isRendered = content !== null && view.files.length > 0;
  const approves = isOpen && isRendered && view.refusal === null;
  const rejects = isOpen && content !== null && view.canReject;
  const { heading, lead, isCalm } = PHASES[phase];
  return (
    // Reviewers keep the content they have checked: only the facts are updated. A reload shows newer content.
    <div id="review-part" {...(isRendered && (approves || rejects) ? {} : { 'data-live': true })}>
      <section
        class={isCalm ? 'review calm' : 'review'}
        id="review"
        aria-labelledby="review-heading"
        data-phase={phase}
      >
        <h2 id="review-heading">{heading}</h2>
        <p class="lead">
          {lead} {phase === 'incomplete' ? incompleteLead(state.need) : null}
        </p>
        {withoutForm(refused, view, { approves, rejects, comments: isOpen && canAct(layout) }) ? (
          <ErrorDetails error={refused.error} id="review-rejected" heading="Action rejected" />
        ) : null}
        <div class="two-columns">
          <Facts view={view} zone={zone} now={layout.now} />
          {content === null ? null : (
            <div>
              <h3>What is reviewed</h3>
              <ReviewFiles view={view} />
              {reviewed === null || view.files.length === 0 ? null : <ReviewedDelivery reviewed={reviewed} />}
            </div>
          )}
        </div>
        {content === null ? null : (
          <>
            <EmailPreview view={view} />
            <h3>Figures and comments</h3>
            <ReviewSections layout={layout} view={view} zone={zone} isOpen={isOpen} draft={draft} refused={refused} />
          </>
        )}
        {approves ? (
          <ApproveForm layout={layout} run={record.id} content={content} delivered={view.delivered} refused={refused} />
        ) : null}
        {isOpen && state.need > 0 && phase !== 'comments' && view.refusal !== null ? (
          <p id="review-refusal" class="more">
            <strong>You cannot approve it.</strong> {view.refusal}
          </p>
        ) : null}
        {view.deputies.length > 0 ? <DelegateForm layout={layout} view={view} refused={refused} /> : null}
        {rejects ? <RejectForm layout={layout} run={record.id} content={content} refused={refused} /> : null}
        {phase === 'incomplete' && canAct(layout) ? (
          <OpenReasonForm
            layout={layout}
            from={`/runs/${record.id}`}
            refused={refused}
            class="resolve"
            action={`/runs/${record.id}/release`}
            label="Accept the missing figures"
            question="Why are they accepted?"
          >
            <p>
              {state.need > 0
                ? 'It then waits for approval.'
                : 'It is then delivered, with the missing figures marked.'}
            </p>
          </OpenReasonForm>
        ) : null}
        <CommentHistory view={view} zone={zone} />
      </section>
    </div>
  );
};

const OPEN_PHASES: readonly ReviewPhase[] = ['comments', 'incomplete', 'approval'];

/** The rejection of an action whose form is no longer on the page. */
function withoutForm(
  refused: RejectedForm | undefined,
  view: ReviewView,
  shown: { readonly approves: boolean; readonly rejects: boolean; readonly comments: boolean },
): refused is RejectedForm {
  const path = `/runs/${view.record.id}`;
  switch (refused?.action) {
    case `${path}/approve`:
      return !shown.approves;
    case `${path}/delegate`:
      return view.deputies.length === 0;
    case `${path}/reject`:
      return !shown.rejects;
    case `${path}/comments`:
      return (
        !shown.comments ||
        ![null, ...view.sections.map(({ id }) => id)].some((id) => sectionKey(id) === refused.values.section)
      );
    default:
      return false;
  }
}

interface PhaseText {
  readonly heading: string;
  readonly lead: string;
  /** Nobody has to act. */
  readonly isCalm: boolean;
}

const PHASES: Readonly<Record<ReviewPhase, PhaseText>> = {
  figures: { heading: 'In review', lead: 'Its figures are being fetched.', isCalm: true },
  comments: {
    heading: 'Waiting for comments',
    lead: 'Nothing is sent before every required comment is there.',
    isCalm: false,
  },
  incomplete: { heading: 'Held: figures are missing', lead: 'Nothing was sent.', isCalm: false },
  approval: {
    heading: 'Waiting for approval',
    lead: 'Nothing is sent before enough people have approved exactly this content. A new comment or new figures change it, and earlier approvals no longer count.',
    isCalm: false,
  },
  ready: { heading: 'Review complete', lead: 'A worker publishes and delivers it now.', isCalm: true },
  sealed: { heading: 'Reviewed', lead: 'This content is published. Nothing can be added.', isCalm: true },
  rejected: { heading: 'Rejected', lead: 'The run has ended. Nothing was sent.', isCalm: true },
  cancelled: { heading: 'Review cancelled', lead: 'The run has ended. Nothing was sent.', isCalm: true },
};

const incompleteLead = (need: number): string =>
  need > 0
    ? 'An approval accepts the figures as they are. To wait for complete ones, reject it and have them fetched again.'
    : 'It stays held until somebody accepts the figures as they are.';

interface FactsProps {
  readonly view: ReviewView;
  readonly zone: string;
  readonly now: number;
}

const Facts = ({ view: { state, due, reviewers, sections, delivered }, zone, now }: FactsProps) => {
  const { need, approvals, delegations, missingComments, content, since, phase } = state;
  const isOpen = OPEN_PHASES.includes(phase);
  const titleOf = (id: string): string => sections.find((section) => section.id === id)?.title ?? id;
  return (
    <dl class="facts" id="review-facts" data-live>
      {missingComments.length === 0 ? null : (
        <Fact name="Comments">
          missing on{' '}
          {missingComments.map((id, index) => (
            <>
              {index === 0 ? '' : ', '}
              <a href={`#comment-${id}`}>{titleOf(id)}</a>
            </>
          ))}
        </Fact>
      )}
      {need === 0 ? null : (
        <Fact name="Approvals">
          {approvals.length} of {need}
          {approvals.map(({ by, at, reason }) => (
            <span class="line">
              <span class="state good">{voterName(by)}</span> <Timestamp at={at} zone={zone} />
              {reason === DEFAULT_APPROVAL_REASON ? null : <span class="muted wrap"> {reason}</span>}
            </span>
          ))}
        </Fact>
      )}
      {need === 0 || !isOpen ? null : (
        <Fact name="May approve">{reviewers.length === 0 ? 'nobody' : reviewers.join(', ')}</Fact>
      )}
      {delegations.length === 0 ? null : (
        <Fact name="Deputies">
          {delegations.map(({ from, to, by, until, reason }) => (
            <span class="line">
              {to.name} for {from.name}
              {until === null ? null : (
                <>
                  {' '}
                  until <Timestamp at={until - 1} zone={zone} />
                </>
              )}{' '}
              <span class="muted wrap">
                named by {by.name}: {reason}
              </span>
            </span>
          ))}
        </Fact>
      )}
      {delivered === null ? null : <Fact name="Already delivered">{delivered}</Fact>}
      {due === null || !isOpen ? null : (
        <Fact name="Due">
          {/* Midnight is shown as the end of the day before, as in the notices. */}
          <Timestamp at={due - 1} zone={zone} weekday />{' '}
          <span class="muted">
            <RelativeTime at={due} now={now} />
          </span>
        </Fact>
      )}
      {since === null || !isOpen ? null : (
        <Fact name="Waiting since">
          <Timestamp at={since} zone={zone} />
        </Fact>
      )}
      {content === null ? null : (
        <Fact name="Content">
          <code title={content}>{shortHash(content)}</code>
        </Fact>
      )}
    </dl>
  );
};

/** If there are more files, CSV files and their schemas are folded. */
const MAX_OPEN_FILES = 4;

/** The files of exactly this content, and its e-mail. */
const ReviewFiles = ({ view }: { readonly view: ReviewView }) => {
  const { files, record, packs } = view;
  if (files.length === 0) return <p>A worker is making the files. They appear here in a moment.</p>;
  if (packs.length > 0) return <ReviewPacks view={view} />;
  const isData = ({ name }: { readonly name: string }): boolean => /\.(csv|schema\.json)$/.test(name);
  const folded = files.length > MAX_OPEN_FILES ? files.filter(isData) : [];
  const tables = folded.filter(({ name }) => name.endsWith('.csv')).length;
  const item = ({ name, bytes }: ReviewView['files'][number]) => (
    <li>
      <a class="wrap" href={reviewFilePath(record.id, name)} download={name}>
        {name}
      </a>{' '}
      <span class="muted">{formatByteCount(bytes)}</span>
    </li>
  );
  return (
    <>
      <ul class="plain-list compact">{files.filter((file) => !folded.includes(file)).map(item)}</ul>
      {folded.length === 0 ? null : (
        <details class="fold">
          <summary>
            {formatCounted(tables, 'CSV file')}
            {tables === folded.length ? '' : ', with schemas'}
          </summary>
          <ul class="plain-list compact">{folded.map(item)}</ul>
        </details>
      )}
      <p class="more">
        <a href={reviewPreviewPath(record.id)}>E-mail preview</a>
      </p>
    </>
  );
};

/** Each pack that the decision covers, with its headlines and files. */
const ReviewPacks = ({ view: { files, record, packs } }: { readonly view: ReviewView }) => (
  <>
    <p>One decision for {packs.length === 1 ? 'this pack' : `these ${packs.length} packs`}:</p>
    {packs.map(({ label, slug, headlines, held }) => (
      <details class="fold">
        <summary>
          <strong>{label}</strong> {held === null ? headlines[0] : 'held'}
        </summary>
        {held === null ? null : <p>{held}</p>}
        <ul class="plain-list compact">
          {headlines.map((headline) => (
            <li>{headline}</li>
          ))}
          {[...files.filter(({ name }) => name.startsWith(`${slug}/`)), { name: `${slug}/mail.html` }].map(
            ({ name }) => (
              <li>
                <a class="wrap" href={reviewFilePath(record.id, name)} download={name.split('/').at(-1)}>
                  {name.split('/').at(-1)}
                </a>
              </li>
            ),
          )}
        </ul>
      </details>
    ))}
  </>
);

/** What an approval accepts besides the files: gaps in the figures, and the recipients. */
const ReviewedDelivery = ({ reviewed: { missing, recipients } }: { readonly reviewed: HeldRun }) => (
  <div id="review-delivery">
    {missing === null || missing.length === 0 ? null : (
      <>
        <h3>Missing figures</h3>
        <MissingFigures missing={missing} />
      </>
    )}
    <h3>Would receive it</h3>
    <Recipients recipients={recipients} />
  </div>
);

/** With packs there is one e-mail per pack, so none here. */
const EmailPreview = ({ view: { files, packs, record } }: { readonly view: ReviewView }) =>
  files.length > 0 && packs.length === 0 ? (
    <details class="fold">
      <summary>The e-mail as it would be sent</summary>
      <iframe
        class="preview"
        src={reviewPreviewPath(record.id)}
        sandbox=""
        loading="lazy"
        title="The e-mail as it would be sent"
      ></iframe>
    </details>
  ) : null;

/** A rendered file of the content under review. */
const reviewFilePath = (run: string, name: string): string =>
  `/api/runs/${run}/review/files/${encodeURIComponent(name)}`;

/** The path of the e-mail of the content under review, as a page. */
const reviewPreviewPath = (run: string): string => `/api/runs/${run}/review/preview`;
