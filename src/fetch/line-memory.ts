/** What a reply of the budget's script says of the line, and when it was asked and came by this machine's clock, ms. */
export interface LineReading {
  readonly life: string;
  /** Ms of the line's own time. */
  readonly at: number;
  readonly sentAt: number;
  readonly receivedAt: number;
}

/** What one process tells the script of the line of a key. */
export interface LineKnown {
  /** Names the line from when it was made until Redis forgets it. */
  readonly life: string;
  /** From the monotonic clock to the line's time, ms. */
  readonly offset: number;
  /** The line's time that was seen last. */
  readonly seen: number;
}

/** Script `budget-8.lua` keeps a line for at least this long (ms) after its last use. */
const KEPT_MS = 7 * 86_400_000;
/** How much faster (ms a ms) the clock of Redis may be than ours without being held back. */
const MAX_DRIFT = 0.0002;
/** By more than this (ms) the line is behind our reckoning only if it has lost time. */
const SAME_MS = 5;

/** What one process remembers of the lines that it used: its evidence against a Redis whose clock or data has moved. */
export interface LineMemory {
  /** Undefined for a line that Redis need not know any more. @param now by the monotonic clock */
  of(key: string, now: number): LineKnown | undefined;
  learn(key: string, reading: LineReading): void;
  /** How long a call of this key can be out unanswered, ms: the longest that was asked for. */
  holdMs(key: string): number;
  held(key: string, holdMs: number): void;
}

export function lineMemory(): LineMemory {
  interface Line {
    readonly life: string;
    /** The line was no further than `at` when the monotonic clock showed `receivedAt`. */
    readonly at: number;
    readonly receivedAt: number;
    readonly seen: number;
    readonly lastUsed: number;
  }
  const lines = new Map<string, Line>();
  const holds = new Map<string, number>();
  const reckoned = ({ at, receivedAt }: Line, now: number): number => at + (now - receivedAt) * (1 + MAX_DRIFT);
  return {
    of: (key, now) => {
      const line = lines.get(key);
      if (line === undefined || now - line.lastUsed >= KEPT_MS) return undefined;
      return { life: line.life, seen: line.seen, offset: Math.floor(reckoned(line, now) - now) };
    },
    learn: (key, { life, at, sentAt, receivedAt }) => {
      const before = lines.get(key);
      const same = before?.life === life ? before : undefined;
      const seen = Math.max(at, same?.seen ?? at);
      // The script ran before its reply came; of several replies the quickest tells best how far the line is.
      const keep = same !== undefined && reckoned(same, sentAt) <= at + SAME_MS && reckoned(same, receivedAt) > at;
      lines.set(
        key,
        keep ? { ...same, seen, lastUsed: receivedAt } : { life, at, receivedAt, seen, lastUsed: receivedAt },
      );
    },
    holdMs: (key) => holds.get(key) ?? 0,
    held: (key, holdMs) => void holds.set(key, Math.max(holdMs, holds.get(key) ?? 0)),
  };
}
