import { createRoute } from '@hono/zod-openapi';
import { z } from 'zod';
import { INSTANT_FORMS } from '../../definitions/periods/instant.ts';
import { type PeriodSpec, periodSpecSchema } from '../../definitions/schema/report-definition.ts';
import { RUN_STATES } from '../../run/run-record.ts';
import { type AdminApp, notFoundResponse } from '../hono-env.ts';
import { bodyProblem, headerProblem, readJson } from '../request-validation.ts';
import {
  cursorSchema,
  filterProblems,
  idParams,
  instantText,
  jsonRequestBody,
  jsonResponse,
  limitSchema,
  lookupProblems,
  mutationProblems,
  nextLink,
  orgSchema,
  PROBLEM_RESPONSES,
  pageResponse,
  parsePeriodParameter,
  parseQueryInstant,
  partFilters,
  partSchema,
  reasonBody,
  reportParams,
  reportSchema,
  security,
} from './openapi-helpers.ts';
import { type RunView, runDetailSchema, runSchema, runView } from './schemas.ts';

const listRoute = createRoute({
  method: 'get',
  path: '/api/runs',
  operationId: 'listRuns',
  tags: ['Runs'],
  summary: 'List runs, newest first',
  security,
  request: {
    query: z.strictObject({
      org: orgSchema.optional(),
      report: reportSchema.optional(),
      ...partFilters,
      error: partSchema
        .optional()
        .meta({ description: 'Only with an error whose code contains this text.', example: 'api.' }),
      state: z
        .preprocess((value) => (typeof value === 'string' ? [value] : value), z.array(z.enum(RUN_STATES)))
        .optional()
        .meta({ description: 'Only in this state. Repeat the parameter for several states.' }),
      since: instantText
        .optional()
        .meta({ description: `Created at this instant or later: ${INSTANT_FORMS}. Days begin in UTC.` }),
      until: instantText.optional().meta({ description: 'Created before this instant, in the forms of `since`.' }),
      after: cursorSchema.optional(),
      limit: limitSchema(500, 50),
    }),
  },
  responses: { 200: pageResponse({ runs: z.array(runSchema).readonly() }), ...filterProblems },
});

const oneRoute = createRoute({
  method: 'get',
  path: '/api/runs/{id}',
  operationId: 'getRun',
  tags: ['Runs'],
  summary: 'Show a run',
  security,
  request: { params: idParams },
  responses: { 200: jsonResponse(runDetailSchema, 'Its current state.'), ...lookupProblems },
});

const SUMMARIES = {
  cancel: 'Cancel a run that has not ended, or that waits for people: it stops before its next step',
  retry:
    'Retry failed deliveries, or a run that failed before its files were created; a waiting run begins its next attempt now',
  release: 'Deliver a held run as it is',
} as const;

const decideRoute = <What extends keyof typeof SUMMARIES>(what: What) =>
  createRoute({
    method: 'post',
    path: `/api/runs/{id}/${what}`,
    operationId: `${what}Run`,
    tags: ['Runs'],
    summary: SUMMARIES[what],
    security,
    request: { params: idParams, body: jsonRequestBody(reasonBody) },
    responses: {
      202: { ...jsonResponse(runSchema, 'Decided. The run in its current state.'), headers: locationHeaders },
      ...mutationProblems,
      409: PROBLEM_RESPONSES[409],
    },
  });

/** Lists runs, returns one, and decides about it. */
export function addRunRoutes(app: AdminApp, now: () => number): void {
  app.openapi(listRoute, async (context) => {
    const { state: states, since, until, ...filter } = context.req.valid('query');
    const created = { since: parseQueryInstant(since, now()), until: parseQueryInstant(until, now()) };
    const { runs, next } = await context.get('access').runs({ ...filter, ...created, states });
    return context.json({ runs: runs.map(runView), next }, 200, nextLink(context.req.url, next));
  });

  app.openapi(oneRoute, async (context) => {
    const { id } = context.req.valid('param');
    const access = context.get('access');
    const record = await access.run(id);
    const held = await access.heldRun(record.id);
    return context.json({ ...runView(record), held }, 200);
  });

  for (const what of ['cancel', 'retry', 'release'] as const) {
    app.openapi(decideRoute(what), async (context) => {
      const { id } = context.req.valid('param');
      const { reason } = context.req.valid('json');
      const record = await context.get('access').decide(id, what, reason);
      return context.json(runView(record), 202, { Location: `/api/runs/${record.id}` });
    });
  }
}

