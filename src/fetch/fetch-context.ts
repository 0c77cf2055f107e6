import type { SteadyClock } from '../base/clock.ts';
import type { CatalogCache } from './cache/catalog-cache.ts';
import type { ResponseCache } from './cache/response-cache.ts';
import type { ResponseStore } from './cache/response-store.ts';
import type { ComplianceClient } from './client/compliance-client.ts';
import type { OnFetchEvent } from './fetch-events.ts';
import type { Budget, Priority } from './rate-limit/budget.ts';
import type { RateLimitContext } from './rate-limit/rate-limited-call.ts';

/** What fetching needs of the world, bound to one organization's key. Under the worker Redis stands behind these. */
export interface FetchPorts {
  readonly client: ComplianceClient;
  /** Fingerprint of the API key. */
  readonly key: string;
  /** Metrics calls: 30 a minute a key. */
  readonly budget: Budget;
  /** List pages: 600 reads a minute. A budget of its own, kept apart by its prefix. */
  readonly reads: Budget;
  readonly responses: ResponseStore;
  /** Answers of other runs. */
  readonly responseCache: ResponseCache;
  readonly catalogs: CatalogCache;
  readonly clock: SteadyClock;
  /** A call that would wait longer (ms) for its token snoozes the run, which keeps its place in line. */
  readonly maxWaitMs: number;
}

/** For whom it is fetched. */
export interface FetchContext extends FetchPorts {
  /** Id of the run: its answers are kept under it, and its places in line are named by it. */
  readonly run: string;
  readonly priority: Priority;
  /** Aborting rejects with its reason. */
  readonly signal: AbortSignal;
  readonly observe: OnFetchEvent;
  /** A private folder for rows that may not fit into memory; it must live as long as the dataset is read. */
  readonly folder: string;
}

/** The place of an organization's calls in the line of a key. */
export const rateLimitContext = (
  org: string,
  { client, key, clock, priority, maxWaitMs }: FetchContext,
  budget: Budget,
): RateLimitContext => ({ budget, clock, key, org, priority, maxWaitMs, requestTimeoutMs: client.requestTimeoutMs });
