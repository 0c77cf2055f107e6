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

/** The provider's endpoints are read again after this time; its keys for each ID token. */
const METADATA_TTL_MS = HOUR_MS;
/** While the provider does not answer, refreshes of all sessions of the process fail at once for this long. */
const UNAVAILABLE_MS = 20 * SECOND_MS;
const GOOGLE = 'https://accounts.google.com';

/** What a sign-in has to match: made for one browser, and used once. */
export interface FlowChecks {
  readonly state: string;
  readonly nonce: string;
  /** PKCE code verifier. */
  readonly verifier: string;
}

/** An account as the provider confirmed it just now. */
export interface ConfirmedAccount {
  readonly claims: AccountClaims;
  /** Absent: the account cannot be confirmed again without a new sign-in. */
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
 * An OpenID provider (OpenID Connect Core 1.0, authorization code flow with PKCE). It is asked when it is needed first: one that
 * is down does not keep Docket from starting. Methods throw `oidc.unavailable`, `oidc.client_refused`, `oidc.refused` and
 * `oidc.invalid_response`.
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
  // A new configuration has no keys cached: a rotation of the provider's keys takes effect at once, and a withdrawn key as well.
  const configure = async (): Promise<oidc.Configuration> => configureClient(await load.current(), ports);

  /** @param before given where no ID token came: what UserInfo lacks is as it was */
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
    /** Host name of the issuer, for people. */
    name: new URL(issuer).host,
    /** The page of this deployment that the provider sends browsers back to. */
    redirectUrl,
    /** The page of the provider at which a person signs in. */
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
        // The registered URL, not the one of the request: a client writes the Host header.
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
     * Confirms an account again. Fails at once for a while after the provider did not answer.
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
        // OpenID Connect Core 1.0 §12.2.
        if (claims !== undefined && claims.sub !== subject)
          throw providerError('oidc.refused', issuer, 'another account (sub)');
        return {
          claims: await confirmed(configuration, tokens, claims, { subject, before }),
          refreshToken: tokens.refresh_token ?? refreshToken,
        };
      });
    },
    /** Ends a refresh token, where the provider can. */
    revoke: (refreshToken: string): Promise<void> =>
      attempt(async () => {
        const configuration = await configure();
        if (configuration.serverMetadata().revocation_endpoint === undefined) return;
        await oidc.tokenRevocation(configuration, refreshToken, { token_type_hint: 'refresh_token' });
      }),
    /** The page of the provider that ends its own session and returns to `returnTo`; undefined where it has none. */
    endSessionUrl: (returnTo: string): Promise<URL | undefined> =>
      attempt(async () => {
        const configuration = await configure();
        if (configuration.serverMetadata().end_session_endpoint === undefined) return undefined;
        // Without an ID token as hint, which would be in the browser's history: the provider asks the person instead.
        return oidc.buildEndSessionUrl(configuration, { post_logout_redirect_uri: returnTo });
      }),
    /** The provider's metadata, read again. */
    discover: () => attempt(() => load.fresh()),
  };
}
export type IdentityProvider = ReturnType<typeof openIdProvider>;

/** Google gives refresh tokens by parameters instead of the scope `offline_access`. */
const GOOGLE_OFFLINE = { access_type: 'offline', prompt: 'consent' };

/** @param supported by the provider, if its metadata list them */
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
  // OpenID Connect Discovery 1.0 §3: without a list, Basic.
  const usesPost = methods !== undefined && !methods.includes('client_secret_basic');
  const authentication = usesPost ? oidc.ClientSecretPost : oidc.ClientSecretBasic;
  const configuration = new oidc.Configuration(metadata, clientId, undefined, authentication(secret.reveal()));
  configuration[oidc.customFetch] = fetch ?? boundedFetch();
  // Its signature as well, although the ID token comes from the provider's own endpoint.
  oidc.enableNonRepudiationChecks(configuration);
  if (isPlain(issuer)) oidc.allowInsecureRequests(configuration);
  return configuration;
}

/** The configuration allows this for names of this machine only. */
const isPlain = (issuer: string): boolean => issuer.startsWith('http:');

/** Discovery, cached. An answer that is too old stays in use while the provider does not answer. */
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
    // The client accepts the placeholder issuer of a provider for all tenants: anybody's accounts.
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
