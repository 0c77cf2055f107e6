import * as oidc from 'openid-client';
import { DocketError, errorMessage } from '../../base/error.ts';
import { type Redactor, redactUntrusted } from '../../base/secrets/redactor.ts';
import { oneLine } from '../../base/text/bidi.ts';

/** The errors of a provider. They differ in what the administrator or the person who signs in has to do. */
type ProviderErrorCode = 'oidc.unavailable' | 'oidc.client_refused' | 'oidc.refused' | 'oidc.invalid_response';

/** OAuth errors that are about the provider's state (RFC 6749 §4.1.2.1, RFC 8628 §3.5). */
const TEMPORARY: ReadonlySet<string> = new Set(['server_error', 'temporarily_unavailable', 'slow_down']);
/** OAuth errors that are about Docket as a client, not about the account. */
const ABOUT_CLIENT: ReadonlySet<string> = new Set([
  'invalid_client',
  'unauthorized_client',
  'invalid_request',
  'invalid_scope',
  'invalid_target',
  'unsupported_grant_type',
  'unsupported_response_type',
]);
/** Codes of the OpenID client for unusable responses. Any other code is about the connection. */
const INVALID: ReadonlySet<string> = new Set([
  'OAUTH_JWT_TIMESTAMP_CHECK_FAILED',
  'OAUTH_JWT_CLAIM_COMPARISON_FAILED',
  'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED',
  'OAUTH_KEY_SELECTION_FAILED',
  'OAUTH_INVALID_RESPONSE',
  'OAUTH_UNSUPPORTED_OPERATION',
  'OAUTH_MISSING_SERVER_METADATA',
  'OAUTH_INVALID_SERVER_METADATA',
  'OAUTH_HTTP_REQUEST_FORBIDDEN',
  'OAUTH_REQUEST_PROTOCOL_FORBIDDEN',
]);

const MESSAGES: Readonly<Record<ProviderErrorCode, { message: string; expected: string; next: string }>> = {
  'oidc.unavailable': {
    message: 'The OpenID provider does not answer.',
    expected: 'a reply of the provider',
    next: 'Try again in a moment. If it stays, check the network between Docket and the provider (`docket doctor`).',
  },
  'oidc.client_refused': {
    message: 'The OpenID provider rejected Docket as a client.',
    expected: 'a registered client with this id, secret, redirect URL and these scopes',
    next: 'Compare DOCKET_OIDC_CLIENT_ID, _CLIENT_SECRET, _REDIRECT_URL and _SCOPES with the registration at the provider (`docket doctor`).',
  },
  'oidc.refused': {
    message: 'The OpenID provider refused the account.',
    expected: 'an account that may sign in',
    next: 'Sign in again; if that fails as well, ask the administrator of the provider.',
  },
  'oidc.invalid_response': {
    message: 'The OpenID provider sent a response that is not valid.',
    expected: 'a response for this client from this issuer, signed with its current key',
    next: 'Compare DOCKET_OIDC_ISSUER with the issuer of the provider, and the clocks of both (`docket doctor`).',
  },
};

/** @param got must not contain a secret */
export const providerError = (code: ProviderErrorCode, issuer: string, got: string, cause?: unknown): DocketError => {
  const { message, expected, next } = MESSAGES[code];
  return new DocketError(code, message, { where: issuer, expected, got, next, cause });
};

/** Converts an error of the OpenID client. Redacts and shortens texts of the provider. */
export function toProviderError(thrown: unknown, issuer: string, redact: Redactor['redact']): DocketError {
  if (thrown instanceof DocketError) return thrown;
  const clean = (text: string): string => oneLine(redactUntrusted(text, redact), 300);
  if (thrown instanceof oidc.ResponseBodyError || thrown instanceof oidc.AuthorizationResponseError) {
    const { error, error_description: description } = thrown;
    const got = clean(description === undefined ? error : `${error}: ${description}`);
    const busy = 'status' in thrown && thrown.status === 429;
    return providerError(busy ? 'oidc.unavailable' : toErrorCode(error), issuer, got);
  }
  if (thrown instanceof oidc.WWWAuthenticateChallengeError) {
    return providerError('oidc.client_refused', issuer, `HTTP ${thrown.status}`);
  }
  const code = thrown instanceof oidc.ClientError ? (thrown.code ?? '') : '';
  const kind = INVALID.has(code) ? 'oidc.invalid_response' : 'oidc.unavailable';
  return providerError(kind, issuer, clean(describe(thrown)));
}

function toErrorCode(error: string): ProviderErrorCode {
  if (TEMPORARY.has(error)) return 'oidc.unavailable';
  return ABOUT_CLIENT.has(error) ? 'oidc.client_refused' : 'oidc.refused';
}

/** The innermost causes say what happened. `fetch failed` alone does not help. */
function describe(thrown: unknown): string {
  const parts: string[] = [];
  for (let error: unknown = thrown; error instanceof Error && parts.length < 4; error = error.cause) {
    const claim = findClaimName(error);
    parts.push(claim === undefined ? errorMessage(error) : `${errorMessage(error)} (${claim})`);
  }
  return [...new Set(parts)].join(': ') || String(thrown);
}

/** The name of the claim that did not match, from the error's cause. Never its value. */
function findClaimName({ cause }: Error): string | undefined {
  if (typeof cause !== 'object' || cause === null) return undefined;
  const names: readonly unknown[] = [
    'claim' in cause ? cause.claim : undefined,
    'attribute' in cause ? cause.attribute : undefined,
  ];
  const name = names.find((each) => typeof each === 'string');
  return typeof name === 'string' ? name : undefined;
}
