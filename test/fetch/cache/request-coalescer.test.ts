import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { DocketError } from '../../../src/base/error.ts';
import type { Outcome } from '../../../src/base/outcome.ts';
import type { OrgRef } from '../../../src/contract/organization.ts';
import { redisResponseCache } from '../../../src/fetch/cache/redis-response-cache.ts';
import { cacheKeyOf, memoryResponseCache, type ResponseCache } from '../../../src/fetch/cache/response-cache.ts';
import { memoryResponseStore } from '../../../src/fetch/cache/response-store.ts';
import type { ComplianceClient } from '../../../src/fetch/client/compliance-client.ts';
import { fetchDataset } from '../../../src/fetch/fetch-dataset.ts';
import { incompleteNotes } from '../../../src/fetch/notes.ts';
import type { Priority } from '../../../src/fetch/rate-limit/budget.ts';
import { memoryBudget } from '../../../src/fetch/rate-limit/memory-budget.ts';
import { compilePlan } from '../../../src/plan/compile.ts';
import type { Sandbox } from '../../../src/sandbox/sandbox.ts';
import { doneOf, type FetchingOptions, fetchingFrom, keyOf, NOW, openSandbox } from '../../support/fetch-harness.ts';
import { advanceUntil, manualClock } from '../../support/manual-clock.ts';
import { definitionOf, type SectionInput, settingsOf, WEEK } from '../../support/reports.ts';
import { memorySharedAnswers, redisSharedAnswers, type SharedAnswersHarness } from '../../support/shared-answers.ts';

const SECTIONS: SectionInput[] = [
  { id: 'days', metrics: ['profiles.created'], granularity: 'day', totals: true },
  { id: 'risk', metrics: ['profiles.approval_rate'], dimensions: ['profile.risk'] },
];
const ONE = SECTIONS.slice(0, 1);
const REPORTS = '/analytics/report/';
const MINUTE = 60_000;

let sandbox: Sandbox;
let redis: Redis;
beforeAll(async () => {
  sandbox = await openSandbox({ cacheSeconds: 0 });
  redis = new Redis(inject('redisUrl'));
});
afterEach(() => sandbox.setFaults([]));
afterAll(async () => {
  await redis.quit();
  await sandbox.close();
});

interface RunOptions extends FetchingOptions {
  readonly sections?: SectionInput[];
  readonly tenant?: string;
  readonly org?: OrgRef;
  /** Seconds. */
  readonly maxAge?: number;
  readonly priority?: Priority;
  readonly client?: (real: ComplianceClient) => ComplianceClient;
}

async function startRun(run: string, options: RunOptions = {}) {
  const { sections = ONE, tenant = 'acme', org = 'current', maxAge = 900, priority = 'scheduled' } = options;
  const made = fetchingFrom(sandbox.url, keyOf(sandbox, options.key ?? 'acme'), { ...options, run });
  // The sandbox's figures are of one instant, and the clocks of these tests go on.
  const current: ComplianceClient = {
    ...made.client,
    report: async (...requested) => {
      const { body, ...answer } = await made.client.report(...requested);
      const as_of = new Date(made.clock.now()).toISOString();
      return { ...answer, body: { ...body, meta: { ...body.meta, as_of } } };
    },
  };
  const context = { ...made, priority, client: options.client?.(current) ?? current };
  const catalog = await made.client.catalog(org, context.signal);
  const definition = definitionOf(sections, { org: tenant, max_age: maxAge });
  const plan = compilePlan({ definition, settings: settingsOf({ id: tenant, org }), period: WEEK, catalog });
  const fetch = () => fetchDataset({ ...context, plan, organization: tenant, catalog });
  return { context, events: made.events, plan, fetch };
}

/** Counts the report requests that reach the service from now on. */
function counting(): () => number {
  const count = () => sandbox.requests().filter(({ path }) => path.includes(REPORTS)).length;
  const before = count();
  return () => count() - before;
}

