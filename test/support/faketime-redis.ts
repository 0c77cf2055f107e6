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
  /** Sets the wall clock of the server to this offset in seconds from the machine's clock. The next command sees it. */
  setClock(seconds: number): Promise<void>;
  close(): Promise<void>;
}

/**
 * A separate server whose wall clock, and nothing else, can be stepped while it runs.
 * @param snapshot the initial data as `dump.rdb`; keys that have expired by its clock are dropped
 * @param seconds the initial offset of its clock
 */
export async function faketimeRedis(snapshot?: Buffer, seconds = 0): Promise<FaketimeRedis> {
  const preload = await libfaketime();
  const folder = await mkdtemp(join(tmpdir(), 'docket-test-faketime-'));
  const file = join(folder, 'clock');
  const setClock = async (seconds: number): Promise<void> => {
    // Rename the file, so that the server never reads half of it.
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
