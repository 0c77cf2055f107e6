import { relative } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const TESTS = (process.env.MUTATION_TESTS ?? '').split(' ');

/** As `run.mjs` names them: most mutants are found by the first files, in a hundredth of the time of the last. */
class AsNamed extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification) => TESTS.indexOf(relative(this.ctx.config.root, moduleId));
    return [...files].sort((one, other) => place(one) - place(other));
  }
}

/** The tests that hold the mutated files to their words, without a build; see `run.mjs`. */
export default defineConfig({
  test: {
    // What the tests of a part do not need would be loaded again for each mutant.
    ...(process.env.MUTATION_REDIS && {
      globalSetup: ['test/mutation/setup.ts'],
      setupFiles: ['test/mutation/each-file.ts'],
    }),
    include: TESTS,
    sequence: { sequencer: AsNamed },
    // One worker for all files of one mutant, and a new one for the next: half the time.
    isolate: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
