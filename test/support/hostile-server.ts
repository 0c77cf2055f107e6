import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Behaviour = (request: IncomingMessage, response: ServerResponse, body: string) => void;

export interface HostileServer {
  readonly url: string;
  /** The received requests, in order. */
  readonly requests: {
    readonly method: string;
    readonly url: string;
    readonly headers: IncomingMessage['headers'];
    readonly body: string;
  }[];
  /** Uses this behaviour from the next request on. */
  behave(behaviour: Behaviour): void;
  close(): Promise<void>;
}

/** A real HTTP server that misbehaves in a given way. */
export async function hostileServer(): Promise<HostileServer> {
  let behaviour: Behaviour = (_request, response) => response.writeHead(500).end();
  const requests: HostileServer['requests'] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString('utf8');
    requests.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers, body });
    behaviour(request, response, body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    behave: (next) => {
      behaviour = next;
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Answers with this JSON. */
export const json =
  (body: unknown, status = 200, headers: Record<string, string> = {}): Behaviour =>
  (_request, response) =>
    void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
