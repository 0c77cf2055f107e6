import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { DEFAULT_KEY_PREFIX, redisKeys } from '../../src/redis/keys.ts';
import type { RandomSource } from '../../src/sandbox/generator/random.ts';
import { ON_DEMAND, SPLIT } from './definitions.ts';
import type { Deployment } from './deployment.ts';
import type { DocketProcess } from './docket-process.ts';
import { FAULTS, type FaultContext, type FaultName, interceptMailEnd, jumpClocks } from './faults.ts';
import type { ProxyAction } from './network-proxy.ts';

/** An injected fault. `at`: seconds since the start. */
export interface Event {
  readonly at: number;
  readonly what: string;
}

/** A client's request, repeated until it was acknowledged. */
export interface Request {
  readonly org: string;
  readonly report: string;
  /** Run ids from the acknowledgements. */
  readonly ids: readonly string[];
}

export interface Chaos {
  readonly events: readonly Event[];
  readonly requests: readonly Request[];
}

const acknowledgedSchema = z.object({ id: z.string() });

/**
 * Faults by name, `definitions` for changes of them without restart, or `processes` for what happens to processes:
 * requests, kills, freezes, deployments and changed definitions.
 */
export type OnlyFaults = readonly (FaultName | 'definitions')[] | 'processes';

export interface ChaosOptions {
  readonly ms: number;
  /** Only these faults, besides advancing clocks; all when absent. */
  readonly only: OnlyFaults | undefined;
  /** Ends the chaos early. */
  readonly until: AbortSignal | undefined;
}

const UNFINISHED = redisKeys(DEFAULT_KEY_PREFIX).unfinished;
/** Runs that have not ended: while there are more, the clocks do not advance and no new runs become due. */
const MAX_BACKLOG = 60;

/** Longer than a worker's lock on a run plus the check of it: another worker takes the run over. */
const TAKEOVER_MS = 75_000;

