// Lets the worker threads and forked processes of Docket run from the source when Node cannot run TypeScript by itself.
// Vitest preloads this file in its own workers too, which transform their modules themselves, so only threads without
// Vitest's environment need it. Threads started by Vitest's workers are bundled (bundled-threads.ts), because registering
// tsx would take them longer than everything else.
import { getEnvironmentData, isMainThread, setEnvironmentData } from 'node:worker_threads';

const STARTED_BY = 'docket.thread.started-by';
const [, entry = ''] = process.argv;
const ofVitest = getEnvironmentData(STARTED_BY) === 'vitest';
// A Piscina thread learns later what to run. Tests that give it TypeScript register tsx there.
const isBundled =
  !isMainThread && (/[\\/]docket-threads-/.test(entry) || (ofVitest && /[\\/]piscina[\\/]/.test(entry)));

if (process.env.VITEST !== undefined) setEnvironmentData(STARTED_BY, 'vitest');
else if ((!isMainThread || process.send !== undefined) && !isBundled) {
  const { register } = await import('tsx/esm/api');
  register();
}
