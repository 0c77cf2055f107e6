import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type {} from 'vitest';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** The path of the built `dist/main.js`. The fast tier runs from the source and has none. */
    main: string;
  }
}

const run = (...args: string[]) => execFileSync(process.execPath, args, { stdio: 'inherit' });

/**
 * Builds `dist/` once for tests that start processes, and `dist-modules/` for tests that start parts of the program.
 * `DOCKET_TEST_BUILD=0` uses the existing build.
 */
export default function setup(project: TestProject): void {
  if (process.env.DOCKET_TEST_BUILD !== '0') {
    run('build/bundle.mjs');
    run('build/modules.mjs');
  }
  project.provide('main', fileURLToPath(new URL('../../dist/main.js', import.meta.url)));
}
