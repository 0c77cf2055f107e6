import { createRoute } from '@hono/zod-openapi';
import { z } from 'zod';
import { isoInstantOrNull } from '../../base/time.ts';
import type { BudgetEntry } from '../../services/budgets/inspect-budgets.ts';
import type { AdminApp } from '../hono-env.ts';
import { jsonResponse, queryProblems, security } from './openapi-helpers.ts';

const count = z.int().min(0);

const budgetSchema = z
  .object({
    key: z.string().describe('Fingerprint of the API key.'),
    of: z.enum(['metrics', 'reads']).describe('Metrics calls and list reads each have tokens of their own.'),
    organizations: z.array(z.string()).readonly().describe('Those that use the key and that the token may see.'),
    calls: count.describe('Tokens at the full rate, in a window.'),
    window_ms: count,
    limit: count.describe('Tokens there are in all now: fewer for some windows after a 429.'),
    tokens: count.describe('Free now.'),
    in_flight: count,
    waiting: count.describe('Waiting calls.'),
    blocked_until: z.iso.datetime().nullable().describe('No calls until then, after a 429.'),
    slowed_until: z.iso.datetime().nullable().describe('When the full rate is back, if no other 429 comes.'),
    throttled: count.describe('429s since the budget was last idle.'),
    next_token_at: z.iso.datetime().describe('When a call that is requested now can expect its token.'),
  })
  .meta({ id: 'Budget' });

const route = createRoute({
  method: 'get',
  path: '/api/budgets',
  operationId: 'listBudgets',
  tags: ['Budgets'],
  summary: 'Show the budgets of the API keys',
  description:
    'Asks Redis alone: no call is made and no token spent. For a chart ask every few seconds; nothing is kept.',
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
      'One for each key, and one for its list reads if there were any lately.',
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
