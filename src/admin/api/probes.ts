import { createRoute } from '@hono/zod-openapi';
import { z } from 'zod';
import type { Clock } from '../../base/clock.ts';
import { DocketError } from '../../base/error.ts';
import type { Log } from '../../base/log.ts';
import type { HealthCheck } from '../../services/deployment/probe.ts';
import type { Auth } from '../auth/authenticate.ts';
import type { AdminApp } from '../hono-env.ts';
import type { Exposition } from '../metrics/process-metrics.ts';
import { jsonResponse, PROBLEM_RESPONSES, queryProblems, security } from './openapi-helpers.ts';

/** Ports of the routes that every process serves. */
export interface ProbePorts {
  readonly auth: Auth;
  /** The checks of `/readyz`. Resolves quickly and never rejects. */
  readonly health: () => Promise<readonly HealthCheck[]>;
  /** Codes of the deployment's problems that the page shows. */
  readonly problemCodes?: (() => readonly string[]) | undefined;
  readonly metrics: () => Promise<Exposition>;
  readonly clock: Clock;
  readonly log: Log;
}

const tags = ['Health'];

const liveRoute = createRoute({
  method: 'get',
  path: '/healthz',
  operationId: 'getLiveness',
  tags,
  summary: 'Check that the process is alive',
  responses: { 200: jsonResponse(z.object({ status: z.literal('ok') }), 'It is.') },
});

const readySchema = z
  .object({
    status: z.enum(['ready', 'not ready']),
    checks: z
      .array(z.object({ name: z.string(), ok: z.boolean(), detail: z.string().optional() }))
      .readonly()
      .describe('Redis, the definitions, each role of the process, and the storage that it writes to.'),
    problems: z
      .array(z.string())
      .readonly()
      .describe(
        'Problems of the whole deployment. They do not change the status, because every other process has them as well.',
      ),
  })
  .meta({ id: 'Readiness' });
const readyRoute = createRoute({
  method: 'get',
  path: '/readyz',
  operationId: 'getReadiness',
  tags,
  summary: 'Check that the process is ready',
  responses: {
    200: jsonResponse(readySchema, 'It is.'),
    503: jsonResponse(readySchema, 'Not ready; `checks` has the reason.'),
  },
});

const metricsRoute = createRoute({
  method: 'get',
  path: '/metrics',
  operationId: 'getMetrics',
  tags,
  summary: 'Metrics for Prometheus',
  description: 'Requires a token for all organizations: the metrics contain each of them.',
  security,
  responses: {
    200: { description: 'Prometheus text format.', content: { 'text/plain': { schema: z.string() } } },
    ...queryProblems,
    403: PROBLEM_RESPONSES[403],
  },
});

/** `/healthz` and `/readyz`, which need no token. */
export function addHealthRoutes(
  app: AdminApp,
  { health, problemCodes = () => [] }: Pick<ProbePorts, 'health' | 'problemCodes'>,
): void {
  app.openapi(liveRoute, (context) => context.json({ status: 'ok' as const }, 200));
  app.openapi(readyRoute, async (context) => {
    const checks = (await health()).map(({ remedy: _, ...check }) => check);
    const found = { checks, problems: problemCodes() };
    return found.checks.every((check) => check.ok)
      ? context.json({ status: 'ready' as const, ...found }, 200)
      : context.json({ status: 'not ready' as const, ...found }, 503);
  });
}

/** `/metrics`. */
export function addMetricsRoute(app: AdminApp, { metrics }: Pick<ProbePorts, 'metrics'>): void {
  app.openapi(metricsRoute, async (context) => {
    const { orgs } = context.get('principal');
    if (orgs !== '*') {
      throw new DocketError('auth.forbidden', 'The metrics contain all organizations.', {
        expected: 'a token for all organizations (`docket tokens create` without --org)',
        got: `one for ${orgs.join(', ')}`,
      });
    }
    const { type, body } = await metrics();
    return context.text(body, 200, { 'Content-Type': type });
  });
}
