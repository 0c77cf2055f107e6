/** Who goes first in the line of a key: a person who waits before a schedule, a schedule before a backfill. */
export const PRIORITIES = ['on_demand', 'scheduled', 'backfill'] as const;
export type Priority = (typeof PRIORITIES)[number];

export interface Ask {
  /** Fingerprint of the API key (`Secret.fingerprint()`), never the key. */
  readonly key: string;
  /** Names the place in the line: asking again with it keeps the place, from whatever process, until it is granted. */
  readonly id: string;
  /** Organizations that share a key take turns. */
  readonly org: string;
  readonly priority: Priority;
  /** How long the call may go unanswered, ms: the token comes back after this plus the window if no reply is told. */
  readonly holdMs: number;
}

export type Answer =
  | {
      readonly granted: true;
      /**
       * Names the token that was taken. One token is one dispatch: whoever asks with the same id after this grant
       * (a run resumed after a crash cannot know whether the call left) waits for a token of its own.
       */
      readonly token: string;
      /** Tokens left after this one. */
      readonly tokens: number;
    }
  | {
      readonly granted: false;
      /** Epoch ms at which this waiter can expect its token; ask again then. */
      readonly at: number;
      /** Waiters in front. */
      readonly ahead: number;
      readonly tokens: number;
    };

/** One key's line, as operators see it. */
export interface BudgetState {
  readonly key: string;
  readonly tokens: number;
  readonly inFlight: number;
  readonly waiting: number;
  /** Epoch ms, or null. */
  readonly blockedUntil: number | null;
  /** 429s told by `block` since the line was last idle for long. */
  readonly throttled: number;
  /** Tokens there are in all: fewer than the limit for some windows after a 429. */
  readonly limit: number;
  /** Epoch ms at which the line goes at its full rate again if no other 429 comes; null while it does. */
  readonly slowedUntil: number | null;
}

/**
 * What the line of a key has to say of itself. It is told in one process only, whichever of all workers it showed to:
 * `slowed` by the first 429 of a stretch, `recovered` to the first who asks when that stretch is over, `lost` to the
 * first who asks after the store has lost what it held.
 */
export type BudgetNews =
  | {
      readonly kind: 'slowed';
      readonly key: string;
      /** Whose call met the 429. */
      readonly org: string;
      /** Tokens there are now. */
      readonly limit: number;
      /** Epoch ms until which nobody calls. */
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
      /** The store has forgotten calls of this key: none leaves until they no longer count. */
      readonly kind: 'lost';
      readonly key: string;
      /** Who asked. */
      readonly org: string;
      readonly forMs: number;
    };

export type TellBudget = (news: BudgetNews) => void;

/**
 * How many dispatches (`calls`) any stretch of `windowMs` may hold at the server. A budget reads them anew at each step:
 * getters may answer otherwise later, and what they say then holds for the tokens that are out, too.
 */
export interface BudgetLimits {
  readonly calls: number;
  readonly windowMs: number;
}

/** The limits among a budget's options, as they are at each look. */
export const limitsIn = (options: BudgetLimits): BudgetLimits => ({
  get calls() {
    return options.calls;
  },
  get windowMs() {
    return options.windowMs;
  },
});

/**
 * The token bucket of an API key, shared by all workers (specification §8: 30 metrics calls a minute a key).
 *
 * A call holds its token from dispatch until *its reply plus one window* (no reply: `holdMs` plus one window), so no
 * window at the server can ever hold more calls than the limit, whatever its algorithm and whatever the network does.
 * Waiters stand in one line per key: on-demand before scheduled before backfill (but every tenth token goes to the
 * class that is being passed, so that nothing starves), organizations in turns, first come first served within one.
 * A waiter who does not come back at its time is passed by, and has lost its place two windows later.
 * A 429 although all of this was kept means that somebody else uses the key, or that the service is stricter than it
 * says: there are then half as many tokens, and a tenth of the limit more with each window that passes without another.
 * That is told once, and once that it is over (`BudgetNews`).
 * Time is measured by monotonic clocks: no step of a wall clock, the processes' or Redis's, returns a token early or
 * holds one for longer. A line that its store has lost counts as one with all tokens out.
 * A store that cannot be asked throws `redis.unreachable`, and nothing is called.
 */
export interface Budget {
  readonly limits: BudgetLimits;
  /** Takes a token, or a place in the line. */
  ask(ask: Ask): Promise<Answer>;
  /** The reply to the call that holds `token` has come: the token returns one window from now. */
  replied(key: string, token: string): Promise<void>;
  /** A call that was granted but never left: its token returns at once. */
  unsent(key: string, token: string): Promise<void>;
  /** Leaves the line without a token. `id` as it was asked with. */
  leave(key: string, id: string): Promise<void>;
  /** A 429 that a call of `org` met: nobody calls with this key until then (epoch ms; the latest such instant wins). */
  block(key: string, until: number, org: string): Promise<void>;
  look(key: string): Promise<BudgetState>;
}

/** Of the tokens that pass a waiting lower class, how many may go in a row; the next one is that class's. */
export const PASSES = 9;

/** Tokens that come back with each window after a 429 has halved them. */
export const recovery = ({ calls }: BudgetLimits): number => Math.ceil(calls / 10);

/** How late (ms) a waiter may come before others pass it by, and how much later it has lost its place. */
export const lateness = ({ windowMs }: BudgetLimits): { readonly passedBy: number; readonly lost: number } => ({
  passedBy: Math.ceil(windowMs / 60),
  lost: windowMs * 2,
});
