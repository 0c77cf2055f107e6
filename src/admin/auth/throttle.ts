/** Refused tokens that an address may show in a window. */
const MOST = 10;
const WINDOW_MS = 60_000;
/** Addresses that are remembered: an attacker with many must not fill the memory. */
const ADDRESSES = 10_000;

/** Counts refused tokens by address. */
export interface Throttle {
  /** Ms for which the address has shown too many; 0 while it has not. */
  blockedMs(address: string): number;
  refused(address: string): void;
}

/** @param now epoch ms */
export function throttle(now: () => number): Throttle {
  const refusals = new Map<string, { count: number; readonly until: number }>();
  return {
    blockedMs: (address) => {
      const entry = refusals.get(address);
      return entry !== undefined && entry.count >= MOST ? Math.max(0, entry.until - now()) : 0;
    },
    refused: (address) => {
      const entry = refusals.get(address);
      if (entry !== undefined && entry.until > now()) {
        entry.count += 1;
        return;
      }
      refusals.delete(address);
      if (refusals.size >= ADDRESSES) {
        const [oldest] = refusals.keys();
        if (oldest !== undefined) refusals.delete(oldest);
      }
      refusals.set(address, { count: 1, until: now() + WINDOW_MS });
    },
  };
}
