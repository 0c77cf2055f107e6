import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const WORKER = fileURLToPath(new URL('./worker.mjs', import.meta.url));

/**
 * Starts a process for each order; none begins before all are ready. A killed process (SIGKILL) is restarted with the
 * same order. `over` resolves when all are done, or to false after `giveUpMs`.
 */
export function employ(orders, { giveUpMs }) {
  const alive = new Set();
  let givenUp = false;
  const barrier = gate(orders.length);
  const runOne = (order) =>
    new Promise((resolve, reject) => {
      const start = () => {
        const child = fork(WORKER);
        alive.add(child);
        let done = false;
        child.on('message', async (message) => {
          if (message === 'done') done = true;
          else if (await barrier(order)) child.connected && child.send(order);
        });
        child.once('exit', (code, signal) => {
          alive.delete(child);
          if (done || givenUp) resolve(undefined);
          else if (signal === 'SIGKILL') start();
          else reject(new Error(`a worker ended with ${code ?? signal}`));
        });
      };
      start();
    });
  const timer = setTimeout(() => {
    givenUp = true;
    for (const child of alive) child.kill('SIGKILL');
  }, giveUpMs);
  const over = Promise.all(orders.map(runOne)).then(() => {
    clearTimeout(timer);
    return !givenUp;
  });
  return {
    over,
    /** Kills a random process without warning. Returns false if none is left. */
    killOne: () => {
      const [victim] = [...alive].sort(() => Math.random() - 0.5);
      return victim?.kill('SIGKILL') === true;
    },
  };
}

/** Returns a function that waits until this many different processes have called it. */
function gate(count) {
  const came = new Set();
  let open;
  const opened = new Promise((resolve) => {
    open = () => resolve(true);
  });
  return (who) => {
    came.add(who);
    if (came.size === count) open();
    return opened;
  };
}
