import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type {} from 'vitest';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** Path of the built `dist/main.js`. The fast tier has none: it runs from the source. */
    main: string;
  }
}

const run = (...args: string[]) => execFileSync(process.execPath, args, { stdio: 'inherit' });

/**
 * Builds `dist/` once for the tests that start processes, and `dist-modules/` for those that start a part of the program.
 * `DOCKET_TEST_BUILD=0` takes what is there.
 */
export default function setup(project: TestProject): void {
  if (process.env.DOCKET_TEST_BUILD !== '0') {
    run('build/bundle.mjs');
    run('build/modules.mjs');
  }
  project.provide('main', fileURLToPath(new URL('../../dist/main.js', import.meta.url)));
}
