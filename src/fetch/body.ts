import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { errors } from 'undici';
import type { z } from 'zod';
import { DocketError } from '../base/error.ts';
import type { Redact } from '../base/redactor.ts';
import { clipName } from './clip.ts';
import { holdsSecret, parseForeign } from './foreign-json.ts';

/** All in ms. `total` bounds a request from dispatch to the last byte, whatever the others allow. */
export interface Timeouts {
  readonly connect: number;
  readonly headers: number;
  readonly body: number;
  readonly total: number;
}

const unzip = promisify(gunzip);

/**
 * The whole body, decoded, at most `maxBytes` on the wire and after decoding: neither a flood nor a small file that
 * unpacks to one fills the memory. Throws `api.unreadable` (not retryable when it is too large).
 */
export async function readBody(
  body: Readable,
  header: (name: string) => string | undefined,
  { maxBytes, where }: { readonly maxBytes: number; readonly where: string },
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) throw tooLarge(where, maxBytes);
    chunks.push(chunk);
  }
  const raw = Buffer.concat(chunks);
  const encoding = header('content-encoding')?.toLowerCase() ?? 'identity';
  if (encoding === 'identity' || encoding === '' || raw.length === 0) return raw;
  if (encoding !== 'gzip') {
    throw new DocketError('api.unreadable', 'The answer is packed in a way that was not asked for.', {
      where,
      expected: 'content-encoding gzip or none',
      got: `"${clipName(encoding)}"`,
      next: 'Check what stands between Docket and the service: a proxy must respect accept-encoding.',
    });
  }
  try {
    return await unzip(raw, { maxOutputLength: maxBytes });
  } catch (cause) {
    if (cause instanceof RangeError) throw tooLarge(where, maxBytes);
    throw unreadable(where, 'a gzip body', 'one that breaks off or is damaged', cause);
  }
}

/**
 * The body as JSON that keeps the contract; `api.unreadable` names the first places where it does not.
 *
 * @param redact takes out whole secrets only: no text becomes another because it ends somewhere
 */
export function checkedJson<Schema extends z.ZodType>(
  bytes: Buffer,
  contentType: string | undefined,
  schema: Schema,
  { where, redact }: { readonly where: string; readonly redact: Redact },
): z.output<Schema> {
  if (contentType !== undefined && !/^application\/([a-z0-9.+-]+\+)?json\b/i.test(contentType)) {
    throw unreadable(where, 'a JSON answer', `${clipName(contentType)} (${bytes.length} bytes)`);
  }
  let json: unknown;
  try {
    json = parseForeign(bytes, holdsSecret(bytes, redact) ? redact : undefined);
  } catch {
    // Without its cause, which quotes the answer.
    throw unreadable(where, 'a whole JSON answer', `${bytes.length} bytes that are not one`);
  }
  const parsed = schema.safeParse(json);
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.slice(0, 5).map(({ path, message }) => `${path.join('.') || '(top)'}: ${message}`);
  throw unreadable(where, 'an answer as the specification describes it', faults.join('; '), parsed.error);
}

const unreadable = (where: string, expected: string, got: string, cause?: unknown) =>
  new DocketError('api.unreadable', "The service's answer cannot be read.", {
    where,
    expected,
    got,
    next: 'Try again; if it stays so, report it to the service with the time of the call.',
    cause,
  });

const tooLarge = (where: string, maxBytes: number) =>
  new DocketError('api.unreadable', "The service's answer is larger than any report may be.", {
    where,
    expected: `at most ${maxBytes} bytes`,
    got: 'more',
    next: 'Narrow the section (filters, limit), or report it to the service.',
    retryable: false,
  });

const TIMEOUT_CODES: ReadonlySet<string> = new Set([
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
]);

/** What the network did, as `api.timeout` or `api.unreachable`. undici's errors name hosts and codes, never headers. */
export function networkError(
  cause: unknown,
  where: string,
  origin: string,
  deadlinePassed: boolean,
  timeouts: Timeouts,
): DocketError {
  const code = codeOf(cause);
  if (deadlinePassed || TIMEOUT_CODES.has(code)) {
    return new DocketError('api.timeout', 'The service did not answer in time.', {
      where,
      expected: `an answer within ${timeouts.total} ms (connection ${timeouts.connect}, headers ${timeouts.headers}, silence in the body ${timeouts.body})`,
      got: deadlinePassed ? 'none' : code,
      next: 'Try again later; check the network between here and the service.',
      cause,
    });
  }
  const broke = cause instanceof errors.SocketError || code === 'ECONNRESET' || code === 'EPIPE';
  return new DocketError(
    'api.unreachable',
    broke ? 'The connection to the service broke off.' : 'The service cannot be reached.',
    {
      where,
      expected: `a service at ${origin}`,
      got: code,
      next: 'Check COMPLIANCE_API_URL, the network and the name resolution.',
      cause,
    },
  );
}

const NEVER_LEFT: ReadonlySet<string> = new Set([
  'UND_ERR_CONNECT_TIMEOUT',
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
]);

/** Did the failure come before the request could leave? Then the service has not counted it. */
export const neverLeft = (error: DocketError): boolean => NEVER_LEFT.has(codeOf(error.cause));

/** The first code in the chain: a refused connection to several addresses hides its code one level down. */
function codeOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0]);
  if (error instanceof Error) {
    if ('code' in error && typeof error.code === 'string') return error.code;
    if (error.cause !== undefined) return codeOf(error.cause);
    return error.name;
  }
  return 'an unknown failure';
}
