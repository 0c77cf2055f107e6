import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { findProxyBy } from '../../../src/base/net/proxies.ts';
import { secretSource } from '../../../src/base/secrets/secret.ts';
import { boundedFetch } from '../../../src/features/accounts/provider-fetch.ts';
import { httpProxy } from '../../support/http-proxy.ts';

test('requests to the sign-in provider go through the proxy', async () => {
  const provider = createServer((_, response) => response.writeHead(200, { 'x-of': 'provider' }).end('{}'));
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void provider.close());
  const proxy = await httpProxy(() => (provider.address() as AddressInfo).port);
  onTestFinished(proxy.close);
  const fetch = boundedFetch(undefined, findProxyBy({ HTTP_PROXY: proxy.url }, secretSource({})));
  const response = await fetch('http://id.docket.test/keys', { method: 'GET', headers: {}, redirect: 'manual' });
  expect([response.status, response.headers.get('x-of'), await response.text()]).toEqual([200, 'provider', '{}']);
  expect(proxy.tunnels).toMatchObject([{ authority: 'id.docket.test:80' }]);
});
