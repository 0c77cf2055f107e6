import { isUtf8 } from 'node:buffer';
import type { Hook } from '@hono/zod-openapi';
import type { Context, MiddlewareHandler } from 'hono';
import { HTTPException } from 'hono/http-exception';
import type { z } from 'zod';
import { type Env, notFoundResponse } from './hono-env.ts';
import { type ProblemDetail, problem } from './problem.ts';

/** Maximum size of a JSON body. */
const MAX_BODY_BYTES = 64 * 1024;
/** Maximum size of a definition. */
const MAX_DEFINITION_BODY_BYTES = 256 * 1024;

/** Paths whose body is the text of a definition. */
const DEFINITION_BODY_PATH = /^\/api\/reports\/[^/]+\/[^/]+\/validate$/;
const DEFINITION_MEDIA_TYPES = ['application/yaml', 'application/x-yaml', 'text/yaml', 'text/plain'];

/** Position and text of each error. Leaves out the values, which may be secret. */
const validationErrors = (error: z.ZodError): NonNullable<ProblemDetail['errors']> =>
  error.issues.map(({ code, path, message }) => ({
    pointer: path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join(''),
    // Names of unknown members are text of the client, so they are not repeated.
    detail: code === 'unrecognized_keys' ? 'no unknown members' : message,
  }));

/** The response to an invalid header. */
export const headerProblem = ({ issues }: z.ZodError): Response =>
  problem('request.malformed', { detail: issues[0]?.message ?? '' });

/** The response to an invalid body or query. */
export const bodyProblem = (error: z.ZodError): Response =>
  problem('request.invalid', { errors: validationErrors(error) });

/** The JSON of a body that `parseRequestBody` has read. For other text it throws an error that becomes a 400. */
export async function readJson({ req }: Context<Env>): Promise<unknown> {
  try {
    return await req.json();
  } catch {
    throw new HTTPException(400);
  }
}

/** The response to an invalid request, the same for every route. */
export const validationHook: Hook<unknown, Env, string, Response | undefined> = (result, context) => {
  if (result.success) return undefined;
  // Nothing matches an invalid path parameter, so it is a 404.
  if (result.target === 'param') return notFoundResponse(context);
  if (result.target === 'header') return headerProblem(result.error);
  return bodyProblem(result.error);
};

/**
 * Reads the body up to the limit, and passes it on as JSON or as the text of a definition. An empty body counts as an
 * empty object, whatever its media type. GET and HEAD pass unchanged.
 */
export const parseRequestBody: MiddlewareHandler<Env> = async (context, next) => {
  const { raw } = context.req;
  if (raw.method === 'GET' || raw.method === 'HEAD') return next();
  const isText = DEFINITION_BODY_PATH.test(context.req.path);
  const { types, maxBytes } = isText
    ? { types: DEFINITION_MEDIA_TYPES, maxBytes: MAX_DEFINITION_BODY_BYTES }
    : { types: ['application/json'], maxBytes: MAX_BODY_BYTES };
  const bytes = await readBytes(raw, maxBytes);
  if (bytes === undefined) {
    return problem('request.too_large', { expected: `at most ${maxBytes} bytes` }, { Connection: 'close' });
  }
  const type = raw.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase() ?? '';
  if (bytes.length > 0 && !types.includes(type)) {
    return problem(
      'request.unsupported_media_type',
      { expected: `Content-Type: ${types[0]}` },
      { Accept: types.join(', ') },
    );
  }
  if (!isUtf8(bytes)) return problem('request.malformed', { detail: 'The body is not UTF-8.' });
  const text = bytes.toString('utf8').replace(/^\uFEFF/, '');
  const body = text === '' && !isText ? '{}' : text;
  // The usual media type: passes the body on without building a new Request, which would cost more than everything else
  // here.
  if (raw.headers.get('content-type') === types[0]) {
    Object.assign(context.req.bodyCache, { text: Promise.resolve(body) });
    return next();
  }
  const headers = new Headers(raw.headers);
  headers.set('content-type', types[0] ?? type);
  headers.delete('content-length');
  headers.delete('transfer-encoding');
  context.req.raw = new Request(raw.url, { method: raw.method, headers, body });
  return next();
};

/** The body. Undefined as soon as it exceeds the limit, whatever its Content-Length. */
async function readBytes(request: Request, maxBytes: number): Promise<Buffer | undefined> {
  const announced = request.headers.get('content-length');
  if (announced !== null) {
    if (Number(announced) > maxBytes) return undefined;
    // Node passes on at most Content-Length bytes, so no stream is needed.
    const bytes = Buffer.from(await request.arrayBuffer());
    return bytes.length > maxBytes ? undefined : bytes;
  }
  if (request.body === null) return Buffer.alloc(0);
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.body) {
    size += chunk.byteLength;
    if (size > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
