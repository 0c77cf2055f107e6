import type { Clock } from '../../base/clock.ts';
import { settlesWithin } from '../../base/concurrency.ts';
import { DocketError, isRedisOutage, toDocketError } from '../../base/error.ts';
import type { Log } from '../../base/log.ts';
import {
  ARCHIVE_MARKER,
  type ArchiveMarker,
  createMarker,
  hasArchivedRuns,
  markDeployed,
  newArchiveId,
  readMarker,
  readNewestRun,
} from '../../deliver/archive/archive-marker.ts';
import type { ArchiveStorage } from '../../deliver/archive/storage/archive-storage.ts';
import { type RedisClient, redisName } from '../../redis/client.ts';
import { claimIdentity, type Identity, readIdentity } from '../../redis/identity.ts';
import type { RunState, RunStore } from '../../run/run-record.ts';
import type { AuditLog } from '../audit-log.ts';

/** States of runs that have files in the archive, or a review there. */
const ARCHIVED_STATES: readonly RunState[] = ['done', 'partly_delivered', 'held', 'awaiting_approval'];

/**
 * Identifies the deployment of a process, by a random id in Redis and in the archive's marker. Paths, hosts and the
 * jobs folder cannot identify it, because releases move them.
 */
export interface DeploymentIdentity {
  /**
   * The archive's id. The first call compares it with Redis. Later calls repeat that until both could be read. Throws
   * `deployment.conflict` (even one found by `confirm`), and the errors of Redis and the archive.
   */
  id(): Promise<string>;
  /** The id, once it has been compared. */
  known(): string | undefined;
  /**
   * Compares the ids when the process starts. An unreachable archive does not prevent the start, because runs wait for
   * it. Throws `deployment.conflict`, `archive.corrupt`, `config.secret_missing`.
   */
  start(): Promise<void>;
  /** Checks Redis again: restores a lost id, and detects another id. */
  confirm(): Promise<void>;
  /** The conflict that `confirm` has found. */
  conflict(): DocketError | undefined;
}

/** The person who adopts a deployment. */
export interface Adopter {
  readonly who: string;
}

export interface IdentityPorts {
  readonly redis: RedisClient;
  readonly prefix: string;
  /** Without the marker check, because it is used to read the marker. */
  readonly storage: ArchiveStorage;
  readonly runs: RunStore;
  readonly clock: Clock;
  readonly log: Log;
  /**
   * Whether the process writes to the archive, and so creates a missing marker. Other processes (a scheduler, a command
   * that enqueues) only compare a readable marker.
   */
  readonly writes: boolean;
  /** How long to wait for the archive, ms. Default: ten seconds. */
  readonly timeoutMs?: number;
}

type IdentityContext = IdentityPorts & { readonly withTimeout: ArchiveTimeout };

export function deploymentIdentity(given: IdentityPorts): DeploymentIdentity {
  const ports: IdentityContext = {
    ...given,
    withTimeout: createArchiveTimeout(given.storage.location, given.timeoutMs),
  };
  const { redis, prefix, storage, log, writes } = ports;
  let comparing: Promise<string> | undefined;
  let id: string | undefined;
  let conflict: DocketError | undefined;

  const get = async (): Promise<string> => {
    if (conflict !== undefined) throw conflict;
    if (id !== undefined) return id;
    comparing ??= compareIds(ports).finally(() => {
      comparing = undefined;
    });
    id = await comparing;
    return id;
  };
  return {
    id: get,
    known: () => id,
    start: async () => {
      try {
        await get();
      } catch (thrown) {
        const error = toDocketError(thrown);
        const waits = error.code === 'archive.unreachable' || error.code === 'archive.unwritable';
        if (!writes && (waits || error.code === 'config.secret_missing' || error.code === 'archive.marker_missing')) {
          return log.info('Archive cannot be read and was not compared with Redis', {
            path: storage.location,
            error: error.toJSON(),
          });
        }
        if (!waits) throw error;
        log.error('The archive cannot be used; runs wait until it can', { error: error.toJSON() });
      }
    },
    confirm: async () => {
      if (id === undefined) return;
      const known = await readIdentity(redis, prefix);
      if (known === undefined) {
        await claimIdentity(redis, prefix, id, { restored: true });
        log.warn('Redis had lost its deployment id; restored', { url: redisName(redis) });
        return;
      }
      const before = conflict;
      conflict = known.id === id ? undefined : conflictError(ports, known, { id });
      if (conflict !== undefined && before === undefined) {
        log.error('Redis belongs to another deployment now; writes to the archive stop', {
          error: conflict.toJSON(),
        });
      }
    },
    conflict: () => conflict,
  };
}

