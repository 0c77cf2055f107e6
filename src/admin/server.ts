import { createServer, type Server } from 'node:http';
import { isIP } from 'node:net';
import { getRequestListener, RequestError } from '@hono/node-server';
import { DocketError } from '../base/error.ts';
import type { Log } from '../base/log.ts';
import { type AddressList, NO_ADDRESSES } from '../base/net/address-list.ts';
import { isLoopback } from '../base/net/host.ts';
import { addressBlock, toClientAddress } from './auth/client.ts';
import type { AdminApp } from './hono-env.ts';
import { type ProblemCode, problem, REQUEST_PROBLEMS } from './problem.ts';

/** A listening admin server. */
export interface AdminServer {
  /** E.g. `http://127.0.0.1:8787`. */
  readonly url: string;
  readonly port: number;
  /** Stops accepting requests. Running ones have two seconds to finish. */
  close(): Promise<void>;
}

/** Timeouts for a complete request, and for its headers. */
const REQUEST_TIMEOUT_MS = 30_000;
const HEADERS_TIMEOUT_MS = 10_000;
const CONNECTION_CHECK_INTERVAL_MS = 2_000;
/**
 * Closes a connection after this many ms without a byte in either direction. Event streams send keep-alives more often.
 */
const IDLE_TIMEOUT_MS = 120_000;
const CLOSE_TIMEOUT_MS = 2_000;
/**
 * Maximum concurrent connections, in total and per address (trusted proxies excepted), so that one sender cannot use
 * them all.
 */
const MAX_CONNECTIONS = 1_024;
const MAX_CONNECTIONS_PER_ADDRESS = 256;
/** Ms between two log lines about refused connections. */
const WARN_INTERVAL_MS = 60_000;

/** Errors that Node reports before there is a request. */
const CLIENT_ERROR_PROBLEMS: Readonly<Record<string, ProblemCode>> = {
  HPE_HEADER_OVERFLOW: 'request.headers_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request.timeout',
};

/** Serves the admin route. Port 0 takes a free port. Throws `config.invalid` if it cannot listen on the address. */
export async function listenAdmin(
  app: Pick<AdminApp, 'fetch'>,
  {
    host,
    port,
    log,
    proxies = NO_ADDRESSES,
  }: {
    readonly host: string;
    readonly port: number;
    readonly log: Log;
    /** Trusted proxies, which terminate TLS. */
    readonly proxies?: AddressList;
  },
): Promise<AdminServer> {
  const listener = getRequestListener(app.fetch, {
    hostname: host,
    // By default it replaces the global Request and Response.
    overrideGlobalObjects: false,
    errorHandler: (error) => {
      if (error instanceof RequestError) return problem('request.malformed');
      log.error('A request failed', { why: error instanceof Error ? error.message : String(error) });
      return problem('server.failed');
    },
  });
  const server = createServer(
    {
      requestTimeout: REQUEST_TIMEOUT_MS,
      headersTimeout: HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: CONNECTION_CHECK_INTERVAL_MS,
    },
    (incoming, outgoing) => {
      // A fetch Request cannot have the method TRACE.
      if (incoming.method === 'TRACE') {
        outgoing.writeHead(405, { 'Content-Type': 'application/problem+json', Allow: 'GET, HEAD, POST' });
        return outgoing.end(problemBody('request.method_not_allowed'));
      }
      return void listener(incoming, outgoing);
    },
  );
  // The total size of headers is limited. A limit on their number would drop the last ones, which the proxy adds.
  server.maxHeadersCount = 0;
  server.timeout = IDLE_TIMEOUT_MS;
  limitConnections(server, { proxies, log });
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    if (!socket.writable || error.code === 'ECONNRESET') return socket.destroy();
    const code = CLIENT_ERROR_PROBLEMS[error.code ?? ''] ?? 'request.malformed';
    const { status, title } = REQUEST_PROBLEMS[code];
    const body = problemBody(code);
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
          next: 'Choose another port, or stop the process that uses it.',
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
      const timer = setTimeout(() => server.closeAllConnections(), CLOSE_TIMEOUT_MS);
      await closed;
      clearTimeout(timer);
    },
  };
}

function problemBody(code: ProblemCode): string {
  const { status, title } = REQUEST_PROBLEMS[code];
  return JSON.stringify({ type: `urn:docket:problem:${code}`, title, status, code });
}

function limitConnections(
  server: Server,
  { proxies, log }: { readonly proxies: AddressList; readonly log: Log },
): void {
  server.maxConnections = MAX_CONNECTIONS;
  const open = new Map<string, number>();
  let warnedAt = Number.NEGATIVE_INFINITY;
  const warn = (from: string | undefined): void => {
    if (performance.now() - warnedAt < WARN_INTERVAL_MS) return;
    warnedAt = performance.now();
    log.warn('Too many connections: refusing new ones', from === undefined ? {} : { from });
  };
  server.on('drop', (dropped) => warn(dropped?.remoteAddress));
  server.on('connection', (socket) => {
    const { remoteAddress } = socket;
    if (remoteAddress === undefined || proxies.has(toClientAddress(remoteAddress))) return;
    const sender = addressBlock(toClientAddress(remoteAddress));
    const count = (open.get(sender) ?? 0) + 1;
    open.set(sender, count);
    socket.once('close', () => {
      const left = (open.get(sender) ?? 1) - 1;
      if (left === 0) open.delete(sender);
      else open.set(sender, left);
    });
    if (count > MAX_CONNECTIONS_PER_ADDRESS) {
      warn(remoteAddress);
      socket.destroy();
    }
  });
}
