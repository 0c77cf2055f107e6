import { forEachWithConcurrency } from '../../base/concurrency.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../base/time.ts';
import { type Budget, type BudgetLimits, type CallClass, waiterTimeouts } from '../../fetch/rate-limit/budget.ts';
import { memoryBudget } from '../../fetch/rate-limit/memory-budget.ts';
import type { ForecastAssumptions, ForecastCall, ForecastRun } from './forecast-run.ts';
import { createRunLine, type WaitingRun } from './run-line.ts';
import { sharedAnswers } from './shared-answers.ts';
import { virtualClock } from './virtual-clock.ts';

/** What becomes of a run. All instants are epoch ms. */
export interface SimulatedRun {
  readonly run: ForecastRun;
  /** A worker takes it. */
  readonly begun: number;
  /** Its files are made. */
  readonly ready: number;
  readonly delivered: number;
  readonly late: boolean;
  /** Tokens that it takes itself, its catalog included. */
  readonly tokens: number;
}

export interface SimulatedKey {
  readonly key: string;
  readonly limits: BudgetLimits;
  /** Tokens taken, by the beginning of the minute, ascending; those of each organization beside them. */
  readonly minutes: readonly {
    readonly at: number;
    readonly tokens: number;
    readonly byOrg: ReadonlyMap<string, number>;
  }[];
  /** The first minute in which a call of a run finds no token; undefined if none has to wait. */
  readonly fullAt: number | undefined;
}

export interface Simulation {
  readonly runs: readonly SimulatedRun[];
  readonly keys: readonly SimulatedKey[];
}

/** Calls of one run, or of one preparation, that are in flight or queued at once. */
const CONCURRENT_CALLS = 4;
/** A worker that would wait for a token for longer takes another run meanwhile. */
const MAX_WAIT_MS = 5 * SECOND_MS;
/** Longest time that a call holds its token without a response. */
const HOLD_MS = 35 * SECOND_MS;
const CATALOG_TTL_MS = HOUR_MS;
/** The catalog of a prepared run outlives the beginning of its slot by this. */
const CATALOG_MARGIN_MS = 15 * MINUTE_MS;
const CATALOG_POLL_MS = 250;
/** Between two looks at the slots to prepare. */
const ROUND_INTERVAL_MS = 10 * SECOND_MS;
/** A preparation without a token looks again after this. */
const MAX_TOKEN_WAIT_MS = 30 * SECOND_MS;

interface Job extends WaitingRun {
  /** Calls whose answers it has, by their index. */
  readonly answered: Set<number>;
  begun: number | undefined;
  tokens: number;
  result: SimulatedRun | undefined;
  /** Epoch ms at which its preparation goes on. */
  prepareAt: number;
}

interface Key {
  readonly budget: Budget;
  readonly tokens: Map<number, Map<string, number>>;
  fullAt: number | undefined;
  /** When runs on it begin, ascending. */
  readonly begins: number[];
}

/**
 * Runs these slots on a virtual clock. They share the key's budget, which starts full, with nobody else: no runs on demand,
 * backfills, corrections, readings and failures. Makes no call.
 *
 * @param limits by key
 */
