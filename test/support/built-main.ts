import { inject } from 'vitest';

/** Path of the built `dist/main.js`. The fast tier has none, and fails here. */
export function builtMain(): string {
  const main: string | undefined = inject('main');
  if (main === undefined) throw new Error('A test that starts Docket as a process is named *.integration.test.ts.');
  return main;
}