/** A client whose requests wait for `open`. `requested` resolves with the first request. */
function gated() {
  let open = () => {};
  let came = () => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const requested = new Promise<void>((resolve) => {
    came = resolve;
  });
  const client = (real: ComplianceClient): ComplianceClient => ({
    ...real,
    report: async (...args) => {
      came();
      await gate;
      return real.report(...args);
    },
  });
  return { client, open, asked: requested };
}

const callsOf = (outcome: Awaited<ReturnType<typeof fetchDataset>>) => doneOf(outcome).calls;

describe.each<[string, () => ResponseCache]>([
  ['in memory', () => memoryResponseCache(systemClock)],
  ['in Redis', () => redisResponseCache(redis, { prefix: `sharing-test:${randomUUID()}:` })],
])('runs that make the same request at the same time, with a response cache %s,', (_where, open) => {
  test('make each call once, for one token, and show the same tables', async () => {
    const shared = open();
    const budget = memoryBudget({ calls: 30, windowMs: MINUTE, clock: systemClock });
    const runs = await Promise.all(
      Array.from({ length: 8 }, (_, index) => startRun(`run-${index}`, { shared, budget, sections: SECTIONS })),
    );
    const calls = counting();
    const outcomes = await Promise.all(runs.map(({ fetch }) => fetch()));
    expect(calls()).toBe(SECTIONS.length);
    expect(await budget.inspect(runs[0]?.context.key ?? '')).toMatchObject({
      tokens: 30 - SECTIONS.length,
      inFlight: 0,
      waiting: 0,
    });
    const [first, ...others] = outcomes.map((outcome) => doneOf(outcome).tables);
    for (const tables of others) expect(tables).toEqual(first);
    const records = outcomes.flatMap(callsOf);
    const own = records.filter(({ saved }) => !saved);
    expect(own.map(({ shared }) => shared)).toEqual(SECTIONS.map(() => undefined));
    for (const { id, saved, shared, asOf, correlationId } of records) {
      const requested = own.find((call) => call.id === id);
      expect({ asOf, correlationId }).toEqual({ asOf: requested?.asOf, correlationId: requested?.correlationId });
      expect(saved).toBe(shared !== undefined);
    }
  });

  test('wait for the request in flight without a token, and record that they spent none', async () => {
    const shared = open();
    const budget = memoryBudget({ calls: 30, windowMs: MINUTE, clock: systemClock });
    const { client, open: answer, asked } = gated();
    const first = await startRun('run-1', { shared, budget, client });
    const second = await startRun('run-2', { shared, budget });
    const calls = counting();
    const one = first.fetch();
    await asked;
    let looks = 0;
    const watched: ResponseCache = {
      ...shared,
      lookup: async (...args) => {
        looks += 1;
        if (looks === 3) {
          expect(await budget.inspect(second.context.key)).toMatchObject({ tokens: 29, inFlight: 1, waiting: 0 });
          answer();
        }
        return shared.lookup(...args);
      },
    };
    const { fetch, events } = await startRun('run-2', { shared: watched, budget });
    const [, other] = await Promise.all([one, fetch()]);
    expect(calls()).toBe(1);
    expect(events).toMatchObject([{ type: 'fetched', saved: true, tokens: null, done: 1, of: 1 }]);
    const [call] = callsOf(other);
    expect(call?.shared?.run).toBe('run-1');
    expect(Math.abs(Date.parse(call?.shared?.at ?? '') - systemClock.now())).toBeLessThan(MINUTE);
  });

  test('repeat the request in one of the waiting runs after the requesting run has failed', async () => {
    const shared = open();
    const { client, open: answer, asked } = gated();
    const failing = (real: ComplianceClient): ComplianceClient => {
      const waiting = client(real);
      return {
        ...waiting,
        report: async (...args) => {
          await waiting.report(...args);
          throw new DocketError('api.forbidden', 'Not allowed.');
        },
      };
    };
    const first = await startRun('run-1', { shared, client: failing });
    const others = await Promise.all(['run-2', 'run-3', 'run-4'].map((run) => startRun(run, { shared })));
    const calls = counting();
    const one = first.fetch();
    await asked;
    const waiting = others.map(({ fetch }) => fetch());
    answer();
    expect(await one).toMatchObject({ kind: 'fail', error: { code: 'api.forbidden' } });
    const records = (await Promise.all(waiting)).flatMap(callsOf);
    expect(calls()).toBe(2);
    expect(records.map(({ saved }) => saved).sort()).toEqual([false, true, true]);
  });

  test('repeat the request after the requesting run was stopped', async () => {
    const shared = open();
    const { client, asked } = gated();
    const stop = new AbortController();
    const aborting = (real: ComplianceClient): ComplianceClient => ({
      ...real,
      report: (...args) =>
        Promise.race([
          client(real).report(...args),
          new Promise<never>((_, reject) => stop.signal.addEventListener('abort', () => reject(stop.signal.reason))),
        ]),
    });
    const first = await startRun('run-1', { shared, client: aborting, signal: stop.signal });
    const second = await startRun('run-2', { shared });
    const one = first.fetch();
    await asked;
    const waiting = second.fetch();
    stop.abort(new Error('the worker stops'));
    await expect(one).rejects.toThrow('the worker stops');
    expect(callsOf(await waiting)).toMatchObject([{ saved: false }]);
  });

  test('repeat the request after the worker of the requesting run has died', async () => {
    const shared = open();
    const { plan, context, fetch } = await startRun('run-2', { shared });
    const [call] = plan.calls;
    if (call?.kind !== 'report') throw new Error('expected a report');
    const { org: tenant, registryVersion } = plan;
    const { key, client } = context;
    const question = cacheKeyOf(call, { tenant, service: client.service, key, registryVersion });
    const claim = await shared.claim(question, { holder: 'dead', maxAgeMs: 0, waitingMs: 0 }, 300);
    expect(claim.kind).toBe('claimed');
    expect(callsOf(await fetch())).toMatchObject([{ saved: false }]);
  });

  test('snooze after maxWaitMs, and stop waiting when aborted', async () => {
    const shared = open();
    const { client, open: answer, asked } = gated();
    const first = await startRun('run-1', { shared, client });
    const one = first.fetch();
    await asked;
    const impatient = await startRun('run-2', { shared, maxWaitMs: 10 });
    const before = systemClock.now();
    const outcome = await impatient.fetch();
    expect(outcome).toMatchObject({ kind: 'snooze' });
    expect(outcome.kind === 'snooze' && outcome.until > before).toBe(true);

    const stop = new AbortController();
    const stopped = await startRun('run-3', { shared, signal: stop.signal });
    const waiting = stopped.fetch();
    stop.abort(new Error('the worker stops'));
    await expect(waiting).rejects.toThrow('the worker stops');
    answer();
    doneOf(await one);
    expect(callsOf(await impatient.fetch())).toMatchObject([{ saved: true, shared: { run: 'run-1' } }]);
  });
});

