import { type Agent as HttpAgent, Agent as PlainAgent } from 'node:http';
import { type AgentOptions, Agent as TlsAgent } from 'node:https';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { portOf } from './host.ts';
import type { CheckHost, FindProxy } from './proxies.ts';

/** An agent for clients of Node's own HTTP modules (AWS SDK, OpenTelemetry). Uses the proxy if there is one. */
export function proxiedAgent(
  protocol: 'http:' | 'https:',
  findProxy: FindProxy,
  options: AgentOptions & { readonly timeout: number },
  checkHost: CheckHost = async () => {},
): HttpAgent {
  const { timeout, ...rest } = options;
  const agent = protocol === 'https:' ? new TlsAgent(rest) : new PlainAgent(rest);
  const direct = agent.createConnection.bind(agent);
  agent.createConnection = (given, callback) => {
    const [host, port] = [given.host ?? 'localhost', portOf({ protocol, port: given.port ?? null })];
    const proxy = findProxy(new URL(`${protocol}//${host.includes(':') ? `[${host}]` : host}:${port}`));
    if (proxy === undefined) return direct(given, callback);
    const open = async () => {
      await checkHost(host);
      const socket = await proxy.tunnel(host, port, AbortSignal.timeout(timeout));
      // Node passes the options of both protocols in one type.
      return protocol === 'https:' ? connectTls({ ...(given as ConnectionOptions), socket }) : socket;
    };
    open().then(
      (socket) => callback?.(null, socket),
      // The types do not allow a stream that is missing because of an error.
      (error: Error) => (callback as ((error: Error) => void) | undefined)?.(error),
    );
    return undefined;
  };
  return agent;
}
