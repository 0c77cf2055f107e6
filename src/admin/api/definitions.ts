import { createRoute } from '@hono/zod-openapi';
import { z } from 'zod';
import { validationSchema } from '../access/reports.ts';
import type { AdminApp } from '../hono-env.ts';
import {
  jsonResponse,
  lookupProblems,
  mutationProblems,
  parsePeriodParameter,
  reportParams,
  security,
} from './openapi-helpers.ts';

const { 403: _forbidden, 422: _invalid, ...problems } = mutationProblems;

const validateRoute = createRoute({
  method: 'post',
  path: '/api/reports/{org}/{report}/validate',
  operationId: 'validateReport',
  tags: ['Definitions'],
  summary: 'Validate a definition',
  description:
    'The text of the report’s file, which need not exist yet; at most 256 KiB, read within 1.5 s. Nothing is stored, and the Compliance Service is not called: the text is checked against the metric catalog if the workers have cached one.',
  security,
  request: {
    params: reportParams,
    body: { required: true, content: { 'application/yaml': { schema: z.string().meta({ example: 'version: 1' }) } } },
  },
  responses: {
    200: jsonResponse(validationSchema, 'Errors and warnings. Even for an invalid definition the status is 200.'),
    ...problems,
  },
});

const planSchema = z.record(z.string(), z.unknown()).meta({ id: 'Plan' });

const explainRoute = createRoute({
  method: 'get',
  path: '/api/reports/{org}/{report}/explain',
  operationId: 'explainReport',
  tags: ['Definitions'],
  summary: 'Show the calls, cost and deliveries of a run',
  description:
    'The document of `docket explain --json`. It uses the metric catalog that the workers have cached. If there is none, fetching it costs a token of the key, which only an operator may spend. For a viewer, and in a process without COMPLIANCE_API_URL, the response is then 409.',
  security,
  request: {
    params: reportParams,
    query: z.strictObject({
      period: z
        .string()
        .max(100)
        .transform(parsePeriodParameter)
        .optional()
        .meta({ description: 'Replaces the period of the definition.', type: 'string', example: '2026-10' }),
    }),
  },
  responses: {
    200: jsonResponse(planSchema, 'The plan.'),
    ...lookupProblems,
  },
});

/** Routes that validate the text of a definition, and that show the requests a report would make. */
export function addDefinitionRoutes(app: AdminApp): void {
  app.openapi(validateRoute, async (context) => {
    const { org, report } = context.req.valid('param');
    return context.json(await context.get('access').validate(org, report, await context.req.text()), 200);
  });

  app.openapi(explainRoute, async (context) => {
    const { org, report } = context.req.valid('param');
    const { period } = context.req.valid('query');
    return context.json(planSchema.parse(await context.get('access').explain(org, report, period)), 200);
  });
}
