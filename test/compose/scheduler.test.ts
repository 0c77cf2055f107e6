import { Redis } from 'ioredis';
import { expect, inject, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { readConfig } from '../../src/base/config/config.ts';
import { composeDocket } from '../../src/compose/docket.ts';
import { type DefinitionSource, staticDefinitions } from '../../src/definitions/load/definition-source.ts';
import { redisActiveVersions } from '../../src/queue/definitions/active-versions.ts';
import { loadedJobs } from '../support/loaded-jobs.ts';
import { deferred, randomPrefix, recordingLog, reportDefinition } from '../support/queue-harness.ts';

test('a change of definitions during the start of a scheduler is activated', async () => {
  const prefix = randomPrefix();
  const redis = new Redis(inject('redisUrl'));
  const [before, after] = [loadedJobs(reportDefinition('before')), loadedJobs(reportDefinition('after'))];
  const listeners = new Set<Parameters<DefinitionSource['onChange']>[0]>();
  let read = 0;
  const jobs: DefinitionSource = {
    ...staticDefinitions(before),
    current: () => {
      read += 1;
      if (read > 1) return after;
      // While the first definitions are being written to Redis.
      queueMicrotask(() => {
        for (const listener of listeners) listener(after);
      });
      return before;
    },
    onChange: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  const log = recordingLog();
  const ended = deferred();
  const info: typeof log.info = (message, fields) => {
    log.info(message, fields);
    if (
      message === 'Definitions activated' &&
      fields?.count === 1 &&
      log.lines.filter((line) => line.message === message).length === 2
    )
      ended.tell();
  };
  const running = await composeDocket(
    {
      config: readConfig({ REDIS_URL: inject('redisUrl') }),
      env: {},
      clock: systemClock,
      log: { ...log, info },
    },
    { jobs, prefix, roles: new Set(['scheduler']) },
  );
  onTestFinished(async () => {
    await running.close();
    const keys = await redis.keys(`${prefix}*`);
    if (keys.length > 0) await redis.del(...keys);
    redis.disconnect();
  });
  await ended.promise;
  expect([...(await redisActiveVersions(running.store.redis, { prefix }).read()).keys()]).toEqual(['acme/after']);
});
