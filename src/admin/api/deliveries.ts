import { createRoute } from '@hono/zod-openapi';
import { z } from 'zod';
import { DELIVERY_STATES } from '../../queue/decisions.ts';
import type { Admin } from '../env.ts';
import { deliverySchema, deliveryView, givenIdSchema } from '../view.ts';
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
  reasonSchema,
  reportSchema,
  security,
} from './declare.ts';

const listRoute = createRoute({
  method: 'get',
  path: '/api/deliveries',
  tags: ['Deliveries'],
  summary: 'Deliveries, of the newest runs first',
  description:
    'A page tells the deliveries of so many runs (`limit`), so that it may have more rows, fewer or none; `next` tells whether there are more. With `state=unknown` it tells so many deliveries, those that wait longest for a decision first; with `run` all of that run.',
  security,
  request: {
    query: z.strictObject({
      org: orgSchema.optional(),
      report: reportSchema.optional(),
      run: givenIdSchema.optional(),
      state: z.enum(DELIVERY_STATES).optional(),
      after: cursorSchema.optional(),
      limit: limitSchema(500, 50),
    }),
  },
  responses: {
    200: {
      ...json(z.object({ deliveries: z.array(deliverySchema).readonly(), next: nextSchema }), 'A page of them.'),
      headers: pageHeaders,
    },
    ...asking,
    ...finding,
  },
});

const oneRoute = createRoute({
  method: 'get',
  path: '/api/deliveries/{id}',
  tags: ['Deliveries'],
  summary: 'One delivery',
  security,
  request: { params: idParams },
  responses: { 200: json(deliverySchema, 'As it is now.'), ...asking, ...finding },
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
    body: jsonBodyOf(
      z.strictObject({ as: z.enum(['sent', 'resend']), reason: reasonSchema }).meta({ id: 'Resolution' }),
    ),
  },
  responses: { 200: json(deliverySchema, 'As it is now.'), ...acting, 409: PROBLEM[409] },
});

/** Deliveries: the listing, one of them, and what may be decided of it. */
export function addDeliveries(app: Admin): void {
  app.openapi(listRoute, async (context) => {
    const { org, report, run, state, after, limit } = context.req.valid('query');
    const page = await context.get('access').deliveries({
      ...(org === undefined ? {} : { org }),
      ...(report === undefined ? {} : { report }),
      ...(run === undefined ? {} : { run }),
      ...(state === undefined ? {} : { state }),
      ...(after === undefined ? {} : { after }),
      limit,
    });
    return context.json(
      { deliveries: page.deliveries.map(deliveryView), next: page.next },
      200,
      nextLink(context.req.url, page.next),
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
}
