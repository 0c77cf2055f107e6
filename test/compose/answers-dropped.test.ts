import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { readConfig } from '../../src/base/config/config.ts';
import { silentLog } from '../../src/base/log.ts';
import { loadDefinitions, requireReport } from '../../src/compose/built-in-kinds.ts';
import { withDecisions } from '../../src/compose/decisions.ts';
import { composeDocket, type RunningDocket } from '../../src/compose/docket.ts';
import { staticDefinitions } from '../../src/definitions/load/definition-source.ts';
import { type LocalRedis, localRedis } from '../../src/demo/local-redis.ts';
import { redisResponseStore } from '../../src/fetch/cache/redis-response-store.ts';
import { cancelRun } from '../../src/queue/runs/cancel-run.ts';
import { DEFAULT_KEY_PREFIX, redisKeys } from '../../src/redis/keys.ts';
import type { RunOrder } from '../../src/run/run-record.ts';
import { folderFor } from '../support/delivery-case.ts';
import { jobsFolder, ORG } from '../support/jobs-folder.ts';
import { deferred, onDemand } from '../support/queue-harness.ts';

const REPORT = `version: 1
title: Daily
owner: owner@acme.example
period: previous_week
sections: [{ id: open, metrics: [alerts.open] }]
outputs: [{ format: csv }]
`;

let server: LocalRedis;
let redis: Redis;
beforeAll(async () => {
  const { REDIS_URL: _, ...env } = process.env;
  server = await localRedis(env);
  redis = new Redis(server.url);
});
beforeEach(() => redis.flushall());
afterAll(async () => {
  redis.disconnect();
  await server.close();
});

const keysOfAnswers = () => redis.keys(`${DEFAULT_KEY_PREFIX}:answers*`);

/**
 * A queued run with stored responses, as after a snooze, and processes that share its Redis.
 *
 * @param given folder of the archive that already belongs to this Redis
 */
async function aRunWithAnswers(given?: string) {
  const root = given ?? (await folderFor(onTestFinished));
  const jobs = await loadDefinitions(await jobsFolder({ 'acme/org.yaml': ORG, 'acme/daily.yaml': REPORT }));
  const config = readConfig({
    COMPLIANCE_API_URL: 'http://127.0.0.1:1',
    REDIS_URL: server.url,
    DOCKET_ARCHIVE: pathToFileURL(join(root, 'archive')).href,
  });
  const around = { config, env: { ACME_KEY: 'k' }, clock: systemClock, log: silentLog, workingDirectory: root };
  const finished = deferred<string>();
  const open = async (role: 'admin' | 'worker'): Promise<RunningDocket> => {
    const docket = await composeDocket(around, {
      jobs: staticDefinitions(jobs),
      roles: new Set([role]),
      observe: (_: RunOrder, event) => {
        if (event.type === 'finished') finished.tell(event.state);
      },
    });
    onTestFinished(() => docket.close());
    return docket;
  };
  const { store } = await open('admin');
  const { record } = await store.trigger(onDemand(requireReport(jobs, 'acme/daily')));
  const answers = redisResponseStore(redis, { prefix: `${DEFAULT_KEY_PREFIX}:`, org: 'acme' });
  await answers.put(record.id, 'c1', { body: {}, correlationId: null, at: 1 });
  expect((await keysOfAnswers()).length).toBeGreaterThan(0);
  return { root, around, open, store, record, finished };
}

const WHO = { by: 'ann', reason: 'no longer wanted' };

test('a run that fails permanently leaves no responses in Redis', async () => {
  const { open, record, finished } = await aRunWithAnswers();
  await redis.del(redisKeys(DEFAULT_KEY_PREFIX).definition(record.digest));
  await open('worker');
  expect(await finished.promise).toBe('failed');
  expect(await keysOfAnswers()).toEqual([]);
});

test('a run that is cancelled while it waits leaves no responses, over the admin route and the command line', async () => {
  const one = await aRunWithAnswers();
  await cancelRun(one.record.id, WHO, { ...one.store, clock: systemClock, log: silentLog });
  expect(await keysOfAnswers()).toEqual([]);
  const two = await aRunWithAnswers(one.root);
  await withDecisions(two.around, ({ decisions }) => decisions.cancel(two.record.id, WHO));
  expect(await keysOfAnswers()).toEqual([]);
});

test('a waiting run keeps its responses, and a failed run is recorded even if they cannot be deleted', async () => {
  const { store, record } = await aRunWithAnswers();
  await store.runs.update(record.id, { state: 'waiting', until: Date.now() });
  expect((await keysOfAnswers()).length).toBeGreaterThan(0);
  await redis.del(`${DEFAULT_KEY_PREFIX}:answers-account`);
  await redis.set(`${DEFAULT_KEY_PREFIX}:answers-account`, 'somebody else');
  await store.runs.update(record.id, { state: 'failed' });
  expect(await store.runs.get(record.id)).toMatchObject({ state: 'failed' });
});
