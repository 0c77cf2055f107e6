import type { RedisClient } from '../../base/redis-client.ts';
import { type Identity, readIdentity } from '../../base/redis-identity.ts';
import { withArchive } from '../../compose/archive.ts';
import type { Surroundings } from '../../compose/ports.ts';
import { ARCHIVE_MARKER, type ArchiveMarker, readMarker } from '../../deliver/archive-marker.ts';
import { DEFAULT_PREFIX } from '../../queue/keys.ts';
import { examine, type Finding, fail, ok, type Verdict } from './finding.ts';

/** @param known what Redis says; `away` where it cannot be asked */
export function judgeIdentity(known: Identity | 'away' | undefined, marker: ArchiveMarker | undefined): Verdict {
  const archive = marker === undefined ? `the archive has no marker, ${ARCHIVE_MARKER}` : `the archive is ${marker.id}`;
  if (known === 'away') return ok(`${archive}; Redis cannot be asked`);
  if (known === undefined) {
    return marker === undefined
      ? ok('neither Redis nor the archive has an identity; the first start creates it')
      : ok(`${archive}; Redis does not know it and learns it at the next start`);
  }
  const since = `since ${new Date(known.since).toISOString()}`;
  if (marker?.id !== known.id) {
    return fail(
      `Redis belongs to the archive ${known.id} ${since}; ${archive}`,
      'Mount the archive if it is not mounted; otherwise correct DOCKET_ARCHIVE or REDIS_URL. docket start --adopt joins them on purpose.',
    );
  }
  return ok(
    `${known.id}, in Redis and in the archive${known.restored ? `; Redis had lost it and has it again ${since}` : ''}`,
  );
}

/** Whether Redis and the archive belong to one deployment. Changes nothing. */
export const examineIdentity = (around: Surroundings, redis: RedisClient | undefined): Promise<Finding> =>
  examine('Deployment', () =>
    withArchive(around, async ({ shelf }) => {
      const [marker, known] = await Promise.all([
        readMarker(shelf),
        redis === undefined ? ('away' as const) : readIdentity(redis, DEFAULT_PREFIX),
      ]);
      return judgeIdentity(known, marker);
    }),
  );
