import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import S3rver from 's3rver';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { secretSource } from '../../src/base/secrets/secret.ts';
import { deliver } from '../../src/deliver/deliver.ts';
import type { S3Spec } from '../../src/deliver/targets/s3/s3-schema.ts';
import { definitionWith, folderFor, ORDER, SETTINGS, sealedRun } from '../support/delivery-case.ts';
import { memoryLedger } from '../support/memory-ledger.ts';

/** An S3 server by others, which ignores the condition of a PUT. */
async function store() {
  const directory = await folderFor(onTestFinished);
  const server = new S3rver({
    port: 0,
    address: '127.0.0.1',
    silent: true,
    directory,
    configureBuckets: [{ name: 'reports', configs: [] }],
  });
  const { port } = await server.run();
  onTestFinished(() => server.close());
  return {
    url: `http://127.0.0.1:${port}`,
    held: (key: string) => readFile(join(directory, 'reports', `${key}._S3rver_object`)),
  };
}

const big = Buffer.alloc(20 * 1024 * 1024, 'abcdefghijklmnopqrstuvwxyz0123456789');
const FILES = { 'KPIs Zürich (1).xlsx': big, 'queue.csv': 'alerts\r\n3\r\n' };

test('an S3 server by others gets complete files, confirms existing ones, and keeps other content', async () => {
  const { url, held } = await store();
  const spec: S3Spec = {
    bucket: 'reports',
    key: '{{ org }}/{{ period.from }}/{{ file.name }}',
    endpoint: url,
    credentials: { access_key_id: { env: 'ID' }, secret_access_key: { env: 'SECRET' } },
    tags: true,
    overwrite: false,
  };
  /** Delivers the run with a worker that knows nothing of earlier ones: neither their ledger nor their archive. */
  const once = async (change: Partial<S3Spec> = {}, files: Record<string, string | Uint8Array> = FILES) => {
    const fresh = await sealedRun(await folderFor(onTestFinished), files);
    const { receipts } = await deliver({
      ...fresh,
      order: ORDER,
      definition: definitionWith([{ s3: { ...spec, ...change } }]),
      settings: SETTINGS,
      secrets: secretSource({ ID: 'S3RVER', SECRET: 'S3RVER' }),
      mail: undefined,
      ledger: memoryLedger(),
      clock: systemClock,
      signal: new AbortController().signal,
      observe: () => {},
    });
    return receipts[0]!;
  };

  expect(await once()).toMatchObject({ state: 'sent', detail: '2 objects' });
  expect((await held('acme/2026-11-09/KPIs Zürich (1).xlsx')).equals(big)).toBe(true);
  expect((await held('acme/2026-11-09/queue.csv')).toString()).toBe('alerts\r\n3\r\n');
  expect(await once()).toMatchObject({ state: 'sent', detail: '2 objects, 2 there already' });

  const other = { ...FILES, 'queue.csv': 'other' };
  expect(await once({}, other)).toMatchObject({ state: 'refused', detail: expect.stringContaining('other content') });
  expect((await held('acme/2026-11-09/queue.csv')).toString()).toBe('alerts\r\n3\r\n');
  expect(await once({ overwrite: true }, other)).toMatchObject({ state: 'sent' });
  expect((await held('acme/2026-11-09/queue.csv')).toString()).toBe('other');
  expect(await once({ bucket: 'missing' })).toMatchObject({
    state: 'pending',
    detail: expect.stringContaining('NoSuchBucket'),
  });
});
