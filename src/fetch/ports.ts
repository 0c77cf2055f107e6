import type { SteadyClock } from '../base/clock.ts';
import type { Budget, Priority } from './budget.ts';
import type { Catalogs } from './catalogs.ts';
import type { ComplianceClient } from './client.ts';
import type { ObserveFetch } from './event.ts';
import type { Line } from './paid-call.ts';
import type { ResponseStore } from './response-store.ts';
import type { SharedAnswers } from './shared-answers.ts';

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
  readonly sharedAnswers: SharedAnswers;
  readonly catalogs: Catalogs;
  readonly clock: SteadyClock;
  /** A call that would wait longer (ms) for its token snoozes the run, which keeps its place in line. */
  readonly patienceMs: number;
}

/** For whom it is fetched. */
export interface FetchContext extends FetchPorts {
  /** Id of the run: its answers are kept under it, and its places in line are named by it. */
  readonly run: string;
  readonly priority: Priority;
  /** Aborting rejects with its reason. */
  readonly signal: AbortSignal;
  readonly observe: ObserveFetch;
  /** A private folder for rows that may not fit into memory; it must live as long as the dataset is read. */
  readonly folder: string;
}

/** The place of an organization's calls in the line of a key. */
export const lineOf = (
  org: string,
  { client, key, clock, priority, patienceMs }: FetchContext,
  budget: Budget,
): Line => ({ budget, clock, key, org, priority, patienceMs, deadlineMs: client.deadlineMs });
