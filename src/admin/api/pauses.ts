import { createRoute } from '@hono/zod-openapi';
import { z } from 'zod';
import type { AdminApp } from '../hono-env.ts';
import {
  jsonRequestBody,
  jsonResponse,
  mutationProblems,
  orgParams,
  queryProblems,
  reasonBody,
  reportParams,
  security,
} from './openapi-helpers.ts';
import { pauseSchema, pauseView } from './schemas.ts';

const listRoute = createRoute({
  method: 'get',
  path: '/api/pauses',
  operationId: 'listPauses',
  tags: ['Pauses'],
  summary: 'List the pauses',
  security,
  responses: {
    200: jsonResponse(z.object({ pauses: z.array(pauseSchema).readonly() }), 'All pauses in force.'),
    ...queryProblems,
  },
});

const shared = { method: 'post' as const, tags: ['Pauses'], security };
const body = jsonRequestBody(reasonBody);
const pausing = {
  ...shared,
  description:
    'Scheduled runs wait; runs on demand still start. An existing pause is not changed and keeps its first reason.',
  responses: { 200: jsonResponse(pauseSchema, 'The pause in force.'), ...mutationProblems },
};
const resuming = {
  ...shared,
  description:
    'Ends the pause of exactly this organization or report, including a pause that Docket set for a refused API key. Slots that came due meanwhile are caught up as `catch_up` says.',
  responses: {
    200: jsonResponse(
      z.object({ lifted: z.array(pauseSchema).readonly() }),
      'The pauses that ended; empty if nothing was paused.',
    ),
    ...mutationProblems,
  },
};
const pauseOrg = createRoute({
  ...pausing,
  path: '/api/organizations/{org}/pause',
  operationId: 'pauseOrganization',
  summary: 'Pause all reports of an organization',
  request: { params: orgParams, body },
});
const pauseReport = createRoute({
  ...pausing,
  path: '/api/reports/{org}/{report}/pause',
  operationId: 'pauseReport',
  summary: 'Pause a report',
  request: { params: reportParams, body },
});
const resumeOrg = createRoute({
  ...resuming,
  path: '/api/organizations/{org}/resume',
  operationId: 'resumeOrganization',
  summary: 'Resume an organization',
  request: { params: orgParams, body },
});
const resumeReport = createRoute({
  ...resuming,
  path: '/api/reports/{org}/{report}/resume',
  operationId: 'resumeReport',
  summary: 'Resume a report',
  request: { params: reportParams, body },
});

/** Lists pauses, and pauses or resumes the scheduled runs of an organization or of one report. */
export function addPauseRoutes(app: AdminApp): void {
  app.openapi(listRoute, async (context) => {
    const pauses = await context.get('access').pauses();
    return context.json({ pauses: pauses.map(pauseView) }, 200);
  });

  app.openapi(pauseOrg, async (context) => {
    const { org } = context.req.valid('param');
    const { reason } = context.req.valid('json');
    return context.json(pauseView(await context.get('access').pause(org, null, reason)), 200);
  });
  app.openapi(pauseReport, async (context) => {
    const { org, report } = context.req.valid('param');
    const { reason } = context.req.valid('json');
    return context.json(pauseView(await context.get('access').pause(org, report, reason)), 200);
  });

  app.openapi(resumeOrg, async (context) => {
    const { org } = context.req.valid('param');
    const { reason } = context.req.valid('json');
    const lifted = await context.get('access').resume(org, null, reason);
    return context.json({ lifted: lifted.map(pauseView) }, 200);
  });
  app.openapi(resumeReport, async (context) => {
    const { org, report } = context.req.valid('param');
    const { reason } = context.req.valid('json');
    const lifted = await context.get('access').resume(org, report, reason);
    return context.json({ lifted: lifted.map(pauseView) }, 200);
  });
}
