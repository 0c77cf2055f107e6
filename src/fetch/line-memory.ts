/** What a reply of the budget's script says of the line, and when it came by this machine's monotonic clock, ms. */
export interface LineReading {
  readonly life: string;
  /** Ms of the line's own time. */
  readonly at: number;
  readonly receivedAt: number;
}

/** What one process knows of the line of a key from its own calls. */
export interface LineKnown {
  /** Names the line from when it was made until Redis forgets it. */
  readonly life: string;
  /** From the monotonic clock to the line's time, ms: never more than is proven. */
  readonly offset: number;
  /** The line's time that was seen last. */
  readonly seen: number;
  /** By the monotonic clock. */
  readonly lastUsed: number;
}

/** Script `budget-8.lua` keeps a line for at least this long (ms) after its last use. */
const KEPT_MS = 7 * 86_400_000;

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
  const lines = new Map<string, LineKnown>();
  const holds = new Map<string, number>();
  return {
    of: (key, now) => {
      const known = lines.get(key);
      return known !== undefined && now - known.lastUsed < KEPT_MS ? known : undefined;
    },
    learn: (key, { life, at, receivedAt }) => {
      const before = lines.get(key);
      const same = before?.life === life ? before : undefined;
      // The script ran before its reply came, so the line was no further than this at that reading; the quickest reply
      // tells best.
      const offset = Math.floor(at - Math.ceil(receivedAt));
      lines.set(key, {
        life,
        offset: Math.max(offset, same?.offset ?? offset),
        seen: Math.max(at, same?.seen ?? at),
        lastUsed: receivedAt,
      });
    },
    holdMs: (key) => holds.get(key) ?? 0,
    held: (key, holdMs) => void holds.set(key, Math.max(holdMs, holds.get(key) ?? 0)),
  };
}
