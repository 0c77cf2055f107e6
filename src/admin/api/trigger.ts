import { createRoute } from '@hono/zod-openapi';
import { z } from 'zod';
import { toDocketError } from '../../base/error.ts';
import { type PeriodSpec, periodSpecSchema } from '../../define/definition.ts';
import { parsePeriod } from '../../define/period.ts';
import type { Admin } from '../env.ts';
import { runSchema, runView } from '../view.ts';
import { acting, json, jsonBodyOf, PROBLEM, reportParams, security } from './declare.ts';

/** A period as people write it (`2026-09`, `last_30_days`) or as a definition does (`{ from, to }`). */
export const periodSchema = z
  .unknown()
  .transform((value, context): PeriodSpec => {
    if (typeof value !== 'string') {
      const spec = periodSpecSchema.safeParse(value);
      if (spec.success) return spec.data;
      for (const { message, path } of spec.error.issues) context.addIssue({ code: 'custom', message, path: [...path] });
      return z.NEVER;
    }
    try {
      return parsePeriod(value);
    } catch (error) {
      context.addIssue({ code: 'custom', message: `expected ${toDocketError(error).expected ?? 'a period'}` });
      return z.NEVER;
    }
  })
  .meta({
    description:
      'In place of the definition’s own: a name (`previous_week`, `last_30_days`), `2026-10`, `2026-W46`, `2026-Q3`, `2026`, `2026-11-01`, `2026-11-01..2026-11-15`, or both days.',
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

const body = z
  .strictObject({
    period: periodSchema.optional(),
    deliver: z.boolean().default(true).describe('false: the files are made and archived, nothing is sent.'),
    // Nobody may put a run of his own into the line as if a schedule had: those are what alerts and catch-up count on.
    priority: z
      .enum(['on_demand', 'backfill'])
      .default('on_demand')
      .describe(
        'backfill: behind all other runs of its API key, for figures of the past that nobody waits for. Current counts are undefined in it.',
      ),
    again: z
      .boolean()
      .default(false)
      .describe(
        'true: deliver although the period was delivered already, by e-mail, SFTP, S3 or webhook. Without it such a request is refused with 409 `already_delivered`.',
      ),
  })
  .meta({ id: 'RunRequest', description: 'All of it may be left out.' });

/** Where a run is found. */
export const locationHeaders = z.object({
  Location: z.string().describe('Where the run is found: `/api/runs/{id}`.'),
});

const route = createRoute({
  method: 'post',
  path: '/api/reports/{org}/{report}/runs',
  tags: ['Runs'],
  summary: 'Run a report now',
  description:
    'Answers at once; the run waits in the line of its API key. Runs are made of paused reports as well. With an `Idempotency-Key` the request may be repeated: the same key and request give the same run, another request is a conflict. A key is the token’s own, and is remembered as long as its run. A period that was delivered already, as far as the records and the archive know, is a 409 with code `already_delivered` and the delivery that was found; `again: true` insists, and so does `deliver: false`, which sends nothing.',
  security,
  request: {
    params: reportParams,
    headers: z.object({
      'Idempotency-Key': z
        .string()
        .regex(/^[\x21-\x7e]{1,255}$/, 'Idempotency-Key: 1 to 255 visible ASCII characters')
        .optional()
        .meta({ description: 'Makes the request safe to repeat.', example: '7d1c' }),
    }),
    body: jsonBodyOf(body),
  },
  responses: {
    202: { ...json(runSchema, 'The run, new or the one of this key.'), headers: locationHeaders },
    ...acting,
    409: PROBLEM[409],
  },
});

/** `POST /api/reports/{org}/{report}/runs`. */
export function addTrigger(app: Admin): void {
  app.openapi(route, async (context) => {
    const { org, report } = context.req.valid('param');
    const { 'Idempotency-Key': key } = context.req.valid('header');
    const { period, ...asked } = context.req.valid('json');
    const { record } = await context.get('access').trigger(org, report, {
      ...asked,
      ...(period === undefined ? {} : { period }),
      ...(key === undefined ? {} : { idempotencyKey: key }),
    });
    return context.json(runView(record), 202, { Location: `/api/runs/${record.id}` });
  });
}
