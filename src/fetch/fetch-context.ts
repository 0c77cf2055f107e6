import type { SteadyClock } from '../base/clock.ts';
import type { CatalogCache } from './cache/catalog-cache.ts';
import type { ResponseCache } from './cache/response-cache.ts';
import type { ResponseStore } from './cache/response-store.ts';
import type { ComplianceClient } from './client/compliance-client.ts';
import type { OnFetchEvent } from './fetch-events.ts';
import type { Budget, CallClass } from './rate-limit/budget.ts';

/** Dependencies of fetching, for one organization's key. Workers use Redis implementations. */
export interface FetchPorts {
  readonly client: ComplianceClient;
  /** Fingerprint of the API key. */
  readonly key: string;
  /** Metrics calls: 30 a minute per key. */
  readonly budget: Budget;
  /** List pages: 600 reads a minute, separate from `budget`. */
  readonly reads: Budget;
  readonly responses: ResponseStore;
  /** Responses to other runs. */
  readonly responseCache: ResponseCache;
  readonly catalogs: CatalogCache;
  readonly clock: SteadyClock;
  /** A call that would wait longer (ms) for its token snoozes the run, which keeps its queue position. */
  readonly maxWaitMs: number;
}

/** The run that fetches. */
export interface FetchContext extends FetchPorts {
  /** Id of the run: key of its stored responses, and part of its waiter ids. */
  readonly run: string;
  readonly priority: CallClass;
  /** No response of the run is stored yet. */
  readonly fresh?: boolean | undefined;
  /** The run uses answers that were fetched before its slot. */
  readonly prepared?: boolean | undefined;
  /**
   * The calls are made before the slot of the run, for days that are complete since this instant (epoch ms): no answer that
   * was requested earlier is used. Waiters are then not those of the run.
   */
  readonly completeSince?: number | undefined;
  /** Aborting rejects with its reason. */
  readonly signal: AbortSignal;
  readonly observe: OnFetchEvent;
  /** A private folder for rows that may not fit into memory; must exist as long as the dataset is read. */
  readonly folder: string;
}
