import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type {} from 'vitest';
import type { TestProject } from 'vitest/node';
import { localRedis } from '../../src/demo/local-redis.ts';
import { assertNone, KEEP_EACH_WRITE, leaksIn, leaksInRedis } from './secret-scan.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The URL of a real Redis that all test files share. Each uses its own key prefix or database. */
    redisUrl: string;
    /** The folder where `captureStderr` stores what processes write. */
    stderrFolder: string;
    /** The share of cases that `cases()` draws. */
    fuzzShare: number;
  }
}

/**
 * Starts a Redis for all tests of a tier. At the end, fails the run if a secret was ever written to that Redis, or by a
 * process to stderr.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const writeLine = (line: string) => void process.stderr.write(`${line}\n`);
  const redis = await localRedis(process.env, writeLine, KEEP_EACH_WRITE);
  const folder = await mkdtemp(join(tmpdir(), 'docket-stderr-'));
  project.provide('redisUrl', redis.url);
  project.provide('stderrFolder', folder);
  return async () => {
    // Vitest reports what a teardown throws, but still ends with 0.
    const { exitCode } = process;
    process.exitCode = 1;
    try {
      // A Redis from REDIS_URL has data of others, which we must not read.
      const written = redis.origin === 'REDIS_URL' ? [] : await leaksInRedis(redis.url);
      assertNone([...written, ...(await leaksIn(folder))]);
      process.exitCode = exitCode;
    } finally {
      await redis.close();
      await rm(folder, { recursive: true, force: true });
    }
  };
}
