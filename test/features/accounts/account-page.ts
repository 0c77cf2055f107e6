import { Hono } from 'hono';
import { requireToken } from '../../../src/admin/auth/authenticate.ts';
import { limitFormSize, resolveClient } from '../../../src/admin/auth/client.ts';
import { securityHeaders } from '../../../src/admin/auth/headers.ts';
import { redisSessionStore } from '../../../src/admin/auth/session-store.ts';
import { redisSessions, SESSION_LIFETIME_MS } from '../../../src/admin/auth/sessions.ts';
import { createTokenVerifier, type TokenEntry } from '../../../src/admin/auth/tokens.ts';
import type { Env } from '../../../src/admin/hono-env.ts';
import { addPage } from '../../../src/admin/page/page.tsx';
import { toProblemResponse } from '../../../src/admin/problem.ts';
import { readConfig } from '../../../src/base/config/config.ts';
import { toDocketError } from '../../../src/base/error.ts';
import { createRedactor } from '../../../src/base/secrets/redactor.ts';
import { Secret } from '../../../src/base/secrets/secret.ts';
import type { AccountRule } from '../../../src/features/accounts/account-access.ts';
import { createAccountMethod } from '../../../src/features/accounts/account-routes.tsx';
import { createAccountSessions } from '../../../src/features/accounts/account-sessions.ts';
import { createAccountSignIn } from '../../../src/features/accounts/account-sign-in.ts';
import { openIdProvider } from '../../../src/features/accounts/provider.ts';
import { boundedFetch } from '../../../src/features/accounts/provider-fetch.ts';
import { OIDC_CONFIG, oidcSettings } from '../../../src/features/accounts/settings.ts';
import type { RedisClient } from '../../../src/redis/client.ts';
import type { AuditEntry, AuditLog } from '../../../src/services/audit-log.ts';
import { cookieClient } from '../../support/authenticated-app.ts';
import { fake } from '../../support/fake.ts';
import { CLIENT_ID, signInAtProvider } from '../../support/identity-provider.ts';
import { type ManualClock, manualClock } from '../../support/manual-clock.ts';
import { createPageAuth } from '../../support/page-auth.ts';
import { NOW, sampleAccess } from '../../support/page-data.ts';
import { recordingLog } from '../../support/queue-harness.ts';

export const PAGE_ORIGIN = 'http://localhost:8787';
export const CALLBACK_URL = `${PAGE_ORIGIN}/sign-in/callback`;

interface Options {
  readonly issuer: string;
  readonly secret: string;
  /** Read at every request, since they can change. */
  readonly rules: () => readonly AccountRule[];
  readonly entries?: readonly TokenEntry[];
  readonly rolesClaim?: string;
  readonly redirectUrl?: string;
  readonly clock?: ManualClock;
  readonly timeoutMs?: number;
}

/** A process with the page and a sign-in at a provider. Several processes share the sessions of one Redis. */
export function openAccountPage({ redis, prefix }: { redis: RedisClient; prefix: string }, options: Options) {
  const { clock = manualClock(NOW), entries = [], rules, timeoutMs = 10_000 } = options;
  const log = recordingLog();
  const reported: AuditEntry[] = [];
  const variables = {
    DOCKET_OIDC_ISSUER: options.issuer,
    DOCKET_OIDC_CLIENT_ID: CLIENT_ID,
    DOCKET_OIDC_CLIENT_SECRET: 'env:UNUSED',
    DOCKET_OIDC_REDIRECT_URL: options.redirectUrl ?? CALLBACK_URL,
    DOCKET_OIDC_ACCOUNTS: 'unused.yaml',
    DOCKET_OIDC_ROLES_CLAIM: options.rolesClaim,
  };
  const settings = oidcSettings(readConfig(variables, [OIDC_CONFIG]));
  if (settings === undefined) throw new Error('incomplete settings');
  const base = createPageAuth([], { clock, log });
  const tokens = createTokenVerifier(
    async () => entries,
    () => clock.now(),
  );
  const secret = new Secret(options.secret);
  const provider = openIdProvider({
    settings,
    secret,
    redactor: createRedactor(),
    clock,
    fetch: boundedFetch(timeoutMs),
  });
  const { loginThrottle } = base;
  const accounts = createAccountSessions({
    provider,
    secret,
    rules: async () => rules(),
    claimGrants: settings.claimGrantsAccess,
    store: redisSessionStore(redis, prefix),
    lifetimeMs: SESSION_LIFETIME_MS,
    clock,
    log,
  });
  const audit = fake<AuditLog>({ record: async (entry) => void reported.push(entry) });
  const sessions = redisSessions({ redis, prefix, tokens, accounts, loginThrottle, audit, clock });
  const { rolesClaim } = settings;
  const signIn = createAccountSignIn({
    provider,
    accounts,
    rolesClaim,
    sources: { file: true, claim: settings.claimGrantsAccess },
    loginThrottle,
    clock,
    log,
  });
  const app = new Hono<Env>();
  app.use(securityHeaders(), resolveClient(base), limitFormSize());
  addPage(app, {
    sessions,
    accounts: createAccountMethod(accounts, signIn),
    limit: base.limit,
    access: (principal) => sampleAccess(principal),
    clock,
  });
  app.use('/api/*', requireToken({ ...base, tokens, sessions }));
  app.get('/api/me', async (context) =>
    context.json({ principal: context.get('principal'), still: await context.get('stillAccepted')() }),
  );
  app.onError((thrown) => toProblemResponse(toDocketError(thrown)));
  return { app, clock, log, told: reported, sessions, provider };
}
export type AccountPage = ReturnType<typeof openAccountPage>;

/** A browser that uses the page. */
export function accountBrowser(page: Pick<AccountPage, 'app'>) {
  const client = cookieClient(page);
  const fromProvider = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
  /** Starts a sign-in. Returns where the browser is sent. */
  const begin = async (to = '/'): Promise<URL> => {
    const response = await client.send('GET', `/sign-in/account?to=${encodeURIComponent(to)}`);
    return new URL(response.headers.get('location') ?? `data:,${response.status}`);
  };
  /** Follows the provider's redirect in this browser. */
  const callback = (url: URL): Promise<Response> =>
    client.send('GET', url.pathname + url.search, { headers: fromProvider });
  return {
    ...client,
    begin,
    callback,
    /** Signs in, from the sign-in page to the next page. */
    signIn: async (sub: string, to = '/') => callback(await signInAtProvider(await begin(to), sub)),
    me: async () => {
      const response = await client.send('GET', '/api/me');
      return { status: response.status, body: (await response.json()) as Record<string, unknown> };
    },
  };
}
