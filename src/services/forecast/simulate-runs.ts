import { forEachWithConcurrency } from '../../base/concurrency.ts';
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../../base/time.ts';
import type { BudgetLimits } from '../../fetch/rate-limit/budget.ts';
import type { ForecastAssumptions, ForecastRun, ForecastTask } from './forecast-run.ts';
import { createRunLine, type WaitingRun } from './run-line.ts';
import { CATALOG_TTL_MS, callerId, type ListCaller, simulateCalls } from './simulate-calls.ts';
import { createTaskSimulation } from './simulate-tasks.ts';
import { virtualClock } from './virtual-clock.ts';

/** The result of a simulated run. Instants are epoch ms. */
export interface SimulatedRun {
  readonly run: ForecastRun;
  /** When a worker takes it. */
  readonly begun: number;
  /** When its files are made. */
  readonly ready: number;
  readonly delivered: number;
  readonly late: boolean;
  /** Number of tokens that it uses itself, including for its catalog. */
  readonly tokens: number;
  /** Number of reads for its lists: of their pages, and of its organization's number. */
  readonly reads: number;
}

export interface SimulatedKey {
  readonly key: string;
  readonly limits: BudgetLimits;
  /** Tokens taken, by start of the minute, ascending, in total and by organization. */
  readonly minutes: readonly {
    readonly at: number;
    readonly tokens: number;
    readonly byOrg: ReadonlyMap<string, number>;
  }[];
  /** The first minute in which a run's call finds no token; undefined if none has to wait. */
  readonly fullAt: number | undefined;
}

export interface Simulation {
  readonly runs: readonly SimulatedRun[];
  readonly keys: readonly SimulatedKey[];
}

/** What is simulated besides the runs. */
export interface ForecastTasks {
  readonly tasks: readonly ForecastTask[];
  /** Epoch ms. Checks that would begin later are not made. */
  readonly to: number;
}

/** Calls of one run or preparation that are in flight or queued at once. */
const CONCURRENT_CALLS = 4;
/** A prepared run's catalog must outlive the start of its slot by this. */
const CATALOG_MARGIN_MS = 15 * MINUTE_MS;
/** How often to look for slots to prepare, ms. */
const ROUND_INTERVAL_MS = 10 * SECOND_MS;
/** A preparation without a token tries again after this, ms. */
const MAX_TOKEN_WAIT_MS = 30 * SECOND_MS;

interface Job extends WaitingRun, ListCaller {
  readonly run: ForecastRun;
  /** Indexes of the calls that were answered. */
  readonly answered: Set<number>;
  begun: number | undefined;
  result: SimulatedRun | undefined;
  /** When its preparation continues, epoch ms. */
  prepareAt: number;
}

/**
 * Simulates these slots and tasks on a virtual clock. The key's budget starts full, and nobody else uses it: there are
 * no on-demand runs, backfills or failures. Makes no real call.
 *
 * @param limits limits by key
 * @param to checks that would begin later are not made
 */
