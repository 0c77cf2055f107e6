import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm, stat, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { freePort } from './free-port.ts';

export interface RestartableRedis {
  readonly url: string;
  /** Kills the server like a power cut: acknowledged writes are on disk, the rest is gone. */
  kill(): Promise<void>;
  /** Starts the server again on the same port with the data on disk. */
  start(): Promise<void>;
  /** Keeps the connections open and answers nothing until it is thawed. */
  freeze(): void;
  thaw(): void;
  /** Cuts this many bytes off the end of the log while the server is down, like a disk that had not written them. */
  cutTail(bytes: number): Promise<void>;
  close(): Promise<void>;
}

/**
 * A separate server that writes everything to disk, and can be killed and restarted.
 * @param env added to its environment, such as libfaketime's variables
 */
export async function restartableRedis(env: Readonly<Record<string, string>> = {}): Promise<RestartableRedis> {
  const folder = await mkdtemp(join(tmpdir(), 'docket-test-redis-'));
  const port = await freePort();
  let server: ChildProcess | undefined;
  const options = ['--bind', '127.0.0.1', '--save', '', '--appendonly', 'yes', '--appendfsync', 'always'];
  const start = async (): Promise<void> => {
    server = spawn('redis-server', ['--port', String(port), '--dir', folder, ...options], {
      stdio: 'ignore',
      env: { ...process.env, ...env },
    });
    const client = new Redis({ port, maxRetriesPerRequest: null, retryStrategy: () => 20 });
    client.on('error', () => {});
    await client.ping();
    client.disconnect();
  };
  const kill = async (): Promise<void> => {
    if (server === undefined) return;
    const exited = once(server, 'exit');
    server.kill('SIGKILL');
    await exited;
    server = undefined;
  };
  await start();
  return {
    url: `redis://127.0.0.1:${port}`,
    kill,
    start,
    freeze: () => void server?.kill('SIGSTOP'),
    thaw: () => void server?.kill('SIGCONT'),
    cutTail: async (bytes) => {
      const log = join(folder, 'appendonlydir');
      const name = (await readdir(log)).find((file) => file.endsWith('.incr.aof')) ?? '';
      const { size } = await stat(join(log, name));
      await truncate(join(log, name), Math.max(0, size - bytes));
    },
    close: async () => {
      await kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
