import { execFileSync } from 'node:child_process';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { readConfig } from '../../../src/base/config/config.ts';
import { createScope } from '../../../src/base/scope.ts';
import { openIdentity } from '../../../src/compose/archive.ts';
import { createMarker, markDeployed, newArchiveId, readMarker } from '../../../src/deliver/archive/archive-marker.ts';
import { createArchive } from '../../../src/deliver/archive/create-archive.ts';
import type { ArchiveStorage } from '../../../src/deliver/archive/storage/archive-storage.ts';
import { directoryStorage } from '../../../src/deliver/archive/storage/directory-storage.ts';
import { markerCheckedStorage } from '../../../src/deliver/archive/storage/marker-check.ts';
import { claimIdentity, readIdentity } from '../../../src/redis/identity.ts';
import type { AuditEntry, AuditLog } from '../../../src/services/audit-log.ts';
import {
  adoptDeployment,
  archiveOnlyIdentity,
  deploymentIdentity,
} from '../../../src/services/deployment/deployment-identity.ts';
import { ARCHIVES, sealIn, type TestArchive } from '../../support/archives.ts';
import { ORDER } from '../../support/delivery-case.ts';
import { fake } from '../../support/fake.ts';
import { anOrder, deferred, openQueueHarness, type QueueHarness, recordingLog } from '../../support/queue-harness.ts';

async function aRedis(): Promise<QueueHarness> {
  const harness = await openQueueHarness();
  onTestFinished(() => harness.close());
  return harness;
}

/** A process with this Redis and archive, not started yet. */
function aProcess(
  harness: QueueHarness,
  storage: ArchiveStorage,
  { writes = true, timeoutMs = 10_000 }: { readonly writes?: boolean; readonly timeoutMs?: number } = {},
) {
  const log = recordingLog();
  const { producer: redis, prefix, runs } = harness;
  const ports = { redis, prefix, storage, runs, clock: systemClock, log, writes, timeoutMs };
  return { ports, log, ...deploymentIdentity(ports) };
}

const known = ({ producer, prefix }: QueueHarness) => readIdentity(producer, prefix);

/** Records a run as done, as if its files were archived. */
async function recordDone({ runs }: QueueHarness): Promise<void> {
  const order = anOrder();
  await runs.open(order);
  await runs.update(order.id, { state: 'done' });
}

