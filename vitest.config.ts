import { defineConfig } from 'vitest/config';

/** The rooms that decide what is asked, sent and remembered. Each has to reach it by itself. */
const COVERED = ['define', 'plan', 'fetch', 'deliver', 'queue'];
const LEAST = { lines: 90, branches: 90 };

export default defineConfig({
  test: {
    globalSetup: ['test/support/setup.ts'],
    // What a test waits for may take another process: Vitest's own second is less than the start of one.
    expect: { poll: { timeout: 60_000 } },
    // Measured by `npm run coverage`; see docs/testing.md for what is not counted.
    coverage: {
      provider: 'v8',
      include: COVERED.map((room) => `src/${room}/**/*.ts`),
      reporter: ['text', 'html', 'json-summary'],
      // A test that failed is told by itself: the figures are wanted all the same.
      reportOnFailure: true,
      thresholds: Object.fromEntries(COVERED.map((room) => [`src/${room}/**`, LEAST])),
    },
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: ['test/e2e/**'],
          // No test measures time: this ends what hangs. Each start of the command takes a second of a free core, many on a busy one.
          testTimeout: 120_000,
          hookTimeout: 120_000,
          // Most tests wait for another process; Vitest would leave one core to itself, which is half of a small machine.
          maxWorkers: '100%',
        },
      },
      {
        extends: true,
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          testTimeout: 300_000,
          hookTimeout: 600_000,
          // Each starts whole programs of its own, and installs them.
          maxWorkers: 1,
          // Two soaks keep two cores busy; more of them do so little that they find nothing.
          maxConcurrency: 2,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
