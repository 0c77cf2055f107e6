import { writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { TERMINAL_STATES } from '../../src/run/run-record.ts';
import { randomSource } from '../../src/sandbox/generator/random.ts';
import { waitFor } from '../support/wait-for.ts';
import { type ProbedLine, watchLines } from './broken-lines.ts';
import { type Event, type OnlyFaults, runChaos } from './chaos.ts';
import { openRecordReader, type RecordReader } from './collect-facts.ts';
import { EVERY_HOURS, SCHEDULED } from './definitions.ts';
import { type ArchiveKind, type Deployment, openDeployment } from './deployment.ts';
import { type CheckResult, type Facts, overBudget, reconcile } from './reconcile.ts';

/** `soak-report.json`. */
export interface SoakReport {
  readonly ok: boolean;
  readonly seed: number;
  readonly minutes: number;
  /** Version of Node, and the time range by the clocks of the processes. */
  readonly node: string;
  readonly from: string;
  readonly to: string;
  readonly seconds: { readonly chaos: number; readonly drain: number; readonly reconcile: number };
  readonly counts: Readonly<{ [what: string]: number }>;
  readonly verdicts: readonly CheckResult[];
  /** Deliveries that wait for a decision, with the reason. */
  readonly unknown: readonly string[];
  /** Runs that are not `done`, with the reason. */
  readonly unfinished: readonly string[];
  readonly events: readonly Event[];
  readonly endings: readonly {
    readonly name: string;
    readonly why: string;
    readonly code: number | null;
    readonly last: string;
  }[];
}

/**
 * The soak stops waiting when no run has ended for this long. A busy machine needs longer for all of them, which is
 * harmless.
 */
const DRAIN_MS = 6 * 60_000;
/** Processes start slowly on a busy machine. */
const READY = { timeoutMs: 5 * 60_000, intervalMs: 250 };

export interface SoakOptions {
  readonly minutes: number;
  readonly seed: number;
  /** `dist/main.js` of the build. */
  readonly main: string;
  readonly archive?: ArchiveKind;
  /** Only these faults, besides advancing clocks; absent: all. */
  readonly only?: OnlyFaults;
  /** After all faults are repaired, the soak stops waiting when no run has ended for this long, ms. */
  readonly drainMs?: number;
  /** Lines that the build is expected to break: the soak ends early once all of them are broken. */
  readonly breaks?: readonly ProbedLine[];
}

/** @param onProgress called with progress messages */
export async function soak(
  { minutes, seed, main, archive = 'directory', only, drainMs = DRAIN_MS, breaks }: SoakOptions,
  onProgress: (line: string) => void,
): Promise<SoakReport> {
  const draw = randomSource(seed, 0x50a4);
  const deployment = await openDeployment(main, draw.fork(1).uniform, archive);
  const record = await openRecordReader(deployment);
  const watch = breaks === undefined ? undefined : watchLines(breaks, { deployment, record });
  try {
    await deployment.define(1);
    const from = deployment.now();
    for (const each of deployment.members) each.up();
    await allReady(deployment);
    onProgress(
      `${deployment.members.length} processes, ${deployment.orgs.length} organizations, seed ${seed}: ${minutes} min of faults`,
    );
    const began = performance.now();
    const { events, requests } = await runChaos(deployment, draw.fork(2), {
      ms: minutes * 60_000,
      only,
      until: watch?.broken,
    });
    const calm = performance.now();
    onProgress('All faults are repaired; finishing the remaining runs');
    // Runs need their full time to end before they count as unfinished.
    const until = breaks?.includes('unfinished runs') ? undefined : watch?.broken;
    if (until?.aborted !== true) for (const each of deployment.members) each.up();
    await drain(deployment, record, { drainMs, until }, onProgress);
    const to = deployment.now();
    const signal = until?.aborted === true ? 'SIGKILL' : 'SIGTERM';
    await Promise.all(deployment.members.map((each) => each.stop(signal)));
    const drained = performance.now();
    onProgress('Reconciling the ledger with the archive and the deliveries');
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
      counts: countsOf(facts, deployment, events),
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
      endings: deployment.members.flatMap(({ name, endings }) => endings.map((ending) => ({ name, ...ending }))),
    };
  } finally {
    await watch?.close();
    await record.close();
    await deployment.close();
  }
}

async function allReady({ members }: Deployment): Promise<void> {
  for (const each of members) await waitFor(`${each.name} to be ready`, () => each.ready(), READY);
}

/**
 * Waits until every run has ended and every slot is open. Advances the clocks by quarters of an hour to wake snoozed
 * runs.
 */
