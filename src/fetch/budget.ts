/** Who goes first in the line of a key: a person who waits before a schedule, a schedule before a backfill. */
export const PRIORITIES = ['on_demand', 'scheduled', 'backfill'] as const;
export type Priority = (typeof PRIORITIES)[number];

export interface Ask {
  /** Fingerprint of the API key (`Secret.fingerprint()`), never the key. */
  readonly key: string;
  /** Names this one call; asking again with it keeps the place in the line and never takes a second token. */
  readonly id: string;
  /** Organizations that share a key take turns. */
  readonly org: string;
  readonly priority: Priority;
  /** How long the call may go unanswered, ms: the token comes back after this plus the window if no reply is told. */
  readonly holdMs: number;
}

export type Answer =
  | { readonly granted: true /** Tokens left after this one. */; readonly tokens: number }
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
}

/**
 * The token bucket of an API key, shared by all workers (specification §8: 30 metrics calls a minute a key).
 *
 * A call holds its token from dispatch until *its reply plus one window* (no reply: `holdMs` plus one window), so no
 * window at the server can ever hold more calls than the limit, whatever its algorithm and whatever the network does.
 * A store that cannot be asked throws `redis.unreachable`, and nothing is called.
 */
export interface Budget {
  /** Takes a token, or a place in the line. */
  ask(ask: Ask): Promise<Answer>;
  /** The reply to call `id` has come: its token returns one window from now. */
  replied(key: string, id: string): Promise<void>;
  /** A call that was granted but never left: its token returns at once. */
  unsent(key: string, id: string): Promise<void>;
  /** Leaves the line without a token. */
  leave(key: string, id: string): Promise<void>;
  /** A 429: nobody calls with this key until then (the latest such instant wins). */
  block(key: string, until: number): Promise<void>;
  look(key: string): Promise<BudgetState>;
}