/**
 * The identity with a private Redis: only the archive's, which gets a marker if it has none. Redis gets no identity,
 * and the archive is never marked as deployed. `start` refuses an archive that is marked so: its deployment would take
 * another Redis's runs for lost data.
 */
export const archiveOnlyIdentity = (storage: ArchiveStorage, clock: Clock): DeploymentIdentity => ({
  id: async () => ((await readMarker(storage)) ?? (await createMarker(storage, newArchiveId(), clock.now()))).id,
  known: () => undefined,
  start: async () => {
    if (!(await readMarker(storage))?.deployed) return;
    throw new DocketError('deployment.conflict', 'The archive belongs to a deployment with its own Redis.', {
      where: storage.location,
      expected: 'an archive that only private Redis servers use',
      next: 'Set REDIS_URL to the Redis of this deployment, or DOCKET_ARCHIVE to another archive.',
    });
  },
  confirm: async () => {},
  conflict: () => undefined,
});

async function compareIds(ports: IdentityContext): Promise<string> {
  const { redis, prefix, storage, clock, log, writes, withTimeout } = ports;
  const [marker, known] = await Promise.all([withTimeout(() => readMarker(storage)), readIdentity(redis, prefix)]);
  if (known !== undefined) {
    if (marker?.id === known.id) {
      await detectRestoredBackup(ports, known);
      if (writes && !marker.deployed) await withTimeout(() => markDeployed(storage, marker));
      return known.id;
    }
    if (marker === undefined && !writes) throw markerMissingError(storage.location);
    throw conflictError(ports, known, marker);
  }
  if (marker?.deployed) {
    const kept = await claimIdentity(redis, prefix, marker.id, { restored: true });
    if (kept.id !== marker.id) throw conflictError(ports, kept, marker);
    // If it is not restored, another process claimed it for the first time at the same moment.
    if (!kept.restored) return marker.id;
    log.warn('Redis does not know this archive, which was in use: Redis was emptied or replaced', {
      path: storage.location,
      url: redisName(redis),
    });
    return marker.id;
  }
  if (marker !== undefined) return claimArchive(ports, marker);
  if (!writes) throw markerMissingError(storage.location);
  // Create the marker first: two processes that start at once with one archive then read the same marker.
  if ((await hasArchived(ports)) && !(await withTimeout(() => hasArchivedRuns(storage))))
    throw emptyArchiveError(ports);
  return claimArchive(ports, await withTimeout(() => createMarker(storage, newArchiveId(), clock.now())));
}

/** Detects a Redis restored from a backup: it has its identity, but not the last archived run. */
async function detectRestoredBackup(
  { redis, prefix, storage, runs, log, withTimeout }: IdentityContext,
  known: Identity,
): Promise<void> {
  const newest = await withTimeout(() => readNewestRun(storage.metadata));
  if (newest === undefined || newest.at <= known.since || (await runs.get(newest.run)) !== undefined) return;
  await claimIdentity(redis, prefix, known.id, { restored: true, replaces: known.id });
  log.warn('Redis was restored from an older backup: it does not know the last archived run', {
    run: newest.run,
    path: storage.location,
    url: redisName(redis),
  });
}

/** Writes the id to Redis before the marker says `deployed`, so that readers of that marker can rely on Redis. */
async function claimArchive(ports: IdentityContext, marker: ArchiveMarker): Promise<string> {
  const { redis, prefix, storage, writes, withTimeout } = ports;
  const kept = await claimIdentity(redis, prefix, marker.id, { restored: false });
  if (kept.id !== marker.id) throw conflictError(ports, kept, marker);
  if (writes && !marker.deployed) await withTimeout(() => markDeployed(storage, marker));
  return marker.id;
}

const hasArchived = async ({ runs }: Pick<IdentityPorts, 'runs'>): Promise<boolean> =>
  (await runs.list({ states: ARCHIVED_STATES, limit: 1 })).length > 0;

/**
 * Joins a Redis and an archive of different deployments: Redis gets the archive's id; an archive without an id gets
 * that of Redis. Recorded in the log and the audit log.
 */
