import { z } from 'zod';
import type { Clock } from '../../../base/clock.ts';
import { errorMessage } from '../../../base/error.ts';
import { withCertificateAdvice } from '../../../base/net/certificate-error.ts';
import { parseRetryAfter } from '../../../base/net/retry-after.ts';
import { type SecretSource, secretRefSchema } from '../../../base/secrets/secret.ts';
import { keepsFiguresInside } from '../../../definitions/diagnostics/protection-diagnostics.ts';
import { urlSchema } from '../../../definitions/schema/values/primitives.ts';
import { individualFiles } from '../../../render/artifact.ts';
import type { AttemptResult, SendFn } from '../../attempt.ts';
import { type DestinationGuard, destinationGuard } from '../../destination-guard.ts';
import { assertSameFiles } from '../../internal/resend-check.ts';
import { guardedPost, type PostOptions, type PostResult, probeConnection } from '../guarded-post.ts';
import { assertUsable, preparationResult, readPostUrl, urlDiagnostic, urlRedactor } from '../post-url.ts';
import { defineTarget, newRow, type ProbeContext, probeError, type SendContext, type TargetProbe } from '../target.ts';
import { parseWebhookSecret, signatureHeaders, webhookBody } from './webhook-message.ts';

/** Posts the names of the files, and where other deliveries of the run have put them. */
export const webhookTarget = defineTarget({
  kind: 'webhook',
  label: 'Webhook',
  audience: { one: 'webhook', many: 'webhooks' },
  messageType: 'json',
  schema: () => webhookSchema,
  diagnostics: ({ url }, { allowPrivate }) => {
    const diagnostic = allowPrivate || typeof url !== 'string' ? undefined : urlDiagnostic('a webhook', url);
    return diagnostic === undefined ? [] : [{ path: ['url'], ...diagnostic }];
  },
  describe: (spec) => ({
    addresses: [webhookDisplayName(spec)],
    // A URL from a secret is checked only at delivery, because its host must not be shown.
    destinations:
      typeof spec.url === 'string' ? [{ path: ['url'], host: new URL(spec.url).hostname, privateReported: true }] : [],
  }),
  list: (target, spec, { published }) => {
    const name = webhookDisplayName(spec);
    const row = newRow(published, target, name);
    return [
      {
        row,
        service: `${name} of ${row.org}`,
        messageId: null,
        phase: 2,
        // The receiver ignores a second request with the same id.
        ...(spec.idempotent ? { verify: async () => 'unsent' as const } : {}),
      },
    ];
  },
  send: async ({ row }, spec, context, previousEpoch) => {
    const { definition, published, archive, clock, secrets, settings, destinations } = context;
    const guard = destinationGuard(settings, destinations);
    if (typeof spec.url === 'string') guard.assertHost(new URL(spec.url).hostname);
    const links = await fileLocations(row.run, context);
    const figures = !keepsFiguresInside(definition, settings);
    const body = webhookBody(published.manifest, individualFiles(published.artifacts), links, figures);
    if (previousEpoch > 0) await assertSameFiles(archive, published, row.id, body);
    const message = await archive.putMessage(published, row.id, Buffer.from(body), 'json');
    const options = { allowPrivate: settings.allow_private === true, findProxy: guard.findProxy };
    return Object.assign(sendWebhook({ spec, id: row.id, body, clock, options, guard }, secrets), { message });
  },
  probe: (spec, context) => probeWebhook(spec, context),
});

/** Where `sent` deliveries of the run have put each file, by file name. */
async function fileLocations(run: string, { ledger, deliveries }: SendContext): Promise<Map<string, string[]>> {
  const states = new Map((await ledger.list(run)).map(({ id, state }) => [id, state]));
  const locations = new Map<string, string[]>();
  for (const delivery of deliveries) {
    if (states.get(delivery.row.id) !== 'sent') continue;
    for (const [file, location] of delivery.fileLocations?.() ?? [])
      locations.set(file, [...(locations.get(file) ?? []), location]);
  }
  return locations;
}

/** Checks connection, certificate, address and the key's format, without a request. */
function probeWebhook(spec: WebhookSpec, { secrets, allowPrivate, guard }: ProbeContext): TargetProbe {
  const name = webhookDisplayName(spec);
  return {
    name: `Webhook ${name}`,
    probe: async () => {
      const url = await readPostUrl({ url: spec.url, name }, secrets);
      parseWebhookSecret(await secrets(spec.secret));
      assertUsable(url, 'webhook', { allowPrivate, guard, isSecret: typeof spec.url !== 'string' });
      try {
        await probeConnection(url, { allowPrivate, findProxy: guard.findProxy, redact: secrets.redactor.redact });
      } catch (error) {
        throw probeError(`The ${name}`, errorMessage(error), 'Correct the URL, or ask the operator of the receiver.');
      }
      return `${typeof spec.url === 'string' ? url.host : name} can be reached; nothing was posted`;
    },
  };
}

