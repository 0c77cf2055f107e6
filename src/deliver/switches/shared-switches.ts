import type { Clock } from '../../base/clock.ts';
import { MINUTE_MS } from '../../base/time.ts';
import type { RedisClient } from '../../redis/client.ts';
import { redisKeys } from '../../redis/keys.ts';
import type { ArchivedDocument } from '../documents/archived-document.ts';
import { sharedDocument } from '../documents/shared-document.ts';
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

/**
 * For how long scripts may drop index entries after a read without a legal hold. Workers read the switches every
 * minute.
 */
const UNHELD_MS = 15 * MINUTE_MS;

/** Author and reason of a change. */
export interface SwitchAuthor {
  readonly by: string;
  readonly reason: string;
}

/**
 * The delivery stop and the legal hold. Reads throw `switch.unreadable` if neither Redis nor the archive has them, and
 * `redis.unreachable`: nothing may be sent or deleted then.
 */
export type Switches = ReturnType<typeof sharedSwitches>;

/** Keeps the switches in the archive, and caches them in Redis. */
export function sharedSwitches(
  redis: RedisClient,
  archive: ArchivedDocument<SwitchState>,
  { prefix, clock }: { readonly prefix: string; readonly clock: Clock },
) {
  const { switches: text, switchesFresh: fresh, unheld } = redisKeys(prefix);
  // Scripts drop index entries only while this marker exists (run-index.lua).
  const isUnheld = (state: SwitchState): boolean => state.switches.every(({ kind }) => kind !== 'hold');
  const marker = { key: unheld, ms: UNHELD_MS, isSet: isUnheld };
  const { read, known, change } = sharedDocument(redis, archive, { schema: switchStateSchema, text, fresh, marker });

  return {
    read,
    /** The newest known version, for display. A process without the archive can show it too. */
    known,
    /** Throws `delivery.stopped` while deliveries of the organization are stopped. */
    assertOpen: async (org: string): Promise<void> => {
      const stop = findSwitch(await read(), 'stop', org);
      if (stop !== undefined) throw stoppedError(stop);
    },
    isHeld: async (org: string): Promise<boolean> => findSwitch(await read(), 'hold', org) !== undefined,
    /** For how many ms since `from` the organization's deliveries were stopped. */
    stoppedMs: async (org: string, from: number): Promise<number> => stoppedMs(await read(), org, from, clock.now()),
    /**
     * Turns a switch on. A switch that is already on stays as it is. Also throws `archive.unwritable`. @returns the
     * switch that is on
     */
    set: async (target: SwitchTarget, { by, reason }: SwitchAuthor): Promise<Switch> => {
      const added: Switch = { ...target, by, reason, since: clock.now() };
      const { switches } = await change((state) => withSwitch(state, added));
      return switches.find(({ kind, org }) => kind === target.kind && org === target.org) ?? added;
    },
    /** Turns a switch off. @returns the switch that was on; undefined if none was */
    release: async (target: SwitchTarget, author: SwitchAuthor): Promise<Switch | undefined> => {
      let released: Switch | undefined;
      await change((state) => {
        released = state.switches.find(({ kind, org }) => kind === target.kind && org === target.org);
        return withoutSwitch(state, target, author, clock.now());
      });
      return released;
    },
  };
}
