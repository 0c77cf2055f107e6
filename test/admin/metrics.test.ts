import { describe, expect, test } from 'vitest';
import { createMetrics, type Metrics, type Readings } from '../../src/admin/metrics.ts';
import { DocketError } from '../../src/base/error.ts';
import type { BudgetState } from '../../src/fetch/budget.ts';
import { seriesOf } from '../support/exposition.ts';
import { anOrder } from '../support/queue-bench.ts';

const state = (change: Partial<BudgetState> = {}): BudgetState => ({
  key: 'f1',
  tokens: 30,
  inFlight: 0,
  waiting: 0,
  blockedUntil: null,
  throttled: 0,
  limit: 30,
  slowedUntil: null,
  ...change,
});
const readings = (change: Partial<Readings> = {}): Readings => ({
  budgets: [{ of: 'metrics', calls: 30, state: state() }],
  keys: new Map([['acme', 'f1']]),
  queue: { waiting: 0, active: 0, delayed: 0, failed: 0 },
  paused: [],
  owedNotices: 0,
  unknownDeliveries: 0,
  reports: 2,
  faults: 0,
  kept: 0,
  ...change,
});
const scrape = async (metrics: Metrics, change: Partial<Readings> = {}) =>
  seriesOf((await metrics.scrape(async () => readings(change))).body);
const ofDocket = (series: ReadonlyMap<string, number>) =>
  Object.fromEntries([...series].filter(([name]) => name.startsWith('docket_')));

