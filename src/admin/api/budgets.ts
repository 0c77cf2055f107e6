import { createRoute } from '@hono/zod-openapi';
import { z } from 'zod';
import { isoInstantOrNull } from '../../base/time.ts';
import { AUDIT_CURSOR_PATTERN, AUDIT_EVENTS, type StoredAuditEntry } from '../../services/audit-log.ts';
import type { BudgetEntry } from '../../services/budgets/inspect-budgets.ts';
import type { AdminApp } from '../hono-env.ts';
import {
  filterProblems,
  jsonResponse,
  limitSchema,
  nextLink,
  orgSchema,
  pageResponse,
  queryProblems,
  security,
} from './openapi-helpers.ts';

const count = z.int().min(0);

const budgetSchema = z
  .object({
    key: z.string().describe('Fingerprint of the API key.'),
    of: z.enum(['metrics', 'reads']).describe('Metrics calls and list reads have separate tokens.'),
    organizations: z.array(z.string()).readonly().describe('Organizations with this key that the token may see.'),
    calls: count.describe('Tokens per window at the full rate.'),
    window_ms: count,
    limit: count.describe('Tokens per window at present: fewer for some windows after a 429.'),
    tokens: count.describe('Free tokens.'),
    in_flight: count,
    waiting: count.describe('Waiting calls.'),
    blocked_until: z.iso.datetime().nullable().describe('No call is made before this instant, after a 429.'),
    slowed_until: z.iso.datetime().nullable().describe('When the full rate returns, unless there is another 429.'),
    throttled: count.describe('Number of 429s since the budget was last idle.'),
    next_token_at: z.iso.datetime().describe('When a call that starts to wait now can expect its token.'),
  })
  .meta({ id: 'Budget' });

const route = createRoute({
  method: 'get',
  path: '/api/budgets',
  operationId: 'listBudgets',
  tags: ['Budgets'],
  summary: 'Show the budgets of the API keys',
  description:
    'Reads only Redis: no call is made and no token is spent. For a chart, request it every few seconds; Docket keeps no history.',
  security,
  responses: {
    200: jsonResponse(
      z.object({
        at: z.iso.datetime(),
        budgets: z.array(budgetSchema).readonly(),
        unknown: z
          .array(z.object({ org: z.string(), why: z.string() }))
          .readonly()
          .describe('Organizations whose API key this process does not have.'),
      }),
      'One for each key, and one for its list reads if there were any recently.',
    ),
    ...queryProblems,
  },
});

const budgetView = ({ organizations, of, calls, windowMs, state, expected }: BudgetEntry) => ({
  key: state.key,
  of,
  organizations,
  calls,
  window_ms: windowMs,
  limit: state.limit,
  tokens: Math.max(0, state.tokens),
  in_flight: state.inFlight,
  waiting: state.waiting,
  blocked_until: isoInstantOrNull(state.blockedUntil),
  slowed_until: isoInstantOrNull(state.slowedUntil),
  throttled: state.throttled,
  next_token_at: new Date(expected).toISOString(),
});

/** `GET /api/budgets`. */
export function addBudgetRoutes(app: AdminApp, now: () => number): void {
  app.openapi(route, async (context) => {
    const { budgets, unknown } = await context.get('access').budgets();
    const at = new Date(now()).toISOString();
    return context.json({ at, budgets: budgets.map(budgetView), unknown }, 200);
  });
}

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
