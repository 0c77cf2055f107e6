import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { program } from './debian.ts';

const TRIES = 10;

/**
 * The path of libfaketime for `LD_PRELOAD`. Its command names a semaphore after its process id. A killed process may have
 * left that semaphore; then another process is tried.
 */
export async function libfaketime(): Promise<string> {
  const faketime = await program('faketime', 'faketime');
  for (let tries = 1; ; tries += 1) {
    try {
      const { stdout } = await promisify(execFile)(faketime, ['-f', '+0', 'printenv', 'LD_PRELOAD']);
      return stdout.trim();
    } catch (error) {
      if (tries === TRIES) throw error;
    }
  }
}

/**
 * The environment of a `redis-server` whose wall clock, and nothing else, is ahead of the machine's by the seconds in the
 * file, such as `+3600`. The next command sees a change.
 */
export const faketimeRedisEnv = (preload: string, file: string): Readonly<Record<string, string>> => ({
  // Redis's own allocator reads the time while libfaketime starts, which never ends. The C library's does not.
  LD_PRELOAD: `${preload} libc.so.6`,
  FAKETIME_TIMESTAMP_FILE: file,
  FAKETIME_NO_CACHE: '1',
  DONT_FAKE_MONOTONIC: '1',
  FAKETIME_DISABLE_SHM: '1',
});
