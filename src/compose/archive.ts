import { resolve } from 'node:path';
import type { AppContext } from '../base/context.ts';
import { toDocketError } from '../base/error.ts';
import type { Log } from '../base/log.ts';
import { findProxyBy } from '../base/net/proxies.ts';
import { type Scope, withScope } from '../base/scope.ts';
import { secretSource } from '../base/secrets/secret.ts';
import type { Archive } from '../deliver/archive/archive.ts';
import { type RunChain, runChain } from '../deliver/archive/chain/run-chain.ts';
import { parseSigningKey } from '../deliver/archive/chain/signing-key.ts';
import { createArchive } from '../deliver/archive/create-archive.ts';
import { createReviewArchive } from '../deliver/archive/reviews/create-review-archive.ts';
import type { ArchiveStorage } from '../deliver/archive/storage/archive-storage.ts';
import { directoryStorage } from '../deliver/archive/storage/directory-storage.ts';
import { createMarkerCheck, markerCheckedStorage } from '../deliver/archive/storage/marker-check.ts';
import { s3Storage } from '../deliver/archive/storage/s3-storage.ts';
import { archiveClaims } from '../deliver/claims/archive-claims.ts';
import { type PeriodClaims, redisClaims } from '../deliver/claims/claim.ts';
import { RETENTION_DAYS } from '../redis/keys.ts';
import type { Reviews } from '../run/review/load-review.ts';
import { reviewEventSchema } from '../run/review/review-event.ts';
import type { Deployment } from '../services/deployment/deployment.ts';
import {
  archiveOnlyIdentity,
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
import { createPeriodClaims } from '../services/runs/period-claims.ts';

/** The archive at `DOCKET_ARCHIVE`, and its storage. */
export interface OpenArchive {
  readonly archive: Archive;
  readonly storage: ArchiveStorage;
  /** Absent without a signing key: nothing is signed or verified then. */
  readonly signing?: RunChain;
}

/**
 * Minimum ms between two reads of a bucket's marker, because each is a request. The marker of a directory is read every
 * time.
 */
const BUCKET_MARKER_TTL_MS = 5_000;

/**
 * Opens the archive without accessing it.
 *
 * @param scope closes its connections
 * @param identity the deployment that the archive must belong to on each write; absent for readers
 */
export function openArchive(
  context: Omit<AppContext, 'log'>,
  scope: Scope,
  identity?: Pick<DeploymentIdentity, 'id'>,
): OpenArchive {
  const { config, env, clock } = context;
  const location = config.DOCKET_ARCHIVE ?? { kind: 'directory', folder: resolve('archive') };
  const secrets = secretSource(env, context);
  const unchecked =
    location.kind === 'directory'
      ? directoryStorage(location.folder)
      : s3Storage(location, secrets, undefined, findProxyBy(config, secrets));
  scope.add(unchecked);
  const maxAgeMs = location.kind === 'directory' ? 0 : BUCKET_MARKER_TTL_MS;
  const storage =
    identity === undefined
      ? unchecked
      : markerCheckedStorage(
          unchecked,
          createMarkerCheck(unchecked, identity.id, { now: clock.now, maxAgeMs }),
          clock.now,
        );
  const ref = config.DOCKET_SIGNING_KEY;
  if (ref === undefined) return { storage, archive: createArchive(storage, clock) };
  const readKey = async () => parseSigningKey(await secrets(ref), 'DOCKET_SIGNING_KEY');
  const signing = runChain(storage, readKey, clock);
  return { storage, archive: createArchive(storage, clock, signing), signing };
}

/** Identifies the deployment that this Redis and the archive at `DOCKET_ARCHIVE` belong to. Accesses neither yet. */
export const openIdentity = (
  context: AppContext,
  ports: Pick<IdentityPorts, 'redis' | 'prefix' | 'runs' | 'writes'>,
  scope: Scope,
): DeploymentIdentity =>
  context.redis
    ? archiveOnlyIdentity(openArchive(context, scope).storage, context.clock)
    : deploymentIdentity(identityPorts(context, ports, scope));

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

/** The reviews of an archive. @param signing absent without a signing key */
export const openReviews = (storage: ArchiveStorage, signing?: RunChain): Reviews =>
  createReviewArchive(storage, reviewEventSchema, signing?.events);

/** Errors of a bucket that end the start, because waiting does not fix them. */
const FATAL: ReadonlySet<string> = new Set(['config.secret_missing', 'archive.unconditional']);

/**
 * Probes a bucket when a process that writes starts. An unreachable bucket does not prevent the start: runs wait for
 * it. Throws `config.secret_missing`, and with a signing key `archive.unconditional`.
 */
export async function checkBucket(
  { storage, signing }: { readonly storage: ArchiveStorage; readonly signing?: RunChain | undefined },
  log: Log,
): Promise<void> {
  if (!storage.location.startsWith('s3:')) return;
  try {
    const { ok, detail } = await storage.probe();
    if (!ok) log.warn('The archive does not protect its objects', { why: detail });
    await signing?.assertUsable();
  } catch (thrown) {
    const error = toDocketError(thrown);
    if (FATAL.has(error.code)) throw error;
    log.error('The archive cannot be used; runs wait until it can', { error: error.toJSON() });
  }
}

/** Opens the archive for a command, and closes it afterwards. */
export const withArchive = <T>(
  context: Omit<AppContext, 'log'>,
  work: (opened: OpenArchive) => Promise<T>,
): Promise<T> => withScope((scope) => work(openArchive(context, scope)));

/**
 * Searches Redis, then the archive, for an earlier delivery. Both, so that an emptied Redis or an expired record does
 * not cause a second delivery. Undefined with `DOCKET_REPEAT=allow`. The scope closes the archive.
 */
export function composeFindDelivered(
  context: AppContext,
  deployment: Deployment,
  scope: Scope,
): FindEarlierDelivery | undefined {
  if (context.config.DOCKET_REPEAT === 'allow') return undefined;
  return firstFound([
    findDeliveredInRecords(deployment),
    findDeliveredInArchive(openArchive(context, scope).storage, context.log),
  ]);
}

/**
 * The claims of periods, in Redis and the archive. Undefined with `DOCKET_REPEAT=allow`.
 *
 * @param find result of `composeFindDelivered`
 */
export const composeClaims = (
  deployment: Deployment,
  find: FindEarlierDelivery | undefined,
): PeriodClaims | undefined => {
  if (find === undefined) return undefined;
  const inRedis = redisClaims(deployment.redis, { prefix: `${deployment.prefix}:`, ttlDays: RETENTION_DAYS });
  return createPeriodClaims(deployment, [inRedis, archiveClaims(deployment.storage)], find);
};
