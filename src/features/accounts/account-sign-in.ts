import type { Context } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import { z } from 'zod';
import type { LoginThrottle, RefusedAccount } from '../../admin/auth/login-throttle.ts';
import { hostCookie, isUnprotected, type Sessions } from '../../admin/auth/sessions.ts';
import { equalBytes } from '../../admin/auth/tokens.ts';
import type { Env } from '../../admin/hono-env.ts';
import type { Clock } from '../../base/clock.ts';
import { DocketError } from '../../base/error.ts';
import type { Log } from '../../base/log.ts';
import { epochMsSchema, MINUTE_MS, SECOND_MS } from '../../base/time.ts';
import { parseStored } from '../../redis/client.ts';
import type { AccountSessions } from './account-sessions.ts';
import { type AccountClaims, accountName } from './claims.ts';
import { type ConfirmedAccount, type IdentityProvider, newFlowChecks } from './provider.ts';
import { CALLBACK_PATH } from './settings.ts';

/** How long a person may take at the provider. */
const FLOW_TTL_MS = 10 * MINUTE_MS;
const FLOW_COOKIE = 'docket-sign-in';

/** The page that leads to the provider. */
export const START_PATH = '/sign-in/account';

const flowSchema = z.object({
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  /** The path to continue at. */
  to: z.string(),
  until: epochMsSchema,
});
type Flow = z.infer<typeof flowSchema>;

/** How a sign-in starts: at the provider, at the registered address of this page, or not at all. */
export type SignInStart =
  | { readonly to: 'provider' | 'own_address'; readonly url: URL }
  | { readonly to: 'nowhere'; readonly why: 'insecure' };

/** The result of a callback. `to`: the path to continue at, from the start of the sign-in. */
export type SignInEnd =
  | { readonly signedIn: true; readonly to: string; readonly name: string; readonly canRefresh: boolean }
  | {
      readonly signedIn: false;
      /**
       * - `flow`: the sign-in began too long ago, or not in this browser;
       * - `insecure`: neither TLS nor a loopback name;
       * - `provider`: see `error`;
       * - `no_access`: the provider confirmed the account, but it has no access.
       */
      readonly why: 'flow' | 'insecure' | 'provider' | 'no_access';
      readonly to?: string;
      readonly error?: DocketError;
      readonly account?: AccountView;
      /** Seconds to wait, if this address had too many refusals. */
      readonly retryAfterS?: number;
    };

/** An account without access, for the page that says what an administrator can do. */
export interface AccountView {
  readonly name: string;
  readonly issuer: string;
  readonly claims: AccountClaims;
  readonly rolesClaim: string;
  /** Where an administrator can grant access: in the mapping file, by values of the claim, or both. */
  readonly sources: AccessSources;
}

export interface AccessSources {
  readonly file: boolean;
  readonly claim: boolean;
}

