import { createRoute } from '@hono/zod-openapi';
import { z } from 'zod';
import type { AdminApp } from '../hono-env.ts';
import { jsonResponse, PROBLEM_RESPONSES } from './openapi-helpers.ts';

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
export function addOpenApiDocument(app: AdminApp, version: string): void {
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
