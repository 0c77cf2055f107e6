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

/** Runs the tests of the mutated files without a build; see `run.mjs`. */
export default defineConfig({
  test: {
    // Set only if the mutated part needs Redis: each mutant loads these files again.
    ...(process.env.MUTATION_REDIS && {
      globalSetup: ['test/mutation/setup.ts'],
      setupFiles: ['test/mutation/each-file.ts'],
    }),
    include: TESTS,
    sequence: { sequencer: AsNamed },
    // Runs all files of a mutant in one worker, and the next mutant in a new one, which takes half the time.
    isolate: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
