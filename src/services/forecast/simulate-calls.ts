import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../base/time.ts';
import { RATE_LIMITS } from '../../contract/limits.ts';
import {
  type Budget,
  type BudgetLimits,
  type CallClass,
  isSpareClass,
  waiterTimeouts,
} from '../../fetch/rate-limit/budget.ts';
import { memoryBudget } from '../../fetch/rate-limit/memory-budget.ts';
import type { ForecastAssumptions, ForecastCall, ForecastRun, RunDurations } from './forecast-run.ts';
import type { VirtualClock } from './virtual-clock.ts';

/** Who makes calls: a run or a task. */
export interface Caller {
  readonly run: Pick<ForecastRun, 'org' | 'key' | 'name' | 'slot' | 'offsetMs' | 'maxAgeMs'>;
  /** Number of tokens that it has taken. */
  tokens: number;
  /** How long it waits in place for a token, ms. Default: `MAX_WAIT_MS`. */
  readonly maxWaitMs?: number;
}

/** A run that reads lists. */
export interface ListCaller extends Caller {
  readonly run: ForecastRun;
  /** Number of pages of its lists that were read. */
  pages: number;
  /** Number of tokens that it has taken from the budget for reads. */
  reads: number;
  /** Its request for the number of its organization, in this attempt. */
  organization: Promise<number | undefined> | undefined;
}

/** The simulated use of a key. */
export interface KeyUse {
  readonly budget: Budget;
  /** Budget for pages of lists. */
  readonly reads: Budget;
  /** Tokens taken, by start of the minute and by organization. */
  readonly tokens: Map<number, Map<string, number>>;
  /** The first minute in which a run's call finds no token. */
  fullAt: number | undefined;
  /** When runs with this key begin, ascending. */
  readonly begins: readonly number[];
}

/** If a token takes longer than this, the worker takes another run meanwhile. */
const MAX_WAIT_MS = 5 * SECOND_MS;
/** How long a call can hold its token without a response. */
const HOLD_MS = 35 * SECOND_MS;
export const CATALOG_TTL_MS = HOUR_MS;
const CATALOG_POLL_MS = 250;
/** If the first run does not fetch the catalog, another run does so after this time. */
const CATALOG_CLAIM_MS = 30 * SECOND_MS;

interface Request {
  /** Identifies the waiter. */
  readonly id: string;
  readonly request: string;
  readonly maxAgeMs: number;
  readonly priority: CallClass;
  /** See `AcquireRequest`. */
  readonly turn?: string;
}

