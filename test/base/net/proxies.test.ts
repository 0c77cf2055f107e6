import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { Agent, request } from 'undici';
import { describe, expect, onTestFinished, test } from 'vitest';
import { readConfig } from '../../../src/base/config/config.ts';
import { proxiedConnector } from '../../../src/base/net/proxied-connector.ts';
import { findProxyBy, type ProxySettings, proxyDiagnostics } from '../../../src/base/net/proxies.ts';
import { createRedactor } from '../../../src/base/secrets/redactor.ts';
import { Secret, secretSource } from '../../../src/base/secrets/secret.ts';
import { accessTokens } from '../../../src/deliver/targets/email/smtp/oauth2.ts';
import { httpProxy } from '../../support/http-proxy.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { NAMED_TLS } from '../../support/tls.ts';

const BOTH = { HTTPS_PROXY: 'http://secure.proxy.test:3128', HTTP_PROXY: 'plain.proxy.test:8080' };
const wayTo = (url: string, settings: ProxySettings = BOTH): string =>
  findProxyBy(settings, secretSource({}))(new URL(url))?.name ?? 'direct';

describe('the proxy of an address', () => {
  test.each([
    ['https://api.example.com/', 'http://secure.proxy.test:3128'],
    ['http://api.example.com/', 'http://plain.proxy.test:8080'],
    ['https://10.1.2.3/', 'http://secure.proxy.test:3128'],
    ['https://localhost/', 'direct'],
    ['https://127.9.9.9:9000/', 'direct'],
    ['https://[::1]:9000/', 'direct'],
    ['sftp://files.example.com/', 'direct'],
  ])('%s is reached through %s', (url, way) => {
    expect(wayTo(url)).toBe(way);
  });

  test('the proxy for http is not used for https', () => {
    expect(wayTo('https://api.example.com', { HTTP_PROXY: BOTH.HTTP_PROXY })).toBe('direct');
  });

  test.each([
    ['*', ['https://a.example.com', 'https://10.0.0.1'], []],
    ['example.com', ['https://example.com', 'https://a.EXAMPLE.com:8443'], ['https://notexample.com']],
    ['.example.com, *.example.org', ['https://a.example.com', 'https://b.example.org'], ['https://example.net']],
    ['example.com:8443', ['https://a.example.com:8443'], ['https://a.example.com', 'https://example.com:443']],
    ['example.com:443', ['https://example.com'], ['https://example.com:8443']],
    ['10.0.0.0/8 fd00::/8', ['https://10.2.3.4', 'https://[fd00::1]:9000'], ['https://11.0.0.1', 'https://[fe80::1]']],
    ['192.0.2.7', ['https://192.0.2.7'], ['https://192.0.2.70']],
    ['[2001:db8::1]:9000', ['https://[2001:db8::1]:9000'], ['https://[2001:db8::1]']],
    ['EXAMPLE.com.', ['https://example.com'], []],
  ])('NO_PROXY=%s excludes the named addresses', (NO_PROXY, direct, proxied) => {
    for (const url of direct) expect(wayTo(url, { ...BOTH, NO_PROXY }), url).toBe('direct');
    for (const url of proxied) expect(wayTo(url, { ...BOTH, NO_PROXY }), url).not.toBe('direct');
  });
});

describe('the variables of a proxy', () => {
  test('are preferred in lower case, and count as unset if empty', () => {
    const env = {
      https_proxy: 'http://lower.test',
      HTTPS_PROXY: 'http://upper.test',
      http_proxy: '',
      HTTP_PROXY: 'h.test:1',
    };
    expect(readConfig(env)).toMatchObject({ HTTPS_PROXY: 'http://lower.test', HTTP_PROXY: 'h.test:1' });
  });

  test.each([
    [{ HTTPS_PROXY: 'socks5://proxy.test:1080' }, ['HTTPS_PROXY']],
    [{ HTTPS_PROXY: 'http://' }, ['HTTPS_PROXY']],
    [{ HTTPS_PROXY: 'http://me:100%sure@proxy.test' }, ['HTTPS_PROXY']],
    [{ HTTPS_PROXY: 'http://me:%ff@proxy.test' }, ['HTTPS_PROXY']],
    [{ HTTP_PROXY: 'proxy.test', NO_PROXY: '10.0.0.0/99, <local>, a.example.com' }, ['NO_PROXY', 'NO_PROXY']],
    [{ NO_PROXY: '<local>' }, []],
    [{ HTTPS_PROXY: 'user:pass@proxy.test:3128' }, []],
  ])('with the values %j have errors in %j', (values, names) => {
    expect(proxyDiagnostics(values).map((line) => line.split(':')[0])).toEqual(names);
  });

  test('have errors that do not show the password of a URL', () => {
    expect(() => readConfig({ HTTPS_PROXY: 'socks5://me:verysecret@proxy.test' })).toThrow(/^(?!.*verysecret)/s);
  });
});

