import { inspect } from 'node:util';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DocketError } from '../../../src/base/error.ts';
import { Secret } from '../../../src/base/secrets/secret.ts';
import {
  type ClientOptions,
  type ComplianceClient,
  createClient,
} from '../../../src/fetch/client/compliance-client.ts';
import { echoingProblem } from '../../support/echoing-peers.ts';
import { freePort } from '../../support/free-port.ts';
import { type HostileServer, hostileServer, json } from '../../support/hostile-server.ts';
import { encodingsFoundIn } from '../../support/secret-encodings.ts';

const KEY = 'dk_test.q9Zs3cretValueThatMustNotTravel';
const REQUEST = { metrics: ['profiles.created'] };
const ANSWER = {
  meta: {
    as_of: '2026-11-19T08:00:00Z',
    cached: false,
    refresh_retry_after: null,
    timezone: 'UTC',
    range: { from: '2026-10-21', to: '2026-11-19' },
    granularity: null,
    row_count: 1,
    truncated: false,
    registry_version: 7,
  },
  columns: [{ name: 'profiles.created', label: 'Profiles created', kind: 'metric', type: 'integer', unit: 'count' }],
  rows: [{ 'profiles.created': 12 }],
};
const signal = () => new AbortController().signal;

let server: HostileServer;
const clients: ComplianceClient[] = [];
const client = (more: Partial<ClientOptions> = {}): ComplianceClient => {
  const made = createClient({ baseUrl: server.url, key: new Secret(KEY), ...more });
  clients.push(made);
  return made;
};
const failure = async (work: Promise<unknown>): Promise<DocketError> => {
  const error = await work.then(
    () => new Error('expected a failure'),
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof DocketError)) throw error;
  // The key must not appear in anything that a log, a record or a debugger shows.
  expect(inspect(error, { depth: 20, showHidden: true })).not.toContain('q9Zs3cret');
  return error;
};

beforeEach(async () => {
  server = await hostileServer();
});
afterEach(async () => {
  // Closing a client waits for hanging requests, so the server is closed first.
  await server.close();
  await Promise.all(clients.splice(0).map((made) => made.close()));
});

describe('a report', () => {
  test('is requested as the specification says and returned with its correlation ID', async () => {
    server.behave(json(ANSWER, 200, { 'x-correlation-id': 'c-1' }));
    const answered = await client().report('current', REQUEST, signal());
    expect(answered).toEqual({ body: ANSWER, correlationId: 'c-1' });
    expect(server.requests[0]).toMatchObject({
      method: 'POST',
      url: '/api/orgs/current/analytics/report/',
      body: JSON.stringify(REQUEST),
    });
    expect(server.requests[0]?.headers).toMatchObject({
      authorization: `Api-Key ${KEY}`,
      'content-type': 'application/json',
    });
  });

  test('keeps the path prefix of the base URL', async () => {
    server.behave(json(ANSWER));
    await client({ baseUrl: `${server.url}/compliance/` }).report(7, REQUEST, signal());
    expect(server.requests[0]?.url).toBe('/compliance/api/orgs/7/analytics/report/');
  });

  test('may be compressed', async () => {
    server.behave((_request, response) =>
      response
        .writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
        .end(gzipSync(JSON.stringify(ANSWER))),
    );
    expect((await client().report('current', REQUEST, signal())).body.rows).toEqual(ANSWER.rows);
  });

  test('reuses its connections', async () => {
    const ports = new Set<number | undefined>();
    server.behave((request, response, body) => {
      ports.add(request.socket.remotePort);
      json(ANSWER)(request, response, body);
    });
    const one = client();
    for (let call = 0; call < 10; call += 1) await one.report('current', REQUEST, signal());
    // A second connection may open before the first is free, but not one for each call.
    expect(ports.size).toBeLessThanOrEqual(2);
  });
});

