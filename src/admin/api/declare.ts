import { z } from 'zod';
import { ID } from '../../define/words.ts';
import { problemSchema } from '../problem.ts';
import { idSchema } from '../view.ts';

/** What every route may answer beside its own: what the token, the path, the load and the house are to blame for. */
const ALWAYS = {
  400: 'The request cannot be read.',
  401: 'No token, or one that is not accepted.',
  404: 'There is nothing here, or it belongs to another organization.',
  422: 'The request is not valid; `errors` says where.',
  429: 'Too many requests, or refused tokens; `Retry-After` says for how long.',
  500: 'A defect; the log of the server has the reason.',
  503: 'Redis or the archive does not answer; `Retry-After` says when to come back.',
} as const;
const SOMETIMES = {
  403: 'The token may look and not act.',
  409: 'What is asked for does not fit what is there.',
  413: 'The body is larger than 64 KiB.',
  415: 'The body is not JSON.',
} as const;

interface ProblemResponse {
  readonly description: string;
  readonly content: { readonly 'application/problem+json': { readonly schema: typeof problemSchema } };
}

const problemResponse = (description: string): ProblemResponse => ({
  description,
  content: { 'application/problem+json': { schema: problemSchema } },
});

const ASKING = Object.fromEntries(
  Object.entries(ALWAYS).map(([status, description]) => [status, problemResponse(description)]),
) as Record<keyof typeof ALWAYS, ProblemResponse>;

/** Problems of a route that only asks. */
export const asking = (): Record<keyof typeof ALWAYS, ProblemResponse> => ASKING;

/** Problems of a route that acts. */
export const acting = () => ({
  ...ASKING,
  403: problemResponse(SOMETIMES[403]),
  409: problemResponse(SOMETIMES[409]),
  413: problemResponse(SOMETIMES[413]),
  415: problemResponse(SOMETIMES[415]),
});

/** A JSON answer. */
export const json = <Schema extends z.ZodType>(schema: Schema, description: string) => ({
  description,
  content: { 'application/json': { schema } },
});

/** A JSON body. An empty one is an empty object. */
export const jsonBodyOf = <Schema extends z.ZodType>(schema: Schema) => ({
  required: true as const,
  content: { 'application/json': { schema } },
});

/** Every route but the probes and the document wants a token. */
export const security = [{ bearer: [] }];

export const orgSchema = z
  .string()
  .regex(ID, 'an organization’s id')
  .meta({ description: 'The organization’s folder.', example: 'acme' });
export const reportSchema = z
  .string()
  .regex(ID, 'a report’s id')
  .meta({ description: 'The report’s file, without its ending.', example: 'weekly' });

export const reportParams = z.object({ org: orgSchema, report: reportSchema });
export const orgParams = z.object({ org: orgSchema });
export const idParams = z.object({ id: idSchema.meta({ example: '2f6c0e4d0c3b4a5f9a7e3d2c1b0a9f8e' }) });

/** Rows of a page. */
export const limitSchema = (most: number, normal: number) =>
  z.coerce
    .number({ error: `a number from 1 to ${most}` })
    .int()
    .min(1)
    .max(most)
    .default(normal);

/** `next` of the page before. */
export const cursorSchema = z
  .string()
  .regex(/^\d{1,16}-[0-9a-f]{32}$/, 'the `next` of the page before')
  .meta({ description: '`next` of the page before.' });

/** Of an answer in pages. */
export const nextSchema = z
  .string()
  .nullable()
  .describe('Given back as `after`, it continues the listing; null: these are the last.');

export const pageHeaders = z.object({
  Link: z.string().optional().describe('`rel="next"`: the next page, if there is one.'),
});

/** The `Link` of a page that another one follows (RFC 8288), as headers. @param url of the request */
export function nextLink(url: string, next: string | null): Record<string, string> {
  if (next === null) return {};
  const { pathname, searchParams } = new URL(url);
  searchParams.set('after', next);
  return { Link: `<${pathname}?${searchParams}>; rel="next"` };
}

/** Why somebody decides so. */
export const reasonSchema = z
  .string()
  .trim()
  .min(1)
  .max(500)
  .regex(/^\P{Cc}*$/u, 'one line')
  .meta({ description: 'Why; kept with the decision.', example: 'She has it, asked by phone.' });
export const reasonBody = z.strictObject({ reason: reasonSchema }).meta({ id: 'Reason' });
