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
import { deliverySchema, deliveryView, idOrPrefixSchema, receivedSchema, receivedView } from './schemas.ts';

const listRoute = createRoute({
  method: 'get',
  path: '/api/deliveries',
  tags: ['Deliveries'],
  summary: 'Deliveries, of the newest runs first',
  description:
    'A page tells the deliveries of so many runs (`limit`), so that it may have more rows, fewer or none; `next` tells whether there are more. With `state=unknown` it tells so many deliveries, those that wait longest for a decision first; with `run` all of that run. With `to`, `match` or `period` it tells who got what: each delivery has the period and the title of its report, and what it brings. `run` is not allowed beside these.',
  security,
  request: {
    query: z.strictObject({
      org: orgSchema.optional(),
      report: reportSchema.optional(),
      run: idOrPrefixSchema.optional(),
      ...partFilters,
      state: z.enum(DELIVERY_STATES).optional(),
      after: cursorSchema.optional(),
      limit: limitSchema(500, 50),
    }),
  },
  responses: {
    200: pageResponse({ deliveries: z.array(receivedSchema).readonly() }),
    ...lookupProblems,
  },
});

const oneRoute = createRoute({
  method: 'get',
  path: '/api/deliveries/{id}',
  tags: ['Deliveries'],
  summary: 'One delivery',
  security,
  request: { params: idParams },
  responses: { 200: jsonResponse(deliverySchema, 'As it is now.'), ...lookupProblems },
});

const resolveRoute = createRoute({
  method: 'post',
  path: '/api/deliveries/{id}/resolve',
  tags: ['Deliveries'],
  summary: 'Decide about a delivery that is unknown or was refused',
  description:
    'sent: an unknown one has arrived. resend: an unknown or refused one is sent again, and no other delivery of its run.',
  security,
  request: {
    params: idParams,
    body: jsonRequestBody(
      z.strictObject({ as: z.enum(['sent', 'resend']), reason: reasonSchema }).meta({ id: 'Resolution' }),
    ),
  },
  responses: { 200: jsonResponse(deliverySchema, 'As it is now.'), ...mutationProblems, 409: PROBLEM_RESPONSES[409] },
});

/** Deliveries: the listing, one of them, and what may be decided of it. */
export function addDeliveryRoutes(app: AdminApp): void {
  app.openapi(listRoute, async (context) => {
    const access = context.get('access');
    const { to, match, period, ...filter } = context.req.valid('query');
    if (to !== undefined || match !== undefined || period !== undefined) {
      const { run, ...runs } = filter;
      if (run !== undefined) throw runWithPartsError();
      const page = await access.received({ ...runs, to, match, period });
      const received = { deliveries: page.deliveries.map(receivedView), next: page.next };
      return context.json(received, 200, nextLink(context.req.url, page.next));
    }
    const { deliveries, next } = await access.deliveries(filter);
    return context.json({ deliveries: deliveries.map(deliveryView), next }, 200, nextLink(context.req.url, next));
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
}

const runWithPartsError = (): DocketError =>
  new DocketError('usage.invalid', '`run` cannot be combined with `to`, `match` or `period`.', {
    expected: '`run` alone, or the others',
    next: 'Leave out `run`: all deliveries of one run are in one answer.',
  });
