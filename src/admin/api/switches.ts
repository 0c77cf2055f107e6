import { createRoute } from '@hono/zod-openapi';
import { z } from 'zod';
import { isoInstant } from '../../base/time.ts';
import { type StoppedRun, SWITCH_KINDS, type Switch } from '../../services/switches/switch-service.ts';
import type { AdminApp } from '../hono-env.ts';
import {
  jsonRequestBody,
  jsonResponse,
  mutationProblems,
  orgSchema,
  queryProblems,
  reasonSchema,
  security,
} from './openapi-helpers.ts';
import { idSchema } from './schemas.ts';

export const switchSchema = z
  .object({
    kind: z.enum(SWITCH_KINDS).describe('stop: nothing is delivered. hold: nothing is deleted and nothing expires.'),
    organization: z.string().nullable().describe('Null: all organizations.'),
    by: z.string(),
    reason: z.string(),
    since: z.iso.datetime(),
  })
  .meta({ id: 'Switch' });

export const switchView = ({ kind, org, by, reason, since }: Switch): z.infer<typeof switchSchema> => ({
  kind,
  organization: org,
  by,
  reason,
  since: isoInstant(since),
});

export const stoppedRunSchema = z
  .object({
    run: idSchema,
    organization: z.string(),
    report: z.string(),
    period: z.string().describe('Its label.'),
    created_at: z.iso.datetime(),
    replaced_by: z
      .object({ run: idSchema, why: z.enum(['superseded', 'corrected']) })
      .nullable()
      .describe('A newer run of the report and period. A release cancels this run, unless `also` names it.'),
  })
  .meta({ id: 'StoppedRun' });

export const stoppedRunView = ({ record, replacedBy }: StoppedRun): z.infer<typeof stoppedRunSchema> => ({
  run: record.id,
  organization: record.org,
  report: record.report,
  period: record.period.label,
  created_at: isoInstant(record.createdAt),
  replaced_by: replacedBy,
});

const targetFields = {
  organization: orgSchema.nullable().describe('Null: all organizations; only for operators of all organizations.'),
  reason: reasonSchema,
};
const chosen = z.array(idSchema).max(5_000).default([]);
const shared = { tags: ['Stop and legal hold'], security };
const kindParams = z.object({ kind: z.enum(SWITCH_KINDS) });

const listRoute = createRoute({
  ...shared,
  method: 'get',
  path: '/api/switches',
  operationId: 'listSwitches',
  summary: 'List stops and legal holds',
  responses: {
    200: jsonResponse(
      z.object({
        switches: z.array(switchSchema).readonly(),
        waiting: z
          .array(stoppedRunSchema)
          .readonly()
          .describe('Runs whose deliveries wait for a release, newest first.'),
      }),
      'The stops and legal holds in force.',
    ),
    ...queryProblems,
  },
});
const setRoute = createRoute({
  ...shared,
  method: 'post',
  path: '/api/switches/{kind}',
  operationId: 'setSwitch',
  summary: 'Stop deliveries, or set a legal hold',
  description: 'In force until it is released. An existing stop or hold keeps its first reason.',
  request: {
    params: kindParams,
    body: jsonRequestBody(z.strictObject(targetFields).meta({ id: 'SetSwitch' })),
  },
  responses: { 200: jsonResponse(switchSchema, 'The stop or hold in force.'), ...mutationProblems },
});
const releaseRoute = createRoute({
  ...shared,
  method: 'post',
  path: '/api/switches/{kind}/release',
  operationId: 'releaseSwitch',
  summary: 'Release a stop or a legal hold',
  description: 'The runs that waited continue. Runs that a newer run replaces are cancelled, unless `also` names them.',
  request: {
    params: kindParams,
    body: jsonRequestBody(
      z
        .strictObject({
          ...targetFields,
          also: chosen.describe('Replaced runs to deliver anyway.'),
          except: chosen.describe('Other runs to cancel instead.'),
        })
        .meta({ id: 'ReleaseSwitch' }),
    ),
  },
  responses: {
    200: jsonResponse(
      z.object({
        released: switchSchema.nullable().describe('Null if it was not in force.'),
        continued: z.array(idSchema).readonly(),
        cancelled: z.array(idSchema).readonly(),
      }),
      'What the release changed.',
    ),
    ...mutationProblems,
  },
});

export function addSwitchRoutes(app: AdminApp): void {
  app.openapi(listRoute, async (context) => {
    const access = context.get('access');
    const [switches, waiting] = await Promise.all([access.switches(), access.stoppedRuns()]);
    return context.json({ switches: switches.map(switchView), waiting: waiting.map(stoppedRunView) }, 200);
  });
  app.openapi(setRoute, async (context) => {
    const { kind } = context.req.valid('param');
    const { organization: org, reason } = context.req.valid('json');
    return context.json(switchView(await context.get('access').setSwitch({ kind, org }, reason)), 200);
  });
  app.openapi(releaseRoute, async (context) => {
    const { kind } = context.req.valid('param');
    const { organization: org, reason, also, except } = context.req.valid('json');
    const result = await context.get('access').releaseSwitch({ kind, org }, reason, { also, except });
    const ids = (runs: readonly { readonly id: string }[]) => runs.map(({ id }) => id);
    return context.json(
      {
        released: result.released === null ? null : switchView(result.released),
        continued: ids(result.continued),
        cancelled: ids(result.cancelled),
      },
      200,
    );
  });
}
