/** @type {import('@stryker-mutator/api/core').PartialStrykerOptions} */
export default {
  plugins: ['@stryker-mutator/vitest-runner'],
  testRunner: 'vitest',
  // The files are named by `run.mjs`: to find them by their imports would cost each mutant a second.
  vitest: { configFile: 'test/mutation/vitest.config.ts', related: false },
  ignorePatterns: ['/.ci', '/bench', '/dist', '/dist-modules', '/docs', '/out', '/test/e2e'],
  // Stryker would rewrite it with TypeScript's old API, which version 7 has no more; Vitest needs nothing of it.
  tsconfigFile: '',
  coverageAnalysis: 'perTest',
  concurrency: 2,
  // A busy machine must not count as a kill; endless loops are found by their count of steps.
  timeoutMS: 60_000,
  reporters: ['clear-text', 'json', 'progress-append-only'],
  clearTextReporter: { allowColor: false, logTests: false, reportTests: false },
  jsonReporter: { fileName: process.env.MUTATION_REPORT },
  tempDirName: 'out/stryker',
  allowConsoleColors: false,
};
