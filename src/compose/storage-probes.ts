import { join } from 'node:path';
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

/** What a report needs at the least to be made, bytes. */
const MIN_FREE_BYTES = 8 * 1024 * 1024;
const PROBE_BYTES = 64 * 1024;

/** Whether Redis takes writes, and keeps what was written. */
export const redisProbe = (redis: RedisClient, prefix: string): StorageProbe => ({
  part: 'redis_writes',
  intervalMs: REDIS_INTERVAL_MS,
  probe: () => assertWritable(redis, prefix),
});

/** Whether runs can be sealed. */
export const archiveProbe = ({ shelf }: Pick<OpenArchive, 'shelf'>): StorageProbe => ({
  part: 'archive',
  intervalMs: FILES_INTERVAL_MS,
  probe: async () => {
    // Nothing is there under this name: an archive that is not mounted says so before anything is written.
    await shelf.notes.read('.readiness');
    await shelf.probe();
  },
});

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
