import { createServer as createPlain, type RequestListener } from 'node:http';
import { createServer as createSecure } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import { TLS } from './tls.ts';

export interface TestProxy {
  readonly url: string;
  /** The requested tunnels, such as `hooks.docket.test:443`, with the received credentials. */
  readonly tunnels: { readonly authority: string; readonly credentials: string | undefined }[];
  /** Replies to requests other than CONNECT. */
  readonly others: string[];
  /** The status of its replies, or closes connections; undefined opens tunnels. */
  refuseWith: number | 'close' | undefined;
  close(): Promise<void>;
}

/** A proxy that opens tunnels to ports of this machine for any host. @param portOf the server of a host */
export async function httpProxy(
  portOf: (host: string, port: number) => number,
  options: { readonly tls?: boolean; readonly credentials?: string } = {},
): Promise<TestProxy> {
  const tunnels: { authority: string; credentials: string | undefined }[] = [];
  const others: string[] = [];
  const onRequest: RequestListener = (request, response) => {
    others.push(`${request.method} ${request.url}`);
    response.writeHead(400).end();
  };
  const server = options.tls ? createSecure(TLS, onRequest) : createPlain(onRequest);
  const sockets = new Set<{ destroy(): void }>();
  server.on('connection', (socket) => sockets.add(socket));
  const proxy: TestProxy = {
    url: '',
    tunnels,
    others,
    refuseWith: undefined,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  server.on('connect', (request, client, head) => {
    const authority = request.url ?? '';
    const [, encoded = ''] = /^Basic (.*)$/.exec(request.headers['proxy-authorization'] ?? '') ?? [];
    const credentials = encoded === '' ? undefined : Buffer.from(encoded, 'base64').toString();
    tunnels.push({ authority, credentials });
    client.on('error', () => {});
    if (proxy.refuseWith === 'close') return void client.destroy();
    const status = proxy.refuseWith ?? (options.credentials === credentials ? 200 : 407);
    if (status !== 200) return void client.end(`HTTP/1.1 ${status} No\r\ncontent-length: 0\r\n\r\n`);
    const { hostname, port } = new URL(`http://${authority}`);
    const target = connect(portOf(hostname, Number(port || 80)), '127.0.0.1');
    sockets.add(target);
    target.on('error', () => client.destroy());
    target.once('connect', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      target.write(head);
      client.pipe(target).pipe(client);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return Object.assign(proxy, { url: `${options.tls ? 'https' : 'http'}://localhost:${port}` });
}
