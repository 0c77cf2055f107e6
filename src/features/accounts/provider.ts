import * as oidc from 'openid-client';
import type { Clock } from '../../base/clock.ts';
import { DocketError } from '../../base/error.ts';
import type { Redactor } from '../../base/secrets/redactor.ts';
import type { Secret } from '../../base/secrets/secret.ts';
import { HOUR_MS, SECOND_MS } from '../../base/time.ts';
import { type AccountClaims, type Claims, isIncomplete, keepMissing, mergeClaims, parseClaims } from './claims.ts';
import { providerError, toProviderError } from './provider-errors.ts';
import { boundedFetch, type Fetch } from './provider-fetch.ts';
import { DEFAULT_OIDC_SCOPES, type OidcSettings } from './settings.ts';

/** The provider's endpoints are read again after this time. Its keys are read for each ID token. */
const METADATA_TTL_MS = HOUR_MS;
/** After the provider did not answer, all refreshes of this process fail at once for this long. */
const UNAVAILABLE_MS = 20 * SECOND_MS;
const GOOGLE = 'https://accounts.google.com';

/** The values that a callback must match. They are made for one browser, and used once. */
export interface FlowChecks {
  readonly state: string;
  readonly nonce: string;
  /** PKCE code verifier. */
  readonly verifier: string;
}

/** An account that the provider has just confirmed. */
export interface ConfirmedAccount {
  readonly claims: AccountClaims;
  /** Absent: only a new sign-in can confirm the account again. */
  readonly refreshToken: string | undefined;
}

interface ProviderPorts {
  readonly settings: OidcSettings;
  readonly secret: Secret;
  readonly redactor: Redactor;
  readonly clock: Clock;
  readonly fetch?: Fetch;
}

export const newFlowChecks = (): FlowChecks => ({
  state: oidc.randomState(),
  nonce: oidc.randomNonce(),
  verifier: oidc.randomPKCECodeVerifier(),
});

/**
 * An OpenID provider (OpenID Connect Core 1.0, authorization code flow with PKCE). It is first called when it is
 * needed, so Docket starts even while the provider is down. Methods throw `oidc.unavailable`, `oidc.client_refused`,
 * `oidc.refused` and `oidc.invalid_response`.
 */
export function openIdProvider(ports: ProviderPorts) {
  const { settings, redactor, clock } = ports;
  const { issuer, redirectUrl, rolesClaim } = settings;
  const load = metadataLoader(ports);
  let unavailableUntil = Number.NEGATIVE_INFINITY;

  const attempt = async <Value>(work: () => Promise<Value>): Promise<Value> => {
    try {
      return await work();
    } catch (thrown) {
      const error = toProviderError(thrown, issuer, redactor.redact);
      if (error.code === 'oidc.unavailable') unavailableUntil = clock.now() + UNAVAILABLE_MS;
      throw error;
    }
  };
  // A new configuration has no cached keys, so new and withdrawn keys of the provider take effect at once.
  const configure = async (): Promise<oidc.Configuration> => configureClient(await load.current(), ports);

  /** @param before the previous claims, if there was no ID token: they fill in what UserInfo lacks */
  const confirmed = async (
    configuration: oidc.Configuration,
    tokens: oidc.TokenEndpointResponse,
    claims: Claims | undefined,
    account: { readonly subject: string; readonly before?: AccountClaims },
  ): Promise<AccountClaims> => {
    const { subject, before } = account;
    const complete = claims !== undefined && !isIncomplete(claims, rolesClaim);
    if (complete || configuration.serverMetadata().userinfo_endpoint === undefined)
      return claims === undefined && before !== undefined ? before : parseClaims(claims ?? {}, subject, rolesClaim);
    const userInfo: Claims = await oidc.fetchUserInfo(configuration, tokens.access_token, subject);
    const parsed = parseClaims(mergeClaims(userInfo, claims ?? {}), subject, rolesClaim);
    return claims === undefined && before !== undefined ? keepMissing(parsed, before, userInfo, rolesClaim) : parsed;
  };
  const remember = ({ access_token, refresh_token }: oidc.TokenEndpointResponse): void => {
    for (const token of [access_token, refresh_token ?? '']) redactor.registerSecret(token, 'token');
  };

  return {
    issuer,
    /** Host name of the issuer, for display. */
    name: new URL(issuer).host,
    /** The URL of this deployment to which the provider sends browsers back. */
    redirectUrl,
    /** The provider's page where a person signs in. */
    authorizationUrl: ({ state, nonce, verifier }: FlowChecks): Promise<URL> =>
      attempt(async () => {
        const configuration = await configure();
        const { scopes_supported: supported } = configuration.serverMetadata();
        return oidc.buildAuthorizationUrl(configuration, {
          redirect_uri: redirectUrl,
          scope: requestedScopes(settings, supported).join(' '),
          state,
          nonce,
          code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
          code_challenge_method: 'S256',
          ...(issuer === GOOGLE ? GOOGLE_OFFLINE : {}),
        });
      }),
    /** Redeems the code of a callback. @param query of the callback */
    exchange: (query: URLSearchParams, { state, nonce, verifier }: FlowChecks): Promise<ConfirmedAccount> =>
      attempt(async () => {
        const configuration = await configure();
        // Uses the registered URL, because a client can write any Host header.
        const callback = new URL(redirectUrl);
        callback.search = query.toString();
        const code = query.get('code');
        if (code !== null) redactor.registerSecret(code, 'token');
        const tokens = await oidc.authorizationCodeGrant(configuration, callback, {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: verifier,
          idTokenExpected: true,
        });
        remember(tokens);
        const claims = tokens.claims();
        if (claims === undefined) throw providerError('oidc.invalid_response', issuer, 'no ID token');
        return {
          claims: await confirmed(configuration, tokens, claims, { subject: claims.sub }),
          refreshToken: tokens.refresh_token,
        };
      }),
    /**
     * Confirms an account again. For a while after the provider did not answer, fails at once.
     *
     * @param before the claims of the last confirmation
     */
    refresh: async (refreshToken: string, before: AccountClaims): Promise<ConfirmedAccount> => {
      if (clock.now() < unavailableUntil)
        throw providerError('oidc.unavailable', issuer, 'no reply to the last request');
      return attempt(async () => {
        const configuration = await configure();
        redactor.registerSecret(refreshToken, 'token');
        const tokens = await oidc.refreshTokenGrant(configuration, refreshToken);
        remember(tokens);
        const claims = tokens.claims();
        const { subject } = before;
        // The subject must stay the same: OpenID Connect Core 1.0 §12.2.
        if (claims !== undefined && claims.sub !== subject)
          throw providerError('oidc.refused', issuer, 'another account (sub)');
        return {
          claims: await confirmed(configuration, tokens, claims, { subject, before }),
          refreshToken: tokens.refresh_token ?? refreshToken,
        };
      });
    },
    /** Revokes a refresh token, if the provider supports it. */
    revoke: (refreshToken: string): Promise<void> =>
      attempt(async () => {
        const configuration = await configure();
        if (configuration.serverMetadata().revocation_endpoint === undefined) return;
        await oidc.tokenRevocation(configuration, refreshToken, { token_type_hint: 'refresh_token' });
      }),
    /** The provider's page that ends its own session and returns to `returnTo`; undefined if it has none. */
    endSessionUrl: (returnTo: string): Promise<URL | undefined> =>
      attempt(async () => {
        const configuration = await configure();
        if (configuration.serverMetadata().end_session_endpoint === undefined) return undefined;
        // Sends no ID token as a hint, because it would stay in the browser's history. The provider asks the person
        // instead.
        return oidc.buildEndSessionUrl(configuration, { post_logout_redirect_uri: returnTo });
      }),
    /** The provider's metadata, freshly read. */
    discover: () => attempt(() => load.fresh()),
  };
}
export type IdentityProvider = ReturnType<typeof openIdProvider>;

