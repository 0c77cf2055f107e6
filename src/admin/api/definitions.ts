import { createRoute } from '@hono/zod-openapi';
import { z } from 'zod';
import { toDocketError } from '../../base/error.ts';
import type { PeriodSpec } from '../../define/definition.ts';
import { parsePeriod } from '../../define/period.ts';
import type { Admin } from '../env.ts';
import { acting, asking, json, PROBLEM, reportParams, security } from './declare.ts';

const validationSchema = z
  .object({
    ok: z.boolean(),
    faults: z
      .array(
        z.object({
          line: z.int(),
          column: z.int(),
          text: z.string(),
          code: z
            .literal('definition.over_limit')
            .optional()
            .describe('Reading the text would take too long or too much memory; it was given up.'),
        }),
      )
      .readonly()
      .describe('All at once, as `docket check` prints them; line and column from 1.'),
    unchecked: z
      .string()
      .nullable()
      .describe('Why what it asks was not compared with the metric catalog; null when it was, and when it has faults.'),
  })
  .meta({ id: 'Validation' });

const { 403: _forbidden, 422: _invalid, ...problems } = acting;

const validateRoute = createRoute({
  method: 'post',
  path: '/api/reports/{org}/{report}/validate',
  tags: ['Definitions'],
  summary: 'Look for faults in a definition',
  description:
    'The text as it would stand in the report’s file, which need not be there; at most 256 KiB, and what is read within 1.5 s. Nothing is kept, and no call is made: it is compared with the metric catalog if the workers hold one.',
  security,
  request: {
    params: reportParams,
    body: { required: true, content: { 'application/yaml': { schema: z.string().meta({ example: 'version: 1' }) } } },
  },
  responses: { 200: json(validationSchema, 'What was found; faults are an answer, not a problem.'), ...problems },
});

/** A period as a query can say it. */
const periodSchema = z
  .string()
  .max(100)
  .transform((text, context): PeriodSpec => {
    try {
      return parsePeriod(text);
    } catch (thrown) {
      context.addIssue({ code: 'custom', message: `expected ${toDocketError(thrown).expected ?? 'a period'}` });
      return z.NEVER;
    }
  });

const explainRoute = createRoute({
  method: 'get',
  path: '/api/reports/{org}/{report}/explain',
  tags: ['Definitions'],
  summary: 'What a run would ask, cost and send',
  description:
    'The document of `docket explain --json`. It goes by the metric catalog that the workers hold; where they hold none, it costs a token of the key to ask for it, which an operator alone may spend; for a viewer, and in a process that does not know the service, it is a conflict.',
  security,
  request: {
    params: reportParams,
    query: z.strictObject({
      period: periodSchema
        .optional()
        .meta({ description: 'Another period than the definition’s.', type: 'string', example: '2026-10' }),
    }),
  },
  responses: {
    200: json(z.record(z.string(), z.unknown()).meta({ id: 'Plan' }), 'The plan.'),
    ...asking,
    404: PROBLEM[404],
    409: PROBLEM[409],
    422: PROBLEM[422],
  },
});

const planSchema = z.record(z.string(), z.unknown());

/** Definitions: looking for faults in a text, and what a report would ask. */
export function addDefinitions(app: Admin): void {
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
