import { fork } from 'node:child_process';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { percentile, rounded } from './report.mjs';

/**
 * Sends requests at a fixed rate, whether or not earlier ones were answered, like independent clients. Each response
 * time counts from when its request was due, not from when it was sent: a server that stalls for a second then shows it
 * in every request of that second, and a late client does not hide it.
 *
 * @param ask one request; resolves to its status when the response is complete
 * @param rate requests per second
 * @returns ms of each response; how late the client was for each of them, ms, in the same order; the number of each
 * status; the largest delay of the client itself, ms
 */
export async function arrivals(ask, { rate, seconds }) {
  const times = [];
  const late = [];
  const statuses = new Map();
  let lateMs = 0;
  const open = [];
  const start = performance.now();
  for (let index = 0; index < rate * seconds; index++) {
    const due = start + (index * 1_000) / rate;
    const wait = due - performance.now();
    if (wait > 0) await sleep(wait);
    const lateBy = performance.now() - due;
    lateMs = Math.max(lateMs, lateBy);
    open.push(
      ask(index).then((status) => {
        times.push(performance.now() - due);
        late.push(lateBy);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }),
    );
  }
  await Promise.all(open);
  return { times, late, statuses, lateMs };
}

/** The figures for a result of `arrivals`. `other` counts responses with another status than the wanted one. */
export const figuresOf = ({ times, statuses, lateMs }, wanted) => ({
  p99_ms: rounded(percentile(times, 0.99), 1),
  p50_ms: rounded(percentile(times, 0.5), 1),
  most_ms: rounded(Math.max(...times), 1),
  other: times.length - (statuses.get(wanted) ?? 0),
  requests: times.length,
  client_late_ms: rounded(lateMs, 1),
});

/** @typedef {{ times: number[], late: number[], lateMs: number, statuses: [number, number][] }} Answered as http-client.mjs sends it */

/**
 * `arrivals` in its own process. `ask` sends the given requests in turn, and resolves to their times minus the delay of
 * the client. The rest is the server's time, including stalls, because no client waits for a response before its next
 * request.
 */
export function httpClient({ url, headers }) {
  const child = fork(fileURLToPath(new URL('./http-client.mjs', import.meta.url)));
  return {
    /** @param {{ requests: { method: string, path: string, body?: string }[], rate: number, seconds: number }} order */
    ask: (order) =>
      new Promise((resolve, reject) => {
        const ended = (code) => reject(new Error(`the client ended with ${code}`));
        child.once('exit', ended);
        child.once('message', (/** @type {Answered} */ { times, late, lateMs, statuses }) => {
          child.off('exit', ended);
          resolve({ times: times.map((ms, index) => ms - late[index]), lateMs, statuses: new Map(statuses) });
        });
        child.send({ url, headers, ...order });
      }),
    close: () => child.disconnect(),
  };
}
