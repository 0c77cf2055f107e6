import type { DeliveryRow } from '../../queue/decisions.ts';
import { Fault } from './fault.tsx';
import { Csrf, type Frame } from './frame.tsx';
import type { Refused } from './reason-form.tsx';

interface ResolveProps {
  readonly frame: Frame;
  readonly row: DeliveryRow;
  readonly from: string;
  readonly refused: Refused | undefined;
}

/** Which decisions a state leaves open. */
const CHOICES: Partial<Record<DeliveryRow['state'], readonly ('sent' | 'resend')[]>> = {
  unknown: ['sent', 'resend'],
  refused: ['resend'],
};

const MEANS = {
  sent: {
    word: 'It has arrived',
    text: 'The delivery is recorded as sent. Nothing leaves. Choose this when the recipient has it.',
  },
  resend: {
    word: 'Send it again',
    text: 'The very same files leave once more, an e-mail with the same Message-ID. Whoever has got it already may get it twice.',
  },
} as const;

/** Decides of a delivery: what each choice does stands beside it. */
export const ResolveForm = ({ frame, row, from, refused }: ResolveProps) => {
  const action = `/deliveries/${row.id}/resolve`;
  const own = refused?.action === action ? refused : undefined;
  const id = `resolve-${row.id}`;
  const choices = CHOICES[row.state] ?? [];
  if (choices.length === 0) return null;
  return (
    <form class="resolve" method="post" action={action}>
      <Csrf frame={frame} />
      <input type="hidden" name="from" value={from} />
      {own === undefined ? null : <Fault error={own.error} id={`${id}-fault`} heading="This was not done" />}
      <fieldset>
        <legend>What became of the delivery to {row.recipient}?</legend>
        {choices.map((as) => (
          <div class="choice">
            <input
              type="radio"
              name="as"
              value={as}
              id={`${id}-${as}`}
              required
              checked={own?.values.as === as}
              aria-describedby={`${id}-${as}-means`}
            />
            <label for={`${id}-${as}`}>{MEANS[as].word}</label>
            <p class="hint" id={`${id}-${as}-means`}>
              {MEANS[as].text}
            </p>
          </div>
        ))}
      </fieldset>
      <label for={`${id}-reason`}>How do you know?</label>
      <input
        id={`${id}-reason`}
        name="reason"
        required
        maxlength={500}
        autocomplete="off"
        value={own?.values.reason ?? ''}
      />
      <button type="submit" class="primary">
        Decide
      </button>
    </form>
  );
};
