import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { directoryStorage } from '../../../src/deliver/archive/storage/directory-storage.ts';
import { archivedSwitches, SWITCHES_FOLDER } from '../../../src/deliver/switches/archived-switches.ts';
import { sharedSwitches } from '../../../src/deliver/switches/shared-switches.ts';
import { redisKeys } from '../../../src/redis/keys.ts';
import { folderFor } from '../../support/delivery-case.ts';
import { openQueueHarness } from '../../support/queue-harness.ts';

const AUTHOR = { by: 'ana', reason: 'wrong figures' };
const ALL = { kind: 'stop', org: null } as const;

async function deployment() {
  const storage = directoryStorage(join(await folderFor(onTestFinished), 'archive'));
  const open = async () => {
    const own = await openQueueHarness();
    onTestFinished(() => own.close());
    const { prefix, producer: redis } = own;
    const keys = redisKeys(prefix);
    const archive = archivedSwitches(storage);
    const switches = sharedSwitches(redis, archive, { prefix, clock: systemClock });
    return { ...own, redis, keys, archive, switches, timePasses: () => redis.del(keys.switchesFresh) };
  };
  return { storage, open };
}

test('a stop applies at once to processes with the same Redis, and soon to those that share only the archive', async () => {
  const { open } = await deployment();
  const [server, laptop] = [await open(), await open()];
  await server.switches.assertOpen('acme');
  await laptop.switches.assertOpen('acme');
  expect(await server.switches.set(ALL, AUTHOR)).toMatchObject({ ...ALL, ...AUTHOR });
  const stopped = { code: 'delivery.stopped', message: expect.stringContaining('by ana: wrong figures') };
  await expect(server.switches.assertOpen('acme')).rejects.toMatchObject(stopped);
  await laptop.timePasses();
  await expect(laptop.switches.assertOpen('acme')).rejects.toMatchObject(stopped);
  expect(await laptop.switches.release(ALL, AUTHOR)).toMatchObject(ALL);
  await laptop.switches.assertOpen('acme');
  await server.timePasses();
  await server.switches.assertOpen('acme');
  expect(await server.switches.release(ALL, AUTHOR), 'released before').toBeUndefined();
});

test('a stop applies even if its command was killed right after it wrote the archive', async () => {
  const { open } = await deployment();
  const [server, killed] = [await open(), await open()];
  await server.switches.read();
  const state = await killed.archive.read();
  await killed.archive.write({
    ...state,
    version: state.version + 1,
    switches: [{ ...ALL, ...AUTHOR, since: 1 }],
  });
  await server.timePasses();
  await expect(server.switches.assertOpen('acme')).rejects.toMatchObject({ code: 'delivery.stopped' });
});

test('switches are read from the archive after Redis lost its data, and a restored archive does not undo Redis’s state', async () => {
  const { open, storage } = await deployment();
  const server = await open();
  await server.switches.set({ kind: 'hold', org: 'acme' }, AUTHOR);
  await server.redis.del(server.keys.switches, server.keys.switchesFresh);
  expect([await server.switches.isHeld('acme'), await server.switches.isHeld('beta')]).toEqual([true, false]);
  await storage.metadata.deleteAll(SWITCHES_FOLDER);
  await server.timePasses();
  expect(await server.switches.isHeld('acme')).toBe(true);
  await server.switches.release({ kind: 'hold', org: 'acme' }, AUTHOR);
  expect(await server.archive.read()).toMatchObject({ version: 2, switches: [] });
});

test('simultaneous changes by several people all take effect', async () => {
  const { open } = await deployment();
  const processes = await Promise.all([open(), open(), open()]);
  const orgs = ['acme', 'beta', 'ceta'];
  await Promise.all(
    processes.map(({ switches }, index) => switches.set({ kind: 'stop', org: orgs[index] ?? null }, AUTHOR)),
  );
  const { switches } = await (processes[0] as (typeof processes)[0]).archive.read();
  expect(switches.map(({ org }) => org).sort()).toEqual(orgs);
});

test('unreadable switches are an error, and nothing may expire meanwhile', async () => {
  const { open, storage } = await deployment();
  const server = await open();
  await server.switches.read();
  expect(await server.redis.exists(server.keys.unheld)).toBe(1);
  await server.switches.set({ kind: 'hold', org: 'acme' }, AUTHOR);
  expect(await server.redis.exists(server.keys.unheld)).toBe(0);
  await storage.metadata.put(`${SWITCHES_FOLDER}/000001.json`, '{');
  await server.timePasses();
  const unreadable = { code: 'switch.unreadable', retryable: true };
  for (const ask of [server.switches.assertOpen('acme'), server.switches.isHeld('beta'), server.switches.read()])
    await expect(ask).rejects.toMatchObject(unreadable);
  expect(await server.switches.known(), 'for display').toMatchObject({ switches: [{ kind: 'hold', org: 'acme' }] });
});
