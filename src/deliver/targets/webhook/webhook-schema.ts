import { z } from 'zod';
import { isPrivateHost, normalizeHost } from '../../../base/net/private-address.ts';
import { secretRefSchema } from '../../../base/secrets/secret.ts';
import { describeValue } from '../../../definitions/diagnostics/diagnostic.ts';
import type { DiagnosticText } from '../../../definitions/schema/kinds.ts';
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

/** The name for people: the URL without its query, which may hold a secret, or the reference to the URL. */
export function webhookDisplayName({ url }: Pick<WebhookSpec, 'url'>): string {
  if (typeof url === 'string') return new URL(url).origin + new URL(url).pathname;
  return 'env' in url ? `webhook of ${url.env}` : `webhook of ${url.file}`;
}

const ALLOW_PRIVATE_HINT = 'if it is right, write "allow_private: true" into org.yaml';

/**
 * The error of a URL that only organizations with `allow_private` may use, as far as the URL alone shows it: the delivery
 * checks the address that it connects to.
 */
export function webhookUrlDiagnostic(url: string): DiagnosticText | undefined {
  const { protocol, hostname, origin } = new URL(url);
  const located = { got: describeValue(origin), next: ALLOW_PRIVATE_HINT };
  if (isPrivateHost(normalizeHost(hostname))) {
    return { message: 'a webhook to a private address', expected: 'an address on the public internet', ...located };
  }
  if (protocol === 'https:') return undefined;
  return { expected: 'https: what a webhook tells is read on the way otherwise', ...located };
}
