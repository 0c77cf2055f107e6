import { join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { DocketError, type ErrorCode, toDocketError } from '../../base/error.ts';
import { diskSpace, toDiskError } from '../../base/files/disk-error.ts';
import { findDiskFailure } from '../../base/files/disk-failure.ts';
import { writeSynced } from '../../base/files/durable-file.ts';
import type { Log } from '../../base/log.ts';
import { startPeriodicTasks } from '../../base/periodic.ts';
import type { Scope } from '../../base/scope.ts';
import { settlesWithin } from '../../base/timeout.ts';
import type { Archive } from '../../deliver/archive/archive.ts';
import type { ArchiveStorage } from '../../deliver/archive/storage/archive-storage.ts';
import type { RedisClient } from '../../redis/client.ts';
import { assertWritable } from '../../redis/server-check.ts';

/** One thing that must work for the route to be of use. `detail` is shown to anybody. */
export interface HealthCheck {
  readonly name: string;
  readonly ok: boolean;
  readonly detail?: string;
}

/** What a process writes to. */
export const STORAGE_PARTS = ['redis_writes', 'archive', 'staging'] as const;
export type StoragePart = (typeof STORAGE_PARTS)[number];

/** One part, and how to find out whether it can be written. */
export interface StorageProbe {
  readonly part: StoragePart;
  /** Ms between two probes while it is well. */
  readonly intervalMs: number;
  /** Rejects with why it cannot be used, and leaves nothing behind. */
  readonly probe: () => Promise<void>;
}

/** Between two probes of a part that cannot be used, ms. */
const RETRY_INTERVAL_MS = 10_000;
/** A probe that takes longer says that its part does not answer, ms. */
const PROBE_TIMEOUT_MS = 10_000;

const PART_NAMES: Readonly<Record<StoragePart, string>> = {
  redis_writes: 'Redis',
  archive: 'The archive',
  staging: 'The folder in which files are made',
};

/** For anybody who asks `/readyz`: no path, no server, no id. The log and `docket doctor` have them. */
const ERROR_MESSAGES: Partial<Record<ErrorCode, string>> = {
  'redis.out_of_memory': 'is out of memory and accepts no writes',
  'redis.unwritable': 'accepts no writes',
  'redis.unreachable': 'cannot be reached, or is a read-only replica',
  'redis.unauthorized': 'does not permit writing',
  'redis.unsuitable': 'may throw away keys: maxmemory-policy is not noeviction',
  'archive.unreachable': 'does not answer',
  'archive.corrupt': 'cannot be told from another one: its marker cannot be read',
  'config.secret_missing': 'cannot be used: a credential is missing',
};

interface ProbeResult {
  readonly usable: boolean;
  readonly detail: string;
  /** Epoch ms. */
  readonly since: number;
}

export interface StorageHealth {
  /** What the last probes found, for `/readyz`; asks nothing. */
  checks(): readonly HealthCheck[];
}

/**
 * Finds out again and again, until the scope closes, whether the process can write what it has to write: at a rate of its
 * own, however often somebody asks. Resolves after the first probe of each part. A change is logged once.
 *
 * @param observe told what each probe found
 */
export async function monitorStorage(
  probes: readonly StorageProbe[],
  { clock, log }: { readonly clock: Clock; readonly log: Log },
  scope: Scope,
  observe: (part: StoragePart, usable: boolean) => void = () => {},
): Promise<StorageHealth> {
  const found = new Map<StoragePart, ProbeResult>();
  const steps = probes.map((probe) => periodicProbe(probe, { clock, log, found, observe }));
  await Promise.all(steps.map((step) => step()));
  scope.use(startPeriodicTasks({ steps, clock, log, everyMs: RETRY_INTERVAL_MS }), (opened) => opened.close());
  return {
    checks: () =>
      probes.map(({ part }) => {
        const { usable = false, detail = '' } = found.get(part) ?? {};
        return { name: part, ok: usable, detail };
      }),
  };
}

/** Probes the part when it is due. One that hangs is not probed a second time meanwhile. */
function periodicProbe(
  { part, intervalMs, probe }: StorageProbe,
  {
    clock,
    log,
    found,
    observe,
  }: {
    readonly clock: Clock;
    readonly log: Log;
    readonly found: Map<StoragePart, ProbeResult>;
    readonly observe: (part: StoragePart, usable: boolean) => void;
  },
): () => Promise<void> {
  let dueAt = Number.NEGATIVE_INFINITY;
  let pending: Promise<DocketError | undefined> | undefined;

  const conclude = (error: DocketError | undefined): void => {
    const before = found.get(part);
    const usable = error === undefined;
    const changed = before?.usable !== usable;
    const detail = usable ? 'can be written' : `${PART_NAMES[part]} ${describeError(error)}.`;
    found.set(part, { usable, detail, since: changed ? clock.now() : (before?.since ?? clock.now()) });
    observe(part, usable);
    if (!usable && changed) log.error(`${detail} Runs wait until it can be written again.`, { error: error.toJSON() });
    if (usable && before?.usable === false) {
      log.info(`${PART_NAMES[part]} can be written again`, { ms: clock.now() - before.since });
    }
  };

  return async () => {
    // A clock that was set back must not end the probes.
    if (Math.abs(dueAt - clock.now()) <= intervalMs && clock.now() < dueAt) return;
    pending ??= probe().then(() => undefined, toDocketError);
    const asked = pending;
    let answer: DocketError | undefined = probeTimeoutError();
    if (
      await settlesWithin(
        asked.then((error) => (answer = error)),
        PROBE_TIMEOUT_MS,
      )
    )
      pending = undefined;
    conclude(answer);
    dueAt = clock.now() + (answer === undefined ? intervalMs : RETRY_INTERVAL_MS / 2);
  };
}

const probeTimeoutError = (): DocketError =>
  new DocketError('archive.unreachable', `A trial write was not answered within ${PROBE_TIMEOUT_MS} ms.`, {
    next: 'Look at the disk or the network share behind it.',
  });

function describeError(error: DocketError): string {
  const fault = findDiskFailure(error);
  if (fault !== undefined) return `cannot be written: ${fault.description}`;
  if (error.code.startsWith('archive.marker_')) return 'is not there: it has another marker, or none';
  return ERROR_MESSAGES[error.code] ?? 'cannot be written';
}

/** A write costs Redis nothing; one to the archive costs a disk its sync, and a bucket some requests. */
const REDIS_INTERVAL_MS = 15_000;
const FILES_INTERVAL_MS = 60_000;
/** Each write to a bucket is paid for, and may stay as a version. */
const BUCKET_INTERVAL_MS = 5 * 60_000;
/** What stands there is one instant. */
const READINESS_MARKER = '.readiness';

/** What a report needs at the least to be made, bytes. */
const MIN_FREE_BYTES = 8 * 1024 * 1024;
const PROBE_BYTES = 64 * 1024;

/** Whether Redis takes writes, and keeps what was written. */
export const redisProbe = (redis: RedisClient, prefix: string): StorageProbe => ({
  part: 'redis_writes',
  intervalMs: REDIS_INTERVAL_MS,
  probe: () => assertWritable(redis, prefix),
});

/**
 * Whether runs can be sealed. In a bucket one note is written over and over: listing and deleting are more than a worker
 * may be allowed to do.
 */
export const archiveProbe = (
  storage: Pick<ArchiveStorage, 'location' | 'metadata' | 'probe'>,
  { now }: Pick<Clock, 'now'>,
): StorageProbe =>
  storage.location.startsWith('s3:')
    ? {
        part: 'archive',
        intervalMs: BUCKET_INTERVAL_MS,
        probe: () => storage.metadata.put(READINESS_MARKER, new Date(now()).toISOString()),
      }
    : {
        part: 'archive',
        intervalMs: FILES_INTERVAL_MS,
        probe: async () => {
          // Nothing is there under this name: an archive that is not mounted says so before anything is written.
          await storage.metadata.get(READINESS_MARKER);
          await storage.probe();
        },
      };

/** Whether files can be made, with some room for them. */
export const stagingProbe = (archive: Pick<Archive, 'stage' | 'discard'>): StorageProbe => ({
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
  new DocketError('disk.unavailable', 'There is hardly any room for files.', {
    where: folder,
    expected: `${MIN_FREE_BYTES} bytes free`,
    got: `${free} bytes free`,
    next: 'Free space on the disk of the folder.',
    cause: Object.assign(new Error('hardly any room'), { code: 'ENOSPC' }),
  });
