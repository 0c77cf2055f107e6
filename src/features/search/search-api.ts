import { createRoute } from '@hono/zod-openapi';
import { z } from 'zod';
import { filterProblems, jsonResponse, orNull, security } from '../../admin/api/openapi-helpers.ts';
import { receivedSchema, receivedView, runSchema, runView } from '../../admin/api/schemas.ts';
import type { AdminApp } from '../../admin/hono-env.ts';
import { mentionSchema } from '../../services/listings/address-mentions.ts';
import type { ReceivedDelivery } from '../../services/listings/received.ts';
import type { FindMatches, SearchGroup } from './find-matches.ts';

const groupSchema = <Match extends z.ZodType>(match: Match, description: string) =>
  z
    .object({
      matches: z.array(match).readonly(),
      total: z.int().min(0).describe('Number of matches.'),
      is_minimum: z.boolean().describe('true: there are at least `total` matches.'),
    })
    .describe(description);

const searchSchema = z
  .object({
    period: orNull(
      z.object({ from: z.string(), to: z.string(), label: z.string() }).describe('First and last day, YYYY-MM-DD.'),
    ).describe('The period in the text.'),
    reports: groupSchema(
      z.object({ org: z.string(), report: z.string(), title: z.string().nullable() }).meta({ id: 'FoundReport' }),
      'Reports whose id, title or organization contains every word.',
    ),
    runs: groupSchema(
      runSchema,
      'Runs whose id starts with the text, or of matching reports whose period begins in the period.',
    ),
    recipients: groupSchema(
      groupSchema(receivedSchema, 'Its newest deliveries; `total` counts runs.')
        .extend({ org: z.string(), recipient: z.string().describe('In lower case.') })
        .meta({ id: 'FoundRecipient' }),
      'Recipients that contain the words, the latest first; with a period, also what was sent to them for it.',
    ),
    mentions: z
      .array(mentionSchema)
      .readonly()
      .describe('For a complete address: the places in definitions that name it.'),
  })
  .meta({ id: 'SearchResult' });

const route = createRoute({
  method: 'get',
  path: '/api/search',
  operationId: 'search',
  tags: ['Search'],
  summary: 'Search reports, runs and recipients',
  description:
    'The text is a part of a report’s id or title, the first 4 digits or more of a run’s id, or a part of a recipient’s address; case does not matter. It can include a period: `board@ october`, `board@ 2026-10`, `kpi w46`. Each group has its first matches and the number of all matches.',
  security,
  request: {
    query: z.strictObject({
      q: z.string().trim().min(1).max(200).meta({ description: 'What to search for.', example: 'board@ 2026-10' }),
    }),
  },
  responses: { 200: jsonResponse(searchSchema, 'What was found.'), ...filterProblems },
});

/** `GET /api/search`. */
export function addSearchRoute(app: AdminApp, find: FindMatches): void {
  app.openapi(route, async (context) => {
    const { period, reports, runs, recipients, mentions } = await find(
      context.req.valid('query').q,
      context.get('principal').orgs,
    );
    return context.json(
      {
        period,
        reports: buildView(reports, (report) => report),
        runs: buildView(runs, runView),
        recipients: buildView(recipients, ({ org, recipient, ...received }) => ({
          org,
          recipient,
          ...buildView<ReceivedDelivery, ReturnType<typeof receivedView>>(received, receivedView),
        })),
        mentions,
      },
      200,
    );
  });
}

const buildView = <Match, View>({ matches, total, isMinimum }: SearchGroup<Match>, view: (match: Match) => View) => ({
  matches: matches.map(view),
  total,
  is_minimum: isMinimum,
});
