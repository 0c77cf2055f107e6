import { createRoute } from '@hono/zod-openapi';
import { z } from 'zod';
import { isoInstant } from '../../../base/time.ts';
import { MAX_COMMENT_LENGTH } from '../../../definitions/commentary/comment-text.ts';
import { CORRECTION_STATES, type Correction } from '../../../services/corrections/correction.ts';
import type { CorrectionView } from '../../../services/corrections/correction-service.ts';
import { DEFINITION_CHOICES } from '../../../services/corrections/open-correction.ts';
import type { AdminApp } from '../../hono-env.ts';
import {
  filterProblems,
  jsonRequestBody,
  jsonResponse,
  lookupProblems,
  mutationProblems,
  orgSchema,
  reasonBody,
  reasonSchema,
  security,
} from '../openapi-helpers.ts';
import { idOrPrefixSchema, idSchema } from '../schemas.ts';

const figure = z.number().nullable().describe('Raw value: a count, a ratio from 0 to 1, or seconds; null: undefined.');
const status = z.enum(['on_target', 'watch', 'breached', 'undefined']).nullable();
const groupSchema = z.object({ dimension: z.string(), value: z.string() });

const changeSchema = z
  .object({
    section: z.string(),
    metric: z.string(),
    bucket: z.string().nullable(),
    groups: z.array(groupSchema).readonly().describe('Dimension values of its row; empty for totals.'),
    before: figure,
    after: figure,
    status_before: status.describe('Null if the figure has no target.'),
    status_after: status,
    value: z.string().nullable().describe('With `split`: the value whose pack has it; otherwise null.'),
  })
  .meta({ id: 'FigureChange' });

const correctionSchema = z
  .object({
    id: z.string().meta({ example: '83b1c1952f6c0e4d0c3b4a5f9a7e3d2c-1' }),
    run: idSchema.describe('The delivered run.'),
    organization: z.string(),
    report: z.string(),
    by_hand: z.boolean().describe('true: a person opened the correction. false: the service has changed figures.'),
    state: z
      .enum(CORRECTION_STATES)
      .describe('open: waits for a decision. withdrawn, replaced: the service has changed the figures again.'),
    found_at: z.iso.datetime(),
    material: z.int().describe('Number of material changes. They come first in the list.'),
    total: z.int().describe('Number of all changes; at most 1,000 are listed.'),
    changes: z.array(changeSchema).readonly(),
    decision: z
      .object({
        at: z.iso.datetime(),
        by: z.string(),
        reason: z.string(),
        run: idSchema.nullable().describe('The run that sends the corrected edition.'),
      })
      .nullable(),
  })
  .meta({ id: 'Correction' });

const viewSchema = correctionSchema
  .extend({
    title: z.string(),
    period: z.object({ from: z.string(), to: z.string(), timezone: z.string(), label: z.string() }),
    delivered_at: z.iso.datetime().nullable(),
    recipients: z
      .array(
        z.object({
          target: z.string(),
          recipient: z.string(),
          receives: z.boolean(),
          why: z.string().nullable().describe('Why the recipient would not receive a corrected edition.'),
          marked: z.boolean().describe('Its copy says "Corrected". false: its first delivery was withdrawn.'),
        }),
      )
      .readonly()
      .describe('The recipients who received the edition, or may have.'),
  })
  .meta({ id: 'CorrectionDetail' });

const params = z.object({
  id: z
    .string()
    .regex(/^[0-9a-f]{8,32}-[1-9]\d{0,5}$/, 'the id of a correction')
    .meta({ description: 'The run, or its first 8 digits, and the number of the correction.', example: '83b1c195-1' }),
});

