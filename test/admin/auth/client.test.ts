import fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { addressBlock, identifyClient, isLoopbackHost } from '../../../src/admin/auth/client.ts';
import { NO_ADDRESSES, parseAddressList } from '../../../src/base/net/address-list.ts';
import { createToken, openAuthApp } from '../../support/authenticated-app.ts';
import { randomPrefix } from '../../support/queue-harness.ts';

const proxies = parseAddressList('10.0.0.0/8, ::1');
if (!('has' in proxies)) throw new Error('no list');

const readClient = (remote: string, headers: Readonly<Record<string, string>>, trusted = proxies) =>
  identifyClient({ remote, header: (name) => headers[name] }, trusted);

describe('the client of a request', () => {
  it.each([
    ['is the address that the proxy names', '10.0.0.1', '192.0.2.1', '192.0.2.1'],
    ['is the last address, since anybody can write the earlier ones', '10.0.0.1', '127.0.0.1, 192.0.2.1', '192.0.2.1'],
    ['is found behind two proxies', '10.0.0.1', '203.0.113.9, 192.0.2.1, 10.2.3.4', '192.0.2.1'],
    ['is the first proxy when there are only proxies', '10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
    ['is the proxy when nothing was forwarded', '10.0.0.1', '', '10.0.0.1'],
    ['is the proxy when the forwarded text is not an address', '10.0.0.1', '192.0.2.1, unknown', '10.0.0.1'],
    ['is named without its port', '10.0.0.1', '192.0.2.1:5555', '192.0.2.1'],
    ['can have an IPv6 address', '::1', '2001:DB8::7', '2001:db8::7'],
    ['can have an IPv6 address in brackets', '::1', '[2001:db8::7]:443', '2001:db8::7'],
    ['can have an IPv4 address inside IPv6', '::ffff:10.0.0.1', '::ffff:192.0.2.1', '192.0.2.1'],
    ['is the connection itself when it is not a trusted proxy', '192.0.2.66', '192.0.2.1', '192.0.2.66'],
  ])('%s', (_, remote, forwarded, address) => {
    expect(readClient(remote, { 'x-forwarded-for': forwarded }).address).toBe(address);
  });

  it('uses TLS only when the nearest trusted proxy says so', () => {
    const secure = (remote: string, proto: string) => readClient(remote, { 'x-forwarded-proto': proto }).secure;
    expect(secure('10.0.0.1', 'https')).toBe(true);
    expect(secure('10.0.0.1', 'https, http')).toBe(false);
    expect(secure('10.0.0.1', '')).toBe(false);
    expect(secure('192.0.2.1', 'https')).toBe(false);
    expect(readClient('10.0.0.1', { 'x-forwarded-proto': 'https' }, NO_ADDRESSES).secure).toBe(false);
  });

  it('is always the connection itself without a trusted proxy, whatever headers it sends', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.string(), (a, b, c) => {
        const headers = { 'x-forwarded-for': a, 'x-forwarded-proto': b, 'x-forwarded-host': c, host: 'here' };
        expect(readClient('192.0.2.1', headers)).toEqual({ address: '192.0.2.1', secure: false, host: 'here' });
      }),
    );
  });

  it('cannot choose its address behind a trusted proxy', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.ipV4(), fc.ipV6(), fc.string())), (forged) => {
        const forwarded = [...forged, '192.0.2.1'].join(',');
        expect(readClient('10.0.0.1', { 'x-forwarded-for': forwarded }).address).toBe('192.0.2.1');
      }),
    );
  });

  it.each([
    ['192.0.2.1', '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
    ['2001:db8:1:2::9', '2001:db8:1:2'],
    ['2001:db8::9', '2001:db8:0:0'],
    ['::1', '0:0:0:0'],
    ['unknown', 'unknown'],
  ])('with the address %s is counted as %s', (address, sender) => {
    expect(addressBlock(address)).toBe(sender);
  });

  it.each([
    ['localhost', true],
    ['localhost:8787', true],
    ['127.0.0.1:8787', true],
    ['[::1]:8787', true],
    ['a.localhost', true],
    ['localhost.evil.example', false],
    ['127.0.0.1.evil.example', false],
    ['192.0.2.1', false],
    ['', false],
  ])('that names the host %s is on this machine: %s', (host, is) => {
    expect(isLoopbackHost(host)).toBe(is);
  });
});

describe('a host', () => {
  const ann = createToken('ann');
  let redis: Redis;
  let authApp: ReturnType<typeof openAuthApp>;
  beforeAll(() => {
    redis = new Redis(inject('redisUrl'));
    authApp = openAuthApp(
      { redis, prefix: randomPrefix() },
      { entries: () => [ann.entry], names: ['docket.example.com'] },
    );
  });
  afterAll(() => redis.quit());
  const get = (path: string, headers: Readonly<Record<string, string>>) => authApp.app.request(path, { headers });

  it.each(['localhost:8787', '127.0.0.1', '[::1]:8787', '192.0.2.4', 'docket.example.com', 'DOCKET.example.com:443'])(
    'that belongs to Docket is served: %s',
    async (host) => {
      expect((await get('/page', { host })).status).toBe(303);
    },
  );

  it.each(['evil.example', 'localhost.evil.example', 'docket.example.com.evil.example', '127.0.0.1.evil.example:8787'])(
    'that was rebound to our address gets 421: %s',
    async (host) => {
      for (const path of ['/page', '/sign-in', '/api/thing', '/nowhere']) {
        const response = await get(path, { host });
        expect(response.status).toBe(421);
        expect(await response.json()).toMatchObject({ code: 'request.misdirected' });
      }
    },
  );

  it('can be any name for probes and for clients with a token', async () => {
    const host = 'docket-7c4.internal';
    expect((await get('/healthz', { host })).status).toBe(200);
    expect((await get('/api/thing', { host, authorization: `Bearer ${ann.token}` })).status).toBe(200);
  });
});
