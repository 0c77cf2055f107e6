import { type Dispatcher, request } from 'undici';
import { z } from 'zod';
import type { Clock } from '../base/clock.ts';
import { DocketError, wordsOf } from '../base/error.ts';
import { foreignText, type Redactor } from '../base/redactor.ts';
import { Secret } from '../base/secret.ts';
import { oneLine } from './one-line.ts';

/** Where access tokens come from. Without a refresh token the client asks for itself (`client_credentials`). */
export interface OAuth2Client {
  /** https. */
  readonly tokenUrl: string;
  readonly clientId: Secret;
  readonly clientSecret: Secret | undefined;
  readonly refreshToken: Secret | undefined;
  readonly scope: string | undefined;
  /** Learns each token, and takes what the server was told out of what it says. */
  readonly redactor: Redactor;
}

/** An access token that is good for a while. `renew`: the one before was refused, so another is asked for. */
export type AccessTokens = (options: { readonly renew: boolean }) => Promise<Secret>;

const TIMEOUT_MS = 10_000;
const MOST_BYTES = 64 * 1024;
/** A token is not used in its last moments: it would expire on its way. */
const MARGIN_MS = 60_000;
/** RFC 6749 §5.1 lets a server leave the life out. */
const LIFE_S = 300;

const grantSchema = z.looseObject({
  access_token: z.string().min(1),
  /** Some servers give another one with each token. */
  refresh_token: z.string().optional().catch(undefined),
  expires_in: z.coerce.number().optional(),
});
const refusalSchema = z.looseObject({ error: z.string() });

/**
 * Access tokens of one client, kept until they expire; who asks meanwhile waits for the same answer.
 * Throws `deliver.target_failed` with the server's error code (RFC 6749 §5.2), never with anything it was told.
 */
export function accessTokens(client: OAuth2Client, clock: Clock, dispatcher?: Dispatcher): AccessTokens {
  let kept: { readonly token: Secret; readonly until: number } | undefined;
  let asking: Promise<Secret> | undefined;
  const ask = async (): Promise<Secret> => {
    const { token, seconds } = await grant(client, dispatcher);
    kept = { token, until: clock.now() + seconds * 1000 - MARGIN_MS };
    return token;
  };
  return async ({ renew }) => {
    if (!renew && kept !== undefined && clock.now() < kept.until) return kept.token;
    asking ??= ask().finally(() => {
      asking = undefined;
    });
    return asking;
  };
}

async function grant(client: OAuth2Client, dispatcher: Dispatcher | undefined) {
  for (const secret of [client.clientSecret, client.refreshToken]) if (secret) client.redactor.learn(secret.reveal());
  const form = new URLSearchParams({ client_id: client.clientId.reveal() });
  if (client.clientSecret !== undefined) form.set('client_secret', client.clientSecret.reveal());
  if (client.refreshToken === undefined) form.set('grant_type', 'client_credentials');
  else {
    form.set('grant_type', 'refresh_token');
    form.set('refresh_token', client.refreshToken.reveal());
  }
  if (client.scope !== undefined) form.set('scope', client.scope);
  const { status, json } = await post(client, form.toString(), dispatcher);
  const granted = grantSchema.safeParse(json);
  if (status === 200 && granted.success) {
    const { access_token, refresh_token, expires_in } = granted.data;
    for (const token of [access_token, refresh_token ?? '']) client.redactor.learn(token, 'token');
    return { token: new Secret(access_token), seconds: expires_in ?? LIFE_S };
  }
  const refused = refusalSchema.safeParse(json);
  const why = refused.success
    ? oneLine(foreignText(refused.data.error, client.redactor.redact), 80)
    : 'no access token in the answer';
  throw failure(client.tokenUrl, `HTTP ${status}: ${why}`);
}

async function post({ tokenUrl: url, redactor }: OAuth2Client, body: string, dispatcher: Dispatcher | undefined) {
  try {
    const answer = await request(url, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
      body,
      headersTimeout: TIMEOUT_MS,
      bodyTimeout: TIMEOUT_MS,
      signal: AbortSignal.timeout(2 * TIMEOUT_MS),
      ...(dispatcher === undefined ? {} : { dispatcher }),
    });
    const parts: Buffer[] = [];
    let size = 0;
    for await (const part of answer.body) {
      parts.push(part);
      size += part.length;
      if (size > MOST_BYTES) throw new Error('the answer is too long');
    }
    return { status: answer.statusCode, json: readJson(Buffer.concat(parts).toString('utf8')) };
  } catch (thrown) {
    throw failure(url, oneLine(foreignText(wordsOf(thrown), redactor.redact)));
  }
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const failure = (url: string, got: string): DocketError =>
  new DocketError('deliver.target_failed', 'The token server gave no access token for the mail server.', {
    where: new URL(url).origin,
    expected: 'an access token',
    got,
    next: 'Correct smtp.oauth2 in org.yaml or the secrets that it refers to; an expired refresh token needs a new consent.',
  });
