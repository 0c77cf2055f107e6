import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { expect, inject, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { readConfig } from '../../../src/base/config/config.ts';
import { composeDocket } from '../../../src/compose/docket.ts';
import { staticDefinitions } from '../../../src/definitions/load/definition-source.ts';
import { localDay } from '../../../src/definitions/schedules/reading-window.ts';
import { readingArchive } from '../../../src/deliver/archive/readings/reading-archive.ts';
import { directoryStorage } from '../../../src/deliver/archive/storage/directory-storage.ts';
import { redisReadingIndex } from '../../../src/queue/schedules/reading-index.ts';
import { startSandbox } from '../../../src/sandbox/sandbox.ts';
import { keyOf } from '../../support/fetch-harness.ts';
import { loadedJobs } from '../../support/loaded-jobs.ts';
import { randomPrefix, recordingLog, reportDefinition } from '../../support/queue-harness.ts';

test('two workers take the readings of the present hour, each question once', async () => {
  const sandbox = await startSandbox({ windowMs: 1 });
  const folder = await mkdtemp(join(tmpdir(), 'docket-readings-'));
  const prefix = randomPrefix();
  const redis = new Redis(inject('redisUrl'));
  // A time zone in which it is about noon, so that the hour of the reading does not cross midnight.
  const hour = new Date().getUTCHours();
  const timezone = hour === 12 ? 'UTC' : hour < 12 ? `Etc/GMT-${12 - hour}` : `Etc/GMT+${hour - 12}`;
  const loaded = loadedJobs(reportDefinition('weekly'));
  const [settings] = loaded.orgs.values();
  if (settings === undefined) throw new Error('no organization');
  const readings = { at: '12:00', metrics: ['alerts.open', 'reviews.overdue'], by: ['alert.type'] };
  // Readings need no mail server: a missing mail secret must not cost a day.
  const smtp = { url: { env: 'NOT_SET' }, from: 'reports@acme.example' };
  const own = { ...settings, smtp, timezone, api_key: { env: 'KEY' }, org: 'current' as const, readings };
  const jobs = staticDefinitions({ ...loaded, orgs: new Map([[settings.id, own]]) });
  const env = { KEY: keyOf(sandbox, 'acme') };
  const config = readConfig({
    ...env,
    REDIS_URL: inject('redisUrl'),
    COMPLIANCE_API_URL: sandbox.url,
    DOCKET_ARCHIVE: `file://${folder}`,
  });
  const logs = [recordingLog(), recordingLog()];
  const running = await Promise.all(
    logs.map((log) =>
      composeDocket({ config, env, clock: systemClock, log }, { jobs, prefix, roles: new Set(['worker']) }),
    ),
  );
  onTestFinished(async () => {
    for (const docket of running) await docket.close();
    const keys = await redis.keys(`${prefix}*`);
    if (keys.length > 0) await redis.del(...keys);
    redis.disconnect();
    await sandbox.close();
    await rm(folder, { recursive: true, force: true });
  });

  const archive = readingArchive(directoryStorage(folder));
  const stored = async () => (await archive.list(settings.id)).filter((state) => state.stored);
  await expect.poll(async () => (await stored()).map(({ question }) => question)).toEqual(['by-alert.type', 'whole']);
  expect((await stored()).map(({ asked }) => asked)).toEqual([1, 1]);
  const day = localDay(Date.now(), timezone);
  const whole = await archive.get({ org: settings.id, day, question: 'whole' });
  expect(whole).toMatchObject({ day, timezone, metrics: readings.metrics, dimension: null });
  expect(whole?.correlation_id).toEqual(expect.any(String));
  const index = redisReadingIndex(redis, { prefix });
  await expect.poll(async () => (await index.list())[0]?.newest ?? 0).toBeGreaterThan(0);
  expect((await index.list())[0]?.missed).toEqual([]);
  const lines = logs.flatMap((log) => log.lines.map(({ message }) => message));
  expect(lines.filter((message) => message === 'Reading stored')).toHaveLength(2);
});
