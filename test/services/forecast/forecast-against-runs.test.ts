import fc from 'fast-check';
import { expect, test } from 'vitest';
import { forEachWithConcurrency } from '../../../src/base/concurrency.ts';
import { DocketError } from '../../../src/base/error.ts';
import { done } from '../../../src/base/outcome.ts';
import { type ReportRequest, reportResponseSchema } from '../../../src/contract/report.ts';
import { memoryCatalogCache } from '../../../src/fetch/cache/catalog-cache.ts';
import { cacheKeyOf, memoryResponseCache, type ResponseCache } from '../../../src/fetch/cache/response-cache.ts';
import { memoryResponseStore } from '../../../src/fetch/cache/response-store.ts';
import type { ComplianceClient } from '../../../src/fetch/client/compliance-client.ts';
import { fetchDataset } from '../../../src/fetch/fetch-dataset.ts';
import type { Budget } from '../../../src/fetch/rate-limit/budget.ts';
import { memoryBudget } from '../../../src/fetch/rate-limit/memory-budget.ts';
import type { Plan, ReportCall } from '../../../src/plan/plan.ts';
import { createLimiter, LIMITER_ALGORITHMS, type LimiterAlgorithm } from '../../../src/sandbox/limiter.ts';
import { DEFAULT_ASSUMPTIONS, type ForecastRun } from '../../../src/services/forecast/forecast-run.ts';
import { createRunLine, type WaitingRun } from '../../../src/services/forecast/run-line.ts';
import { simulateRuns } from '../../../src/services/forecast/simulate-runs.ts';
import { type VirtualClock, virtualClock } from '../../../src/services/forecast/virtual-clock.ts';
import { cases, least, within } from '../../support/fuzz.ts';
import { CATALOG, definitionOf, settingsOf, WEEK } from '../../support/reports.ts';

const NINE = Date.parse('2026-11-30T08:00:00Z');
/** Responses of one day are not used on the next. */
const BEFORE_MIDNIGHT = Date.parse('2026-11-30T23:59:00Z');
const LIMITS = { calls: 30, windowMs: 60_000 };
const ORGS = ['acme', 'beta', 'gamma'];
const MAX_WAIT_MS = 5_000;
const RENDER_MS = DEFAULT_ASSUMPTIONS.renderMs;
interface Planned {
  readonly run: ForecastRun;
  readonly calls: readonly ReportCall[];
}

const requestOf = (day: number): ReportRequest => ({
  metrics: ['profiles.created'],
  time: {
    from: `2026-10-${String(day + 1).padStart(2, '0')}`,
    to: `2026-10-${String(day + 1).padStart(2, '0')}`,
    timezone: 'UTC',
  },
});

const nameOf = ({ name, slot }: ForecastRun, call?: number): string =>
  `${name} ${slot}${call === undefined ? '' : ` ${call}`}`;

const planOf = ({ run, calls }: Planned): Plan => ({
  ...{ org: run.org, report: run.name.split('/')[1] ?? '', period: WEEK, calls, sections: [] },
  registryVersion: CATALOG.registry_version,
  definition: { ...definitionOf([{ id: 'a', metrics: ['profiles.created'] }]), max_age: run.maxAgeMs / 1000 },
});

/**
 * Executes the runs with the real `fetchDataset` against a limiter of the sandbox. Returns when each has its responses,
 * and the number of 429s.
 */