describe.each<[string, () => Promise<SharedAnswersHarness>]>([
  ['in memory', memorySharedAnswers],
  ['in Redis', () => redisSharedAnswers(inject('redisUrl'))],
])('a response cached %s', (_where, openBench) => {
  let harness: SharedAnswersHarness;
  beforeAll(async () => {
    harness = await openBench();
  });
  afterAll(() => harness.close());
  const start = (now = NOW) => {
    const clock = manualClock(now);
    const shared = harness.open(clock);
    const run = (name: string, options: RunOptions = {}) => startRun(name, { clock, shared, ...options });
    const fetch = async (name: string, options: RunOptions = {}) => (await run(name, options)).fetch();
    return { clock, shared, run, fetch };
  };

  test('serves other runs until it is older than their definition allows', async () => {
    const { clock, fetch } = start();
    const calls = counting();
    doneOf(await fetch('run-1'));
    clock.advance(15 * MINUTE);
    expect(callsOf(await fetch('run-2'))).toMatchObject([
      { saved: true, shared: { run: 'run-1', at: new Date(NOW).toISOString() } },
    ]);
    expect(calls()).toBe(1);
    clock.advance(1);
    expect(callsOf(await fetch('run-3'))).toMatchObject([{ saved: false }]);
    expect(calls()).toBe(2);
  });

  test('whose table fails a check is requested again by the next run', async () => {
    const { fetch } = start();
    const calls = counting();
    const negative = (real: ComplianceClient): ComplianceClient => ({
      ...real,
      report: async (org, request, signal) => {
        const answer = await real.report(org, request, signal);
        const rows = answer.body.rows.map((row) => ({ ...row, 'profiles.created': -1 }));
        return { ...answer, body: { ...answer.body, rows } };
      },
    });
    expect(incompleteNotes(doneOf(await fetch('run-1', { client: negative })))).not.toEqual([]);
    expect(incompleteNotes(doneOf(await fetch('run-2')))).toEqual([]);
    expect(callsOf(await fetch('run-3'))).toMatchObject([{ shared: { run: 'run-2' } }]);
    expect(calls()).toBe(2);
  });

  test('is used only if its age is allowed by the reading run', async () => {
    const { clock, fetch } = start();
    doneOf(await fetch('run-1', { maxAge: 3_600 }));
    clock.advance(MINUTE + 1);
    expect(callsOf(await fetch('run-2', { maxAge: 60 }))).toMatchObject([{ saved: false }]);
    expect(callsOf(await fetch('run-3', { maxAge: 3_600 }))).toMatchObject([{ shared: { run: 'run-2' } }]);
  });

  test('is shared for no longer than the requesting report allows', async () => {
    const { clock, fetch } = start();
    doneOf(await fetch('run-1', { maxAge: 60 }));
    clock.advance(MINUTE);
    expect(callsOf(await fetch('run-2', { maxAge: 3_600 }))).toMatchObject([{ shared: { run: 'run-1' } }]);
    clock.advance(1);
    expect(callsOf(await fetch('run-3', { maxAge: 3_600 }))).toMatchObject([{ saved: false }]);
  });

  test('is not lost and costs no second token if Redis fails around the call', async () => {
    const { shared, run } = start();
    const away = () => Promise.reject(new DocketError('redis.unreachable', 'Redis is away.'));
    const calls = counting();
    const before = await run('run-1', { shared: { ...shared, claim: away } });
    expect(await before.fetch()).toMatchObject({ kind: 'fail', error: { code: 'redis.unreachable' } });
    expect(calls()).toBe(0);
    expect(await before.context.budget.inspect(before.context.key)).toMatchObject({ tokens: 30, inFlight: 0 });
    const after = await run('run-2', { shared: { ...shared, put: away } });
    expect(callsOf(await after.fetch())).toMatchObject([{ saved: false }]);
    expect(calls()).toBe(1);
  });

  test('is not used by a report with max_age 0, which does not wait for other runs', async () => {
    const { fetch, run } = start();
    const calls = counting();
    const { client, open: answer, asked } = gated();
    const slow = (await run('run-1', { client })).fetch();
    await asked;
    expect(callsOf(await fetch('run-2', { maxAge: 0 }))).toMatchObject([{ saved: false }]);
    answer();
    doneOf(await slow);
    expect(callsOf(await fetch('run-3', { maxAge: 0 }))).toMatchObject([{ saved: false }]);
    expect(calls()).toBe(3);
  });

  test('is never shared between keys, organizations of the service, or organizations of Docket', async () => {
    const { fetch } = start();
    const calls = counting();
    doneOf(await fetch('run-1', { key: 'all', org: 101 }));
    const others: RunOptions[] = [
      { key: 'all', org: 102 },
      { key: 'all', org: 'current' },
      { key: 'acme', org: 101 },
      { key: 'all', org: 101, tenant: 'acme-subsidiary' },
    ];
    for (const [index, other] of others.entries()) {
      expect(callsOf(await fetch(`other-${index}`, other))).toMatchObject([{ saved: false }]);
    }
    expect(calls()).toBe(1 + others.length);
    expect(callsOf(await fetch('run-2', { key: 'all', org: 101 }))).toMatchObject([{ shared: { run: 'run-1' } }]);
  });

  test('of yesterday is requested again, because days and periods end at midnight', async () => {
    // Half a minute before midnight in the time zone of the report.
    const { clock, fetch } = start(Date.parse('2026-11-20T22:59:30Z'));
    doneOf(await fetch('run-1'));
    clock.advance(20_000);
    expect(callsOf(await fetch('run-2'))).toMatchObject([{ saved: true }]);
    clock.advance(20_000);
    expect(callsOf(await fetch('run-3'))).toMatchObject([{ saved: false }]);
    clock.advance(20_000);
    expect(callsOf(await fetch('run-4'))).toMatchObject([{ shared: { run: 'run-3' } }]);
  });

  test('is used again by a resumed run, whatever its age', async () => {
    const { clock, run } = start();
    const responses = memoryResponseStore();
    doneOf(await (await run('run-1')).fetch());
    const first = callsOf(await (await run('run-2', { responses })).fetch());
    clock.advance(60 * MINUTE);
    const calls = counting();
    const again = callsOf(await (await run('run-2', { responses })).fetch());
    expect(calls()).toBe(0);
    expect(again).toEqual(first);
    expect(again).toMatchObject([{ saved: true, shared: { run: 'run-1' } }]);
  });

  test('of a call that the run itself made before a crash is reused and does not count as shared', async () => {
    const { run } = start();
    doneOf(await (await run('run-1')).fetch());
    const [call] = callsOf(await (await run('run-1')).fetch());
    expect(call).toMatchObject({ saved: true });
    expect(call?.shared).toBe(undefined);
  });

  test('removes the runs that waited for it from the queue', async () => {
    const { clock, run } = start();
    const budget = memoryBudget({ calls: 1, windowMs: MINUTE, clock });
    const scheduled = await run('run-1', { budget, maxWaitMs: 1_000 });
    const { key } = scheduled.context;
    const taken = await budget.acquire({ key, id: 'x', org: 'x', priority: 'scheduled', holdMs: 1_000 });
    if (!taken.granted) throw new Error('expected a token');
    expect(await scheduled.fetch()).toMatchObject({ kind: 'snooze' });
    const hurried = await run('run-2', { budget, priority: 'on_demand' });
    const waiting = hurried.fetch();
    await budget.release(key, taken.token);
    expect(callsOf(await advanceUntil(clock, waiting, 1_000))).toMatchObject([{ saved: false }]);
    expect((await budget.inspect(key)).waiting).toBe(1);
    expect(callsOf(await scheduled.fetch())).toMatchObject([{ shared: { run: 'run-2' } }]);
    expect((await budget.inspect(key)).waiting).toBe(0);
  });
});

