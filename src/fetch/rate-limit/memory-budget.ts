import { randomUUID } from 'node:crypto';
import type { SteadyClock } from '../../base/clock.ts';
import {
  type AcquireRequest,
  type AcquireResult,
  type Budget,
  type BudgetLimits,
  currentLimits,
  isSpareClass,
  MAX_NEXT,
  type OnBudgetEvent,
  PRIORITIES,
  type Priority,
  preparationTokens,
  type SpareClass,
  STARVATION_LIMIT,
  spareTokens,
  tokensRecoveredPerWindow,
  waiterTimeouts,
} from './budget.ts';
import { localWaiters } from './local-waiters.ts';

// Instants are on the monotonic clock, ms; results are converted to the wall clock.

interface HeldToken {
  readonly token: string;
  /** Ms at which it returns; in flight, the latest possible instant. */
  readonly release: number;
  readonly inFlight: boolean;
  /** Absent for a call of a run. */
  readonly spare?: SpareClass;
}

interface Waiter {
  readonly id: string;
  /** Index into `PRIORITIES`: smaller goes first. */
  readonly rank: number;
  /** Round of the round-robin in which its organization is served. */
  readonly round: number;
  readonly arrival: number;
  /** Ms at which the waiter is expected to acquire again. */
  notBefore: number;
}

/** The rank of backfills. */
const BACKFILL = PRIORITIES.indexOf('backfill');

/** A request that may join the queue. */
type QueuedRequest = AcquireRequest & { readonly priority: Priority };

interface KeyState {
  /** Ms; held tokens return after this window. */
  windowMs: number;
  blockedUntil: number;
  throttled: number;
  /** The limit after the last 429. It recovers from `cutAt` (ms) on. */
  cutTo: number;
  cutAt: number;
  /** Ms of the first 429 of a slowed stretch whose end is not reported yet; null without one. */
  slowed: number | null;
  arrivals: number;
  /** Tokens granted in a row to others while a lower priority waited. */
  passes: number;
  /** Tokens that preparations took past waiting backfills since a backfill last got one. */
  overtaken: number;
  held: HeldToken[];
  /** In the order in which they are served. */
  waiters: Waiter[];
  byId: Map<string, Waiter>;
  /** No waiter expires before this time (ms). */
  noneExpiresBefore: number;
  /** By rank: the round being served. By rank and organization: the round that it joined last. */
  rounds: Map<string, number>;
}

export interface MemoryBudgetOptions extends BudgetLimits {
  readonly clock: SteadyClock;
  readonly onEvent?: OnBudgetEvent;
}