describe.each(ARCHIVES)('Redis and the archive %s', (_, open) => {
  const anArchive = (): Promise<TestArchive> => open(onTestFinished);

  test('get one identity when new, which later processes find', async () => {
    const [harness, { storage, another }] = [await aRedis(), await anArchive()];
    const id = await aProcess(harness, storage).id();
    expect(await readMarker(storage)).toMatchObject({ id });
    expect(await known(harness)).toMatchObject({ id, restored: false });
    const later = aProcess(harness, (await another()).storage);
    await later.start();
    expect(await later.id()).toBe(id);
  });

  test('get one identity if the previous version used them', async () => {
    const [harness, archive] = [await aRedis(), await anArchive()];
    await sealIn(archive);
    await recordDone(harness);
    const id = await aProcess(harness, archive.storage).id();
    expect(await readMarker(archive.storage)).toMatchObject({ id });
    expect(await known(harness)).toMatchObject({ id, restored: false });
  });

  test('conflict if Redis knows archived runs and the archive is empty, unless retention emptied it', async () => {
    const [harness, { storage, tree }] = [await aRedis(), await anArchive()];
    await recordDone(harness);
    await expect(aProcess(harness, storage).start()).rejects.toMatchObject({ code: 'deployment.conflict' });
    expect(await tree().catch(() => [])).toEqual([]);
    expect(await known(harness)).toBeUndefined();
    await storage.metadata.put('.swept', '1');
    expect(await aProcess(harness, storage).id()).toMatch(/^[0-9a-f]{32}$/);
  });

  test('belong together again after Redis was emptied, and Redis counts as restored', async () => {
    const [harness, { storage }] = [await aRedis(), await anArchive()];
    const marker = await createMarker(storage, newArchiveId(), 0);
    await markDeployed(storage, marker);
    expect(await aProcess(harness, storage).id()).toBe(marker.id);
    expect(await known(harness)).toMatchObject({ id: marker.id, restored: true });
  });

  test('count as new if only runs without Redis used the archive, and as restored if Redis is emptied later', async () => {
    const [harness, { storage }] = [await aRedis(), await anArchive()];
    const id = await archiveOnlyIdentity(storage, systemClock).id();
    const scheduler = aProcess(harness, storage, { writes: false });
    await scheduler.start();
    expect(await known(harness)).toMatchObject({ id, restored: false });
    const { log, ...first } = aProcess(harness, storage);
    expect(await first.id()).toBe(id);
    expect(await known(harness)).toMatchObject({ id, restored: false });
    expect(log.lines).toEqual([]);
    await harness.producer.del(`${harness.prefix}:identity`);
    await aProcess(harness, storage).id();
    expect(await known(harness)).toMatchObject({ id, restored: true });
  });

  test('do not count as restored when several processes start at the same moment', async () => {
    const [harness, { storage }] = [await aRedis(), await anArchive()];
    // The first process has written the marker, and waits until the others have read it.
    const late = deferred();
    const slow = {
      ...storage,
      metadata: {
        ...storage.metadata,
        putIfAbsent: async (...given: Parameters<ArchiveStorage['metadata']['putIfAbsent']>) => {
          const isNew = await storage.metadata.putIfAbsent(...given);
          await late.promise;
          return isNew;
        },
      },
    };
    const first = aProcess(harness, slow).id();
    await expect.poll(() => readMarker(storage), { interval: 5 }).toBeDefined();
    const others = [aProcess(harness, storage), aProcess(harness, storage)];
    const ids = await Promise.all(others.map((process) => process.id()));
    late.tell();
    expect(new Set([...ids, await first]).size).toBe(1);
    expect(await known(harness)).toMatchObject({ id: await first, restored: false });
    expect(others.flatMap(({ log }) => log.lines)).toEqual([]);
  });

  test('show once that Redis was set back to before the last archived run, which counts as restored', async () => {
    const [harness, archive] = [await aRedis(), await anArchive()];
    const { producer: redis, prefix } = harness;
    const { storage } = archive;
    const check = async () => {};
    const id = await aProcess(harness, storage).id();
    // Archives as a worker does, after Redis knows the archive.
    const at = Date.now() + 1_000;
    await sealIn({
      ...archive,
      archive: createArchive(
        markerCheckedStorage(storage, check, () => at),
        systemClock,
      ),
    });
    await harness.runs.open(anOrder(ORDER));
    await aProcess(harness, storage).id();
    expect(await known(harness)).toMatchObject({ id, restored: false });
    await redis.del(`${prefix}:record:${ORDER.id}`);
    const { log, ...later } = aProcess(harness, storage);
    await later.id();
    expect(await known(harness)).toMatchObject({ id, restored: true });
    expect(log.lines.filter(({ run }) => run === ORDER.id)).toHaveLength(1);
  });

  test('do not count as restored for a last run from before, or an unreadable one', async () => {
    const [harness, { storage }] = [await aRedis(), await anArchive()];
    await aProcess(harness, storage).id();
    for (const text of ['{"run":"gone","at":1}', '{', '{"run":7}']) {
      await storage.metadata.put('.newest', text);
      await aProcess(harness, storage).id();
      expect(await known(harness)).toMatchObject({ restored: false });
    }
  });

  test.each(['another archive', 'an archive without a marker'])(
    'of two deployments are refused with both named and neither changed: %s',
    async (what) => {
      const [harness, { storage }] = [await aRedis(), await anArchive()];
      const [production, staging] = [newArchiveId(), newArchiveId()];
      await claimIdentity(harness.producer, harness.prefix, production, { restored: false });
      if (what === 'another archive') await createMarker(storage, staging, 0);
      await expect(aProcess(harness, storage).start()).rejects.toMatchObject({
        code: 'deployment.conflict',
        exitCode: 2,
        where: expect.stringContaining(storage.location),
        expected: expect.stringContaining(production),
        got: expect.stringContaining(what === 'another archive' ? staging : 'docket-archive.json'),
        next: expect.stringContaining('--adopt'),
      });
      expect(await known(harness)).toMatchObject({ id: production });
      expect((await readMarker(storage))?.id).toBe(what === 'another archive' ? staging : undefined);
    },
  );

  test('are joined with --adopt: Redis takes the archive’s id, and the audit log has the person', async () => {
    const [harness, { storage }] = [await aRedis(), await anArchive()];
    await claimIdentity(harness.producer, harness.prefix, newArchiveId(), { restored: true });
    const { id } = await createMarker(storage, newArchiveId(), 0);
    const entries: AuditEntry[] = [];
    const audit = fake<AuditLog>({ record: async (entry) => void entries.push(entry) });
    const { ports, log } = aProcess(harness, storage);
    await adoptDeployment(ports, audit, { who: 'alice' });
    expect(await known(harness)).toMatchObject({ id, restored: false });
    expect(entries).toEqual([{ event: 'deployment.adopted', who: 'alice', why: expect.stringContaining(id) }]);
    expect(log.lines.filter(({ who }) => who === 'alice')).toHaveLength(1);
    expect(await aProcess(harness, storage).id()).toBe(id);
    // Adopting again changes nothing.
    await adoptDeployment(ports, audit, { who: 'alice' });
    expect(entries).toHaveLength(1);
  });

  test.each([true, false])(
    'are joined with --adopt: an archive without a marker gets one (known to Redis: %s)',
    async (old) => {
      const [harness, { storage }] = [await aRedis(), await anArchive()];
      const id = newArchiveId();
      if (old) await claimIdentity(harness.producer, harness.prefix, id, { restored: false });
      else await recordDone(harness);
      const { ports } = aProcess(harness, storage);
      await adoptDeployment(ports, fake<AuditLog>({ record: async () => {} }), { who: 'alice' });
      const marker = await readMarker(storage);
      expect(await known(harness)).toMatchObject({ id: marker?.id });
      if (old) expect(marker?.id).toBe(id);
    },
  );

  test('are also compared by a scheduler, which creates neither archive nor identity', async () => {
    const [harness, { storage, tree }] = [await aRedis(), await anArchive()];
    const writes = false;
    await aProcess(harness, storage, { writes }).start();
    expect(await known(harness)).toBeUndefined();
    await claimIdentity(harness.producer, harness.prefix, newArchiveId(), { restored: false });
    await aProcess(harness, storage, { writes }).start();
    expect(await tree().catch(() => [])).toEqual([]);
    await createMarker(storage, newArchiveId(), 0);
    await expect(aProcess(harness, storage, { writes }).start()).rejects.toMatchObject({ code: 'deployment.conflict' });
  });

  test('fail at an unreadable marker, which is not replaced', async () => {
    const [harness, { storage }] = [await aRedis(), await anArchive()];
    await storage.metadata.put('docket-archive.json', '{');
    await expect(aProcess(harness, storage).start()).rejects.toMatchObject({ code: 'archive.corrupt' });
    expect(await known(harness)).toBeUndefined();
  });

  test('accept one of two new deployments that start at the same time on one Redis', async () => {
    const harness = await aRedis();
    const archives = await Promise.all([anArchive(), anArchive()]);
    const ends = await Promise.allSettled(archives.map(({ storage }) => aProcess(harness, storage).id()));
    expect(ends.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(ends.find(({ status }) => status === 'rejected')).toMatchObject({
      reason: { code: 'deployment.conflict' },
    });
  });

  test('stay checked while a process runs: it restores a lost identity, and stops writing after a conflict', async () => {
    const [harness, { storage }] = [await aRedis(), await anArchive()];
    const { producer, prefix } = harness;
    const living = aProcess(harness, storage);
    const id = await living.id();
    await producer.del(`${prefix}:identity`);
    await living.confirm();
    expect(await known(harness)).toMatchObject({ id, restored: true });
    const other = newArchiveId();
    await producer.del(`${prefix}:identity`);
    await claimIdentity(producer, prefix, other, { restored: false });
    await living.confirm();
    await living.confirm();
    await expect(living.id()).rejects.toMatchObject({ code: 'deployment.conflict', retryable: true });
    expect(living.conflict()).toMatchObject({
      expected: expect.stringContaining(other),
      got: expect.stringContaining(id),
    });
    expect(living.log.lines.filter(({ level }) => level === 'error')).toHaveLength(1);
    await producer.del(`${prefix}:identity`);
    await living.confirm();
    await living.confirm();
    expect(await living.id()).toBe(id);
    expect(living.conflict()).toBeUndefined();
  });
});

test('moving the archive’s folder does not make another deployment', async () => {
  const [harness, archive] = [await aRedis(), await ARCHIVES[0]![1](onTestFinished)];
  const id = await aProcess(harness, archive.storage).id();
  const [before, after] = [archive.storage.location, join(archive.root, 'moved')];
  await rename(before, after);
  expect(await aProcess(harness, directoryStorage(after)).id()).toBe(id);
});

test('an unreachable archive does not stop a start, and is compared before the first write', async () => {
  const harness = await aRedis();
  const archive = await ARCHIVES[1]![1](onTestFinished);
  await claimIdentity(harness.producer, harness.prefix, newArchiveId(), { restored: false });
  const away = { ...archive.storage, metadata: { ...archive.storage.metadata, get: unreachable(archive.storage) } };
  const process = aProcess(harness, away);
  await process.start();
  expect(process.log.lines.map(({ level }) => level)).toEqual(['error']);
  await expect(process.id()).rejects.toMatchObject({ code: 'archive.unreachable' });
  away.metadata.get = archive.storage.metadata.get;
  await expect(process.id()).rejects.toMatchObject({ code: 'deployment.conflict' });
});

test.each([true, false])(
  'a hanging archive does not stop a start, and is read again once it responds (writes: %s)',
  async (writes) => {
    const [harness, { storage }] = [await aRedis(), await ARCHIVES[0]![1](onTestFinished)];
    const path = join(storage.location, 'docket-archive.json');
    await mkdir(storage.location, { recursive: true });
    execFileSync('mkfifo', [path]);
    const process = aProcess(harness, storage, { writes, timeoutMs: 20 });
    await process.start();
    expect(process.log.lines).toMatchObject([
      { level: writes ? 'error' : 'info', error: { code: 'archive.unreachable' } },
    ]);
    await expect(process.id()).rejects.toMatchObject({ code: 'archive.unreachable', where: storage.location });
    // Unblocks a reader that hangs in the pipe. A write before a reader has opened it would hang itself.
    const id = newArchiveId();
    await writeFile(path, JSON.stringify({ docket_archive: 1, id, created_at: '2026-11-22T10:00:00.000Z' }));
    await rm(path);
    await createMarker(storage, id, 0);
    await expect.poll(() => process.id().catch(() => undefined)).toBe(id);
  },
);

function unreachable({ metadata }: ArchiveStorage): ArchiveStorage['metadata']['get'] {
  return async (name) => {
    if (name === '') return metadata.get(name);
    const { DocketError } = await import('../../../src/base/error.ts');
    throw new DocketError('archive.unreachable', 'The archive cannot be read.');
  };
}

test('a process compares the archive that the environment names', async () => {
  const harness = await aRedis();
  const { storage, root } = await ARCHIVES[0]![1](onTestFinished);
  const { id } = await createMarker(storage, newArchiveId(), 0);
  const scope = createScope();
  onTestFinished(() => scope.close());
  const config = readConfig({ DOCKET_ARCHIVE: pathToFileURL(join(root, 'archive')).href });
  const around = { config, env: {}, clock: systemClock, log: recordingLog() };
  const { producer: redis, prefix, runs } = harness;
  expect(await openIdentity(around, { redis, prefix, runs, writes: true }, scope).id()).toBe(id);
});