describe('received data', () => {
  const LONG = `compliance_live_${'k3Y'.repeat(8)}.q9Zs3cret${'x7'.repeat(10)}`;
  const list = (name: string) => json([{ id: 1, name, [name]: [name] }]);
  const names = async (name: string) => {
    server.behave(list(name));
    const { records } = await client({ key: new Secret(LONG) }).listPage({ org: 7, list: 'profiles' }, null, signal());
    return records;
  };

  test.each([8, 10, 16, 40])('keeps a text that equals the first %i characters of the key', async (length) => {
    const name = LONG.slice(0, length);
    expect(await names(name)).toEqual([{ id: 1, name, [name]: [name] }]);
  });

  const FAR = '-'.repeat(65_520);
  test.each([
    ['in plain text', LONG, '[secret]'],
    ['its secret half', LONG.slice(LONG.indexOf('.') + 1), '[secret]'],
    ['in base64', Buffer.from(LONG).toString('base64'), '[secret]'],
    ['across two chunks', `${FAR}${LONG}`, `${FAR}[secret]`],
  ])('never contains the key, %s', async (_what, name, said) => {
    expect(await names(name)).toEqual([{ id: 1, name: said, [said]: [said] }]);
  });
});

describe('unreadable responses:', () => {
  const unreadable: [string, Parameters<HostileServer['behave']>[0]][] = [
    [
      'truncated JSON',
      (_request, response) =>
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(ANSWER).slice(0, -20)),
    ],
    [
      'the HTML of a proxy',
      (_request, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Welcome</h1>'),
    ],
    ['JSON of another shape', json({ hello: 'world' })],
    ['text instead of a number', json({ ...ANSWER, meta: { ...ANSWER.meta, row_count: 'one' } })],
    [
      'truncated gzip',
      (_request, response) =>
        response
          .writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
          .end(gzipSync(JSON.stringify(ANSWER)).subarray(0, 60)),
    ],
    [
      'a compression that was not requested',
      (_request, response) =>
        response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'br' }).end('xx'),
    ],
  ];
  test.each(unreadable)('%s is a retryable error', async (_name, behaviour) => {
    server.behave(behaviour);
    expect(await failure(client().report('current', REQUEST, signal()))).toMatchObject({
      code: 'api.unreadable',
      retryable: true,
      where: 'POST /api/orgs/current/analytics/report/',
    });
  });

  test('a body above the size limit is aborted instead of collected', async () => {
    let sent = 0;
    server.behave((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      const more = () => {
        while (!response.destroyed && sent < 1e9) {
          sent += 65_536;
          if (!response.write('x'.repeat(65_536))) return void response.once('drain', more);
        }
      };
      more();
    });
    const error = await failure(client({ maxBytes: 1_000_000 }).report('current', REQUEST, signal()));
    expect(error).toMatchObject({ code: 'api.unreadable', retryable: false });
    expect(sent).toBeLessThan(100_000_000);
  });

  test('a body that decompresses to more than the size limit is aborted', async () => {
    server.behave((_request, response) =>
      response
        .writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
        .end(gzipSync(Buffer.alloc(5_000_000, 0x20))),
    );
    const error = await failure(client({ maxBytes: 1_000_000 }).report('current', REQUEST, signal()));
    expect(error).toMatchObject({ code: 'api.unreadable', retryable: false });
  });
});

describe('a failure of the network is an error:', () => {
  test('a connection that is reset', async () => {
    server.behave((request) => request.socket.resetAndDestroy());
    expect(await failure(client().report('current', REQUEST, signal()))).toMatchObject({
      code: 'api.unreachable',
      retryable: true,
    });
  });

  test('a connection that ends in the middle of the body', async () => {
    server.behave((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '5000' });
      response.write('{"meta":', () => response.destroy());
    });
    expect((await failure(client().report('current', REQUEST, signal()))).retryable).toBe(true);
  });

  test('a port without a listener', async () => {
    const port = await freePort();
    const error = await failure(client({ baseUrl: `http://127.0.0.1:${port}` }).report('current', REQUEST, signal()));
    expect(error).toMatchObject({ code: 'api.unreachable', got: 'ECONNREFUSED' });
  });

  test('headers that never arrive', async () => {
    server.behave(() => {});
    const error = await failure(client({ timeouts: { total: 80 } }).report('current', REQUEST, signal()));
    expect(error).toMatchObject({ code: 'api.timeout', retryable: true });
  });

  test('a body that never ends, at the deadline', async () => {
    server.behave((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      const drip = setInterval(() => response.write(' '), 5);
      response.once('close', () => clearInterval(drip));
    });
    const error = await failure(client({ timeouts: { total: 120 } }).report('current', REQUEST, signal()));
    expect(error).toMatchObject({ code: 'api.timeout' });
  });

  test('an aborted request, with the reason of the abort', async () => {
    const controller = new AbortController();
    const reason = new Error('the worker stops');
    server.behave(() => controller.abort(reason));
    await expect(client().report('current', REQUEST, controller.signal)).rejects.toBe(reason);
  });
});

