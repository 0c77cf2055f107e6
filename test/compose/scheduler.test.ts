import { Redis } from 'ioredis';
import { expect, inject, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { readConfig } from '../../src/base/config.ts';
import { composeDocket } from '../../src/compose/docket.ts';
import { fixedJobs, type JobsInForce } from '../../src/define/in-force.ts';
import { redisVersions } from '../../src/queue/versions.ts';
import { jobsOf } from '../support/jobs-of.ts';
import { aPrefix, aReport, linesLog, signalled } from '../support/queue-bench.ts';

test('a change of the files that is seen while a scheduler starts is put in force', async () => {
  const prefix = aPrefix();
  const redis = new Redis(inject('redisUrl'));
  const [before, after] = [jobsOf(aReport('before')), jobsOf(aReport('after'))];
  const listeners = new Set<Parameters<JobsInForce['changed']>[0]>();
  let read = 0;
  const jobs: JobsInForce = {
    ...fixedJobs(before),
    now: () => {
      read += 1;
      if (read > 1) return after;
      // While what was read is on its way to Redis.
      queueMicrotask(() => {
        for (const listener of listeners) listener(after);
      });
      return before;
    },
    changed: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  const log = linesLog();
  const ended = signalled();
  const info: typeof log.info = (message, fields) => {
    log.info(message, fields);
    if (
      message === 'Definitions were put in force' &&
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
  expect([...(await redisVersions(running.store.redis, { prefix }).read()).keys()]).toEqual(['acme/after']);
});
