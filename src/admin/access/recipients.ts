import type { RunIdLookup } from '../../queue/runs/run-ids.ts';
import type { ProposedRecipient } from '../../run/review/added-recipients.ts';
import { type RecipientLine, recipientLine } from '../../services/deliveries/recipient-line.ts';
import type { AddedDelivery, RecipientRequest, RecipientService } from '../../services/deliveries/recipients.ts';
import type { Principal } from '../auth/tokens.ts';
import { assertOperator, getVisibleRun } from './guards.ts';
import type { AdminServices } from './services.ts';

interface Services extends Pick<AdminServices, 'jobs'> {
  readonly recipients: RecipientService;
  readonly runs: RunIdLookup;
}

/** Sends the files of a run to additional recipients. The definition, not the role, says who may approve one. */
export function recipientsAccess(services: Services, principal: Principal) {
  const { name, kind, subject, from } = principal;
  const author = { name, kind, subject, from };
  return {
    /** Throws what `RecipientService.send` throws. `line`: what to add to the definition. */
    sendTo: async (
      id: string,
      request: RecipientRequest,
      reason: string,
    ): Promise<AddedDelivery & { readonly line: RecipientLine | null }> => {
      const run = await getVisibleRun(services, principal, id);
      assertOperator(principal);
      const added = await services.recipients.send(run.id, request, reason, author);
      const source = services.jobs().sources.get(`${run.org}/${run.report}`);
      return { ...added, line: recipientLine(source, request, added.delivery.target) ?? null };
    },

    /** The recipients that people added to an approved run. Throws `archive.*`. */
    addedRecipients: async (id: string): Promise<readonly ProposedRecipient[]> =>
      services.recipients.proposals(await getVisibleRun(services, principal, id)),

    /** Throws what `RecipientService.decide` throws. */
    decideRecipient: async (
      id: string,
      delivery: string,
      admitted: boolean,
      reason: string,
    ): Promise<AddedDelivery> => {
      const run = await getVisibleRun(services, principal, id);
      return services.recipients.decide(run.id, delivery, admitted, reason, author);
    },
  };
}
