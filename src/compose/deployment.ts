import type { AppContext } from '../base/context.ts';
import { type Log, silentLog } from '../base/log.ts';
import type { Scope } from '../base/scope.ts';
import { secretSource } from '../base/secrets/secret.ts';
import { correctionArchive } from '../deliver/archive/corrections/correction-archive.ts';
import { archivedDenials, sharedDenials } from '../deliver/denials/shared-denials.ts';
import { redisLastSentFigures } from '../deliver/last-sent-figures.ts';
import { redisLedger } from '../deliver/ledger/redis-ledger.ts';
import { archivedSwitches } from '../deliver/switches/archived-switches.ts';
import { sharedSwitches } from '../deliver/switches/shared-switches.ts';
import { deleteResponses } from '../fetch/cache/redis-response-store.ts';
import { definitionStore } from '../queue/definitions/definition-store.ts';
import { type RunQueue, runQueue } from '../queue/jobs/run-queue.ts';
import { redisInlineLeases } from '../queue/runs/inline-leases.ts';
import { failAbandoned } from '../queue/runs/inline-run.ts';
import { redisNoticeOutbox } from '../queue/runs/notice-outbox.ts';
import { redisRunStore } from '../queue/runs/run-store.ts';
import { redisSearchIndex, type SearchIndexOptions } from '../queue/runs/search-index.ts';
import { redisPauses } from '../queue/schedules/pauses.ts';
import type { RedisClient } from '../redis/client.ts';
import { DEFAULT_KEY_PREFIX, RETENTION_DAYS } from '../redis/keys.ts';
import { redisAuditLog } from '../services/audit-log.ts';
import { createEditionStore } from '../services/corrections/edition-store.ts';
import { reconcileWithArchive } from '../services/deliveries/ledger-repair.ts';
import type { Deployment } from '../services/deployment/deployment.ts';
import type { DeploymentIdentity } from '../services/deployment/deployment-identity.ts';
import { composeClaims, composeFindDelivered, openArchive, openIdentity, openReviews } from './archive.ts';
import { reportFileSchema } from './built-in-kinds.ts';

export interface DeploymentSettings {
  readonly redis: RedisClient;
  /** Prefix of all Redis keys. */
  readonly prefix?: string | undefined;
  readonly orgs?: Deployment['orgs'] | undefined;
  /** Absent: opens a queue. */
  readonly queue?: RunQueue | undefined;
  /** From a process that has confirmed it. Absent: it is confirmed before the first write. */
  readonly identity?: DeploymentIdentity | undefined;
  /** Whether the process writes to the archive, and so creates a missing marker. Default: true. */
  readonly writes?: boolean;
  readonly search?: Pick<SearchIndexOptions, 'clock' | 'maxWaitMs'>;
  /** Where audited actions are logged. Absent: the log of the process. */
  readonly auditLog?: Log | undefined;
}

/** The log for audited actions of a command. A command prints its actions itself, so only failed writes are logged. */
export const commandAuditLog = ({ log }: AppContext): Log => ({ ...silentLog, error: log.error });

/**
 * The deployment over a connected client. Accesses neither Redis nor the archive yet. The scope closes what it opens.
 */
export function openDeployment(context: AppContext, settings: DeploymentSettings, scope: Scope) {
  const { clock, log } = context;
  const { redis, prefix = DEFAULT_KEY_PREFIX, orgs = () => new Map(), search, writes = true } = settings;
  const kept = { prefix, keepDays: RETENTION_DAYS };
  const keyPrefix = { prefix: `${prefix}:` };
  const runs = redisRunStore(redis, { ...kept, log, ended: deleteResponses(redis, keyPrefix) });
  const identity = settings.identity ?? openIdentity(context, { redis, prefix, runs, writes }, scope);
  const { archive, storage, signing } = openArchive(context, scope, identity);
  return {
    ...context,
    redis,
    prefix,
    secrets: secretSource(context.env, context),
    orgs,
    runs,
    definitions: definitionStore(redis, { ...kept, reportSchema: reportFileSchema }),
    searchIndex: redisSearchIndex(redis, { ...kept, ...search, log }),
    queue: settings.queue ?? scope.add(runQueue(redis, { prefix })),
    pauses: redisPauses(redis, { prefix }),
    noticeOutbox: redisNoticeOutbox(redis, { prefix }),
    audit: redisAuditLog(redis, { prefix, clock, log: settings.auditLog ?? log }),
    ledger: redisLedger(redis, { ...keyPrefix, ttlDays: RETENTION_DAYS }),
    archive,
    storage,
    signing,
    switches: sharedSwitches(redis, archivedSwitches(storage), { prefix, clock }),
    denials: sharedDenials(redis, archivedDenials(storage), { prefix, clock }),
    reviews: openReviews(storage, signing),
    corrections: correctionArchive(storage, signing?.events),
    identity,
  } satisfies Deployment & { readonly identity: DeploymentIdentity };
}

/** What processes that deliver need besides the deployment. */
export function openDelivering(context: AppContext, deployment: Deployment, scope: Scope) {
  const { redis, prefix } = deployment;
  const findDelivered = composeFindDelivered(context, deployment, scope);
  const leases = redisInlineLeases(redis, { prefix });
  return {
    editions: createEditionStore(deployment),
    findDelivered,
    claims: composeClaims(deployment, findDelivered),
    sentFigures: redisLastSentFigures(redis, { prefix: `${prefix}:` }),
    leases,
    /** Ends the runs of commands that were killed. */
    endAbandoned: () =>
      failAbandoned({ ...deployment, leases, rowsAtEnd: (order) => reconcileWithArchive(order, deployment) }),
  };
}
