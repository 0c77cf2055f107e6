import type { ErrorJson } from '../../../base/error.ts';
import type { ProposedRecipient } from '../../../run/review/added-recipients.ts';
import { voterName } from '../../../run/review/delegations.ts';
import type { RunRecord } from '../../../run/run-record.ts';
import { isReportDelivery, REOPENABLE_STATES } from '../../../services/deliveries/decision-rules.ts';
import type { DeliveryRow } from '../../../services/deliveries/decisions.ts';
import { ErrorDetails } from '../components/error-details.tsx';
import { canAct, type LayoutData } from '../components/layout.tsx';
import { ReasonForm, type RejectedForm } from './reason-form.tsx';

interface RecipientProps {
  readonly layout: LayoutData;
  readonly record: RunRecord;
  readonly deliveries: readonly DeliveryRow[];
  /** Added recipients that wait for approval. */
  readonly added: readonly ProposedRecipient[] | { readonly error: ErrorJson };
  readonly refused: RejectedForm | undefined;
}

const emailTargets = (rows: readonly DeliveryRow[]): readonly string[] => [
  ...new Set(rows.flatMap(({ target }) => (/^\d+-email/.test(target) ? target : []))),
];

/** Sends the files of an ended run to additional recipients, and shows the recipients that wait for approval. */
export const Recipients = ({ layout, record, deliveries, added, refused }: RecipientProps) => {
  const path = `/runs/${record.id}`;
  const rows = deliveries.filter(isReportDelivery);
  const targets = emailTargets(rows);
  const isOffered = canAct(layout) && record.deliver && REOPENABLE_STATES.includes(record.state) && targets.length > 0;
  const form = { layout, from: path, refused };
  const correctable = rows.filter(({ state, target }) => state === 'refused' && targets.includes(target));
  const values = refused?.action === `${path}/recipients` ? refused.values : {};
  return (
    <div id="recipients" data-live>
      {'error' in added ? <ErrorDetails error={added.error} heading="Added recipients are not available" /> : null}
      {('error' in added ? [] : added).map((proposal) => (
        <Proposal {...form} path={path} proposal={proposal} />
      ))}
      {isOffered ? (
        <div class="actions">
          <ReasonForm
            {...form}
            action={`${path}/recipients`}
            label="Send to somebody"
            question="Why is it sent to this address?"
          >
            <p>
              The address gets the files of this run in a separate message. Nobody else gets anything, and the
              definition is not changed.
            </p>
            <label for="recipient-to">Address</label>
            <input
              id="recipient-to"
              name="to"
              type="email"
              required
              maxlength={320}
              autocomplete="off"
              value={values.to ?? ''}
            />
            {correctable.length === 0 ? null : (
              <>
                <label for="recipient-replaces">In place of</label>
                <select id="recipient-replaces" name="replaces">
                  <option value="">nobody (an additional recipient)</option>
                  {correctable.map(({ recipient, target }) => (
                    <option value={`${target} ${recipient}`} selected={values.replaces === `${target} ${recipient}`}>
                      {recipient}, refused
                    </option>
                  ))}
                </select>
              </>
            )}
            {targets.length < 2 ? null : (
              <>
                <label for="recipient-target">Which e-mail</label>
                <select id="recipient-target" name="target">
                  {targets.map((target) => (
                    <option value={target} selected={values.target === target}>
                      {target}
                    </option>
                  ))}
                </select>
              </>
            )}
          </ReasonForm>
        </div>
      ) : null}
    </div>
  );
};

interface ProposalProps extends Pick<RecipientProps, 'layout' | 'refused'> {
  readonly from: string;
  readonly path: string;
  readonly proposal: ProposedRecipient;
}

const Proposal = ({ path, proposal, ...form }: ProposalProps) => {
  const { delivery, recipient, by, reason, approvals } = proposal;
  const action = `${path}/recipients/${delivery}`;
  return (
    <section class="attention">
      <p>
        <strong>{recipient} waits for approval.</strong> {by.name} added it: {reason}
        {approvals.length === 0 ? null : <> Approved by {approvals.map(voterName).join(', ')}.</>}
      </p>
      <div class="actions">
        <ReasonForm {...form} action={`${action}/approved`} label="Approve recipient" question="Why is it approved?" />
        <ReasonForm
          {...form}
          action={`${action}/rejected`}
          label="Reject recipient"
          question="Why is it rejected?"
          danger
        />
      </div>
    </section>
  );
};
