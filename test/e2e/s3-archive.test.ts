import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import S3rver from 's3rver';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { parseArchiveUrl } from '../../src/base/config/archive-url.ts';
import { silentLog } from '../../src/base/log.ts';
import { secretSource } from '../../src/base/secrets/secret.ts';
import { createArchive } from '../../src/deliver/archive/create-archive.ts';
import { exportRun } from '../../src/deliver/archive/export.ts';
import { applyRetention } from '../../src/deliver/archive/retention.ts';
import type { StoredRun } from '../../src/deliver/archive/storage/archive-storage.ts';
import { s3Storage } from '../../src/deliver/archive/storage/s3-storage.ts';
import { runProblems } from '../../src/deliver/archive/verify/verify-run.ts';
import { folderFor, ORDER, RUN, sealedRun } from '../support/delivery-case.ts';
import { memoryLedger } from '../support/memory-ledger.ts';

/** An S3 server by others, which ignores the condition of a PUT. */
async function store() {
  const server = new S3rver({
    port: 0,
    address: '127.0.0.1',
    silent: true,
    directory: await folderFor(onTestFinished),
    configureBuckets: [{ name: 'reports', configs: [] }],
  });
  const { port } = await server.run();
  onTestFinished(() => server.close());
  return `s3://reports/docket?endpoint=http://127.0.0.1:${port}&access_key_id=env:ID&secret_access_key=env:SECRET`;
}

async function machine(url: string) {
  const place = parseArchiveUrl(`${url}&staging=${await folderFor(onTestFinished)}/staging`);
  if (!('kind' in place) || place.kind !== 's3') throw new Error(JSON.stringify(place));
  const storage = s3Storage(place, secretSource({ ID: 'S3RVER', SECRET: 'S3RVER' }));
  onTestFinished(() => storage.close());
  return { storage, archive: createArchive(storage, systemClock) };
}

/** Lists the runs instead of looking one up by id, because this server does not list folders below folders. */
async function runsOf({ storage }: Awaited<ReturnType<typeof machine>>): Promise<StoredRun[]> {
  const runs: StoredRun[] = [];
  for await (const run of storage.listRuns()) runs.push(run);
  return runs;
}

const DELIVERY = 'a'.repeat(32);
const big = Buffer.alloc(20 * 1024 * 1024, 'abcdefghijklmnopqrstuvwxyz0123456789');
const FILES = { 'KPIs Zürich (1).xlsx': big, 'queue.csv': 'alerts\r\n3\r\n' };

test('an S3 server by others keeps complete runs for all machines, serves links, and supports retention', async () => {
  const url = await store();
  const [one, other] = [await machine(url), await machine(url)];
  const root = await folderFor(onTestFinished);
  expect(await one.archive.find(ORDER)).toBeUndefined();
  const { published: sealed } = await sealedRun(root, FILES, one.archive);
  await one.archive.putMessage(sealed, DELIVERY, Buffer.from('Subject: a\r\n\r\nb'));
  await one.archive.putAttempt(sealed, { delivery: DELIVERY, epoch: 1, state: 'sending', detail: null, at: 1 });
  await one.archive.putAttempt(sealed, { delivery: DELIVERY, epoch: 1, state: 'sent', detail: '250', at: 2 });
  await one.archive.putReceipts(sealed, []);

  const found = (await other.archive.find(ORDER))!;
  expect((await readFile(found.artifacts[0]!.path)).equals(big)).toBe(true);
  expect((await other.archive.getArchivedStates(found)).get(DELIVERY)).toMatchObject({ state: 'sent', epoch: 1 });
  const again = await sealedRun(root, { 'queue.csv': 'another' }, other.archive);
  expect(again.published.manifest).toEqual(found.manifest);
  const runs = await runsOf(other);
  expect(runs).toMatchObject([{ id: RUN, org: 'acme', report: 'weekly-kpi' }]);
  const shelved = runs[0]!;
  expect(await runProblems(shelved)).toEqual([]);
  const taken = await exportRun(shelved, join(root, 'taken'));
  expect(taken.map(({ name }) => name)).toContain('files/KPIs Zürich (1).xlsx');
  expect(await other.storage.probe()).toMatchObject({ ok: false, detail: expect.stringContaining('If-None-Match') });

  const at = { now: Date.now(), madeAt: Date.now() - 3_600_000 };
  const link = (await other.storage.link?.(ORDER, 'files/KPIs Zürich (1).xlsx', at))?.url ?? '';
  const opened = await fetch(link);
  expect(opened.status).toBe(200);
  expect(Buffer.from(await opened.arrayBuffer()).equals(big)).toBe(true);

  const swept = await applyRetention({
    storage: other.storage,
    daysOf: () => 30,
    ledger: memoryLedger(),
    isOpen: async () => false,
    clock: { now: () => Date.now() + 31 * 86_400_000, sleep: async () => {} },
    log: silentLog,
    signal: new AbortController().signal,
  });
  expect(swept).toBe(1);
  expect(await runsOf(one)).toEqual([]);
});