export async function simulateRuns(
  runs: readonly ForecastRun[],
  limits: ReadonlyMap<string, BudgetLimits>,
  assumptions: ForecastAssumptions,
): Promise<Simulation> {
  const { callMs } = assumptions;
  const preparedFrom = runs.flatMap(({ calls }) => calls.flatMap((call) => call.preparedFrom ?? []));
  const clock = virtualClock(runs.reduce((first, { begins }) => Math.min(first, begins), Math.min(...preparedFrom)));
  const shared = sharedAnswers(clock);
  const line = createRunLine<Job>(clock);
  /** Epoch ms: a waiter that wakes by then need not be woken. */
  const wakesByItself = ({ limits: own }: Budget): number => clock.now() + waiterTimeouts(own).overtakenAfterMs;
  const keys = new Map<string, Key>();
  const jobs = runs.map(
    (run): Job => ({
      ...{ run, round: 1, arrival: 0, hasBegun: false, answered: new Set(), begun: undefined, tokens: 0 },
      ...{ result: undefined, prepareAt: Math.min(...run.calls.map((one) => one.preparedFrom ?? Infinity)) },
    }),
  );
  const keyOf = ({ key }: ForecastRun): Key => {
    const found = keys.get(key);
    if (found !== undefined) return found;
    const keyLimits = limits.get(key);
    if (keyLimits === undefined) throw new Error(`no limits of the key ${key}`);
    const begins = runs.filter((run) => run.key === key).map((run) => run.begins);
    const added: Key = {
      ...{ budget: memoryBudget({ ...keyLimits, clock }), tokens: new Map(), fullAt: undefined },
      begins: begins.sort((a, b) => a - b),
    };
    keys.set(key, added);
    return added;
  };

  /** Makes a call, or takes an answer of another run. @returns until when the run snoozes, or undefined with an answer */
  const ask = async (
    job: Job,
    { id, request, maxAgeMs, offsetMs, priority }: Request,
    pollMs: (polls: number) => number,
  ): Promise<number | undefined> => {
    const { run } = job;
    const key = keyOf(run);
    const { budget } = key;
    const maxWaitMs = priority === 'preparation' ? 0 : MAX_WAIT_MS;
    const since = clock.now();
    /** An answer that was requested while it waits is a hit, too. */
    const lookup = () => {
      const now = clock.now();
      const today = offsetMs === undefined ? now : (now + offsetMs) % DAY_MS;
      return shared.lookup(request, id, Math.min(today, Math.max(maxAgeMs, now - since)));
    };
    let polling = { since, polls: 0 };
    for (let isFirst = true; ; isFirst = false) {
      await clock.turn(id);
      const found = maxAgeMs === 0 ? 'miss' : lookup();
      if (found === 'hit') {
        await budget.cancel(run.key, id);
        budget.waiters.wakeNext(run.key, wakesByItself(budget));
        return undefined;
      }
      if (found === 'in_flight') {
        if (polling.polls === 0) polling = { since: clock.now(), polls: 0 };
        const ms = pollMs(polling.polls);
        if (clock.now() - polling.since + ms > maxWaitMs) return clock.now() + MAX_WAIT_MS;
        polling.polls += 1;
        await clock.sleep(ms);
        continue;
      }
      polling = { since, polls: 0 };
      const hasClaim = isFirst && maxAgeMs > 0;
      if (hasClaim) shared.claim(request, id);
      await clock.turn(id);
      const result = await budget.acquire({ key: run.key, id, org: run.org, priority, holdMs: HOLD_MS });
      if (!result.granted) {
        if (hasClaim) shared.release(request, id);
        if (priority !== 'preparation') key.fullAt ??= startOfMinute(clock.now());
        if (result.at - clock.now() > maxWaitMs) return result.at;
        // Nothing aborts it.
        const { signal } = new AbortController();
        await budget.waiters.sleep(run.key, id, result.at, { clock, windowMs: budget.limits.windowMs, signal });
        continue;
      }
      budget.waiters.wake(run.key, result.next, result.tokens, wakesByItself(budget));
      if (maxAgeMs > 0 && !hasClaim) {
        await clock.turn(id);
        if (lookup() !== 'miss') {
          await budget.release(run.key, result.token);
          budget.waiters.wakeNext(run.key, wakesByItself(budget));
          continue;
        }
        shared.claim(request, id);
      }
      const requestedAt = clock.now();
      const minute = startOfMinute(requestedAt);
      const byOrg = key.tokens.get(minute) ?? new Map<string, number>();
      key.tokens.set(minute, byOrg.set(run.org, (byOrg.get(run.org) ?? 0) + 1));
      job.tokens += 1;
      await clock.sleep(callMs);
      await budget.complete(run.key, result.token);
      if (maxAgeMs > 0) shared.put(request, id, requestedAt);
      return undefined;
    }
  };
  const askCatalog = (job: Job, priority: CallClass, maxAgeMs = CATALOG_TTL_MS): Promise<number | undefined> =>
    ask(job, { id: `${idOf(job)} catalog`, request: catalogName(job), maxAgeMs, priority }, () => CATALOG_POLL_MS);
  const askReport = (job: Job, call: ForecastCall, index: number, priority: CallClass): Promise<number | undefined> => {
    const { maxAgeMs, offsetMs } = job.run;
    const request = { id: `${idOf(job)} ${index}`, request: call.request, maxAgeMs, offsetMs, priority };
    return ask(job, request, (polls) => Math.min(25 * 2 ** polls, SECOND_MS));
  };

  /** @returns until when the run snoozes; undefined with all answers */
  const fetchCalls = async (job: Job): Promise<number | undefined> => {
    const snoozed = assumptions.catalogs === 'cached' ? undefined : await askCatalog(job, 'scheduled');
    if (snoozed !== undefined) return snoozed;
    const snoozes: number[] = [];
    const missing = [...job.run.calls.entries()].filter(([index]) => !job.answered.has(index));
    await forEachWithConcurrency(missing, CONCURRENT_CALLS, async ([index, call]) => {
      // A snooze starts nothing new, and lets the others finish.
      if (snoozes.length > 0) return;
      const until = call.kind === 'list' ? await clock.sleep(callMs) : await askReport(job, call, index, 'scheduled');
      if (until === undefined) job.answered.add(index);
      else snoozes.push(until);
    });
    return snoozes.length === 0 ? undefined : Math.min(...snoozes);
  };

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
      const { renderMs, deliverMs } = assumptions.reports?.get(job.run.name) ?? assumptions;
      await clock.sleep(renderMs);
      const ready = clock.now();
      await clock.sleep(deliverMs);
      const delivered = clock.now();
      const { run, begun, tokens } = job;
      const late = run.lateAt !== undefined && delivered > run.lateAt;
      job.result = { run, begun, ready, delivered, late, tokens };
    }
    await clock.turn(idOf(job));
    idle += 1;
    serve();
    if (snoozed === undefined) return;
    await clock.sleep(snoozed - clock.now());
    await clock.turn(idOf(job));
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
    // Before all runs that come back.
    await clock.turn('');
    for (const job of opened) {
      line.add(job);
      serve();
    }
  };

  /** One pass over the calls of a slot that can be made now. @returns whether its key has no token */
  const prepare = async (job: Job, until: number): Promise<boolean> => {
    const { calls, begins } = job.run;
    const waits: number[] = [];
    const first = await askCatalog(job, 'preparation');
    if (first !== undefined) waits.push(first);
    const missing = [...calls.entries()].filter(
      ([index, { preparedFrom: from = Infinity }]) => !job.answered.has(index) && from <= clock.now(),
    );
    await forEachWithConcurrency(missing, CONCURRENT_CALLS, async ([index, call]) => {
      if (waits.length > 0 || clock.now() >= until) return;
      const wait = await askReport(job, call, index, 'preparation');
      if (wait === undefined) job.answered.add(index);
      else waits.push(wait);
    });
    const later = calls.flatMap(({ preparedFrom: from }, index) =>
      from === undefined || job.answered.has(index) ? [] : [from],
    );
    // The last step: a catalog that lives until the slot.
    const oldest = begins + CATALOG_MARGIN_MS - CATALOG_TTL_MS;
    if (later.length === 0 && waits.length === 0 && clock.now() < until) {
      if (clock.now() <= oldest) later.push(oldest + 1);
      else {
        const renewed = await askCatalog(job, 'preparation', clock.now() - oldest);
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
      for (const job of due.sort((a, b) => a.run.begins - b.run.begins || (idOf(a) < idOf(b) ? -1 : 1))) {
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

interface Request {
  /** Identifies the waiter. */
  readonly id: string;
  readonly request: string;
  readonly maxAgeMs: number;
  /** As in `ForecastRun`; absent: an answer outlives its day. */
  readonly offsetMs?: number;
  readonly priority: CallClass;
}

const idOf = ({ run }: Job): string => `${run.name} ${run.slot}`;
const catalogName = ({ run }: Job): string => `catalog ${run.key} ${run.org}`;
const startOfMinute = (at: number): number => Math.floor(at / MINUTE_MS) * MINUTE_MS;

function missingResult({ name, slot }: ForecastRun): never {
  throw new Error(`the run of ${name} at ${slot} has not ended`);
}
