import type { Audit } from '../admin/auth/audit.ts';
import type { Clock } from '../base/clock.ts';
import { DocketError, isRedisOutage, toDocketError } from '../base/error.ts';
import type { Log } from '../base/log.ts';
import type { RedisClient } from '../base/redis-client.ts';
import { type Identity, keepIdentity, readIdentity, replaceIdentity } from '../base/redis-identity.ts';
import {
  ARCHIVE_MARKER,
  type ArchiveMarker,
  createMarker,
  markDeployed,
  newArchiveId,
  readMarker,
} from '../deliver/archive-marker.ts';
import { holdsRuns } from '../deliver/holds-runs.ts';
import { readNewestRun } from '../deliver/newest-run.ts';
import type { Shelf } from '../deliver/shelf.ts';
import { redisName } from '../queue/connection.ts';
import type { RunState, RunStore } from '../run/record.ts';
import { type AskArchive, archiveLimit } from './archive-limit.ts';

/** States of runs whose files were archived. */
const ARCHIVED: readonly RunState[] = ['done', 'partly_delivered', 'held'];

/**
 * Which deployment a process belongs to: the random id that Redis and the archive's marker agree on. Paths, hosts and the
 * jobs folder are no identity: releases move them.
 */
export interface DeploymentIdentity {
  /**
   * The archive's id. Compared with Redis when it is asked for first, and again until both could be read; a conflict that
   * `confirm` has found is thrown as well. Throws `deployment.conflict`, and whatever keeps Redis or the archive from being read.
   */
  id(): Promise<string>;
  /** The same, where it was compared already. */
  known(): string | undefined;
  /**
   * Compares at the start of a process. An archive that cannot be used just now keeps nobody from starting: runs wait
   * for it. Throws `deployment.conflict`, `archive.corrupt`, `config.secret_missing`.
   */
  start(): Promise<void>;
  /** Looks at Redis again: puts back an id that it has forgotten, and finds out that it has got another. */
  confirm(): Promise<void>;
  /** The conflict that `confirm` has found. */
  conflict(): DocketError | undefined;
}

/** Who joins what does not belong together, on purpose. */
export interface Adopter {
  readonly who: string;
}

export interface IdentityPorts {
  readonly redis: RedisClient;
  readonly prefix: string;
  /** Not guarded by the marker: it is what the marker is read from. */
  readonly shelf: Pick<Shelf, 'place' | 'notes' | 'runs'>;
  readonly runs: Pick<RunStore, 'list' | 'get'>;
  readonly clock: Clock;
  readonly log: Log;
  /**
   * Whether the process writes into the archive: then there has to be one. Otherwise (a scheduler, a command that
   * enqueues) it is compared where its marker can be read, and none is created.
   */
  readonly writes: boolean;
  /** Ms that an answer of the archive is waited for; ten seconds when absent. */
  readonly limitMs?: number;
}

type Asking = IdentityPorts & { readonly ask: AskArchive };

export function deploymentIdentity(given: IdentityPorts): DeploymentIdentity {
  const ports: Asking = { ...given, ask: archiveLimit(given.shelf.place, given.limitMs) };
  const { redis, prefix, shelf, log, writes } = ports;
  let matching: Promise<string> | undefined;
  let id: string | undefined;
  let found: DocketError | undefined;

  const get = async (): Promise<string> => {
    if (found !== undefined) throw found;
    if (id !== undefined) return id;
    matching ??= matchedId(ports).finally(() => {
      matching = undefined;
    });
    id = await matching;
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
          log.info('The archive cannot be read here and was not compared with Redis', {
            path: shelf.place,
            error: error.toJSON(),
          });
          return;
        }
        if (!waits) throw error;
        log.error('The archive cannot be used; runs wait until it can', { error: error.toJSON() });
      }
    },
    confirm: async () => {
      if (id === undefined) return;
      const known = await readIdentity(redis, prefix);
      if (known === undefined) {
        await keepIdentity(redis, prefix, id, { restored: true });
        log.warn('Redis had forgotten which deployment it belongs to and was told again', { url: redisName(redis) });
        return;
      }
      const before = found;
      found = known.id === id ? undefined : conflictOf(ports, known, { id });
      if (found !== undefined && before === undefined) {
        log.error('Redis belongs to another deployment now; nothing is written to the archive', {
          error: found.toJSON(),
        });
      }
    },
    conflict: () => found,
  };
}

async function matchedId(ports: Asking): Promise<string> {
  const { redis, prefix, shelf, clock, log, writes, ask } = ports;
  const [marker, known] = await Promise.all([ask(() => readMarker(shelf)), readIdentity(redis, prefix)]);
  if (known !== undefined) {
    if (marker?.id === known.id) {
      await noticeSetBack(ports, known);
      if (writes && !marker.deployed) await ask(() => markDeployed(shelf, marker));
      return known.id;
    }
    if (marker === undefined && !writes) throw notCompared(shelf.place);
    throw conflictOf(ports, known, marker);
  }
  if (marker?.deployed) {
    const kept = await keepIdentity(redis, prefix, marker.id, { restored: true });
    if (kept.id !== marker.id) throw conflictOf(ports, kept, marker);
    // Otherwise somebody who began at the same moment has told it for the first time.
    if (!kept.restored) return marker.id;
    log.warn('Redis did not know the archive, which was used before: Redis was emptied, or is another one', {
      path: shelf.place,
      url: redisName(redis),
    });
    return marker.id;
  }
  if (marker !== undefined) return begin(ports, marker);
  if (!writes) throw notCompared(shelf.place);
  // Before Redis learns of it: of two who start at once with one archive, both read the same marker.
  if ((await hasArchived(ports)) && !(await ask(() => holdsRuns(shelf)))) throw emptyArchive(ports);
  return begin(ports, await ask(() => createMarker(shelf, newArchiveId(), clock.now())));
}

