import { writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { ENDED } from '../../src/run/record.ts';
import { draws } from '../../src/sandbox/random.ts';
import { type Event, rage } from './chaos.ts';
import { EVERY_HOURS, SCHEDULED } from './definitions.ts';
import { type OnRecord, openRecord } from './facts.ts';
import { type Facts, overBudget, reconcile, type Verdict } from './reconcile.ts';
import type { TroubleName } from './troubles.ts';
import { type ArchiveKind, openWorld, type World } from './world.ts';

/** `soak-report.json`. */
export interface SoakReport {
  readonly ok: boolean;
  readonly seed: number;
  readonly minutes: number;
  /** What was run against: Node, and the days by the clocks of the processes. */
  readonly node: string;
  readonly from: string;
  readonly to: string;
  readonly seconds: { readonly chaos: number; readonly drain: number; readonly reconcile: number };
  readonly counts: Readonly<{ [what: string]: number }>;
  readonly verdicts: readonly Verdict[];
  /** Deliveries that somebody has to decide of, with the reason. */
  readonly unknown: readonly string[];
  /** Runs that did not reach everybody, with the reason. */
  readonly unfinished: readonly string[];
  readonly events: readonly Event[];
  readonly endings: readonly {
    readonly name: string;
    readonly why: string;
    readonly code: number | null;
    readonly last: string;
  }[];
}

const DRAIN_MS = 6 * 60_000;

export interface SoakOptions {
  readonly minutes: number;
  readonly seed: number;
  /** `dist/main.js` of the build. */
  readonly main: string;
  readonly archive?: ArchiveKind;
  /** These troubles alone, beside clocks that go on; all there are when absent. */
  readonly only?: readonly TroubleName[];
  /** How long what is left may take once everything is whole again, ms. */
  readonly drainMs?: number;
}

/** @param say told how it goes on, for a person who waits */
export async function soak(
  { minutes, seed, main, archive = 'directory', only, drainMs = DRAIN_MS }: SoakOptions,
  say: (line: string) => void,
): Promise<SoakReport> {
  const draw = draws(seed, 0x50a4);
  const world = await openWorld(main, draw.fork(1).share, archive);
  const record = await openRecord(world);
  try {
    await world.define(1);
    const from = world.now();
    for (const each of world.members) each.up();
    await allReady(world);
    say(
      `${world.members.length} processes, ${world.orgs.length} organizations, seed ${seed}: ${minutes} min of trouble`,
    );
    const began = performance.now();
    const { events, requests } = await rage(world, draw.fork(2), minutes * 60_000, only);
    const calm = performance.now();
    say('Everything is whole again; what is left goes on');
    for (const each of world.members) each.up();
    await drain(world, record, drainMs, say);
    const to = world.now();
    for (const each of world.members) await each.stop();
    const drained = performance.now();
    say('Reconciling the ledger with the archive and what arrived');
    const facts = await record.facts(requests, from, to);
    const verdicts = reconcile(facts);
    const seconds = (ms: number) => Math.round(ms / 1000);
    return {
      ok: verdicts.every(({ ok }) => ok),
      seed,
      minutes,
      node: process.version,
      from: new Date(from).toISOString(),
      to: new Date(to).toISOString(),
      seconds: {
        chaos: seconds(calm - began),
        drain: seconds(drained - calm),
        reconcile: seconds(performance.now() - drained),
      },
      counts: countsOf(facts, world, events),
      verdicts,
      unknown: facts.runs.flatMap(({ rows }) =>
        rows.flatMap(({ org, report, run, recipient, state, detail }) =>
          state === 'unknown' ? [`${org}/${report} run ${run} to ${recipient}: ${detail}`] : [],
        ),
      ),
      unfinished: facts.runs.flatMap(({ record: { org, report, id, state, error } }) =>
        state === 'done' ? [] : [`${org}/${report} run ${id}: ${state}${error === null ? '' : `, ${error.message}`}`],
      ),
      events,
      endings: world.members.flatMap(({ name, endings }) => endings.map((ending) => ({ name, ...ending }))),
    };
  } finally {
    await record.close();
    await world.close();
  }
}

async function allReady({ members }: World): Promise<void> {
  for (const each of members) while (!(await each.ready())) await sleep(250);
}

/** Until every run has ended and every slot is open; the clocks go on by quarters of an hour, so that what sleeps wakes. */
async function drain(world: World, record: OnRecord, drainMs: number, say: (line: string) => void): Promise<void> {
  const until = performance.now() + drainMs;
  const grid = EVERY_HOURS * 3_600_000;
  for (let turn = 1; performance.now() < until; turn += 1) {
    const runs = await record.runs();
    const open = runs.filter(({ state }) => !ENDED.has(state));
    const newest = Math.max(...runs.filter(({ report }) => report === SCHEDULED).map(({ slot }) => Date.parse(slot)));
    const jobs = await record.jobs();
    if (turn % 5 === 0) say(`  ${runs.length} runs, ${open.length} of them go on`);
    if (open.length === 0 && jobs === 0 && newest === Math.floor(world.now() / grid) * grid) {
      // What is owed beside the runs, such as a notice, has its turn within a few looks.
      await sleep(3_000);
      return;
    }
    if (turn % 4 === 0) await world.setClocks(world.clock.offset + 900);
    await sleep(2_000);
  }
}

function countsOf(facts: Facts, world: World, events: readonly Event[]): SoakReport['counts'] {
  const tally = (names: readonly string[]) => {
    const counts: { [name: string]: number } = {};
    for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
    return counts;
  };
  const rows = facts.runs.flatMap((run) => run.rows);
  const prefixed = (prefix: string, counts: { [name: string]: number }) =>
    Object.fromEntries(Object.entries(counts).map(([name, count]) => [`${prefix} ${name}`, count]));
  return {
    runs: facts.runs.length,
    ...prefixed('runs', tally(facts.runs.map(({ record: { state } }) => state))),
    ...prefixed('deliveries', tally(rows.map(({ state }) => state))),
    'metrics calls': facts.calls.length,
    'metrics calls of a key in a window at most': overBudget(facts).most,
    '429s': world.requests.filter(({ status }) => status === 429).length,
    'figures compared': facts.figures.compared,
    'starts of runs': facts.runs.reduce((sum, { record: { starts } }) => sum + starts, 0),
    disturbances: events.length,
    'processes killed': world.members.flatMap(({ endings }) => endings).filter(({ why }) => why === 'killed').length,
    'processes that ended by themselves': world.members
      .flatMap(({ endings }) => endings)
      .filter(({ why }) => why === 'itself').length,
    'keys in Redis': facts.memory.redisKeys,
    'bytes in Redis': facts.memory.redisBytes,
    'bytes of a process': facts.memory.peakBytes,
  };
}

/** The table, for people. */
export function tableOf({ verdicts, counts, unknown, unfinished, seconds, ok, seed, from, to }: SoakReport): string {
  const figures = Object.entries(counts).map(([what, figure]) => `  ${String(figure).padStart(12)}  ${what}`);
  const judged = verdicts.flatMap(({ what, figure, limit, ok: good, shown }) => [
    `  ${good ? 'ok  ' : 'FAIL'} ${String(figure).padStart(12)}  ${'most' in limit ? '≤' : '≥'} ${String('most' in limit ? limit.most : limit.least).padEnd(10)} ${what}`,
    ...(good ? [] : shown.map((line) => `         ${line}`)),
  ]);
  return [
    `${from} to ${to} by the clocks of the processes; ${seconds.chaos} s of trouble, ${seconds.drain} s to drain, ${seconds.reconcile} s to reconcile`,
    ...figures,
    '',
    ...judged,
    '',
    `${unknown.length} deliveries wait for a decision${unknown.length === 0 ? '' : ':'}`,
    ...unknown.map((line) => `  ${line}`),
    `${unfinished.length} runs did not reach everybody${unfinished.length === 0 ? '' : ', and their owners were told:'}`,
    ...unfinished.map((line) => `  ${line}`),
    '',
    ok ? `Nothing was lost, nothing was sent twice. Seed ${seed}.` : `A promise was broken. Again with --seed ${seed}.`,
  ].join('\n');
}

/** `npm run soak -- --minutes 5 [--seed N] [--archive s3] [--main dist/main.js] [--report soak-report.json]`; the exit code. */
export async function command(args: readonly string[], build: string): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      minutes: { type: 'string', default: '5' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      archive: { type: 'string', default: 'directory' },
      main: { type: 'string', default: build },
      report: { type: 'string', default: 'soak-report.json' },
    },
  });
  const [minutes, seed] = [Number(values.minutes), Number(values.seed)];
  const { archive } = values;
  if (!(minutes > 0) || !Number.isInteger(seed) || (archive !== 'directory' && archive !== 's3')) {
    console.error(
      'npm run soak -- --minutes 5 [--seed N] [--archive directory|s3]: minutes above 0, and a whole number for a seed',
    );
    return 2;
  }
  const report = await soak({ minutes, seed, archive, main: values.main }, (line) => console.error(line));
  await writeFile(values.report, `${JSON.stringify(report, null, 2)}\n`);
  console.log(tableOf(report));
  console.log(`All of it is in ${values.report}.`);
  return report.ok ? 0 : 1;
}
