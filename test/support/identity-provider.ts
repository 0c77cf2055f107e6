import { createPrivateKey, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import Provider, { type Adapter, type AdapterPayload, type Configuration, type JWK } from 'oidc-provider';
import { freePort } from './free-port.ts';

export const CLIENT_ID = 'docket';

/** An account of the provider with its claims. `sub` is the name to type at the sign-in. */
export type ProviderAccount = Readonly<Record<string, unknown>>;

interface SigningKey {
  readonly kid: string;
  readonly jwk: JWK;
}

const newKey = (): SigningKey => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const kid = randomBytes(4).toString('hex');
  return { kid, jwk: { ...privateKey.export({ format: 'jwk' }), kid, use: 'sig', alg: 'RS256' } as JWK };
};

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** A signed JWT (RS256) with any claims. */
export function signJwt(
  claims: unknown,
  { kid, jwk }: SigningKey,
  header: Readonly<Record<string, unknown>> = {},
): string {
  const text = `${encode({ alg: 'RS256', kid, ...header })}.${encode(claims)}`;
  const key = createPrivateKey({ key: jwk as never, format: 'jwk' });
  return `${text}.${sign('sha256', Buffer.from(text), key).toString('base64url')}`;
}

export const readClaims = (jwt: string): Record<string, unknown> =>
  JSON.parse(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString('utf8')) as Record<string, unknown>;

/** Faults of the provider, active until they are changed. */
export interface ProviderFaults {
  /** Cuts connections. */
  down?: boolean;
  /** Cuts connections for matching paths. */
  downAt?: RegExp | undefined;
  /** Never responds. */
  hangs?: boolean;
  /** The error response of the token endpoint. */
  refuses?: { readonly status: number; readonly error: string } | undefined;
  /** Changes the response of the token endpoint. */
  tokens?: ((json: Record<string, unknown>, key: SigningKey) => Record<string, unknown>) | undefined;
}

interface Options {
  readonly redirectUrls: readonly string[];
  readonly signOutUrls?: readonly string[];
  readonly accounts: readonly ProviderAccount[];
  readonly configuration?: Partial<Configuration>;
}

