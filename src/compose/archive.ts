import { resolve } from 'node:path';
import type { Clock } from '../base/clock.ts';
import type { AppContext } from '../base/context.ts';
import { toDocketError } from '../base/error.ts';
import type { Log } from '../base/log.ts';
import { createScope, type Scope } from '../base/scope.ts';
import { secretSource } from '../base/secrets/secret.ts';
import type { Archive } from '../deliver/archive/archive.ts';
import { createMarker, newArchiveId, readMarker } from '../deliver/archive/archive-marker.ts';
import { type FindArchivedRuns, findArchivedRuns } from '../deliver/archive/archived-runs.ts';
import { type RunChain, runChain } from '../deliver/archive/chain/run-chain.ts';
import { parseSigningKey } from '../deliver/archive/chain/signing-key.ts';
import { createArchive } from '../deliver/archive/create-archive.ts';
import type { ArchiveStorage, RunRef } from '../deliver/archive/storage/archive-storage.ts';
import { directoryStorage } from '../deliver/archive/storage/directory-storage.ts';
import { createMarkerCheck, markerCheckedStorage } from '../deliver/archive/storage/marker-check.ts';
import { s3Storage } from '../deliver/archive/storage/s3-storage.ts';
import { findLedgerRuns } from '../deliver/ledger/file-ledger.ts';
import type { Ledger } from '../deliver/ledger/ledger.ts';
import { type RunStore, TERMINAL_STATES } from '../run/run-record.ts';
import {
  type DeploymentIdentity,
  deploymentIdentity,
  type IdentityPorts,
} from '../services/deployment/deployment-identity.ts';
import {
  type FindEarlierDelivery,
  findDeliveredInRecords,
  firstFound,
  summarizeDeliveries,
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

/** The identity of an archive without a Redis to compare it with: its marker, which is created where there is none. */
export const archiveOnlyIdentity = (
  shelf: Pick<ArchiveStorage, 'location' | 'metadata'>,
  clock: Clock,
): Pick<DeploymentIdentity, 'id'> => ({
  id: async () => ((await readMarker(shelf)) ?? (await createMarker(shelf, newArchiveId(), clock.now()))).id,
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

/** Whether somebody may need a run's files yet: it goes on, or is held, and somebody decides whether it leaves. */
export const createNeededCheck =
  (runs: Pick<RunStore, 'get'>) =>
  async (id: string): Promise<boolean> => {
    const record = await runs.get(id);
    return record !== undefined && (record.state === 'held' || !TERMINAL_STATES.has(record.state));
  };

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

/** By the runs in the archive, and by the ledgers there of runs without Redis. */
export function findDeliveredInArchive(
  shelf: Pick<ArchiveStorage, 'listRuns' | 'metadata' | 'location'>,
  log: Log,
): FindEarlierDelivery {
  const unreadable = ({ id: run, org, report }: RunRef, thrown: unknown): void => {
    const error = toDocketError(thrown).toJSON();
    log.warn('What the archive knows of a run could not be read', { run, org, report, error });
  };
  return firstFound([
    findDeliveredIn(findLedgerRuns(shelf, unreadable)),
    findDeliveredIn(findArchivedRuns(shelf, unreadable)),
  ]);
}

const findDeliveredIn =
  (runsOf: FindArchivedRuns): FindEarlierDelivery =>
  async (asked) => {
    for await (const { run, deliveries } of runsOf(asked)) {
      const found = run === asked.id ? undefined : summarizeDeliveries(run, asked.period, deliveries);
      if (found !== undefined) return found;
    }
    return undefined;
  };
