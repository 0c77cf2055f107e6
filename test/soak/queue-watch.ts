import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { DEFAULT_KEY_PREFIX } from '../../src/redis/keys.ts';

/** Shorter than any token is held, so that none is missed. */
const PAUSE_MS = 250;
/** Prefix of backfill calls in the queue. Preparations may pass them. */
const BACKFILL = '2';

export interface QueueWatch {
  /** Tokens that a preparation took while a call of a run was waiting for one. */
  readonly overtaken: string[];
  close(): Promise<void>;
}

/**
 * Reads the budgets of these keys, by fingerprint, in Redis. A waiting call keeps its name in the queue until it
 * leaves: one that is seen both before and after a preparation took its token was waiting at that moment.
 */
export function watchQueues(client: Redis, keys: readonly string[]): QueueWatch {
  const overtaken: string[] = [];
  const closed = new AbortController();
  const known = new Set<string>();
  const waiting = new Map<string, ReadonlySet<string>>();
  const look = async (key: string): Promise<void> => {
    const name = (part: string) => `${DEFAULT_KEY_PREFIX}:metrics:budget:{${key}}:${part}`;
    const replies = await client.multi().zrange(name('held'), '0', '-1').zrange(name('line'), '0', '-1').exec();
    const [held, line] = (replies ?? []).map(([error, found]) => (error === null ? (found as string[]) : []));
    const before = waiting.get(key);
    const passed = (line ?? []).filter((one) => before?.has(one) === true && !one.startsWith(BACKFILL));
    for (const token of held ?? []) {
      if (!token.startsWith('prep!') || known.has(token)) continue;
      known.add(token);
      if (passed.length > 0) overtaken.push(`${token} passed ${passed.length} waiting calls, ${passed[0]} among them`);
    }
    waiting.set(key, new Set(line));
  };
  const watching = (async () => {
    while (!closed.signal.aborted) {
      for (const key of keys) await look(key).catch(() => waiting.delete(key));
      await sleep(PAUSE_MS, undefined, { signal: closed.signal }).catch(() => {});
    }
  })();
  return {
    overtaken,
    close: async () => {
      closed.abort();
      await watching;
    },
  };
}
