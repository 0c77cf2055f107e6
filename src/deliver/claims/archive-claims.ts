import { sha256 } from '../../base/sha256.ts';
import type { RetainedSince } from '../archive/held-storage.ts';
import { requirePathName } from '../archive/path-names.ts';
import type { ArchiveStorage } from '../archive/storage/archive-storage.ts';
import { honoursConditions } from '../archive/storage/conditional-writes.ts';
import { type ClaimedPeriod, type ClaimStore, claimText, parseClaim } from './claim.ts';

/** Folder in the archive: `<org>/<report>/<first day>..<last day>.<hash of the zone>/<version>.json`. */
const CLAIMS_FOLDER = '.claims';
/** The version is padded, so that names sort as numbers do. */
const VERSION_FILE = /^(\d{6})\.json$/;
const VERSION_PATH = /^([^/]+)\/([^/]+\/[^/]+)\/(\d{6})\.json$/;

const folderOf = ({ org, report, period: { from, to, timezone } }: ClaimedPeriod): string => {
  const period = requirePathName(`${from}..${to}.${sha256(timezone).slice(0, 8)}`, 'period');
  return `${CLAIMS_FOLDER}/${requirePathName(org, 'organization')}/${requirePathName(report, 'report')}/${period}`;
};
const versionFile = (version: number): string => `${String(version).padStart(6, '0')}.json`;

/**
 * Stores claims in the archive, where they survive a loss of Redis. A version of a claim is written only if it does not
 * exist, so only one of two concurrent writers succeeds. A store without conditional writes cannot have claims; they
 * are then in Redis only.
 */
export function archiveClaims({ metadata }: ArchiveStorage): ClaimStore {
  return {
    read: async (of) => {
      if (!(await honoursConditions(metadata))) return undefined;
      const folder = folderOf(of);
      const newest = (await metadata.list(folder)).findLast((name) => VERSION_FILE.test(name));
      const bytes = newest === undefined ? undefined : await metadata.get(`${folder}/${newest}`);
      return newest === undefined || bytes === undefined ? undefined : parseClaim(bytes.toString('utf8'), newest);
    },
    write: async (of, claim, before) => {
      if (!(await honoursConditions(metadata))) return true;
      const version = Number.parseInt(before?.version ?? '0', 10) + 1;
      return metadata.putIfAbsent(`${folderOf(of)}/${versionFile(version)}`, claimText(of, claim));
    },
  };
}

/**
 * Deletes claims older than their organization's retention. Reports failed deletions to `onFailure`.
 * @param retainedSince epoch ms; undefined: no limit
 */
export async function deleteExpiredClaims(
  { metadata }: ArchiveStorage,
  retainedSince: RetainedSince,
  onFailure: (name: string, error: unknown) => void,
): Promise<void> {
  const newest = new Map<string, { readonly org: string; readonly name: string }>();
  for (const name of await metadata.list(CLAIMS_FOLDER)) {
    const [, org, period] = VERSION_PATH.exec(name) ?? [];
    if (org !== undefined && period !== undefined) newest.set(`${org}/${period}`, { org, name });
  }
  for (const [folder, { org, name }] of newest) {
    const since = await retainedSince(org);
    if (since === undefined) continue;
    try {
      const bytes = await metadata.get(`${CLAIMS_FOLDER}/${name}`);
      if (bytes === undefined || parseClaim(bytes.toString('utf8'), name).at >= since) continue;
      await metadata.deleteAll(`${CLAIMS_FOLDER}/${folder}`);
    } catch (error) {
      onFailure(`${CLAIMS_FOLDER}/${folder}`, error);
    }
  }
}
