import { createRoute } from '@hono/zod-openapi';
import { z } from 'zod';
import { RUN_STATES } from '../../run/record.ts';
import type { Admin } from '../env.ts';
import { runDetailSchema, runSchema, runView } from '../view.ts';
import {
  acting,
  asking,
  cursorSchema,
  finding,
  idParams,
  json,
  jsonBodyOf,
  limitSchema,
  nextLink,
  nextSchema,
  orgSchema,
  PROBLEM,
  pageHeaders,
  reasonBody,
  reportSchema,
  security,
} from './declare.ts';
import { locationHeaders } from './trigger.ts';

const instant = z.iso
  .datetime({ offset: true, error: 'an instant, e.g. 2026-11-16T07:00:00Z' })
  .transform((text) => Date.parse(text));

const listRoute = createRoute({
  method: 'get',
  path: '/api/runs',
  tags: ['Runs'],
  summary: 'Runs, newest first',
  security,
  request: {
    query: z.strictObject({
      org: orgSchema.optional(),
      report: reportSchema.optional(),
      state: z
        .preprocess((value) => (typeof value === 'string' ? [value] : value), z.array(z.enum(RUN_STATES)))
        .optional()
        .meta({ description: 'Only in this state; repeated: in one of these.' }),
      since: instant.optional().meta({ description: 'Created at this instant or later.', format: 'date-time' }),
      until: instant.optional().meta({ description: 'Created before this instant.', format: 'date-time' }),
      after: cursorSchema.optional(),
      limit: limitSchema(500, 50),
    }),
  },
  responses: {
    200: {
      ...json(z.object({ runs: z.array(runSchema).readonly(), next: nextSchema }), 'A page of them.'),
      headers: pageHeaders,
    },
    ...asking,
    404: PROBLEM[404],
    422: PROBLEM[422],
  },
});

const oneRoute = createRoute({
  method: 'get',
  path: '/api/runs/{id}',
  tags: ['Runs'],
  summary: 'One run',
  security,
  request: { params: idParams },
  responses: { 200: json(runDetailSchema, 'As it is now.'), ...asking, ...finding },
});

const SUMMARIES = {
  cancel: 'Tell a run to stop that has not ended: it does so before its next step',
  retry: 'Try again what surely did not arrive, or a run that failed before its files were made',
  release: 'Let a held pack go out as it is',
} as const;

const decideRoute = <What extends keyof typeof SUMMARIES>(what: What) =>
  createRoute({
    method: 'post',
    path: `/api/runs/{id}/${what}`,
    tags: ['Runs'],
    summary: SUMMARIES[what],
    security,
    request: { params: idParams, body: jsonBodyOf(reasonBody) },
    responses: {
      202: { ...json(runSchema, 'Decided; the run as it is now.'), headers: locationHeaders },
      ...acting,
      409: PROBLEM[409],
    },
  });

/** Runs: the listing, one of them, and what may be decided of it. */
export function addRuns(app: Admin): void {
  app.openapi(listRoute, async (context) => {
    const { org, report, state, since, until, after, limit } = context.req.valid('query');
    const page = await context.get('access').runs({
      ...(org === undefined ? {} : { org }),
      ...(report === undefined ? {} : { report }),
      ...(state === undefined ? {} : { states: state }),
      ...(since === undefined ? {} : { since }),
      ...(until === undefined ? {} : { until }),
      ...(after === undefined ? {} : { after }),
      limit,
    });
    return context.json({ runs: page.runs.map(runView), next: page.next }, 200, nextLink(context.req.url, page.next));
  });

  app.openapi(oneRoute, async (context) => {
    const { id } = context.req.valid('param');
    const access = context.get('access');
    const record = await access.run(id);
    const held = record.state === 'held' ? await access.heldPack(record.id) : null;
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
