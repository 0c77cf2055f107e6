import { createHmac, timingSafeEqual } from 'node:crypto';
import { systemClock } from '../base/clock.ts';

/** Why a message was refused. */
export type WebhookRefusal = 'header.missing' | 'secret.invalid' | 'timestamp.outside' | 'signature.invalid';

export class WebhookError extends Error {
  readonly code: WebhookRefusal;
  constructor(code: WebhookRefusal, message: string) {
    super(message);
    this.name = 'WebhookError';
    this.code = code;
  }
}

/** Headers of a request: of Node's `http`, or of `fetch`. */
export type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

/** How far the time of a message may be from the receiver's clock, as Standard Webhooks recommends. */
const TOLERANCE_SECONDS = 300;

/**
 * Verifies a message of Docket's `webhook` delivery (Standard Webhooks v1) and returns its id. A repeated message has
 * the same id: skip an id that you have handled. Throws `WebhookError`.
 *
 * @param body the body exactly as received, before parsing
 * @param secrets `whsec_…`; several while one replaces another
 * @param now epoch ms
 */
export function verifyWebhook(
  headers: WebhookHeaders,
  body: string | Uint8Array,
  secrets: string | readonly string[],
  now: number = systemClock.now(),
): string {
  const [id, timestamp, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => {
    const value = headers instanceof Headers ? headers.get(name) : headers[name];
    if (typeof value !== 'string' || value === '') throw new WebhookError('header.missing', `${name} is missing.`);
    return value;
  }) as [string, string, string];
  // Also refuses a timestamp that is not a number.
  if (!(Math.abs(now / 1000 - Number(timestamp)) <= TOLERANCE_SECONDS))
    throw new WebhookError(
      'timestamp.outside',
      `webhook-timestamp is more than ${TOLERANCE_SECONDS} s from this clock.`,
    );
  const given = signatures
    .split(' ')
    .flatMap((one) => (one.startsWith('v1,') ? [Buffer.from(one.slice(3), 'base64')] : []));
  for (const secret of [secrets].flat()) {
    if (!secret.startsWith('whsec_')) throw new WebhookError('secret.invalid', 'A secret starts with whsec_.');
    const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
    const right = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest();
    if (given.some((one) => one.length === right.length && timingSafeEqual(one, right))) return id;
  }
  throw new WebhookError('signature.invalid', 'No signature of this message was made with a known secret.');
}
