import { DocketError } from '../../base/error.ts';
import { ARCHIVE_MARKER, type ArchiveMarker, readMarker } from '../../deliver/archive/archive-marker.ts';
import { type Identity, readIdentity } from '../../redis/identity.ts';
import { type CheckResult, fail, ok } from '../../services/deployment/probe.ts';
import { withArchive } from '../archive.ts';
import type { Examination } from './probe-context.ts';

/** @param known the identity in Redis; `away` if Redis is unreachable */
export function evaluateIdentity(known: Identity | 'away' | undefined, marker: ArchiveMarker | undefined): CheckResult {
  const archive = marker === undefined ? `the archive has no marker, ${ARCHIVE_MARKER}` : `the archive is ${marker.id}`;
  if (known === 'away') return ok(`${archive}; Redis cannot be reached`);
  if (known === undefined) {
    return marker === undefined
      ? ok('neither Redis nor the archive has an identity; the first start creates it')
      : ok(`${archive}; Redis has no identity and takes this one at the next start`);
  }
  const since = `since ${new Date(known.since).toISOString()}`;
  if (marker?.id !== known.id) {
    return fail(
      `Redis belongs to the archive ${known.id} ${since}; ${archive}`,
      'Mount the archive if it is not mounted; otherwise correct DOCKET_ARCHIVE or REDIS_URL. docket start --adopt joins them.',
    );
  }
  return ok(`${known.id}, in Redis and in the archive${known.restored ? `; restored in Redis ${since}` : ''}`);
}

/** Checks that Redis and the archive belong to the same deployment. Changes nothing. */
export const checkDeploymentIdentity = ({ context, redis, server, prefix }: Examination): Promise<CheckResult> =>
  withArchive(context, async ({ storage }) => {
    if (context.redis) return ok('none: the Redis is private');
    const [marker, known] = await Promise.all([
      readMarker(storage),
      redis === undefined || server instanceof DocketError ? ('away' as const) : readIdentity(redis, prefix),
    ]);
    return evaluateIdentity(known, marker);
  });
