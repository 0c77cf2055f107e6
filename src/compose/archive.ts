import { resolve } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { toDocketError } from '../base/error.ts';
import type { Log } from '../base/log.ts';
import { createScope, type Scope } from '../base/scope.ts';
import { secretSource } from '../base/secret.ts';
import type { Archive } from '../deliver/archive.ts';
import { createMarker, newArchiveId, readMarker } from '../deliver/archive-marker.ts';
import { type ChainedRuns, chainedRuns } from '../deliver/chained-runs.ts';
import { directoryShelf } from '../deliver/directory-shelf.ts';
import { markedShelf, markerCheck } from '../deliver/marked-shelf.ts';
import { s3Shelf } from '../deliver/s3-shelf.ts';
import type { Shelf } from '../deliver/shelf.ts';
import { shelfArchive } from '../deliver/shelf-archive.ts';
import { readSigningKey } from '../deliver/signing-key.ts';
import { ENDED, type RunStore } from '../run/record.ts';
import { type DeploymentIdentity, deploymentIdentity, type IdentityPorts } from './deployment-identity.ts';
import type { Surroundings } from './ports.ts';

/** The archive that `DOCKET_ARCHIVE` names, and what it stands on. */
export interface OpenArchive {
  readonly archive: Archive;
  readonly shelf: Shelf;
  /** Absent where no key is named: nothing is signed, and nothing compared with a chain. */
  readonly signing?: ChainedRuns;
}

/**
 * Between two reads of the marker of a bucket, ms: a request each, and a bucket cannot be unmounted. That of a directory
 * is read each time.
 */
const BUCKET_MARKER_INTERVAL_MS = 5_000;

/**
 * Nothing is asked of it yet.
 *
 * @param scope lets go of a store's connections
 * @param identity whose archive it has to be whenever it is written to; absent for those who only read it
 */
export function openArchive(
  around: Omit<Surroundings, 'log'>,
  scope: Scope,
  identity?: Pick<DeploymentIdentity, 'id'>,
): OpenArchive {
  const { config, env, clock } = around;
  const place = config.DOCKET_ARCHIVE ?? { kind: 'directory', folder: resolve('archive') };
  const secrets = secretSource(env, around);
  const bare = place.kind === 'directory' ? directoryShelf(place.folder) : s3Shelf(place, secrets);
  scope.use(bare, (opened) => opened.close());
  const maxAgeMs = place.kind === 'directory' ? 0 : BUCKET_MARKER_INTERVAL_MS;
  const shelf =
    identity === undefined
      ? bare
      : markedShelf(bare, markerCheck(bare, identity.id, { now: clock.now, maxAgeMs }), clock.now);
  const ref = config.DOCKET_SIGNING_KEY;
  if (ref === undefined) return { shelf, archive: shelfArchive(shelf, clock) };
  const readKey = async () => readSigningKey(await secrets(ref), 'DOCKET_SIGNING_KEY');
  const signing = chainedRuns(shelf, readKey, clock);
  return { shelf, archive: shelfArchive(shelf, clock, signing), signing };
}

/**
 * The identity of the deployment of this Redis and the archive that `DOCKET_ARCHIVE` names. Nothing is asked yet.
 *
 * @param writes whether the process writes into the archive
 */
export const openIdentity = (
  around: Surroundings,
  ports: Pick<IdentityPorts, 'redis' | 'prefix' | 'runs' | 'writes'>,
  scope: Scope,
): DeploymentIdentity => deploymentIdentity(identityPorts(around, ports, scope));

export const identityPorts = (
  around: Surroundings,
  ports: Pick<IdentityPorts, 'redis' | 'prefix' | 'runs' | 'writes'>,
  scope: Scope,
): IdentityPorts => ({ ...ports, shelf: openArchive(around, scope).shelf, clock: around.clock, log: around.log });

/** The identity of an archive without a Redis to compare it with: its marker, which is created where there is none. */
export const ownIdentity = (shelf: Pick<Shelf, 'place' | 'notes'>, clock: Clock): Pick<DeploymentIdentity, 'id'> => ({
  id: async () => ((await readMarker(shelf)) ?? (await createMarker(shelf, newArchiveId(), clock.now()))).id,
});

/**
 * Tries a bucket when a worker starts. One that does not answer keeps nobody from starting: runs wait for it. Throws
 * `config.secret_missing`.
 */
export async function tryShelf(shelf: Shelf, log: Log): Promise<void> {
  if (!shelf.place.startsWith('s3:')) return;
  try {
    const { ok, detail } = await shelf.probe();
    if (!ok) log.warn('The archive does not keep what stands there', { why: detail });
  } catch (thrown) {
    const error = toDocketError(thrown);
    if (error.code === 'config.secret_missing') throw error;
    log.error('The archive cannot be used; runs wait until it can', { error: error.toJSON() });
  }
}

/** Whether somebody may need a run's files yet: it goes on, or is held, and somebody decides whether it leaves. */
export const neededIn =
  (runs: Pick<RunStore, 'get'>) =>
  async (id: string): Promise<boolean> => {
    const record = await runs.get(id);
    return record !== undefined && (record.state === 'held' || !ENDED.has(record.state));
  };

/** Gives the archive to a command, and closes it behind it. */
export async function withArchive<T>(
  around: Omit<Surroundings, 'log'>,
  work: (opened: OpenArchive) => Promise<T>,
): Promise<T> {
  const scope = createScope();
  try {
    return await work(openArchive(around, scope));
  } finally {
    await scope.close();
  }
}
