import { readFile } from 'node:fs/promises';
import { availableParallelism, cpus, loadavg, release } from 'node:os';
import { rounded } from './report.mjs';

/**
 * Begins to watch what a bench runs on; the answer ends it. `others_cores` is how many cores' time went to whatever is
 * neither this process nor a child of its that has ended: what the load average says only with minutes of delay and the
 * bench's own load in it. Linux alone tells.
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

/** Processor time of this process and of its children that have ended, and theirs, ms. */
async function treeMs() {
  const stat = await readFile('/proc/self/stat', 'utf8').catch(() => undefined);
  // utime, stime, cutime, cstime, in ticks of 10 ms.
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields?.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) * 10, 0);
}
