import { createRoute, OpenAPIHono } from '@hono/zod-openapi';
import { HTTPException } from 'hono/http-exception';
import { methodNotAllowed } from 'hono/method-not-allowed';
import { z } from 'zod';
import { toDocketError } from '../base/error.ts';
import type { Access } from './access/access.ts';
import { addAuditRoutes, addBudgetRoutes } from './api/budgets.ts';
import { addDefinitionRoutes } from './api/definitions.ts';
import { addDeliveryRoutes } from './api/deliveries.ts';
import { addDenialRoutes } from './api/denials.ts';
import { addFileRoutes } from './api/files.ts';
import { addForecastRoute } from './api/forecast.ts';
import { jsonResponse, PROBLEM_RESPONSES } from './api/openapi-helpers.ts';
import { addPauseRoutes } from './api/pauses.ts';
import { addHealthRoutes, addMetricsRoute, type ProbePorts } from './api/probes.ts';
import { addRecipientRoutes } from './api/recipients.ts';
import { addReportRoutes, addScheduleRoutes } from './api/reports.ts';
import { addCorrectionRoutes } from './api/runs/corrections.ts';
import { addReviewRoutes } from './api/runs/reviews.ts';
import { addRunEventRoutes } from './api/runs/run-events.ts';
import { addSelectionRoutes } from './api/runs/selections.ts';
import { addTimelineRoute } from './api/runs/timeline.ts';
import { addRunRoutes, addTriggerRoute } from './api/runs.ts';
import type { StreamLimiter } from './api/stream-limiter.ts';
import { addSwitchRoutes } from './api/switches.ts';
import { type PageAuth, requireToken } from './auth/authenticate.ts';
import { limitFormSize, resolveClient } from './auth/client.ts';
import { securityHeaders } from './auth/headers.ts';
import type { Principal } from './auth/tokens.ts';
import type { BullBoard } from './bull-board.ts';
import { type AdminApp, type Env, notFoundResponse } from './hono-env.ts';
import { addPage } from './page/page.tsx';
import type { AdminPart } from './part.ts';
import { problem, toProblemResponse } from './problem.ts';
import { parseRequestBody, validationHook } from './request-validation.ts';

export interface AdminPorts extends ProbePorts {
  readonly auth: PageAuth;
  /** Creates the access of a principal. */
  readonly access: (principal: Principal) => Access;
  readonly streams: StreamLimiter;
  /** The parts that features add. */
  readonly parts?: readonly AdminPart[];
  /** Bull Board, if enabled. */
  readonly board?: BullBoard | undefined;
  /** Version of Docket in the OpenAPI document. */
  readonly version: string;
}

/** The admin route as a function of requests; `server.ts` serves it. Every error response is a problem (RFC 9457). */
export const createAdminApp = (ports: AdminPorts): AdminApp =>
  createProbeApp(ports, {
    open: (app) => {
      addOpenApiDocument(app, ports.version);
      const { access, clock, board: bullBoard, parts } = ports;
      addPage(app, { ...ports.auth, access, clock, bullBoard, parts });
    },
    api: (app) => {
      app.use('/api/*', parseRequestBody, async (context, next) => {
        context.set('access', ports.access(context.get('principal')));
        await next();
      });
      addReportRoutes(app);
      addTriggerRoute(app);
      addRunRoutes(app, ports.clock.now);
      addRunEventRoutes(app, ports);
      addTimelineRoute(app);
      addReviewRoutes(app, ports);
      addFileRoutes(app, ports);
      addDeliveryRoutes(app);
      addSelectionRoutes(app, ports.clock.now);
      addRecipientRoutes(app);
      for (const { addApi } of ports.parts ?? []) addApi?.(app);
      addPauseRoutes(app);
      addSwitchRoutes(app);
      addDenialRoutes(app);
      addCorrectionRoutes(app);
      addScheduleRoutes(app, ports.clock.now);
      addDefinitionRoutes(app);
      addBudgetRoutes(app, ports.clock.now);
      addForecastRoute(app, ports.clock.now);
      addAuditRoutes(app);
    },
  });

export interface AppParts {
  /** Routes without a token. */
  readonly open?: (app: AdminApp) => void;
  readonly api?: (app: AdminApp) => void;
}

/** Serves `/healthz`, `/readyz` and `/metrics`, and the routes of `parts`. */
export function createProbeApp(ports: ProbePorts, { open, api }: AppParts = {}): AdminApp {
  const { log } = ports;
  const app: AdminApp = new OpenAPIHono<Env>({ defaultHook: validationHook });

  app.use(securityHeaders());
  app.use(resolveClient(ports.auth), limitFormSize());
  addHealthRoutes(app, ports);
  open?.(app);
  app.use(requireToken(ports.auth));
  app.use(
    methodNotAllowed({
      app,
      onMethodNotAllowed: (_, methods) =>
        problem('request.method_not_allowed', { expected: methods.join(', ') }, { Allow: methods.join(', ') }),
    }),
  );

  api?.(app);

  addMetricsRoute(app, ports);

  app.notFound(notFoundResponse);
  app.onError((thrown, context) => {
    if (thrown instanceof HTTPException) {
      return thrown.status === 413
        ? problem('request.too_large')
        : problem('request.malformed', { detail: 'The body is not JSON.' });
    }
    // The client closed the connection before its body was complete. This is not an error of Docket.
    if (context.req.raw.signal.aborted) return problem('request.malformed');
    const error = toDocketError(thrown);
    if (error.code === 'request.not_found') return notFoundResponse(context);
    const response = toProblemResponse(error);
    if (response.status >= 500) log.error('A request failed', { path: context.req.path, error: error.toJSON() });
    return response;
  });
  return app;
}

const INFO = {
  title: 'Docket',
  description: [
    'The admin route of Docket: run reports, inspect runs, files and deliveries, decide about them, pause schedules.',
    'Every request needs `Authorization: Bearer <token>` (`docket tokens create`). A token sees only its own organizations: anything of another organization is answered with 404, whether it exists or not. A viewer can read. An operator can also act.',
    'Errors are `application/problem+json` (RFC 9457) with a stable `code`. A method that a path does not support is answered with 405 and `Allow`.',
  ].join('\n\n'),
} as const;

const route = createRoute({
  method: 'get',
  path: '/openapi.json',
  operationId: 'getOpenApiDocument',
  tags: ['Health'],
  summary: 'This document',
  responses: {
    200: jsonResponse(z.looseObject({ openapi: z.literal('3.1.0') }), 'OpenAPI 3.1.'),
    421: PROBLEM_RESPONSES[421],
  },
});

/**
 * `GET /openapi.json`: OpenAPI 3.1, generated from the schemas that validate requests, including routes added later.
 * Add it before authentication: it describes the version, not the installation, and needs no token.
 */
function addOpenApiDocument(app: AdminApp, version: string): void {
  app.openAPIRegistry.registerComponent('securitySchemes', 'bearer', { type: 'http', scheme: 'bearer' });
  app.openAPIRegistry.registerPath(route);
  let text: string | undefined;
  app.get(route.getRoutingPath(), (context) => {
    text ??= JSON.stringify(app.getOpenAPI31Document({ openapi: '3.1.0', info: { ...INFO, version } }));
    return context.body(text, 200, { 'Content-Type': 'application/json' });
  });
  // In 0.1 this was the address of the reference page.
  app.get('/api/docs', (context) => context.redirect('/openapi.json', 301));
}
