import type { Hook } from '@hono/zod-openapi';
import type { MiddlewareHandler } from 'hono';
import type { z } from 'zod';
import { type Env, notFound } from './env.ts';
import { type ProblemDetail, problem } from './problem.ts';

/** Bytes of a body. */
const MOST_BODY = 64 * 1024;

/** Where and what each fault is, without the values: they may be anything. */
export const faults = (error: z.ZodError): NonNullable<ProblemDetail['errors']> =>
  error.issues.map(({ code, path, message }) => ({
    pointer: path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join(''),
    // The names of members that are not known here are the client's own text.
    detail: code === 'unrecognized_keys' ? 'nothing but what is declared' : message,
  }));

/** What a request that its schemas refuse is told: the same for every route. */
export const refuseInvalid: Hook<unknown, Env, string, Response | undefined> = (result, context) => {
  if (result.success) return undefined;
  // A path that cannot name anything names nothing.
  if (result.target === 'param') return notFound(context);
  if (result.target === 'header') {
    return problem('request.malformed', { detail: result.error.issues[0]?.message ?? '' });
  }
  return problem('request.invalid', { errors: faults(result.error) });
};

/**
 * Reads the body of every request that may have one, no further than the limit, and hands it on as JSON: an empty body is
 * an empty object, whatever it says it is. Requests that only ask are not touched, so that streams are not either.
 */
export const jsonBody: MiddlewareHandler<Env> = async (context, next) => {
  const { raw } = context.req;
  if (raw.method === 'GET' || raw.method === 'HEAD') return next();
  const text = await readText(raw);
  if (text === undefined) {
    return problem('request.too_large', { expected: `at most ${MOST_BODY} bytes` }, { Connection: 'close' });
  }
  const type = raw.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase();
  if (text !== '' && type !== 'application/json') {
    return problem(
      'request.unsupported_media_type',
      { expected: 'Content-Type: application/json' },
      { Accept: 'application/json' },
    );
  }
  const headers = new Headers(raw.headers);
  headers.set('content-type', 'application/json');
  headers.delete('content-length');
  headers.delete('transfer-encoding');
  context.req.raw = new Request(raw.url, { method: raw.method, headers, body: text === '' ? '{}' : text });
  return next();
};

/** The body as text; undefined as soon as it grows past the limit, however its length was announced. */
async function readText(request: Request): Promise<string | undefined> {
  if (request.body === null) return '';
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of request.body) {
    size += piece.byteLength;
    if (size > MOST_BODY) return undefined;
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString('utf8');
}
