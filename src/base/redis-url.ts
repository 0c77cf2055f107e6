/** Where a server listens. */
export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

interface Login {
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly tls: boolean;
}

/** What `REDIS_URL` names. */
export type RedisPlace =
  | { readonly kind: 'server'; readonly url: string }
  | (Login & {
      readonly kind: 'sentinel';
      readonly nodes: readonly Endpoint[];
      /** What the Sentinels call the master. */
      readonly master: string;
      readonly db: number;
      readonly sentinelUsername: string | undefined;
      readonly sentinelPassword: string | undefined;
    })
  | (Login & { readonly kind: 'cluster'; readonly nodes: readonly Endpoint[] });

const PORTS = { sentinel: 26_379, cluster: 6_379 } as const;
const FORM = /^(rediss?)\+(sentinel|cluster):\/\/(?:([^@/?]*)@)?([^@/?]*)(?:\/([^?]*))?(?:\?(.*))?$/;

/** What a `REDIS_URL` may look like: the message of a fault never repeats what was given, which may hold a password. */
export const REDIS_FORMS =
  'redis://host:6379, rediss://… for TLS, redis+sentinel://host:26379,host:26379/mymaster or redis+cluster://host:6379,host:6379 (rediss+… for TLS)';

/**
 * `REDIS_URL` → what it names; a string says what was expected instead.
 *
 * - `redis://` and `rediss://` (TLS): one server, as ioredis reads them.
 * - `redis+sentinel://[user:password@]host[:port],…/master[/db][?sentinel_username=…&sentinel_password=…]`
 * - `redis+cluster://[user:password@]host[:port],…`; any masters or replicas of it, the rest is asked of them.
 */
export function readRedisUrl(text: string): RedisPlace | string {
  if (/^rediss?:\/\//.test(text)) return serverFault(text) ?? { kind: 'server', url: text };
  const parts = FORM.exec(text);
  if (parts === null) return REDIS_FORMS;
  const [, scheme, kind, login = '', hosts = '', path = '', query = ''] = parts;
  const port = kind === 'sentinel' ? PORTS.sentinel : PORTS.cluster;
  const nodes = hosts.split(',').map((host) => readEndpoint(host, port));
  const known = nodes.flatMap((node) => node ?? []);
  if (known.length < nodes.length) return 'hosts as host:port with commas between them';
  const [username, password] = login.split(/:(.*)/s).map(decoded);
  if (username === null || password === null) return ENCODED;
  const common = { nodes: known, username: username || undefined, password: password || undefined };
  const tls = scheme === 'rediss';
  if (kind === 'cluster') {
    return path === '' && query === ''
      ? { kind: 'cluster', ...common, tls }
      : 'no path and no query behind a cluster: it has no databases';
  }
  const [master = '', database = '0', ...rest] = path.split('/');
  if (master === '') return 'the name of the master as the path, as in redis+sentinel://host:26379/mymaster';
  if (rest.length > 0 || !/^\d{1,4}$/.test(database)) return 'a path of /master or /master/database';
  const options = new URLSearchParams(query);
  const sentinelUsername = options.get('sentinel_username') ?? undefined;
  const sentinelPassword = options.get('sentinel_password') ?? undefined;
  for (const name of options.keys()) {
    if (name !== 'sentinel_username' && name !== 'sentinel_password') {
      return 'no options but sentinel_username and sentinel_password';
    }
  }
  return { kind: 'sentinel', ...common, tls, master, db: Number(database), sentinelUsername, sentinelPassword };
}

const ENCODED = 'a user and a password in which %, @ and / are percent-encoded';

/** What ioredis would throw at, or take for a database that is none. */
function serverFault(text: string): string | undefined {
  if (!URL.canParse(text)) return REDIS_FORMS;
  const { username, password, hostname, pathname } = new URL(text);
  if (decoded(username) === null || decoded(password) === null) return ENCODED;
  // Without a host it is the path of a socket.
  if (hostname === '' || /^\/?$|^\/\d{1,4}$/.test(pathname)) return undefined;
  return 'the number of a database as the path, as in redis://host:6379/1';
}

function readEndpoint(text: string, standard: number): Endpoint | undefined {
  const parts = /^(\[[0-9a-fA-F:.]+\]|[^:[\]\s]+)(?::(\d{1,5}))?$/.exec(text);
  const host = parts?.[1];
  const port = parts?.[2] === undefined ? standard : Number(parts[2]);
  if (host === undefined || port < 1 || port > 65_535) return undefined;
  return { host: host.replace(/^\[|\]$/g, ''), port };
}

/** Null: it is not percent-encoded as it should be. */
function decoded(text: string | undefined): string | null | undefined {
  try {
    return text === undefined ? undefined : decodeURIComponent(text);
  } catch {
    return null;
  }
}
