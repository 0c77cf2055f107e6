import type { LocalWaiters } from './local-waiters.ts';

/** Priorities in the queue of a key: on-demand runs go before scheduled runs, and these before backfills. */
export const PRIORITIES = ['on_demand', 'scheduled', 'backfill'] as const;
export type Priority = (typeof PRIORITIES)[number];

/** Classes of calls that never queue: without a free token they have to acquire again later. */
export const SPARE_CLASSES = ['correction', 'preparation'] as const;
export type SpareClass = (typeof SPARE_CLASSES)[number];

/**
 * The classes of calls: those of runs, and two that never queue. `correction`, calls that look for corrected figures,
 * gets a token only while no call of a run waits for the key. `preparation`, calls that are made before their slot, may
 * also pass waiting backfills.
 */
export type CallClass = Priority | SpareClass;

export const isSpareClass = (priority: CallClass): priority is SpareClass =>
  SPARE_CLASSES.some((spare) => spare === priority);

export interface AcquireRequest {
  /** Fingerprint of the API key (`Secret.fingerprint()`), never the key. */
  readonly key: string;
  /** Identifies the waiter. A repeated request with the same id, from any process, keeps its queue position. */
  readonly id: string;
  /** Organizations that share a key are served round-robin. */
  readonly org: string;
  /** Takes turns under this name instead, like an organization of its own. */
  readonly turn?: string | undefined;
  readonly priority: CallClass;
  /** Longest time (ms) the call may stay unanswered. Without a reply its token returns after this plus one window. */
  readonly holdMs: number;
}

export type AcquireResult =
  | {
      readonly granted: true;
      /**
       * Id of the token. One token allows one dispatch: a later request with the same waiter id needs a new token,
       * because a run resumed after a crash cannot know whether its call was sent.
       */
      readonly token: string;
      /** Tokens left after this one. */
      readonly tokens: number;
      /** Ids of the waiters that can take the tokens left, without overdue ones: at most the first `MAX_NEXT`. */
      readonly next: readonly string[];
    }
  | {
      readonly granted: false;
      /**
       * Epoch ms at which this waiter can expect its token and should acquire again. A call of a spare class may find
       * the token taken, because it has no queue position.
       */
      readonly at: number;
      /** Number of waiters in front. */
      readonly ahead: number;
      readonly tokens: number;
    };

/** State of one key's budget and queue. */
export interface BudgetState {
  readonly key: string;
  readonly tokens: number;
  readonly inFlight: number;
  readonly waiting: number;
  /** Epoch ms; null if calls are not blocked. */
  readonly blockedUntil: number | null;
  /** Number of 429s (`penalize`) since the key was last idle for so long that its state was dropped. */
  readonly throttled: number;
  /** Current number of tokens: below the configured limit for some windows after a 429. */
  readonly limit: number;
  /** Epoch ms at which the full limit is restored unless another 429 comes; null at full rate. */
  readonly slowedUntil: number | null;
}

/**
 * Events of a key's budget. One process reports each, once: `slowed` on the first 429 of a slowed stretch, `recovered`
 * on the first acquire after the stretch, `lost` on the first acquire after the store lost its state.
 */
export type BudgetEvent =
  | {
      readonly kind: 'slowed';
      readonly key: string;
      /** The organization whose call got the 429. */
      readonly org: string;
      /** The reduced limit. */
      readonly limit: number;
      /** Epoch ms until which no calls are made. */
      readonly blockedUntil: number;
      /** Epoch ms; see `BudgetState`. */
      readonly slowedUntil: number;
    }
  | {
      readonly kind: 'recovered';
      readonly key: string;
      readonly org: string;
      /** Ms since the first 429 of the stretch. */
      readonly afterMs: number;
    }
  | {
      /** The store lost its record of this key's calls. No calls are made until the lost ones can no longer count. */
      readonly kind: 'lost';
      readonly key: string;
      /** The organization whose call acquired. */
      readonly org: string;
      readonly forMs: number;
    };

