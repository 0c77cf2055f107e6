import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Redis } from 'ioredis';
import { expect, inject, onTestFinished, test } from 'vitest';
import { createMetrics } from '../../../src/admin/metrics/process-metrics.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { readConfig } from '../../../src/base/config/config.ts';
import { silentLog } from '../../../src/base/log.ts';
import { loadDefinitions } from '../../../src/compose/built-in-kinds.ts';
import { processState } from '../../../src/compose/docket.ts';
import { checkParts, examine, findProblems, PROBES } from '../../../src/compose/probes/probes.ts';
import type { Archive } from '../../../src/deliver/archive/archive.ts';
import { directoryStorage } from '../../../src/deliver/archive/storage/directory-storage.ts';
import { redisCircuitBreaker } from '../../../src/deliver/circuit/circuit-breaker.ts';
import { archivedDenials, sharedDenials } from '../../../src/deliver/denials/shared-denials.ts';
import { archivedSwitches } from '../../../src/deliver/switches/archived-switches.ts';
import { sharedSwitches } from '../../../src/deliver/switches/shared-switches.ts';
import { redisProcessReports } from '../../../src/queue/process-reports.ts';
import { claimIdentity } from '../../../src/redis/identity.ts';
import { redisKeys } from '../../../src/redis/keys.ts';
import { fake } from '../../support/fake.ts';
import { jobsFolder, ORG } from '../../support/jobs-folder.ts';
import { alertsOf } from '../../support/observability.ts';
import { populatedSnapshot } from '../../support/populated-metrics.ts';
import { randomPrefix } from '../../support/queue-harness.ts';

/** Why the page does not show the findings of these lines of `docket doctor`. */
const ONLY_DOCTOR: Readonly<Record<string, string>> = {
  'Node.js': 'a warning that the end of support is near; it stops no report',
  'Time zone data': 'the same',
  'Redis latency': 'the durations of runs show it',
  'Budget settings': 'a warning about settings; `docket check` and the budget of the page',
  'Scope of reports': 'a run that it stops fails, and the overview groups it',
  Proxy: 'it shows settings; a proxy that fails shows in the checks behind it',
  'API keys': 'a call for each organization; a refused key pauses its organization, and a missing one is a metric',
  Targets: 'it writes at the receivers; the page has their circuits and the failed runs',
  Readings: 'missed readings are on the overview',
  Pauses: 'the page has a list of them',
};

test('the page shows the findings of each line of `docket doctor`, or there is a written reason why not', () => {
  // The line for accounts tests a sign-in. The certificate of the provider is checked hourly.
  const silent = PROBES.filter(({ shared, ready, trials, hourly }) => !(shared ?? ready ?? trials ?? hourly));
  expect(silent.map(({ what }) => what)).toEqual(Object.keys(ONLY_DOCTOR));
});

/** The codes of problems in the source of the probes. */
const CODES = [
  ...new Set(
    readdirSync('src/compose/probes').flatMap((file) =>
      [...readFileSync(join('src/compose/probes', file), 'utf8').matchAll(/problem: '([a-z.]+)'/g)].map(
        ([, code = '']) => code,
      ),
    ),
  ),
].sort();

/** The codes that `DocketProblem` leaves to another alert, with the metric of that alert. */
const OWN_ALERTS: Readonly<Record<string, string>> = {
  'worker.none': 'docket_processes',
  'scheduler.none': 'docket_scheduler_looked_timestamp_seconds',
  'slot.stuck': 'docket_slot_stuck_timestamp_seconds',
  'redis.memory': 'docket_redis_memory_used_bytes',
  'redis.writes': 'docket_storage_usable',
  'archive.unusable': 'docket_storage_usable',
  'staging.unusable': 'docket_storage_usable',
  'definitions.faults': 'docket_definition_faults',
  'definitions.none': 'docket_reports',
  'circuit.open': 'docket_problem{code="circuit.open"}',
};

test('each problem has exactly one alert', async () => {
  const alerts = await alertsOf('docs/observability');
  const general = alerts.find(({ alert }) => alert === 'DocketProblem')?.expr ?? '';
  const excluded = /code!~"([^"]+)"/.exec(general)?.[1]?.split('|') ?? [];
  expect(CODES.length).toBeGreaterThan(18);
  expect([...excluded].sort()).toEqual(Object.keys(OWN_ALERTS).sort());
  for (const [code, metric] of Object.entries(OWN_ALERTS)) {
    expect(CODES, code).toContain(code);
    expect(
      alerts.some(({ expr }) => expr.includes(metric)),
      code,
    ).toBe(true);
  }
});