export async function simulateRuns(
  runs: readonly ForecastRun[],
  limits: ReadonlyMap<string, BudgetLimits>,
  assumptions: ForecastAssumptions,
  { tasks, to }: ForecastTasks = { tasks: [], to: Number.POSITIVE_INFINITY },
): Promise<Simulation> {
  const preparedFrom = runs.flatMap(({ calls }) => calls.flatMap((call) => call.preparedFrom ?? []));
  const first = Math.min(...preparedFrom, ...tasks.map(({ at }) => at));
  const clock = virtualClock(runs.reduce((earliest, { begins }) => Math.min(earliest, begins), first));
  const { keys, keyOf, durationsOf, requestCatalog, requestReport, requestList } = simulateCalls(
    runs,
    limits,
    assumptions,
    clock,
  );
  const line = createRunLine<Job>(clock);
  const jobs = runs.map(
    (run): Job => ({
      ...{ run, round: 1, arrival: 0, hasBegun: false, answered: new Set(), begun: undefined, tokens: 0, pages: 0 },
      ...{
        reads: 0,
        organization: undefined,
        result: undefined,
        prepareAt: Math.min(...run.calls.map((one) => one.preparedFrom ?? Infinity)),
      },
    }),
  );

  /** @returns until when the run snoozes; undefined once all calls are answered */
  const fetchCalls = async (job: Job): Promise<number | undefined> => {
    const snoozed = assumptions.catalogs === 'cached' ? undefined : await requestCatalog(job, 'scheduled');
    if (snoozed !== undefined) return snoozed;
    job.organization = undefined;
    const snoozes: number[] = [];
    const missing = [...job.run.calls.entries()].filter(([index]) => !job.answered.has(index));
    await forEachWithConcurrency(missing, CONCURRENT_CALLS, async ([index, call]) => {
      // A run that will snooze starts no new calls, but lets the current ones finish.
      if (snoozes.length > 0) return;
      const until =
        call.kind === 'list' ? await requestList(job, index) : await requestReport(job, call, index, 'scheduled');
      if (until === undefined) job.answered.add(index);
      else snoozes.push(until);
    });
    return snoozes.length === 0 ? undefined : Math.min(...snoozes);
  };

  const prepared = jobs.filter(({ prepareAt }) => prepareAt < Number.POSITIVE_INFINITY);
  const isPreparing = (key: string): boolean =>
    prepared.some(({ run, prepareAt }) => run.key === key && prepareAt <= clock.now() && clock.now() < run.begins);
  const simulateTask = createTaskSimulation(clock, { requestCatalog, requestReport }, { to, isPreparing });

  let idle = assumptions.processes * assumptions.concurrency;
  let failure: unknown;
  const start = (work: Promise<void>): void => {
    work.catch((thrown: unknown) => {
      failure ??= thrown;
    });
  };
  const work = async (job: Job): Promise<void> => {
    job.hasBegun = true;
    job.begun ??= clock.now();
    const snoozed = await fetchCalls(job);
    if (snoozed === undefined) {
      const { renderMs, deliverMs } = durationsOf(job.run);
      await clock.sleep(renderMs);
      const ready = clock.now();
      await clock.sleep(deliverMs);
      const delivered = clock.now();
      const { run, begun, tokens, reads } = job;
      const late = run.lateAt !== undefined && delivered > run.lateAt;
      job.result = { run, begun, ready, delivered, late, tokens, reads };
      if (run.watch !== undefined) {
        const { ms, calls } = run.watch;
        start(
          simulateTask({ ...run, kind: 'check', at: delivered + Math.min(DAY_MS, ms), until: delivered + ms, calls }),
        );
      }
    }
    await clock.turn(callerId(job));
    idle += 1;
    serve();
    if (snoozed === undefined) return;
    await clock.sleep(snoozed - clock.now());
    await clock.turn(callerId(job));
    line.add(job);
    serve();
  };
  const serve = (): void => {
    while (idle > 0) {
      const job = line.take();
      if (job === undefined) return;
      idle -= 1;
      start(work(job));
    }
  };
  const open = async (at: number, opened: readonly Job[]): Promise<void> => {
    await clock.sleep(at - clock.now());
    // Takes its turn before all runs that return.
    await clock.turn('');
    for (const job of opened) {
      line.add(job);
      serve();
    }
  };

  /** Makes one pass over a slot's calls that can be made now. @returns whether its key has no token left */
  const prepare = async (job: Job, until: number): Promise<boolean> => {
    const { calls, begins } = job.run;
    const waits: number[] = [];
    const first = await requestCatalog(job, 'preparation');
    if (first !== undefined) waits.push(first);
    const missing = [...calls.entries()].filter(
      ([index, { preparedFrom: from = Infinity }]) => !job.answered.has(index) && from <= clock.now(),
    );
    await forEachWithConcurrency(missing, CONCURRENT_CALLS, async ([index, call]) => {
      if (waits.length > 0 || clock.now() >= until) return;
      const wait = await requestReport(job, call, index, 'preparation');
      if (wait === undefined) job.answered.add(index);
      else waits.push(wait);
    });
    const later = calls.flatMap(({ preparedFrom: from }, index) =>
      from === undefined || job.answered.has(index) ? [] : [from],
    );
    // The last step: a catalog that stays valid until the slot.
    const oldest = begins + CATALOG_MARGIN_MS - CATALOG_TTL_MS;
    if (later.length === 0 && waits.length === 0 && clock.now() < until) {
      if (clock.now() <= oldest) later.push(oldest + 1);
      else {
        const renewed = await requestCatalog(job, 'preparation', clock.now() - oldest);
        if (renewed !== undefined) waits.push(renewed);
      }
    }
    const isWaiting = waits.length > 0 || later.some((from) => from <= clock.now());
    const soon = Math.min(...waits, clock.now() + MAX_TOKEN_WAIT_MS);
    job.prepareAt = isWaiting ? soon : Math.min(...later);
    return isWaiting;
  };
  const prepareAll = async (): Promise<void> => {
    const isOpen = ({ run, prepareAt }: Job): boolean => prepareAt < run.begins && clock.now() < run.begins;
    const later = jobs.filter(isOpen).sort((a, b) => a.prepareAt - b.prepareAt);
    let open: readonly Job[] = [];
    for (;;) {
      const next = Math.min(...open.map(({ prepareAt }) => prepareAt), later[0]?.prepareAt ?? Infinity);
      if (next === Infinity) return;
      await clock.sleep(Math.max(ROUND_INTERVAL_MS, next - clock.now()));
      const begun = later.findIndex(({ prepareAt }) => prepareAt > clock.now());
      open = [...open, ...later.splice(0, begun === -1 ? later.length : begun)].filter(isOpen);
      const full = new Set<string>();
      const due = open.filter(({ prepareAt }) => prepareAt <= clock.now());
      for (const job of due.sort((a, b) => a.run.begins - b.run.begins || (callerId(a) < callerId(b) ? -1 : 1))) {
        const { key, begins } = job.run;
        if (full.has(key) || clock.now() >= begins) continue;
        const nextBegins = keyOf(job.run).begins.find((one) => one > clock.now()) ?? begins;
        // In the last two windows before a slot on the key, preparations take no token.
        const until = nextBegins - 2 * keyOf(job.run).budget.limits.windowMs;
        if (clock.now() >= until) job.prepareAt = nextBegins;
        else if (await prepare(job, until)) full.add(key);
      }
    }
  };

  const byInstant = new Map<number, Job[]>();
  for (const job of jobs.toSorted((a, b) => a.run.expected - b.run.expected || (a.run.name < b.run.name ? -1 : 1))) {
    byInstant.set(job.run.begins, [...(byInstant.get(job.run.begins) ?? []), job]);
  }
  for (const [at, opened] of byInstant) start(open(at, opened));
  start(prepareAll());
  for (const task of tasks) start(simulateTask(task));
  await clock.run();
  if (failure !== undefined) throw failure;
  return {
    runs: jobs.map(({ result, run }) => result ?? missingResult(run)),
    keys: [...keys].map(([key, { budget, tokens, fullAt }]) => ({
      key,
      limits: { calls: budget.limits.calls, windowMs: budget.limits.windowMs },
      minutes: [...tokens]
        .map(([at, byOrg]) => ({ at, tokens: [...byOrg.values()].reduce((sum, count) => sum + count, 0), byOrg }))
        .sort((a, b) => a.at - b.at),
      fullAt,
    })),
  };
}

function missingResult({ name, slot }: ForecastRun): never {
  throw new Error(`the run of ${name} at ${slot} has not ended`);
}
