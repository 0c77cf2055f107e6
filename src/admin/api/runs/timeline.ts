import { createRoute } from '@hono/zod-openapi';
import { z } from 'zod';
import { isoInstantOrNull } from '../../../base/time.ts';
import { TIMELINE_KINDS, TIMELINE_OUTCOMES } from '../../../services/runs/timeline/timeline-entry.ts';
import { WAIT_KINDS } from '../../../services/runs/timeline/wait-reason.ts';
import type { RunTimeline } from '../../access/runs.ts';
import type { AdminApp } from '../../hono-env.ts';
import { idParams, jsonResponse, lookupProblems, security } from '../openapi-helpers.ts';
import { idSchema } from '../schemas.ts';

const instantSchema = z.iso.datetime();

const entrySchema = z
  .object({
    kind: z.enum(TIMELINE_KINDS),
    at: instantSchema.nullable().describe('null if it is unknown, or still going on.'),
    outcome: z.enum(TIMELINE_OUTCOMES).describe('waiting: for something or somebody. uncertain: it may have happened.'),
    text: z.string().describe('A phrase for a person; it may change.'),
    detail: z.string().nullable().describe('A server’s reply, an error’s message, or the reason for a decision.'),
    by: z.string().nullable().describe('Who triggered or decided it.'),
    ms: z.number().nullable().describe('How long it took, in ms.'),
    until: instantSchema.nullable().describe('Until when it waits.'),
    delivery: idSchema.nullable(),
    recipient: z.string().nullable(),
  })
  .meta({ id: 'TimelineEntry' });

const waitsSchema = z
  .object({
    for: z.enum(WAIT_KINDS),
    text: z.string(),
    detail: z.string().nullable(),
    until: instantSchema.nullable().describe('null if it depends on somebody or something else.'),
  })
  .meta({ id: 'WaitReason' });

const earlierSchema = z
  .object({
    run: idSchema,
    at: instantSchema.describe('Its last delivery.'),
    sent: z.record(z.string(), z.int()).describe('Confirmed deliveries by kind of target; e-mail counts mailboxes.'),
    uncertain: z.int(),
  })
  .meta({ id: 'EarlierDelivery' });

const timelineRoute = createRoute({
  method: 'get',
  path: '/api/runs/{id}/timeline',
  operationId: 'getRunTimeline',
  tags: ['Runs'],
  summary: 'List the steps of a run, oldest first',
  description:
    'Who or what triggered it, its stages, each delivery with the reply, each decision with its reason, and notices.',
  security,
  request: { params: idParams },
  responses: {
    200: jsonResponse(
      z.object({
        timeline: z.array(entrySchema).readonly(),
        waits: z.union([waitsSchema, z.null()]).describe('What it waits for; null while it works, and after its end.'),
        earlier: z
          .union([earlierSchema, z.null()])
          .describe(
            'For a run that needs a decision: the newest other run on record that has delivered the period, or may have.',
          ),
      }),
      'Its current state.',
    ),
    ...lookupProblems,
  },
});

/** A timeline, in the form that the API and `docket runs show --json` return. */
export const timelineView = ({ entries, waits, earlier }: RunTimeline) => ({
  timeline: entries.map((entry) => ({
    ...entry,
    at: isoInstantOrNull(entry.at),
    until: isoInstantOrNull(entry.until),
  })),
  waits: waits === null ? null : { ...waits, until: isoInstantOrNull(waits.until) },
  earlier:
    earlier === null
      ? null
      : {
          run: earlier.run,
          at: new Date(earlier.at).toISOString(),
          sent: earlier.sent,
          uncertain: earlier.uncertain,
        },
});

/** `GET /api/runs/{id}/timeline`. */
export function addTimelineRoute(app: AdminApp): void {
  app.openapi(timelineRoute, async (context) => {
    const { id } = context.req.valid('param');
    return context.json(timelineView(await context.get('access').timeline(id)), 200);
  });
}
