import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest';
import { DocketError } from '../../src/base/error.ts';
import type { Catalog } from '../../src/contract/catalog.ts';
import { redisResponseStore } from '../../src/fetch/cache/redis-response-store.ts';
import { memoryResponseStore } from '../../src/fetch/cache/response-store.ts';
import type { ComplianceClient } from '../../src/fetch/client/compliance-client.ts';
import type { Table } from '../../src/fetch/dataset.ts';
import type { FetchContext } from '../../src/fetch/fetch-context.ts';
import { fetchDataset } from '../../src/fetch/fetch-dataset.ts';
import type { Budget } from '../../src/fetch/rate-limit/budget.ts';
import { memoryBudget } from '../../src/fetch/rate-limit/memory-budget.ts';
import { compilePlan } from '../../src/plan/compile.ts';
import type { Sandbox } from '../../src/sandbox/sandbox.ts';
import { doneOf, type FetchingOptions, fetchingFrom, keyOf, openSandbox } from '../support/fetch-harness.ts';
import { freePort } from '../support/free-port.ts';
import { manualClock } from '../support/manual-clock.ts';
import { definitionOf, type SectionInput, settingsOf, WEEK } from '../support/reports.ts';
import { rowsOf } from '../support/rows.ts';

const START = Date.parse('2026-11-20T10:00:00Z');
const SECTIONS: SectionInput[] = [
  { id: 'days', metrics: ['profiles.created', 'profiles.decided'], granularity: 'day', totals: true },
  { id: 'risk', metrics: ['profiles.approval_rate'], dimensions: ['profile.risk'] },
  { id: 'types', metrics: ['alerts.created'], dimensions: ['alert.type'] },
  { id: 'hits', metrics: ['screening.hits'], dimensions: ['hit.kind'] },
  { id: 'groups', metrics: ['profiles.created'], dimensions: ['profile.group'] },
];
const REPORTS = '/analytics/report/';

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await openSandbox();
});
afterEach(() => sandbox.setFaults([]));
afterAll(() => sandbox.close());

async function catalogOf(context: FetchContext): Promise<Catalog> {
  return context.client.catalog('current', context.signal);
}

async function start(options: FetchingOptions & { sections?: SectionInput[] } = {}) {
  const before = sandbox.requests().length;
  const context = fetchingFrom(sandbox.url, keyOf(sandbox, options.key ?? 'acme'), options);
  const catalog = await catalogOf(context);
  const definition = definitionOf(options.sections ?? SECTIONS, { compare: 'previous_period' });
  const plan = compilePlan({ definition, settings: settingsOf(), period: WEEK, catalog });
  /** The requests since the start, the one for the catalog included. */
  const requests = () => sandbox.requests().slice(before);
  const reports = () => requests().filter(({ path }) => path.includes(REPORTS));
  const fetch = () => fetchDataset({ ...context, plan, organization: 'Acme Payments', catalog });
  return { context, catalog, plan, requests, reports, fetch };
}

/** Advances the clock whenever somebody waits on it, until the work is done. */
async function throughTime<Value>(clock: ReturnType<typeof manualClock>, work: Promise<Value>): Promise<Value> {
  let over = false;
  const ended = work.finally(() => {
    over = true;
  });
  while (!over) {
    await Promise.race([clock.slept(), ended.catch(() => {})]);
    clock.advance(500);
  }
  return ended;
}