/** Google returns refresh tokens for these parameters, not for the scope `offline_access`. */
const GOOGLE_OFFLINE = { access_type: 'offline', prompt: 'consent' };

/** @param supported by the provider, if its metadata lists them */
export function requestedScopes(
  { scopes }: Pick<OidcSettings, 'scopes'>,
  supported: readonly string[] | undefined,
): readonly string[] {
  if (scopes !== undefined) return scopes;
  return supported?.includes('offline_access') ? [...DEFAULT_OIDC_SCOPES, 'offline_access'] : DEFAULT_OIDC_SCOPES;
}

function configureClient(metadata: oidc.ServerMetadata, { settings, secret, fetch }: ProviderPorts) {
  const { issuer, clientId } = settings;
  const methods = metadata.token_endpoint_auth_methods_supported;
  // If the list is missing, the default is Basic: OpenID Connect Discovery 1.0 §3.
  const usesPost = methods !== undefined && !methods.includes('client_secret_basic');
  const authentication = usesPost ? oidc.ClientSecretPost : oidc.ClientSecretBasic;
  const configuration = new oidc.Configuration(metadata, clientId, undefined, authentication(secret.reveal()));
  configuration[oidc.customFetch] = fetch ?? boundedFetch();
  // Verifies the signature too, although the ID token comes from the provider's own endpoint.
  oidc.enableNonRepudiationChecks(configuration);
  if (isPlain(issuer)) oidc.allowInsecureRequests(configuration);
  return configuration;
}

/** The configuration only allows this for names of this machine. */
const isPlain = (issuer: string): boolean => issuer.startsWith('http:');

/** Cached discovery. While the provider does not answer, an outdated result stays in use. */
function metadataLoader({ settings, clock, fetch = boundedFetch() }: ProviderPorts) {
  const { issuer, clientId } = settings;
  let cached: { readonly metadata: oidc.ServerMetadata; readonly until: number } | undefined;
  let pending: Promise<oidc.ServerMetadata> | undefined;
  const discover = async (): Promise<oidc.ServerMetadata> => {
    const configuration = await oidc.discovery(new URL(issuer), clientId, undefined, undefined, {
      [oidc.customFetch]: fetch,
      execute: isPlain(issuer) ? [oidc.allowInsecureRequests] : [],
    });
    const metadata = configuration.serverMetadata();
    // The client accepts the placeholder issuer of a multi-tenant provider, which would admit anybody's accounts.
    if (metadata.issuer !== issuer && metadata.issuer !== new URL(issuer).href) {
      throw providerError(
        'oidc.invalid_response',
        issuer,
        `the issuer ${JSON.stringify(metadata.issuer.slice(0, 200))}`,
      );
    }
    cached = { metadata, until: clock.now() + METADATA_TTL_MS };
    return metadata;
  };
  const fresh = (): Promise<oidc.ServerMetadata> => {
    pending ??= discover().finally(() => {
      pending = undefined;
    });
    return pending;
  };
  return {
    fresh,
    current: async (): Promise<oidc.ServerMetadata> => {
      if (cached !== undefined && clock.now() < cached.until) return cached.metadata;
      try {
        return await fresh();
      } catch (thrown) {
        if (cached === undefined || thrown instanceof DocketError) throw thrown;
        return cached.metadata;
      }
    },
  };
}