/** A real OpenID provider (oidc-provider) on this machine with its own sign-in form. A test controls its keys and faults. */
export async function startIdentityProvider({ redirectUrls, signOutUrls = [], accounts, configuration }: Options) {
  const port = await freePort();
  const issuer = `http://127.0.0.1:${port}`;
  const secret = randomBytes(24).toString('base64url');
  const known = new Map(accounts.map((account) => [String(account.sub), account]));
  const stored = new Map<string, AdapterPayload>();
  const faults: ProviderFaults = {};
  const requests: string[] = [];
  let key = newKey();

  const build = (): ((req: IncomingMessage, res: ServerResponse) => void) => {
    const provider = new Provider(issuer, {
      adapter: memoryAdapter(stored),
      clients: [
        {
          client_id: CLIENT_ID,
          client_secret: secret,
          redirect_uris: [...redirectUrls],
          post_logout_redirect_uris: [...signOutUrls],
          grant_types: ['authorization_code', 'refresh_token'],
          response_types: ['code'],
        },
      ],
      jwks: { keys: [key.jwk] },
      cookies: { keys: ['a key of a test'] },
      claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['preferred_username', 'groups'] },
      conformIdTokenClaims: false,
      features: { devInteractions: { enabled: true }, revocation: { enabled: true } },
      findAccount: async (_, id) => {
        const account = known.get(id);
        return account && { accountId: id, claims: async () => ({ ...account, sub: id }) };
      },
      ttl: { AccessToken: 600, Grant: 86_400, IdToken: 600, Interaction: 600, RefreshToken: 86_400, Session: 86_400 },
      issueRefreshToken: async () => true,
      rotateRefreshToken: true,
      loadExistingGrant: async ({ oidc }) => {
        const accountId = oidc.session?.accountId;
        if (accountId === undefined) return undefined;
        const grant = new oidc.provider.Grant({ clientId: CLIENT_ID, accountId });
        grant.addOIDCScope('openid email profile offline_access');
        await grant.save();
        return grant;
      },
      ...configuration,
    });
    return provider.callback();
  };
  let handle = build();

  const server = createServer((req, res) => {
    const path = req.url?.replace(/\?.*/, '') ?? '';
    requests.push(`${req.method} ${path}`);
    if (faults.down === true || faults.downAt?.test(path)) return void req.socket.destroy();
    if (faults.hangs === true) return undefined;
    if (path === '/token' && faults.refuses !== undefined) {
      const { status, error } = faults.refuses;
      return void res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ error }));
    }
    if (path === '/token') changeBody(res, (json) => faults.tokens?.(json, key) ?? json);
    return handle(req, res);
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));

  return {
    issuer,
    secret,
    faults,
    /** `METHOD path` of each request. */
    requests,
    /** Accounts by subject: removing one disables it. */
    accounts: known,
    /** The provider's codes, tokens and sessions. */
    stored,
    /** Creates new keys. The old ones are no longer published. */
    rotateKeys: () => {
      key = newKey();
      handle = build();
    },
    otherKey: newKey,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
export type TestProvider = Awaited<ReturnType<typeof startIdentityProvider>>;

/** Changes a JSON body. Koa sends it in one piece. */
function changeBody(res: ServerResponse, change: (json: Record<string, unknown>) => Record<string, unknown>): void {
  const end = res.end.bind(res) as (body?: unknown) => ServerResponse;
  res.end = ((body?: unknown) => {
    if (res.statusCode !== 200 || body === undefined) return end(body);
    const text = JSON.stringify(change(JSON.parse(String(body)) as Record<string, unknown>));
    res.setHeader('content-length', Buffer.byteLength(text));
    return end(text);
  }) as typeof res.end;
}

/** Stored outside of the provider, which is recreated for other keys. */
const memoryAdapter =
  (stored: Map<string, AdapterPayload>) =>
  (model: string): Adapter => {
    const find = (which: (payload: AdapterPayload) => boolean): AdapterPayload | undefined =>
      [...stored].find(([id, payload]) => id.startsWith(`${model}:`) && which(payload))?.[1];
    return {
      upsert: async (id, payload) => void stored.set(`${model}:${id}`, payload),
      find: async (id) => stored.get(`${model}:${id}`),
      findByUid: async (uid) => find((payload) => payload.uid === uid),
      findByUserCode: async (code) => find((payload) => payload.userCode === code),
      consume: async (id) => {
        const payload = stored.get(`${model}:${id}`);
        if (payload !== undefined) payload.consumed = Math.floor(Date.now() / 1_000);
      },
      destroy: async (id) => void stored.delete(`${model}:${id}`),
      revokeByGrantId: async (grantId) => {
        for (const [id, payload] of stored) if (payload.grantId === grantId) stored.delete(id);
      },
    };
  };

/** Signs in at the provider like a browser without scripts. @returns the address where the browser is sent */
export async function signInAtProvider(url: URL | string, sub: string): Promise<URL> {
  const issuer = new URL(url).origin;
  const jar = new Map<string, string>();
  let next = new Request(url);
  for (let step = 0; step < 12; step += 1) {
    const headers = new Headers(next.headers);
    headers.set('cookie', [...jar].map(([name, value]) => `${name}=${value}`).join('; '));
    const response = await fetch(new Request(next, { headers, redirect: 'manual' }));
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === '') jar.delete(name);
      else jar.set(name, value);
    }
    const location = response.headers.get('location');
    if (location !== null) {
      const to = new URL(location, next.url);
      if (to.origin !== issuer) return to;
      next = new Request(to);
      continue;
    }
    const html = await response.text();
    const action = /action="([^"]+)"/.exec(html)?.[1];
    if (action === undefined) throw new Error(`The provider answered ${response.status}: ${html.slice(0, 500)}`);
    next = new Request(new URL(action, next.url), {
      method: 'POST',
      body: new URLSearchParams({ prompt: 'login', login: sub, password: 'any' }),
    });
  }
  throw new Error('The provider did not send the browser back.');
}