describe('a dataset', () => {
  test('has a table for each section, in order, with the figures of the service', async () => {
    const { context, plan, fetch } = await start();
    const dataset = doneOf(await fetch());
    expect(dataset.tables.map(({ id, rows }) => [id, rows.length > 0])).toEqual(SECTIONS.map(({ id }) => [id, true]));
    expect(dataset).toMatchObject({ org: 'acme', organization: 'Acme Payments', report: 'weekly', period: WEEK });

    const [call] = plan.calls;
    if (call?.kind !== 'report') throw new Error('expected a report');
    const { body } = await context.client.report('current', call.request, context.signal);
    const [days] = dataset.tables;
    expect(rowsOf(days).map(({ values }) => values)).toEqual(
      body.rows.map(({ compare: _compare, partial: _partial, ...values }) => values),
    );
    expect(rowsOf(days).map(({ compare }) => compare)).toEqual(
      body.rows.map(({ compare }) => ({ previous_period: { values: compare } })),
    );
    expect(days).toMatchObject({
      granularity: 'day',
      current: false,
      range: { from: WEEK.from, to: WEEK.to },
      period: WEEK,
      comparisons: [{ kind: 'previous_period', range: body.meta.compare_range }],
      asOf: body.meta.as_of,
    });
    const { compare, ...totals } = body.totals ?? {};
    expect(days?.totals).toEqual({ values: totals, compare: { previous_period: { values: compare } } });
  });

  test('lists every call with its sections, method, time of computation and correlation ID', async () => {
    const { context, fetch } = await start();
    const { calls } = doneOf(await fetch());
    expect(calls.map(({ sections, saved, method }) => [sections, saved, method])).toEqual(
      SECTIONS.map(({ id }) => [[id], false, 'POST']),
    );
    expect(calls.every(({ asOf, correlationId }) => asOf !== null && correlationId !== null)).toBe(true);
    const fetched = context.events.filter((event) => event.type === 'fetched');
    expect(fetched.map(({ done, of, saved }) => [done, of, saved])).toEqual(
      SECTIONS.map((_, index) => [index + 1, SECTIONS.length, false]),
    );
  });

  test('costs one token for each call, which comes back one window after the response', async () => {
    const { context, fetch } = await start();
    doneOf(await fetch());
    expect(await context.budget.inspect(context.key)).toMatchObject({
      tokens: 30 - SECTIONS.length,
      inFlight: 0,
      waiting: 0,
    });
  });

  test('of a resumed run is read from its stored responses, without a call', async () => {
    const responses = memoryResponseStore();
    const { fetch, reports } = await start({ responses });
    const first = doneOf(await fetch());
    const made = reports().length;
    const again = await start({ responses });
    const second = doneOf(await again.fetch());
    expect(reports().length).toBe(made);
    expect(second.tables).toEqual(first.tables);
    expect(second.calls.every(({ saved }) => saved)).toBe(true);
    expect((await again.context.budget.inspect(again.context.key)).tokens).toBe(30);
  });

  test('of another run is fetched by its own calls', async () => {
    const responses = memoryResponseStore();
    const { fetch, reports } = await start({ responses });
    doneOf(await fetch());
    doneOf(await (await start({ responses, run: 'run-2' })).fetch());
    expect(reports().length).toBe(2 * SECTIONS.length);
  });
});

