import { describe, expect, test } from 'vitest';
import {
  createMetrics,
  type ExpectedSeries,
  type Metrics,
  type ProcessInfo,
} from '../../../src/admin/metrics/process-metrics.ts';
import { DocketError } from '../../../src/base/error.ts';
import { TARGETS } from '../../../src/deliver/targets/registry.ts';
import type { BudgetState } from '../../../src/fetch/rate-limit/budget.ts';
import type { MetricsSnapshot } from '../../../src/services/deployment/metrics-snapshot.ts';
import { seriesOf } from '../../support/exposition.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { anOrder } from '../../support/queue-harness.ts';

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
const readings = (change: Partial<MetricsSnapshot> = {}): MetricsSnapshot => ({
  budgets: [{ of: 'metrics', calls: 30, state: state() }],
  keys: new Map([['acme', 'f1']]),
  queue: { waiting: 0, active: 0, delayed: 0, failed: 0 },
  runs: [],
  processes: new Map(),
  heartbeat: null,
  memory: null,
  clockSteps: { steps: 0, last: null },
  paused: [],
  readings: [],
  corrections: [],
  late: [],
  preparations: [],
  forecastErrorMs: null,
  pendingNotices: 0,
  unknownDeliveries: 0,
  reports: 2,
  faults: 0,
  kept: 0,
  ...change,
});
const NOW = Date.parse('2026-11-16T07:20:00.000Z');
const metricsOf = (expected: Iterable<ExpectedSeries> = [], facts: Partial<ProcessInfo> = {}) =>
  createMetrics(expected, {
    version: '1.2.3',
    clock: manualClock(NOW),
    targetKinds: TARGETS.map(({ kind }) => kind),
    ...facts,
  });
const scrape = async (metrics: Metrics, change: Partial<MetricsSnapshot> = {}) =>
  seriesOf((await metrics.scrape(async () => readings(change))).body);
/** Without the metrics that each process always has. */
const ofDocket = (series: ReadonlyMap<string, number>) =>
  Object.fromEntries(
    [...series].filter(
      ([name]) => name.startsWith('docket_') && !/^docket_(build_info|definitions_read|slot_delay)/.test(name),
    ),
  );

