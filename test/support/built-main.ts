import { inject } from 'vitest';

/** The path of the built `dist/main.js`. Fails in the fast tier, which has no build. */
export function builtMain(): string {
  const main: string | undefined = inject('main');
  if (main === undefined) throw new Error('A test that starts Docket as a process is named *.integration.test.ts.');
  return main;
}
