import { createRoute } from '@hono/zod-openapi';
import { z } from 'zod';
import { DocketError } from '../../base/error.ts';
import type { ProbePorts } from '../app.ts';
import type { Admin } from '../env.ts';
import { asking, json, PROBLEM, security } from './declare.ts';

const tags = ['Health'];

const liveRoute = createRoute({
  method: 'get',
  path: '/healthz',
  tags,
  summary: 'Whether the process is alive',
  responses: { 200: json(z.object({ status: z.literal('ok') }), 'It is.') },
});

const readySchema = z
  .object({
    status: z.enum(['ready', 'not ready']),
    checks: z
      .array(z.object({ name: z.string(), ok: z.boolean(), detail: z.string().optional() }))
      .readonly()
      .describe('Redis, the definitions, each role of the process, and what it writes to.'),
  })
  .meta({ id: 'Readiness' });
const readyRoute = createRoute({
  method: 'get',
  path: '/readyz',
  tags,
  summary: 'Whether the process can do its work',
  responses: { 200: json(readySchema, 'It can.'), 503: json(readySchema, 'It cannot; `checks` says why.') },
});

const metricsRoute = createRoute({
  method: 'get',
  path: '/metrics',
  tags,
  summary: 'Metrics for Prometheus',
  description: 'Wants a token that may see all organizations: they name every one and the state of its key.',
  security,
  responses: {
    200: { description: 'In its text format.', content: { 'text/plain': { schema: z.string() } } },
    ...asking,
    403: PROBLEM[403],
  },
});

/** `/healthz` and `/readyz`, which need no token. */
export function addHealth(app: Admin, { health }: Pick<ProbePorts, 'health'>): void {
  app.openapi(liveRoute, (context) => context.json({ status: 'ok' as const }, 200));
  app.openapi(readyRoute, async (context) => {
    const checks = await health();
    return checks.every((check) => check.ok)
      ? context.json({ status: 'ready' as const, checks }, 200)
      : context.json({ status: 'not ready' as const, checks }, 503);
  });
}

/** `/metrics`. */
export function addMetrics(app: Admin, { metrics }: Pick<ProbePorts, 'metrics'>): void {
  app.openapi(metricsRoute, async (context) => {
    const { orgs } = context.get('principal');
    if (orgs !== '*') {
      throw new DocketError('auth.forbidden', 'The metrics tell of all organizations.', {
        expected: 'a token for all organizations (`docket tokens create` without --org)',
        got: `one for ${orgs.join(', ')}`,
      });
    }
    const { type, body } = await metrics();
    return context.text(body, 200, { 'Content-Type': type });
  });
}