/** Injects faults. All of them are repaired when it resolves. */
export async function runChaos(
  deployment: Deployment,
  draw: RandomSource,
  { ms, only, until }: ChaosOptions,
): Promise<Chaos> {
  const began = performance.now();
  const events: Event[] = [];
  const requests: Request[] = [];
  const busy = new Set<string>();
  let version = 1;
  const since = () => Math.round((performance.now() - began) / 100) / 10;
  const note = (what: string) => void events.push({ at: since(), what });
  const oneOf = <Item>(items: readonly Item[]): Item => {
    const item = items[Math.floor(draw.uniform() * items.length)];
    if (item === undefined) throw new RangeError('nothing to draw from');
    return item;
  };
  const between = (min: number, max: number): number => Math.round(min + draw.uniform() * (max - min));
  const context: FaultContext = { deployment, note, oneOf, between, chance: (probability) => draw.chance(probability) };

  const kill = async (who: DocketProcess) => {
    note(`kill ${who.name}`);
    await who.kill(between(0, 2_000));
  };
  const freeze = async (who: DocketProcess, forMs: number) => {
    note(`freeze ${who.name} for ${forMs} ms`);
    await who.freeze(forMs, until);
  };
  const catchMidMail = (action: ProxyAction): Promise<DocketProcess | undefined> =>
    interceptMailEnd(deployment, action, ({ name }) => {
      if (busy.has(name)) return false;
      busy.add(name);
      return true;
    });
  /** Kills workers at the end of a message: before it was received, after that, or after the acknowledgement. */
  const killMidMail = async (times: number) => {
    for (let time = 0; time < times; time += 1) {
      const fate = oneOf(['lost', 'arrived', 'acknowledged'] as const);
      const who = await catchMidMail(fate === 'lost' ? 'drop' : 'forward');
      if (who === undefined) return;
      // The server replies within this time: the reply is in transit or received when the process dies.
      if (fate === 'acknowledged') await sleep(between(1, 8));
      note(`kill ${who.name} in the middle of a mail, which is ${fate}`);
      hold([who.name], who.kill(between(0, 2_000)));
    }
  };
  const freezeMidMail = async () => {
    const who = await catchMidMail('forward');
    if (who !== undefined) hold([who.name], freeze(who, TAKEOVER_MS));
  };
  const reload = async () => {
    version += 1;
    note(`definitions version ${version}, without restart`);
    await deployment.define(version);
  };
  const deploy = async () => {
    version += 1;
    note(`deploy version ${version}`);
    await Promise.all(deployment.members.map((each) => each.stop()));
    await deployment.define(version);
    for (const each of deployment.members) each.up();
  };
  /** Sends the same request to both admin processes at once, until one has acknowledged it. */
  const sendRequest = async () => {
    const org = oneOf(deployment.orgs).id;
    const key = `soak-${requests.length}-${between(0, 1e9)}`;
    const ids: string[] = [];
    const report = oneOf([ON_DEMAND, SPLIT]);
    note(`request ${org}/${report}`);
    const request: Request = { org, report, ids };
    requests.push(request);
    // One of a few days, so that some are requested twice.
    const day = new Date(deployment.serviceBegan - between(2, 29) * 86_400_000).toISOString().slice(0, 10);
    const body = JSON.stringify({ period: { from: day, to: day }, again: true });
    for (let tries = 0; ids.length === 0 && tries < 200; tries += 1) {
      const answers = deployment.schedulers.flatMap(({ url }) =>
        [0, 1].map(() => sendOnce(url, `${org}/${report}`, key, body)),
      );
      for (const id of await Promise.all(answers)) if (id !== undefined) ids.push(id);
      if (ids.length === 0) await sleep(500);
    }
    if (ids.length === 0) throw new Error(`the request for ${org}/${report} was not acknowledged`);
  };
  const sendOnce = async (url: string, report: string, key: string, body: string): Promise<string | undefined> => {
    try {
      const response = await fetch(`${url}/api/reports/${report}/runs`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${deployment.token}`,
          'content-type': 'application/json',
          'idempotency-key': key,
        },
        body,
        signal: AbortSignal.timeout(5_000),
      });
      const answer: unknown = await response.json();
      if (response.status === 202 || response.status === 200) return acknowledgedSchema.parse(answer).id;
      // A client error is a defect of the soak or of the route, and is not repeated.
      if (response.status < 500 && response.status !== 429)
        throw new Refused(`${response.status} ${JSON.stringify(answer)}`);
      return undefined;
    } catch (error) {
      if (error instanceof Refused) throw error;
      return undefined;
    }
  };

  const running = new Set<Promise<void>>();
  const failures: unknown[] = [];
  /** Reserves the resources until the action ends. */
  const hold = (needs: readonly string[], act: Promise<void>) => {
    const going = act
      .catch((error: unknown) => void failures.push(error))
      .finally(() => {
        for (const need of needs) busy.delete(need);
        running.delete(going);
      });
    running.add(going);
  };
  /** Starts the action if its resources are free; otherwise returns false. */
  const begin = (needs: readonly string[], act: () => Promise<void>): boolean => {
    if (needs.some((need) => busy.has(need))) return false;
    for (const need of needs) busy.add(need);
    hold(needs, act());
    return true;
  };
  const some = (who: readonly DocketProcess[], act: (who: DocketProcess) => Promise<void>) => (): boolean => {
    const one = oneOf(who);
    return begin([one.name], () => act(one));
  };
  const { members } = deployment;
  const fault = (name: FaultName) => () => begin([FAULTS[name].needs], () => FAULTS[name].act(context));
  const names = Object.keys(FAULTS) as FaultName[];
  const outside = only === 'processes' ? [] : (only ?? names);
  const around = outside
    .filter((name) => name !== 'definitions')
    .map((name) => [FAULTS[name].weight, fault(name)] as const);
  const processes = [
    [7, () => begin(['sendRequest'], sendRequest)],
    [3, some(members, kill)],
    [4, () => begin(['mid-mail'], () => killMidMail(1))],
    [3, some(members, (who) => freeze(who, between(500, 6_000)))],
  ] as const;
  const actions: readonly (readonly [weight: number, act: () => boolean])[] =
    typeof only === 'object' ? around : [...processes, ...around];
  /** Actions at fixed times, each after the previous one has ended. */
  const timetable: readonly { readonly firstMs: number; readonly everyMs: number; readonly act: () => boolean }[] = [
    {
      firstMs: 2_000,
      everyMs: 15_000,
      act: () => {
        // Forty runs come due at once, while calls are slow: this stresses the rate limit.
        fault('latency')();
        return begin(['clocks'], async () => {
          // Otherwise a slow machine would only work on old runs, and finish few.
          if ((await deployment.client.zcard(UNFINISHED)) <= MAX_BACKLOG) await jumpClocks(context);
        });
      },
    },
    ...(typeof only === 'object' && !only.includes('definitions')
      ? []
      : // Not more often: calls are prepared only while all processes have the same definitions.
        [{ firstMs: 1_000, everyMs: 20_000, act: () => begin(['definitions'], reload) }]),
    ...(typeof only === 'object'
      ? []
      : [
          // Timed for the delivery of those forty runs.
          { firstMs: 2_500, everyMs: 15_000, act: () => begin(['mid-mail'], () => killMidMail(2)) },
          { firstMs: 18_500, everyMs: 200_000, act: () => begin(['mid-mail'], freezeMidMail) },
          {
            firstMs: 5_000,
            everyMs: 100_000,
            act: () => begin(['definitions', ...members.map(({ name }) => name)], deploy),
          },
        ]),
  ];
  const turns = timetable.map(() => 0);
  while (performance.now() - began < ms && until?.aborted !== true) {
    const due = timetable.filter(
      ({ firstMs, everyMs }, index) => performance.now() - began > firstMs + (turns[index] ?? 0) * everyMs,
    );
    for (const each of due) {
      const index = timetable.indexOf(each);
      if (each.act()) turns[index] = (turns[index] ?? 0) + 1;
    }
    // Actions at fixed times get their resources before random ones.
    if (due.length === 0) actions[draw.weightedIndex(actions.map(([weight]) => weight))]?.[1]();
    await sleep(between(200, 1_200));
  }
  // On a slow machine perhaps no run has sent a mail yet. The remaining runs still will.
  for (let tries = 0; typeof only !== 'object' && deployment.mailEnds.length === 0 && tries < 10; tries += 1) {
    if (until?.aborted === true) break;
    await killMidMail(1);
  }
  while (running.size > 0) await Promise.all(running);
  if (failures.length > 0) throw failures[0];
  return { events, requests };
}

/** The admin route rejected a valid request. */
class Refused extends Error {
  override readonly name = 'Refused';
}
