import { fork } from 'node:child_process';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { percentile, rounded } from './report.mjs';

/**
 * Asks at a fixed rate, whether or not what was asked before is answered: as clients do who know nothing of each other. Each
 * answer's time counts from the instant at which its request was due, not from when it left: a server that stalls for a
 * second then shows it in every request of that second, and a client that is late itself does not hide it.
 *
 * @param ask one request; resolves to its status when the whole answer is there
 * @param rate requests a second
 * @returns ms of each answer; how late the client was with each of them, ms, in the same order; how often each status came; by
 *   how much the client itself was late (ms) at the most
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

/** The figures of what `arrivals` found; `other` counts the answers of another status than the one that is wanted. */
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
 * `arrivals` in a process of its own. `ask` resolves to what the requests, one after the other in turn, took without what the
 * client was late itself: what is left is the server's, a stall included, because no client waits for an answer before it asks.
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