describe('failures', () => {
  test('that may pass are retried, for a token each time', async () => {
    const clock = manualClock(START);
    const { context, fetch, reports } = await start({ clock, sections: SECTIONS.slice(0, 1) });
    sandbox.setFaults([{ kind: 'status', value: 502, count: 2, path: REPORTS }]);
    doneOf(await throughTime(clock, fetch()));
    expect(reports().map(({ status }) => status)).toEqual([502, 502, 200]);
    expect((await context.budget.inspect(context.key)).tokens).toBe(27);
  });

  test('that do not pass end the run after three requests', async () => {
    const clock = manualClock(START);
    const { fetch, reports } = await start({ clock, sections: SECTIONS.slice(0, 1) });
    sandbox.setFaults([{ kind: 'content-type', path: REPORTS }]);
    const outcome = await throughTime(clock, fetch());
    expect(outcome).toMatchObject({ kind: 'fail', error: { code: 'api.unreadable', retryable: true } });
    expect(reports().length).toBe(3);
  });

  test('because of a figure of the wrong type are retried; the invalid response is not stored', async () => {
    const clock = manualClock(START);
    const responses = memoryResponseStore();
    const { context, plan, catalog } = await start({ clock, responses, sections: SECTIONS.slice(1, 2) });
    let answers = 0;
    const client: ComplianceClient = {
      ...context.client,
      report: async (...args) => {
        const answer = await context.client.report(...args);
        answers += 1;
        if (answers === 1) for (const row of answer.body.rows) row['profiles.approval_rate'] = '90%';
        return answer;
      },
    };
    const outcome = await throughTime(clock, fetchDataset({ ...context, client, plan, catalog, organization: 'x' }));
    expect(answers).toBe(2);
    const rates = rowsOf(doneOf(outcome).tables[0]).map(({ values }) => typeof values['profiles.approval_rate']);
    expect(new Set(rates)).toEqual(new Set(['number']));
  });

  test('of a request that the cached catalog allows drop the catalog from the cache, because it is outdated', async () => {
    const { context, catalog } = await start();
    await context.catalogs.get({ ...context, org: 'current', tenant: 'acme' }, context.signal, context.observe);
    const [metric] = catalog.metrics;
    const outdated = { ...catalog, metrics: [{ ...metric!, id: 'profiles.removed' }] };
    const definition = definitionOf([{ id: 'a', metrics: ['profiles.removed'] }]);
    const plan = compilePlan({ definition, settings: settingsOf(), period: WEEK, catalog: outdated });
    const outcome = await fetchDataset({ ...context, plan, catalog: outdated, organization: 'x' });
    expect(outcome).toMatchObject({ kind: 'fail', error: { code: 'api.refused', retryable: false } });
    const { where, message } = outcome.kind === 'fail' ? outcome.error : { where: '', message: '' };
    expect(where).toMatch(/^section a \(profiles\.removed\), POST /);
    expect(message).toContain('section a (profiles.removed)');
    const before = (await context.budget.inspect(context.key)).tokens;
    await context.catalogs.get({ ...context, org: 'current', tenant: 'acme' }, context.signal, context.observe);
    expect((await context.budget.inspect(context.key)).tokens).toBe(before - 1);
  });

  test('that no retry can fix end the run at once, without further calls', async () => {
    const { context, plan, catalog, reports } = await start();
    const key = keyOf(sandbox, 'expired');
    const expired = fetchingFrom(sandbox.url, key, {
      budget: memoryBudget({ calls: 1, windowMs: 60_000, clock: context.clock }),
    });
    const outcome = await fetchDataset({ ...expired, plan, catalog, organization: 'x' });
    expect(outcome).toMatchObject({ kind: 'fail', error: { code: 'api.unauthorized', retryable: false } });
    expect(reports().length).toBe(1);
    expect((await expired.budget.inspect(expired.key)).waiting).toBe(0);
  });

  test('keep the responses that have already arrived', async () => {
    const clock = manualClock(START);
    const responses = memoryResponseStore();
    const { plan, fetch, reports } = await start({ clock, responses });
    sandbox.setFaults([{ kind: 'status', value: 500, path: REPORTS }]);
    await throughTime(clock, fetch());
    sandbox.setFaults([]);
    const before = reports().length;
    doneOf(await fetch());
    const kept = await Promise.all(plan.calls.map(({ id }) => responses.get('run-1', id)));
    expect(kept.every((answer) => answer !== undefined)).toBe(true);
    expect(reports().length - before).toBeLessThanOrEqual(SECTIONS.length);
  });

  test('to connect do not cost a token', async () => {
    const clock = manualClock(START);
    const { plan, catalog } = await start({ sections: SECTIONS.slice(0, 1) });
    const nowhere = fetchingFrom(`http://127.0.0.1:${await freePort()}`, 'a.b', { clock });
    const outcome = await throughTime(clock, fetchDataset({ ...nowhere, plan, catalog, organization: 'x' }));
    expect(outcome).toMatchObject({ kind: 'fail', error: { code: 'api.unreachable' } });
    expect((await nowhere.budget.inspect(nowhere.key)).tokens).toBe(30);
  });

  test('of an open connection cost a token, because the service may count the call', async () => {
    const clock = manualClock(START);
    const { context, fetch } = await start({ clock, sections: SECTIONS.slice(0, 1) });
    sandbox.setFaults([{ kind: 'reset', count: 1, path: REPORTS }]);
    doneOf(await throughTime(clock, fetch()));
    expect(await context.budget.inspect(context.key)).toMatchObject({ tokens: 28, inFlight: 1 });
  });

  test('to reach the store of the budget prevent all calls', async () => {
    const { context, plan, catalog, reports } = await start();
    const away: Budget = {
      ...context.budget,
      acquire: () => Promise.reject(new DocketError('redis.unreachable', 'Redis is away.')),
    };
    const outcome = await fetchDataset({ ...context, budget: away, plan, catalog, organization: 'x' });
    expect(outcome).toMatchObject({ kind: 'fail', error: { code: 'redis.unreachable' } });
    expect(reports()).toEqual([]);
  });
});

