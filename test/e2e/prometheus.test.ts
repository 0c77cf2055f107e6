import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { stringify } from 'yaml';
import { z } from 'zod';
import { localRedis } from '../../src/demo/local-redis.ts';
import { folderFor } from '../support/delivery-case.ts';
import { seriesOf } from '../support/exposition.ts';
import { dashboardOf } from '../support/observability.ts';
import { populatedExposition } from '../support/populated-metrics.ts';
import { type Prometheus, prometheus } from '../support/prometheus.ts';
import { roleProcesses } from '../support/role-processes.ts';

const FOLDER = 'docs/observability';
let tools: Prometheus;
beforeAll(async () => {
  tools = await prometheus();
});
afterAll(() => tools?.close());

/** Drops the metrics of prom-client about Node.js, whose names we cannot choose. */
const ours = (body: string) =>
  body
    .split('\n')
    .filter((line) => /^(# (HELP|TYPE) )?docket_/.test(line))
    .map((line) => `${line}\n`)
    .join('');

describe('promtool', () => {
  test('accepts our metrics', async () => {
    const { body } = await populatedExposition();
    expect(await tools.promtool(['check', 'metrics'], ours(body))).toBe('');
  });

  test('finds that each alert fires when it must, and only then', async () => {
    expect(await tools.promtool(['check', 'rules', join(FOLDER, 'alerts.yaml')])).toContain('SUCCESS');
    expect(await tools.promtool(['test', 'rules', join(FOLDER, 'alerts.test.yaml')])).toContain('SUCCESS');
  });

  test('accepts every query of the dashboard', async () => {
    const { panels } = await dashboardOf(FOLDER);
    const exprs = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
    const rules = exprs.map((expr, index) => ({
      record: `panel:${index}`,
      expr: expr.replaceAll('$__rate_interval', '5m').replaceAll('$job', 'docket'),
    }));
    const file = join(await folderFor(onTestFinished), 'panels.yaml');
    await writeFile(file, stringify({ groups: [{ name: 'panels', rules }] }));
    expect(await tools.promtool(['check', 'rules', file])).toContain(`SUCCESS: ${exprs.length} rules found`);
  });
});

const vectorSchema = z.object({
  data: z.object({ result: z.array(z.object({ value: z.tuple([z.number(), z.string()]) })) }),
});
const rulesSchema = z.object({
  data: z.object({
    groups: z.array(
      z.object({ rules: z.array(z.object({ name: z.string(), health: z.string(), state: z.string() })) }),
    ),
  }),
});

test('Prometheus scrapes all processes of a deployment with a token and counts its runs', async () => {
  const redis = await localRedis({ PATH: process.env.PATH });
  onTestFinished(() => redis.close());
  const deployment = await roleProcesses(redis.url);
  const [admin, worker] = await Promise.all([deployment.start('scheduler,admin'), deployment.start('worker')]);
  await deployment.trigger(admin, 'once');
  await worker.logged(({ msg }) => msg === 'Run ended');

  const read = async ({ url }: { readonly url: string }) =>
    (await fetch(`${url}/metrics`, { headers: deployment.headers })).text();
  const [shared, own] = [await read(admin), await read(worker)];
  expect(await tools.promtool(['check', 'metrics'], ours(shared))).toBe('');
  expect(await tools.promtool(['check', 'metrics'], ours(own))).toBe('');
  const series = seriesOf(own);
  expect(series.get('docket_runs_finished_total{org="acme",state="done"}')).toBe(1);
  expect(series.get('docket_api_requests_total{org="acme",status="2xx"}')).toBeGreaterThanOrEqual(2);
  expect(series.get('docket_api_request_duration_seconds_count{endpoint="report",status="2xx"}')).toBe(1);
  expect(series.get('docket_deliveries_total{org="acme",kind="email",state="sent"}')).toBe(1);
  expect(series.get('docket_delivery_duration_seconds_count{kind="email",state="sent"}')).toBe(1);
  expect(series.get('docket_run_duration_seconds_count{trigger="on_demand"}')).toBe(1);
  for (const stage of ['plan', 'fetch', 'render', 'seal', 'deliver']) {
    expect(series.get(`docket_stage_duration_seconds_count{stage="${stage}"}`), stage).toBe(1);
  }
  expect(series.get('docket_archive_free_bytes')).toBeGreaterThan(0);
  const now = Date.now() / 1000;
  expect(series.get('docket_definitions_read_timestamp_seconds')).toBeGreaterThan(now - 60);
  expect(seriesOf(shared).get('docket_scheduler_looked_timestamp_seconds')).toBeGreaterThan(now - 120);
  expect(seriesOf(shared).get('docket_redis_memory_used_bytes')).toBeGreaterThan(100_000);
  expect(seriesOf(shared).get('docket_redis_memory_limit_bytes')).toBe(0);

  const folder = await folderFor(onTestFinished);
  const token = join(folder, 'token');
  await writeFile(token, deployment.headers.authorization.replace('Bearer ', ''));
  await mkdir(join(folder, 'data'));
  const config = {
    global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
    rule_files: [resolve(FOLDER, 'alerts.yaml')],
    scrape_configs: [
      {
        job_name: 'docket',
        authorization: { credentials_file: token },
        static_configs: [{ targets: [admin.url, worker.url].map((url) => new URL(url).host) }],
      },
    ],
  };
  await writeFile(join(folder, 'prometheus.yaml'), stringify(config));
  await tools.promtool(['check', 'config', join(folder, 'prometheus.yaml')]);
  const server = await tools.serve(join(folder, 'prometheus.yaml'), join(folder, 'data'));
  onTestFinished(() => server.close());
  const ask = async (expr: string): Promise<readonly number[]> => {
    const answer = await fetch(`${server.url}/api/v1/query?query=${encodeURIComponent(expr)}`);
    return vectorSchema.parse(await answer.json()).data.result.map(({ value: [, value] }) => Number(value));
  };
  const soon = { interval: 500 };
  await expect.poll(() => ask('sum(up{job="docket"})'), soon).toEqual([2]);
  await expect.poll(() => ask('sum(docket_runs_finished_total{state="done"})'), soon).toEqual([1]);
  // A worker reports its role at once, a scheduler only after its first scan.
  await expect.poll(() => ask('max by (role) (docket_processes) > 0'), soon).toHaveLength(3);
  await expect
    .poll(async () => {
      const answer = await fetch(`${server.url}/api/v1/rules?type=alert`);
      const rules = rulesSchema.parse(await answer.json()).data.groups.flatMap(({ rules: own }) => own);
      return rules.filter(({ health }) => health !== 'ok').map(({ name }) => name);
    }, soon)
    .toEqual([]);
  expect(await ask('count(ALERTS{alertstate="firing"})')).toEqual([]);

  await worker.kill();
  await expect.poll(() => ask('up{job="docket"} == 0'), soon).toEqual([0]);
});

test('a stopped process is no longer counted', async () => {
  const redis = await localRedis({ PATH: process.env.PATH });
  onTestFinished(() => redis.close());
  const deployment = await roleProcesses(redis.url);
  const [admin, worker] = await Promise.all([deployment.start('admin'), deployment.start('worker')]);
  const workers = async () =>
    seriesOf(await (await fetch(`${admin.url}/metrics`, { headers: deployment.headers })).text()).get(
      'docket_processes{role="worker"}',
    );
  await expect.poll(workers).toBe(1);
  await worker.stop();
  expect(await workers()).toBe(0);
});
