import { type AccessPorts, accessOf } from '../../src/admin/access/access-of.ts';
import type { Planning } from '../../src/admin/access/definitions.ts';
import type { Packs } from '../../src/admin/access/files.ts';
import { reportSlotFinder } from '../../src/admin/access/slots.ts';
import { type Admin, type AdminPorts, createAdmin } from '../../src/admin/app.ts';
import type { Audit } from '../../src/admin/auth/audit.ts';
import type { TokenEntry } from '../../src/admin/auth/tokens.ts';
import { eventStreams } from '../../src/admin/event-streams.ts';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { type Log, silentLog } from '../../src/base/log.ts';
import { NO_DECISIONS, NO_PAUSES } from './deciding.ts';
import { aDoor } from './door.ts';
import { jobsOf } from './jobs-of.ts';

/** An archive in which nothing is. */
export const NO_PACKS: Packs = {
  files: async () => undefined,
  file: async () => undefined,
  preview: async () => undefined,
};

/** Nothing is known of what definitions ask. */
export const NO_PLANNING: Planning = { explain: () => Promise.reject(new Error('not here')) };

/** An audit log that is not kept. */
export const NO_AUDIT: Audit = { tell: async () => {}, list: async () => ({ entries: [], next: null }) };

/** Ports of a deployment in which nothing is defined and nothing may be done, but for what is given. */
export const accessPorts = (given: Partial<AccessPorts> = {}): AccessPorts => ({
  jobs: () => jobsOf(),
  lastGood: async () => undefined,
  trigger: () => Promise.reject(new Error('not here')),
  runs: { get: async () => undefined, list: async () => [], idsFrom: async () => [] },
  decisions: NO_DECISIONS,
  pauses: NO_PAUSES,
  packs: NO_PACKS,
  heldPack: async () => undefined,
  audit: NO_AUDIT,
  live: { read: async () => undefined },
  findSlots: reportSlotFinder(),
  lines: async () => ({ lines: [], unknown: [] }),
  planning: NO_PLANNING,
  checkText: () => Promise.reject(new Error('not here')),
  clock: systemClock,
  ...given,
});

/** The admin route for whoever has one of these tokens. */
export function anAdmin(
  entries: readonly TokenEntry[],
  given: Partial<AccessPorts> = {},
  { log = silentLog, clock = systemClock, ...change }: Partial<AdminPorts> & { log?: Log; clock?: Clock } = {},
): Admin {
  const ports = accessPorts({ clock, ...given });
  return createAdmin({
    door: aDoor(entries, { clock, log }),
    access: (principal) => accessOf(ports, principal),
    streams: eventStreams(),
    version: '0.0.0',
    health: async () => [{ name: 'redis', ok: true }],
    metrics: async () => ({ type: 'text/plain', body: '' }),
    clock,
    log,
    ...change,
  });
}