describe('waiting for a token', () => {
  test('a run waits in place for a short time, and reports that it waits', async () => {
    const clock = manualClock(START);
    const budget = memoryBudget({ calls: 2, windowMs: 10_000, clock });
    const { context, fetch, reports } = await start({ clock, budget });
    doneOf(await throughTime(clock, fetch()));
    expect(reports().length).toBe(SECTIONS.length);
    const waiting = context.events.filter((event) => event.type === 'waiting');
    expect(waiting.length).toBeGreaterThan(0);
    expect(waiting.every(({ until }) => until > START)).toBe(true);
  });

  test('a run that would wait long is snoozed, keeps its place, and later makes only the missing calls', async () => {
    const clock = manualClock(START);
    const budget = memoryBudget({ calls: 2, windowMs: 60_000, clock });
    const { context, fetch, reports } = await start({ clock, budget, maxWaitMs: 1_000 });
    const first = await fetch();
    if (first.kind !== 'snooze') throw new Error(`expected a snooze, got ${first.kind}`);
    // If both calls are still in flight, their responses are expected now at the earliest.
    expect([START + 60_000, START + 60_001]).toContain(first.until);
    expect(reports().length).toBe(2);
    const rival = await budget.acquire({
      key: context.key,
      id: 'rival',
      org: 'acme',
      priority: 'scheduled',
      holdMs: 1_000,
    });
    expect(rival.granted).toBe(false);
    clock.set(START + 60_001);
    const second = await fetch();
    expect(second.kind).toBe('snooze');
    expect(reports().length).toBe(4);
    clock.set(second.kind === 'snooze' ? second.until : 0);
    const third = doneOf(await throughTime(clock, fetch()));
    expect(reports().length).toBe(SECTIONS.length);
    expect(third.calls.map(({ saved }) => saved)).toEqual([true, true, true, true, false]);
  });

  test('a 429 blocks the key for all runs for as long as it says, and does not count as a retry', async () => {
    const clock = manualClock(START);
    const { context, fetch, reports } = await start({ clock, sections: SECTIONS.slice(0, 1) });
    sandbox.setFaults([{ kind: 'throttle', value: 17, count: 4, path: REPORTS }]);
    doneOf(await throughTime(clock, fetch()));
    expect(reports().map(({ status }) => status)).toEqual([429, 429, 429, 429, 200]);
    expect(clock.now()).toBeGreaterThanOrEqual(START + 4 * 17_000);
    expect((await context.budget.inspect(context.key)).throttled).toBe(4);
  });

  test('a 429 that lasts longer than maxWaitMs snoozes the run until it ends', async () => {
    const clock = manualClock(START);
    const { fetch } = await start({ clock, sections: SECTIONS.slice(0, 1), maxWaitMs: 1_000 });
    sandbox.setFaults([{ kind: 'throttle', value: 17, path: REPORTS }]);
    expect(await fetch()).toMatchObject({ kind: 'snooze', until: START + 17_000 });
  });

  test('a run that is aborted while it waits or requests rejects with the reason', async () => {
    const reason = new Error('the worker stops');
    const clock = manualClock(START);
    const controller = new AbortController();
    const budget = memoryBudget({ calls: 1, windowMs: 60_000, clock });
    const waiting = await start({ clock, budget, signal: controller.signal });
    const outcome = waiting.fetch();
    await clock.slept();
    controller.abort(reason);
    await expect(outcome).rejects.toBe(reason);

    const other = new AbortController();
    const asking = await start({ signal: other.signal });
    sandbox.setFaults([{ kind: 'hang', path: REPORTS }]);
    const hanging = asking.fetch();
    other.abort(reason);
    await expect(hanging).rejects.toBe(reason);
  });
});

