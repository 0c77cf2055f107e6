import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../../src/base/clock.ts';
import { type Log, silentLog } from '../../../../src/base/log.ts';
import { checkBucket } from '../../../../src/compose/archive.ts';
import { ARCHIVE_MARKER, createMarker, newArchiveId } from '../../../../src/deliver/archive/archive-marker.ts';
import { generateSigningKey } from '../../../../src/deliver/archive/chain/signing-key.ts';
import { correctionArchive } from '../../../../src/deliver/archive/corrections/correction-archive.ts';
import { createReviewArchive } from '../../../../src/deliver/archive/reviews/create-review-archive.ts';
import {
  honoursConditions,
  requireConditionalWrites,
} from '../../../../src/deliver/archive/storage/conditional-writes.ts';
import { directoryStorage } from '../../../../src/deliver/archive/storage/directory-storage.ts';
import { markerCheckedStorage } from '../../../../src/deliver/archive/storage/marker-check.ts';
import { reviewEventSchema } from '../../../../src/run/review/review-event.ts';
import { reviewRun } from '../../../../src/run/review/review-run.ts';
import type { RunContext, RunPorts } from '../../../../src/run/run-context.ts';
import type { RunOrder } from '../../../../src/run/run-record.ts';
import { archiveUrl, bucketStorage } from '../../../support/archives.ts';
import { folderFor } from '../../../support/delivery-case.ts';
import { type S3Server, s3Server } from '../../../support/s3-server.ts';
import { sealRun, signedOver } from '../../../support/signed-archive.ts';

const RUN = { id: '5'.repeat(32), org: 'acme', report: 'weekly-kpi' };
const BY = { person: 'mia', name: 'Mia', principal: 'token:mia' };

async function storeWith(conditional: S3Server['conditional']): Promise<S3Server> {
  const store = await s3Server();
  onTestFinished(() => store.close());
  await createMarker(await storageOf(store), newArchiveId(), Date.now());
  store.conditional = conditional;
  store.requests.splice(0);
  return store;
}

/** Opens the store as another process. */
async function storageOf(store: S3Server) {
  const opened = bucketStorage(archiveUrl(store, join(await folderFor(onTestFinished), 'staging')));
  onTestFinished(() => opened.close());
  return markerCheckedStorage(opened, async () => {}, Date.now);
}

const bytesOf = (store: S3Server) => [...store.objects].map(([key, { bytes }]) => [key, bytes.toString()]);

test('support for conditional writes is tested once, with a PUT of the marker that changes nothing', async () => {
  for (const [conditional, expected] of [
    [true, true],
    [false, false],
    ['refuse', false],
  ] as const) {
    const store = await storeWith(conditional);
    const before = bytesOf(store);
    const { metadata } = await storageOf(store);
    expect(await honoursConditions(metadata)).toBe(expected);
    expect(await honoursConditions(metadata)).toBe(expected);
    expect(bytesOf(store)).toEqual(before);
    const puts = store.requests.filter(({ method }) => method === 'PUT');
    expect(puts).toMatchObject([{ key: `kept/here/${ARCHIVE_MARKER}`, headers: { 'if-none-match': '*' } }]);
  }
});

test('a folder always supports conditional writes', async () => {
  const storage = directoryStorage(await folderFor(onTestFinished));
  expect(await honoursConditions(storage.metadata)).toBe(true);
  await requireConditionalWrites(storage, 'Signing');
});

test.each([
  [500, 'InternalError'],
  [409, 'ConditionalRequestConflict'],
  [403, 'AccessDenied'],
])('HTTP %i leaves the support unknown, and it is tested again', async (status, code) => {
  const store = await storeWith(true);
  const { metadata } = await storageOf(store);
  store.fault = ({ method }) => (method === 'PUT' ? { when: 'before', how: { status, code } } : undefined);
  await expect(honoursConditions(metadata)).rejects.toMatchObject({ code: 'archive.unwritable' });
  store.fault = () => undefined;
  expect(await honoursConditions(metadata)).toBe(true);
});

