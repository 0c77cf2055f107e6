import type { Child } from 'hono/jsx';
import type { ErrorJson } from '../../base/error.ts';
import { Fault } from './fault.tsx';
import { Csrf, type Frame } from './frame.tsx';

/** An action that was not carried out: what was sent, kept for another try, and why. */
export interface Refused {
  /** The path that was posted to. */
  readonly action: string;
  readonly values: Readonly<Record<string, string>>;
  readonly error: ErrorJson;
}

interface ReasonFormProps {
  readonly frame: Frame;
  readonly action: string;
  /** The page to go back to. */
  readonly from: string;
  readonly label: string;
  readonly ask: string;
  /** What the action does, for whoever is about to do it. */
  readonly children?: Child;
  readonly refused?: Refused | undefined;
  readonly danger?: boolean;
}

/** A button that opens a form which asks for the reason: nothing is decided by one slip of the mouse. */
export const ReasonForm = ({ frame, action, from, label, ask, children, refused, danger = false }: ReasonFormProps) => {
  const own = refused?.action === action ? refused : undefined;
  const id = `reason-${action.replaceAll(/[^a-zA-Z0-9]+/g, '-')}`;
  return (
    <details class="act" open={own !== undefined}>
      <summary class={danger ? 'button danger' : 'button'}>{label}…</summary>
      <form method="post" action={action}>
        <Csrf frame={frame} />
        <input type="hidden" name="from" value={from} />
        {children}
        {own === undefined ? null : <Fault error={own.error} id={`${id}-fault`} heading="This was not done" />}
        <label for={id}>{ask}</label>
        <input
          id={id}
          name="reason"
          required
          maxlength={500}
          autocomplete="off"
          value={own?.values.reason ?? ''}
          {...(own === undefined ? {} : { 'aria-describedby': `${id}-fault` })}
        />
        <p class="hint">It is kept with your name, {frame.principal.name}.</p>
        <button type="submit" class={danger ? 'danger' : 'primary'}>
          {label}
        </button>
      </form>
    </details>
  );
};
