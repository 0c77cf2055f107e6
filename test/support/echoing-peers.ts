import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { canaryService } from './canary.ts';
import { encodingsOf } from './secret-encodings.ts';

/** A peer of Docket that repeats what it received, and its address. */
export interface EchoingPeer {
  readonly port: number;
  close(): Promise<void>;
}

/** The echo in one line, in every encoding without a line break. */
export const echoOf = (...secrets: readonly string[]): string =>
  secrets
    .flatMap((secret) => [secret, ...Object.values(encodingsOf(secret))])
    .filter((text) => /^[ -~]*$/.test(text))
    .join(' ');

const httpPeer = async (
  answer: (request: IncomingMessage, body: string) => Answer | undefined,
): Promise<EchoingPeer> => {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString('utf8');
    const reported = answer(request, body);
    if (reported === undefined) return canaryService(() => {})(request, response, body);
    response.writeHead(reported.status, reported.headers).end(reported.body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};

interface Answer {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** The response of a service that rejects this `Authorization` and repeats it in every possible place. */
export function echoingProblem(authorization: string, status: number): Answer {
  const key = authorization.replace(/^Api-Key /, '');
  const echo = `${authorization} ${echoOf(key)}`;
  const problem = {
    type: echo,
    title: echo,
    detail: `You sent ${echo}`,
    instance: `/${echo}`,
    code: key,
    correlation_id: key,
    [key]: key,
    errors: [
      { pointer: `/${key}`, code: key, detail: echo, metadata: { [key]: echo } },
      { detail: `cut: ${key.slice(0, 12)}…` },
    ],
  };
  return {
    status,
    headers: { 'content-type': 'application/problem+json', 'x-correlation-id': authorization, 'x-echo': key },
    body: JSON.stringify(problem).replaceAll('/', '\\/'),
  };
}

/**
 * The service of `canaryService`, but it answers reports of organization 101 with 422 and of 102 with 401, and repeats the
 * key each time.
 */
export const echoingService = (): Promise<EchoingPeer> =>
  httpPeer(({ method, url = '', headers }) => {
    const org = /\/orgs\/(\d+)\//.exec(url)?.[1];
    const status = org === '102' ? 401 : org === '101' && method === 'POST' ? 422 : undefined;
    return status === undefined ? undefined : echoingProblem(headers.authorization ?? '', status);
  });

/** A webhook or a bucket that rejects requests and repeats these secrets. */
export const echoingHttp = (secrets: readonly string[]): Promise<EchoingPeer> =>
  httpPeer(({ method, url = '' }) => {
    // Docket asks the bucket whether the object exists: it does not.
    if (method === 'HEAD') return { status: 404, headers: {}, body: '' };
    const echo = `${url.startsWith('/bucket') ? '' : url} ${echoOf(...secrets)}`;
    const xml = `<?xml version="1.0"?><Error><Code>${secrets[0]}</Code><Message>${echo.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</Message></Error>`;
    return {
      status: 400,
      headers: { 'content-type': url.startsWith('/bucket') ? 'application/xml' : 'text/plain', 'retry-after': '1' },
      body: url.startsWith('/bucket') ? xml : echo,
    };
  });

/** A mail server that accepts all mails except those to `refused@…`, and repeats the login in each reply. */
export async function echoingSmtp(password: string): Promise<EchoingPeer & { readonly mails: readonly string[] }> {
  const sockets = new Set<Socket>();
  const mails: string[] = [];
  const server = createTcpServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => sockets.delete(socket));
    let login = '';
    let buffered = '';
    let inBody = false;
    const say = (code: number, text: string) =>
      socket.write(
        `${code}-${text} ${login}\r\n${code}-${password.slice(0, 9)}\r\n${code}-${password.slice(9)}\r\n${code} ${login === '' ? '' : echoOf(password)}\r\n`,
      );
    socket.write('220 echo.example ESMTP\r\n');
    socket.on('data', (chunk) => {
      buffered += chunk.toString('latin1');
      for (;;) {
        const end = buffered.indexOf(inBody ? '\r\n.\r\n' : '\r\n');
        if (end === -1) return;
        const text = buffered.slice(0, end);
        buffered = buffered.slice(end + (inBody ? 5 : 2));
        if (inBody) {
          inBody = false;
          mails.push(text);
          say(250, '2.0.0 Queued for');
        } else if (/^EHLO/i.test(text)) socket.write('250-echo.example\r\n250 AUTH PLAIN LOGIN\r\n');
        else if (/^AUTH/i.test(text)) {
          login = text;
          say(235, '2.7.0 Hello');
        } else if (/^RCPT TO:<refused@/i.test(text)) say(550, '5.1.1 Nobody of');
        else if (/^DATA/i.test(text)) {
          inBody = true;
          socket.write('354 Go on\r\n');
        } else if (/^QUIT/i.test(text)) socket.end('221 Bye\r\n');
        else say(250, '2.1.0 Ok');
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    mails,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