interface AccountSignInPorts {
  readonly provider: IdentityProvider;
  readonly accounts: Pick<AccountSessions, 'principal' | 'begin'>;
  readonly rolesClaim: string;
  readonly sources: AccessSources;
  readonly loginThrottle: LoginThrottle;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Sign-in with an account of the provider. A cookie in the browser keeps the values that the callback must match
 * (HttpOnly, ten minutes; SameSite=Lax, because the provider's redirect comes from another site). The cookie is not
 * encrypted: its browser may know everything in it, and a key derived from the client's secret would let every visitor
 * test guesses of that secret.
 */
export function createAccountSignIn(ports: AccountSignInPorts) {
  const { provider, accounts, loginThrottle, clock, log } = ports;
  const flows = flowCookies(ports);

  const refuse = (
    context: Context<Env>,
    refusal: RefusedAccount,
    end: Omit<SignInEnd & { signedIn: false }, 'signedIn' | 'retryAfterS'>,
  ): SignInEnd => {
    const retryAfterS = loginThrottle.recordRefusedAccount(context, refusal);
    return { signedIn: false, ...end, ...(retryAfterS === undefined ? {} : { retryAfterS }) };
  };
  const admit = async (
    context: Context<Env>,
    sessions: Sessions,
    account: ConfirmedAccount,
    { to }: Flow,
  ): Promise<SignInEnd> => {
    const principal = await accounts.principal(account);
    const session = principal && (await sessions.begin(context, principal, (id) => accounts.begin(id, account)));
    const canRefresh = account.refreshToken !== undefined;
    const name = accountName(provider.issuer, account.claims);
    if (session !== undefined) {
      if (!canRefresh)
        log.warn('The provider gave no refresh token: this session ends after 15 minutes', { who: name });
      return { signedIn: true, to, name, canRefresh };
    }
    if (account.refreshToken !== undefined) await provider.revoke(account.refreshToken).catch(() => {});
    const { claims } = account;
    const { rolesClaim, sources } = ports;
    return refuse(
      context,
      { why: 'no entry of DOCKET_OIDC_ACCOUNTS or value of the claim gives this account access', who: name },
      { why: 'no_access', to, account: { name, issuer: provider.issuer, claims, rolesClaim, sources } },
    );
  };

  return {
    providerName: provider.name,
    /** Begins a sign-in. Throws `oidc.*`. @param to path on this page to continue at */
    begin: async (context: Context<Env>, to: string): Promise<SignInStart> => {
      const home = new URL(provider.redirectUrl);
      const { host, secure } = context.get('client');
      // The callback must receive the cookie of the sign-in, so both need the same host.
      const isHome = host === home.host && secure === (home.protocol === 'https:');
      if (!isHome && context.req.query('at') !== 'home') {
        home.pathname = home.pathname.slice(0, -CALLBACK_PATH.length) + START_PATH;
        home.search = new URLSearchParams({ to, at: 'home' }).toString();
        return { to: 'own_address', url: home };
      }
      if (isUnprotected(context)) return { to: 'nowhere', why: 'insecure' };
      const checks = newFlowChecks();
      const url = await provider.authorizationUrl(checks);
      flows.write(context, { ...checks, to, until: clock.now() + FLOW_TTL_MS });
      return { to: 'provider', url };
    },
    /** Completes a sign-in. The request is the provider's redirect. Throws `redis.unreachable`. */
    complete: async (context: Context<Env>, sessions: Sessions): Promise<SignInEnd> => {
      if (isUnprotected(context)) return { signedIn: false, why: 'insecure' };
      const query = new URL(context.req.url).searchParams;
      const flow = flows.read(context);
      if (flow === undefined || !isSameState(flow.state, query.getAll('state'))) {
        const why = 'the browser did not begin this sign-in, or more than ten minutes ago';
        return refuse(context, { why }, { why: 'flow' });
      }
      // A started sign-in can be used once: the same redirect is refused the next time.
      flows.clear(context);
      const { to } = flow;
      let account: ConfirmedAccount;
      try {
        account = await provider.exchange(query, flow);
      } catch (error) {
        if (!(error instanceof DocketError)) throw error;
        return refuse(context, { why: error.code, error: error.toJSON() }, { why: 'provider', to, error });
      }
      return admit(context, sessions, account, flow);
    },
    /** The page where the provider ends its own session. Undefined if it has none or does not answer. */
    providerSignOut: (): Promise<URL | undefined> =>
      provider
        .endSessionUrl(provider.redirectUrl.slice(0, -CALLBACK_PATH.length) + RETURN_PATH)
        .catch((error: unknown) => {
          if (error instanceof DocketError) return undefined;
          throw error;
        }),
  };
}

export type AccountSignIn = ReturnType<typeof createAccountSignIn>;

/** The path that the provider's sign-out returns to. It must also be registered at the provider. */
const RETURN_PATH = '/sign-in';

const isSameState = (expected: string, presented: readonly string[]): boolean => {
  const [state, ...others] = presented;
  return state !== undefined && others.length === 0 && equalBytes(Buffer.from(expected), Buffer.from(state));
};

/** The cookie of a started sign-in. A second sign-in replaces it, so the newest tab counts. */
function flowCookies({ clock }: Pick<AccountSignInPorts, 'clock'>) {
  const attributes = (secure: boolean) => ({ path: '/', httpOnly: true, sameSite: 'Lax', secure }) as const;
  return {
    read: (context: Context<Env>): Flow | undefined => {
      const cookie = getCookie(context, hostCookie(FLOW_COOKIE, context.get('client').secure));
      const flow =
        cookie === undefined ? undefined : parseStored(flowSchema, Buffer.from(cookie, 'base64url').toString('utf8'));
      return flow !== undefined && clock.now() < flow.until ? flow : undefined;
    },
    write: (context: Context<Env>, flow: Flow): void => {
      const { secure } = context.get('client');
      const maxAge = FLOW_TTL_MS / SECOND_MS;
      setCookie(context, hostCookie(FLOW_COOKIE, secure), Buffer.from(JSON.stringify(flow)).toString('base64url'), {
        ...attributes(secure),
        maxAge,
      });
    },
    clear: (context: Context<Env>): void => {
      const { secure } = context.get('client');
      deleteCookie(context, hostCookie(FLOW_COOKIE, secure), attributes(secure));
    },
  };
}
