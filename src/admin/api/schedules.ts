import { createRoute } from '@hono/zod-openapi';
import { z } from 'zod';
import { INSTANT_FORMS } from '../../definitions/periods/instant.ts';
import type { AdminApp } from '../hono-env.ts';
import {
  filterProblems,
  instantOf,
  instantText,
  jsonResponse,
  limitSchema,
  orgSchema,
  reportSchema,
  security,
} from './openapi-helpers.ts';
import { slotSchema } from './reports.ts';

const scheduledSchema = slotSchema
  .extend({
    org: z.string().meta({ example: 'acme' }),
    report: z.string().meta({ example: 'weekly' }),
    title: z.string(),
    paused: z.boolean().describe('The report or its organization is paused now: the run waits until it is resumed.'),
  })
  .meta({ id: 'ScheduledSlot' });

const route = createRoute({
  method: 'get',
  path: '/api/schedules',
  operationId: 'listSlots',
  tags: ['Schedules'],
  summary: 'The next slots, soonest first',
  description:
    'By the definitions as they are now. `from` is now when it is left out. A report may be filtered by within its organization alone.',
  security,
  request: {
    query: z
      .strictObject({
        org: orgSchema.optional(),
        report: reportSchema.optional(),
        from: instantText
          .optional()
          .meta({ description: `This instant or later: ${INSTANT_FORMS}. Days begin in UTC.` }),
        until: instantText.optional().meta({ description: 'Before this instant, as `from`.' }),
        limit: limitSchema(500, 50),
      })
      .refine(({ org, report }) => report === undefined || org !== undefined, {
        path: ['report'],
        message: 'only with org: a report’s id means something within its organization',
      }),
  },
  responses: {
    200: jsonResponse(z.object({ slots: z.array(scheduledSchema).readonly() }), 'At most `limit` of them.'),
    ...filterProblems,
  },
});

/** `GET /api/schedules`. */
export function addScheduleRoutes(app: AdminApp, now: () => number): void {
  app.openapi(route, async (context) => {
    const { from, until, ...query } = context.req.valid('query');
    const filter = { ...query, from: instantOf(from, now()), until: instantOf(until, now()) };
    return context.json({ slots: await context.get('access').slots(filter) }, 200);
  });
}
