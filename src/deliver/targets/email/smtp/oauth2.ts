import { Agent, type Dispatcher, request } from 'undici';
import { z } from 'zod';
import type { Clock } from '../../../../base/clock.ts';
import { DocketError, errorMessage } from '../../../../base/error.ts';
import { proxiedConnector } from '../../../../base/net/proxied-connector.ts';
import { type FindProxy, NO_PROXIES, ProxyError } from '../../../../base/net/proxies.ts';
import { type Redactor, redactUntrusted } from '../../../../base/secrets/redactor.ts';
import { Secret } from '../../../../base/secrets/secret.ts';
import { oneLine } from '../../../../base/text/bidi.ts';
import { SECOND_MS } from '../../../../base/time.ts';

/** A client of a token server. Without a refresh token it uses the `client_credentials` grant. */
export interface OAuth2Client {
  /** https. */
  readonly tokenUrl: string;
  readonly clientId: Secret;
  readonly clientSecret: Secret | undefined;
  readonly refreshToken: Secret | undefined;
  readonly scope: string | undefined;
  /** Learns each token, and removes secrets from the server's responses. */
  readonly redactor: Redactor;
  readonly findProxy?: FindProxy;
}

/** Returns a valid access token. `renew`: the last one was refused, so request a new one. */
export type AccessTokens = (options: { readonly renew: boolean }) => Promise<Secret>;

const REQUEST_TIMEOUT_MS = 10_000;
const MAX_RESPONSE_BYTES = 64 * 1024;
/** A token that expires within this time is no longer used. */
const EXPIRY_MARGIN_MS = 60_000;
/** RFC 6749 §5.1: `expires_in` is optional. */
const DEFAULT_TTL_S = 300;

const grantSchema = z.looseObject({
  access_token: z.string().min(1),
  /** Some servers rotate the refresh token with each access token. */
  refresh_token: z.string().optional().catch(undefined),
  expires_in: z.coerce.number().optional(),
});
const refusalSchema = z.looseObject({ error: z.string() });

/**
 * Gets access tokens for one client, and caches them until they expire. Concurrent calls share one request. Throws
 * `deliver.target_failed` with the server's error code (RFC 6749 §5.2), and never with a secret.
 */
export function accessTokens(client: OAuth2Client, clock: Clock, dispatcher?: Dispatcher): AccessTokens {
  let cached: { readonly token: Secret; readonly until: number } | undefined;
  let pending: Promise<Secret> | undefined;
  const fetchToken = async (): Promise<Secret> => {
    const { token, seconds } = await requestToken(client, dispatcher);
    cached = { token, until: clock.now() + seconds * SECOND_MS - EXPIRY_MARGIN_MS };
    return token;
  };
  return async ({ renew }) => {
    if (!renew && cached !== undefined && clock.now() < cached.until) return cached.token;
    pending ??= fetchToken().finally(() => {
      pending = undefined;
    });
    return pending;
  };
}

async function requestToken(client: OAuth2Client, dispatcher: Dispatcher | undefined) {
  for (const secret of [client.clientSecret, client.refreshToken])
    if (secret) client.redactor.registerSecret(secret.reveal());
  const form = new URLSearchParams({ client_id: client.clientId.reveal() });
  if (client.clientSecret !== undefined) form.set('client_secret', client.clientSecret.reveal());
  if (client.refreshToken === undefined) form.set('grant_type', 'client_credentials');
  else {
    form.set('grant_type', 'refresh_token');
    form.set('refresh_token', client.refreshToken.reveal());
  }
  if (client.scope !== undefined) form.set('scope', client.scope);
  const { status, json } = await postForm(client, form.toString(), dispatcher);
  const grant = grantSchema.safeParse(json);
  if (status === 200 && grant.success) {
    const { access_token, refresh_token, expires_in } = grant.data;
    for (const token of [access_token, refresh_token ?? '']) client.redactor.registerSecret(token, 'token');
    return { token: new Secret(access_token), seconds: expires_in ?? DEFAULT_TTL_S };
  }
  const refusal = refusalSchema.safeParse(json);
  const detail = refusal.success
    ? oneLine(redactUntrusted(refusal.data.error, client.redactor.redact), 80)
    : 'no access token in the reply';
  throw tokenError(client.tokenUrl, `HTTP ${status}: ${detail}`);
}

async function postForm(
  { tokenUrl: url, redactor, findProxy = NO_PROXIES }: OAuth2Client,
  body: string,
  dispatcher: Dispatcher = new Agent({ connect: proxiedConnector(findProxy, { timeout: REQUEST_TIMEOUT_MS }) }),
) {
  try {
    const response = await request(url, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
      body,
      headersTimeout: REQUEST_TIMEOUT_MS,
      bodyTimeout: REQUEST_TIMEOUT_MS,
      signal: AbortSignal.timeout(2 * REQUEST_TIMEOUT_MS),
      dispatcher,
      // Closes the connection: the next token is needed much later.
      reset: true,
    });
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of response.body) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > MAX_RESPONSE_BYTES) throw new Error('the reply is too long');
    }
    return { status: response.statusCode, json: parseJson(Buffer.concat(chunks).toString('utf8')) };
  } catch (thrown) {
    const next = thrown instanceof ProxyError ? thrown.next : undefined;
    throw tokenError(url, oneLine(redactUntrusted(errorMessage(thrown), redactor.redact)), next);
  }
}

/** Undefined for invalid JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const tokenError = (
  url: string,
  got: string,
  next = 'Correct smtp.oauth2 in org.yaml or its secrets; an expired refresh token needs a new consent.',
): DocketError =>
  new DocketError('deliver.target_failed', 'The token server returned no access token for the mail server.', {
    where: new URL(url).origin,
    expected: 'an access token',
    got,
    next,
  });
