import { createRoute } from '@hono/zod-openapi';
import { z } from 'zod';
import type { Admin } from '../env.ts';
import { addReference } from '../reference/add-reference.tsx';
import { json, PROBLEM } from './declare.ts';

/** What `/openapi.json` says of itself. */
const INFO = {
  title: 'Docket',
  description: [
    'The admin route of Docket: run reports, look at runs, files and deliveries, decide, pause.',
    'Every request wants `Authorization: Bearer <token>` (`docket tokens create`). A token sees its organizations alone: whatever belongs to another answers 404, whether it exists or not. A viewer looks; an operator acts as well.',
    'Problems come as `application/problem+json` (RFC 9457) with a stable `code`. A method that a path does not have answers 405 with `Allow`.',
  ].join('\n\n'),
} as const;

const route = createRoute({
  method: 'get',
  path: '/openapi.json',
  tags: ['Health'],
  summary: 'This document',
  responses: { 200: json(z.looseObject({ openapi: z.literal('3.1.0') }), 'OpenAPI 3.1.'), 421: PROBLEM[421] },
});

/**
 * `GET /openapi.json`, OpenAPI 3.1, and a page of it at `/api/docs`, from the schemas that validate. It needs no token: it says what this version of Docket
 * is, and nothing of this installation. Add it before whatever asks for tokens; what is added later is told as well.
 */
export function addDocument(app: Admin, version: string): void {
  app.openAPIRegistry.registerComponent('securitySchemes', 'bearer', { type: 'http', scheme: 'bearer' });
  app.openAPIRegistry.registerPath(route);
  const document = () => app.getOpenAPI31Document({ openapi: '3.1.0', info: { ...INFO, version } });
  let text: string | undefined;
  app.get(route.getRoutingPath(), (context) => {
    text ??= JSON.stringify(document());
    return context.body(text, 200, { 'Content-Type': 'application/json' });
  });
  addReference(app, document);
}
