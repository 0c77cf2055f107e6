import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type LocalRedis, localRedis } from '../../src/demo/local-redis.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { archiveUrl, STORE_ENV } from '../support/archives.ts';
import { docket } from '../support/docket.ts';
import { httpProxy, type TestProxy } from '../support/http-proxy.ts';
import { type S3Server, s3Server } from '../support/s3-server.ts';
import { NAMED_TLS } from '../support/tls.ts';

const PASSWORD = 'docket:behind-the-wall';
const ORG = `org: current
api_key: { env: ACME_KEY }
timezone: UTC
recipients: { domains: [acme.example] }
`;
const REPORT = `version: 1
title: Daily
owner: ops@acme.example
period: previous_week
sections:
  - { id: created, metrics: [profiles.created] }
outputs:
  - { format: csv }
deliveries:
  - s3:
      bucket: reports
      key: "{{ run }}/{{ file.name }}"
      endpoint: http://store.docket.test
      credentials: { access_key_id: { env: KEY_ID }, secret_access_key: { env: KEY } }
  - webhook: { url: "https://hooks.docket.test/reports", secret: { env: HOOK_SECRET } }
`;

let folder: string;
let sandbox: Sandbox;
let store: S3Server;
let redis: LocalRedis;
let proxy: TestProxy;
let env: Record<string, string>;
const posts: string[] = [];
const hooks = createServer(NAMED_TLS, (request, response) => {
  posts.push(`${request.method} ${request.url}`);
  request.resume().on('end', () => response.writeHead(204).end());
});

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'docket-proxy-'));
  [sandbox, store, redis] = await Promise.all([startSandbox(), s3Server(), localRedis({ PATH: process.env.PATH })]);
  await new Promise<void>((resolve) => hooks.listen(0, '127.0.0.1', resolve));
  const ports: Readonly<Record<string, number>> = {
    'api.docket.test': Number(new URL(sandbox.url).port),
    'store.docket.test': Number(new URL(store.url).port),
    'hooks.docket.test': (hooks.address() as AddressInfo).port,
  };
  proxy = await httpProxy((host) => ports[host] ?? 1, { credentials: PASSWORD });
  await mkdir(join(folder, 'jobs', 'acme'), { recursive: true });
  await writeFile(join(folder, 'jobs', 'acme', 'org.yaml'), ORG);
  await writeFile(join(folder, 'jobs', 'acme', 'daily.yaml'), REPORT);
  await writeFile(join(folder, 'ca.pem'), NAMED_TLS.cert);
  env = {
    ...STORE_ENV,
    KEY_ID: STORE_ENV.ARCHIVE_ID,
    KEY: STORE_ENV.ARCHIVE_SECRET,
    HOOK_SECRET: `whsec_${Buffer.alloc(32, 1).toString('base64')}`,
    COMPLIANCE_API_URL: 'http://api.docket.test',
    ACME_KEY: sandbox.keys.find(({ label }) => label === 'acme')?.key ?? '',
    REDIS_URL: redis.url,
    DOCKET_JOBS: join(folder, 'jobs'),
    DOCKET_ARCHIVE: archiveUrl(store, join(folder, 'staging')).replace(/127\.0\.0\.1:\d+/, 'store.docket.test'),
    NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem'),
    HTTPS_PROXY: proxy.url,
    HTTP_PROXY: proxy.url,
    PROXY_PASSWORD: PASSWORD,
    DOCKET_PROXY_CREDENTIALS: 'env:PROXY_PASSWORD',
  };
});
afterAll(async () => {
  hooks.closeAllConnections();
  hooks.close();
  await Promise.all([sandbox.close(), store.close(), redis.close(), proxy.close()]);
  await rm(folder, { recursive: true, force: true });
});

const listRequestedHosts = () => [...new Set(proxy.tunnels.map(({ authority }) => authority))].sort();

test('a run reaches the service, the archive and its targets only through the proxy', async () => {
  const { code, stdout, stderr } = await docket(['run', 'acme/daily', '--json'], { env, cwd: folder });
  expect(code, stdout + stderr).toBe(0);
  expect(listRequestedHosts()).toEqual(['api.docket.test:80', 'hooks.docket.test:443', 'store.docket.test:80']);
  expect(proxy.tunnels.every(({ credentials }) => credentials === PASSWORD)).toBe(true);
  expect(posts).toEqual(['POST /reports']);
  expect([...store.objects.keys()].some((key) => key.endsWith('.csv'))).toBe(true);
  expect(stdout + stderr).not.toContain('behind-the-wall');
});

test('docket doctor shows which connections use the proxy, and what to do if the proxy refuses', async () => {
  const args = ['doctor', '--json'];
  const collector = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318', OTEL_SDK_DISABLED: 'true' };
  const fine = await docket(args, { env: { ...env, ...collector }, cwd: folder });
  for (const host of ['http://api.docket.test', 'hooks.docket.test']) {
    expect(fine.stdout).toMatch(new RegExp(`${host} [^"]*through the proxy ${proxy.url}`));
  }
  const found: { what: string; detail: string }[] = JSON.parse(fine.stdout).findings;
  expect(found.find(({ what }) => what.startsWith('S3 '))?.detail).toContain(proxy.url);
  expect(found.find(({ what }) => what === 'Proxy')?.detail).toBe(
    [
      `http://api.docket.test through the proxy ${proxy.url}`,
      `http://store.docket.test through the proxy ${proxy.url}`,
      'http://127.0.0.1:4318 directly',
    ].join('; '),
  );
  const wrong = await docket(args, { env: { ...env, PROXY_PASSWORD: 'docket:wrong-password' }, cwd: folder });
  expect(wrong.code).not.toBe(0);
  expect(wrong.stdout).toMatch(/api\.docket\.test:80: it answered 407/);
  expect(wrong.stdout).toContain('DOCKET_PROXY_CREDENTIALS');
});

test('hosts of NO_PROXY are connected to directly', async () => {
  const before = proxy.tunnels.length;
  const { stdout } = await docket(['doctor', '--json'], { env: { ...env, NO_PROXY: '.docket.test' }, cwd: folder });
  expect(proxy.tunnels).toHaveLength(before);
  expect(stdout).toContain('api.docket.test is not known to DNS');
});
