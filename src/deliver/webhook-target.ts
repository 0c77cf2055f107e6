import type { Clock } from '../base/clock.ts';
import { DocketError } from '../base/error.ts';
import type { Redact } from '../base/redactor.ts';
import { retryAfterMs } from '../base/retry-after.ts';
import type { SecretSource } from '../base/secret.ts';
import { type WebhookSpec, webhookName } from '../define/target.ts';
import { webhookFault } from '../define/target-faults.ts';
import type { Ending, Leave } from './attempt.ts';
import type { DestinationGuard } from './destination-guard.ts';
import { isRefusal } from './refusal.ts';
import { signedHeaders, signingKey } from './webhook-message.ts';
import { type Posted, type PostOptions, post } from './webhook-request.ts';

/** How a webhook is sent; another one in tests. */
export type Post = typeof post;

/** Its URL, which may be a secret. Throws `config.secret_missing`, `config.invalid`. */
export async function webhookUrl({ url }: WebhookSpec, secrets: SecretSource): Promise<URL> {
  const text = typeof url === 'string' ? url : (await secrets(url)).reveal();
  if (URL.canParse(text)) {
    const parsed = new URL(text);
    const { protocol, username, password } = parsed;
    if (['https:', 'http:'].includes(protocol) && username === '' && password === '') return parsed;
  }
  throw new DocketError('config.invalid', `The URL of the ${webhookName({ url })} is not one.`, {
    expected: 'a URL, https://…, without user and password',
    got: 'another text (not shown)',
    next: 'Correct the value that the reference names.',
  });
}

/** What a URL that is a secret must be checked for when it is known. Throws `deliver.target_refused`. */
export function requireOpen(url: URL, allowPrivate: boolean): void {
  const fault = allowPrivate ? undefined : webhookFault(url.href);
  if (fault === undefined) return;
  throw new DocketError('deliver.target_refused', 'The webhook may not go there.', {
    expected: fault.expected,
    got: fault.got,
    next: `${fault.next}.`,
  });
}

/** That the organization's `destinations` list its host. Of a URL that is a secret, nothing is told. Throws `deliver.target_refused`. */
export function requireListed(url: URL, of: WebhookSpec, guard: Pick<DestinationGuard, 'requireHost'>): void {
  guard.requireHost(url.hostname, typeof of.url === 'string' ? url.hostname : 'another host (not shown)');
}

export interface WebhookDelivery {
  readonly spec: WebhookSpec;
  /** The ledger row's id: the receiver knows a second sending by it. */
  readonly id: string;
  readonly body: string;
  readonly clock: Pick<Clock, 'now'>;
  readonly options: Omit<PostOptions, 'signal' | 'fence'>;
  readonly guard: Pick<DestinationGuard, 'requireHost'>;
}

/** Lets a webhook leave whose body is archived. What of its references cannot be read leaves it `pending`. */
export function sendWebhook(delivery: WebhookDelivery, secrets: SecretSource, send: Post = post): Leave {
  const { spec, id, body, clock, options, guard } = delivery;
  return async (signal, fence) => {
    let url: URL;
    let key: Buffer;
    try {
      url = await webhookUrl(spec, secrets);
      requireOpen(url, options.allowPrivate);
      requireListed(url, spec, guard);
      key = signingKey(await secrets(spec.secret));
    } catch (error) {
      return notReady(error);
    }
    const headers = signedHeaders(id, clock.now(), body, key);
    const posted = await send(url, headers, body, { ...options, redact: hidingUrl(spec, url, secrets), signal, fence });
    return endingOf(posted, spec.idempotent, clock.now());
  };
}

/** Receivers like to repeat the path in their refusal: of a URL that is a secret each part is one, however short. */
function hidingUrl({ url: given }: WebhookSpec, url: URL, { redactor }: SecretSource): Redact {
  if (typeof given === 'string') return redactor.redact;
  const hidden = [url.href, url.pathname + url.search, url.pathname, url.search].filter((part) => part.length > 1);
  return (text) => hidden.reduce((rest, part) => rest.replaceAll(part, '[secret]'), redactor.redact(text));
}

function notReady(error: unknown): Ending {
  if (!(error instanceof DocketError)) return { state: 'pending', detail: String(error), targetDown: true };
  const { message, got, next } = error;
  const detail = [message, got && `Got ${got}.`, next].filter(Boolean).join(' ');
  return isRefusal(error) ? { state: 'refused', detail } : { state: 'pending', detail, targetDown: true };
}

/**
 * | what happened                                  | state                                   |
 * |------------------------------------------------|-----------------------------------------|
 * | 2xx                                            | sent                                    |
 * | 408, 429, 5xx                                  | pending: sent again, of 429 and 503 not |
 * |                                                | before `Retry-After`, an hour at most   |
 * | a status that HTTP has not (above 599)         | unknown, idempotent or not              |
 * | anything else, redirects too                   | refused                                 |
 * | a private address                              | refused                                 |
 * | no connection                                  | pending                                 |
 * | withheld: decided meanwhile, or not confirmed  | pending                                 |
 * | connected, and no answer                       | unknown; pending where it is idempotent |
 */
function endingOf(posted: Posted, idempotent: boolean, now: number): Ending {
  if (posted.kind === 'unsent') {
    if (posted.forbidden) return { state: 'refused', detail: posted.why };
    return { state: 'pending', detail: `Not connected: ${posted.why}`, targetDown: true };
  }
  if (posted.kind === 'withheld') return { state: 'pending', detail: posted.why };
  if (posted.kind === 'lost') {
    if (idempotent) return { state: 'pending', detail: `No answer, sent again: ${posted.why}` };
    return { state: 'unknown', detail: `No certain answer after the request had left: ${posted.why}` };
  }
  const { status, said } = posted;
  const detail = `HTTP ${status}${said === '' ? '' : ` ${said}`}`;
  if (status >= 200 && status < 300) return { state: 'sent', detail };
  if (status === 429 || status === 503) {
    const wait = retryAfterMs(posted.retryAfter, posted.date, now) ?? 0;
    return { state: 'pending', detail, ...(wait > 0 ? { notBefore: now + wait } : {}) };
  }
  // Nothing says what the receiver means by it, nor that it will ever answer otherwise.
  if (status > 599) return { state: 'unknown', detail };
  if (status === 408 || status >= 500) return { state: 'pending', detail };
  return { state: 'refused', detail: status < 400 ? `${detail} (redirects are not followed)` : detail };
}
