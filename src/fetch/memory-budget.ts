import { randomUUID } from 'node:crypto';
import type { SteadyClock } from '../base/clock.ts';
import {
  type Answer,
  type Ask,
  type Budget,
  type BudgetLimits,
  lateness,
  limitsIn,
  PASSES,
  PRIORITIES,
  recovery,
  type TellBudget,
} from './budget.ts';

// Instants are of the monotonic clock, ms; callers are told theirs by the wall clock.

interface Held {
  readonly token: string;
  /** Ms at which it returns; while in flight the latest such instant. */
  readonly release: number;
  readonly inFlight: boolean;
}

interface Waiter {
  readonly id: string;
  readonly org: string;
  /** Index into PRIORITIES: smaller goes first. */
  readonly rank: number;
  /** The turn of its organization in which it is served. */
  readonly round: number;
  readonly arrival: number;
  /** Ms at which it was told to come back. */
  told: number;
}

interface Line {
  /** Ms; by which the tokens that are out return. */
  windowMs: number;
  blockedUntil: number;
  throttled: number;
  /** Tokens left by the last 429, from `cutAt` (ms) on; they grow again from there. */
  cutTo: number;
  cutAt: number;
  /** Ms of the first 429 of the stretch that is not told to be over; null where there is none. */
  slowed: number | null;
  arrivals: number;
  /** Tokens in a row that passed a waiting lower class. */
  passes: number;
  held: Held[];
  waiters: Waiter[];
  /** By rank: the round being served; by rank and organization: the round it asked for last. */
  rounds: Map<string, number>;
}

/**
 * The budget of one process, for runs without Redis. `budget-8.lua` is the same machine for all workers, and one
 * suite of tests holds both to the same answers: change them together.
 */
