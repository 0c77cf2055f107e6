import type { SteadyClock } from '../base/clock.ts';
import type { CatalogCache } from './cache/catalog-cache.ts';
import type { ResponseCache } from './cache/response-cache.ts';
import type { ResponseStore } from './cache/response-store.ts';
import type { ComplianceClient } from './client/compliance-client.ts';
import type { OnFetchEvent } from './fetch-events.ts';
import type { Budget, CallClass } from './rate-limit/budget.ts';

/** What fetching depends on, for one organization's key. Workers use the Redis implementations. */
export interface FetchPorts {
  readonly client: ComplianceClient;
  /** Fingerprint of the API key. */
  readonly key: string;
  /** Budget for metrics calls: 30 a minute per key. */
  readonly budget: Budget;
  /** Budget for list pages: 600 reads a minute, separate from `budget`. */
  readonly reads: Budget;
  readonly responses: ResponseStore;
  /** Responses that other runs may use. */
  readonly responseCache: ResponseCache;
  readonly catalogs: CatalogCache;
  readonly clock: SteadyClock;
  /** If a call would wait longer than this (ms) for its token, the run snoozes and keeps its queue position. */
  readonly maxWaitMs: number;
}

/** The run that fetches. */
export interface FetchContext extends FetchPorts {
  /** Id of the run: the key of its stored responses, and part of its waiter ids. */
  readonly run: string;
  readonly priority: CallClass;
  /** No response of the run is stored yet. */
  readonly fresh?: boolean | undefined;
  /** The run may use responses that were fetched before its slot. */
  readonly prepared?: boolean | undefined;
  /**
   * Set while calls are made before the run's slot, for days that are complete since this instant (epoch ms): responses
   * that were requested earlier are not used. These calls queue separately from those of the run.
   */
  readonly completeSince?: number | undefined;
  /** Aborting rejects with its reason. */
  readonly signal: AbortSignal;
  readonly observe: OnFetchEvent;
  /** A private folder for rows that may not fit into memory. It must exist as long as the dataset is read. */
  readonly folder: string;
}