describe('errors and untrusted data:', () => {
  const problem = (code: string, more: object = {}) => ({ detail: 'No.', code, correlation_id: 'c-42', ...more });
  test.each([
    [401, 'auth.invalid_credentials', 'api.unauthorized', false, /api_key/],
    [401, 'auth.token_expired', 'api.unauthorized', false, /api_key/],
    [403, 'permission_denied', 'api.forbidden', false, /analytics\.read/],
    [404, 'not_found', 'api.not_found', false, /org/],
    [400, 'odd', 'api.refused', false, /./],
    [422, 'analytics.unknown_metric', 'api.refused', false, /docket check/],
    [408, 'timeout', 'api.unavailable', true, /./],
    [500, 'boom', 'api.unavailable', true, /./],
    [503, 'down', 'api.unavailable', true, /./],
  ])('status %i with code %s becomes an error that says what to do', async (status, code, ours, retryable, next) => {
    server.behave(json(problem(code), status));
    const error = await failure(client().report('current', REQUEST, signal()));
    expect(error).toMatchObject({ code: ours, retryable, correlationId: 'c-42', got: `HTTP ${status} ${code}` });
    expect(error.message).toContain('No.');
    expect(error.next).toMatch(next);
  });

  test('the error of an invalid request names pointer and metadata of every entry', async () => {
    const metadata = { dimension: 'review.age', metrics: ['profiles.created'], allowed: ['profile.type'] };
    server.behave(
      json(
        problem('analytics.incompatible_dimension', {
          errors: [{ pointer: '/dimensions/0', code: 'invalid', detail: 'Does not apply.', metadata }],
        }),
        422,
      ),
    );
    const { message } = await failure(client().report('current', REQUEST, signal()));
    expect(message).toContain('/dimensions/0: Does not apply.');
    expect(message).toContain('"allowed":["profile.type"]');
  });

  test('the error response of a proxy is classified by its status', async () => {
    server.behave((_request, response) => response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad</h1>'));
    expect(await failure(client().report('current', REQUEST, signal()))).toMatchObject({
      code: 'api.unavailable',
      got: 'HTTP 502',
    });
  });

  test.each([301, 400, 401, 403, 404, 408, 422, 429, 500, 503])(
    'a response of status %i that repeats the key becomes an error without it, in any place and encoding',
    async (status) => {
      const { headers, body } = echoingProblem(`Api-Key ${KEY}`, status);
      server.behave((_request, response) => void response.writeHead(status, headers).end(body));
      const error = await failure(client().report('current', REQUEST, signal()));
      expect(encodingsFoundIn(`${JSON.stringify(error)}\n${error.stack}\n${String(error.cause)}`, KEY)).toEqual([]);
      expect(JSON.stringify(error)).toContain('[secret]');
      expect(error.got).toBe(`HTTP ${status}`);
    },
  );

  test('a response with invalid JSON or of another type becomes an error without the key', async () => {
    for (const [type, text] of [
      ['application/json', `{"x": ${KEY}`],
      [`text/${KEY}`, KEY],
      ['application/json', JSON.stringify({ [KEY]: KEY })],
    ] as const) {
      server.behave((_request, response) => void response.writeHead(200, { 'content-type': type }).end(text));
      const error = await failure(client().report('current', REQUEST, signal()));
      expect(error.code).toBe('api.unreadable');
      expect(encodingsFoundIn(`${JSON.stringify(error)} ${error.stack} ${String(error.cause)}`, KEY)).toEqual([]);
    }
  });

  test('a valid response that repeats the key is read without it, and texts that only look like credentials are kept', async () => {
    const page = {
      count: 1,
      next: null,
      previous: null,
      results: [{ id: 1, [KEY]: `${KEY} x`, note: 'Cookie: consent' }],
    };
    server.behave((_request, response) =>
      response
        .writeHead(200, { 'content-type': 'application/json', 'x-correlation-id': KEY })
        .end(JSON.stringify(page).replaceAll('.', '\\u002e')),
    );
    const { records } = await client().listPage({ org: 1, list: 'profiles' }, null, signal());
    expect(records).toEqual([{ id: 1, '[secret]': '[secret] x', note: 'Cookie: consent' }]);
  });

  test.each([
    ['9007199254740993', '9007199254740993'],
    ['-12345678901234567890', '-12345678901234567890'],
    ['18014398509481984', '18014398509481984'],
    ['0.12345678901234567891', '0.12345678901234567891'],
    ['1.00000000000000000001e3', '1.00000000000000000001e3'],
    ['9007199254740991', 9_007_199_254_740_991],
    ['0.1', 0.1],
    ['0.10000000000000000', 0.1],
    ['-0.1234567890123456', -0.123_456_789_012_345_6],
    ['1e22', 1e22],
    ['"\\"9007199254740993, 1"', '"9007199254740993, 1'],
  ])('a number %s in a field of a list keeps all its digits', async (written, value) => {
    server.behave((_request, response) =>
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(`{"count": 1, "next": null, "results": [{"id": 1, "external": ${written}, "list": [${written}]}]}`),
    );
    const { records } = await client().listPage({ org: 1, list: 'profiles' }, null, signal());
    expect(records[0]?.external).toEqual(value);
  });

  test('keeping digits does not make invalid JSON valid', async () => {
    for (const broken of [
      '01234567890123456789',
      '12345678901234567890.',
      '1234567890123456789012e',
      '+12345678901234567890',
    ]) {
      server.behave((_request, response) =>
        response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(`{"count": 1, "next": null, "results": [{"id": 1, "external": ${broken}}]}`),
      );
      expect((await failure(client().listPage({ org: 1, list: 'profiles' }, null, signal()))).code).toBe(
        'api.unreadable',
      );
    }
  });

  test('an error response cannot smuggle control characters into a terminal', async () => {
    server.behave(json({ detail: 'a\u001b[2Jb\nc', code: 'x\u001b[31m\n', correlation_id: 'c\u009b2J' }, 422));
    const error = await failure(client().report('current', REQUEST, signal()));
    expect(error.message).toMatch(/a +\[2Jb c$/);
    expect(error).toMatchObject({ got: 'HTTP 422', correlationId: 'c 2J' });
  });

  test('an error response cannot fill a log with its code or correlation ID', async () => {
    server.behave(json({ code: 'x'.repeat(300), correlation_id: 'y'.repeat(300) }, 422));
    const { got, correlationId } = await failure(client().report('current', REQUEST, signal()));
    expect(got).toBe('HTTP 422');
    expect(correlationId).toBe(`${'y'.repeat(100)}…`);
  });

  test('the error of a response with one invalid field still shows the others', async () => {
    server.behave(json(problem('validation.failed', { errors: { metrics: ['unknown'] } }), 422));
    const error = await failure(client().report('current', REQUEST, signal()));
    expect(error).toMatchObject({ got: 'HTTP 422 validation.failed', correlationId: 'c-42' });
    expect(error.message).toContain('No.');
  });

  test('an error has the correlation ID of the header if the body has none', async () => {
    server.behave(json({ detail: 'No.', correlation_id: 7 }, 500, { 'x-correlation-id': 'h-1' }));
    expect((await failure(client().report('current', REQUEST, signal()))).correlationId).toBe('h-1');
  });

  test('the error of status 429 says how long to wait, if the service does', async () => {
    server.behave(json(problem('rate.throttled'), 429, { 'retry-after': '17' }));
    expect(await failure(client().report('current', REQUEST, signal()))).toMatchObject({
      code: 'api.throttled',
      retryAfterMs: 17_000,
    });
    server.behave(json(problem('rate.throttled'), 429));
    expect((await failure(client().report('current', REQUEST, signal()))).retryAfterMs).toBe(undefined);
  });
});

test.each(['two\nlines', 'a b', 'ключ', ''])('an impossible API key is refused before any call: %j', (key) => {
  expect(() => createClient({ baseUrl: server.url, key: new Secret(key) })).toThrow(
    expect.objectContaining({ code: 'config.invalid' }),
  );
});

describe('the API key is sent only to the configured service:', () => {
  test('a redirect is not followed', async () => {
    const other = await hostileServer();
    other.behave(json(ANSWER));
    for (const status of [301, 302, 303, 307, 308]) {
      server.behave((_request, response) => response.writeHead(status, { location: `${other.url}/x` }).end());
      expect((await failure(client().report('current', REQUEST, signal()))).code).toBe('api.unsafe');
    }
    expect(other.requests).toEqual([]);
    await other.close();
  });

  const page = (next: string | null, results: object[] = [{ id: 1 }]) => ({ count: 2, next, previous: null, results });
  const query = { org: 7, list: 'profiles' } as const;

  test('a next page of the same list is followed', async () => {
    server.behave(json(page(`${server.url}/api/orgs/7/profiles/?page=2`)));
    const first = await client().listPage(query, null, signal());
    server.behave(json(page(null, [{ id: 2 }])));
    await client().listPage(query, first.next, signal());
    expect(server.requests.map(({ url }) => url)).toEqual(['/api/orgs/7/profiles/', '/api/orgs/7/profiles/?page=2']);
  });

  test.each([
    ['lacks our query', '?page=2'],
    ['has another query', '?page=2&search=other&ordering=name'],
    ['repeats our query', '?page=2&ordering=-id&search=x'],
    ['adds to our query', '?search=x&page_size=9&page=2'],
  ])('a next page whose address %s is requested with our query', async (_name, search) => {
    server.behave(json(page(`${server.url}/api/orgs/7/profiles/${search}`)));
    const own = { ...query, search: 'x', ordering: '-id' } as const;
    const first = await client().listPage(own, null, signal());
    await client().listPage(own, first.next, signal());
    expect(server.requests.map(({ url }) => url)).toEqual([
      '/api/orgs/7/profiles/?ordering=-id&search=x',
      '/api/orgs/7/profiles/?page=2&ordering=-id&search=x',
    ]);
  });

  test.each([
    ['another organization', 'SELF/api/orgs/8/profiles/?page=2'],
    ['another list', 'SELF/api/orgs/7/members/?page=2'],
    ['another list by path traversal', 'SELF/api/orgs/7/profiles/../members/?page=2'],
    ['another host and list', 'http://evil.example/api/orgs/7/members/?page=2'],
    ['another protocol', 'ftp://evil.example/api/orgs/7/profiles/?page=2'],
    ['a host that only starts like ours', 'SELF.evil.example/api/orgs/7/profiles/'],
    ['an invalid URL', 'http://[broken'],
    ['an address without a page', 'SELF/api/orgs/7/profiles/?search=x'],
    ['a page that is no number', 'SELF/api/orgs/7/profiles/?page=last'],
    ['a negative page', 'SELF/api/orgs/7/profiles/?page=-1'],
  ])('a next page at %s is refused', async (_name, next) => {
    const own = next.replace('SELF', server.url);
    server.behave(json(page(own)));
    expect((await failure(client().listPage(query, null, signal()))).code).toBe('api.unsafe');
    expect((await failure(client().listPage(query, own, signal()))).code).toBe('api.unsafe');
    expect(server.requests.length).toBe(1);
  });

  test.each([
    ['another scheme', (port: string) => `https://127.0.0.1:${port}`],
    ['another port', () => 'http://127.0.0.1:1'],
    ['another name', (port: string) => `http://localhost:${port}`],
    ['another host', () => 'http://evil.example'],
    ['an address with user and password', (port: string) => `http://user:word@127.0.0.1:${port}`],
  ])('a next page of the same list at %s is requested at the configured address', async (_name, origin) => {
    const next = `${origin(new URL(server.url).port)}/api/orgs/7/profiles/?page=2`;
    server.behave(json(page(next)));
    const first = await client().listPage(query, null, signal());
    await client().listPage(query, first.next, signal());
    await client().listPage(query, next, signal());
    expect(first.next).toBe('/api/orgs/7/profiles/?page=2');
    expect(server.requests.map(({ url }) => url)).toEqual([
      '/api/orgs/7/profiles/',
      '/api/orgs/7/profiles/?page=2',
      '/api/orgs/7/profiles/?page=2',
    ]);
  });

  test('another server that a next page names gets no request', async () => {
    const other = await hostileServer();
    other.behave(json(page(null)));
    server.behave(json(page(`${other.url}/api/orgs/7/profiles/?page=2`)));
    const { next } = await client().listPage(query, null, signal());
    await client().listPage(query, next, signal());
    expect(server.requests).toHaveLength(2);
    expect(other.requests).toEqual([]);
    await other.close();
  });

  test('a next page is requested below our path prefix, whether or not its address has the prefix', async () => {
    for (const prefix of ['/compliance', '']) {
      server.behave(json(page(`${server.url}${prefix}/api/orgs/7/profiles/?page=2`)));
      const prefixed = client({ baseUrl: `${server.url}/compliance` });
      const { next } = await prefixed.listPage(query, null, signal());
      await prefixed.listPage(query, next, signal());
      expect(server.requests.at(-1)?.url).toBe('/compliance/api/orgs/7/profiles/?page=2');
    }
  });

  test('a search text is sent but never appears in an error', async () => {
    server.behave(json({ detail: 'No.' }, 500));
    const error = await failure(client().listPage({ ...query, search: 'Jane & Søn', ordering: '-id' }, null, signal()));
    expect(server.requests[0]?.url).toBe('/api/orgs/7/profiles/?ordering=-id&search=Jane+%26+S%C3%B8n');
    expect(JSON.stringify(error)).not.toContain('Jane');
  });

  test('a list without an envelope is one page', async () => {
    server.behave(json([{ id: 1, name: 'a' }]));
    expect(await client().listPage(query, null, signal())).toEqual({
      count: null,
      next: null,
      records: [{ id: 1, name: 'a' }],
    });
  });
});

describe('the observer of requests', () => {
  const reported: { endpoint: string; status: string; slow: boolean }[] = [];
  const listening = (more: Partial<ClientOptions> = {}) => {
    reported.length = 0;
    return client({
      onRequestEnd: ({ endpoint, status, ms }) => reported.push({ endpoint, status, slow: ms > 10_000 }),
      ...more,
    });
  };

  test.each([
    [200, ANSWER, '2xx'],
    [200, { nothing: 'of it' }, 'unreadable'],
    [302, {}, '3xx'],
    [404, {}, '4xx'],
    [429, {}, '429'],
    [503, {}, '5xx'],
  ])('gets status %i as %s', async (status, body, expected) => {
    server.behave(json(body, status));
    await listening()
      .report('current', REQUEST, signal())
      .catch(() => {});
    expect(reported).toEqual([{ endpoint: 'report', status: expected, slow: false }]);
  });

  test('gets the reason if there was no response', async () => {
    server.behave(() => {});
    const waiting = listening({ timeouts: { total: 50 } });
    await failure(waiting.organizations(signal()));
    expect(reported).toEqual([{ endpoint: 'organizations', status: 'timeout', slow: false }]);
    const nobody = listening({ baseUrl: `http://127.0.0.1:${await freePort()}` });
    await failure(nobody.listPage({ org: 7, list: 'profiles' }, null, signal()));
    expect(reported).toEqual([{ endpoint: 'list', status: 'unreachable', slow: false }]);
  });

  test('gets nothing for requests that the run itself aborted', async () => {
    server.behave(() => {});
    const stopped = AbortSignal.timeout(30);
    await expect(listening().report('current', REQUEST, stopped)).rejects.toThrow();
    expect(reported).toEqual([]);
  });
});
