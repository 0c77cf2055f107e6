export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

interface Credentials {
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly tls: boolean;
}

/** The servers that `REDIS_URL` names. */
export type RedisTopology =
  | { readonly kind: 'server'; readonly url: string }
  | (Credentials & {
      readonly kind: 'sentinel';
      readonly nodes: readonly Endpoint[];
      /** The master's name in Sentinel. */
      readonly master: string;
      readonly db: number;
      readonly sentinelUsername: string | undefined;
      readonly sentinelPassword: string | undefined;
    })
  | (Credentials & { readonly kind: 'cluster'; readonly nodes: readonly Endpoint[] });

const PORTS = { sentinel: 26_379, cluster: 6_379 } as const;
const URL_PATTERN = /^(rediss?)\+(sentinel|cluster):\/\/(?:([^@/?]*)@)?([^@/?]*)(?:\/([^?]*))?(?:\?(.*))?$/;

/** The valid forms, for errors. They never repeat the given value, which may contain a password. */
const REDIS_URL_FORMS =
  'redis://host:6379, rediss://… for TLS, redis+sentinel://host:26379,host:26379/mymaster or redis+cluster://host:6379,host:6379 (rediss+… for TLS)';

/**
 * Parses `REDIS_URL`; returns the expected form as a string if it is invalid.
 *
 * - `redis://` and `rediss://` (TLS): one server, as ioredis reads them.
 * - `redis+sentinel://[user:password@]host[:port],…/master[/db][?sentinel_username=…&sentinel_password=…]`
 * - `redis+cluster://[user:password@]host[:port],…`; some of its masters or replicas; the others are discovered.
 */
export function parseRedisUrl(text: string): RedisTopology | string {
  if (/^rediss?:\/\//.test(text)) return findServerUrlError(text) ?? { kind: 'server', url: text };
  const parts = URL_PATTERN.exec(text);
  if (parts === null) return REDIS_URL_FORMS;
  const [, scheme, kind, login = '', hosts = '', path = '', query = ''] = parts;
  const port = kind === 'sentinel' ? PORTS.sentinel : PORTS.cluster;
  const nodes = hosts.split(',').map((host) => parseEndpoint(host, port));
  const known = nodes.flatMap((node) => node ?? []);
  if (known.length < nodes.length) return 'hosts as host:port with commas between them';
  const [username, password] = login.split(/:(.*)/s).map(decodeComponent);
  if (username === null || password === null) return ENCODED_CREDENTIALS;
  const common = { nodes: known, username: username || undefined, password: password || undefined };
  const tls = scheme === 'rediss';
  if (kind === 'cluster') {
    return path === '' && query === ''
      ? { kind: 'cluster', ...common, tls }
      : 'no path and no query: a Cluster has no databases';
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

const ENCODED_CREDENTIALS = 'a user and a password in which %, @ and / are percent-encoded';

/** Rejects URLs for which ioredis would throw, or read an invalid database. */
function findServerUrlError(text: string): string | undefined {
  if (!URL.canParse(text)) return REDIS_URL_FORMS;
  const { username, password, hostname, pathname } = new URL(text);
  if (decodeComponent(username) === null || decodeComponent(password) === null) return ENCODED_CREDENTIALS;
  // Without a host, the path is that of a socket.
  if (hostname === '' || /^\/?$|^\/\d{1,4}$/.test(pathname)) return undefined;
  return 'the number of a database as the path, as in redis://host:6379/1';
}

function parseEndpoint(text: string, standard: number): Endpoint | undefined {
  const parts = /^(\[[0-9a-fA-F:.]+\]|[^:[\]\s]+)(?::(\d{1,5}))?$/.exec(text);
  const host = parts?.[1];
  const port = parts?.[2] === undefined ? standard : Number(parts[2]);
  if (host === undefined || port < 1 || port > 65_535) return undefined;
  return { host: host.replace(/^\[|\]$/g, ''), port };
}

/** Null: invalid percent-encoding. */
function decodeComponent(text: string | undefined): string | null | undefined {
  try {
    return text === undefined ? undefined : decodeURIComponent(text);
  } catch {
    return null;
  }
}
