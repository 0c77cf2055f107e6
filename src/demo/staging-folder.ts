import { randomBytes } from 'node:crypto';
import { mkdir, readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { isErrno } from '../base/errno.ts';

const SUFFIX = /^\.(\d+)-[0-9a-f]{6}$/;

/** Creates the folder in which a demo writes until it is complete, and removes those of demos that were killed. */
export async function createStagingFolder(target: string): Promise<string> {
  const [parent, name] = [dirname(target), basename(target)];
  await mkdir(parent, { recursive: true });
  for (const entry of await readdir(parent)) {
    const pid = entry.startsWith(name) ? SUFFIX.exec(entry.slice(name.length))?.[1] : undefined;
    if (pid !== undefined && !isRunning(Number(pid))) await rm(join(parent, entry), { recursive: true, force: true });
  }
  const staging = `${target}.${process.pid}-${randomBytes(3).toString('hex')}`;
  await mkdir(staging);
  return staging;
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // EPERM: a process of another user.
    return !isErrno(error, 'ESRCH');
  }
}
