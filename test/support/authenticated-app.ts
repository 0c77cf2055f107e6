import { Hono } from 'hono';
import { type PageAuth, requireSession, requireToken } from '../../src/admin/auth/authenticate.ts';
import { limitFormSize, resolveClient } from '../../src/admin/auth/client.ts';
import { securityHeaders } from '../../src/admin/auth/headers.ts';
import { redisSessions } from '../../src/admin/auth/sessions.ts';
import { createTokenVerifier, newToken, type TokenEntry } from '../../src/admin/auth/tokens.ts';
import type { Env } from '../../src/admin/hono-env.ts';
import { parseAddressList } from '../../src/base/net/address-list.ts';
import type { RedisClient } from '../../src/redis/client.ts';
import type { AuditEntry, AuditLog } from '../../src/services/audit-log.ts';
import { fake } from './fake.ts';
import { type ManualClock, manualClock } from './manual-clock.ts';
import { createPageAuth } from './page-auth.ts';
import { recordingLog } from './queue-harness.ts';

/** A token with a role and organizations, and its entry in the token file. */
export const createToken = (name: string, change: Partial<TokenEntry> = {}) => {
  const { token, sha256 } = newToken();
  return { token, entry: { name, sha256, role: 'operator', orgs: '*', ...change } satisfies TokenEntry as TokenEntry };
};

/** A page and an API behind real authentication. */
export function openAuthApp(
  { redis, prefix }: { readonly redis: RedisClient; readonly prefix: string },
  {
    entries,
    clock = manualClock(Date.parse('2026-11-18T12:00:00Z')),
    names = [],
    proxies = '',
    change = {},
  }: {
    /** Read at every request, since they can change. */
    readonly entries: () => readonly TokenEntry[];
    readonly clock?: ManualClock;
    readonly names?: readonly string[];
    readonly proxies?: string;
    readonly change?: Partial<PageAuth>;
  },
) {
  const log = recordingLog();
  const reported: AuditEntry[] = [];
  const list = proxies === '' ? undefined : parseAddressList(proxies);
  if (list !== undefined && !('has' in list)) throw new Error(`${list.got} is no address`);
  const base = createPageAuth([], { clock, log }, { ...(list === undefined ? {} : { proxies: list }), names });
  const tokens = createTokenVerifier(
    async () => entries(),
    () => clock.now(),
  );
  const audit = fake<AuditLog>({ record: async (entry) => void reported.push(entry) });
  const sessions = redisSessions({ redis, prefix, tokens, loginThrottle: base.loginThrottle, audit, clock });
  const authApp: PageAuth = { ...base, tokens, sessions, ...change };

  const app = new Hono<Env>();
  app.use(securityHeaders(), resolveClient(authApp), limitFormSize());
  app.get('/healthz', (context) => context.json({ status: 'ok' }));
  app.post('/sign-in', async (context) => {
    const { token } = await context.req.parseBody();
    const outcome = await sessions.signIn(context, String(token));
    return context.json(outcome, outcome.signedIn ? 200 : 401);
  });
  app.get('/client', (context) => context.json(context.get('client')));
  app.use('/api/*', requireToken(authApp));
  app.all('/api/thing', async (context) =>
    context.json({
      principal: context.get('principal'),
      session: context.get('session') !== undefined,
      still: await context.get('stillAccepted')(),
    }),
  );
  const page = new Hono<Env>();
  page.use(requireSession(authApp, (context) => context.redirect('/sign-in', 303)));
  page.get('/', (context) => context.html(`<p>${context.get('principal').name}</p>`));
  page.post('/act', async (context) => context.json(await context.req.parseBody()));
  page.post('/sign-out', async (context) => {
    await sessions.signOut(context);
    return context.redirect('/sign-in', 303);
  });
  app.route('/page', page);

  return { app, log, told: reported, clock, sessions };
}

export type AuthApp = ReturnType<typeof openAuthApp>;

/** A browser on our pages: it keeps cookies, and says where its requests come from. */
export function cookieClient({ app }: Pick<AuthApp, 'app'>, { host = 'localhost:8787', remote = '127.0.0.1' } = {}) {
  const jar = new Map<string, string>();
  const send = async (method: string, path: string, { body, headers = {} }: Sent = {}): Promise<Response> => {
    const response = await app.request(
      path,
      {
        method,
        headers: {
          host,
          'sec-fetch-site': 'same-origin',
          ...(jar.size === 0 ? {} : { cookie: [...jar].map(([name, value]) => `${name}=${value}`).join('; ') }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: body instanceof Object ? new URLSearchParams(body) : body }),
      },
      { incoming: { socket: { remoteAddress: remote } } },
    );
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (/max-age=0\b/i.test(line)) jar.delete(name);
      else jar.set(name, value);
    }
    return response;
  };
  return {
    jar,
    send,
    signIn: async (token: string, headers: Readonly<Record<string, string>> = {}) => {
      const response = await send('POST', '/sign-in', { body: { token }, headers });
      return { response, outcome: (await response.json()) as Outcome };
    },
  };
}

interface Sent {
  readonly body?: string | Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
}

interface Outcome {
  readonly signedIn: boolean;
  readonly why?: string;
  readonly session: { readonly csrf: string; readonly principal: { readonly name: string; readonly from: string } };
}
