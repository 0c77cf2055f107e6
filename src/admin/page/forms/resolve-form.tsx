import type { DeliveryRow } from '../../../services/deliveries/decisions.ts';
import { ErrorDetails } from '../components/error-details.tsx';
import { Csrf, type LayoutData } from '../components/layout.tsx';
import { ReasonInput, type RejectedForm } from './reason-form.tsx';

interface ResolveProps {
  readonly layout: LayoutData;
  readonly row: DeliveryRow;
  readonly from: string;
  readonly refused: RejectedForm | undefined;
}

/** The decisions that each state allows. */
const OPEN_CHOICES: Partial<Record<DeliveryRow['state'], readonly ('sent' | 'resend')[]>> = {
  unknown: ['sent', 'resend'],
  refused: ['resend'],
  skipped: ['resend'],
};

const CHOICE_TEXTS = {
  sent: {
    label: 'It arrived',
    text: 'Marks the delivery as sent and sends nothing. Choose this when the recipient has it. The run is done once all its deliveries are sent.',
  },
  resend: {
    label: 'Send it again',
    text: 'Sends the same files again; an e-mail keeps its Message-ID. A recipient who already has it may get it twice.',
  },
} as const;

/** The path to post a decision about a delivery to. */
export const resolvePath = ({ id }: Pick<DeliveryRow, 'id'>): string => `/deliveries/${id}/resolve`;

export const ResolveForm = ({ layout, row, from, refused }: ResolveProps) => {
  const action = resolvePath(row);
  const rejected = refused?.action === action ? refused : undefined;
  const id = `resolve-${row.id}`;
  const choices = OPEN_CHOICES[row.state] ?? [];
  if (choices.length === 0) return null;
  return (
    <form class="resolve" method="post" action={action}>
      <Csrf layout={layout} />
      <input type="hidden" name="from" value={from} />
      {rejected === undefined ? null : (
        <ErrorDetails error={rejected.error} id={`${id}-error`} heading="Action rejected" />
      )}
      <fieldset>
        <legend>Did the delivery to {row.recipient} arrive?</legend>
        <ResolutionChoices id={id} choices={choices} chosen={rejected?.values.as} />
      </fieldset>
      <ReasonInput id={`${id}-reason`} question="How do you know?" value={rejected?.values.reason} />
      <button type="submit" class="primary">
        Decide
      </button>
    </form>
  );
};

interface ChoicesProps {
  /** Prefix of the ids of the inputs. */
  readonly id: string;
  readonly choices: readonly (keyof typeof CHOICE_TEXTS)[];
  readonly chosen: string | undefined;
}

/** The possible decisions about a delivery, each with its effect. */
export const ResolutionChoices = ({ id, choices, chosen }: ChoicesProps) => (
  <>
    {choices.map((as) => (
      <div class="choice">
        <input
          type="radio"
          name="as"
          value={as}
          id={`${id}-${as}`}
          required
          checked={chosen === as}
          aria-describedby={`${id}-${as}-means`}
        />
        <label for={`${id}-${as}`}>{CHOICE_TEXTS[as].label}</label>
        <p class="hint" id={`${id}-${as}-means`}>
          {CHOICE_TEXTS[as].text}
        </p>
      </div>
    ))}
  </>
);