/** Simulates calls on a virtual clock: tokens, shared responses and catalogs, by the rules of the real ones. */
export function simulateCalls(
  runs: readonly ForecastRun[],
  limits: ReadonlyMap<string, BudgetLimits>,
  assumptions: ForecastAssumptions,
  clock: VirtualClock,
) {
  const shared = sharedAnswers(clock);
  const keys = new Map<string, KeyUse>();
  /** By key and organization: when the catalog was stored, and until when a run's request for it is in flight. */
  const catalogs = new Map<string, { storedAt: number; claimedUntil: number }>();
  /** Epoch ms. A waiter that wakes by itself before then need not be woken. */
  const wakesByItself = ({ limits: own }: Budget): number => clock.now() + waiterTimeouts(own).overtakenAfterMs;

  const keyOf = ({ key }: Pick<ForecastRun, 'key'>): KeyUse => {
    const found = keys.get(key);
    if (found !== undefined) return found;
    const keyLimits = limits.get(key);
    if (keyLimits === undefined) throw new Error(`no limits of the key ${key}`);
    const begins = runs.filter((run) => run.key === key).map((run) => run.begins);
    const budget = memoryBudget({ ...keyLimits, clock });
    const { calls, windowMs } = RATE_LIMITS.reads;
    const reads = memoryBudget({ calls, windowMs, clock });
    const added = { budget, reads, tokens: new Map(), fullAt: undefined, begins: begins.sort((a, b) => a - b) };
    keys.set(key, added);
    return added;
  };

  const countToken = (caller: Caller): void => {
    const { tokens } = keyOf(caller.run);
    const { org } = caller.run;
    const minute = startOfMinute(clock.now());
    const byOrg = tokens.get(minute) ?? new Map<string, number>();
    tokens.set(minute, byOrg.set(org, (byOrg.get(org) ?? 0) + 1));
    caller.tokens += 1;
  };

  const durationsOf = ({ name }: Pick<ForecastRun, 'name'>): RunDurations =>
    assumptions.reports?.get(name) ?? assumptions;

  const getMaxWait = ({ maxWaitMs = MAX_WAIT_MS }: Caller, priority: CallClass): number =>
    isSpareClass(priority) ? 0 : maxWaitMs;

  /** Makes a call, or uses another run's response. @returns until when the run snoozes, or undefined with a response */
  const makeCall = async (
    caller: Caller,
    { id, request, maxAgeMs, priority, turn }: Request,
  ): Promise<number | undefined> => {
    const { run } = caller;
    const key = keyOf(run);
    const { budget } = key;
    const since = clock.now();
    /** A response that was requested during the wait counts as well. None is used on the day after its request. */
    const lookup = () => {
      const now = clock.now();
      const today = (now + run.offsetMs) % DAY_MS;
      return shared.lookup(request, id, Math.min(today, Math.max(maxAgeMs, now - since)));
    };
    let polling = { since, polls: 0 };
    for (let isFirst = true; ; isFirst = false) {
      await clock.turn(id);
      const found = maxAgeMs === 0 ? 'miss' : lookup();
      if (found === 'hit') {
        await budget.cancel(run.key, id);
        budget.waiters.wakeNext(run.key, wakesByItself(budget));
        return undefined;
      }
      if (found === 'in_flight') {
        if (polling.polls === 0) polling = { since: clock.now(), polls: 0 };
        const ms = Math.min(25 * 2 ** polling.polls, SECOND_MS);
        if (clock.now() - polling.since + ms > getMaxWait(caller, priority)) return clock.now() + MAX_WAIT_MS;
        polling.polls += 1;
        await clock.sleep(ms);
        continue;
      }
      polling = { since, polls: 0 };
      const hasClaim = isFirst && maxAgeMs > 0;
      if (hasClaim) shared.claim(request, id);
      await clock.turn(id);
      const result = await budget.acquire({ key: run.key, id, org: run.org, turn, priority, holdMs: HOLD_MS });
      if (!result.granted) {
        if (hasClaim) shared.release(request, id);
        if (!isSpareClass(priority)) key.fullAt ??= startOfMinute(clock.now());
        if (result.at - clock.now() > getMaxWait(caller, priority)) return result.at;
        // Nothing aborts this wait.
        const { signal } = new AbortController();
        await budget.waiters.sleep(run.key, id, result.at, { clock, windowMs: budget.limits.windowMs, signal });
        continue;
      }
      budget.waiters.wake(run.key, result.next, result.tokens, wakesByItself(budget));
      if (maxAgeMs > 0 && !hasClaim) {
        await clock.turn(id);
        if (lookup() !== 'miss') {
          await budget.release(run.key, result.token);
          budget.waiters.wakeNext(run.key, wakesByItself(budget));
          continue;
        }
        shared.claim(request, id);
      }
      const requestedAt = clock.now();
      countToken(caller);
      await clock.sleep(durationsOf(run).callMs);
      await budget.complete(run.key, result.token);
      if (maxAgeMs > 0) shared.put(request, id, requestedAt);
      return undefined;
    }
  };

  /** Gets the catalog of the run's organization, at most `maxAgeMs` old. One run requests it, and the others wait. */
  const requestCatalog = async (
    caller: Caller,
    priority: CallClass,
    maxAgeMs = CATALOG_TTL_MS - 1,
  ): Promise<number | undefined> => {
    const { key, org } = caller.run;
    const name = `${key} ${org}`;
    const catalog = catalogs.get(name) ?? { storedAt: Number.NEGATIVE_INFINITY, claimedUntil: 0 };
    catalogs.set(name, catalog);
    const since = clock.now();
    await clock.turn(`${callerId(caller)} catalog`);
    for (;;) {
      if (clock.now() - catalog.storedAt <= maxAgeMs) return undefined;
      if (clock.now() >= catalog.claimedUntil) {
        catalog.claimedUntil = clock.now() + CATALOG_CLAIM_MS;
        const place = { id: `catalog ${org} ${priority}`, turn: `${org}:catalog`, priority };
        const snoozed = await makeCall(caller, { ...place, request: '', maxAgeMs: 0 });
        if (snoozed === undefined) catalog.storedAt = clock.now();
        catalog.claimedUntil = 0;
        return snoozed;
      }
      if (clock.now() - since > getMaxWait(caller, priority)) return clock.now() + CATALOG_POLL_MS;
      await clock.sleep(CATALOG_POLL_MS);
      // Takes its turn last in this millisecond.
      await clock.turn('~');
    }
  };

  /** Reads one page with a token of the key's read budget. @returns as `makeCall` */
  const requestPage = async (caller: ListCaller, id: string): Promise<number | undefined> => {
    const { run } = caller;
    const { reads } = keyOf(run);
    for (;;) {
      await clock.turn(id);
      const place = { key: run.key, id, org: run.org, priority: 'scheduled' as const, holdMs: HOLD_MS };
      const result = await reads.acquire(place);
      if (result.granted) {
        reads.waiters.wake(run.key, result.next, result.tokens, wakesByItself(reads));
        caller.reads += 1;
        await clock.sleep(durationsOf(run).callMs);
        await reads.complete(run.key, result.token);
        return undefined;
      }
      if (result.at - clock.now() > getMaxWait(caller, 'scheduled')) return result.at;
      const { signal } = new AbortController();
      await reads.waiters.sleep(run.key, id, result.at, { clock, windowMs: reads.limits.windowMs, signal });
    }
  };

  /** Reads a list: first the number of its organization if that is not known, then pages in order. @returns as `makeCall` */
  const requestList = async (caller: ListCaller, index: number): Promise<number | undefined> => {
    const { run } = caller;
    const { pages = run.calls.filter(({ kind }) => kind === 'list').length } = durationsOf(run);
    if (run.isCurrentOrg) caller.organization ??= requestPage(caller, `${callerId(caller)} organizations`);
    let snoozed = await caller.organization;
    while (snoozed === undefined && caller.pages < pages) {
      // Counts the page before it is read, because the run's other lists read pages meanwhile.
      caller.pages += 1;
      snoozed = await requestPage(caller, `${callerId(caller)} ${index}`);
      if (snoozed !== undefined) caller.pages -= 1;
    }
    return snoozed;
  };

  return {
    keys,
    keyOf,
    durationsOf,
    requestCatalog,
    requestList,
    requestReport: (caller: Caller, { request }: Pick<ForecastCall, 'request'>, index: number, priority: CallClass) =>
      makeCall(caller, { id: `${callerId(caller)} ${index}`, request, maxAgeMs: caller.run.maxAgeMs, priority }),
  };
}

