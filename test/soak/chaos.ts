import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { Draw } from '../../src/sandbox/random.ts';
import { ON_DEMAND } from './definitions.ts';
import type { Member } from './member.ts';
import { caughtMidMail, jumpClocks, type Rig, TROUBLES, type TroubleName } from './troubles.ts';
import type { Passage } from './way.ts';
import type { World } from './world.ts';

/** What was done to it, and when: seconds since the beginning. */
export interface Event {
  readonly at: number;
  readonly what: string;
}

/** One request of a client, asked until it was acknowledged. */
export interface Request {
  readonly org: string;
  readonly report: string;
  /** Run ids that its acknowledgements named. */
  readonly ids: readonly string[];
}

export interface Chaos {
  readonly events: readonly Event[];
  readonly requests: readonly Request[];
}

const acknowledgedSchema = z.object({ id: z.string() });

/** Longer than a worker's hold on a run and the look at it: another one has taken it over when it wakes. */
const TAKEN_OVER_MS = 75_000;

/**
 * Sets on the world for so long, ms; all that it breaks is whole again when it resolves.
 * @param only these troubles, beside clocks that go on; all there are when absent
 */
export async function rage(world: World, draw: Draw, ms: number, only?: readonly TroubleName[]): Promise<Chaos> {
  const began = performance.now();
  const events: Event[] = [];
  const requests: Request[] = [];
  const busy = new Set<string>();
  let version = 1;
  const since = () => Math.round((performance.now() - began) / 100) / 10;
  const note = (what: string) => void events.push({ at: since(), what });
  const oneOf = <Item>(items: readonly Item[]): Item => {
    const item = items[Math.floor(draw.share() * items.length)];
    if (item === undefined) throw new RangeError('nothing to draw from');
    return item;
  };
  const between = (least: number, most: number): number => Math.round(least + draw.share() * (most - least));
  const rig: Rig = { world, note, oneOf, between, chance: (probability) => draw.chance(probability) };

  const kill = async (who: Member) => {
    note(`kill ${who.name}`);
    await who.kill(between(0, 2_000));
  };
  const freeze = async (who: Member, forMs: number) => {
    note(`freeze ${who.name} for ${forMs} ms`);
    await who.freeze(forMs);
  };
  const catchMidMail = (passage: Passage): Promise<Member | undefined> =>
    caughtMidMail(world, passage, ({ name }) => {
      if (busy.has(name)) return false;
      busy.add(name);
      return true;
    });
  /** Some die with a message on its way: lost with them, just arrived, or arrived and acknowledged. */
  const killMidMail = async (times: number) => {
    for (let time = 0; time < times; time += 1) {
      const fate = oneOf(['lost', 'arrived', 'acknowledged'] as const);
      const who = await catchMidMail(fate === 'lost' ? 'lost' : 'on');
      if (who === undefined) return;
      // The server answers within this time; what it says is on its way, or there, when the process dies.
      if (fate === 'acknowledged') await sleep(between(1, 8));
      note(`kill ${who.name} in the middle of a mail, which is ${fate}`);
      hold([who.name], who.kill(between(0, 2_000)));
    }
  };
  const freezeMidMail = async () => {
    const who = await catchMidMail('on');
    if (who !== undefined) hold([who.name], freeze(who, TAKEN_OVER_MS));
  };
  const reload = async () => {
    version += 1;
    note(`definitions, version ${version}, under way`);
    await world.define(version);
  };
  const deploy = async () => {
    version += 1;
    note(`deploy version ${version}`);
    await Promise.all(world.members.map((each) => each.stop()));
    await world.define(version);
    for (const each of world.members) each.up();
  };
  /** Asks both admin processes the same at the same time, until somebody has acknowledged it. */
  const ask = async () => {
    const org = oneOf(world.orgs).id;
    const key = `soak-${requests.length}-${between(0, 1e9)}`;
    const ids: string[] = [];
    note(`ask for ${org}/${ON_DEMAND}`);
    const request: Request = { org, report: ON_DEMAND, ids };
    requests.push(request);
    const day = String(between(1, 28)).padStart(2, '0');
    // One of a few days, so that some come twice.
    const body = JSON.stringify({ period: { from: `2026-10-${day}`, to: `2026-10-${day}` }, again: true });
    for (let tries = 0; ids.length === 0 && tries < 200; tries += 1) {
      const answers = world.schedulers.flatMap(({ url }) => [0, 1].map(() => askOnce(url, org, key, body)));
      for (const id of await Promise.all(answers)) if (id !== undefined) ids.push(id);
      if (ids.length === 0) await sleep(500);
    }
    if (ids.length === 0) throw new Error(`nobody has taken the request for ${org}/${ON_DEMAND}`);
  };
  const askOnce = async (url: string, org: string, key: string, body: string): Promise<string | undefined> => {
    try {
      const response = await fetch(`${url}/api/reports/${org}/${ON_DEMAND}/runs`, {
        method: 'POST',
        headers: { authorization: `Bearer ${world.token}`, 'content-type': 'application/json', 'idempotency-key': key },
        body,
        signal: AbortSignal.timeout(5_000),
      });
      const answer: unknown = await response.json();
      if (response.status === 202 || response.status === 200) return acknowledgedSchema.parse(answer).id;
      // What a client has to mend itself is a fault of the soak, or of the route.
      if (response.status < 500 && response.status !== 429)
        throw new Refused(`${response.status} ${JSON.stringify(answer)}`);
      return undefined;
    } catch (error) {
      if (error instanceof Refused) throw error;
      return undefined;
    }
  };

  const under = new Set<Promise<void>>();
  const failures: unknown[] = [];
  /** Nobody else gets these until it is over. */
  const hold = (needs: readonly string[], act: Promise<void>) => {
    const going = act
      .catch((error: unknown) => void failures.push(error))
      .finally(() => {
        for (const need of needs) busy.delete(need);
        under.delete(going);
      });
    under.add(going);
  };
  /** Begins it when what it needs is nobody else's; false otherwise. */
  const begin = (needs: readonly string[], act: () => Promise<void>): boolean => {
    if (needs.some((need) => busy.has(need))) return false;
    for (const need of needs) busy.add(need);
    hold(needs, act());
    return true;
  };
  const some = (who: readonly Member[], act: (who: Member) => Promise<void>) => (): boolean => {
    const one = oneOf(who);
    return begin([one.name], () => act(one));
  };
  const { members } = world;
  const trouble = (name: TroubleName) => () => begin([TROUBLES[name].needs], () => TROUBLES[name].act(rig));
  const names = Object.keys(TROUBLES) as TroubleName[];
  const around = (only ?? names).map((name) => [TROUBLES[name].weight, trouble(name)] as const);
  const processes = [
    [7, () => begin(['ask'], ask)],
    [3, some(members, kill)],
    [4, () => begin(['mid-mail'], () => killMidMail(1))],
    [3, some(members, (who) => freeze(who, between(500, 6_000)))],
    [2, () => begin(['definitions'], reload)],
  ] as const;
  const acts: readonly (readonly [weight: number, act: () => boolean])[] =
    only === undefined ? [...processes, ...around] : around;
  /** What comes at its time, each when the one before is over. */
  const timetable: readonly { readonly firstMs: number; readonly everyMs: number; readonly act: () => boolean }[] = [
    {
      firstMs: 2_000,
      everyMs: 15_000,
      act: () => {
        // Forty runs that come due at once, and calls that take their time: when a budget is put to the test.
        trouble('ways')();
        return begin(['clocks'], () => jumpClocks(rig));
      },
    },
    ...(only === undefined
      ? [
          // While those forty are being sent.
          { firstMs: 2_500, everyMs: 15_000, act: () => begin(['mid-mail'], () => killMidMail(2)) },
          { firstMs: 18_500, everyMs: 200_000, act: () => begin(['mid-mail'], freezeMidMail) },
          {
            firstMs: 5_000,
            everyMs: 100_000,
            act: () => begin(['definitions', ...members.map(({ name }) => name)], deploy),
          },
        ]
      : []),
  ];
  const turns = timetable.map(() => 0);
  while (performance.now() - began < ms) {
    const due = timetable.filter(
      ({ firstMs, everyMs }, index) => performance.now() - began > firstMs + (turns[index] ?? 0) * everyMs,
    );
    for (const each of due) {
      const index = timetable.indexOf(each);
      if (each.act()) turns[index] = (turns[index] ?? 0) + 1;
    }
    // What is due and has to wait gets what it waits for.
    if (due.length === 0) acts[draw.index(acts.map(([weight]) => weight))]?.[1]();
    await sleep(between(200, 1_200));
  }
  while (under.size > 0) await Promise.all(under);
  if (failures.length > 0) throw failures[0];
  return { events, requests };
}

/** The admin route has refused what is right. */
class Refused extends Error {
  override readonly name = 'Refused';
}