test.each([
  { document: '.switches', check: 'switches', what: 'Stops and legal holds' },
  { document: '.denied', check: 'denials', what: 'Deny list' },
])(
  'a damaged file of $document fails the check in docket doctor and in /readyz of a worker',
  async ({ document, check, what }) => {
    const redis = new Redis(inject('redisUrl'));
    onTestFinished(() => redis.disconnect());
    const folder = await jobsFolder({});
    const storage = directoryStorage(folder);
    const [prefix, clock] = [randomPrefix(), systemClock];
    const worker = {
      opened: {
        archive: fake<Archive>({}),
        storage,
        switches: sharedSwitches(redis, archivedSwitches(storage), { prefix, clock }),
        denials: sharedDenials(redis, archivedDenials(storage), { prefix, clock }),
      },
    };
    const look = async () => {
      const probes = PROBES.filter((probe) => probe.what === what);
      const parts = await checkParts(fake({ worker: fake(worker), clock }), probes);
      const context = {
        config: readConfig({ DOCKET_ARCHIVE: pathToFileURL(folder).href }),
        env: {},
        clock,
        log: silentLog,
      };
      const [line] = await examine(fake({ context, clock, signal: new AbortController().signal }), probes);
      return [parts, line] as const;
    };
    expect(await look()).toMatchObject([[{ name: check, ok: true }], { what, state: 'ok' }]);
    await storage.metadata.put(`${document}/000001.json`, '{');
    // The copy in Redis is used for ten seconds.
    await redis.del(redisKeys(prefix).switchesFresh, redisKeys(prefix).deniedFresh);
    expect(await look()).toMatchObject([[{ name: check, ok: false }], { what, state: 'fail' }]);
  },
);

test('page, docket doctor and metrics show the same problems of all processes', async () => {
  const redis = new Redis(inject('redisUrl'));
  onTestFinished(() => redis.disconnect());
  const prefix = randomPrefix();
  const clock = systemClock;
  const jobs = await loadDefinitions(await jobsFolder({ 'acme/org.yaml': ORG, 'acme/bad.yaml': 'title: [' }));
  const reports = redisProcessReports(redis, { prefix });
  const state = (self: string, unreadable?: { why: string; since: number }) =>
    processState(
      { self, roles: ['worker'], started: 0, jobs: fake({ current: () => jobs, unreadable: () => unreadable }) },
      reports,
    );
  await reports.putPeak({ reports: 9, at: 1 }, 60_000);
  const expired = {
    what: 'Certificate',
    state: 'warn',
    detail: 'ends',
    remedy: 'Renew it.',
    problem: 'certificate.expires',
  } as const;
  const api = { what: 'API', state: 'fail', detail: 'away', remedy: 'Start it.' } as const;
  const checks = ['archive', 'staging', 'identity', 'worker', 'definitions', 'redis', 'switches', 'denials'].map(
    (name) => ({ name, ok: false }),
  );
  await state('a')(checks, [expired, api], clock.now());
  await state('b', { why: 'empty', since: 5 })([], [], clock.now());
  const [one] = await reports.list();
  await reports.put({ ...one!, self: 'c', version: '0.0.1', definitions: { ...one!.definitions, digest: 'x' } });
  await claimIdentity(redis, prefix, 'f'.repeat(32), { restored: true });
  const circuit = redisCircuitBreaker(redis, { prefix: `${prefix}:`, clock });
  for (let failures = 0; failures < 3; failures += 1) await circuit.recordFailure('mail mx.example:25', 'down');

  const deployment = { redis, prefix, clock, jobs, started: true };
  const problems = await findProblems(deployment);
  const found = [...new Set(problems.map(({ code }) => code))].sort();
  expect(found).toEqual(
    [
      'archive.unusable',
      'certificate.expires',
      'check.failed',
      'circuit.open',
      'definitions.differ',
      'definitions.faults',
      'definitions.lost',
      'definitions.none',
      'definitions.unreadable',
      'denials.unreadable',
      'deployment.conflict',
      'process.unready',
      'redis.lost',
      'scheduler.none',
      'staging.unusable',
      'switch.unreadable',
      'versions.differ',
      'worker.none',
    ].sort(),
  );
  for (const { message, next } of problems) {
    expect(message).toMatch(/^\S.*[^.]\.$/);
    expect(next).not.toBe('');
  }

  // The lines of `docket doctor` have the same problems as the page.
  const lines = await examine(
    { ...deployment, context: {} as never, now: clock.now(), signal: new AbortController().signal } as never,
    PROBES.filter(({ doctor, shared }) => shared !== undefined && doctor === undefined),
  );
  const reported = lines.flatMap(({ problem }) => problem ?? []);
  // `docket doctor` has separate lines about definitions and slots.
  expect(found.filter((code) => !reported.includes(code))).toEqual(['definitions.faults', 'scheduler.none']);

  const metrics = createMetrics([], { version: '0', clock, targetKinds: [] });
  const snapshot = populatedSnapshot();
  const { body } = await metrics.scrape(async () => ({ ...snapshot, problems: found }));
  expect([...body.matchAll(/^docket_problem\{code="([^"]+)"\} 1$/gm)].map(([, code]) => code)).toEqual(found);

  // A closed circuit and a stopped process are no longer problems.
  await circuit.recordSuccess('mail mx.example:25');
  for (const self of ['a', 'b', 'c']) await reports.remove(self);
  expect([...new Set((await findProblems(deployment)).map(({ code }) => code))].sort()).toEqual([
    'definitions.faults',
    'redis.lost',
    'scheduler.none',
    'worker.none',
  ]);
});
