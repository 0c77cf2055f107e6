import { parentPort } from 'node:worker_threads';
import type { ThreadMessage } from './task-thread.ts';

/** The thread's side of `taskThread`: answers one task after the other. */
export function serveTasks<Task, Answer>(answer: (task: Task) => Answer): void {
  const port = parentPort;
  if (port === null) throw new Error('This is the module of a thread.');
  const say = (message: ThreadMessage) => port.postMessage(message);
  port.on('message', (task: Task) => {
    try {
      say({ answer: answer(task) });
    } catch (thrown) {
      // A stack or an array that has no room is memory that is used up.
      const exhausted = thrown instanceof RangeError;
      say({ failed: thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown), exhausted });
    }
  });
  say('ready');
}