export function memoryBudget(
  options: BudgetLimits & { readonly clock: SteadyClock; readonly tell?: TellBudget },
): Budget {
  const { clock, tell } = options;
  const limits = limitsIn(options);
  const lines = new Map<string, Line>();

  /** Of the tokens that are out and the waiters, those who still are at `now`. */
  const left = ({ held, waiters }: Line, now: number): Pick<Line, 'held' | 'waiters'> => {
    const { passedBy, lost } = lateness(limits);
    return {
      held: held.filter(({ release }) => release > now),
      waiters: waiters.filter(({ told }) => told + passedBy + lost >= now),
    };
  };

  /**
   * The key's line as of now: tokens whose time has come are back, waiters who did not come are gone. Tokens that are out
   * return by the window of now, should it be of another length than before.
   */
  const open = (key: string): { line: Line; now: number } => {
    const line = lines.get(key) ?? newLine(limits.windowMs);
    lines.set(key, line);
    const now = Math.floor(clock.monotonic());
    if (line.windowMs !== limits.windowMs) {
      const later = limits.windowMs - line.windowMs;
      line.held = line.held.map((held) => ({ ...held, release: held.release + later }));
      line.windowMs = limits.windowMs;
    }
    Object.assign(line, left(line, now));
    if (line.waiters.length === 0) {
      line.rounds.clear();
      line.passes = 0;
    }
    return { line, now };
  };

  const limit = (line: Line, now: number): number =>
    Math.min(limits.calls, line.cutTo + Math.floor(Math.max(0, now - line.cutAt) / limits.windowMs) * recovery(limits));

  /** When all tokens are there again if no other 429 comes: the end of the stretch. */
  const whole = (line: Line): number =>
    Number.isFinite(line.cutTo)
      ? line.cutAt + Math.max(0, Math.ceil((limits.calls - line.cutTo) / recovery(limits))) * limits.windowMs
      : Number.NEGATIVE_INFINITY;

  const enter = (line: Line, { id, org, priority }: Ask, now: number): Waiter => {
    const rank = PRIORITIES.indexOf(priority);
    const there = line.waiters.find((waiter) => waiter.id === id);
    if (there?.rank === rank) return there;
    const turn = `${rank}:${org}`;
    const round = Math.max(line.rounds.get(`${rank}`) ?? 0, (line.rounds.get(turn) ?? -1) + 1);
    line.rounds.set(turn, round);
    line.arrivals += 1;
    const waiter = { id, org, rank, round, arrival: line.arrivals, told: now };
    line.waiters = [...line.waiters.filter((other) => other !== there), waiter].sort(
      (a, b) => a.rank - b.rank || a.round - b.round || a.arrival - b.arrival,
    );
    return waiter;
  };

  /** How many go before `me`, not counting those who are late. */
  const ahead = (line: Line, me: Waiter, now: number): number => {
    const { passedBy } = lateness(limits);
    const late = (waiter: Waiter) => waiter.told + passedBy < now;
    const index = line.waiters.indexOf(me);
    const present = line.waiters.slice(0, index).filter((waiter) => !late(waiter)).length;
    const top = line.waiters[0];
    if (line.passes < PASSES || top === undefined) return present;
    const owed = line.waiters.findIndex((waiter) => waiter.rank > top.rank);
    const next = line.waiters[owed];
    if (next === undefined || late(next)) return present;
    if (next === me) return 0;
    return index < owed ? present + 1 : present;
  };

  const expected = (line: Line, place: number, now: number): number => {
    const most = limit(line, now);
    const free = Array.from({ length: Math.max(0, most - line.held.length) }, () => now);
    // A reply that comes right now is the earliest that can happen to a call in flight.
    const back = line.held.map(({ release, inFlight }) =>
      inFlight ? Math.min(release, now + limits.windowMs) : release,
    );
    // Where more are out than there are now, the first that come back are nobody's.
    const times = [...free, ...back].sort((a, b) => a - b).slice(-most);
    const at = (times[place % most] ?? now) + Math.floor(place / most) * limits.windowMs;
    return Math.max(at, line.blockedUntil, now + 1);
  };

  const grant = (line: Line, me: Waiter, holdMs: number, now: number): Answer => {
    const token = `${me.id}#${randomUUID()}`;
    line.waiters = line.waiters.filter((waiter) => waiter !== me);
    line.held.push({ token, release: now + holdMs + limits.windowMs + 1, inFlight: true });
    line.rounds.set(`${me.rank}`, Math.max(line.rounds.get(`${me.rank}`) ?? 0, me.round));
    const passesSome = line.waiters.some((waiter) => waiter.rank > me.rank);
    const wasPassed = line.waiters.some((waiter) => waiter.rank < me.rank);
    line.passes = passesSome && !wasPassed ? line.passes + 1 : 0;
    return { granted: true, token, tokens: limit(line, now) - line.held.length };
  };

  return {
    limits,
    ask: async (ask) => {
      const { line, now } = open(ask.key);
      if (line.slowed !== null && now >= whole(line)) {
        tell?.({ kind: 'recovered', key: ask.key, org: ask.org, afterMs: now - line.slowed });
        line.slowed = null;
      }
      const me = enter(line, ask, now);
      me.told = now;
      const place = ahead(line, me, now);
      const tokens = Math.max(0, limit(line, now) - line.held.length);
      if (place < tokens && now >= line.blockedUntil) return grant(line, me, ask.holdMs, now);
      me.told = expected(line, place, now);
      return { granted: false, at: clock.now() + me.told - now, ahead: place, tokens };
    },
    replied: async (key, token) => {
      const { line, now } = open(key);
      // One millisecond more than the window: both ends of it are read from clocks that cut the rest of one off.
      line.held = line.held.map((held) =>
        held.token === token && held.inFlight ? { token, release: now + limits.windowMs + 1, inFlight: false } : held,
      );
    },
    unsent: async (key, token) => {
      const { line } = open(key);
      line.held = line.held.filter((held) => held.token !== token);
    },
    leave: async (key, id) => {
      const { line } = open(key);
      line.waiters = line.waiters.filter((waiter) => waiter.id !== id);
    },
    block: async (key, until, org) => {
      const { line, now } = open(key);
      const first = line.slowed === null || now >= whole(line);
      if (first) line.slowed = now;
      line.blockedUntil = Math.max(line.blockedUntil, now + Math.max(0, until - clock.now()));
      line.throttled += 1;
      // Calls that were under way with the first of them all come back throttled: one cut for them together.
      if (now >= line.cutAt + limits.windowMs) line.cutTo = Math.max(1, Math.floor(limit(line, now) / 2));
      line.cutAt = Math.max(line.cutAt, line.blockedUntil);
      if (!first) return;
      const toCaller = clock.now() - now;
      tell?.({
        kind: 'slowed',
        key,
        org,
        limit: limit(line, now),
        blockedUntil: line.blockedUntil + toCaller,
        slowedUntil: whole(line) + toCaller,
      });
    },
    look: async (key) => {
      // Changes nothing.
      const now = Math.floor(clock.monotonic());
      const kept = lines.get(key) ?? newLine(limits.windowMs);
      const line = { ...kept, ...left(kept, now) };
      return {
        key,
        tokens: Math.max(0, limit(line, now) - line.held.length),
        inFlight: line.held.filter(({ inFlight }) => inFlight).length,
        waiting: line.waiters.length,
        blockedUntil: line.blockedUntil > now ? clock.now() + line.blockedUntil - now : null,
        throttled: line.throttled,
        limit: limit(line, now),
        slowedUntil: whole(line) > now ? clock.now() + whole(line) - now : null,
      };
    },
  };
}

const newLine = (windowMs: number): Line => ({
  windowMs,
  blockedUntil: Number.NEGATIVE_INFINITY,
  throttled: 0,
  cutTo: Number.POSITIVE_INFINITY,
  cutAt: Number.NEGATIVE_INFINITY,
  slowed: null,
  arrivals: 0,
  passes: 0,
  held: [],
  waiters: [],
  rounds: new Map(),
});
