import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type {} from 'vitest';
import type { TestProject } from 'vitest/node';
import { localRedis } from '../../src/demo/local-redis.ts';
import { assertNone, KEEP_EACH_WRITE, leaksIn, leaksInRedis } from './secret-scan.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** URL of a real Redis, shared by all test files: each keeps to a key prefix or database of its own. */
    redisUrl: string;
    /** Where `captureStderr` keeps what processes write. */
    stderrFolder: string;
    /** Share of the cases that `cases()` draws. */
    fuzzShare: number;
  }
}

/**
 * Starts a Redis for all tests of a tier. At the end it fails the run if a secret was ever written to that Redis, or by
 * a process to its stderr.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const writeLine = (line: string) => void process.stderr.write(`${line}\n`);
  const redis = await localRedis(process.env, writeLine, KEEP_EACH_WRITE);
  const folder = await mkdtemp(join(tmpdir(), 'docket-stderr-'));
  project.provide('redisUrl', redis.url);
  project.provide('stderrFolder', folder);
  return async () => {
    // Vitest reports what a teardown throws, but ends with 0 all the same.
    const { exitCode } = process;
    process.exitCode = 1;
    try {
      // A Redis given by REDIS_URL holds data of others, which is not ours to read.
      const written = redis.origin === 'REDIS_URL' ? [] : await leaksInRedis(redis.url);
      assertNone([...written, ...(await leaksIn(folder))]);
      process.exitCode = exitCode;
    } finally {
      await redis.close();
      await rm(folder, { recursive: true, force: true });
    }
  };
}
