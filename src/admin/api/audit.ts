import { createRoute } from '@hono/zod-openapi';
import { z } from 'zod';
import { AUDIT_CURSOR_PATTERN, AUDIT_EVENTS, type StoredAuditEntry } from '../../services/audit-log.ts';
import type { AdminApp } from '../hono-env.ts';
import { filterProblems, limitSchema, nextLink, orgSchema, pageResponse, security } from './openapi-helpers.ts';

const text = z.string().nullable();
const entrySchema = z
  .object({
    id: z.string(),
    at: z.iso.datetime(),
    event: z.enum(AUDIT_EVENTS),
    who: z.string().describe('Name of the token or account, or of the user on the command line.'),
    account: text.describe('For sign-ins with a company account: its issuer and subject.'),
    from: text.describe('IP address; null on the command line.'),
    organization: text.describe('Null for actions that belong to no organization: sign-ins and tokens.'),
    report: text,
    run: text,
    delivery: text,
    why: text,
  })
  .meta({ id: 'AuditEntry' });

const listRoute = createRoute({
  method: 'get',
  path: '/api/audit',
  operationId: 'listAuditEntries',
  tags: ['Audit'],
  summary: 'List the audit log, newest first',
  description:
    'About the last 10,000 entries. Sign-ins and tokens belong to no organization: only operators of all organizations see them.',
  security,
  request: {
    query: z.strictObject({
      org: orgSchema.optional(),
      event: z.enum(AUDIT_EVENTS).optional(),
      who: z.string().min(1).max(100).optional(),
      after: z.string().regex(AUDIT_CURSOR_PATTERN, 'the `next` of the previous page').optional(),
      limit: limitSchema(500, 50),
    }),
  },
  responses: { 200: pageResponse({ entries: z.array(entrySchema) }), ...filterProblems },
});

/** `GET /api/audit`. */
export function addAuditRoutes(app: AdminApp): void {
  app.openapi(listRoute, async (context) => {
    const { entries, next } = await context.get('access').audit(context.req.valid('query'));
    return context.json({ entries: entries.map(entryView), next }, 200, nextLink(context.req.url, next));
  });
}

const entryView = ({ id, at, event, who, account, from, org, report, run, delivery, why }: StoredAuditEntry) => ({
  id,
  at: new Date(at).toISOString(),
  event,
  who,
  account: account ?? null,
  from: from ?? null,
  organization: org ?? null,
  report: report ?? null,
  run: run ?? null,
  delivery: delivery ?? null,
  why: why ?? null,
});
