import { resolve } from 'node:path';
import type { AppContext } from '../base/context.ts';
import { toDocketError } from '../base/error.ts';
import type { Log } from '../base/log.ts';
import { createScope, type Scope } from '../base/scope.ts';
import { secretSource } from '../base/secrets/secret.ts';
import type { Archive } from '../deliver/archive/archive.ts';
import { type RunChain, runChain } from '../deliver/archive/chain/run-chain.ts';
import { parseSigningKey } from '../deliver/archive/chain/signing-key.ts';
import { createArchive } from '../deliver/archive/create-archive.ts';
import type { ArchiveStorage } from '../deliver/archive/storage/archive-storage.ts';
import { directoryStorage } from '../deliver/archive/storage/directory-storage.ts';
import { createMarkerCheck, markerCheckedStorage } from '../deliver/archive/storage/marker-check.ts';
import { s3Storage } from '../deliver/archive/storage/s3-storage.ts';
import type { Ledger } from '../deliver/ledger/ledger.ts';
import type { RunStore } from '../run/run-record.ts';
import {
  type DeploymentIdentity,
  deploymentIdentity,
  type IdentityPorts,
} from '../services/deployment/deployment-identity.ts';
import {
  type FindEarlierDelivery,
  findDeliveredInArchive,
  findDeliveredInRecords,
  firstFound,
} from '../services/runs/already-delivered.ts';

/** The archive that `DOCKET_ARCHIVE` names, and what it stands on. */
export interface OpenArchive {
  readonly archive: Archive;
  readonly storage: ArchiveStorage;
  /** Absent where no key is named: nothing is signed, and nothing compared with a chain. */
  readonly signing?: RunChain;
}

/**
 * Between two reads of the marker of a bucket, ms: a request each, and a bucket cannot be unmounted. That of a directory
 * is read each time.
 */
const BUCKET_MARKER_TTL_MS = 5_000;

/**
 * Nothing is asked of it yet.
 *
 * @param scope lets go of a store's connections
 * @param identity whose archive it has to be whenever it is written to; absent for those who only read it
 */
export function openArchive(
  context: Omit<AppContext, 'log'>,
  scope: Scope,
  identity?: Pick<DeploymentIdentity, 'id'>,
): OpenArchive {
  const { config, env, clock } = context;
  const place = config.DOCKET_ARCHIVE ?? { kind: 'directory', folder: resolve('archive') };
  const secrets = secretSource(env, context);
  const bare = place.kind === 'directory' ? directoryStorage(place.folder) : s3Storage(place, secrets);
  scope.use(bare, (opened) => opened.close());
  const maxAgeMs = place.kind === 'directory' ? 0 : BUCKET_MARKER_TTL_MS;
  const storage =
    identity === undefined
      ? bare
      : markerCheckedStorage(bare, createMarkerCheck(bare, identity.id, { now: clock.now, maxAgeMs }), clock.now);
  const ref = config.DOCKET_SIGNING_KEY;
  if (ref === undefined) return { storage, archive: createArchive(storage, clock) };
  const readKey = async () => parseSigningKey(await secrets(ref), 'DOCKET_SIGNING_KEY');
  const signing = runChain(storage, readKey, clock);
  return { storage, archive: createArchive(storage, clock, signing), signing };
}

/**
 * The identity of the deployment of this Redis and the archive that `DOCKET_ARCHIVE` names. Nothing is asked yet.
 *
 * @param writes whether the process writes into the archive
 */
export const openIdentity = (
  context: AppContext,
  ports: Pick<IdentityPorts, 'redis' | 'prefix' | 'runs' | 'writes'>,
  scope: Scope,
): DeploymentIdentity => deploymentIdentity(identityPorts(context, ports, scope));

export const identityPorts = (
  context: AppContext,
  ports: Pick<IdentityPorts, 'redis' | 'prefix' | 'runs' | 'writes'>,
  scope: Scope,
): IdentityPorts => ({
  ...ports,
  storage: openArchive(context, scope).storage,
  clock: context.clock,
  log: context.log,
});

/**
 * Tries a bucket when a worker starts. One that does not answer keeps nobody from starting: runs wait for it. Throws
 * `config.secret_missing`.
 */
export async function checkBucket(shelf: ArchiveStorage, log: Log): Promise<void> {
  if (!shelf.location.startsWith('s3:')) return;
  try {
    const { ok, detail } = await shelf.probe();
    if (!ok) log.warn('The archive does not keep what stands there', { why: detail });
  } catch (thrown) {
    const error = toDocketError(thrown);
    if (error.code === 'config.secret_missing') throw error;
    log.error('The archive cannot be used; runs wait until it can', { error: error.toJSON() });
  }
}

/** Gives the archive to a command, and closes it behind it. */
export async function withArchive<T>(
  context: Omit<AppContext, 'log'>,
  work: (opened: OpenArchive) => Promise<T>,
): Promise<T> {
  const scope = createScope();
  try {
    return await work(openArchive(context, scope));
  } finally {
    await scope.close();
  }
}

/**
 * Finds what was delivered already: as Redis knows it and, where that knows of nothing, the archive. So a Redis that was emptied,
 * or has let a record expire, does not make anybody receive a report twice. Undefined where `DOCKET_REPEAT=allow` says that
 * nobody is asked. Asks nothing yet; the scope closes the archive.
 */
export function composeFindDelivered(
  context: AppContext,
  ports: { readonly runs: Pick<RunStore, 'list'>; readonly ledger: Pick<Ledger, 'list'> },
  scope: Scope,
): FindEarlierDelivery | undefined {
  if (context.config.DOCKET_REPEAT === 'allow') return undefined;
  return firstFound([
    findDeliveredInRecords(ports),
    findDeliveredInArchive(openArchive(context, scope).storage, context.log),
  ]);
}