describe('a response from the service’s cache', () => {
  let caching: Sandbox;
  beforeAll(async () => {
    caching = await openSandbox();
  });
  afterAll(() => caching.close());

  test('has the age that the service reports', async () => {
    const clock = manualClock(NOW);
    const shared = memoryResponseCache(clock);
    const run = async (name: string, maxAge: number): Promise<Outcome<unknown>> => {
      const context = fetchingFrom(caching.url, keyOf(caching, 'acme'), { clock, shared, run: name });
      const catalog = await context.client.catalog('current', context.signal);
      const definition = definitionOf(ONE, { max_age: maxAge });
      const plan = compilePlan({ definition, settings: settingsOf(), period: WEEK, catalog });
      return fetchDataset({ ...context, plan, organization: 'Acme', catalog });
    };
    const countRequests = () => caching.requests().filter(({ path }) => path.includes(REPORTS)).length;
    doneOf(await run('run-1', 900));
    clock.advance(16 * MINUTE);
    // It comes from the cache of the service and is already 16 minutes old.
    doneOf(await run('run-2', 900));
    clock.advance(1);
    expect(countRequests()).toBe(2);
    doneOf(await run('run-3', 900));
    expect(countRequests()).toBe(3);
    doneOf(await run('run-4', 1_800));
    expect(countRequests()).toBe(3);
  });
});
