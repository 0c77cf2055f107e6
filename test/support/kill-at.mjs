/**
 * Ends this process by SIGKILL at its n-th step after the first request to the Compliance Service. `KILL_AT` is `<n>`
 * (before the step) or `<n>+` (right after it). A step is a write to a socket (Redis, HTTP, SMTP) or a change of a file.
 * `KILL_STEPS` names a file that gets the number of steps when the process ends by itself. A child process preloads this
 * file (`node --import <this file>`).
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import net from 'node:net';
import { isMainThread } from 'node:worker_threads';

const { KILL_AT, KILL_STEPS } = process.env;
const { writeFileSync } = fs;
const [, at, after] = /^(\d+)(\+?)$/.exec(KILL_AT ?? '') ?? [];
let steps = -1;

const step = (act, text) => {
  if (steps < 0 && !text?.includes('/analytics/')) return act();
  steps += 1;
  const isLast = steps === Number(at);
  if (isLast && after === '') process.kill(process.pid, 'SIGKILL');
  const result = act();
  if (isLast) process.kill(process.pid, 'SIGKILL');
  return result;
};

if (isMainThread) {
  const { write } = net.Socket.prototype;
  net.Socket.prototype.write = function (...args) {
    const [data] = args;
    const text = typeof data === 'string' ? data : Buffer.isBuffer(data) ? data.toString('latin1') : '';
    return step(() => write.apply(this, args), text);
  };
  for (const name of ['open', 'mkdir', 'rename', 'link', 'symlink', 'rm', 'writeFile']) {
    const real = fs.promises[name];
    fs.promises[name] = (...args) => step(() => real(...args));
  }
  syncBuiltinESMExports();
  if (KILL_STEPS !== undefined) process.once('exit', () => writeFileSync(KILL_STEPS, String(steps)));
}