async function runAll(
  planned: readonly Planned[],
  {
    start,
    kind,
    concurrency,
    cached,
  }: {
    readonly start: number;
    readonly kind: LimiterAlgorithm;
    readonly concurrency: number;
    /** Whether runs find their catalogs in the cache. */
    readonly cached: boolean;
  },
) {
  const clock = virtualClock(start);
  const limiter = createLimiter(kind, LIMITS.calls, LIMITS.windowMs);
  let throttled = 0;
  const client: ComplianceClient = {
    service: '',
    requestTimeoutMs: 30_000,
    organizations: async () => [],
    catalog: async () => {
      throttled += limiter.acquire('k', clock.now()) > 0 ? 1 : 0;
      await clock.sleep(DEFAULT_ASSUMPTIONS.callMs);
      return CATALOG;
    },
    listPage: async () => ({ count: 0, next: null, records: [] }),
    report: async () => {
      const wait = limiter.acquire('k', clock.now());
      if (wait > 0) {
        throttled += 1;
        throw new DocketError('api.throttled', 'throttled', { retryAfterMs: wait });
      }
      await clock.sleep(DEFAULT_ASSUMPTIONS.callMs);
      const as_of = new Date(clock.now()).toISOString();
      const meta = { as_of, cached: false, timezone: 'UTC', row_count: 0, truncated: false, registry_version: 7 };
      return { correlationId: null, body: reportResponseSchema.parse({ meta, columns: [], rows: [], totals: null }) };
    },
    close: async () => {},
  };
  // Calls in the same millisecond are made in order of their names.
  const indexes = new Map<string, string>(
    planned.flatMap(({ run, calls }) =>
      calls.map(({ id }, index) => [`${run.name}:${id}`, nameOf(run, index)] as const),
    ),
  );
  const turn = (id: string): Promise<void> => clock.turn(indexes.get(id) ?? id);
  const memory = memoryBudget({ ...LIMITS, clock });
  const answers = memoryResponseCache(clock);
  const budget: Budget = { ...memory, acquire: (request) => turn(request.id).then(() => memory.acquire(request)) };
  const responseCache: ResponseCache = {
    ...answers,
    lookup: (key, wanted) => turn(wanted.holder).then(() => answers.lookup(key, wanted)),
    claim: (key, wanted, ttlMs) => turn(wanted.holder).then(() => answers.claim(key, wanted, ttlMs)),
  };
  // A run that waits for another run's catalog looks again after everything else in that millisecond.
  const sleep: VirtualClock['sleep'] = (ms, signal) => clock.sleep(ms, signal).then(() => clock.turn('~'));
  const catalogs = memoryCatalogCache({ ...clock, sleep });
  const shared = {
    ...{ client, key: 'k', clock, budget, reads: memory },
    ...{ responses: memoryResponseStore(), responseCache, maxWaitMs: MAX_WAIT_MS },
    ...{ catalogs, priority: 'scheduled' as const, signal: new AbortController().signal },
    ...{ observe: () => {}, folder: '', organization: 'Acme', catalog: CATALOG, calendar: settingsOf() },
  };
  type Job = WaitingRun & Planned;
  const line = createRunLine<Job>(clock);
  const ready = new Map<string, number>();
  const failures: unknown[] = [];
  let idle = concurrency;
  const work = async (job: Job): Promise<void> => {
    job.hasBegun = true;
    if (!cached) await clock.turn(`${nameOf(job.run)} catalog`);
    const request = { ...shared, org: ORGS.indexOf(job.run.org), tenant: job.run.org };
    const catalog = cached ? done(CATALOG) : await catalogs.get(request, shared.signal, () => {});
    const outcome =
      catalog.kind === 'done' ? await fetchDataset({ ...shared, plan: planOf(job), run: job.run.name }) : catalog;
    if (outcome.kind === 'done') {
      ready.set(job.run.name, clock.now());
      await clock.sleep(DEFAULT_ASSUMPTIONS.renderMs);
      await clock.sleep(DEFAULT_ASSUMPTIONS.deliverMs);
    } else if (outcome.kind !== 'snooze') throw outcome;
    await clock.turn(nameOf(job.run));
    idle += 1;
    serve();
    if (outcome.kind !== 'snooze') return;
    await clock.sleep(outcome.until - clock.now());
    await clock.turn(nameOf(job.run));
    line.add(job);
    serve();
  };
  const serve = (): void => {
    for (let job = idle > 0 ? line.take() : undefined; job !== undefined; job = idle > 0 ? line.take() : undefined) {
      idle -= 1;
      work(job).catch((thrown) => failures.push(thrown));
    }
  };
  const slots = new Map<number, Planned[]>();
  for (const one of planned) slots.set(one.run.begins, [...(slots.get(one.run.begins) ?? []), one]);
  void forEachWithConcurrency([...slots], slots.size + 1, async ([at, opened]) => {
    await clock.sleep(at - clock.now());
    await clock.turn('');
    for (const one of opened) {
      line.add({ ...one, round: 1, arrival: 0, hasBegun: false });
      serve();
    }
  });
  await clock.run();
  if (failures.length > 0) throw failures[0];
  return { ready, throttled };
}

