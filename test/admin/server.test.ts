import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from 'vitest';
import type { AdminServices } from '../../src/admin/access/services.ts';
import { newToken } from '../../src/admin/auth/tokens.ts';
import { type AdminServer, listenAdmin } from '../../src/admin/server.ts';
import { silentLog } from '../../src/base/log.ts';
import { parseAddressList } from '../../src/base/net/address-list.ts';
import { INITIAL_RUN_FIELDS } from '../../src/queue/runs/stored-record.ts';
import { createTestAdmin } from '../support/admin.ts';
import { fake } from '../support/fake.ts';
import { loadedJobs } from '../support/loaded-jobs.ts';
import { anOrder, deferred, recordingLog, reportDefinition } from '../support/queue-harness.ts';
import { waitFor } from '../support/wait-for.ts';

const { token, sha256 } = newToken();
const authorization = `Bearer ${token}`;

describe('the admin server', () => {
  const servers: AdminServer[] = [];
  afterEach(async () => {
    for (const server of servers.splice(0)) await server.close();
  });
  const listen = async (given: Partial<AdminServices> = {}) => {
    const jobs = loadedJobs(reportDefinition());
    const app = createTestAdmin([{ name: 'a', sha256, role: 'operator', orgs: '*' }], {
      jobs: () => jobs,
      trigger: async () => ({ opened: true, record: { ...anOrder(), ...INITIAL_RUN_FIELDS } }),
      ...given,
    });
    const server = await listenAdmin(app, { host: '127.0.0.1', port: 0, log: silentLog });
    servers.push(server);
    return server;
  };
  const raw = async ({ port }: AdminServer, request: string): Promise<string> => {
    const socket = connect(port, '127.0.0.1');
    socket.write(request);
    return text(socket);
  };

  it('serves requests whose body has a known length or comes in pieces', async () => {
    const { url } = await listen();
    const pieces = new ReadableStream({
      start: (controller) => {
        controller.enqueue(new TextEncoder().encode('{"deliver":'));
        controller.enqueue(new TextEncoder().encode('false}'));
        controller.close();
      },
    });
    const headers = { authorization, 'content-type': 'application/json' };
    for (const body of ['{"deliver":false}', pieces]) {
      const response = await fetch(`${url}/api/reports/acme/weekly/runs`, {
        method: 'POST',
        headers,
        body,
        duplex: 'half',
      } as RequestInit);
      expect(response.status).toBe(202);
    }
  });

  it('rejects a body in pieces that grows too large', async () => {
    const { url } = await listen();
    const endless = new ReadableStream({
      pull: (controller) => {
        controller.enqueue(new Uint8Array(16_384).fill(32));
      },
    });
    const headers = { authorization, 'content-type': 'application/json' };
    const request = { method: 'POST', headers, body: endless, duplex: 'half' } as RequestInit;
    const response = await fetch(`${url}/api/reports/acme/weekly/runs`, request);
    expect(response.status).toBe(413);
    expect(response.headers.get('content-type')).toBe('application/problem+json');
  });

  it.each([
    ['text that is not HTTP', 'HELLO\r\n\r\n', '400'],
    ['endless headers', `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, '431'],
    ['an invalid host', 'GET / HTTP/1.1\r\nHost: a b/@\r\nConnection: close\r\n\r\n', '400'],
    ['an invalid path', 'GET \\\\x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n', '400'],
  ])('answers %s with a problem', async (_, request, status) => {
    const answer = await raw(await listen(), request);
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(answer.toLowerCase()).toContain('content-type: application/problem+json');
  });

  it('finishes running requests when it closes, and accepts no more', async () => {
    const requested = deferred();
    const go = deferred();
    const server = await listen({
      runs: fake({
        get: async () => undefined,
        findIdsByPrefix: async () => [],
        listAndCount: async () => ({ runs: [], total: 0 }),
        list: async () => {
          requested.tell();
          await go.promise;
          return [];
        },
      }),
    });
    const pending = fetch(`${server.url}/api/runs`, { headers: { authorization } });
    await requested.promise;
    const closed = server.close();
    go.tell();
    expect((await pending).status).toBe(200);
    await closed;
    await expect(fetch(`${server.url}/healthz`)).rejects.toThrow();
  });

  it('names the address that is already in use', async () => {
    const { port } = await listen();
    const app = createTestAdmin([]);
    await expect(listenAdmin(app, { host: '127.0.0.1', port, log: silentLog })).rejects.toMatchObject({
      code: 'config.invalid',
      got: 'EADDRINUSE',
    });
  });

  it.each([
    ['a method that browsers cannot send', 'TRACE / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n', '405'],
    [
      'a body of two lengths',
      'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n',
      '400',
    ],
    ['two hosts', 'GET / HTTP/1.1\r\nHost: localhost\r\nHost: a.example\r\nConnection: close\r\n\r\n', '421'],
    [
      'two tokens',
      `GET /api/runs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer x\r\nAuthorization: ${authorization}\r\nConnection: close\r\n\r\n`,
      '401',
    ],
  ])('rejects %s with a single response', async (_, request, status) => {
    const answer = await raw(await listen(), request);
    expect([...answer.matchAll(/^HTTP\/1.1 (\d+)/gm)].map(([, code]) => code)).toEqual([status]);
  });

  it('reads every header, also after 1,500 others', async () => {
    const many = Array.from({ length: 1_500 }, (_, n) => `a${n}:b\r\n`).join('');
    const request = `GET /api/runs HTTP/1.1\r\nHost: a\r\n${many}Authorization: ${authorization}\r\nConnection: close\r\n\r\n`;
    expect(await raw(await listen(), request)).toMatch(/^HTTP\/1.1 200 /);
  });

  it('logs no error when a client disconnects within a body', async () => {
    const log = recordingLog();
    const app = createTestAdmin([{ name: 'a', sha256, role: 'operator', orgs: '*' }], {}, { log });
    const server = await listenAdmin(app, { host: '127.0.0.1', port: 0, log });
    servers.push(server);
    const begun = (target: string) =>
      `POST ${target} HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${authorization}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n5\r\n`;
    for (const target of ['/nowhere', '/api/organizations/acme/pause']) {
      const socket = connect(server.port, '127.0.0.1');
      socket.write(begun(target));
      await once(socket, 'data');
      socket.resetAndDestroy();
      await once(socket, 'close');
    }
    // After the close, both requests are finished.
    await server.close();
    expect(log.lines.filter(({ level }) => level === 'error')).toEqual([]);
  });

  it('limits the connections of a single address', async () => {
    const server = await listen();
    const sockets = await Promise.all(
      Array.from({ length: 300 }, async () => {
        const socket = connect(server.port, '127.0.0.1');
        socket.on('error', () => {});
        await once(socket, 'connect');
        return socket;
      }),
    );
    const refused = sockets.slice(256);
    await Promise.all(refused.map(async (socket) => socket.destroyed || once(socket.resume(), 'close')));
    expect(await fetch(`http://127.0.0.1:${server.port}/healthz`).catch(() => 'refused')).toBe('refused');
    sockets[0]?.destroy();
    await untilServed(server);
    for (const socket of sockets) socket.destroy();
  });

  it('warns when other machines can reach it without a proxy', async () => {
    const log = recordingLog();
    const app = createTestAdmin([]);
    servers.push(await listenAdmin(app, { host: '0.0.0.0', port: 0, log }));
    expect(log.lines).toMatchObject([{ level: 'warn', message: expect.stringContaining('TLS') }]);
    const proxies = parseAddressList('10.0.0.1');
    if (!('has' in proxies)) throw new Error('no list');
    servers.push(await listenAdmin(app, { host: '0.0.0.0', port: 0, log, proxies }));
    expect(log.lines).toHaveLength(1);
  });
});

/** The server notices a closed connection only after a while. */
async function untilServed({ url }: AdminServer): Promise<void> {
  const ok = () =>
    fetch(`${url}/healthz`).then(
      (response) => response.ok,
      () => false,
    );
  await waitFor('the server to answer', ok);
}
