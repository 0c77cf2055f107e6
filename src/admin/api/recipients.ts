import { createRoute } from '@hono/zod-openapi';
import { z } from 'zod';
import { isoInstant } from '../../base/time.ts';
import type { ProposedRecipient } from '../../run/review/added-recipients.ts';
import { voterName } from '../../run/review/delegations.ts';
import type { AddedDelivery } from '../../services/deliveries/recipients.ts';
import type { RecipientLine } from '../access/deliveries.ts';
import type { AdminApp } from '../hono-env.ts';
import {
  idParams,
  jsonRequestBody,
  jsonResponse,
  lookupProblems,
  mutationProblems,
  orNull,
  PROBLEM_RESPONSES,
  reasonSchema,
  security,
} from './openapi-helpers.ts';
import { idOrPrefixSchema, idSchema, runSchema, runView } from './schemas.ts';

const addressSchema = z.string().trim().min(1).max(320).meta({ example: 'ana@acme.example' });

const proposalSchema = z
  .object({
    delivery: idSchema,
    target: z.string().meta({ example: '0-email' }),
    recipient: z.string(),
    replaces: idSchema.nullable().describe('The delivery whose address this one corrects.'),
    added_by: z.string(),
    reason: z.string(),
    added_at: z.iso.datetime(),
    state: z.enum(['waiting', 'approved', 'rejected']),
    approved_by: z.array(z.string()).readonly(),
  })
  .meta({ id: 'AddedRecipient' });

const proposalView = (proposal: ProposedRecipient): z.infer<typeof proposalSchema> => {
  const { delivery, target, recipient, replaces, by, reason, at, state, approvals } = proposal;
  const approvedBy = approvals.map(voterName);
  return {
    ...{ delivery, target, recipient, replaces, reason, state },
    ...{ added_by: by.name, added_at: isoInstant(at), approved_by: approvedBy },
  };
};

const addedSchema = z
  .object({
    run: runSchema,
    delivery: idSchema.describe('Id of the delivery, even while it waits for approval.'),
    target: z.string(),
    recipient: z.string(),
    waits: orNull(proposalSchema).describe(
      'null if the delivery is queued. Otherwise it waits for approval, or was rejected.',
    ),
    need: z.int().describe('How many people must approve; 0: none.'),
    fix: orNull(z.object({ at: z.string().describe('`file:line`'), text: z.string() }))
      .optional()
      .describe('The line of the definition to fix for later runs. Docket does not change it.'),
  })
  .meta({ id: 'AddedDelivery' });

/** An added delivery in the form that `docket deliveries send --json` prints too. */
export const addedView = (
  { record, delivery: { id, target, recipient }, waits, need }: AddedDelivery,
  line?: RecipientLine | null,
): z.infer<typeof addedSchema> => ({
  ...{ run: runView(record), delivery: id, target, recipient, need },
  waits: waits && proposalView(waits),
  ...(line === undefined ? {} : { fix: line }),
});

const sendRoute = createRoute({
  method: 'post',
  path: '/api/runs/{id}/recipients',
  operationId: 'sendRunTo',
  tags: ['Deliveries'],
  summary: 'Send the files of a run to one more address',
  description:
    'Sends the same files with the same password and e-mail body as the run. With `replaces`, the refused delivery to that address is closed in the same step and never retried. The response is 409 for an address that has the files, or may have them. In a report with `approval`, a recipient needs as many approvals as the report; under `four_eyes`, whoever added the recipient cannot approve.',
  security,
  request: {
    params: idParams,
    body: jsonRequestBody(
      z
        .strictObject({
          to: addressSchema,
          replaces: addressSchema.optional(),
          target: z.string().max(120).optional().describe('Required if the run has several e-mail deliveries.'),
          reason: reasonSchema,
        })
        .meta({ id: 'RecipientRequest' }),
    ),
  },
  responses: { 200: jsonResponse(addedSchema, 'Added.'), ...mutationProblems, 409: PROBLEM_RESPONSES[409] },
});

const listRoute = createRoute({
  method: 'get',
  path: '/api/runs/{id}/recipients',
  operationId: 'listAddedRecipients',
  tags: ['Deliveries'],
  summary: 'List the recipients who were added to an approved run',
  security,
  request: { params: idParams },
  responses: {
    200: jsonResponse(z.object({ recipients: z.array(proposalSchema).readonly() }), 'Oldest first.'),
    ...lookupProblems,
  },
});

const decideRoute = createRoute({
  method: 'post',
  path: '/api/runs/{id}/recipients/{delivery}/decide',
  operationId: 'decideAddedRecipient',
  tags: ['Deliveries'],
  summary: 'Approve or reject a recipient who was added to an approved run',
  description: 'Only people in `approval.by` of the report may do this. The last approval queues the delivery.',
  security,
  request: {
    params: z.object({ id: idOrPrefixSchema, delivery: idSchema }),
    body: jsonRequestBody(
      z.strictObject({ as: z.enum(['approved', 'rejected']), reason: reasonSchema }).meta({ id: 'RecipientDecision' }),
    ),
  },
  responses: { 200: jsonResponse(addedSchema, 'Its current state.'), ...mutationProblems, 409: PROBLEM_RESPONSES[409] },
});

/** Routes for recipients that people add to runs. */
export function addRecipientRoutes(app: AdminApp): void {
  app.openapi(sendRoute, async (context) => {
    const { reason, ...request } = context.req.valid('json');
    const { line, ...added } = await context.get('access').sendTo(context.req.valid('param').id, request, reason);
    return context.json(addedView(added, line), 200);
  });

  app.openapi(listRoute, async (context) => {
    const recipients = await context.get('access').addedRecipients(context.req.valid('param').id);
    return context.json({ recipients: recipients.map(proposalView) }, 200);
  });

  app.openapi(decideRoute, async (context) => {
    const { id, delivery } = context.req.valid('param');
    const { as, reason } = context.req.valid('json');
    const decided = await context.get('access').decideRecipient(id, delivery, as === 'approved', reason);
    return context.json(addedView(decided), 200);
  });
}
