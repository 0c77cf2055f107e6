import { readFile } from 'node:fs/promises';
import { availableParallelism, cpus, loadavg, release } from 'node:os';
import { rounded } from './report.mjs';

/**
 * Starts to observe the machine during a benchmark; the returned function ends it. `others_cores` is the number of
 * cores used by anything except this process and its ended children. The load average shows this only after minutes,
 * and includes the benchmark. Linux only.
 */
export async function watchMachine() {
  const [began, load, busy, own] = [Date.now(), loadavg()[0], busyMs(), await treeMs()];
  return async () => {
    const ms = Date.now() - began;
    const others = own === undefined ? undefined : busyMs() - busy - ((await treeMs()) - own);
    return {
      began: new Date(began).toISOString(),
      seconds: rounded(ms / 1000, 1),
      others_cores: others === undefined ? undefined : Math.max(0, rounded(others / ms, 1)),
      load_before: rounded(load, 1),
      load_after: rounded(loadavg()[0], 1),
      cores: availableParallelism(),
      cpu: cpus()[0]?.model,
      node: process.version,
      kernel: release(),
    };
  };
}

const busyMs = () => cpus().reduce((sum, { times: { user, nice, sys, irq } }) => sum + user + nice + sys + irq, 0);

/** Processor time in ms of this process and of its children that have ended. */
async function treeMs() {
  const stat = await readFile('/proc/self/stat', 'utf8').catch(() => undefined);
  // utime, stime, cutime, cstime, in ticks of 10 ms.
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields?.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) * 10, 0);
}
