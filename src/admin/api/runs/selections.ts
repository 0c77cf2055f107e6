import { createRoute } from '@hono/zod-openapi';
import { z } from 'zod';
import { INSTANT_FORMS } from '../../../definitions/periods/instant.ts';
import { SELECTION_ACTIONS } from '../../../queue/runs/selections.ts';
import { RUN_STATES } from '../../../run/run-record.ts';
import { MAX_SELECTED, type SelectionView } from '../../../services/selections/selection-service.ts';
import type { AdminApp } from '../../hono-env.ts';
import {
  filterProblems,
  instantText,
  jsonRequestBody,
  jsonResponse,
  mutationProblems,
  orgSchema,
  orNull,
  PROBLEM_RESPONSES,
  parseQueryInstant,
  partFilters,
  partSchema,
  reasonBody,
  reportSchema,
  security,
} from '../openapi-helpers.ts';
import { idSchema } from '../schemas.ts';

const actionSchema = z
  .enum(SELECTION_ACTIONS)
  .describe(
    'For runs: `cancel`, `retry`, `release`. For deliveries: `resend` for refused ones, `sent` for those whose result is unknown.',
  );

const requestSchema = z
  .strictObject({
    action: actionSchema,
    ids: z.array(idSchema).min(1).max(MAX_SELECTED).readonly().optional().describe('Ids of runs or of deliveries.'),
    filter: z
      .strictObject({
        org: orgSchema.optional(),
        report: reportSchema.optional(),
        ...partFilters,
        error: partSchema.optional(),
        states: z.array(z.enum(RUN_STATES)).min(1).readonly().optional().describe('States of the runs.'),
        since: instantText.optional().describe(`Runs created at this instant or later: ${INSTANT_FORMS}.`),
        until: instantText.optional().describe('Runs created before this instant.'),
      })
      .optional()
      .describe('At least one condition. Cancelled runs are retried only if `states` contains `cancelled`.'),
  })
  .refine(({ ids, filter }) => (ids === undefined) !== (filter === undefined), { error: 'either `ids` or `filter`' })
  .meta({ id: 'SelectionRequest' });

const selectionSchema = z
  .object({
    digest: z.string().describe('64 hex digits: the hash of exactly these items as they were shown.'),
    action: actionSchema,
    items: z
      .array(
        z.object({
          id: idSchema,
          run: idSchema,
          org: z.string(),
          report: z.string(),
          period: z.string().nullable().describe('null once the record of the run has expired.'),
          state: z.string().describe('When the preview was made.'),
          recipient: z.string().nullable().describe('null for a run.'),
          result: z
            .enum(['decided', 'changed', 'refused'])
            .nullable()
            .describe('null: nobody has decided. changed: it had changed since the preview and was skipped.'),
          why: z.string().nullable().describe('Why it was not decided.'),
        }),
      )
      .readonly(),
    skipped: z
      .array(z.object({ id: z.string(), why: z.string() }))
      .readonly()
      .describe('Items that were named or found, but that this decision does not fit.'),
    decision: orNull(z.object({ by: z.string(), reason: z.string() })).describe('Who has decided, and why.'),
  })
  .meta({ id: 'Selection' });

/** A selection, in the form that the API and the command line show. */
export const selectionBody = ({ digest, action, items, skipped, decision, outcomes }: SelectionView) => ({
  digest,
  action,
  items: items.map(({ mark: _, ...item }) => ({
    ...item,
    result: outcomes.get(item.id)?.result ?? null,
    why: outcomes.get(item.id)?.why ?? null,
  })),
  skipped,
  decision,
});

const params = z.object({
  digest: z
    .string()
    .regex(/^[0-9a-f]{64}$/, '64 hex digits')
    .meta({ description: 'The digest of the preview.' }),
});
const shared = { tags: ['Selections'], security };

const previewRoute = createRoute({
  ...shared,
  method: 'post',
  path: '/api/selections',
  operationId: 'previewSelection',
  summary: 'Preview a decision about many runs or deliveries',
  description: `Changes nothing. At most ${MAX_SELECTED} items, of the organizations that the token may see. A selection never approves, and never resends what has arrived or may have arrived.`,
  request: { body: jsonRequestBody(requestSchema) },
  responses: { 200: jsonResponse(selectionSchema, 'The preview; kept for two days.'), ...mutationProblems },
});
const oneRoute = createRoute({
  ...shared,
  method: 'get',
  path: '/api/selections/{digest}',
  operationId: 'getSelection',
  summary: 'Show a preview and its result',
  request: { params },
  responses: {
    200: jsonResponse(selectionSchema, 'The selection.'),
    ...filterProblems,
    403: PROBLEM_RESPONSES[403],
  },
});
const decideRoute = createRoute({
  ...shared,
  method: 'post',
  path: '/api/selections/{digest}/decide',
  operationId: 'decideSelection',
  summary: 'Decide about exactly what the preview has shown',
  description:
    'Items that have changed since are skipped and listed. The request may be repeated: it continues where it was interrupted, or returns the same result.',
  request: { params, body: jsonRequestBody(reasonBody) },
  responses: {
    200: jsonResponse(selectionSchema, 'Each item with its result.'),
    ...mutationProblems,
    409: PROBLEM_RESPONSES[409],
  },
});

/** Decisions about many runs or deliveries: first a preview, then the decision. */
export function addSelectionRoutes(app: AdminApp, now: () => number): void {
  app.openapi(previewRoute, async (context) => {
    const { action, ids, filter = {} } = context.req.valid('json');
    const { since, until, ...rest } = filter;
    const created = { since: parseQueryInstant(since, now()), until: parseQueryInstant(until, now()) };
    const input = ids === undefined ? { action, filter: { ...rest, ...created } } : { action, ids };
    return context.json(selectionBody(await context.get('access').previewSelection(input)), 200);
  });
  app.openapi(oneRoute, async (context) => {
    const { digest } = context.req.valid('param');
    return context.json(selectionBody(await context.get('access').selection(digest)), 200);
  });
  app.openapi(decideRoute, async (context) => {
    const { digest } = context.req.valid('param');
    const { reason } = context.req.valid('json');
    return context.json(selectionBody(await context.get('access').decideSelection(digest, reason)), 200);
  });
}
