import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type SteadyClock, systemClock } from '../../src/base/clock.ts';
import type { Outcome } from '../../src/base/outcome.ts';
import { Secret } from '../../src/base/secrets/secret.ts';
import { memoryCatalogCache } from '../../src/fetch/cache/catalog-cache.ts';
import { memoryResponseCache, type ResponseCache } from '../../src/fetch/cache/response-cache.ts';
import { memoryResponseStore, type ResponseStore } from '../../src/fetch/cache/response-store.ts';
import { createClient } from '../../src/fetch/client/compliance-client.ts';
import type { RequestTimeouts } from '../../src/fetch/client/network-error.ts';
import type { FetchContext } from '../../src/fetch/fetch-context.ts';
import type { FetchEvent } from '../../src/fetch/fetch-events.ts';
import type { Budget } from '../../src/fetch/rate-limit/budget.ts';
import { memoryBudget } from '../../src/fetch/rate-limit/memory-budget.ts';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/sandbox.ts';

/** The end of the sandbox's history in tests, a Friday. */
export const NOW = Date.parse('2026-11-20T10:00:00Z');

/** A sandbox for all tests of a file. Its history ends at `NOW`, and it has no limits by default. */
export const openSandbox = (options: SandboxOptions = {}): Promise<Sandbox> =>
  startSandbox({ now: NOW, windowMs: 1, ...options });

export interface FetchingOptions {
  readonly key?: string;
  readonly clock?: SteadyClock;
  readonly budget?: Budget;
  readonly reads?: Budget;
  readonly responses?: ResponseStore;
  readonly shared?: ResponseCache;
  readonly timeouts?: Partial<RequestTimeouts>;
  readonly maxWaitMs?: number;
  readonly signal?: AbortSignal;
  readonly run?: string;
}

/** Everything for fetching from this URL, in memory, with a record of its events. */
export function fetchingFrom(
  url: string,
  key: string,
  options: FetchingOptions = {},
): FetchContext & { readonly events: FetchEvent[] } {
  const clock = options.clock ?? systemClock;
  const secret = new Secret(key);
  const client = createClient({
    baseUrl: url,
    key: secret,
    clock,
    ...(options.timeouts && { timeouts: options.timeouts }),
  });
  onTestFinished(() => client.close());
  const folder = mkdtempSync(join(tmpdir(), 'docket-fetch-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const events: FetchEvent[] = [];
  return {
    client,
    key: secret.fingerprint(),
    clock,
    budget: options.budget ?? memoryBudget({ calls: 30, windowMs: 60_000, clock }),
    reads: options.reads ?? memoryBudget({ calls: 600, windowMs: 60_000, clock }),
    responses: options.responses ?? memoryResponseStore(),
    responseCache: options.shared ?? memoryResponseCache(clock),
    catalogs: memoryCatalogCache(clock),
    maxWaitMs: options.maxWaitMs ?? Number.POSITIVE_INFINITY,
    run: options.run ?? 'run-1',
    priority: 'scheduled',
    signal: options.signal ?? new AbortController().signal,
    folder,
    observe: (event) => void events.push(event),
    events,
  };
}

export const keyOf = (sandbox: Sandbox, label: string): string => {
  const found = sandbox.keys.find((key) => key.label === label);
  if (found === undefined) throw new Error(`no sandbox key ${label}`);
  return found.key;
};

export function doneOf<Value>(outcome: Outcome<Value>): Value {
  if (outcome.kind === 'done') return outcome.value;
  throw outcome.kind === 'fail' ? outcome.error : new Error(`expected done, got ${JSON.stringify(outcome)}`);
}
