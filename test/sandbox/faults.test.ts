import { type AddressInfo, createServer } from 'node:net';
import { request as undici } from 'undici';
import { afterEach, describe, expect, it } from 'vitest';
import { Secret } from '../../src/base/secrets/secret.ts';
import { catalogSchema } from '../../src/contract/catalog.ts';
import { type Fault, parseFault, type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/sandbox.ts';
import { manualClock } from '../support/manual-clock.ts';

const open: Sandbox[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((sandbox) => sandbox.close()));
});

async function started(options: SandboxOptions = {}) {
  const sandbox = await startSandbox({ now: Date.parse('2026-04-08T08:30:00Z'), windowMs: 1, ...options });
  open.push(sandbox);
  const key = sandbox.keys.find(({ label }) => label === 'lakeside')!.key;
  const get = (path = '/api/orgs/', init: { headers?: Record<string, string>; signal?: AbortSignal } = {}) =>
    undici(sandbox.url + path, { ...init, headers: { Authorization: `Api-Key ${key}`, ...init.headers } });
  return { sandbox, key, get };
}
const faults = (...texts: string[]): Fault[] => texts.map(parseFault);

describe('faults on demand', () => {
  it('status: answers a server error with an HTML page, as a proxy would', async () => {
    const { get } = await started({ faults: faults('status=502:2', 'status=500:1') });
    const got: [number, unknown, string][] = [];
    for (let nth = 0; nth < 4; nth++) {
      const { statusCode, headers, body } = await get();
      got.push([statusCode, headers['content-type'], (await body.text()).slice(0, 6)]);
    }
    expect(got[0]).toEqual([502, 'text/html', '<html>']);
    expect(got[3]?.[0]).toBe(200);
    expect(got.map(([status]) => status).sort()).toContain(502);
  });

  it('throttle: answers 429 with the requested Retry-After', async () => {
    const { get } = await started({ faults: faults('throttle=7:3') });
    for (let nth = 0; nth < 3; nth++) {
      const { statusCode, headers, body } = await get();
      expect([statusCode, headers['retry-after']]).toEqual([429, '7']);
      expect(await body.json()).toMatchObject({ code: 'rate.throttled', correlation_id: expect.any(String) });
    }
    const { statusCode, body } = await get();
    await body.dump();
    expect(statusCode).toBe(200);
  });

  it('echo: repeats the key in its refusal', async () => {
    const { get, key } = await started({ faults: faults('echo:1') });
    const { statusCode, body } = await get();
    expect(statusCode).toBe(503);
    expect(await body.text()).toContain(key);
  });

  it('reset: resets the connection without a response', async () => {
    const { sandbox, get } = await started({ faults: faults('reset:1') });
    await expect(get()).rejects.toMatchObject({ code: expect.stringMatching(/ECONNRESET|UND_ERR_SOCKET/) });
    expect(sandbox.requests()).toMatchObject([{ status: 0 }]);
  });

  it('hang: does not answer until the client gives up', async () => {
    const { sandbox, get } = await started({ faults: faults('hang:1') });
    const giveUp = new AbortController();
    const requested = get('/api/orgs/', { signal: giveUp.signal });
    const served = await get('/api/orgs/103/profiles/');
    await served.body.dump();
    expect(sandbox.requests().map(({ path }) => path)).toEqual(['/api/orgs/103/profiles/']);
    giveUp.abort();
    await expect(requested).rejects.toThrow();
  });

  it('hang: does not keep the sandbox from closing', async () => {
    const { sandbox, get } = await started({ faults: faults('hang') });
    const requested = get();
    const failed = expect(requested).rejects.toThrow();
    await new Promise<void>((resolve) => setImmediate(resolve));
    await sandbox.close();
    open.length = 0;
    await failed;
  });

  it('truncate: ends the body in the middle', async () => {
    const { sandbox, get } = await started({ faults: faults('truncate:1') });
    const { statusCode, headers, body } = await get('/api/orgs/103/profiles/');
    expect(statusCode).toBe(200);
    expect(Number(headers['content-length'])).toBeGreaterThan(1000);
    await expect(body.text()).rejects.toThrow();
    expect(sandbox.requests()).toMatchObject([{ status: 0 }]);
  });

  it('old-catalog: lists fewer groups than there are, and changes nothing else', async () => {
    const { sandbox, get } = await started({ faults: faults('old-catalog=1:1') });
    const read = async (path: string) => (await get(path)).body.json();
    const groupsIn = (catalog: unknown) =>
      catalogSchema
        .parse(catalog)
        .dimensions.find(({ id }) => id === 'profile.group')
        ?.values.map(({ value }) => value);
    // Only a request for a catalog uses up the fault.
    await read('/api/orgs/');
    const old = await read('/api/orgs/current/analytics/metrics/');
    const now = await read('/api/orgs/current/analytics/metrics/');
    expect(groupsIn(old)).toEqual(['Private Clients']);
    expect(groupsIn(now)).toEqual(['Private Clients', 'Foundations']);
    const others = (catalog: unknown) => ({ ...catalogSchema.parse(catalog), dimensions: [] });
    expect(others(old)).toEqual(others(now));
    sandbox.setFaults(faults('old-catalog=9'));
    expect(groupsIn(await read('/api/orgs/current/analytics/metrics/'))).toEqual([]);
    const packed = await get('/api/orgs/current/analytics/metrics/', { headers: { 'Accept-Encoding': 'gzip' } });
    expect([packed.statusCode, groupsIn(await packed.body.json())]).toEqual([200, []]);
  });

  it('content-type: answers an HTML page with status 200', async () => {
    const { get } = await started({ faults: faults('content-type:1') });
    const { statusCode, headers, body } = await get();
    expect([statusCode, headers['content-type']]).toEqual([200, 'text/html']);
    expect(await body.text()).toContain('<html>');
  });

  it('latency: delays the response by the clock of the sandbox', async () => {
    const clock = manualClock(Date.parse('2026-04-08T08:30:00Z'));
    const { get } = await started({ clock, faults: faults('latency=900') });
    let answered = false;
    const requested = get().then(async ({ statusCode, body }) => {
      answered = true;
      await body.dump();
      return statusCode;
    });
    await clock.slept();
    clock.advance(899);
    expect(answered).toBe(false);
    clock.advance(1);
    expect(await requested).toBe(200);
  });

  it('clock: shifts the Date header and as_of by the given seconds', async () => {
    const { sandbox, key } = await started({ faults: faults('clock=-7200') });
    const { headers, body } = await undici(`${sandbox.url}/api/orgs/current/analytics/report/`, {
      method: 'POST',
      headers: { Authorization: `Api-Key ${key}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ metrics: ['rfis.sent'] }),
    });
    expect(await body.json()).toMatchObject({ meta: { as_of: '2026-04-08T06:30:00.000Z' } });
    const wrongBy = (Date.now() - Date.parse(String(headers.date))) / 1000;
    expect(Math.round(wrongBy / 60)).toBe(120);
  });

  it('probability: applies a fault about that often, and repeats it for the same seed', async () => {
    const run = async (seed: number) => {
      const { get } = await started({ seed, faults: faults('status=503:0.3') });
      const got: number[] = [];
      for (let nth = 0; nth < 200; nth++) {
        const { statusCode, body } = await get('/');
        await body.dump();
        got.push(statusCode);
      }
      return got;
    };
    const first = await run(4);
    const hit = first.filter((status) => status === 503).length;
    expect(hit).toBeGreaterThan(30);
    expect(hit).toBeLessThan(90);
    expect(await run(4)).toEqual(first);
  });

  it('path: applies a fault only to requests to that path', async () => {
    const { get } = await started({ faults: faults('status=500@/profiles/') });
    const ask = async (path: string) => {
      const { statusCode, body } = await get(path);
      await body.dump();
      return statusCode;
    };
    expect(await ask('/api/orgs/')).toBe(200);
    expect(await ask('/api/orgs/103/profiles/')).toBe(500);
  });

  it('can be changed while the sandbox runs', async () => {
    const { sandbox, get } = await started();
    sandbox.setFaults(faults('status=500:1'));
    const first = await get();
    await first.body.dump();
    sandbox.setFaults([]);
    const second = await get();
    await second.body.dump();
    expect([first.statusCode, second.statusCode]).toEqual([500, 200]);
  });
});

describe('parseFault', () => {
  it.each<[string, Fault]>([
    ['reset', { kind: 'reset' }],
    ['reset:0.1', { kind: 'reset', probability: 0.1 }],
    ['status=502:3', { kind: 'status', value: 502, count: 3 }],
    ['latency=800@/analytics/report/', { kind: 'latency', value: 800, path: '/analytics/report/' }],
    ['throttle=30:1.0@/report', { kind: 'throttle', value: 30, probability: 1, path: '/report' }],
    ['old-catalog=2:3', { kind: 'old-catalog', value: 2, count: 3 }],
    ['clock=-90', { kind: 'clock', value: -90 }],
    ['history=5', { kind: 'history', value: 5 }],
  ])('reads %s', (text, fault) => {
    expect(parseFault(text)).toEqual(fault);
  });

  it.each([
    '',
    'flood',
    'reset=3',
    'status=404',
    'status=abc',
    'latency=-5',
    'reset:1.5',
    'clock=3:2',
    'history=-5',
    'history=5:1',
    'reset:x',
    'hang:0.1:3',
  ])('refuses %j and says what it expects', (text) => {
    expect(() => parseFault(text)).toThrow(
      expect.objectContaining({ code: 'usage.invalid', where: '--fault', expected: expect.any(String) }),
    );
  });
});

describe('a running sandbox', () => {
  it('reports its address, its organizations and its keys', async () => {
    const { sandbox } = await started();
    expect(sandbox.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(sandbox.organizations.map(({ name }) => name)).toContain('Acme Payments');
    for (const { key, label, organizations } of sandbox.keys) {
      const { statusCode, body } = await undici(`${sandbox.url}/api/orgs/`, {
        headers: { Authorization: `Api-Key ${key}` },
      });
      if (statusCode !== 200) {
        await body.dump();
        expect(['metrics', 'expired', 'revoked']).toContain(label);
        continue;
      }
      const reached = (await body.json()) as { id: number; url: string }[];
      expect(reached.map(({ id }) => id)).toEqual(organizations);
      for (const { url } of reached) expect(url.startsWith(`${sandbox.url}/`)).toBe(true);
    }
  });

  it('records each request with the fingerprint of its key, and never the key', async () => {
    const { sandbox, key, get } = await started();
    await (await get('/api/orgs/103/profiles/?page=2')).body.dump();
    await (await undici(`${sandbox.url}/api/orgs/`)).body.dump();
    expect(sandbox.requests()).toMatchObject([
      { key: new Secret(key).fingerprint(), method: 'GET', path: '/api/orgs/103/profiles/?page=2', status: 200 },
      { key: null, method: 'GET', path: '/api/orgs/', status: 401 },
    ]);
    expect(JSON.stringify(sandbox.requests())).not.toContain(key);
  });

  it('compresses a response for a client that accepts it', async () => {
    const { get } = await started();
    const plain = await get('/api/orgs/103/profiles/');
    const packed = await get('/api/orgs/103/profiles/', { headers: { 'Accept-Encoding': 'gzip' } });
    expect(plain.headers['content-encoding']).toBeUndefined();
    expect(packed.headers['content-encoding']).toBe('gzip');
    const [text, bytes] = [await plain.body.text(), await packed.body.arrayBuffer()];
    expect(bytes.byteLength).toBeLessThan(text.length / 2);
  });

  it('refuses to start on a port that is taken, and names the port', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => taken.once('listening', resolve));
    const { port } = taken.address() as AddressInfo;
    await expect(startSandbox({ port })).rejects.toMatchObject({
      code: 'usage.invalid',
      message: expect.stringContaining(String(port)),
    });
    taken.close();
  });
});