test('the support is not tested, and nothing is written, before the archive has a marker', async () => {
  const store = await s3Server();
  onTestFinished(() => store.close());
  store.conditional = false;
  const storage = await storageOf(store);
  await honoursConditions(storage.metadata);
  expect(store.objects.size).toBe(0);
  await createMarker(storage, newArchiveId(), Date.now());
  expect(await honoursConditions(storage.metadata)).toBe(false);
});

test('without support a process with a signing key does not start, and one without logs what will be refused', async () => {
  const store = await storeWith(false);
  const storage = await storageOf(store);
  const { signing } = signedOver(storage, generateSigningKey().pem, systemClock);
  const warnings: unknown[] = [];
  const log: Log = { ...silentLog, warn: (message, fields) => warnings.push([message, fields]) };
  await expect(checkBucket({ storage, signing }, log)).rejects.toMatchObject({ code: 'archive.unconditional' });
  warnings.splice(0);
  await checkBucket({ storage }, log);
  expect(warnings).toMatchObject([[expect.anything(), { why: expect.stringContaining('approval') }]]);
  store.conditional = true;
  const better = await storageOf(store);
  await checkBucket({ storage: better, ...signedOver(better, generateSigningKey().pem, systemClock) }, log);
  expect(warnings).toHaveLength(1);
});

test('a run with a review is refused before its first call', async () => {
  const reviews = createReviewArchive(await storageOf(await storeWith('refuse')), reviewEventSchema);
  const context = { signal: new AbortController().signal } as RunContext;
  const outcome = reviewRun(RUN as RunOrder, context, { reviews } as RunPorts, () => expect.fail('fetched'));
  await expect(outcome).rejects.toMatchObject({ code: 'archive.unconditional' });
});

describe.each([
  ['ignores If-None-Match', false],
  ['answers 501', 'refuse'],
] as const)('a store that %s refuses', (_, conditional) => {
  const refused = { code: 'archive.unconditional', retryable: false, where: 's3://reports/kept/here' };
  const expectUnchanged = async (work: (store: S3Server) => Promise<unknown>): Promise<void> => {
    const store = await storeWith(conditional);
    const before = bytesOf(store);
    await work(store);
    expect(bytesOf(store)).toEqual(before);
  };

  test('entries of the chain, and a signed run before it is published', async () => {
    await expectUnchanged(async (store) => {
      const { pem } = generateSigningKey();
      const signers = [await storageOf(store), await storageOf(store)].map((each) =>
        signedOver(each, pem, systemClock),
      );
      const published = await Promise.allSettled(signers.map((each, n) => sealRun(each, String(n).repeat(32), 1)));
      for (const each of published) expect(each).toMatchObject({ status: 'rejected', reason: refused });
      for (const { signing } of signers)
        await expect(signing.recordRemoval(RUN, 'removed', 'old')).rejects.toMatchObject(refused);
      for (const { signing } of signers) await expect(signing.assertUsable()).rejects.toMatchObject(refused);
    });
  });

  test('reviews, so that two simultaneous approvals are both refused and none is lost', async () => {
    await expectUnchanged(async (store) => {
      const reviews = [await storageOf(store), await storageOf(store)].map((each) =>
        createReviewArchive(each, reviewEventSchema),
      );
      const approve = { seq: 1, at: 1, by: BY, type: 'approve', content: 'c'.repeat(64), reason: '' } as const;
      const results = await Promise.allSettled(reviews.map((each) => each.append(RUN, 1, approve)));
      for (const each of results) expect(each).toMatchObject({ status: 'rejected', reason: refused });
      for (const each of reviews) await expect(each.assertUsable(RUN)).rejects.toMatchObject(refused);
      for (const each of reviews) await expect(each.open(RUN, '{}')).rejects.toMatchObject(refused);
    });
  });

  test('corrections and their figures', async () => {
    await expectUnchanged(async (store) => {
      const corrections = correctionArchive(await storageOf(store));
      const event = { seq: 1, at: 1, correction: 1, type: 'notified' } as const;
      await expect(corrections.append(RUN, event)).rejects.toMatchObject(refused);
      await expect(corrections.putFigures(RUN, '{}')).rejects.toMatchObject(refused);
    });
  });
});
