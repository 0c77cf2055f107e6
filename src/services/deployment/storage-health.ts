import { join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { withTimeout } from '../../base/concurrency.ts';
import { findDiskFailure } from '../../base/errno.ts';
import { DocketError, type ErrorCode, toDocketError } from '../../base/error.ts';
import { diskSpace, toDiskError } from '../../base/files/disk-error.ts';
import { PROBE_BYTES, writeSynced } from '../../base/files/durable-file.ts';
import type { Log } from '../../base/log.ts';
import { startPeriodicTasks } from '../../base/periodic.ts';
import type { Scope } from '../../base/scope.ts';
import type { Archive } from '../../deliver/archive/archive.ts';
import type { ArchiveStorage } from '../../deliver/archive/storage/archive-storage.ts';
import type { RedisClient } from '../../redis/client.ts';
import { assertWritable } from '../../redis/server-check.ts';
import type { HealthCheck } from './probe.ts';

/** The storage that a process writes to. */
const STORAGE_PARTS = ['redis_writes', 'archive', 'staging'] as const;
export type StoragePart = (typeof STORAGE_PARTS)[number];

/** A probe that tests whether a part of the storage is writable. */
export interface StorageProbe {
  readonly part: StoragePart;
  /** How often to probe a usable part, ms. */
  readonly intervalMs: number;
  /** Rejects with the reason why the part cannot be used. Leaves nothing behind. */
  readonly probe: () => Promise<void>;
}

/** How often to probe an unusable part, ms. */
const RETRY_INTERVAL_MS = 10_000;
/** Time after which a probe has failed, ms. */
const PROBE_TIMEOUT_MS = 10_000;

const PART_NAMES: Readonly<Record<StoragePart, string>> = {
  redis_writes: 'Redis',
  archive: 'The archive',
  staging: 'The folder in which files are made',
};

/** The public details in `/readyz`. They contain no paths, servers or ids, which the log and `docket doctor` show. */
const ERROR_MESSAGES: Partial<Record<ErrorCode, string>> = {
  'redis.out_of_memory': 'is out of memory and accepts no writes',
  'redis.unwritable': 'accepts no writes',
  'redis.unreachable': 'cannot be reached, or is a read-only replica',
  'redis.unauthorized': 'does not permit writing',
  'redis.unsuitable': 'may evict keys: maxmemory-policy is not noeviction',
  'archive.unreachable': 'does not answer',
  'archive.corrupt': 'cannot be identified: its marker is unreadable',
  'config.secret_missing': 'cannot be used: a credential is missing',
};

interface ProbeResult {
  readonly usable: boolean;
  readonly detail: string;
  readonly remedy?: string | undefined;
  /** Epoch ms. */
  readonly since: number;
}

/**
 * Probes the storage periodically until the scope closes, independently of requests to `/readyz`. Resolves after the
 * first probe of each part. Logs each change once. Returns the results of the last probes, for `/readyz`.
 *
 * @param observe called with the result of each probe
 */
export async function monitorStorage(
  probes: readonly StorageProbe[],
  { clock, log }: { readonly clock: Clock; readonly log: Log },
  scope: Scope,
  observe: (part: StoragePart, usable: boolean) => void = () => {},
): Promise<() => readonly HealthCheck[]> {
  const results = new Map<StoragePart, ProbeResult>();
  const steps = probes.map((probe) => periodicProbe(probe, { clock, log }, results, observe));
  await Promise.all(steps.map((step) => step()));
  scope.use(startPeriodicTasks({ steps, clock, log, everyMs: RETRY_INTERVAL_MS }), (opened) => opened.close());
  return () =>
    probes.map(({ part }) => {
      const { usable = false, detail = '', remedy } = results.get(part) ?? {};
      return { name: part, ok: usable, detail, remedy };
    });
}

/** Probes the part when due. A hanging probe is not started a second time. */
function periodicProbe(
  { part, intervalMs, probe }: StorageProbe,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
  results: Map<StoragePart, ProbeResult>,
  observe: (part: StoragePart, usable: boolean) => void,
): () => Promise<void> {
  let dueAt = Number.NEGATIVE_INFINITY;
  let pending: Promise<DocketError | undefined> | undefined;

  const conclude = (error: DocketError | undefined): void => {
    const before = results.get(part);
    const usable = error === undefined;
    const changed = before?.usable !== usable;
    const detail = usable ? 'can be written' : `${PART_NAMES[part]} ${describeError(error)}.`;
    const remedy = findDiskFailure(error)?.remedy;
    results.set(part, { usable, detail, remedy, since: changed ? clock.now() : (before?.since ?? clock.now()) });
    observe(part, usable);
    if (!usable && changed) log.error(`${detail} Runs wait until it can be written again.`, { error: error.toJSON() });
    if (usable && before?.usable === false) {
      log.info(`${PART_NAMES[part]} can be written again`, { ms: clock.now() - before.since });
    }
  };

  return async () => {
    // A clock that was set back must not stop the probes.
    if (Math.abs(dueAt - clock.now()) <= intervalMs && clock.now() < dueAt) return;
    pending ??= probe().then(() => undefined, toDocketError);
    const answer = await withTimeout(pending, PROBE_TIMEOUT_MS, () => 'timeout' as const);
    if (answer !== 'timeout') pending = undefined;
    const error = answer === 'timeout' ? probeTimeoutError() : answer;
    conclude(error);
    dueAt = clock.now() + (error === undefined ? intervalMs : RETRY_INTERVAL_MS / 2);
  };
}

const probeTimeoutError = (): DocketError =>
  new DocketError('archive.unreachable', `A trial write was not answered within ${PROBE_TIMEOUT_MS} ms.`, {
    next: 'Check the disk or the network share behind it.',
  });

function describeError(error: DocketError): string {
  const failure = findDiskFailure(error);
  if (failure !== undefined) return `cannot be written: ${failure.description}`;
  if (error.code.startsWith('archive.marker_')) return 'is not available: it has another marker, or none';
  return ERROR_MESSAGES[error.code] ?? 'cannot be written';
}

/** A write is cheap in Redis, needs a sync on a disk, and takes several requests in a bucket. */
const REDIS_INTERVAL_MS = 15_000;
const FILES_INTERVAL_MS = 60_000;
/** Each write to a bucket costs money, and may be kept as a version. */
const BUCKET_INTERVAL_MS = 5 * 60_000;
/** The file that the probe writes. Its content is a timestamp. */
const READINESS_MARKER = '.readiness';

/** Free space required to create a report, bytes. */
const MIN_FREE_BYTES = 8 * 1024 * 1024;

/** Tests whether Redis accepts and keeps writes. */
export const redisProbe = (redis: RedisClient, prefix: string): StorageProbe => ({
  part: 'redis_writes',
  intervalMs: REDIS_INTERVAL_MS,
  probe: () => assertWritable(redis, prefix),
});

/**
 * Tests whether runs can be published. In a bucket it overwrites one object, because a worker may not be allowed to
 * list and delete.
 */
export const archiveProbe = (storage: ArchiveStorage, { now }: Clock): StorageProbe => {
  const isBucket = storage.location.startsWith('s3:');
  return {
    part: 'archive',
    intervalMs: isBucket ? BUCKET_INTERVAL_MS : FILES_INTERVAL_MS,
    probe: async () => {
      if (isBucket) return storage.metadata.put(READINESS_MARKER, new Date(now()).toISOString());
      // The read checks the marker first: for an unmounted archive it fails before anything is written.
      await storage.metadata.get(READINESS_MARKER);
      await storage.probe();
    },
  };
};

/** Tests whether files can be created, with enough free space. */
export const stagingProbe = (archive: Archive): StorageProbe => ({
  part: 'staging',
  intervalMs: FILES_INTERVAL_MS,
  probe: async () => {
    const staged = await archive.stage('readiness');
    try {
      await writeSynced(join(staged, 'probe'), new Uint8Array(PROBE_BYTES));
      const space = await diskSpace(staged);
      if (space !== undefined && space.free < MIN_FREE_BYTES) throw lowSpaceError(staged, space.free);
    } catch (thrown) {
      throw await toDiskError(thrown, staged);
    } finally {
      await archive.discard(staged);
    }
  },
});

const lowSpaceError = (folder: string, free: number): DocketError =>
  new DocketError('disk.unavailable', 'There is not enough free space for files.', {
    where: folder,
    expected: `${MIN_FREE_BYTES} bytes free`,
    got: `${free} bytes free`,
    next: 'Free space on the disk of the folder.',
    cause: Object.assign(new Error('not enough free space'), { code: 'ENOSPC' }),
  });
