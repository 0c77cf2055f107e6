import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { bundledThreads } from './test/support/bundled-threads.ts';
import { LongestFirst } from './test/support/longest-first.ts';

/** Each of these folders has to reach the thresholds by itself. */
const COVERED = ['definitions', 'plan', 'fetch', 'deliver', 'queue'];
const THRESHOLDS = { lines: 90, branches: 90 };

const INTEGRATION = 'test/**/*.integration.test.ts';
const E2E = 'test/e2e/**';
/** Property and fuzz tests run in two tiers, with a different number of cases; see `cases()` in test/support/fuzz.ts. */
const PROPERTY = readdirSync('test', { recursive: true, encoding: 'utf8' })
  .filter(
    (path) =>
      /(?<!\.integration)\.test\.ts$/.test(path) &&
      !path.startsWith('e2e') &&
      /\bcases\(|\/api-fuzz\.ts/.test(readFileSync(`test/${path}`, 'utf8')),
  )
  .map((path) => `test/${path}`);
const SOAK = 'test/e2e/soak.test.ts';

/** Test files at once, more than cores: tests wait for Redis and for processes, those of whole programs half of the time. */
const [FILES, E2E_FILES] = [Math.ceil(availableParallelism() * 1.5), availableParallelism() * 2];

/** Lets Docket's worker threads and forked processes run from the source. */
const THREADS = ['--import', new URL('./test/support/typescript-threads.mjs', import.meta.url).href];

/** No test measures time: these limits end what hangs, also on a machine that is busy and slow. In milliseconds. */
const LIMITS = { testTimeout: 300_000, hookTimeout: 300_000 };
const E2E_LIMITS = { testTimeout: 900_000, hookTimeout: 900_000 };

/** In threads that load each module once. */
const IN_PROCESS = {
  globalSetup: ['test/support/setup-redis.ts'],
  pool: 'threads' as const,
  isolate: false,
  execArgv: THREADS,
  ...LIMITS,
  maxWorkers: FILES,
};

// What goes where: docs/internals/testing.md.
export default defineConfig({
  plugins: [bundledThreads()],
  test: {
    // A lost worker is noticed after a minute, at the second of BullMQ's checks. Vitest's default is one second.
    expect: { poll: { timeout: 180_000 } },
    // Measured as docs/internals/testing.md says.
    coverage: {
      provider: 'v8',
      include: COVERED.map((folder) => `src/${folder}/**/*.ts`),
      reporter: ['text', 'html', 'json-summary'],
      reportOnFailure: true,
      thresholds: Object.fromEntries(COVERED.map((folder) => [`src/${folder}/**`, THRESHOLDS])),
    },
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true,
        test: {
          name: 'fast',
          include: ['test/**/*.test.ts'],
          exclude: [INTEGRATION, E2E],
          provide: { fuzzShare: 0.1 },
          ...IN_PROCESS,
        },
      },
      {
        extends: true,
        test: {
          name: 'integration',
          include: [INTEGRATION],
          execArgv: THREADS,
          globalSetup: ['test/support/setup-build.ts', 'test/support/setup-children.ts', 'test/support/setup-redis.ts'],
          ...LIMITS,
          maxWorkers: FILES,
          sequence: { groupOrder: 1 },
        },
      },
      { extends: true, test: { name: 'property', include: PROPERTY, ...IN_PROCESS, sequence: { groupOrder: 1 } } },
      {
        extends: true,
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          exclude: [SOAK],
          execArgv: THREADS,
          globalSetup: ['test/support/setup-build.ts', 'test/support/setup-children.ts', 'test/support/setup-redis.ts'],
          ...E2E_LIMITS,
          maxWorkers: E2E_FILES,
          maxConcurrency: 6,
          sequence: { groupOrder: 2 },
        },
      },
      {
        extends: true,
        test: {
          name: 'e2e-soak',
          include: [SOAK],
          globalSetup: ['test/support/setup-build.ts', 'test/support/setup-redis.ts'],
          maxWorkers: 1,
          // Two soaks leave a third of two cores idle. With many at once each does so little that it finds nothing.
          maxConcurrency: 3,
          sequence: { groupOrder: 3 },
        },
      },
    ],
  },
});