describe('the metrics', () => {
  test('show the budget of each key by its fingerprint, and everything else in base units', async () => {
    const slow = state({ tokens: 3, inFlight: 11, waiting: 40, throttled: 7, limit: 15 });
    const series = await scrape(metricsOf(), {
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
      runs: [
        { state: 'queued', count: 4, oldest: 1_790_000_000_500 },
        { state: 'held', count: 0, oldest: null },
      ],
      processes: new Map([['worker', 2]]),
      heartbeat: { at: 1_790_000_060_000, stuck: 1_790_000_001_000 },
      memory: { usedBytes: 1_000_000, limitBytes: 4_000_000 },
      clockSteps: { steps: 2, last: { ms: -7_000, at: 1_800_000_000_000 } },
      paused: [
        { org: 'acme', report: null, since: 1_790_000_000_000 },
        { org: 'acme', report: null, since: 1_791_000_000_000 },
        { org: 'acme', report: 'weekly', since: 1_792_000_000_000 },
      ],
      pendingNotices: 5,
      unknownDeliveries: 3,
      reports: 6,
      faults: 7,
    });
    expect(ofDocket(series)).toEqual({
      docket_approvals_overdue: 0,
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
      'docket_runs{state="queued"}': 4,
      'docket_runs{state="held"}': 0,
      'docket_runs_oldest_timestamp_seconds{state="queued"}': 1_790_000_000.5,
      'docket_processes{role="worker"}': 2,
      'docket_processes{role="scheduler"}': 0,
      'docket_processes{role="admin"}': 0,
      docket_scheduler_looked_timestamp_seconds: 1_790_000_060,
      docket_slot_stuck_timestamp_seconds: 1_790_000_001,
      docket_redis_memory_used_bytes: 1_000_000,
      docket_redis_memory_limit_bytes: 4_000_000,
      docket_redis_clock_steps_total: 2,
      docket_redis_clock_step_seconds: -7,
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

  test('drop series that are gone, and do not mix concurrent scrapes', async () => {
    const metrics = metricsOf();
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

  test('show that Redis is unreachable, and still show the process', async () => {
    const { body } = await metricsOf().scrape(() =>
      Promise.reject(new DocketError('redis.unreachable', 'Redis is away.')),
    );
    const series = seriesOf(body);
    expect(ofDocket(series)).toEqual({
      docket_approvals_overdue: 0,
      docket_redis_up: 0,
      docket_timetables_repaired_total: 0,
    });
    expect(series.has('process_cpu_seconds_total')).toBe(true);
  });

  test('throw an internal error instead of showing Redis as unreachable', async () => {
    await expect(metricsOf().scrape(() => Promise.reject(new TypeError('no')))).rejects.toThrow(TypeError);
  });

  test('start at zero for each organization, so that the first failure is an increase', async () => {
    expect(ofDocket(await scrape(metricsOf([{ org: 'acme', kinds: ['email', 's3'] }])))).toMatchObject({
      'docket_runs_finished_total{org="acme",state="failed"}': 0,
      'docket_deliveries_total{org="acme",kind="email",state="refused"}': 0,
      'docket_deliveries_total{org="acme",kind="s3",state="unknown"}': 0,
      'docket_deliveries_total{org="acme",kind="notice",state="refused"}': 0,
      'docket_token_wait_seconds_total{org="acme"}': 0,
    });
  });

  test('count finished runs by organization and state, without a series for each run or report', async () => {
    const metrics = metricsOf();
    const aRun = (report: string, org = 'acme') => {
      const order = anOrder({ org, report });
      const call = { type: 'fetched', call: `c-${report}`, done: 1, of: 1, tokens: 3, finish: 0 } as const;
      metrics.observe(order, { ...call, saved: false });
      metrics.observe(order, { ...call, saved: true, tokens: null });
      metrics.observe(order, {
        type: 'delivered',
        target: '0-email',
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
      'docket_deliveries_total{org="acme",kind="email",state="sent"}': 1,
    });
    for (let run = 0; run < 200; run += 1) aRun(`report-${run}`);
    const after = ofDocket(await scrape(metrics));
    expect(after['docket_runs_finished_total{org="acme",state="done"}']).toBe(201);
    expect(Object.keys(after)).toEqual(Object.keys(ofDocket(before)));
  });

  test('put durations into the buckets that the alerts use, in seconds', async () => {
    const metrics = metricsOf();
    const order = anOrder({ slot: '2026-11-16T07:00:00.000Z', createdAt: NOW - 90_000 });
    metrics.observe(order, { type: 'timed', stage: 'fetch', ms: 45_000 });
    metrics.observe(order, { type: 'timed', stage: 'seal', ms: 4 });
    metrics.observe(order, { type: 'waited', ms: 2_500 });
    metrics.observe(order, {
      type: 'delivered',
      target: '3-webhook',
      recipient: 'https://hook.example',
      state: 'pending',
      detail: null,
      ms: 700,
    });
    metrics.observe(order, { type: 'finished', state: 'done' });
    metrics.observe(anOrder({ trigger: 'on_demand', slot: 'trigger:1', createdAt: NOW }), {
      type: 'finished',
      state: 'failed',
    });
    const series = await scrape(metrics);
    const reported = Object.fromEntries(
      [
        'docket_stage_duration_seconds_bucket{le="30",stage="fetch"}',
        'docket_stage_duration_seconds_bucket{le="60",stage="fetch"}',
        'docket_stage_duration_seconds_sum{stage="fetch"}',
        'docket_stage_duration_seconds_bucket{le="0.01",stage="seal"}',
        'docket_token_wait_seconds_total{org="acme"}',
        'docket_delivery_duration_seconds_sum{kind="webhook",state="pending"}',
        'docket_run_duration_seconds_sum{trigger="schedule"}',
        'docket_run_duration_seconds_count{trigger="on_demand"}',
        'docket_slot_delay_seconds_bucket{le="900"}',
        'docket_slot_delay_seconds_bucket{le="1800"}',
        'docket_slot_delay_seconds_sum',
        'docket_slot_delay_seconds_count',
      ].map((name) => [name, series.get(name)]),
    );
    expect(reported).toEqual({
      'docket_stage_duration_seconds_bucket{le="30",stage="fetch"}': 0,
      'docket_stage_duration_seconds_bucket{le="60",stage="fetch"}': 1,
      'docket_stage_duration_seconds_sum{stage="fetch"}': 45,
      'docket_stage_duration_seconds_bucket{le="0.01",stage="seal"}': 1,
      'docket_token_wait_seconds_total{org="acme"}': 2.5,
      'docket_delivery_duration_seconds_sum{kind="webhook",state="pending"}': 0.7,
      'docket_run_duration_seconds_sum{trigger="schedule"}': 90,
      'docket_run_duration_seconds_count{trigger="on_demand"}': 1,
      'docket_slot_delay_seconds_bucket{le="900"}': 0,
      'docket_slot_delay_seconds_bucket{le="1800"}': 1,
      docket_slot_delay_seconds_sum: 1_200,
      docket_slot_delay_seconds_count: 1,
    });
  });

  test('count requests to the service by organization and status', async () => {
    const metrics = metricsOf();
    metrics.observeRequest('acme', { endpoint: 'report', status: '2xx', ms: 300 });
    metrics.observeRequest('acme', { endpoint: 'catalog', status: '2xx', ms: 100 });
    metrics.observeRequest('acme', { endpoint: 'report', status: 'timeout', ms: 60_000 });
    const series = await scrape(metrics);
    expect(ofDocket(series)).toMatchObject({
      'docket_api_requests_total{org="acme",status="2xx"}': 2,
      'docket_api_requests_total{org="acme",status="timeout"}': 1,
      'docket_api_request_duration_seconds_bucket{le="0.25",endpoint="report",status="2xx"}': 0,
      'docket_api_request_duration_seconds_bucket{le="0.5",endpoint="report",status="2xx"}': 1,
      'docket_api_request_duration_seconds_sum{endpoint="report",status="timeout"}': 60,
    });
  });

  test('show version, definitions and disk space of the process', async () => {
    const metrics = metricsOf([], { disk: async () => ({ freeBytes: 5, sizeBytes: 100 }) });
    metrics.observeDefinitions();
    const series = await scrape(metrics);
    expect(series.get(`docket_build_info{version="1.2.3",node="${process.versions.node}"}`)).toBe(1);
    expect(series.get('docket_definitions_read_timestamp_seconds')).toBe(NOW / 1000);
    expect(series.get('docket_archive_free_bytes')).toBe(5);
    expect(series.get('docket_archive_size_bytes')).toBe(100);
  });

  test('keep all other values when the disk cannot be read', async () => {
    const series = await scrape(metricsOf([], { disk: () => Promise.reject(new Error('gone')) }));
    expect(series.get('docket_archive_free_bytes')).toBeNaN();
    expect(series.get('docket_redis_up')).toBe(1);
  });
});
