import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../../base/clock.ts';
import { DocketError } from '../../base/error.ts';
import { MINUTE_MS, SECOND_MS } from '../../base/time.ts';
import { parseStored, type RedisClient } from '../../redis/client.ts';
import { withRedisErrors } from '../../redis/errors.ts';
import { redisKeys } from '../../redis/keys.ts';
import { loadLuaScript, runLuaScript } from '../../redis/script.ts';
import type { ArchivedSwitches } from './archived-switches.ts';
import {
  findSwitch,
  type Switch,
  type SwitchState,
  type SwitchTarget,
  stoppedError,
  stoppedMs,
  switchStateSchema,
  withoutSwitch,
  withSwitch,
} from './switches.ts';

/** So long a change by a process with another Redis, which shares the archive alone, may stay unnoticed. */
const FRESH_MS = 10 * SECOND_MS;
/** Workers read the switches every minute. */
const UNHELD_MS = 15 * MINUTE_MS;
/** Other processes that change switches at the same moment. */
const MAX_CONFLICTS = 20;

const CACHE = loadLuaScript('./cache-switches-3.lua', import.meta.url);

/** Author and reason of a change. */
export interface SwitchAuthor {
  readonly by: string;
  readonly reason: string;
}

/**
 * The stop and the legal hold. Reads throw `switch.unreadable` where neither Redis nor the archive says what is on, and
 * `redis.unreachable`: then nothing may be sent or deleted.
 */
export interface Switches {
  read(): Promise<SwitchState>;
  /** The newest version that is known, for display: a process without the archive shows it, too. */
  known(): Promise<SwitchState | undefined>;
  /** Throws `delivery.stopped` while deliveries of the organization are stopped. */
  assertOpen(org: string): Promise<void>;
  isHeld(org: string): Promise<boolean>;
  /** Ms since `from` in which deliveries of the organization were stopped. */
  stoppedMs(org: string, from: number): Promise<number>;
  /** Switches on. One that is on stays as it is. Also throws `archive.unwritable`. @returns the one in force */
  set(target: SwitchTarget, author: SwitchAuthor): Promise<Switch>;
  /** Switches off. @returns the one that was in force; undefined without one */
  release(target: SwitchTarget, author: SwitchAuthor): Promise<Switch | undefined>;
}

/** In the archive, and cached in Redis: a change by any process of this Redis is seen by all of them at once. */
export function sharedSwitches(
  redis: RedisClient,
  archive: ArchivedSwitches,
  { prefix, clock }: { readonly prefix: string; readonly clock: Clock },
): Switches {
  const { switches: text, switchesFresh: fresh, unheld } = redisKeys(prefix);
  // Of another version of Docket: the archive is read, which says so.
  const parse = (json: unknown): SwitchState | undefined => parseStored<SwitchState>(switchStateSchema, json);
  const cache = async (state: SwitchState): Promise<SwitchState> => {
    const held = state.switches.some(({ kind }) => kind === 'hold') ? 1 : 0;
    const args = [JSON.stringify(state), FRESH_MS, held, UNHELD_MS];
    const newest = await withRedisErrors(undefined, () => runLuaScript(redis, CACHE, [text, fresh, unheld], args));
    return parse(newest) ?? state;
  };
  const cached = (): Promise<readonly (string | null)[]> => withRedisErrors(undefined, () => redis.mget(text, fresh));
  const readArchive = async (): Promise<SwitchState> => cache(await archive.read());

  let reading: Promise<SwitchState> | undefined;
  const read = async (): Promise<SwitchState> => {
    const [json, isFresh] = await cached();
    const known = isFresh ? parse(json) : undefined;
    if (known !== undefined) return known;
    // Concurrent callers share one read of the archive.
    reading ??= readArchive().finally(() => {
      reading = undefined;
    });
    return reading;
  };

  const change = async (make: (state: SwitchState) => SwitchState): Promise<SwitchState> => {
    for (let conflicts = 0; conflicts < MAX_CONFLICTS; conflicts += 1) {
      const before = await readArchive();
      const after = make(before);
      if (after === before) return before;
      if (await archive.write(after)) return cache(after);
      await setImmediate();
    }
    throw new DocketError(
      'archive.unwritable',
      'The switches were changed by others all the time; nothing was changed.',
      {
        next: 'Repeat the command.',
      },
    );
  };

  return {
    read,
    known: async () => {
      const [json] = await cached();
      return parse(json) ?? archive.read().catch(() => undefined);
    },
    assertOpen: async (org) => {
      const stop = findSwitch(await read(), 'stop', org);
      if (stop !== undefined) throw stoppedError(stop);
    },
    isHeld: async (org) => findSwitch(await read(), 'hold', org) !== undefined,
    stoppedMs: async (org, from) => stoppedMs(await read(), org, from, clock.now()),
    set: async (target, { by, reason }) => {
      const added: Switch = { ...target, by, reason, since: clock.now() };
      const { switches } = await change((state) => withSwitch(state, added));
      return switches.find(({ kind, org }) => kind === target.kind && org === target.org) ?? added;
    },
    release: async (target, author) => {
      let released: Switch | undefined;
      await change((state) => {
        released = state.switches.find(({ kind, org }) => kind === target.kind && org === target.org);
        return withoutSwitch(state, target, author, clock.now());
      });
      return released;
    },
  };
}
