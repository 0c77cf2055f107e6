import { readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { toDocketError } from '../../../src/base/error.ts';
import { silentLog } from '../../../src/base/log.ts';
import { DAY_MS } from '../../../src/base/time.ts';
import { applyRetention } from '../../../src/deliver/archive/retention.ts';
import { directoryStorage } from '../../../src/deliver/archive/storage/directory-storage.ts';
import { deliver } from '../../../src/deliver/deliver.ts';
import { archivedSwitches } from '../../../src/deliver/switches/archived-switches.ts';
import { type Switches, sharedSwitches } from '../../../src/deliver/switches/shared-switches.ts';
import { SWITCH_KINDS, type SwitchState } from '../../../src/deliver/switches/switches.ts';
import { redisKeys } from '../../../src/redis/keys.ts';
import {
  definitionWith,
  folderFor,
  manifestOf,
  NO_SECRETS,
  ORDER,
  RUN,
  SETTINGS,
  sealedRun,
} from '../../support/delivery-case.ts';
import { cases, least, within } from '../../support/fuzz.ts';
import { memoryLedger } from '../../support/memory-ledger.ts';
import { openQueueHarness } from '../../support/queue-harness.ts';

const AUTHOR = { by: 'ana', reason: 'because' };
const ORGS = ['acme', 'beta'] as const;

/** A step of a person or process, on the server or on a laptop that shares its archive. */
const step = fc.record({
  laptop: fc.boolean(),
  act: fc.oneof(
    fc.record({
      do: fc.constantFrom('set' as const, 'release' as const, 'killed' as const),
      kind: fc.constantFrom(...SWITCH_KINDS),
      org: fc.constantFrom(null, ...ORGS),
    }),
    fc.record({ do: fc.constantFrom('send' as const, 'retain' as const), org: fc.constantFrom(...ORGS) }),
    fc.record({ do: fc.constantFrom('break' as const, 'mend' as const, 'lose Redis' as const) }),
  ),
});

/** The model: which switches are on. */
const isOn = (on: ReadonlySet<string>, kind: string, org: string): boolean =>
  on.has(`${kind} *`) || on.has(`${kind} ${org}`);

test(
  'nothing is sent while stopped and nothing is deleted while held, whatever people and processes do',
  async () => {
    const met = { sent: 0, stopped: 0, deleted: 0, held: 0, unreadable: 0 };
    const sides = (await Promise.all([openQueueHarness(), openQueueHarness()])).map((own) => ({
      ...own,
      redis: own.producer,
    }));
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 8, maxLength: 30 }), async (steps) => {
        const root = await folderFor(onTestFinished);
        const storage = directoryStorage(join(root, 'archive'));
        const { archive, published } = await sealedRun(root);
        const ledger = memoryLedger();
        const keysOf = sides.map(({ prefix }) => redisKeys(prefix));
        const forget = () =>
          Promise.all(
            sides.map(({ redis }, index) =>
              redis.del(keysOf[index]?.switches ?? '', keysOf[index]?.switchesFresh ?? '', keysOf[index]?.unheld ?? ''),
            ),
          );
        await forget();
        const opened = sides.map(
          ({ redis, prefix }): Switches =>
            sharedSwitches(redis, archivedSwitches(storage), { prefix, clock: systemClock }),
        );
        const on = new Set<string>();
        let [broken, sent, days] = [false, 0, 0];
        const broke = join(root, 'archive', '.switches');
        const runsOf = async (org: string) =>
          (await readdir(join(root, 'archive', org, 'old'), { recursive: false }).catch(() => [])).length;

        for (const { laptop, act } of steps) {
          const index = laptop ? 1 : 0;
          const switches = opened[index] as Switches;
          // Lets ten seconds pass, so that each side sees the other one's changes.
          await Promise.all(sides.map(({ redis }, side) => redis.del(keysOf[side]?.switchesFresh ?? '')));
          if (act.do === 'break' && !broken) {
            await rename(broke, `${broke}-away`).catch(() => {});
            await storage.metadata.put('.switches/999999.json', '{');
            broken = true;
          } else if (act.do === 'mend' && broken) {
            await storage.metadata.deleteAll('.switches');
            await rename(`${broke}-away`, broke).catch(() => {});
            broken = false;
          } else if (act.do === 'lose Redis') {
            await sides[index]?.redis.del(keysOf[index]?.switches ?? '', keysOf[index]?.unheld ?? '');
          } else if (act.do === 'set' || act.do === 'release') {
            const { kind, org } = act;
            const change = switches[act.do]({ kind, org }, AUTHOR);
            if (broken) await expect(change).rejects.toMatchObject({ code: 'switch.unreadable' });
            else {
              await change;
              on[act.do === 'set' ? 'add' : 'delete'](`${kind} ${org ?? '*'}`);
            }
          } else if (act.do === 'killed' && !broken) {
            // The command dies between its writes to the archive and to Redis.
            const { kind, org } = act;
            const state: SwitchState = await switches.read();
            const added = { kind, org, ...AUTHOR, since: Date.now() };
            if (!on.has(`${kind} ${org ?? '*'}`))
              await archivedSwitches(storage).write({
                ...state,
                version: state.version + 1,
                switches: [...state.switches, added],
              });
            on.add(`${kind} ${org ?? '*'}`);
          } else if (act.do === 'send') {
            sent += 1;
            const path = `out/${sent}`;
            const { org } = act;
            const done = await deliver({
              order: { ...ORDER, org },
              definition: { ...definitionWith([{ directory: { path } }]), org },
              settings: { ...SETTINGS, id: org },
              published: { ...published, manifest: { ...published.manifest, org } },
              mail: undefined,
              secrets: NO_SECRETS,
              ledger,
              archive,
              clock: systemClock,
              signal: new AbortController().signal,
              observe: () => {},
              workingDirectory: root,
              confirmOpen: () => switches.assertOpen(org),
            }).then(
              () => 'sent',
              (thrown: unknown) => toDocketError(thrown).code,
            );
            const files = await readdir(join(root, path)).catch(() => []);
            const expected = broken ? 'switch.unreadable' : isOn(on, 'stop', org) ? 'delivery.stopped' : 'sent';
            expect([done, files.length > 0]).toEqual([expected, expected === 'sent']);
            met[expected === 'sent' ? 'sent' : broken ? 'unreadable' : 'stopped'] += 1;
          } else if (act.do === 'retain') {
            const { org } = act;
            days += 2;
            const old = { id: `${days}`.padStart(32, '0'), org, report: 'old' };
            await storage
              .runFiles(old)
              .put('manifest.json', JSON.stringify({ ...manifestOf([], old.id), org, report: 'old' }));
            const before = await Promise.all(ORGS.map(runsOf));
            const now = Date.parse('2027-11-16T00:00:00Z') + days * DAY_MS;
            await applyRetention({
              storage,
              daysOf: () => 30,
              isHeld: switches.isHeld,
              ledger: memoryLedger(),
              isOpen: async (run) => run === RUN,
              clock: { now: () => now, sleep: async () => {} },
              log: silentLog,
              signal: new AbortController().signal,
            }).catch((thrown: unknown) => expect(toDocketError(thrown).code).toBe('switch.unreadable'));
            const after = await Promise.all(ORGS.map(runsOf));
            const kept = ORGS.map((each) => broken || isOn(on, 'hold', each));
            expect(after).toEqual(before.map((count, position) => (kept[position] ? count : 0)));
            met[kept[ORGS.indexOf(org)] ? 'held' : 'deleted'] += 1;
          }
        }
      }),
      cases(120),
    );
    for (const count of Object.values(met)) expect(count).toBeGreaterThan(least(20));
    for (const side of sides) await side.close();
  },
  within(60),
);
