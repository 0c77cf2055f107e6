import type { AppContext } from '../base/context.ts';
import type { Scope } from '../base/scope.ts';
import { correctionArchive } from '../deliver/archive/corrections/correction-archive.ts';
import { redisLastSentFigures } from '../deliver/last-sent-figures.ts';
import { redisInlineLeases } from '../queue/runs/inline-leases.ts';
import { failAbandoned } from '../queue/runs/inline-run.ts';
import { redisNoticeOutbox } from '../queue/runs/notice-outbox.ts';
import type { SearchIndexOptions } from '../queue/runs/search-index.ts';
import type { RedisClient } from '../redis/client.ts';
import { createEditionStore } from '../services/corrections/editions.ts';
import { reconcileWithArchive } from '../services/deliveries/ledger-repair.ts';
import type { DeploymentIdentity } from '../services/deployment/deployment-identity.ts';
import { composeClaims, composeFindDelivered, openArchive, openIdentity, openReviews } from './archive.ts';
import { openRunStores } from './store.ts';

/**
 * What every process that delivers, or decides about deliveries, shares with the others: in Redis and in the archive.
 *
 * @param redis.client a worker's client for a process that delivers: it waits while Redis restarts
 */
export function openDeliveryStores(
  context: AppContext,
  redis: { readonly client: RedisClient; readonly prefix: string },
  scope: Scope,
  {
    identity: given,
    search,
  }: {
    /** Of a process that has compared it; else it is compared before the first write. */
    readonly identity?: Pick<DeploymentIdentity, 'id'>;
    readonly search?: Pick<SearchIndexOptions, 'clock' | 'maxWaitMs'>;
  } = {},
) {
  const { client, prefix } = redis;
  const { clock, log } = context;
  const stores = openRunStores(client, prefix, log, search);
  const { runs, ledger } = stores;
  const identity = given ?? openIdentity(context, { redis: client, prefix, runs, writes: true }, scope);
  const { archive, storage, signing } = openArchive(context, scope, identity);
  const reviews = openReviews(storage, signing);
  const corrections = correctionArchive(storage, signing?.events);
  const findDelivered = composeFindDelivered(context, { runs, ledger }, scope);
  const leases = redisInlineLeases(client, { prefix });
  const noticeOutbox = redisNoticeOutbox(client, { prefix });
  return {
    ...stores,
    identity,
    archive,
    storage,
    signing,
    reviews,
    corrections,
    editions: createEditionStore({ corrections, archive, ledger }),
    findDelivered,
    claims: composeClaims(context, storage, findDelivered, { client, prefix, runs }),
    sentFigures: redisLastSentFigures(client, { prefix: `${prefix}:` }),
    leases,
    noticeOutbox,
    /** Ends the runs of commands that were killed. */
    endAbandoned: () =>
      failAbandoned({
        runs,
        leases,
        noticeOutbox,
        rowsAtEnd: (order) => reconcileWithArchive(order, { archive, ledger, clock }),
        clock,
        log,
      }),
  };
}
