import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    globalSetup: ['test/support/setup.ts'],
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
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