/** A Redis that was restored from a backup knows its identity, and not what came after: the last archived run shows it. */
async function noticeSetBack({ redis, prefix, shelf, runs, log, ask }: Asking, known: Identity): Promise<void> {
  const newest = await ask(() => readNewestRun(shelf.notes));
  if (newest === undefined || newest.at <= known.since || (await runs.get(newest.run)) !== undefined) return;
  await replaceIdentity(redis, prefix, known.id, known.id, { restored: true });
  log.warn('Redis does not know the last archived run: it was set back to before it', {
    run: newest.run,
    path: shelf.place,
    url: redisName(redis),
  });
}

/** Redis learns of the id before the marker says so: whoever reads that it is deployed never comes before Redis was told. */
async function begin(ports: Asking, marker: ArchiveMarker): Promise<string> {
  const { redis, prefix, shelf, writes, ask } = ports;
  const kept = await keepIdentity(redis, prefix, marker.id, { restored: false });
  if (kept.id !== marker.id) throw conflictOf(ports, kept, marker);
  if (writes && !marker.deployed) await ask(() => markDeployed(shelf, marker));
  return marker.id;
}

const hasArchived = async ({ runs }: Pick<IdentityPorts, 'runs'>): Promise<boolean> =>
  (await runs.list({ states: ARCHIVED, limit: 1 })).length > 0;

/**
 * Joins Redis and the archive on purpose, where they do not belong together: Redis takes the id of the archive; an archive
 * without one takes that of Redis. Says in the log and the audit log what was joined.
 */
export async function adoptDeployment(
  ports: IdentityPorts,
  audit: Pick<Audit, 'tell'>,
  { who }: Adopter,
): Promise<void> {
  const { redis, prefix, shelf, clock, log, limitMs } = ports;
  const ask = archiveLimit(shelf.place, limitMs);
  const [marker, known] = await Promise.all([ask(() => readMarker(shelf)), readIdentity(redis, prefix)]);
  if (marker?.id === known?.id && marker !== undefined) return;
  const why = await (async () => {
    if (marker !== undefined && known !== undefined) {
      const kept = await replaceIdentity(redis, prefix, marker.id, known.id);
      if (kept.id !== marker.id) throw conflictOf(ports, kept, marker);
      return `Redis belongs to the archive ${marker.id} now, and to ${known.id} no more`;
    }
    if (marker !== undefined) return undefined;
    const created = await ask(() => createMarker(shelf, known?.id ?? newArchiveId(), clock.now()));
    const kept = known ?? (await keepIdentity(redis, prefix, created.id, { restored: false }));
    if (kept.id !== created.id) throw conflictOf(ports, kept, created);
    return `the archive, which had no marker, is ${created.id} now`;
  })();
  if (why === undefined) return;
  log.warn('The deployment was adopted', { path: shelf.place, url: redisName(redis), who, why });
  await audit.tell({ event: 'deployment.adopted', who, why: `${why} (${shelf.place})` });
}

const NEXT =
  'Mount the archive if it is not mounted; otherwise correct DOCKET_ARCHIVE or REDIS_URL. To join the two on purpose, stop all processes and run docket start --adopt once.';

const conflictOf = (
  { redis, shelf }: Pick<IdentityPorts, 'redis' | 'shelf'>,
  known: Identity,
  marker: Pick<ArchiveMarker, 'id'> | undefined,
): DocketError =>
  new DocketError('deployment.conflict', 'Redis and the archive belong to different deployments.', {
    where: `Redis at ${redisName(redis)}, archive at ${shelf.place}`,
    expected: `the archive ${known.id}, which Redis has known since ${new Date(known.since).toISOString()}`,
    got: marker === undefined ? `an archive without a marker, ${ARCHIVE_MARKER}` : `the archive ${marker.id}`,
    next: NEXT,
  });

const emptyArchive = ({ redis, shelf }: Pick<IdentityPorts, 'redis' | 'shelf'>): DocketError =>
  new DocketError('deployment.conflict', 'Redis has records of archived runs, and the archive is empty.', {
    where: `Redis at ${redisName(redis)}, archive at ${shelf.place}`,
    expected: 'the archive of these runs',
    got: `an archive without runs and without a marker, ${ARCHIVE_MARKER}`,
    next: NEXT,
  });

const notCompared = (place: string): DocketError =>
  new DocketError('archive.marker_missing', `The archive has no marker, ${ARCHIVE_MARKER}.`, { where: place });

/** A step for a process that goes on: Redis being away is said by whoever has work there. */
export const confirmIdentity = (identity: DeploymentIdentity) => async (): Promise<void> => {
  await identity.confirm().catch((thrown: unknown) => {
    if (!isRedisOutage(toDocketError(thrown))) throw thrown;
  });
};
