import { z } from 'zod';
import { toDocketError } from '../../base/error.ts';
import { stripInvisible } from '../../base/text/bidi.ts';
import { INSTANT_FORMS, parseInstantText } from '../../definitions/periods/instant.ts';
import { parsePeriod } from '../../definitions/periods/period.ts';
import type { PeriodSpec } from '../../definitions/schema/report-definition.ts';
import { ID_PATTERN } from '../../definitions/schema/values/primitives.ts';
import { problemSchema } from '../problem.ts';
import { idOrPrefixSchema } from './schemas.ts';

const problemResponse = (description: string) => ({
  description,
  content: { 'application/problem+json': { schema: problemSchema } },
});

/** Problem responses by status, for the declarations of routes. */
export const PROBLEM_RESPONSES = {
  400: problemResponse('The request cannot be read.'),
  401: problemResponse('No token, or one that is not accepted.'),
  403: problemResponse('The token is read-only, or the action did not come from a page of this site.'),
  404: problemResponse('It does not exist, or belongs to another organization.'),
  409: problemResponse('The request conflicts with the current state, or the short id is ambiguous.'),
  413: problemResponse('The body is larger than 64 KiB.'),
  415: problemResponse('The body is not JSON.'),
  421: problemResponse('The host is not in `DOCKET_ADMIN_NAMES`.'),
  422: problemResponse('The request is not valid; `errors` says where.'),
  429: problemResponse('Too many requests, or too many refused tokens; `Retry-After` says how long to wait.'),
  500: problemResponse('An unexpected error; the log of the server has the reason.'),
  503: problemResponse(
    'Redis or the archive does not answer, or too many definitions are being checked; `Retry-After` says when to try again.',
  ),
} as const;

/** Problems of every route that needs a token. */
export const queryProblems = {
  401: PROBLEM_RESPONSES[401],
  421: PROBLEM_RESPONSES[421],
  429: PROBLEM_RESPONSES[429],
  500: PROBLEM_RESPONSES[500],
  503: PROBLEM_RESPONSES[503],
} as const;

/** Problems of a route that has filters. */
export const filterProblems = {
  ...queryProblems,
  404: PROBLEM_RESPONSES[404],
  422: PROBLEM_RESPONSES[422],
} as const;

/** Problems of a route that returns one resource by its id. */
export const lookupProblems = {
  ...filterProblems,
  404: PROBLEM_RESPONSES[404],
  409: PROBLEM_RESPONSES[409],
} as const;

/** Problems of a route that changes something. */
export const mutationProblems = {
  ...filterProblems,
  400: PROBLEM_RESPONSES[400],
  403: PROBLEM_RESPONSES[403],
  413: PROBLEM_RESPONSES[413],
  415: PROBLEM_RESPONSES[415],
} as const;

/** The schema, or null. A union, so that the document refers to a named schema instead of changing it. */
export const orNull = <Schema extends z.ZodType>(schema: Schema) => z.union([schema, z.null()]);

/** A JSON response. */
export const jsonResponse = <Schema extends z.ZodType>(schema: Schema, description: string) => ({
  description,
  content: { 'application/json': { schema } },
});

/** A JSON body. An empty body counts as an empty object. */
export const jsonRequestBody = <Schema extends z.ZodType>(schema: Schema) => ({
  required: true as const,
  content: { 'application/json': { schema } },
});

/** The `security` of a route. Only the probes and the document need no token. */
export const security = [{ bearer: [] }];

export const orgSchema = z
  .string()
  .regex(ID_PATTERN, 'an organization’s id')
  .meta({ description: 'The organization’s folder.', example: 'acme' });
export const reportSchema = z
  .string()
  .regex(ID_PATTERN, 'a report’s id')
  .meta({ description: 'Name of the report’s file without its extension.', example: 'weekly' });

/** An instant as people write it. `parseQueryInstant` parses it. */
export const instantText = z
  .string()
  .refine((text) => parseQueryInstant(text, 0) !== undefined, { error: `an instant: ${INSTANT_FORMS}` })
  .meta({ example: '2026-11-16T07:00:00Z' });
/** Epoch ms. A date without a time is the start of that day in UTC. */
export const parseQueryInstant = (text: string | undefined, now: number): number | undefined =>
  text === undefined ? undefined : parseInstantText(text, { now, zone: 'UTC' });

export const partSchema = z.string().trim().min(1).max(200);
/** Filters of listings that match a part of a value. */
export const partFilters = {
  match: partSchema.optional().meta({
    description:
      'Words in the id or title of the report, or in the id or name of its organization; case does not matter.',
    example: 'weekly kpi',
  }),
  to: partSchema.optional().meta({
    description:
      'Only with deliveries to this address, or to addresses that contain this text; case does not matter. A complete address matches only itself.',
    example: 'board@acme.example',
  }),
  period: partSchema.optional().meta({
    description:
      'Only runs whose period begins in this one: `2026-10`, `2026-W46`, `2026-Q3`, `2026-11-01..2026-11-15`, `previous_month`, `october`.',
    example: '2026-10',
  }),
};

export const reportParams = z.object({ org: orgSchema, report: reportSchema });
export const orgParams = z.object({ org: orgSchema });
export const idParams = z.object({ id: idOrPrefixSchema.meta({ example: '2f6c0e4d0c3b4a5f9a7e3d2c1b0a9f8e' }) });

/** Parses a period written as text. */
export function parsePeriodParameter(text: string, context: z.core.$RefinementCtx): PeriodSpec {
  try {
    return parsePeriod(text);
  } catch (thrown) {
    context.addIssue({ code: 'custom', message: `expected ${toDocketError(thrown).expected ?? 'a period'}` });
    return z.NEVER;
  }
}

/** Maximum number of rows in a page. */
export const limitSchema = (most: number, normal: number) =>
  z.coerce
    .number({ error: `a number from 1 to ${most}` })
    .int()
    .min(1)
    .max(most)
    .default(normal);

/** The `next` of the previous page. */
export const cursorSchema = z
  .string()
  .regex(/^a?\d{1,16}-[0-9a-f]{32}$/, 'the `next` of the previous page')
  .meta({ description: '`next` of the previous page.' });

/** The `next` of a page. */
const nextSchema = z.string().nullable().describe('Send it as `after` to get the next page; null on the last page.');

const pageHeaders = z.object({
  Link: z.string().optional().describe('`rel="next"`: the next page, if there is one.'),
});

/** A page of rows as JSON, with its `next`. */
export const pageResponse = <Rows extends z.ZodRawShape>(rows: Rows, description = 'A page of the list.') => ({
  ...jsonResponse(z.object({ ...rows, next: nextSchema }), description),
  headers: pageHeaders,
});

/** The `Link` header (RFC 8288) to the next page, if there is one. @param url of the request */
export function nextLink(url: string, next: string | null): Record<string, string> {
  if (next === null) return {};
  const { pathname, searchParams } = new URL(url);
  searchParams.set('after', next);
  return { Link: `<${pathname}?${searchParams}>; rel="next"` };
}

/** The reason for a decision. */
export const reasonSchema = z
  .string()
  .overwrite(stripInvisible)
  .trim()
  .min(1)
  .max(500)
  .regex(/^\P{Cc}*$/u, 'one line')
  .meta({ description: 'Why; stored with the decision.', example: 'Arrived, confirmed by phone.' });
export const reasonBody = z.strictObject({ reason: reasonSchema }).meta({ id: 'Reason' });
