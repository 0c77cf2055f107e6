import { execFile, spawn } from 'node:child_process';
import { access, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import { DocketError } from '../base/error.ts';

const run = promisify(execFile);

/** A Redis to use, and how to let go of it: a private process is stopped, one that was given is left alone. */
export interface LocalRedis {
  readonly url: string;
  /** How it was come by, for a person: `REDIS_URL`, or the program and port of the private process. */
  readonly origin: string;
  close(): Promise<void>;
}

const INSTALL = 'apt-get update && apt-get install -y redis-server';

/**
 * Finds or makes a Redis: `REDIS_URL` when it is set; else `redis-server` or `valkey-server` on the PATH as a private
 * process on a free port; else Debian's package when we are root; else an error with the line to run.
 *
 * @param say told before the one slow step (installing the package)
 */
export async function localRedis(
  env: Readonly<Record<string, string | undefined>>,
  say: (line: string) => void = () => {},
  options: readonly string[] = [],
): Promise<LocalRedis> {
  const given = env.REDIS_URL?.trim();
  if (given) return { url: given, origin: 'REDIS_URL', close: async () => {} };
  let program = await onPath(env);
  if (program === undefined) {
    await install(env, say);
    program = await onPath(env);
  }
  if (program === undefined) throw missing('redis-server is still not on the PATH after installing it');
  return startPrivate(program, options);
}

async function onPath(env: Readonly<Record<string, string | undefined>>): Promise<string | undefined> {
  const folders = (env.PATH ?? '').split(delimiter).filter(Boolean);
  for (const name of ['redis-server', 'valkey-server']) {
    for (const folder of folders) {
      const path = join(folder, name);
      if (
        await access(path, 1).then(
          () => true,
          () => false,
        )
      ) {
        return path;
      }
    }
  }
  return undefined;
}

async function install(env: Readonly<Record<string, string | undefined>>, say: (line: string) => void): Promise<void> {
  if (process.getuid?.() !== 0)
    throw missing('no redis-server or valkey-server is on the PATH, and only root can install one');
  say('Redis is not installed: installing the distribution’s redis-server (once) …');
  // A container has no service manager; where there is one, RUNLEVEL=1 keeps the package from starting a system-wide server.
  const quiet = { env: { ...env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' }, maxBuffer: 64 * 1024 * 1024 };
  try {
    await run('apt-get', ['update'], quiet);
    await run('apt-get', ['install', '-y', '--no-install-recommends', 'redis-server'], quiet);
  } catch (cause) {
    throw missing('installing the redis-server package failed', cause);
  }
}

const missing = (why: string, cause?: unknown) =>
  new DocketError('redis.unreachable', `Docket needs a Redis: ${why}.`, {
    next: `Run \`${INSTALL}\` as root (or your system's equivalent), or set REDIS_URL to a Redis you have.`,
    ...(cause === undefined ? {} : { cause }),
  });

async function startPrivate(program: string, options: readonly string[]): Promise<LocalRedis> {
  const folder = await mkdtemp(join(tmpdir(), 'docket-redis-'));
  // Another process can take the free port between our look and the server's bind: then the server ends and we look again.
  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort();
    const child = spawn(
      program,
      [
        '--port',
        String(port),
        '--bind',
        '127.0.0.1',
        '--dir',
        folder,
        '--save',
        '',
        '--appendonly',
        'yes',
        '--maxmemory-policy',
        'noeviction',
        ...options,
      ],
      { stdio: 'ignore' },
    );
    const ended = new Promise<'ended'>((resolve) => {
      child.once('exit', () => resolve('ended'));
      child.once('error', () => resolve('ended'));
    });
    // The server must not outlive us, however we end; `exit` handlers run on an uncaught error too.
    const kill = () => child.kill('SIGKILL');
    process.once('exit', kill);
    const ready = await Promise.race([answers(port, ended), ended]).catch((error: unknown) => {
      kill();
      throw error;
    });
    if (ready === 'ready') {
      return {
        url: `redis://127.0.0.1:${port}`,
        origin: `private ${program} on port ${port}`,
        close: async () => {
          process.off('exit', kill);
          child.kill('SIGTERM');
          await ended;
          await rm(folder, { recursive: true, force: true });
        },
      };
    }
    process.off('exit', kill);
    if (attempt === 5) {
      await rm(folder, { recursive: true, force: true });
      throw new DocketError('redis.unreachable', `${program} ended at once, five times.`, {
        next: `Run \`${program} --port 0\` by hand to see why, or set REDIS_URL.`,
      });
    }
  }
}

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('a listening TCP server has no port');
  return address.port;
}

/** Pings until the server answers, or has ended. */
async function answers(port: number, ended: Promise<'ended'>): Promise<'ready' | 'ended'> {
  const client = new Redis({
    port,
    host: '127.0.0.1',
    lazyConnect: true,
    maxRetriesPerRequest: null,
    retryStrategy: () => 25,
  });
  client.on('error', () => {});
  try {
    return await Promise.race([client.ping().then(() => 'ready' as const), ended]);
  } finally {
    client.disconnect();
  }
}