/** The budget of one process, for runs without Redis. A test suite compares it with `budget-10.lua`: change both. */
export function memoryBudget(options: MemoryBudgetOptions): Budget {
  const { clock, onEvent } = options;
  const limits = currentLimits(options);
  const states = new Map<string, KeyState>();

  /** How late (ms) a waiter expires. */
  const expiresLateMs = (): number => {
    const { overtakenAfterMs, expiresAfterMs } = waiterTimeouts(limits);
    return overtakenAfterMs + expiresAfterMs;
  };

  /** Held tokens and waiters that have not expired at `now`. */
  const unexpired = ({ held, waiters }: KeyState, now: number): Pick<KeyState, 'held' | 'waiters'> => {
    const oldest = now - expiresLateMs();
    return {
      held: held.filter(({ release }) => release > now),
      waiters: waiters.filter(({ notBefore }) => notBefore >= oldest),
    };
  };

  const dropExpired = (state: KeyState, now: number): void => {
    state.held = state.held.filter(({ release }) => release > now);
    if (now <= state.noneExpiresBefore) return;
    Object.assign(state, unexpired(state, now));
    state.byId = new Map(state.waiters.map((waiter) => [waiter.id, waiter]));
    const first = state.waiters.reduce((least, { notBefore }) => Math.min(least, notBefore), Infinity);
    state.noneExpiresBefore = first + expiresLateMs();
  };

  const expectAt = (state: KeyState, waiter: Waiter, at: number): void => {
    waiter.notBefore = at;
    state.noneExpiresBefore = Math.min(state.noneExpiresBefore, at + expiresLateMs());
  };

  /**
   * The key's state now, without expired tokens and waiters. If the window changed, held tokens return by the new one.
   */
  const open = (key: string): { state: KeyState; now: number } => {
    const state = states.get(key) ?? newKeyState(limits.windowMs);
    states.set(key, state);
    const now = Math.floor(clock.monotonic());
    if (state.windowMs !== limits.windowMs) {
      const later = limits.windowMs - state.windowMs;
      state.held = state.held.map((held) => ({ ...held, release: held.release + later }));
      state.windowMs = limits.windowMs;
      state.noneExpiresBefore = Number.NEGATIVE_INFINITY;
    }
    dropExpired(state, now);
    if (state.waiters.length === 0) {
      state.rounds.clear();
      state.passes = 0;
      state.overtaken = 0;
    }
    return { state, now };
  };

  const currentLimit = (state: KeyState, now: number): number =>
    Math.min(
      limits.calls,
      state.cutTo + Math.floor(Math.max(0, now - state.cutAt) / limits.windowMs) * tokensRecoveredPerWindow(limits),
    );

  /** When the full limit is restored unless another 429 comes, which ends the slowed stretch. */
  const fullRateAt = (state: KeyState): number =>
    Number.isFinite(state.cutTo)
      ? state.cutAt +
        Math.max(0, Math.ceil((limits.calls - state.cutTo) / tokensRecoveredPerWindow(limits))) * limits.windowMs
      : Number.NEGATIVE_INFINITY;

  const enqueue = (state: KeyState, { id, org, turn = org, priority }: QueuedRequest, now: number): Waiter => {
    const rank = PRIORITIES.indexOf(priority);
    const existing = state.byId.get(id);
    if (existing?.rank === rank) return existing;
    if (existing !== undefined) dequeue(state, existing);
    const orgKey = `${rank}:${turn}`;
    const round = Math.max(state.rounds.get(`${rank}`) ?? 0, (state.rounds.get(orgKey) ?? -1) + 1);
    state.rounds.set(orgKey, round);
    state.arrivals += 1;
    const waiter = { id, rank, round, arrival: state.arrivals, notBefore: now };
    // Most waiters belong at the end, because nobody arrived later.
    const before = state.waiters.findLastIndex((other) => (other.rank - rank || other.round - round) <= 0);
    state.waiters.splice(before + 1, 0, waiter);
    state.byId.set(id, waiter);
    return waiter;
  };

  const dequeue = (state: KeyState, waiter: Waiter): void => {
    state.waiters.splice(state.waiters.indexOf(waiter), 1);
    state.byId.delete(waiter.id);
  };

  /** Waiters that were expected before this time are overdue. */
  const overdueBefore = (now: number): number => now - waiterTimeouts(limits).overtakenAfterMs;

  /** The number of waiters in front of this one, without overdue ones. */
  const waitersAhead = (state: KeyState, waiter: Waiter, now: number): number => {
    const overdue = overdueBefore(now);
    const index = state.waiters.indexOf(waiter);
    let present = 0;
    for (let at = 0; at < index; at += 1) if ((state.waiters[at]?.notBefore ?? 0) >= overdue) present += 1;
    const top = state.waiters[0];
    if (state.passes < STARVATION_LIMIT || top === undefined) return present;
    const starvingIndex = state.waiters.findIndex(({ rank }) => rank > top.rank);
    const starving = state.waiters[starvingIndex];
    if (starving === undefined || starving.notBefore < overdue) return present;
    if (starving === waiter) return 0;
    return index < starvingIndex ? present + 1 : present;
  };

  /** When a waiter with `ahead` others in front can expect its token. */
  const estimateGrant = (state: KeyState, ahead: number, now: number): number => {
    const limit = currentLimit(state, now);
    const free = Array.from({ length: Math.max(0, limit - state.held.length) }, () => now);
    // A call in flight is answered now at the earliest.
    const returning = state.held.map(({ release }) => Math.min(release, now + limits.windowMs + 1));
    // If more tokens are held than the current limit, the first ones that return are not granted again.
    const times = [...free, ...returning].sort((a, b) => a - b).slice(-limit);
    const at = (times[ahead % limit] ?? now) + Math.floor(ahead / limit) * limits.windowMs;
    return Math.max(at, state.blockedUntil, now + 1);
  };

  /** Ids of the first waiters that can take one of `tokens` each, without overdue ones. */
  const firstWaiters = ({ waiters }: KeyState, tokens: number, now: number): string[] => {
    const overdue = overdueBefore(now);
    const first: string[] = [];
    for (const { id, notBefore } of waiters) {
      if (first.length >= Math.min(tokens, MAX_NEXT)) break;
      if (notBefore >= overdue) first.push(id);
    }
    return first;
  };

  const grant = (state: KeyState, waiter: Waiter, holdMs: number, now: number): AcquireResult => {
    const token = `${waiter.id}#${randomUUID()}`;
    dequeue(state, waiter);
    state.held.push({ token, release: now + holdMs + limits.windowMs + 1, inFlight: true });
    state.rounds.set(`${waiter.rank}`, Math.max(state.rounds.get(`${waiter.rank}`) ?? 0, waiter.round));
    const passesOthers = (state.waiters.at(-1)?.rank ?? 0) > waiter.rank;
    const wasPassed = (state.waiters[0]?.rank ?? waiter.rank) < waiter.rank;
    state.passes = passesOthers && !wasPassed ? state.passes + 1 : 0;
    if (waiter.rank === BACKFILL) state.overtaken = 0;
    const tokens = currentLimit(state, now) - state.held.length;
    return { granted: true, token, tokens, next: firstWaiters(state, tokens, now) };
  };

  /** How many waiters a preparation may not pass: none while only backfills wait, nine times in a row at most. */
  const waitersBeforePreparations = ({ waiters, overtaken }: KeyState): number =>
    (waiters[0]?.rank ?? BACKFILL) === BACKFILL && overtaken < STARVATION_LIMIT ? 0 : waiters.length;

  /** Grants a token to a call of a spare class if no waiter has precedence. */
  const acquireSpare = (
    state: KeyState,
    { id, holdMs }: AcquireRequest,
    spare: SpareClass,
    now: number,
  ): AcquireResult => {
    const limit = currentLimit(state, now);
    const tokens = Math.max(0, limit - state.held.length);
    const times = state.held.filter((held) => held.spare === spare).map(({ release }) => release);
    const isPreparation = spare === 'preparation';
    const most = isPreparation ? preparationTokens(limit) : spareTokens(limit);
    const ahead = isPreparation ? waitersBeforePreparations(state) : state.waiters.length;
    if (ahead === 0 && tokens > 0 && times.length < most && now >= state.blockedUntil) {
      const token = `${id}#${randomUUID()}`;
      state.held.push({ token, release: now + holdMs + limits.windowMs + 1, inFlight: true, spare });
      if (isPreparation && state.waiters.length > 0) state.overtaken += 1;
      return { granted: true, token, tokens: tokens - 1, next: [] };
    }
    const returning = times.sort((a, b) => a - b)[times.length - most] ?? now;
    const at = Math.max(estimateGrant(state, ahead, now), returning);
    return { granted: false, at: clock.now() + at - now, ahead, tokens };
  };

  return {
    limits,
    waiters: localWaiters(),
    acquire: async (request) => {
      const { key, org, priority } = request;
      const { state, now } = open(key);
      if (state.slowed !== null && now >= fullRateAt(state)) {
        onEvent?.({ kind: 'recovered', key, org, afterMs: now - state.slowed });
        state.slowed = null;
      }
      if (isSpareClass(priority)) return acquireSpare(state, request, priority, now);
      const waiter = enqueue(state, { ...request, priority }, now);
      expectAt(state, waiter, now);
      const ahead = waitersAhead(state, waiter, now);
      const tokens = Math.max(0, currentLimit(state, now) - state.held.length);
      if (ahead < tokens && now >= state.blockedUntil) return grant(state, waiter, request.holdMs, now);
      expectAt(state, waiter, estimateGrant(state, ahead, now));
      return { granted: false, at: clock.now() + waiter.notBefore - now, ahead, tokens };
    },
    complete: async (key, token) => {
      const { state, now } = open(key);
      // One ms more than the window, because both ends are read from clocks that round down.
      state.held = state.held.map((held) =>
        held.token === token
          ? { ...held, release: Math.min(held.release, now + limits.windowMs + 1), inFlight: false }
          : held,
      );
    },
    release: async (key, token) => {
      const { state } = open(key);
      state.held = state.held.filter((held) => held.token !== token);
    },
    cancel: async (key, id) => {
      const { state } = open(key);
      const waiter = state.byId.get(id);
      if (waiter !== undefined) dequeue(state, waiter);
    },
    penalize: async (key, until, org) => {
      const { state, now } = open(key);
      const first = state.slowed === null || now >= fullRateAt(state);
      if (first) state.slowed = now;
      state.blockedUntil = Math.max(state.blockedUntil, now + Math.max(0, until - clock.now()));
      state.throttled += 1;
      // Calls that were in flight together with the first throttled one are throttled too. Together they cut the limit
      // once.
      if (now >= state.cutAt + limits.windowMs) state.cutTo = Math.max(1, Math.floor(currentLimit(state, now) / 2));
      state.cutAt = Math.max(state.cutAt, state.blockedUntil);
      if (!first) return;
      const toWallClock = clock.now() - now;
      onEvent?.({
        kind: 'slowed',
        key,
        org,
        limit: currentLimit(state, now),
        blockedUntil: state.blockedUntil + toWallClock,
        slowedUntil: fullRateAt(state) + toWallClock,
      });
    },
    inspect: async (key) => {
      // Changes nothing.
      const now = Math.floor(clock.monotonic());
      const stored = states.get(key) ?? newKeyState(limits.windowMs);
      const state = { ...stored, ...unexpired(stored, now) };
      const limit = currentLimit(state, now);
      return {
        key,
        tokens: Math.max(0, limit - state.held.length),
        inFlight: state.held.filter(({ inFlight }) => inFlight).length,
        waiting: state.waiters.length,
        blockedUntil: state.blockedUntil > now ? clock.now() + state.blockedUntil - now : null,
        throttled: state.throttled,
        limit,
        slowedUntil: fullRateAt(state) > now ? clock.now() + fullRateAt(state) - now : null,
      };
    },
  };
}

const newKeyState = (windowMs: number): KeyState => ({
  windowMs,
  blockedUntil: Number.NEGATIVE_INFINITY,
  throttled: 0,
  cutTo: Number.POSITIVE_INFINITY,
  cutAt: Number.NEGATIVE_INFINITY,
  slowed: null,
  arrivals: 0,
  passes: 0,
  overtaken: 0,
  held: [],
  waiters: [],
  byId: new Map(),
  noneExpiresBefore: Number.POSITIVE_INFINITY,
  rounds: new Map(),
});
