import { createServer, type Server } from 'node:http';
import { isIP } from 'node:net';
import { getRequestListener, RequestError } from '@hono/node-server';
import { type AddressList, NO_ADDRESSES } from '../base/address-list.ts';
import { DocketError } from '../base/error.ts';
import type { Log } from '../base/log.ts';
import type { Admin } from './app.ts';
import { addressOf, senderOf } from './auth/client.ts';
import { type ProblemCode, problem, REQUEST_PROBLEMS } from './problem.ts';

/** The admin route, listening. */
export interface AdminServer {
  /** Where it listens, e.g. `http://127.0.0.1:8787`. */
  readonly url: string;
  readonly port: number;
  /** Takes no more requests, lets those in hand end for two seconds. */
  close(): Promise<void>;
}

/** Ms for a request to arrive whole, and for its headers. */
const REQUEST_MS = 30_000;
const HEADERS_MS = 10_000;
/** How often it is looked who is late, ms. */
const LOOK_MS = 2_000;
/** Ms without a byte in either direction: whoever does not read its answer is let go. Streams of events say more often that they live. */
const SILENT_MS = 120_000;
const CLOSE_MS = 2_000;
/** Connections at a time, and of one address that is no trusted proxy: one sender cannot have them all. */
const MOST_CONNECTIONS = 1_024;
const MOST_OF_ONE = 256;
/** Refused connections are told of at most so often, ms. */
const TOLD_MS = 60_000;

/** What Node refuses before there is a request. */
const REFUSED: Readonly<Record<string, ProblemCode>> = {
  HPE_HEADER_OVERFLOW: 'request.headers_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request.timeout',
};

/** Serves the admin route. Throws `config.invalid` when the address cannot be listened on. Port 0 takes a free one. */
export async function listenAdmin(
  app: Pick<Admin, 'fetch'>,
  {
    host,
    port,
    log,
    proxies = NO_ADDRESSES,
  }: {
    readonly host: string;
    readonly port: number;
    readonly log: Log;
    /** Those in front of it, which speak TLS. */
    readonly proxies?: AddressList;
  },
): Promise<AdminServer> {
  const listener = getRequestListener(app.fetch, {
    hostname: host,
    // Otherwise it would put its own Request and Response into the whole process.
    overrideGlobalObjects: false,
    errorHandler: (error) => {
      if (error instanceof RequestError) return problem('request.malformed');
      log.error('A request failed', { why: error instanceof Error ? error.message : String(error) });
      return problem('server.failed');
    },
  });
  const server = createServer(
    { requestTimeout: REQUEST_MS, headersTimeout: HEADERS_MS, connectionsCheckingInterval: LOOK_MS },
    (incoming, outgoing) => {
      // Fetch's requests cannot be of this method, and an echo of headers is nothing to offer.
      if (incoming.method === 'TRACE') {
        outgoing.writeHead(405, { 'Content-Type': 'application/problem+json', Allow: 'GET, HEAD, POST' });
        return outgoing.end(bodyOf('request.method_not_allowed'));
      }
      return void listener(incoming, outgoing);
    },
  );
  // Their size is limited. A number would drop the last ones, which are those of the proxy.
  server.maxHeadersCount = 0;
  server.timeout = SILENT_MS;
  limitConnections(server, { proxies, log });
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (!socket.writable || error.code === 'ECONNRESET') return socket.destroy();
    const code = REFUSED[error.code ?? ''] ?? 'request.malformed';
    const { status, title } = REQUEST_PROBLEMS[code];
    const body = bodyOf(code);
    socket.end(
      `HTTP/1.1 ${status} ${title}\r\nContent-Type: application/problem+json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) =>
      reject(
        new DocketError('config.invalid', `The admin route cannot listen on ${host}:${port}.`, {
          where: 'DOCKET_ADMIN_HOST, DOCKET_ADMIN_PORT',
          expected: 'an address of this machine and a free port',
          got: cause.code ?? cause.message,
          next: 'Choose another port, or stop the process that has it.',
          cause,
        }),
      ),
    );
    server.listen(port, host, resolve);
  });
  const address = server.address();
  const bound = address !== null && typeof address === 'object' ? address.port : port;
  const url = `http://${isIP(host) === 6 ? `[${host}]` : host}:${bound}`;
  if (!isLoopback(host) && proxies.text === '') {
    log.warn(
      'The admin route is reachable from other machines without TLS: put a proxy with TLS in front of it, and name it in DOCKET_ADMIN_TRUSTED_PROXIES.',
      { url },
    );
  }
  return {
    url,
    port: bound,
    close: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeIdleConnections();
      const timer = setTimeout(() => server.closeAllConnections(), CLOSE_MS);
      await closed;
      clearTimeout(timer);
    },
  };
}

function bodyOf(code: ProblemCode): string {
  const { status, title } = REQUEST_PROBLEMS[code];
  return JSON.stringify({ type: `urn:docket:problem:${code}`, title, status, code });
}

function limitConnections(
  server: Server,
  { proxies, log }: { readonly proxies: AddressList; readonly log: Log },
): void {
  server.maxConnections = MOST_CONNECTIONS;
  const open = new Map<string, number>();
  let told = Number.NEGATIVE_INFINITY;
  const tell = (from: string | undefined): void => {
    if (performance.now() - told < TOLD_MS) return;
    told = performance.now();
    log.warn('Too many connections: further ones are refused', from === undefined ? {} : { from });
  };
  server.on('drop', (dropped) => tell(dropped?.remoteAddress));
  server.on('connection', (socket) => {
    const { remoteAddress } = socket;
    if (remoteAddress === undefined || proxies.has(addressOf(remoteAddress))) return;
    const sender = senderOf(addressOf(remoteAddress));
    const count = (open.get(sender) ?? 0) + 1;
    open.set(sender, count);
    socket.once('close', () => {
      const left = (open.get(sender) ?? 1) - 1;
      if (left === 0) open.delete(sender);
      else open.set(sender, left);
    });
    if (count > MOST_OF_ONE) {
      tell(remoteAddress);
      socket.destroy();
    }
  });
}

const isLoopback = (host: string): boolean => host === 'localhost' || host === '::1' || host.startsWith('127.');
