import { createRoute } from '@hono/zod-openapi';
import { z } from 'zod';
import { HOUR_MS, MINUTE_MS } from '../../base/time.ts';
import { forecastSchema } from '../../services/forecast/forecast-document.ts';
import type { AdminApp } from '../hono-env.ts';
import {
  filterProblems,
  instantText,
  jsonResponse,
  limitSchema,
  orgSchema,
  parseQueryInstant,
  security,
} from './openapi-helpers.ts';

/** Maximum hours of a forecast: a week. */
const MAX_HOURS = 168;

const route = createRoute({
  method: 'get',
  path: '/api/forecast',
  operationId: 'getForecast',
  tags: ['Budgets'],
  summary: 'Forecast when reports are delivered',
  description:
    'Simulates the slots of a window with cached catalogs: no call is made and no token is spent. The response is cached for a minute.',
  security,
  request: {
    query: z.strictObject({
      org: orgSchema.optional(),
      from: instantText.optional().meta({ description: 'Start of the window; default: now.' }),
      hours: limitSchema(MAX_HOURS, 24).meta({ description: 'Length of the window.' }),
    }),
  },
  responses: {
    200: jsonResponse(forecastSchema, 'The document of `docket forecast --json`.'),
    ...filterProblems,
  },
});

/** `GET /api/forecast`. */
export function addForecastRoute(app: AdminApp, now: () => number): void {
  app.openapi(route, async (context) => {
    const { org, from, hours } = context.req.valid('query');
    const begin = parseQueryInstant(from, now()) ?? Math.floor(now() / MINUTE_MS) * MINUTE_MS;
    const forecast = await context.get('access').forecast({ from: begin, to: begin + hours * HOUR_MS }, org);
    return context.json(forecast, 200);
  });
}
