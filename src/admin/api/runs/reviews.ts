import { createRoute } from '@hono/zod-openapi';
import { z } from 'zod';
import type { Log } from '../../../base/log.ts';
import { MAX_COMMENT_LENGTH } from '../../../definitions/commentary/comment-text.ts';
import { ID_PATTERN } from '../../../definitions/schema/values/primitives.ts';
import { notFoundError } from '../../access/guards.ts';
import { PREVIEW_POLICY } from '../../auth/headers.ts';
import type { AdminApp } from '../../hono-env.ts';
import { bodySchema, downloadBreaker, fileBody, fileHeaders } from '../files.ts';
import {
  idParams,
  jsonRequestBody,
  jsonResponse,
  lookupProblems,
  mutationProblems,
  PROBLEM_RESPONSES,
  reasonSchema,
  security,
} from '../openapi-helpers.ts';
import { idOrPrefixSchema } from '../schemas.ts';
import { commentedSchema, commentedView, reviewSchema, reviewView } from './review-view.ts';

const oneRoute = createRoute({
  method: 'get',
  path: '/api/runs/{id}/review',
  operationId: 'getReview',
  tags: ['Reviews'],
  summary: 'Show the review of a run: what it waits for, its comments and approvals',
  description: 'A run has a review if it delivers and its report has `approval` or `commentary`; otherwise: 404.',
  security,
  request: { params: idParams },
  responses: { 200: jsonResponse(reviewSchema, 'Its current state.'), ...lookupProblems },
});

const fileRoute = createRoute({
  method: 'get',
  path: '/api/runs/{id}/review/files/{name}',
  operationId: 'getReviewFile',
  tags: ['Reviews'],
  summary: 'Download a file under review',
  security,
  request: { params: z.object({ id: idOrPrefixSchema, name: z.string().max(300) }) },
  responses: {
    200: {
      description: 'The file, still without the line that names its approvers.',
      headers: z.object({
        'Content-Disposition': z.string().describe('`attachment`, with its name (RFC 6266).'),
        'Content-Length': z.string(),
      }),
      content: { 'application/octet-stream': { schema: z.string().meta({ format: 'binary' }) } },
    },
    ...lookupProblems,
  },
});

const previewRoute = createRoute({
  method: 'get',
  path: '/api/runs/{id}/review/preview',
  operationId: 'getReviewPreview',
  tags: ['Reviews'],
  summary: 'Show the e-mail under review as a page with inline images',
  description: 'The content security policy forbids scripts, external resources and links.',
  security,
  request: { params: idParams, query: z.object({ body: bodySchema }) },
  responses: {
    200: { description: 'The page.', content: { 'text/html': { schema: z.string() } } },
    ...lookupProblems,
  },
});

const commentQuery = z.strictObject({
  value: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe('With `split`: only in the pack of this value, where it replaces the comment for all packs.'),
});

const commentParams = z.object({
  id: idOrPrefixSchema,
  section: z
    .union([z.literal('_'), z.string().regex(ID_PATTERN, 'a section’s id, or _')])
    .meta({ description: 'The section’s id; `_`: the whole report.', example: 'onboarding' }),
});
const parseSection = (section: string): string | null => (section === '_' ? null : section);

const commentRoute = createRoute({
  method: 'put',
  path: '/api/runs/{id}/comments/{section}',
  operationId: 'commentOnSection',
  tags: ['Reviews'],
  summary: 'Comment on a section of a run that is not delivered yet',
  description:
    'Replaces the comment of the section. Plain text with paragraphs, `-` and `1.` lists, `*emphasis*` and `**strong**`; `{{ section.metric }}` prints a figure. A new comment voids earlier approvals.',
  security,
  request: {
    params: commentParams,
    query: commentQuery,
    body: jsonRequestBody(
      z.strictObject({ text: z.string().max(4 * MAX_COMMENT_LENGTH) }).meta({
        id: 'CommentRequest',
        description: `At most ${MAX_COMMENT_LENGTH} characters.`,
      }),
    ),
  },
  responses: {
    200: jsonResponse(commentedSchema, 'Written.'),
    ...mutationProblems,
    409: PROBLEM_RESPONSES[409],
  },
});

const withdrawRoute = createRoute({
  method: 'delete',
  path: '/api/runs/{id}/comments/{section}',
  operationId: 'withdrawComment',
  tags: ['Reviews'],
  summary: 'Withdraw the comment of a section',
  security,
  request: { params: commentParams, query: commentQuery },
  responses: {
    200: jsonResponse(commentedSchema, 'Withdrawn.'),
    ...mutationProblems,
    409: PROBLEM_RESPONSES[409],
  },
});

const contentSchema = z
  .string()
  .regex(/^[0-9a-f]{8,64}$/, '8 to 64 hex digits: the `content` of the review')
  .meta({ description: 'The `content` that was reviewed, or its first 8 digits or more.', example: '9f2c4a1b' });

