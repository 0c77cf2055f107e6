// Lets the worker threads and forked processes of Docket run from the source, where Node cannot run TypeScript by itself.
// Vitest preloads it in its own workers, too, which transform their modules themselves: only those without Vitest's
// environment need it.
import { isMainThread } from 'node:worker_threads';

if ((!isMainThread || process.send !== undefined) && process.env.VITEST === undefined) {
  const { register } = await import('tsx/esm/api');
  register();
}