async function drain(
  deployment: Deployment,
  record: RecordReader,
  { drainMs, until }: { readonly drainMs: number; readonly until: AbortSignal | undefined },
  onProgress: (line: string) => void,
): Promise<void> {
  let deadline = performance.now() + drainMs;
  let fewest = Number.POSITIVE_INFINITY;
  const grid = EVERY_HOURS * 3_600_000;
  let isLastSlot = false;
  for (let turn = 1; performance.now() < deadline && until?.aborted !== true; turn += 1) {
    const runs = await record.runs();
    const open = runs.filter(({ state }) => !TERMINAL_STATES.has(state));
    const newest = Math.max(...runs.filter(({ report }) => report === SCHEDULED).map(({ slot }) => Date.parse(slot)));
    const jobs = await record.jobs();
    if (open.length < fewest) {
      fewest = open.length;
      deadline = performance.now() + drainMs;
    }
    if (turn % 5 === 0) onProgress(`  ${runs.length} runs, ${open.length} unfinished`);
    if (open.length === 0 && jobs === 0 && newest === Math.floor(deployment.now() / grid) * grid) {
      // On a slow machine perhaps no run has used a prepared response yet. The runs of the next slot will.
      if (until === undefined && !runs.some(({ prepared }) => prepared !== undefined) && !isLastSlot) {
        isLastSlot = true;
        await waitFor('answers for the next slot', async () => (await record.prepared()) > 0, READY);
        await deployment.setClocks(deployment.clock.offset + EVERY_HOURS * 3_600);
        fewest = Number.POSITIVE_INFINITY;
        deadline = performance.now() + drainMs;
        continue;
      }
      // Pending notices are sent within a few polls.
      await sleep(3_000);
      return;
    }
    if (turn % 4 === 0) await deployment.setClocks(deployment.clock.offset + 900);
    await sleep(2_000);
  }
}

function countsOf(facts: Facts, deployment: Deployment, events: readonly Event[]): SoakReport['counts'] {
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
    'maximum metrics calls of a key in a window': overBudget(facts).most,
    '429s': deployment.requests.filter(({ status }) => status === 429).length,
    'figures compared': facts.figures.compared,
    'run starts': facts.runs.reduce((sum, { record: { starts } }) => sum + starts, 0),
    'injected faults': events.length,
    'processes killed': deployment.members.flatMap(({ endings }) => endings).filter(({ why }) => why === 'killed')
      .length,
    'processes that exited by themselves': deployment.members
      .flatMap(({ endings }) => endings)
      .filter(({ why }) => why === 'itself').length,
    'keys in Redis': facts.memory.redisKeys,
    'bytes in Redis': facts.memory.redisBytes,
    'peak memory of a process, bytes': facts.memory.peakBytes,
  };
}

/** The report as text. */
export function formatReport({
  verdicts,
  counts,
  unknown,
  unfinished,
  seconds,
  ok,
  seed,
  from,
  to,
}: SoakReport): string {
  const figures = Object.entries(counts).map(([what, figure]) => `  ${String(figure).padStart(12)}  ${what}`);
  const judged = verdicts.flatMap(({ what, figure, limit, ok: good, shown }) => [
    `  ${good ? 'ok  ' : 'FAIL'} ${String(figure).padStart(12)}  ${'most' in limit ? '≤' : '≥'} ${String('most' in limit ? limit.most : limit.least).padEnd(10)} ${what}`,
    ...(good ? [] : shown.map((line) => `         ${line}`)),
  ]);
  return [
    `${from} to ${to} by the clocks of the processes; ${seconds.chaos} s of faults, ${seconds.drain} s to drain, ${seconds.reconcile} s to reconcile`,
    ...figures,
    '',
    ...judged,
    '',
    `${unknown.length} deliveries wait for a decision${unknown.length === 0 ? '' : ':'}`,
    ...unknown.map((line) => `  ${line}`),
    `${unfinished.length} runs are not done${unfinished.length === 0 ? '' : '; their owners were notified:'}`,
    ...unfinished.map((line) => `  ${line}`),
    '',
    ok ? `All checks passed. Seed ${seed}.` : `A check failed. Repeat with --seed ${seed}.`,
  ].join('\n');
}

/** `node test/soak/start.mjs --minutes 5 [--seed N] [--archive s3] [--main dist/main.js] [--report soak-report.json]`; the exit code. */
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
      'node test/soak/start.mjs --minutes 5 [--seed N] [--archive directory|s3]: minutes above 0, and a whole number for a seed',
    );
    return 2;
  }
  const report = await soak({ minutes, seed, archive, main: values.main }, (line) => console.error(line));
  await writeFile(values.report, `${JSON.stringify(report, null, 2)}\n`);
  console.log(formatReport(report));
  console.log(`Full report: ${values.report}`);
  return report.ok ? 0 : 1;
}