describe('a tunnel through a proxy', () => {
  const serve = async () => {
    const server = createServer(NAMED_TLS, (_, response) => response.end('here'));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.closeAllConnections());
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    return port;
  };
  const getThrough = async (settings: ProxySettings, secrets = secretSource({})) => {
    const options = { timeout: 5_000, ca: NAMED_TLS.cert };
    const dispatcher = new Agent({ connect: proxiedConnector(findProxyBy(settings, secrets), options) });
    try {
      const { body } = await request('https://api.docket.test/', { dispatcher });
      return await body.text();
    } finally {
      await dispatcher.destroy();
    }
  };

  test('carries TLS to a host that only the proxy can resolve', async () => {
    const port = await serve();
    const proxy = await httpProxy(() => port);
    onTestFinished(proxy.close);
    expect(await getThrough({ HTTPS_PROXY: proxy.url })).toBe('here');
    expect(proxy.tunnels).toEqual([{ authority: 'api.docket.test:443', credentials: undefined }]);
  });

  test('reads the referenced credentials for each connection', async () => {
    const port = await serve();
    const proxy = await httpProxy(() => port, { credentials: 'docket:new-password' });
    onTestFinished(proxy.close);
    const env = { PROXY: 'docket:old-password' };
    const redactor = createRedactor();
    const secrets = secretSource(env, redactor);
    const settings = { HTTPS_PROXY: proxy.url, DOCKET_PROXY_CREDENTIALS: { env: 'PROXY' } };
    await expect(getThrough(settings, secrets)).rejects.toMatchObject({ code: 'PROXY_REFUSED' });
    env.PROXY = 'docket:new-password';
    expect(await getThrough(settings, secrets)).toBe('here');
    expect(redactor.redact('new-password')).toBe('[secret]');
  });

  test('uses user and password of the URL', async () => {
    const port = await serve();
    const proxy = await httpProxy(() => port, { credentials: 'me:p@ss word' });
    onTestFinished(proxy.close);
    expect(await getThrough({ HTTPS_PROXY: proxy.url.replace('//', '//me:p%40ss%20word@') })).toBe('here');
  });

  test.each([
    [403, 'PROXY_REFUSED'],
    [407, 'PROXY_REFUSED'],
    ['close', 'PROXY_UNREACHABLE'],
  ] as const)('fails without sending anything if the proxy answers %s', async (refusal, code) => {
    const proxy = await httpProxy(() => 1);
    onTestFinished(proxy.close);
    proxy.refuseWith = refusal;
    await expect(getThrough({ HTTPS_PROXY: proxy.url })).rejects.toMatchObject({ code });
    expect(proxy.others).toEqual([]);
  });

  test('carries requests to a token server', async () => {
    const port = await serve();
    const proxy = await httpProxy(() => port);
    onTestFinished(proxy.close);
    const findProxy = findProxyBy({ HTTPS_PROXY: proxy.url }, secretSource({}));
    const secret = new Secret('a client secret');
    const client = { tokenUrl: 'https://token.docket.test/', clientId: secret, clientSecret: secret, findProxy };
    const tokens = accessTokens(
      { ...client, refreshToken: undefined, scope: undefined, redactor: createRedactor() },
      manualClock(0),
    );
    // The client does not trust the certificate of the test. The tunnel itself worked.
    await expect(tokens({ renew: false })).rejects.toMatchObject({
      code: 'deliver.target_failed',
      next: expect.stringContaining('smtp.oauth2'),
    });
    proxy.refuseWith = 407;
    await expect(tokens({ renew: true })).rejects.toMatchObject({
      next: expect.stringContaining('DOCKET_PROXY_CREDENTIALS'),
    });
    const authority = 'token.docket.test:443';
    expect(proxy.tunnels).toMatchObject([{ authority }, { authority }]);
  });
});