describe('lists', () => {
  const ROSTER: SectionInput[] = [{ id: 'roster', list: 'profiles', ordering: 'id', search: 'Freight' }];

  test('are read to the last page, from the budget of reads instead of that of reports', async () => {
    const { context, fetch, requests } = await start({ sections: ROSTER });
    const { tables, calls } = doneOf(await fetch());
    const [roster] = tables;
    const pages = requests().filter(({ path }) => path.includes('/profiles/'));
    expect(pages.length).toBeGreaterThan(1);
    expect(new Set(rowsOf(roster).map(({ values }) => values.id)).size).toBe(roster?.rows.length);
    expect(roster?.columns.slice(0, 2).map(({ name, kind }) => [name, kind])).toEqual([
      ['id', 'field'],
      ['name', 'field'],
    ]);
    expect(roster?.notes).toEqual([]);
    expect(calls).toMatchObject([{ method: 'GET', path: '/api/orgs/101/profiles/', rows: roster?.rows.length }]);
    expect((await context.budget.inspect(context.key)).tokens).toBe(30);
    expect((await context.reads.inspect(context.key)).tokens).toBe(600 - pages.length - 1);
  });

  test('continue after a snooze at the next page, without requesting a page twice', async () => {
    const clock = manualClock(START);
    const reads = memoryBudget({ calls: 2, windowMs: 60_000, clock });
    const { fetch, requests } = await start({ sections: ROSTER, clock, reads, maxWaitMs: 1_000 });
    const buildRequest = () =>
      requests()
        .filter(({ path }) => path.includes('/profiles/'))
        .map(({ path }) => path);
    let outcome = await fetch();
    while (outcome.kind === 'snooze') {
      clock.set(outcome.until);
      outcome = await fetch();
    }
    doneOf(outcome);
    expect(new Set(buildRequest()).size).toBe(buildRequest().length);
  });

  test('that are too long to be stored are still complete, and request no page twice', async () => {
    const redis = new Redis(inject('redisUrl'));
    onTestFinished(() => redis.disconnect());
    const pathsOf = (requests: () => readonly { readonly path: string }[]) =>
      requests()
        .map(({ path }) => path)
        .filter((path) => path.includes('/profiles/'));
    const idsOf = (roster: Table | undefined) => rowsOf(roster).map(({ values }) => values.id);
    const prefix = `too-long:${randomUUID()}:`;
    const measured = redisResponseStore(redis, { prefix: `${prefix}all:`, org: 'acme' });
    const all = await start({ sections: ROSTER, responses: measured });
    const expected = doneOf(await all.fetch());
    const pages = pathsOf(all.requests).length;
    const [first = 0, ...others] = Object.entries(await redis.hgetallBuffer(`${prefix}all:answers:run-1`)).map(
      ([call, packed]) => call.length + packed.length,
    );
    expect(others.length).toBeGreaterThan(1);

    const clock = manualClock(START);
    const reads = memoryBudget({ calls: 2, windowMs: 60_000, clock });
    const maxRunBytes = first + (others[0] ?? 0);
    const responses = redisResponseStore(redis, { prefix, org: 'acme', maxRunBytes });
    const long = await start({ sections: ROSTER, clock, reads, maxWaitMs: 1_000, responses });
    let outcome = await throughTime(clock, long.fetch());
    while (outcome.kind === 'snooze') {
      clock.set(outcome.until);
      outcome = await throughTime(clock, long.fetch());
    }
    expect(idsOf(doneOf(outcome).tables[0])).toEqual(idsOf(expected.tables[0]));
    expect(new Set(pathsOf(long.requests)).size).toBe(pathsOf(long.requests).length);
    expect(long.context.events.filter(({ type }) => type === 'not_kept')).toHaveLength(1);
    const kept = Object.entries(await redis.hgetallBuffer(`${prefix}answers:run-1`));
    expect(kept.length).toBeGreaterThan(0);
    expect(kept.reduce((sum, [call, packed]) => sum + call.length + packed.length, 0)).toBeLessThanOrEqual(maxRunBytes);

    // The worker died before the files were written: stored pages are not requested again.
    const resumed = await start({ sections: ROSTER, responses });
    expect(idsOf(doneOf(await resumed.fetch()).tables[0])).toEqual(idsOf(expected.tables[0]));
    expect(pathsOf(resumed.requests)).toHaveLength(pages - kept.length);
    await responses.delete('run-1');
    expect(await redis.keys(`${prefix}answers*`)).toEqual([]);
  });

  test('of `current` fail if the key reaches more than one organization', async () => {
    const { fetch } = await start({ sections: ROSTER, key: 'all' });
    const outcome = await fetch();
    expect(outcome).toMatchObject({ kind: 'fail', error: { code: 'config.invalid' } });
    expect(outcome.kind === 'fail' && outcome.error.got).toContain('101 (Acme Payments)');
  });
});
