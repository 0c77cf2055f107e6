import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { secretSource } from '../../../src/base/secrets/secret.ts';
import { schedulesSchema } from '../../../src/definitions/schedules/schedule.ts';
import type { RunRecord } from '../../../src/run/run-record.ts';
import {
  createForecastRound,
  forecastDeployment,
  toRunId,
} from '../../../src/services/forecast/forecast-deployment.ts';
import { forecastDocument } from '../../../src/services/forecast/forecast-document.ts';
import { computeForecast } from '../../../src/services/forecast/forecast-work.ts';
import { redisForecasts } from '../../../src/services/forecast/stored-forecasts.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { CATALOG, definitionOf, settingsOf } from '../../support/reports.ts';

/** Mondays at 9:00 in Zurich, in winter 8:00 UTC. */
const schedule = schedulesSchema.parse({ cron: '0 9 * * MON' });
const SLOT = Date.parse('2026-11-30T08:00:00Z');
const RUN = toRunId({ org: 'acme', name: 'acme/weekly', slot: SLOT });

let redis: Redis;
beforeAll(() => {
  redis = new Redis(inject('redisUrl'));
});
afterAll(() => redis.quit());

test('a round keeps the forecast made minutes before a slot, and the mean error of thirty days', async () => {
  const clock = manualClock(SLOT - 30 * 60_000);
  const definition = definitionOf([{ id: 'a', metrics: ['profiles.created'] }], { schedule });
  const jobs = { orgs: new Map([['acme', settingsOf()]]), reports: new Map([['acme/weekly', definition]]) };
  const records = new Map<string, RunRecord>();
  const prefix = `{test-${randomUUID()}}`;
  const stored = redisForecasts(redis, { prefix });
  const sources = {
    ...{
      checks: async () => new Map(),
      clock,
      stored,
      jobs: () => jobs,
      compute: computeForecast,
      unknownKey: () => 'no key',
    },
    secrets: secretSource({ ACME_KEY: 'acme.s3cr3t-of-acme' }),
    ...{ cachedCatalog: async () => CATALOG, pauses: { list: async () => [] }, processes: { list: async () => [] } },
    runs: { list: async () => [], get: async (id: string) => records.get(id) },
  };
  const round = createForecastRound({ ...sources, stored: { ...stored, claim: async () => true } });

  await round();
  expect([...(await stored.ofDay(SLOT))]).toEqual([]);
  clock.set(SLOT - 6 * 60_000);
  await round();
  // The catalog, a call, rendering and delivery.
  const at = SLOT + 6_000;
  expect([...(await stored.ofDay(SLOT))]).toEqual([[RUN, { at, isCompared: false }]]);
  expect(await stored.meanErrorMs(clock.now())).toBeNull();

  const record = { id: RUN, slot: new Date(SLOT).toISOString(), state: 'done', reopened: [] };
  records.set(RUN, { ...record, finishedAt: at + 1_500 } as unknown as RunRecord);
  clock.set(SLOT + 60_000);
  await round();
  await round();
  expect(await stored.meanErrorMs(clock.now())).toBe(1_500);
  expect(await stored.meanErrorMs(SLOT + 31 * 86_400_000)).toBeNull();

  const window = { from: SLOT - 3_600_000, to: SLOT + 3_600_000 };
  const { runs } = forecastDocument(await forecastDeployment(window, sources));
  expect(runs.map(({ foreseen, actual }) => [foreseen, actual])).toEqual([
    ['2026-11-30T08:00:06.000Z', '2026-11-30T08:00:07.500Z'],
  ]);
});

test('one process at a time makes the forecasts', async () => {
  const stored = redisForecasts(redis, { prefix: `{test-${randomUUID()}}` });
  expect([await stored.claim(), await stored.claim()]).toEqual([true, false]);
});
