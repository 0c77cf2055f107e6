import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import type { z } from 'zod';
import { DocketError } from '../../base/error.ts';
import type { Redact } from '../../base/secrets/redactor.ts';
import { containsSecret, parseUntrustedJson, truncateId } from './untrusted-input.ts';

const unzip = promisify(gunzip);

/**
 * Reads and decodes the whole body. It may have `maxBytes` on the wire and as many decoded, so that neither a long body
 * nor a gzip bomb exhausts the memory. Throws `api.unreadable` (not retryable when too large).
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
    throw new DocketError('api.unreadable', 'The response has an unsupported content-encoding.', {
      where,
      expected: 'content-encoding gzip or none',
      got: `"${truncateId(encoding)}"`,
      next: 'Check the proxies between Docket and the service: they must respect accept-encoding.',
    });
  }
  try {
    return await unzip(raw, { maxOutputLength: maxBytes });
  } catch (cause) {
    if (cause instanceof RangeError) throw tooLarge(where, maxBytes);
    throw unreadable(where, 'a gzip body', 'a truncated or damaged one', cause);
  }
}

/**
 * Parses and validates the body. Throws `api.unreadable` with the first paths that violate the contract.
 *
 * @param redact removes whole secrets only, so that no other text changes
 * @param exactNumbers turns numbers that a double would round into strings
 */
export function parseResponse<Schema extends z.ZodType>(
  bytes: Buffer,
  contentType: string | undefined,
  schema: Schema,
  {
    where,
    redact,
    exactNumbers = false,
  }: { readonly where: string; readonly redact: Redact; readonly exactNumbers?: boolean },
): z.output<Schema> {
  if (contentType !== undefined && !/^application\/([a-z0-9.+-]+\+)?json\b/i.test(contentType)) {
    throw unreadable(where, 'a JSON response', `${truncateId(contentType)} (${bytes.length} bytes)`);
  }
  let json: unknown;
  try {
    json = parseUntrustedJson(bytes, containsSecret(bytes, redact) ? redact : undefined, { exactNumbers });
  } catch {
    // The cause is left out, because its message quotes the body.
    throw unreadable(where, 'valid JSON', `${bytes.length} bytes of invalid JSON`);
  }
  const parsed = schema.safeParse(json);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.slice(0, 5).map(({ path, message }) => `${path.join('.') || '(top)'}: ${message}`);
  throw unreadable(where, 'a response as the specification describes it', issues.join('; '), parsed.error);
}

const unreadable = (where: string, expected: string, got: string, cause?: unknown) =>
  new DocketError('api.unreadable', "The service's response cannot be read.", {
    where,
    expected,
    got,
    next: 'Try again; if it persists, report it to the service with the time of the call.',
    cause,
  });

const tooLarge = (where: string, maxBytes: number) =>
  new DocketError('api.unreadable', "The service's response is too large.", {
    where,
    expected: `at most ${maxBytes} bytes`,
    got: 'more',
    next: 'Narrow the section (filters, limit), or report it to the service.',
    retryable: false,
  });
