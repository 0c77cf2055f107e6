import type { Child } from 'hono/jsx';
import type { ErrorJson } from '../../../base/error.ts';
import { ErrorDetails } from '../components/error-details.tsx';
import { Csrf, type LayoutData } from '../components/layout.tsx';

/** A form whose action was rejected. */
export interface RejectedForm {
  /** The path that the form was posted to. */
  readonly action: string;
  readonly values: Readonly<Record<string, string>>;
  readonly error: ErrorJson;
}

interface ReasonFormProps {
  readonly layout: LayoutData;
  readonly action: string;
  /** The page to return to. */
  readonly from: string;
  readonly label: string;
  /** The label of the reason. */
  readonly question: string;
  /** Describes the action. */
  readonly children?: Child;
  readonly refused?: RejectedForm | undefined;
  readonly danger?: boolean;
}

/** A button that opens a form for the reason. The extra step protects against accidental clicks. */
export const ReasonForm = (props: ReasonFormProps) => (
  <details class="action" open={props.refused?.action === props.action}>
    <summary class={props.danger ? 'button danger' : 'button'}>{props.label}…</summary>
    <OpenReasonForm {...props} />
  </details>
);

/** The form without the button, for use beside what it decides about. */
export const OpenReasonForm = ({
  layout,
  action,
  from,
  label,
  question,
  children,
  refused,
  danger = false,
  class: kind,
}: ReasonFormProps & { readonly class?: string }) => {
  const rejected = refused?.action === action ? refused : undefined;
  const id = `reason-${action.replaceAll(/[^a-zA-Z0-9]+/g, '-')}`;
  return (
    <form method="post" action={action} class={kind}>
      <Csrf layout={layout} />
      <input type="hidden" name="from" value={from} />
      {children}
      {rejected === undefined ? null : (
        <ErrorDetails error={rejected.error} id={`${id}-error`} heading="Action rejected" />
      )}
      <ReasonInput
        id={id}
        question={question}
        value={rejected?.values.reason}
        describedBy={rejected === undefined ? undefined : `${id}-error`}
      />
      <p class="hint">Recorded under your name, {layout.principal.name}.</p>
      <button type="submit" class={danger ? 'danger' : 'primary'}>
        {label}
      </button>
    </form>
  );
};

interface ReasonInputProps {
  readonly id: string;
  readonly question: string;
  readonly value: string | undefined;
  readonly describedBy?: string | undefined;
}

export const ReasonInput = ({ id, question, value = '', describedBy }: ReasonInputProps) => (
  <>
    <label for={id}>{question}</label>
    <input
      id={id}
      name="reason"
      required
      maxlength={500}
      autocomplete="off"
      value={value}
      aria-describedby={describedBy}
    />
  </>
);