export async function adoptDeployment(ports: IdentityPorts, audit: AuditLog, { who }: Adopter): Promise<void> {
  const { redis, prefix, storage, clock, log, timeoutMs } = ports;
  const withTimeout = createArchiveTimeout(storage.location, timeoutMs);
  const [marker, known] = await Promise.all([withTimeout(() => readMarker(storage)), readIdentity(redis, prefix)]);
  if (marker?.id === known?.id && marker !== undefined) return;
  const why = await (async () => {
    if (marker !== undefined && known !== undefined) {
      const kept = await claimIdentity(redis, prefix, marker.id, { restored: false, replaces: known.id });
      if (kept.id !== marker.id) throw conflictError(ports, kept, marker);
      return `Redis now belongs to the archive ${marker.id}, not to ${known.id}`;
    }
    if (marker !== undefined) return undefined;
    const created = await withTimeout(() => createMarker(storage, known?.id ?? newArchiveId(), clock.now()));
    const kept = known ?? (await claimIdentity(redis, prefix, created.id, { restored: false }));
    if (kept.id !== created.id) throw conflictError(ports, kept, created);
    return `the archive had no marker and is now ${created.id}`;
  })();
  if (why === undefined) return;
  log.warn('Deployment adopted', { path: storage.location, url: redisName(redis), who, why });
  await audit.record({ event: 'deployment.adopted', who, why: `${why} (${storage.location})` });
}

const CONFLICT_HINT =
  'Mount the archive if it is not mounted; otherwise correct DOCKET_ARCHIVE or REDIS_URL. To join the two on purpose, stop all processes and run docket start --adopt once.';

const conflictError = (
  { redis, storage }: Pick<IdentityPorts, 'redis' | 'storage'>,
  known: Identity,
  marker: Pick<ArchiveMarker, 'id'> | undefined,
): DocketError =>
  new DocketError('deployment.conflict', 'Redis and the archive belong to different deployments.', {
    where: `Redis at ${redisName(redis)}, archive at ${storage.location}`,
    expected: `the archive ${known.id}, which Redis has known since ${new Date(known.since).toISOString()}`,
    got: marker === undefined ? `an archive without a marker, ${ARCHIVE_MARKER}` : `the archive ${marker.id}`,
    next: CONFLICT_HINT,
  });

const emptyArchiveError = ({ redis, storage }: Pick<IdentityPorts, 'redis' | 'storage'>): DocketError =>
  new DocketError('deployment.conflict', 'Redis has records of archived runs, and the archive is empty.', {
    where: `Redis at ${redisName(redis)}, archive at ${storage.location}`,
    expected: 'the archive of these runs',
    got: `an archive without runs and without a marker, ${ARCHIVE_MARKER}`,
    next: CONFLICT_HINT,
  });

const markerMissingError = (location: string): DocketError =>
  new DocketError('archive.marker_missing', `The archive has no marker, ${ARCHIVE_MARKER}.`, { where: location });

/** Repeats the check periodically. Ignores an unreachable Redis, which is reported elsewhere. */
export const confirmIdentity = (identity: DeploymentIdentity) => async (): Promise<void> => {
  await identity.confirm().catch((thrown: unknown) => {
    if (!isRedisOutage(toDocketError(thrown))) throw thrown;
  });
};

/** How long to wait for the archive, ms. */
const ARCHIVE_TIMEOUT_MS = 10_000;

/** Runs an operation on the archive. Throws `archive.unreachable` on timeout, and the operation's own errors. */
export type ArchiveTimeout = <T>(operation: () => Promise<T>) => Promise<T>;

/**
 * Creates a timeout for archive operations. A network share without its server never answers, and each operation on it
 * blocks one of the process's few threads for files and host names. So while one is pending, further ones fail at once.
 */
function createArchiveTimeout(location: string, timeoutMs: number = ARCHIVE_TIMEOUT_MS): ArchiveTimeout {
  let pending = false;
  const timeoutError = (): DocketError =>
    new DocketError('archive.unreachable', `The archive did not answer within ${timeoutMs} ms.`, {
      where: location,
      next: 'Check the disk or the network share behind it.',
    });
  return async (operation) => {
    if (pending) throw timeoutError();
    const result = operation();
    if (await settlesWithin(result, timeoutMs)) return result;
    pending = true;
    const onSettled = () => {
      pending = false;
    };
    result.then(onSettled, onSettled);
    throw timeoutError();
  };
}
