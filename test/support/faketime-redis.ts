import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { freePort } from './free-port.ts';
import { faketimeRedisEnv, libfaketime } from './libfaketime.ts';

export interface FaketimeRedis {
  readonly url: string;
  /** Steps the wall clock of the server to so many seconds from the machine's; its next command reads it. */
  setClock(seconds: number): Promise<void>;
  close(): Promise<void>;
}

/**
 * A server of a test's own whose wall clock, and nothing else, can be stepped while it runs.
 * @param snapshot what it begins with, as `dump.rdb` has it; a key that has expired by its clock is left out
 * @param seconds its clock at first, from the machine's
 */
export async function faketimeRedis(snapshot?: Buffer, seconds = 0): Promise<FaketimeRedis> {
  const preload = await libfaketime();
  const folder = await mkdtemp(join(tmpdir(), 'docket-test-faketime-'));
  const file = join(folder, 'clock');
  const setClock = async (seconds: number): Promise<void> => {
    // Renamed, so that the server never reads half a file.
    await writeFile(`${file}.new`, `${seconds < 0 ? '' : '+'}${seconds}`);
    await rename(`${file}.new`, file);
  };
  await setClock(seconds);
  if (snapshot !== undefined) await writeFile(join(folder, 'dump.rdb'), snapshot);
  const port = await freePort();
  const server: ChildProcess = spawn(
    'redis-server',
    ['--port', String(port), '--dir', folder, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'],
    {
      env: { PATH: process.env.PATH ?? '', ...faketimeRedisEnv(preload, file) },
      stdio: 'ignore',
    },
  );
  const client = new Redis({ port, maxRetriesPerRequest: null, retryStrategy: () => 20 });
  client.on('error', () => {});
  await client.ping();
  client.disconnect();
  return {
    url: `redis://127.0.0.1:${port}`,
    setClock,
    close: async () => {
      const exited = once(server, 'exit');
      server.kill('SIGKILL');
      await exited;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
