import type { AppContext } from '../base/context.ts';
import { type Scope, withScope } from '../base/scope.ts';
import { MINUTE_MS } from '../base/time.ts';
import type { Archive } from '../deliver/archive/archive.ts';
import type { RunChain } from '../deliver/archive/chain/run-chain.ts';
import type { ArchiveStorage } from '../deliver/archive/storage/archive-storage.ts';
import type { Ledger } from '../deliver/ledger/ledger.ts';
import type { DefinitionStore } from '../queue/definitions/definition-store.ts';
import { runQueue } from '../queue/jobs/run-queue.ts';
import type { RedisRunStore } from '../queue/runs/run-store.ts';
import type { SearchIndex } from '../queue/runs/search-index.ts';
import type { RedisClient } from '../redis/client.ts';
import { openRedis, redisAddress } from '../redis/connection.ts';
import { DEFAULT_KEY_PREFIX } from '../redis/keys.ts';
import type { Reviews } from '../run/review/load-review.ts';
import {
  type CorrectionPorts,
  type CorrectionService,
  createCorrectionService,
} from '../services/corrections/correction-service.ts';
import { createDecisionArchive, type DecisionArchivePorts } from '../services/deliveries/decision-archive.ts';
import {
  createDecisionService,
  type DecisionService,
  type DecisionServicePorts,
} from '../services/deliveries/decisions.ts';
import { createReviewService } from '../services/reviews/create-review-service.ts';
import type { ReviewService } from '../services/reviews/review-service.ts';
import { openReviews } from './archive.ts';
import { openDeliveryStores } from './delivery-stores.ts';
import { withPrivateRedis } from './redis.ts';

/** The decision service over parts that the process has opened. */
export const composeDecisionService = (
  ports: Omit<DecisionServicePorts, 'archive' | 'reviews'> &
    DecisionArchivePorts & {
      readonly storage: ArchiveStorage;
      readonly signing?: RunChain | undefined;
    },
): DecisionService =>
  createDecisionService({
    ...ports,
    archive: createDecisionArchive(ports),
    reviews: openReviews(ports.storage, ports.signing),
  });

/** A command waits longer for missing search indexes than a page does. */
const MAX_INDEX_WAIT_MS = 5 * MINUTE_MS;

/** What a command needs to inspect deliveries and to decide about them. */
export interface DecisionContext {
  readonly decisions: DecisionService;
  readonly reviews: ReviewService;
  /** @param settingsNow the current settings of an organization, where this machine has them */
  readonly correctionsWith: (settingsNow: CorrectionPorts['settingsNow']) => CorrectionService;
  readonly reviewArchive: Reviews;
  readonly runs: RedisRunStore;
  readonly definitions: DefinitionStore;
  readonly ledger: Ledger;
  readonly searchIndex: SearchIndex;
  readonly archive: Archive;
  readonly storage: ArchiveStorage;
  readonly redis: RedisClient;
}

/**
 * Opens runs and deliveries of `REDIS_URL` or of a private Redis for as long as `use` takes. Throws `redis.unreachable`.
 *
 * @param decides whether the command changes deliveries: it then throws `deployment.conflict` before any change
 */
export const withDecisions = <T>(
  context: AppContext,
  use: (decisions: DecisionContext) => Promise<T>,
  { decides = false }: { readonly decides?: boolean } = {},
): Promise<T> => withScope(async (scope) => use(await openDecisions(context, decides, scope)));

async function openDecisions(given: AppContext, decides: boolean, scope: Scope): Promise<DecisionContext> {
  const context = await withPrivateRedis(given, scope, 'kept');
  const { clock, log } = context;
  const prefix = DEFAULT_KEY_PREFIX;
  const redis = scope.use(await openRedis(redisAddress(context), 'producer', log), (opened) => opened.disconnect());
  const queue = scope.add(runQueue(redis, { prefix }));
  const search = { clock, maxWaitMs: MAX_INDEX_WAIT_MS };
  const stores = openDeliveryStores(context, { client: redis, prefix }, scope, { search });
  if (decides) await stores.identity.id();
  // No worker may run beside a private Redis.
  if (decides || context.redis) await stores.endAbandoned();
  const ports = { ...stores, queue, clock, log };
  return {
    ...stores,
    redis,
    reviewArchive: stores.reviews,
    reviews: createReviewService(ports),
    decisions: composeDecisionService(ports),
    correctionsWith: (settingsNow) => createCorrectionService({ ...ports, settingsNow }),
  };
}
