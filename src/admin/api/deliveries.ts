import { createRoute } from '@hono/zod-openapi';
import { z } from 'zod';
import { DocketError } from '../../base/error.ts';
import { DELIVERY_STATES } from '../../services/deliveries/decisions.ts';
import type { AdminApp } from '../hono-env.ts';
import {
  cursorSchema,
  idParams,
  jsonRequestBody,
  jsonResponse,
  limitSchema,
  lookupProblems,
  mutationProblems,
  nextLink,
  orgSchema,
  PROBLEM_RESPONSES,
  pageResponse,
  partFilters,
  reasonSchema,
  reportSchema,
  security,
} from './openapi-helpers.ts';
import {
  deliverySchema,
  deliveryView,
  idOrPrefixSchema,
  idSchema,
  receivedSchema,
  receivedView,
  runSchema,
  runView,
} from './schemas.ts';

const listRoute = createRoute({
  method: 'get',
  path: '/api/deliveries',
  operationId: 'listDeliveries',
  tags: ['Deliveries'],
  summary: 'List deliveries, newest run first',
  description:
    'A page has the deliveries of `limit` runs, so it can have more rows than `limit`, fewer or none; `next` says whether there are more. With `state=unknown`, `limit` counts deliveries, and those that wait longest for a decision come first. With `run`, the page has all deliveries of that run. With `to`, `match` or `period`, it shows who got what: each delivery has the period and title of its report, and its contents. Deliveries of runs that Redis no longer has come last, from the archive, with `archived`. `run` cannot be combined with these.',
  security,
  request: {
    query: z.strictObject({
      org: orgSchema.optional(),
      report: reportSchema.optional(),
      run: idOrPrefixSchema.optional(),
      ...partFilters,
      state: z.enum(DELIVERY_STATES).optional(),
      value: z
        .string()
        .min(1)
        .max(200)
        .optional()
        .describe(
          'For reports with `split`: only deliveries of the pack of this value. Cannot be combined with `to`, `match` or `period`.',
        ),
      after: cursorSchema.optional(),
      limit: limitSchema(500, 50),
    }),
  },
  responses: {
    200: pageResponse({
      deliveries: z.array(receivedSchema).readonly(),
      error: z.string().nullable().describe('Why deliveries from the archive are missing; null if none are missing.'),
    }),
    ...lookupProblems,
  },
});

const oneRoute = createRoute({
  method: 'get',
  path: '/api/deliveries/{id}',
  operationId: 'getDelivery',
  tags: ['Deliveries'],
  summary: 'Show a delivery',
  security,
  request: { params: idParams },
  responses: { 200: jsonResponse(deliverySchema, 'Its current state.'), ...lookupProblems },
});

const resolveRoute = createRoute({
  method: 'post',
  path: '/api/deliveries/{id}/resolve',
  operationId: 'resolveDelivery',
  tags: ['Deliveries'],
  summary: 'Decide about a delivery that is unknown or was refused',
  description:
    'sent: an unknown delivery has arrived. resend: an unknown or refused delivery is sent again, and no other delivery of its run.',
  security,
  request: {
    params: idParams,
    body: jsonRequestBody(
      z.strictObject({ as: z.enum(['sent', 'resend']), reason: reasonSchema }).meta({ id: 'Resolution' }),
    ),
  },
  responses: { 200: jsonResponse(deliverySchema, 'Its new state.'), ...mutationProblems, 409: PROBLEM_RESPONSES[409] },
});

const resolveManyRoute = createRoute({
  method: 'post',
  path: '/api/runs/{id}/deliveries/resolve',
  operationId: 'resolveRunDeliveries',
  tags: ['Deliveries'],
  summary: 'Decide about several deliveries of a run at once',
  description:
    '`all`: the deliveries whose result is unknown, except notices to the owner, which need no decision. Otherwise the deliveries with these full ids: `sent` fits unknown ones, `resend` unknown and refused ones. Either all are changed or none: the response is 409 if the decision does not fit one of them, or if several unknown deliveries would be sent again. Resend those one by one. The run is reopened once.',
  security,
  request: {
    params: idParams,
    body: jsonRequestBody(
      z
        .strictObject({
          as: z.enum(['sent', 'resend']),
          deliveries: z.union([z.literal('all'), z.array(idSchema).min(1).max(10_000).readonly()]),
          reason: reasonSchema,
        })
        .meta({ id: 'Resolutions' }),
    ),
  },
  responses: {
    200: jsonResponse(
      z.object({
        run: runSchema.describe('Its current state.'),
        deliveries: z.array(deliverySchema).readonly().describe('The decided deliveries in their new state.'),
      }),
      'Decided.',
    ),
    ...mutationProblems,
    409: PROBLEM_RESPONSES[409],
  },
});

/** Lists deliveries, returns one, and decides about it. */
export function addDeliveryRoutes(app: AdminApp): void {
  app.openapi(listRoute, async (context) => {
    const access = context.get('access');
    const { to, match, period, ...filter } = context.req.valid('query');
    if (to !== undefined || match !== undefined || period !== undefined) {
      const { run, value, ...runs } = filter;
      if (run !== undefined || value !== undefined) throw runWithPartsError();
      const page = await access.received({ ...runs, to, match, period });
      const received = {
        deliveries: page.deliveries.map(receivedView),
        next: page.next,
        error: page.error?.message ?? null,
      };
      return context.json(received, 200, nextLink(context.req.url, page.next));
    }
    const { deliveries, next } = await access.deliveries(filter);
    return context.json(
      { deliveries: deliveries.map(deliveryView), next, error: null },
      200,
      nextLink(context.req.url, next),
    );
  });

  app.openapi(oneRoute, async (context) => {
    const { id } = context.req.valid('param');
    return context.json(deliveryView(await context.get('access').delivery(id)), 200);
  });

  app.openapi(resolveRoute, async (context) => {
    const { id } = context.req.valid('param');
    const { as, reason } = context.req.valid('json');
    return context.json(deliveryView(await context.get('access').resolve(id, as, reason)), 200);
  });

  app.openapi(resolveManyRoute, async (context) => {
    const access = context.get('access');
    const { as, deliveries, reason } = context.req.valid('json');
    const { id } = await access.run(context.req.valid('param').id);
    const rows = await access.resolveMany(id, deliveries, as, reason);
    return context.json({ run: runView(await access.run(id)), deliveries: rows.map(deliveryView) }, 200);
  });
}

const runWithPartsError = (): DocketError =>
  new DocketError('usage.invalid', '`run` and `value` cannot be combined with `to`, `match` or `period`.', {
    expected: '`run` and `value`, or the others',
    next: 'Leave out `to`, `match` and `period`: one response has all deliveries of a run.',
  });
