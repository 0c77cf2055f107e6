import { readdir } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { secretSource } from '../../../src/base/secrets/secret.ts';
import type { DeliverySpec } from '../../../src/definitions/schema/kinds.ts';
import { destinationGuard } from '../../../src/deliver/destination-guard.ts';
import { targetProbe } from '../../../src/deliver/targets/registry.ts';
import type { S3Spec } from '../../../src/deliver/targets/s3/s3-schema.ts';
import type { SftpSpec } from '../../../src/deliver/targets/sftp/sftp-schema.ts';
import { folderFor, PERIOD } from '../../support/delivery-case.ts';
import { ACCESS_KEY_ID, SECRET_ACCESS_KEY, s3Server } from '../../support/s3-server.ts';
import { SFTP_PASSWORD, SFTP_USER, sftpServer } from '../../support/sftp-server.ts';
import { TLS } from '../../support/tls.ts';

const context = (workingDirectory = '/') => ({
  variables: { period: PERIOD, org: 'acme', report: 'weekly', title: 'Weekly', run: 'doctor' },
  secrets: secretSource({
    KEY_ID: ACCESS_KEY_ID,
    SECRET: SECRET_ACCESS_KEY,
    PASSWORD: SFTP_PASSWORD,
    HOOK: `whsec_${Buffer.alloc(32, 'k').toString('base64')}`,
    WRONG: 'wrong',
  }),
  allowPrivate: true,
  guard: destinationGuard({ id: 'acme' }),
  workingDirectory,
});
const probe = (delivery: DeliverySpec, workingDirectory?: string) =>
  targetProbe(delivery, context(workingDirectory))!.probe();

test('e-mail has no target probe', () => {
  expect(targetProbe({ email: { to: ['a@acme.example'], attach: [] } }, context())).toBeUndefined();
});

test('a directory probe writes to the folder or its nearest parent, and leaves nothing', async () => {
  const root = await folderFor(onTestFinished);
  expect(await probe({ directory: { path: 'out/{{ period.label }}' } }, root)).toBe(`${root} can be written`);
  expect(await readdir(root)).toEqual([]);
  await expect(probe({ directory: { path: '/proc/docket' } })).rejects.toMatchObject({ code: 'deliver.target_failed' });
  await expect(probe({ directory: { path: join('..', 'x') } }, root)).rejects.toMatchObject({
    code: 'deliver.target_refused',
  });
});

test('a bucket probe tests write access and leaves nothing', async () => {
  const server = await s3Server();
  onTestFinished(() => server.close());
  const spec: S3Spec = {
    bucket: server.bucket,
    key: 'acme/{{ file.name }}',
    endpoint: server.url,
    credentials: { access_key_id: { env: 'KEY_ID' }, secret_access_key: { env: 'SECRET' } },
    tags: true,
    overwrite: false,
  };
  expect(await probe({ s3: spec })).toBe('reports lets us write');
  expect(server.requests[0]!.key).toMatch(/^acme\/\.docket-probe-/);
  expect([server.objects.size, server.uploads.size]).toEqual([0, 0]);
  const wrong = { access_key_id: { env: 'KEY_ID' }, secret_access_key: { env: 'WRONG' } };
  // The SDK's error contains the signed request, so it must not be passed on, not even as a cause.
  await expect(probe({ s3: { ...spec, credentials: wrong } })).rejects.not.toHaveProperty('cause');
  await expect(probe({ s3: { ...spec, credentials: wrong } })).rejects.toMatchObject({
    code: 'deliver.target_failed',
    got: expect.stringContaining('SignatureDoesNotMatch'),
  });
  await expect(probe({ s3: { ...spec, bucket: 'other' } })).rejects.toMatchObject({
    got: expect.stringContaining('NoSuchBucket'),
  });
});

test('an SFTP probe tests login and write access, and leaves nothing', async () => {
  const server = await sftpServer();
  onTestFinished(() => server.close());
  const spec: SftpSpec = {
    host: '127.0.0.1',
    port: server.port,
    user: SFTP_USER,
    password: { env: 'PASSWORD' },
    host_key: [server.fingerprint],
    path: 'in',
    mkdir: false,
    overwrite: false,
  };
  expect(await probe({ sftp: spec })).toContain('lets docket in and write to in');
  expect(await probe({ sftp: { ...spec, path: 'in/{{ period.label }}/x', mkdir: true } })).toContain('write to in');
  expect(server.files.size).toBe(0);
  await expect(probe({ sftp: { ...spec, path: 'missing' } })).rejects.toMatchObject({
    got: expect.stringContaining('missing'),
  });
  await expect(probe({ sftp: { ...spec, password: { env: 'WRONG' } } })).rejects.toMatchObject({
    code: 'deliver.target_failed',
  });
  await expect(probe({ sftp: { ...spec, password: { env: 'NOT_SET' } } })).rejects.toMatchObject({
    code: 'config.secret_missing',
  });
});

test('a webhook probe connects and sends no request', async () => {
  let requests = 0;
  const server = createServer({ cert: TLS.cert, key: TLS.key }, () => {
    requests += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const webhook = { url, secret: { env: 'HOOK' }, idempotent: false };
  await expect(probe({ webhook })).rejects.toMatchObject({ got: expect.stringMatching(/self.signed/i) });
  await expect(targetProbe({ webhook }, { ...context(), allowPrivate: false })!.probe()).rejects.toMatchObject({
    code: 'deliver.target_refused',
  });
  await expect(probe({ webhook: { ...webhook, secret: { env: 'WRONG' } } })).rejects.toMatchObject({
    code: 'config.invalid',
  });
  expect(requests).toBe(0);
});