export interface WebhookDelivery {
  readonly spec: WebhookSpec;
  /** The ledger row's id, by which the receiver recognizes a repetition. */
  readonly id: string;
  readonly body: string;
  readonly clock: Clock;
  readonly options: Omit<PostOptions, 'signal' | 'fence'>;
  readonly guard: Pick<DestinationGuard, 'assertHost'>;
}

/** Posts an archived body. If references cannot be read, the delivery stays `pending`. */
export function sendWebhook(delivery: WebhookDelivery, secrets: SecretSource): SendFn {
  const { spec, id, body, clock, options, guard } = delivery;
  return async (signal, fence) => {
    let url: URL;
    let key: Buffer;
    const isSecret = typeof spec.url !== 'string';
    try {
      url = await readPostUrl({ url: spec.url, name: webhookDisplayName(spec) }, secrets);
      assertUsable(url, 'webhook', { allowPrivate: options.allowPrivate, guard, isSecret });
      key = parseWebhookSecret(await secrets(spec.secret));
    } catch (error) {
      return preparationResult(error);
    }
    const headers = signatureHeaders(id, clock.now(), body, key);
    const posted = await guardedPost(url, headers, body, {
      ...options,
      redact: urlRedactor(url, isSecret, secrets),
      signal,
      fence,
    });
    return toAttemptResult(posted, spec.idempotent, clock.now());
  };
}

/**
 * | result                                         | state                                   |
 * |------------------------------------------------|-----------------------------------------|
 * | 2xx                                            | sent                                    |
 * | 408, 429, 5xx                                  | pending; after 429 and 503 not retried  |
 * |                                                | before `Retry-After`, at most an hour   |
 * | a status outside HTTP (above 599)              | unknown, even if idempotent             |
 * | anything else, e.g. redirects                  | refused                                 |
 * | a private address                              | refused                                 |
 * | no connection                                  | pending                                 |
 * | withheld: not confirmed                        | pending                                 |
 * | connected, but no reply                        | unknown; pending if it is idempotent    |
 */
function toAttemptResult(posted: PostResult, idempotent: boolean, now: number): AttemptResult {
  if (posted.kind === 'unsent') {
    if (posted.forbidden) return { state: 'refused', detail: posted.reason };
    return { state: 'pending', detail: `Not connected: ${withCertificateAdvice(posted.reason)}`, targetDown: true };
  }
  if (posted.kind === 'withheld') return { state: 'pending', detail: posted.reason };
  if (posted.kind === 'lost') {
    if (idempotent) return { state: 'pending', detail: `No answer, sent again: ${posted.reason}` };
    return { state: 'unknown', detail: `No certain answer after the request had left: ${posted.reason}` };
  }
  const { status, text } = posted;
  const detail = `HTTP ${status}${text === '' ? '' : ` ${text}`}`;
  if (status >= 200 && status < 300) return { state: 'sent', detail };
  if (status === 429 || status === 503) {
    const wait = parseRetryAfter(posted.retryAfter, posted.date, now) ?? 0;
    return { state: 'pending', detail, ...(wait > 0 ? { notBefore: now + wait } : {}) };
  }
  // Such a status neither accepts nor refuses, and a retry may not change that.
  if (status > 599) return { state: 'unknown', detail };
  if (status === 408 || status >= 500) return { state: 'pending', detail };
  return { state: 'refused', detail: status < 400 ? `${detail} (redirects are not followed)` : detail };
}

const webhookSchema = z.strictObject({
  url: z
    .union([urlSchema(['https:', 'http:']), secretRefSchema], {
      error: 'a URL, https://…, or a reference to one that is secret, { env: NAME } or { file: PATH }',
    })
    .describe('URL of the POST; a reference if the URL itself is a secret.'),
  secret: secretRefSchema.describe('A reference to the key of the signature, whsec_… (Standard Webhooks).'),
  idempotent: z
    .boolean()
    .default(false)
    .describe(
      'true: the receiver treats two requests with one webhook-id as one. A request whose reply was lost is then sent again automatically.',
    ),
});
export type WebhookSpec = z.infer<typeof webhookSchema>;

/**
 * The webhook's name for people: the URL without its query, which may contain a secret, or the reference to the URL.
 */
function webhookDisplayName({ url }: Pick<WebhookSpec, 'url'>): string {
  if (typeof url === 'string') return new URL(url).origin + new URL(url).pathname;
  return 'env' in url ? `webhook of ${url.env}` : `webhook of ${url.file}`;
}
