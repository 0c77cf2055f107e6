import type { LookupFunction } from 'node:net';
import { buildConnector } from 'undici';
import { portOf } from './host.ts';
import type { CheckHost, FindProxy } from './proxies.ts';

type ConnectorOptions = buildConnector.BuildOptions & {
  /** Limit for opening the connection or the tunnel, ms. */
  readonly timeout: number;
  readonly lookup?: LookupFunction;
};

/** Connects undici's clients, through the proxy if there is one. */
export function proxiedConnector(
  findProxy: FindProxy,
  options: ConnectorOptions,
  checkHost: CheckHost = async () => {},
): buildConnector.connector {
  const direct = buildConnector(options);
  return (target, callback) => {
    const { protocol, hostname, port } = target;
    const proxy = findProxy(new URL(`${protocol}//${hostname}${port ? `:${port}` : ''}`));
    if (proxy === undefined) return direct(target, callback);
    const open = async () => {
      await checkHost(hostname.replace(/^\[|\]$/g, ''));
      return proxy.tunnel(hostname, portOf(target), AbortSignal.timeout(options.timeout));
    };
    open().then(
      (socket) =>
        protocol === 'https:' ? direct({ ...target, httpSocket: socket }, callback) : callback(null, socket),
      (error: Error) => callback(error, null),
    );
  };
}
