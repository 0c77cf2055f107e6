import { z } from 'zod';
import { secretRefSchema } from '../../../base/secrets/secret.ts';
import { urlSchema } from '../../../definitions/schema/values/primitives.ts';

export const webhookSchema = z.strictObject({
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
export function webhookDisplayName({ url }: Pick<WebhookSpec, 'url'>): string {
  if (typeof url === 'string') return new URL(url).origin + new URL(url).pathname;
  return 'env' in url ? `webhook of ${url.env}` : `webhook of ${url.file}`;
}
