import type { AppContext } from '../base/context.ts';
import { type Scope, withScope } from '../base/scope.ts';
import { MINUTE_MS } from '../base/time.ts';
import type { Archive } from '../deliver/archive/archive.ts';
import type { RunChain } from '../deliver/archive/chain/run-chain.ts';
import { correctionArchive } from '../deliver/archive/corrections/correction-archive.ts';
import { createReviewArchive } from '../deliver/archive/reviews/create-review-archive.ts';
import type { ArchiveStorage } from '../deliver/archive/storage/archive-storage.ts';
import type { Ledger } from '../deliver/ledger/ledger.ts';
import type { DefinitionStore } from '../queue/definitions/definition-store.ts';
import { runQueue } from '../queue/jobs/run-queue.ts';
import { redisNoticeOutbox } from '../queue/runs/notice-outbox.ts';
import type { RedisRunStore } from '../queue/runs/run-store.ts';
import type { SearchIndex } from '../queue/runs/search-index.ts';
import type { RedisClient } from '../redis/client.ts';
import { openRedis } from '../redis/connection.ts';
import { DEFAULT_KEY_PREFIX } from '../redis/keys.ts';
import type { Reviews } from '../run/review/load-review.ts';
import { reviewEventSchema } from '../run/review/review-event.ts';
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
import { composeFindDelivered, openArchive, openIdentity } from './archive.ts';
import { openRunStores } from './store.ts';

/** The decision service over parts that the process has opened. */
export const composeDecisionService = (
  ports: Omit<DecisionServicePorts, 'archive' | 'reviews'> &
    DecisionArchivePorts & {
      readonly storage: Pick<ArchiveStorage, 'metadata' | 'location'>;
      readonly signing?: Pick<RunChain, 'events'> | undefined;
    },
): DecisionService =>
  createDecisionService({
    ...ports,
    archive: createDecisionArchive(ports),
    reviews: openReviews(ports.storage, ports.signing),
  });

/** The reviews of an archive. @param signing absent without a signing key */
export const openReviews = (
  storage: Pick<ArchiveStorage, 'metadata' | 'location'>,
  signing?: Pick<RunChain, 'events'>,
): Reviews => createReviewArchive(storage, reviewEventSchema, signing?.events);

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
 * Opens runs and deliveries of `REDIS_URL` for as long as `use` takes. Throws `redis.unreachable`.
 *
 * @param decides whether the command changes deliveries: it then throws `deployment.conflict` before any change
 */
export const withDecisions = <T>(
  context: AppContext,
  use: (decisions: DecisionContext) => Promise<T>,
  { decides = false }: { readonly decides?: boolean } = {},
): Promise<T> => withScope(async (scope) => use(await openDecisions(context, decides, scope)));

async function openDecisions(context: AppContext, decides: boolean, scope: Scope): Promise<DecisionContext> {
  const { config, clock, log } = context;
  const prefix = DEFAULT_KEY_PREFIX;
  const redis = scope.use(await openRedis(config.REDIS_URL, 'producer', log), (opened) => opened.disconnect());
  const search = { clock, maxWaitMs: MAX_INDEX_WAIT_MS };
  const { runs, definitions, ledger, searchIndex } = openRunStores(redis, prefix, log, search);
  const queue = scope.add(runQueue(redis, { prefix }));
  const identity = openIdentity(context, { redis, prefix, runs, writes: true }, scope);
  if (decides) await identity.id();
  const { archive, storage, signing } = openArchive(context, scope, identity);
  const noticeOutbox = redisNoticeOutbox(redis, { prefix });
  const ports = { runs, queue, ledger, noticeOutbox, archive, storage, signing, definitions, clock, log };
  const stores = { runs, definitions, ledger, searchIndex, archive, storage, redis };
  const reviewArchive = openReviews(storage, signing);
  const reviews = createReviewService({
    ...ports,
    reviews: reviewArchive,
    findDelivered: composeFindDelivered(context, { runs, ledger }, scope),
  });
  const corrections = correctionArchive(storage, signing?.events);
  const correctionsWith: DecisionContext['correctionsWith'] = (settingsNow) =>
    createCorrectionService({ ...ports, corrections, settingsNow });
  return { decisions: composeDecisionService(ports), correctionsWith, reviews, reviewArchive, ...stores };
}
