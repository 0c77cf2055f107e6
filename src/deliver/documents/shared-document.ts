import { setImmediate } from 'node:timers/promises';
import type { z } from 'zod';
import { DocketError } from '../../base/error.ts';
import { SECOND_MS } from '../../base/time.ts';
import { parseStored, type RedisClient } from '../../redis/client.ts';
import { withRedisErrors } from '../../redis/errors.ts';
import { loadLuaScript, runLuaScript } from '../../redis/script.ts';
import type { ArchivedDocument, Versioned } from './archived-document.ts';

/**
 * How long a change may stay unnoticed if it was made by a process with another Redis, which shares only the archive.
 */
const FRESH_MS = 10 * SECOND_MS;
/** How many concurrent changes by other processes to tolerate. */
const MAX_CONFLICTS = 20;

const CACHE = loadLuaScript('./cache-document-2.lua', import.meta.url);

export interface DocumentCache<T extends Versioned> {
  readonly schema: z.ZodType<T>;
  /** Key of the newest known version as JSON. */
  readonly text: string;
  /** A key that marks newest versions for which `isSet` is true. It expires after `ms` without a read. */
  readonly fresh: string;
  /**
   * A key that exists for at most `ms` after a newest version that allows it was read; `isSet` says whether it does.
   */
  readonly marker?: { readonly key: string; readonly ms: number; readonly isSet: (state: T) => boolean };
}

/** A document in the archive, cached in Redis. Every process of this Redis sees a change at once. */
export interface SharedDocument<T extends Versioned> {
  /** Throws `switch.unreadable` if neither Redis nor the archive has the document, and `redis.unreachable`. */
  read(): Promise<T>;
  /** The newest known version, for display. A process without the archive can show it too. */
  known(): Promise<T | undefined>;
  /**
   * Makes a new version from the newest one. If `make` returns the same object, nothing changes. Repeats if others have
   * changed it meanwhile. Throws as `read`, and `archive.unwritable`.
   */
  change(make: (state: T) => T): Promise<T>;
}

export function sharedDocument<T extends Versioned>(
  redis: RedisClient,
  archive: ArchivedDocument<T>,
  { schema, text, fresh, marker }: DocumentCache<T>,
): SharedDocument<T> {
  // Undefined for a document of another version of Docket. Reading the archive then reports that.
  const parse = (json: unknown): T | undefined => parseStored<T>(schema, json);
  const cache = async (state: T): Promise<T> => {
    const { key = '', ms = 0, isSet } = marker ?? {};
    const args = [JSON.stringify(state), state.version, FRESH_MS, key, isSet?.(state) ? 1 : 0, ms];
    const newest = await withRedisErrors(undefined, () => runLuaScript(redis, CACHE, [text, fresh], args));
    return newest === null ? state : (parse(newest) ?? state);
  };
  let local: T | undefined;
  const readArchive = async (): Promise<T> => {
    local = await cache(await archive.read());
    return local;
  };
  let reading: Promise<T> | undefined;
  return {
    read: async () => {
      const version = await withRedisErrors(undefined, () => redis.get(fresh));
      if (version !== null) {
        // Parsed once: the document may be large, and is read before each message.
        if (local !== undefined && String(local.version) === version) return local;
        const known = parse(await withRedisErrors(undefined, () => redis.get(text)));
        if (known !== undefined) {
          local = known;
          return known;
        }
      }
      // Concurrent callers share one read of the archive.
      reading ??= readArchive().finally(() => {
        reading = undefined;
      });
      return reading;
    },
    known: async () =>
      parse(await withRedisErrors(undefined, () => redis.get(text))) ?? archive.read().catch(() => undefined),
    change: async (make) => {
      for (let conflicts = 0; conflicts < MAX_CONFLICTS; conflicts += 1) {
        const before = await readArchive();
        const after = make(before);
        if (after === before) return before;
        if (await archive.write(after)) return cache(after);
        await setImmediate();
      }
      throw new DocketError('archive.unwritable', 'Other processes kept changing it; nothing was changed.', {
        next: 'Repeat the command.',
      });
    },
  };
}