export const callerId = ({ run }: Pick<Caller, 'run'>): string => `${run.name} ${run.slot}`;
const startOfMinute = (at: number): number => Math.floor(at / MINUTE_MS) * MINUTE_MS;

interface Answer {
  /** The run whose request is in flight. */
  holder: string | undefined;
  /** When the newest answered request was made. */
  requestedAt: number;
}

type SharedLookup = 'hit' | 'in_flight' | 'miss';

/** Which responses runs share, without their content. */
interface SharedAnswers {
  lookup(request: string, holder: string, maxAgeMs: number): SharedLookup;
  /** Call it after a miss: other runs then wait for this request. */
  claim(request: string, holder: string): void;
  release(request: string, holder: string): void;
  /** Records that the request made at `requestedAt` was answered. */
  put(request: string, holder: string, requestedAt: number): void;
}

function sharedAnswers(clock: Pick<VirtualClock, 'now'>): SharedAnswers {
  const answers = new Map<string, Answer>();
  const find = (request: string): Answer => {
    const found = answers.get(request) ?? { holder: undefined, requestedAt: Number.NEGATIVE_INFINITY };
    answers.set(request, found);
    return found;
  };
  const release = (request: string, holder: string): void => {
    const answer = find(request);
    if (answer.holder === holder) answer.holder = undefined;
  };
  return {
    lookup: (request, holder, maxAgeMs) => {
      const answer = find(request);
      if (clock.now() - answer.requestedAt <= maxAgeMs) return 'hit';
      return answer.holder === undefined || answer.holder === holder ? 'miss' : 'in_flight';
    },
    claim: (request, holder) => {
      find(request).holder = holder;
    },
    release,
    put: (request, holder, requestedAt) => {
      const answer = find(request);
      answer.requestedAt = Math.max(answer.requestedAt, requestedAt);
      release(request, holder);
    },
  };
}