interface Drawn {
  readonly org: string;
  /** Minutes after the start. */
  readonly minute: number;
  readonly days: readonly number[];
  readonly maxAge: number;
}

const plannedOf = (drawn: readonly Drawn[], start: number): Planned[] =>
  drawn
    .map(({ org, minute, days, maxAge }, index): Planned => {
      const name = `${org}/r${String(index).padStart(3, '0')}`;
      const begins = start + minute * 60_000;
      const calls = days.map((day): ReportCall => {
        const request = requestOf(day);
        const by = { tenant: org, service: '', key: '', registryVersion: 7 };
        const id = cacheKeyOf({ org: 'current', request }, by).slice(1, 17);
        return { kind: 'report', id, org: 'current', request };
      });
      const run: ForecastRun = {
        ...{ org, name, key: 'k', slot: begins, begins, lateAt: undefined, expected: begins },
        maxAgeMs: maxAge * 1000,
        offsetMs: 0,
        before: Number.NEGATIVE_INFINITY,
        calls: calls.map(({ id }) => ({ request: `${org} ${id}`, kind: 'report', preparedFrom: undefined })),
      };
      return { run, calls };
    })
    .sort((a, b) => a.run.begins - b.run.begins || (a.run.name < b.run.name ? -1 : 1));

/** By run: ms after the start until it has its responses, for the real runs and for the simulated ones. */
async function compareRuns(planned: readonly Planned[], how: Parameters<typeof runAll>[1]) {
  const { start, concurrency, cached } = how;
  const real = await runAll(planned, how);
  const { runs } = await simulateRuns(
    planned.map(({ run }) => run),
    new Map([['k', LIMITS]]),
    { ...DEFAULT_ASSUMPTIONS, processes: 1, concurrency, ...(cached ? { catalogs: 'cached' } : {}) },
  );
  return {
    throttled: real.throttled,
    real: Object.fromEntries([...real.ready].map(([name, ready]) => [name, ready - start])),
    simulated: Object.fromEntries(runs.map(({ run, ready }) => [run.name, ready - start - RENDER_MS])),
  };
}

const plans = fc.array(
  fc.record({
    org: fc.constantFrom(...ORGS),
    minute: fc.constantFrom(0, 0, 0, 1, 5),
    days: fc.uniqueArray(fc.nat(24), { minLength: 1, maxLength: 14 }),
    maxAge: fc.constantFrom(0, 3_600),
  }),
  { minLength: 1, maxLength: 60 },
);

test(
  'a forecast says to the millisecond when each run has its responses',
  async () => {
    let compared = 0;
    await fc.assert(
      fc.asyncProperty(
        plans,
        fc.constantFrom(...LIMITER_ALGORITHMS),
        fc.integer({ min: 1, max: 12 }),
        fc.constantFrom(NINE, BEFORE_MIDNIGHT),
        fc.boolean(),
        async (drawn, kind, concurrency, start, cached) => {
          const { throttled, real, simulated } = await compareRuns(plannedOf(drawn, start), {
            ...{ start, kind, concurrency, cached },
          });
          expect(throttled).toBe(0);
          compared += Object.keys(real).length;
          expect(simulated).toEqual(real);
        },
      ),
      cases(400),
    );
    expect(compared).toBeGreaterThan(least(2_000));
  },
  within(20),
);

test(
  'a forecast loses no token when runs wait for longer than a catalog is cached',
  async () => {
    const drawn = Array.from({ length: 500 }, () => ({ org: 'acme', minute: 0, days: [0, 1, 2, 3], maxAge: 0 }));
    const how = { start: NINE, kind: 'sliding' as const, concurrency: 4, cached: false };
    const { throttled, real, simulated } = await compareRuns(plannedOf(drawn, NINE), how);
    expect(throttled).toBe(0);
    expect(simulated).toEqual(real);
    // 2,000 calls and two catalogs.
    expect(Math.max(...Object.values(real)) / 60_000).toBeLessThan(2_002 / LIMITS.calls + 1);
  },
  within(20),
);
