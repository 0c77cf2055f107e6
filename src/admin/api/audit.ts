import { createRoute } from '@hono/zod-openapi';
import { z } from 'zod';
import { AUDIT_EVENTS, CURSOR, type KeptEntry } from '../auth/audit.ts';
import type { Admin } from '../env.ts';
import {
  asking,
  json,
  limitSchema,
  nextLink,
  nextSchema,
  orgSchema,
  PROBLEM,
  pageHeaders,
  security,
} from './declare.ts';

const text = z.string().nullable();
const entrySchema = z
  .object({
    id: z.string(),
    at: z.iso.datetime(),
    event: z.enum(AUDIT_EVENTS),
    who: z.string().describe('Name of the token, or of the person on the command line.'),
    from: text.describe('IP address; null on the command line.'),
    organization: text.describe('Null for what belongs to none: sign-ins and tokens.'),
    report: text,
    run: text,
    delivery: text,
    why: text,
  })
  .meta({ id: 'AuditEntry' });

const listRoute = createRoute({
  method: 'get',
  path: '/api/audit',
  tags: ['Audit'],
  summary: 'Who did what, the newest first',
  description:
    'The last 10,000 or so. Sign-ins and tokens belong to no organization and are told to an operator of all organizations alone.',
  security,
  request: {
    query: z.strictObject({
      org: orgSchema.optional(),
      event: z.enum(AUDIT_EVENTS).optional(),
      who: z.string().min(1).max(100).optional(),
      after: z.string().regex(CURSOR, 'the `next` of the page before').optional(),
      limit: limitSchema(500, 50),
    }),
  },
  responses: {
    200: {
      ...json(z.object({ entries: z.array(entrySchema), next: nextSchema }), 'A page of them.'),
      headers: pageHeaders,
    },
    ...asking,
    404: PROBLEM[404],
    422: PROBLEM[422],
  },
});

/** The audit log. */
export function addAudit(app: Admin): void {
  app.openapi(listRoute, async (context) => {
    const { org, event, who, after, limit } = context.req.valid('query');
    const { entries, next } = await context.get('access').audit({ org, event, who, after, limit });
    return context.json({ entries: entries.map(entryView), next }, 200, nextLink(context.req.url, next));
  });
}

const entryView = ({ id, at, event, who, from, org, report, run, delivery, why }: KeptEntry) => ({
  id,
  at: new Date(at).toISOString(),
  event,
  who,
  from: from ?? null,
  organization: org ?? null,
  report: report ?? null,
  run: run ?? null,
  delivery: delivery ?? null,
  why: why ?? null,
});