export type OnBudgetEvent = (event: BudgetEvent) => void;

/**
 * At most `calls` dispatches in any `windowMs`, as the server counts them. A budget reads both at each operation, so a
 * getter may return new values later; they also apply to tokens already held.
 */
export interface BudgetLimits {
  readonly calls: number;
  readonly windowMs: number;
}

/** Reads the limits from a budget's options at each use. */
export const currentLimits = (options: BudgetLimits): BudgetLimits => ({
  get calls() {
    return options.calls;
  },
  get windowMs() {
    return options.windowMs;
  },
});

/**
 * The token bucket of an API key, shared by all workers (specification §8: 30 metrics calls a minute per key).
 *
 * A call holds its token from dispatch until its reply plus one window (without a reply: for `holdMs` plus one window).
 * So the server's rate limit is never exceeded, however the server counts and however long requests travel.
 *
 * Waiters form one queue per key, ordered by priority, then organizations round-robin, then arrival. Every tenth token
 * goes to a lower priority that is waiting, which prevents starvation. Spare classes never queue, see `CallClass`. A
 * waiter that does not acquire again at its time is overtaken, and expires two windows later.
 *
 * A 429 means that somebody else uses the key, or that the service is stricter than documented: the limit is halved.
 * With each window without another 429 it recovers by a tenth of the configured limit. See `BudgetEvent`.
 *
 * Time is measured by monotonic clocks: a step of a wall clock (of a process or of Redis) neither returns a token early
 * nor holds one longer. If state is lost, all tokens count as held. Every operation throws `redis.unreachable` if the
 * store cannot be reached, and no call is made.
 */
export interface Budget {
  readonly limits: BudgetLimits;
  readonly waiters: LocalWaiters;
  /** Takes a token or joins the queue. */
  acquire(request: AcquireRequest): Promise<AcquireResult>;
  /** The call that holds `token` was answered, so the token returns one window from now. */
  complete(key: string, token: string): Promise<void>;
  /** The call was granted but never sent, so its token returns at once. */
  release(key: string, token: string): Promise<void>;
  /** Leaves the queue without a token. `id` as in the acquire request. */
  cancel(key: string, id: string): Promise<void>;
  /** A call of `org` got a 429. No calls are made with this key until this instant (epoch ms; the latest one wins). */
  penalize(key: string, until: number, org: string): Promise<void>;
  inspect(key: string): Promise<BudgetState>;
}

/** The most tokens of a key that `correction` calls hold at once, and so the most of such calls in any window. */
export const MAX_SPARE_TOKENS = 3;

/**
 * The most tokens that `correction` calls hold under this limit: a tenth, but at least one and at most
 * `MAX_SPARE_TOKENS`.
 */
export const spareTokens = (limit: number): number => Math.max(1, Math.min(MAX_SPARE_TOKENS, Math.floor(limit / 10)));

/**
 * The most tokens of a key that preparations hold at once: two thirds of the current limit. So an on-demand call finds
 * a free one on a key that nobody else uses. With a limit of one call, preparations get none.
 */
export const preparationTokens = (limit: number): number => Math.floor((limit * 2) / 3);

/** How many tokens in a row may pass a waiting lower priority. That priority gets the next one. */
export const STARVATION_LIMIT = 9;

/** How many waiters a grant names for the tokens left; their own grants name more. */
export const MAX_NEXT = 10;

/** Tokens restored per window after a 429 has halved the limit. */
export const tokensRecoveredPerWindow = ({ calls }: BudgetLimits): number => Math.ceil(calls / 10);

/** How late (ms) a waiter may acquire before others overtake it, and how long (ms) after that it leaves the queue. */
export const waiterTimeouts = ({
  windowMs,
}: BudgetLimits): { readonly overtakenAfterMs: number; readonly expiresAfterMs: number } => ({
  overtakenAfterMs: Math.ceil(windowMs / 60),
  expiresAfterMs: windowMs * 2,
});