const approveRoute = createRoute({
  method: 'post',
  path: '/api/runs/{id}/approve',
  operationId: 'approveRun',
  tags: ['Reviews'],
  summary: 'Approve exactly this content',
  description:
    'Only people in `approval.by` of the report may do this, whatever their role. If the content has changed, the response is 409 with code `review.content_changed`. If another run has delivered the period meanwhile, it is 409 with code `already_delivered`, unless `again` is true. The request may be repeated.',
  security,
  request: {
    params: idParams,
    body: jsonRequestBody(
      z
        .strictObject({
          content: contentSchema,
          reason: reasonSchema.default('approved'),
          again: z.boolean().default(false).describe('true: approve even if the period was already delivered.'),
        })
        .meta({ id: 'ApprovalRequest' }),
    ),
  },
  responses: {
    200: jsonResponse(reviewSchema, 'Approved.'),
    ...mutationProblems,
    409: PROBLEM_RESPONSES[409],
  },
});

const personSchema = z.string().trim().min(1).max(320);

const delegateRoute = createRoute({
  method: 'post',
  path: '/api/runs/{id}/delegate',
  operationId: 'delegateApproval',
  tags: ['Reviews'],
  summary: 'Name a deputy for an approver of this run',
  description:
    'The approver may do this, and everybody in `approval.may_delegate` of the report. Only one of approver and deputy can approve. The deputy must have been in `people` when the run was triggered, and must not have triggered the run, written a printed comment or added a recipient. Deputies can also approve added recipients.',
  security,
  request: {
    params: idParams,
    body: jsonRequestBody(
      z
        .strictObject({
          to: personSchema.describe('The deputy: a key of `people`, or a token or account listed there.'),
          from: personSchema.optional().describe('The approver, as in `approval.by`; default: you.'),
          until: z.iso.date().optional().describe('The last day, in the organization’s time zone; default: no end.'),
          reason: reasonSchema,
        })
        .meta({ id: 'DelegationRequest' }),
    ),
  },
  responses: { 200: jsonResponse(reviewSchema, 'Named.'), ...mutationProblems, 409: PROBLEM_RESPONSES[409] },
});

const rejectRoute = createRoute({
  method: 'post',
  path: '/api/runs/{id}/reject',
  operationId: 'rejectRun',
  tags: ['Reviews'],
  summary: 'Reject this content: the run ends, or its figures are fetched and reviewed again',
  security,
  request: {
    params: idParams,
    body: jsonRequestBody(
      z
        .strictObject({
          content: contentSchema,
          reason: reasonSchema,
          refetch: z
            .boolean()
            .default(false)
            .describe('true: the figures are fetched and reviewed again; false: the run ends.'),
        })
        .meta({ id: 'RejectionRequest' }),
    ),
  },
  responses: {
    200: jsonResponse(reviewSchema, 'Rejected.'),
    ...mutationProblems,
    409: PROBLEM_RESPONSES[409],
  },
});

/** Reviews of runs: comments, approval and rejection. */
export function addReviewRoutes(app: AdminApp, { log }: { readonly log: Log }): void {
  const breakOff = downloadBreaker(log);

  app.openapi(oneRoute, async (context) => {
    const view = await context.get('access').review(context.req.valid('param').id);
    if (view === null) throw notFoundError();
    return context.json(reviewView(view), 200);
  });

  app.openapi(fileRoute, async (context) => {
    const { id, name } = context.req.valid('param');
    const file = await context.get('access').reviewFile(id, name);
    const headers = fileHeaders(file);
    if (context.req.method === 'HEAD') return context.body(null, 200, headers);
    return context.body(fileBody(await file.open(), breakOff(context)), 200, headers);
  });

  app.openapi(previewRoute, async (context) => {
    const { id } = context.req.valid('param');
    const html = await context.get('access').reviewPreview(id, context.req.valid('query').body);
    return context.html(html, 200, { 'Content-Security-Policy': PREVIEW_POLICY });
  });

  app.openapi(commentRoute, async (context) => {
    const { id, section } = context.req.valid('param');
    const { text } = context.req.valid('json');
    const { value } = context.req.valid('query');
    return context.json(
      commentedView(await context.get('access').comment(id, parseSection(section), text, value)),
      200,
    );
  });

  app.openapi(withdrawRoute, async (context) => {
    const { id, section } = context.req.valid('param');
    const { value } = context.req.valid('query');
    return context.json(
      commentedView(await context.get('access').comment(id, parseSection(section), null, value)),
      200,
    );
  });

  app.openapi(approveRoute, async (context) => {
    const { content, reason, again } = context.req.valid('json');
    const view = await context.get('access').approve(context.req.valid('param').id, content, reason, again);
    return context.json(reviewView(view), 200);
  });

  app.openapi(delegateRoute, async (context) => {
    const view = await context.get('access').delegate(context.req.valid('param').id, context.req.valid('json'));
    return context.json(reviewView(view), 200);
  });

  app.openapi(rejectRoute, async (context) => {
    const { content, ...decision } = context.req.valid('json');
    const view = await context.get('access').reject(context.req.valid('param').id, content, decision);
    return context.json(reviewView(view), 200);
  });
}
