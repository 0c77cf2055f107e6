import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Redis } from 'ioredis';
import { inject, onTestFinished } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { readConfig } from '../../src/base/config/config.ts';
import { silentLog } from '../../src/base/log.ts';
import { createScope } from '../../src/base/scope.ts';
import { openDeployment } from '../../src/compose/deployment.ts';
import type { Deployment } from '../../src/services/deployment/deployment.ts';
import { folderFor } from './delivery-case.ts';

/** A deployment with a folder and the tests' Redis under a separate prefix. It is removed after the test. */
export async function testDeployment(
  given: Partial<Pick<Deployment, 'clock' | 'log' | 'orgs' | 'prefix'>> & { readonly folder?: string } = {},
): Promise<ReturnType<typeof openDeployment> & { readonly folder: string }> {
  const { clock = systemClock, log = silentLog, orgs, prefix = `{test-${randomUUID()}}` } = given;
  const folder = given.folder ?? (await folderFor(onTestFinished));
  const config = readConfig({ DOCKET_ARCHIVE: pathToFileURL(join(folder, 'archive')).href });
  const redis = new Redis(inject('redisUrl'));
  const scope = createScope();
  onTestFinished(async () => {
    await scope.close();
    const keys = await redis.keys(`${prefix}*`);
    if (keys.length > 0) await redis.unlink(...keys);
    redis.disconnect();
  });
  const deployment = openDeployment({ config, env: {}, clock, log }, { redis, prefix, orgs }, scope);
  return { ...deployment, folder };
}
