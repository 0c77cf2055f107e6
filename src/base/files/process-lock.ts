import { execFile } from 'node:child_process';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { SteadyClock } from '../clock.ts';
import { createFile } from './durable-file.ts';

const POLL_INTERVAL_MS = 20;
/** Longer than any work under the lock. */
const MAX_WAIT_MS = 60_000;
const LOCK_FILE = /^lock\.(\d+)$/;

/**
 * A text that names a process. Its id alone is not enough, because another process may get the same id later. Undefined
 * if the process has ended.
 */
export async function processName(pid: number): Promise<string | undefined> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
    // The program name before it may contain anything. The 22nd field is the start, in ticks since the machine booted.
    const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return state === 'Z' ? undefined : `${pid} ${fields[18]}`;
  } catch {
    if (process.platform === 'linux') return undefined;
    const { stdout } = await promisify(execFile)('ps', ['-o', 'lstart=', '-p', String(pid)]).catch(() => ({
      stdout: '',
    }));
    return stdout.trim() === '' ? undefined : `${pid} ${stdout.trim()}`;
  }
}

/** Whether the file names a running process. */
export async function namesProcess(file: string): Promise<boolean> {
  const name = await readFile(file, 'utf8').catch(() => '');
  return name !== '' && (await processName(Number.parseInt(name, 10))) === name;
}

/**
 * Does `work` while no other process does so in this folder. The newest file `lock.<n>` names the holder. An empty file
 * was released; the file of a dead process counts as released.
 *
 * @param busyError makes the error to throw if another process still holds the lock in this file after a minute
 */
export async function withProcessLock<T>(
  folder: string,
  { monotonic, sleep }: Pick<SteadyClock, 'monotonic' | 'sleep'>,
  work: () => Promise<T>,
  busyError: (file: string) => Error,
): Promise<T> {
  const numbers = async () =>
    (await readdir(folder))
      .flatMap((name) => LOCK_FILE.exec(name)?.[1] ?? [])
      .map(Number)
      .sort((a, b) => a - b);
  const fileOf = (number: number) => join(folder, `lock.${number}`);
  const self = (await processName(process.pid)) ?? '';
  const giveUpAt = monotonic() + MAX_WAIT_MS;
  for (;;) {
    const newest = (await numbers()).at(-1) ?? 0;
    const ownFile = fileOf(newest + 1);
    if (await namesProcess(fileOf(newest))) {
      if (monotonic() > giveUpAt) throw busyError(fileOf(newest));
      await sleep(POLL_INTERVAL_MS);
    } else if (await createFile(ownFile, self)) {
      const all = await numbers();
      // Another process may have taken and released a later lock since the folder was read.
      if (all.at(-1) === newest + 1) {
        try {
          await Promise.all(all.slice(0, -1).map((number) => rm(fileOf(number), { force: true })));
          return await work();
        } finally {
          // Emptied, not removed, because the numbers must not start again.
          await writeFile(ownFile, '');
        }
      }
      await rm(ownFile, { force: true });
    }
  }
}
