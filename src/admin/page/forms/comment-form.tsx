import { MAX_COMMENT_LENGTH } from '../../../definitions/commentary/comment-text.ts';
import type { CarriedComment } from '../../../services/reviews/review-service.ts';
import { ErrorDetails } from '../components/error-details.tsx';
import { formatInteger } from '../components/format-numbers.ts';
import { Csrf, type LayoutData } from '../components/layout.tsx';
import type { RejectedForm } from './reason-form.tsx';

interface CommentFormProps {
  readonly layout: LayoutData;
  readonly run: string;
  /** Whether the run needs approval. */
  readonly approvable: boolean;
  /** Null: the whole report. */
  readonly section: string | null;
  readonly title: string;
  /** For a report with `split`: the values that a comment may be for. */
  readonly values: readonly string[];
  /** The current comment; null if the section has none. */
  readonly text: string | null;
  /** The previous period's comment, if somebody wants to start from it. */
  readonly draft: CarriedComment | undefined;
  readonly refused: RejectedForm | undefined;
}

/** The section in addresses and forms. `_` stands for the whole report. */
export const sectionKey = (section: string | null): string => section ?? '_';

const commentAction = (run: string): string => `/runs/${run}/comments`;

/** Whether the rejected form is the one of this section. */
const isRejectionFor = (
  refused: RejectedForm | undefined,
  run: string,
  section: string | null,
): refused is RejectedForm => refused?.action === commentAction(run) && refused.values.section === sectionKey(section);

/** Writes, changes or withdraws the comment on a section. */
export const CommentForm = ({
  layout,
  run,
  approvable,
  section,
  title,
  values,
  text,
  draft,
  refused,
}: CommentFormProps) => {
  const rejected = isRejectionFor(refused, run, section) ? refused : undefined;
  const id = `comment-text-${sectionKey(section)}`;
  const errorId = rejected === undefined ? undefined : `${id}-error`;
  return (
    <details class="action" open={rejected !== undefined || draft !== undefined}>
      <summary class="button">{text === null ? 'Write a comment…' : 'Change the comment…'}</summary>
      <form method="post" action={commentAction(run)} class="comment-form">
        <Csrf layout={layout} />
        <input type="hidden" name="section" value={sectionKey(section)} />
        {rejected === undefined ? null : (
          <ErrorDetails error={rejected.error} id={errorId ?? id} heading="Comment not stored" />
        )}
        {draft === undefined ? null : (
          <p class="attention">
            {draft.kind === 'actions'
              ? `These are the open actions of ${draft.period} by ${draft.author}. Delete what is done: what you store is yours.`
              : `This draft is the comment of ${draft.period} by ${draft.author}. Check every sentence against the figures of this period.`}
          </p>
        )}
        {values.length === 0 ? null : (
          <label>
            In{' '}
            <select name="value">
              <option value="">every pack</option>
              {values.map((value) => (
                <option value={value} selected={rejected?.values.value === value}>
                  the pack of {value} only
                </option>
              ))}
            </select>
          </label>
        )}
        <label for={id}>Comment: {title}</label>
        <textarea id={id} name="text" rows={7} maxlength={MAX_COMMENT_LENGTH} aria-describedby={errorId}>
          {rejected?.values.text ?? draft?.text ?? text ?? ''}
        </textarea>
        <p class="hint">
          Plain text, at most {formatInteger(MAX_COMMENT_LENGTH)} characters. An empty line begins a paragraph,{' '}
          <code>- </code> or <code>1. </code> an item of a list, <code>*…*</code> is emphasis, <code>**…**</code>{' '}
          strong. Quote figures by their references, such as <code>{'{{ onboarding.profiles.created }}'}</code>: they
          print what the pack prints. Your name is printed with the comment.
          {approvable ? ' Under four_eyes, the author of a comment cannot approve the run.' : null}
        </p>
        <p class="buttons">
          <button type="submit" class="primary">
            Store the comment
          </button>{' '}
          {text === null && values.length === 0 ? null : (
            <button type="submit" name="withdraw" value="yes" class="danger" formnovalidate>
              Withdraw the comment
            </button>
          )}
        </p>
      </form>
    </details>
  );
};
