import { mkdir, readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Redis } from 'ioredis';
import { expect, inject, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { readConfig } from '../../../src/base/config/config.ts';
import { loadDefinitions, requireReport } from '../../../src/compose/built-in-kinds.ts';
import { composeDocket, type DocketSettings, type RunningDocket } from '../../../src/compose/docket.ts';
import { type DefinitionSource, staticDefinitions } from '../../../src/definitions/load/definition-source.ts';
import type { Definitions } from '../../../src/definitions/load/load-definitions.ts';
import { redisActiveVersions } from '../../../src/queue/definitions/active-versions.ts';
import { redisProcessRegistry } from '../../../src/queue/process-registry.ts';
import { redisSchedulerHeartbeats } from '../../../src/queue/schedules/scheduler-heartbeat.ts';
import { readIdentity } from '../../../src/redis/identity.ts';
import { startSandbox } from '../../../src/sandbox/sandbox.ts';
import { folderFor } from '../../support/delivery-case.ts';
import { hourlyFarFromNow } from '../../support/hourly-schedule.ts';
import { jobsFolder } from '../../support/jobs-folder.ts';
import { loadedJobs } from '../../support/loaded-jobs.ts';
import { deferred, randomPrefix, recordingLog, reportDefinition } from '../../support/queue-harness.ts';

const { cron } = hourlyFarFromNow();
const reports = (...names: string[]): Definitions =>
  loadedJobs(...names.map((name) => reportDefinition(name, { cron })));

/** Processes over one Redis, each with its own archive and definitions. */
async function oneRedis() {
  const prefix = randomPrefix();
  const redis = new Redis(inject('redisUrl'));
  const root = await folderFor(onTestFinished);
  const open: RunningDocket[] = [];
  onTestFinished(async () => {
    for (const each of open) await each.close();
    const keys = await redis.keys(`${prefix}*`);
    if (keys.length > 0) await redis.del(...keys);
    redis.disconnect();
  });
  return {
    prefix,
    redis,
    root,
    inForce: async () => [...(await redisActiveVersions(redis, { prefix }).read()).keys()].sort(),
    start: async (
      archive: string,
      jobs: Definitions | DefinitionSource,
      settings: Partial<DocketSettings> = {},
      env: Readonly<Record<string, string>> = {},
      log = recordingLog(),
    ): Promise<RunningDocket> => {
      const config = readConfig({
        COMPLIANCE_API_URL: 'http://127.0.0.1:9',
        REDIS_URL: inject('redisUrl'),
        DOCKET_ARCHIVE: pathToFileURL(join(root, archive)).href,
        ...env,
      });
      const running = await composeDocket(
        { config, env, clock: systemClock, log, workingDirectory: root },
        { prefix, jobs: 'current' in jobs ? jobs : staticDefinitions(jobs), ...settings },
      );
      open.push(running);
      return running;
    },
  };
}

const SCHEDULER = { roles: new Set(['scheduler'] as const) };
const FIVE = ['one', 'two', 'three', 'four', 'five'];

test('a deployment that uses the Redis of another one is refused, and changes nothing there', async () => {
  const { start, inForce, redis, prefix, root } = await oneRedis();
  await start('production', reports('one', 'two'));
  const identity = await readIdentity(redis, prefix);
  await expect(start('staging', reports('three'))).rejects.toMatchObject({
    code: 'deployment.conflict',
    expected: expect.stringContaining(identity?.id ?? 'none'),
    where: expect.stringContaining(join(root, 'staging')),
  });
  expect(await inForce()).toEqual(['acme/one', 'acme/two']);
  expect(await readdir(root)).toEqual(['production']);
  expect(await readIdentity(redis, prefix)).toEqual(identity);
});

test('adopting moves a deployment to another archive, and the old process stops writing', async () => {
  const { start, redis, prefix } = await oneRedis();
  const before = await start('production', reports('one'));
  await before.identity.id();
  // The archive of another deployment, which has its own Redis.
  const elsewhere = await oneRedis();
  await elsewhere.start('production', reports('one'));
  const moved = await start(
    join('..', elsewhere.root.slice(elsewhere.root.lastIndexOf('/') + 1), 'production'),
    reports('one'),
    {
      adopt: { who: 'alice' },
    },
  );
  expect((await readIdentity(redis, prefix))?.id).toBe(await moved.identity.id());
  expect(await moved.identity.id()).toBe((await readIdentity(elsewhere.redis, elsewhere.prefix))?.id);
  await before.identity.confirm();
  await expect(before.identity.id()).rejects.toMatchObject({ code: 'deployment.conflict' });
  expect((await before.health()).filter(({ ok }) => !ok).map(({ name }) => name)).toEqual(['identity']);
  expect((await moved.health()).filter(({ ok }) => !ok).map(({ name }) => name)).not.toContain('identity');
  const entries = await redis.xrange(`${prefix}:audit`, '-', '+');
  expect(entries.map(([, [, text]]) => JSON.parse(text ?? ''))).toEqual([
    expect.objectContaining({ event: 'deployment.adopted', who: 'alice' }),
  ]);
});

test('a start that would remove most scheduled reports is refused while others run, unless adopted', async () => {
  const { start, inForce, redis, prefix } = await oneRedis();
  await start('archive', reports(...FIVE), SCHEDULER);
  await redisProcessRegistry(redis, { prefix, self: 'other' }).heartbeat(['worker']);
  const foreign = reports('five', 'six');
  await expect(start('archive', foreign, SCHEDULER)).rejects.toMatchObject({
    code: 'deployment.mass_removal',
    exitCode: 2,
    message: expect.stringMatching(/\b4 of 5\b/),
    where: expect.stringContaining(foreign.folder),
    got: expect.stringContaining(`:${process.pid}`),
    next: expect.stringContaining('--adopt'),
  });
  expect(await inForce()).toEqual(FIVE.map((name) => `acme/${name}`).sort());
  await start('archive', foreign, { ...SCHEDULER, adopt: { who: 'alice' } });
  expect(await inForce()).toEqual(['acme/five', 'acme/six']);
});

test.each([
  [
    'half of them',
    ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight'],
    ['one', 'two', 'three', 'four'],
    0,
    true,
  ],
  ['three of four', ['one', 'two', 'three', 'four'], ['one'], 0, true],
  ['most, minutes after the last process', FIVE, ['one'], 10 * 60_000, false],
  ['most, long after the last process', FIVE, ['one'], 2 * 3_600_000, true],
] as const)('a start that removes %s', async (_what, before, after, sinceMs, starts) => {
  const { start, inForce, redis, prefix } = await oneRedis();
  const first = await start('archive', reports(...before), SCHEDULER);
  await first.close();
  await redisSchedulerHeartbeats(redis, { prefix }).record({ at: Date.now() - sinceMs, stuck: null });
  const second = start('archive', reports(...after), SCHEDULER);
  if (starts) await second;
  else await expect(second).rejects.toMatchObject({ code: 'deployment.mass_removal' });
  expect((await inForce()).length).toBe(starts ? after.length : before.length);
});

test('reports without a schedule do not count as removed', async () => {
  const { start, inForce } = await oneRedis();
  await start('archive', loadedJobs(...FIVE.map((name) => reportDefinition(name))), SCHEDULER);
  await start('archive', reports('six'), SCHEDULER);
  expect(await inForce()).toEqual(['acme/six']);
});

test('removing most files while a deployment runs takes effect', async () => {
  const { start, inForce } = await oneRedis();
  const listeners = new Set<Parameters<DefinitionSource['onChange']>[0]>();
  let now = reports(...FIVE);
  const jobs: DefinitionSource = {
    ...staticDefinitions(now),
    current: () => now,
    onChange: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  const log = recordingLog();
  const adopted = deferred();
  const info: typeof log.info = (message, fields) => {
    log.info(message, fields);
    if (message === 'Definitions activated' && fields?.why === '5 removed') adopted.tell();
  };
  await start('archive', jobs, SCHEDULER, {}, { ...log, info });
  now = reports('six');
  for (const listener of listeners) listener(now);
  await adopted.promise;
  expect(await inForce()).toEqual(['acme/six']);
});

const FILES = {
  'acme/org.yaml': 'org: current\napi_key: { env: ACME_KEY }\ntimezone: UTC\nrecipients: { domains: [acme.example] }\n',
  'acme/daily.yaml':
    'version: 1\ntitle: Daily\nowner: owner@acme.example\nperiod: previous_week\nsections: [{ id: open, metrics: [alerts.open] }]\noutputs: [{ format: csv }]\n',
};

test('an archive that is unmounted is not written to, and its runs wait until it is back', async () => {
  const { start, root } = await oneRedis();
  const sandbox = await startSandbox();
  onTestFinished(() => sandbox.close());
  const jobs = await loadDefinitions(await jobsFolder(FILES));
  const ended = deferred();
  const failed = deferred();
  const log = recordingLog();
  const running = await start(
    'archive',
    jobs,
    {
      roles: new Set(['worker']),
      observe: (_order, event) => {
        if (event.type === 'finished') ended.tell();
      },
    },
    { COMPLIANCE_API_URL: sandbox.url, ACME_KEY: sandbox.keys.find(({ label }) => label === 'acme')?.key ?? '' },
    {
      ...log,
      warn: (message, fields) => {
        log.warn(message, fields);
        if (fields?.error?.code === 'archive.marker_missing') failed.tell();
      },
    },
  );
  const archive = join(root, 'archive');
  await rename(archive, join(root, 'unmounted'));
  await mkdir(archive);
  const { record } = await running.store.trigger({
    ...requireReport(jobs, 'acme/daily'),
    slot: { trigger: 'unmounted' },
    trigger: 'on_demand',
    priority: 'on_demand',
    deliver: true,
  });
  await failed.promise;
  expect(await readdir(archive)).toEqual([]);
  expect((await running.store.runs.get(record.id))?.finishedAt ?? null).toBeNull();
  await rename(archive, join(root, 'bare'));
  await rename(join(root, 'unmounted'), archive);
  await ended.promise;
  expect(await running.store.runs.get(record.id)).toMatchObject({ state: 'done' });
  expect(await readdir(join(archive, 'acme', 'daily'))).toEqual([record.id]);
  expect(await readdir(join(root, 'bare'))).toEqual([]);
});