describe('the metrics', () => {
  test('tell the line of each key by its fingerprint, and the state of the rest, in base units', async () => {
    const slow = state({ tokens: 3, inFlight: 11, waiting: 40, throttled: 7, limit: 15 });
    const series = await scrape(createMetrics([]), {
      budgets: [
        {
          of: 'metrics',
          calls: 30,
          state: { ...slow, blockedUntil: 1_800_000_000_500, slowedUntil: 1_800_000_300_500 },
        },
        { of: 'reads', calls: 600, state: state({ tokens: 599, limit: 600 }) },
      ],
      keys: new Map([
        ['acme', 'f1'],
        ['branch', 'f1'],
        ['lost', null],
      ]),
      queue: { waiting: 4, active: 3, delayed: 2, failed: 1 },
      paused: [
        { org: 'acme', report: null, since: 1_790_000_000_000 },
        { org: 'acme', report: null, since: 1_791_000_000_000 },
        { org: 'acme', report: 'weekly', since: 1_792_000_000_000 },
      ],
      owedNotices: 5,
      unknownDeliveries: 3,
      reports: 6,
      faults: 7,
    });
    expect(ofDocket(series)).toEqual({
      docket_redis_up: 1,
      'docket_budget_tokens_free{key="f1",of="metrics"}': 3,
      'docket_budget_tokens_free{key="f1",of="reads"}': 599,
      'docket_budget_tokens_limit{key="f1",of="metrics"}': 15,
      'docket_budget_tokens_limit{key="f1",of="reads"}': 600,
      'docket_budget_tokens_configured{key="f1",of="metrics"}': 30,
      'docket_budget_tokens_configured{key="f1",of="reads"}': 600,
      'docket_budget_calls_in_flight{key="f1",of="metrics"}': 11,
      'docket_budget_calls_in_flight{key="f1",of="reads"}': 0,
      'docket_budget_calls_waiting{key="f1",of="metrics"}': 40,
      'docket_budget_calls_waiting{key="f1",of="reads"}': 0,
      'docket_budget_blocked_until_timestamp_seconds{key="f1",of="metrics"}': 1_800_000_000.5,
      'docket_budget_blocked_until_timestamp_seconds{key="f1",of="reads"}': 0,
      'docket_budget_slowed_until_timestamp_seconds{key="f1",of="metrics"}': 1_800_000_300.5,
      'docket_budget_slowed_until_timestamp_seconds{key="f1",of="reads"}': 0,
      'docket_budget_throttled_total{key="f1",of="metrics"}': 7,
      'docket_budget_throttled_total{key="f1",of="reads"}': 0,
      'docket_api_key_info{key="f1",org="acme"}': 1,
      'docket_api_key_info{key="f1",org="branch"}': 1,
      'docket_api_key_missing{org="lost"}': 1,
      'docket_queue_runs{state="waiting"}': 4,
      'docket_queue_runs{state="active"}': 3,
      'docket_queue_runs{state="delayed"}': 2,
      'docket_queue_runs{state="failed"}': 1,
      'docket_organization_paused_timestamp_seconds{org="acme"}': 1_790_000_000,
      'docket_report_paused_timestamp_seconds{org="acme",report="weekly"}': 1_792_000_000,
      docket_deliveries_unknown: 3,
      docket_notices_owed: 5,
      docket_reports: 6,
      docket_definition_faults: 7,
      docket_definitions_kept: 0,
      docket_timetables_repaired_total: 0,
    });
    expect(series.get('process_start_time_seconds')).toBeGreaterThan(1_700_000_000);
    expect(series.get('process_resident_memory_bytes')).toBeGreaterThan(1_000_000);
  });

  test('forget what is gone, and do not mix two scrapes at a time', async () => {
    const metrics = createMetrics([]);
    const [one, other] = await Promise.all([
      scrape(metrics, { paused: [{ org: 'acme', report: null, since: 1_000 }] }),
      scrape(metrics, { paused: [{ org: 'rival', report: null, since: 2_000 }] }),
    ]);
    const paused = (series: ReadonlyMap<string, number>) =>
      [...series.keys()].filter((name) => name.startsWith('docket_organization_paused'));
    expect([one, other].map(paused)).toEqual([
      ['docket_organization_paused_timestamp_seconds{org="acme"}'],
      ['docket_organization_paused_timestamp_seconds{org="rival"}'],
    ]);
    expect(paused(await scrape(metrics))).toEqual([]);
  });

  test('say that Redis is away, and keep telling of the process', async () => {
    const { body } = await createMetrics([]).scrape(() =>
      Promise.reject(new DocketError('redis.unreachable', 'Redis is away.')),
    );
    const series = seriesOf(body);
    expect(ofDocket(series)).toEqual({ docket_redis_up: 0, docket_timetables_repaired_total: 0 });
    expect(series.has('process_cpu_seconds_total')).toBe(true);
  });

  test('do not pass a defect off as Redis being away', async () => {
    await expect(createMetrics([]).scrape(() => Promise.reject(new TypeError('no')))).rejects.toThrow(TypeError);
  });

  test('start at zero for the organizations there are, so that the first failure is an increase', async () => {
    expect(ofDocket(await scrape(createMetrics(['acme'])))).toMatchObject({
      'docket_runs_finished_total{org="acme",state="failed"}': 0,
      'docket_deliveries_total{org="acme",state="unknown"}': 0,
    });
  });

  test('count the runs of this process by organization and end; more runs and reports are no more series', async () => {
    const metrics = createMetrics([]);
    const aRun = (report: string, org = 'acme') => {
      const order = anOrder({ org, report });
      const call = { type: 'fetched', call: `c-${report}`, done: 1, of: 1, tokens: 3, finish: 0 } as const;
      metrics.observe(order, { ...call, saved: false });
      metrics.observe(order, { ...call, saved: true, tokens: null });
      metrics.observe(order, {
        type: 'delivered',
        target: 'email',
        recipient: `${report}@acme.example`,
        state: 'sent',
        detail: null,
      });
      metrics.observe(order, { type: 'finished', state: 'done' });
    };
    aRun('first');
    metrics.observe(anOrder({ org: 'acme' }), { type: 'finished', state: 'failed' });
    const before = await scrape(metrics);
    expect(ofDocket(before)).toMatchObject({
      'docket_runs_finished_total{org="acme",state="done"}': 1,
      'docket_runs_finished_total{org="acme",state="failed"}': 1,
      'docket_calls_answered_total{org="acme",by="service"}': 1,
      'docket_calls_answered_total{org="acme",by="store"}': 1,
      'docket_deliveries_total{org="acme",state="sent"}': 1,
    });
    for (let run = 0; run < 200; run += 1) aRun(`report-${run}`);
    const after = ofDocket(await scrape(metrics));
    expect(after['docket_runs_finished_total{org="acme",state="done"}']).toBe(201);
    expect(Object.keys(after)).toEqual(Object.keys(ofDocket(before)));
  });
});