/** A period as people write it (`2026-09`, `last_30_days`) or as a definition writes it (`{ from, to }`). */
export const periodSchema = z
  .unknown()
  .transform((value, context): PeriodSpec => {
    if (typeof value === 'string') return parsePeriodParameter(value, context);
    const spec = periodSpecSchema.safeParse(value);
    if (spec.success) return spec.data;
    for (const { message, path } of spec.error.issues) context.addIssue({ code: 'custom', message, path: [...path] });
    return z.NEVER;
  })
  .meta({
    description:
      'Replaces the period of the definition: a name (`previous_week`, `last_30_days`), `2026-10`, `2026-W46`, `2026-Q3`, `2026`, `2026-11-01`, `2026-11-01..2026-11-15`, or both days.',
    anyOf: [
      { type: 'string' },
      {
        type: 'object',
        properties: { from: { type: 'string', format: 'date' }, to: { type: 'string', format: 'date' } },
        required: ['from', 'to'],
        additionalProperties: false,
      },
    ],
    example: '2026-10',
  });

const runRequestSchema = z
  .strictObject({
    period: periodSchema.optional(),
    value: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .describe('For a report with `split`: create and deliver only the pack of this value. Default: all packs.'),
    deliver: z.boolean().default(true).describe('false: the files are created and archived, and nothing is sent.'),
    // `scheduled` is not allowed: alerts and catch-up rely on it marking only runs that a schedule opened.
    priority: z
      .enum(['on_demand', 'backfill'])
      .default('on_demand')
      .describe(
        'backfill: runs after all other runs of the API key, for past periods that are not urgent. Current counts are undefined in it.',
      ),
    again: z
      .boolean()
      .default(false)
      .describe(
        'true: deliver even if the period was already delivered by e-mail, SFTP, S3, webhook, Slack or Teams. Otherwise such a request is refused with 409 `already_delivered`.',
      ),
    unfinished: z
      .boolean()
      .default(false)
      .describe(
        'true: allow a `period` that is not over, with its figures so far. Otherwise such a request is refused with 422 `period.unfinished`. Names such as `current_month` do not need it.',
      ),
  })
  .meta({ id: 'RunRequest', description: 'All fields are optional.' });

/** The header with the address of the run. */
export const locationHeaders = z.object({
  Location: z.string().describe('Path of the run: `/api/runs/{id}`.'),
});

const idempotencyKeySchema = z
  .string()
  .regex(/^[\x21-\x7e]{1,255}$/, 'Idempotency-Key: 1 to 255 visible ASCII characters')
  .optional()
  .meta({ description: 'Makes the request safe to repeat.', example: '7d1c' });

const triggerRoute = createRoute({
  method: 'post',
  path: '/api/reports/{org}/{report}/runs',
  operationId: 'triggerRun',
  tags: ['Runs'],
  summary: 'Run a report now',
  description:
    'Returns at once; the run waits in the queue of its API key. Paused reports can be run as well. With an `Idempotency-Key` the request may be repeated: the same key and request return the same run; reusing the key with a different request returns 409. A key belongs to its token and is kept as long as its run. If the records or the archive show that the period was delivered already, the response is 409 with code `already_delivered` and that delivery; `again: true` delivers it again, and `deliver: false` runs the report without sending. A period that has not begun is refused with 422 `period.not_begun`.',
  security,
  request: {
    params: reportParams,
    headers: z.object({ 'Idempotency-Key': idempotencyKeySchema }),
    body: jsonRequestBody(runRequestSchema),
  },
  responses: {
    202: { ...jsonResponse(runSchema, 'The new run, or the earlier run of this key.'), headers: locationHeaders },
    ...mutationProblems,
    409: PROBLEM_RESPONSES[409],
  },
});

/** `POST /api/reports/{org}/{report}/runs`. */
export function addTriggerRoute(app: AdminApp): void {
  app.openAPIRegistry.registerPath(triggerRoute);
  // Not `app.openapi`: its validators copy all headers and add four asynchronous steps, and this route must cope with
  // floods.
  app.post(triggerRoute.getRoutingPath(), async (context) => {
    const params = reportParams.safeParse(context.req.param());
    if (!params.success) return notFoundResponse(context);
    const key = idempotencyKeySchema.safeParse(context.req.header('Idempotency-Key'));
    if (!key.success) return headerProblem(key.error);
    const body = runRequestSchema.safeParse(await readJson(context));
    if (!body.success) return bodyProblem(body.error);
    const { org, report } = params.data;
    const request = { ...body.data, idempotencyKey: key.data };
    const { record } = await context.get('access').trigger(org, report, request);
    return context.json<RunView>(runView(record), 202, { Location: `/api/runs/${record.id}` });
  });
}
