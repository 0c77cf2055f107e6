import { execFileSync } from 'node:child_process';
import type {} from 'vitest';
import type { TestProject } from 'vitest/node';
import { localRedis } from '../../src/demo/redis.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** URL of a real Redis, shared by all test files: keep to a key prefix or database of your own. */
    redisUrl: string;
  }
}

/** Once for all tests: the code as users run it (`dist/`), and a real Redis. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  execFileSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json'], {
    stdio: 'inherit',
  });
  execFileSync(process.execPath, ['build-assets.mjs'], { stdio: 'inherit' });
  const redis = await localRedis(process.env, (line) => process.stderr.write(`${line}\n`));
  project.provide('redisUrl', redis.url);
  return () => redis.close();
}
