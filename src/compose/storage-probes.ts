import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { diskError, diskSpace } from '../base/disk-error.ts';
import { DocketError } from '../base/error.ts';
import type { RedisClient } from '../base/redis-client.ts';
import { writeSynced } from '../deliver/durable-file.ts';
import { assertWritable } from '../queue/redis-writes.ts';
import type { OpenArchive } from './archive.ts';
import type { StorageProbe } from './storage-health.ts';

/** A write costs Redis nothing; one to the archive costs a disk its sync, and a bucket some requests. */
const REDIS_INTERVAL_MS = 15_000;
const FILES_INTERVAL_MS = 60_000;
/** Each write to a bucket is paid for, and may stay as a version. */
const BUCKET_INTERVAL_MS = 5 * 60_000;
/** What stands there is one instant. */
const READINESS_NOTE = '.readiness';

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
export const archiveProbe = ({ shelf }: Pick<OpenArchive, 'shelf'>, { now }: Pick<Clock, 'now'>): StorageProbe =>
  shelf.place.startsWith('s3:')
    ? {
        part: 'archive',
        intervalMs: BUCKET_INTERVAL_MS,
        probe: () => shelf.notes.put(READINESS_NOTE, new Date(now()).toISOString()),
      }
    : {
        part: 'archive',
        intervalMs: FILES_INTERVAL_MS,
        probe: async () => {
          // Nothing is there under this name: an archive that is not mounted says so before anything is written.
          await shelf.notes.read(READINESS_NOTE);
          await shelf.probe();
        },
      };

/** Whether files can be made, with some room for them. */
export const stagingProbe = ({ archive }: Pick<OpenArchive, 'archive'>): StorageProbe => ({
  part: 'staging',
  intervalMs: FILES_INTERVAL_MS,
  probe: async () => {
    const staged = await archive.stage('readiness');
    try {
      await writeSynced(join(staged, 'probe'), new Uint8Array(PROBE_BYTES));
      const space = await diskSpace(staged);
      if (space !== undefined && space.free < MIN_FREE_BYTES) throw noRoom(staged, space.free);
    } catch (thrown) {
      throw await diskError(thrown, staged);
    } finally {
      await archive.discard(staged);
    }
  },
});

const noRoom = (folder: string, free: number): DocketError =>
  new DocketError('disk.unavailable', 'There is hardly any room for files.', {
    where: folder,
    expected: `${MIN_FREE_BYTES} bytes free`,
    got: `${free} bytes free`,
    next: 'Free space on the disk of the folder.',
    cause: Object.assign(new Error('hardly any room'), { code: 'ENOSPC' }),
  });
