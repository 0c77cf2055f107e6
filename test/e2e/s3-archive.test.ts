import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import S3rver from 's3rver';
import { expect, onTestFinished, test } from 'vitest';
import { readArchivePlace } from '../../src/base/archive-place.ts';
import { systemClock } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/log.ts';
import { secretSource } from '../../src/base/secret.ts';
import { memoryLedger } from '../../src/deliver/memory-ledger.ts';
import { sweepArchive } from '../../src/deliver/retention.ts';
import { s3Shelf } from '../../src/deliver/s3-shelf.ts';
import type { Shelved } from '../../src/deliver/shelf.ts';
import { shelfArchive } from '../../src/deliver/shelf-archive.ts';
import { takeOut } from '../../src/deliver/take-out.ts';
import { verifyShelved } from '../../src/deliver/verify-archive.ts';
import { folderFor, ORDER, RUN, sealedRun } from '../support/delivery-case.ts';

/** An S3 server that is not ours: it ignores the condition of a PUT. */
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
  const place = readArchivePlace(`${url}&staging=${await folderFor(onTestFinished)}/staging`);
  if (!('kind' in place) || place.kind !== 's3') throw new Error(JSON.stringify(place));
  const shelf = s3Shelf(place, secretSource({ ID: 'S3RVER', SECRET: 'S3RVER' }));
  onTestFinished(() => shelf.close());
  return { shelf, archive: shelfArchive(shelf, systemClock) };
}

/** This server lists no folders below folders, so a run is not found by its id alone there. */
async function runsOf({ shelf }: Awaited<ReturnType<typeof machine>>): Promise<Shelved[]> {
  const runs: Shelved[] = [];
  for await (const run of shelf.runs()) runs.push(run);
  return runs;
}

const DELIVERY = 'a'.repeat(32);
const big = Buffer.alloc(20 * 1024 * 1024, 'abcdefghijklmnopqrstuvwxyz0123456789');
const FILES = { 'KPIs Zürich (1).xlsx': big, 'queue.csv': 'alerts\r\n3\r\n' };

test('another S3 server keeps runs whole from machine to machine, gives links that open, and forgets when it is time', async () => {
  const url = await store();
  const [one, other] = [await machine(url), await machine(url)];
  const root = await folderFor(onTestFinished);
  expect(await one.archive.find(ORDER)).toBeUndefined();
  const { sealed } = await sealedRun(root, FILES, one.archive);
  await one.archive.keepMessage(sealed, DELIVERY, Buffer.from('Subject: a\r\n\r\nb'));
  await one.archive.keepAttempt(sealed, { delivery: DELIVERY, epoch: 1, state: 'sending', detail: null, at: 1 });
  await one.archive.keepAttempt(sealed, { delivery: DELIVERY, epoch: 1, state: 'sent', detail: '250', at: 2 });
  await one.archive.keepReceipts(sealed, []);

  const found = (await other.archive.find(ORDER))!;
  expect((await readFile(found.artifacts[0]!.path)).equals(big)).toBe(true);
  expect((await other.archive.evidence(found)).get(DELIVERY)).toMatchObject({ state: 'sent', epoch: 1 });
  const again = await sealedRun(root, { 'queue.csv': 'another' }, other.archive);
  expect(again.sealed.manifest).toEqual(found.manifest);
  const runs = await runsOf(other);
  expect(runs).toMatchObject([{ id: RUN, org: 'acme', report: 'weekly-kpi' }]);
  const shelved = runs[0]!;
  expect(await verifyShelved(shelved)).toEqual([]);
  const taken = await takeOut(shelved, join(root, 'taken'));
  expect(taken.map(({ name }) => name)).toContain('files/KPIs Zürich (1).xlsx');
  expect(await other.shelf.probe()).toMatchObject({ ok: false, detail: expect.stringContaining('If-None-Match') });

  const at = { now: Date.now(), madeAt: Date.now() - 3_600_000 };
  const link = (await other.shelf.link?.(ORDER, 'files/KPIs Zürich (1).xlsx', at))?.url ?? '';
  const opened = await fetch(link);
  expect(opened.status).toBe(200);
  expect(Buffer.from(await opened.arrayBuffer()).equals(big)).toBe(true);

  const swept = await sweepArchive({
    shelf: other.shelf,
    daysOf: () => 30,
    ledger: memoryLedger(),
    open: async () => false,
    clock: { now: () => Date.now() + 31 * 86_400_000, sleep: async () => {} },
    log: silentLog,
    signal: new AbortController().signal,
  });
  expect(swept).toBe(1);
  expect(await runsOf(one)).toEqual([]);
});
