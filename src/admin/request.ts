import { isUtf8 } from 'node:buffer';
import type { Hook } from '@hono/zod-openapi';
import type { MiddlewareHandler } from 'hono';
import type { z } from 'zod';
import { type Env, notFound } from './env.ts';
import { type ProblemDetail, problem } from './problem.ts';

/** Bytes of a body. */
const MOST_BODY = 64 * 1024;
/** Bytes of a definition. */
const MOST_TEXT = 256 * 1024;

/** Where the body is a definition's text. */
const TEXT = /^\/api\/reports\/[^/]+\/[^/]+\/validate$/;
const TEXT_TYPES = ['application/yaml', 'application/x-yaml', 'text/yaml', 'text/plain'];

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
 * Reads the body of every request that may have one, no further than the limit, and hands it on as JSON – an empty body is
 * an empty object, whatever it says it is – or as the text of a definition. Requests that only ask are not touched, so that
 * streams are not either.
 */
export const wholeBody: MiddlewareHandler<Env> = async (context, next) => {
  const { raw } = context.req;
  if (raw.method === 'GET' || raw.method === 'HEAD') return next();
  const isText = TEXT.test(context.req.path);
  const { types, most } = isText
    ? { types: TEXT_TYPES, most: MOST_TEXT }
    : { types: ['application/json'], most: MOST_BODY };
  const bytes = await readBytes(raw, most);
  if (bytes === undefined) {
    return problem('request.too_large', { expected: `at most ${most} bytes` }, { Connection: 'close' });
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
  const headers = new Headers(raw.headers);
  headers.set('content-type', types[0] ?? type);
  headers.delete('content-length');
  headers.delete('transfer-encoding');
  const body = text === '' && !isText ? '{}' : text;
  context.req.raw = new Request(raw.url, { method: raw.method, headers, body });
  return next();
};

/** The body; undefined as soon as it grows past the limit, however its length was announced. */
async function readBytes(request: Request, most: number): Promise<Buffer | undefined> {
  const announced = request.headers.get('content-length');
  if (announced !== null) {
    if (Number(announced) > most) return undefined;
    // Node hands on no more than was announced: it needs no stream.
    const bytes = Buffer.from(await request.arrayBuffer());
    return bytes.length > most ? undefined : bytes;
  }
  if (request.body === null) return Buffer.alloc(0);
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of request.body) {
    size += piece.byteLength;
    if (size > most) return undefined;
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}