const shared = { tags: ['Corrections'], security };
const listRoute = createRoute({
  ...shared,
  method: 'get',
  path: '/api/corrections',
  operationId: 'listCorrections',
  summary: 'List the corrections of delivered figures, newest first',
  request: { query: z.strictObject({ org: orgSchema.optional(), state: z.enum(CORRECTION_STATES).optional() }) },
  responses: {
    200: jsonResponse(z.object({ corrections: z.array(correctionSchema).readonly() }), 'All known corrections.'),
    ...filterProblems,
  },
});
const showRoute = createRoute({
  ...shared,
  method: 'get',
  path: '/api/corrections/{id}',
  operationId: 'getCorrection',
  summary: 'Show a correction and the recipients of the edition',
  request: { params },
  responses: { 200: jsonResponse(viewSchema, 'The correction.'), ...lookupProblems },
});
const openRoute = createRoute({
  ...shared,
  method: 'post',
  path: '/api/corrections',
  operationId: 'openCorrection',
  summary: 'Send a corrected edition of a delivered run',
  description:
    'Withdraws what the run has not delivered, and opens a run with new figures. Recipients who received the first edition, or may have, get a marked edition; withdrawn recipients get it without the mark; nobody else gets it. If the report has `approval`, the run waits for approval. The request may be repeated. The response is 409 while another correction is in progress.',
  request: {
    body: jsonRequestBody(
      z
        .strictObject({
          run: idOrPrefixSchema,
          reason: reasonSchema.describe('Printed on the first page.'),
          comment: z
            .string()
            .max(4 * MAX_COMMENT_LENGTH)
            .optional()
            .describe('Printed as a comment on the whole report.'),
          definition: z
            .enum(DEFINITION_CHOICES)
            .default('delivered')
            .describe('current: the definition that is active now. Recipients who are new in it get nothing.'),
        })
        .meta({ id: 'CorrectionRequest' }),
    ),
  },
  responses: {
    202: jsonResponse(z.object({ correction: viewSchema, run: idSchema }), 'The run that sends the corrected edition.'),
    ...mutationProblems,
    409: lookupProblems[409],
  },
});
const deciding = { ...shared, method: 'post' as const, request: { params, body: jsonRequestBody(reasonBody) } };
const sendRoute = createRoute({
  ...deciding,
  path: '/api/corrections/{id}/send',
  operationId: 'sendCorrection',
  summary: 'Send a corrected edition to the recipients of the first one',
  description:
    'Opens a run. If the report has `approval`, it waits for approval before it is sent. The request may be repeated.',
  responses: {
    202: jsonResponse(z.object({ correction: correctionSchema, run: idSchema }), 'The run that sends the edition.'),
    ...mutationProblems,
    409: lookupProblems[409],
  },
});
const dismissRoute = createRoute({
  ...deciding,
  path: '/api/corrections/{id}/dismiss',
  operationId: 'dismissCorrection',
  summary: 'Keep the delivered edition',
  description: 'The same changes are not reported again.',
  responses: {
    200: jsonResponse(correctionSchema, 'The correction.'),
    ...mutationProblems,
    409: lookupProblems[409],
  },
});

/** Corrections of delivered figures, and decisions about them. */
export function addCorrectionRoutes(app: AdminApp): void {
  app.openapi(listRoute, async (context) => {
    const corrections = await context.get('access').corrections(context.req.valid('query'));
    return context.json({ corrections: corrections.map(correctionBody) }, 200);
  });
  app.openapi(showRoute, async (context) => {
    const { id } = context.req.valid('param');
    return context.json(correctionViewBody(await context.get('access').correction(id)), 200);
  });
  app.openapi(openRoute, async (context) => {
    const { run: id, reason, ...request } = context.req.valid('json');
    const { correction, run } = await context.get('access').openCorrection(id, request, reason);
    return context.json({ correction: correctionViewBody(correction), run }, 202);
  });
  app.openapi(sendRoute, async (context) => {
    const { id } = context.req.valid('param');
    const { reason } = context.req.valid('json');
    const { correction, run } = await context.get('access').sendCorrection(id, reason);
    return context.json({ correction: correctionBody(correction), run }, 202);
  });
  app.openapi(dismissRoute, async (context) => {
    const { id } = context.req.valid('param');
    const { reason } = context.req.valid('json');
    return context.json(correctionBody(await context.get('access').dismissCorrection(id, reason)), 200);
  });
}

export const correctionBody = ({
  id,
  run,
  byHand,
  state,
  foundAt,
  material,
  total,
  changes,
  decision,
}: Correction) => ({
  id,
  run: run.id,
  organization: run.org,
  report: run.report,
  by_hand: byHand !== undefined,
  state,
  found_at: isoInstant(foundAt),
  material,
  total,
  changes: changes.map(
    ({ section, metric, bucket, group, within, before, after, statusBefore, statusAfter, value }) => ({
      section,
      metric,
      bucket,
      groups: [group, within].filter((one) => one != null),
      before,
      after,
      status_before: statusBefore ?? null,
      status_after: statusAfter ?? null,
      value: value ?? null,
    }),
  ),
  decision: decision && {
    at: isoInstant(decision.at),
    by: decision.by,
    reason: decision.reason,
    run: decision.run,
  },
});

export const correctionViewBody = (view: CorrectionView) => ({
  ...correctionBody(view),
  title: view.title,
  period: view.period,
  delivered_at: view.deliveredAt === null ? null : isoInstant(view.deliveredAt),
  recipients: view.recipients,
});
