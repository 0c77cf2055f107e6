import { createRoute } from '@hono/zod-openapi';
import { z } from 'zod';
import { isoInstant } from '../../base/time.ts';
import { addressKey } from '../../definitions/allow-lists/recipients.ts';
import type { Denial } from '../../services/denials/denial-service.ts';
import { mentionSchema } from '../../services/listings/address-mentions.ts';
import type { AdminApp } from '../hono-env.ts';
import {
  filterProblems,
  jsonRequestBody,
  jsonResponse,
  mutationProblems,
  reasonSchema,
  security,
} from './openapi-helpers.ts';
import { receivedSchema, receivedView } from './schemas.ts';

const denialSchema = z
  .object({
    name: z.string().describe('An address in lower case, or a domain.').meta({ example: 'ana@acme.example' }),
    by: z.string(),
    reason: z.string(),
    since: z.iso.datetime(),
  })
  .meta({ id: 'Denial' });

export const denialView = ({ since, ...denial }: Denial): z.infer<typeof denialSchema> => ({
  ...denial,
  since: isoInstant(since),
});

/** A body has at most 64 kB. For longer lists there is `docket deny --file`. */
const MAX_TEXT = 60_000;
const changeSchema = z.strictObject({
  list: z
    .string()
    .max(MAX_TEXT)
    .describe(
      'One address or domain per line, or CSV with a header: `address` and optionally `reason`. `docket deny --file` accepts longer lists.',
    )
    .meta({ example: 'ana@acme.example' }),
  reason: reasonSchema,
});
const shared = { tags: ['Recipients'], security };
const request = { body: jsonRequestBody(changeSchema.meta({ id: 'ChangeDenied' })) };
const buildListResponse = (description: string) =>
  jsonResponse(z.object({ denied: z.array(denialSchema).readonly() }), description);

const listRoute = createRoute({
  ...shared,
  method: 'get',
  path: '/api/denied',
  operationId: 'listDenied',
  summary: 'Show the deny list',
  description: 'Addresses and domains that get no mail, oldest first. Only for principals of all organizations.',
  responses: { 200: buildListResponse('The entries.'), ...filterProblems },
});
const denyRoute = createRoute({
  ...shared,
  method: 'post',
  path: '/api/denied',
  operationId: 'denyRecipients',
  summary: 'Deny addresses and domains',
  description:
    'They get no report and no notice, wherever they are named. A domain does not cover its sub-domains. Existing entries are not changed. If one line is invalid, nothing is changed.',
  request,
  responses: { 200: buildListResponse('The entries that were added.'), ...mutationProblems },
});
const allowRoute = createRoute({
  ...shared,
  method: 'post',
  path: '/api/denied/remove',
  operationId: 'allowRecipients',
  summary: 'Remove addresses and domains from the deny list',
  description: 'Deliveries that were skipped meanwhile are not sent automatically: resend them.',
  request,
  responses: { 200: buildListResponse('The entries that were removed.'), ...mutationProblems },
});
const recipientRoute = createRoute({
  ...shared,
  method: 'get',
  path: '/api/recipients',
  operationId: 'findRecipient',
  summary: 'Show where an address is named, and what was sent to it',
  request: {
    query: z.strictObject({
      of: z
        .string()
        .trim()
        .min(3)
        .max(320)
        .refine((text) => addressKey(text) !== undefined, 'one address, without a display name')
        .meta({ description: 'A complete address; case does not matter.', example: 'ana@acme.example' }),
      limit: z.coerce.number().int().min(1).max(200).default(50).meta({ description: 'Maximum number of runs.' }),
    }),
  },
  responses: {
    200: jsonResponse(
      z.object({
        mentions: z.array(mentionSchema).readonly().describe('Where the address is named.'),
        deliveries: z.array(receivedSchema).readonly().describe('As in `GET /api/deliveries?to=`, newest first.'),
        next: z.string().nullable().describe('Cursor for `after` of `GET /api/deliveries?to=`.'),
      }),
      'What was found in the visible organizations.',
    ),
    ...filterProblems,
  },
});

export function addDenialRoutes(app: AdminApp): void {
  app.openapi(listRoute, async (context) => {
    return context.json({ denied: (await context.get('access').denials()).map(denialView) }, 200);
  });
  app.openapi(denyRoute, async (context) => {
    const { list, reason } = context.req.valid('json');
    return context.json({ denied: (await context.get('access').deny(list, reason)).map(denialView) }, 200);
  });
  app.openapi(allowRoute, async (context) => {
    const { list, reason } = context.req.valid('json');
    return context.json({ denied: (await context.get('access').allow(list, reason)).map(denialView) }, 200);
  });
  app.openapi(recipientRoute, async (context) => {
    const access = context.get('access');
    const { of: to, limit } = context.req.valid('query');
    const [mentions, { deliveries, next }] = await Promise.all([access.mentions(to), access.received({ to, limit })]);
    return context.json({ mentions, deliveries: deliveries.map(receivedView), next }, 200);
  });
}
