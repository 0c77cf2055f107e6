import { execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type {} from 'vitest';
import type { TestProject } from 'vitest/node';
import { localRedis } from '../../src/demo/redis.ts';
import { assertNone, KEEP_EACH_WRITE, leaksIn, leaksInRedis } from './secret-scan.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** URL of a real Redis, shared by all test files: keep to a key prefix or database of your own. */
    redisUrl: string;
    /** Where `keptStderr` keeps what processes say. */
    stderrFolder: string;
  }
}

/**
 * Once for all tests: the code as users run it (`dist/`), and a real Redis. When they are over, the run fails if a secret
 * stands in anything that was written to that Redis, or that a process wrote to its stderr.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  execFileSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json'], {
    stdio: 'inherit',
  });
  execFileSync(process.execPath, ['build-assets.mjs'], { stdio: 'inherit' });
  const say = (line: string) => void process.stderr.write(`${line}\n`);
  const redis = await localRedis(process.env, say, KEEP_EACH_WRITE);
  const folder = await mkdtemp(join(tmpdir(), 'docket-stderr-'));
  project.provide('redisUrl', redis.url);
  project.provide('stderrFolder', folder);
  return async () => {
    // Vitest says what a teardown throws, and ends well all the same. Whatever ends this process amid the search, it failed.
    const { exitCode } = process;
    process.exitCode = 1;
    try {
      // Of a Redis that was given, what others wrote is not ours to read.
      const written = redis.origin === 'REDIS_URL' ? [] : await leaksInRedis(redis.url);
      assertNone([...written, ...(await leaksIn(folder))]);
      process.exitCode = exitCode;
    } finally {
      await redis.close();
      await rm(folder, { recursive: true, force: true });
    }
  };
}
