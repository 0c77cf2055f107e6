// Lets the worker threads and forked processes of Docket run from the source, where Node cannot run TypeScript by itself.
// Vitest preloads it in its own workers, too, which transform their modules themselves: only those without Vitest's
// environment need it. The threads that Vitest's workers start are bundled (bundled-threads.ts): to register tsx would
// take them longer than all else.
import { getEnvironmentData, isMainThread, setEnvironmentData } from 'node:worker_threads';

const STARTED_BY = 'docket.thread.started-by';
const [, entry = ''] = process.argv;
const ofVitest = getEnvironmentData(STARTED_BY) === 'vitest';
// A thread of Piscina is told later what it runs. Tests that give it TypeScript register tsx there.
const isBundled =
  !isMainThread && (/[\\/]docket-threads-/.test(entry) || (ofVitest && /[\\/]piscina[\\/]/.test(entry)));

if (process.env.VITEST !== undefined) setEnvironmentData(STARTED_BY, 'vitest');
else if ((!isMainThread || process.send !== undefined) && !isBundled) {
  const { register } = await import('tsx/esm/api');
  register();
}
