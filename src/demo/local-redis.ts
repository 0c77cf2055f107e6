import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { DocketError } from '../base/error.ts';
import { findServerProgram, startServer } from '../redis/local-server.ts';

const run = promisify(execFile);

/** A Redis for the demo. `close` stops a private process and leaves an external one running. */
export interface LocalRedis {
  readonly url: string;
  /** Where it comes from, as text: `REDIS_URL`, or the program and port of the private process. */
  readonly origin: string;
  close(): Promise<void>;
}

const INSTALL_COMMAND = 'apt-get update && apt-get install -y redis-server';

/**
 * Finds or starts a Redis: uses `REDIS_URL` if set; else starts `redis-server` or `valkey-server` from the PATH on a
 * free port; else, as root, installs Debian's package; else throws an error with the command to run.
 *
 * @param onProgress called before the slow step (installing the package)
 * @param port for a private process, unless another program uses it; default: any free port
 */
export async function localRedis(
  env: Readonly<Record<string, string | undefined>>,
  onProgress: (line: string) => void = () => {},
  options: readonly string[] = [],
  port?: number,
): Promise<LocalRedis> {
  const given = env.REDIS_URL?.trim();
  if (given) return { url: given, origin: 'REDIS_URL', close: async () => {} };
  let program = await findServerProgram(env);
  if (program === undefined) {
    await install(env, onProgress);
    program = await findServerProgram(env);
  }
  if (program === undefined) throw redisMissing('redis-server is still not on the PATH after installing it');
  return startPrivate(program, options, port);
}

async function install(
  env: Readonly<Record<string, string | undefined>>,
  onProgress: (line: string) => void,
): Promise<void> {
  if (process.getuid?.() !== 0)
    throw redisMissing('no redis-server or valkey-server is on the PATH, and only root can install one');
  onProgress('Redis is not installed: installing the distribution’s redis-server (once) …');
  // Containers have no service manager. On other machines, RUNLEVEL=1 keeps the package from starting a system-wide
  // server.
  const quiet = { env: { ...env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' }, maxBuffer: 64 * 1024 * 1024 };
  try {
    await run('apt-get', ['update'], quiet);
    await run('apt-get', ['install', '-y', '--no-install-recommends', 'redis-server'], quiet);
  } catch (cause) {
    throw redisMissing('installing the redis-server package failed', cause);
  }
}

const redisMissing = (why: string, cause?: unknown) =>
  new DocketError('redis.unreachable', `Docket needs a Redis: ${why}.`, {
    next: `Run \`${INSTALL_COMMAND}\` as root (or your system's equivalent), or set REDIS_URL to an existing Redis.`,
    ...(cause === undefined ? {} : { cause }),
  });

async function startPrivate(
  program: string,
  options: readonly string[],
  preferred: number | undefined,
): Promise<LocalRedis> {
  const folder = await mkdtemp(join(tmpdir(), 'docket-redis-'));
  // Another process may take the free port before the server binds it. The server then exits, and this retries.
  for (let attempt = 1; attempt <= 5; attempt += 1) {
    const port = (attempt === 1 && preferred !== undefined && (await listenOnce(preferred))) || (await freePort());
    const server = await startServer(program, folder, { port }, { options });
    if (server !== undefined) {
      return {
        url: `redis://127.0.0.1:${port}`,
        origin: `private ${program} on port ${port}`,
        close: async () => {
          server.child.kill('SIGTERM');
          await server.ended;
          await rm(folder, { recursive: true, force: true });
        },
      };
    }
  }
  await rm(folder, { recursive: true, force: true });
  throw new DocketError('redis.unreachable', `${program} ended at once, five times.`, {
    next: `Run \`${program} --port 0\` by hand to see why, or set REDIS_URL.`,
  });
}

export async function freePort(): Promise<number> {
  const port = await listenOnce(0);
  if (port === undefined) throw new Error('no TCP port is free');
  return port;
}

/** Returns the port if it is free (0: any free port); undefined if another program uses it. */
async function listenOnce(wanted: number): Promise<number | undefined> {
  const server = createServer();
  const listening = await new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(wanted, '127.0.0.1', () => resolve(true));
  });
  if (!listening) return undefined;
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('a listening TCP server has no port');
  return address.port;
}
