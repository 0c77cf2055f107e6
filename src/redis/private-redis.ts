import { chmod, lstat, mkdir, readFile, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { coalesceCalls, settlesWithin } from '../base/concurrency.ts';
import type { AppContext } from '../base/context.ts';
import { isErrno } from '../base/errno.ts';
import { DocketError, errorMessage } from '../base/error.ts';
import { namesProcess, processName, withProcessLock } from '../base/files/process-lock.ts';
import { sha256 } from '../base/sha256.ts';
import { findServerProgram, startServer } from './local-server.ts';

/** A Redis on this machine. Commands that use the same folder of definitions start, share and stop it. */
export interface PrivateRedis {
  /** Path of its socket. */
  readonly path: string;
  /** Leaves the private Redis. The last command that leaves stops it. */
  close(): Promise<void>;
}

type PrivateContext = Pick<AppContext, 'config' | 'env' | 'clock' | 'log'>;

interface Place {
  /** Folder of its data, lock and log. */
  readonly folder: string;
  readonly socket: string;
  /** File that names the server's process. Exists once a server was started. */
  readonly server: string;
}

/** Less than the 103 to 107 bytes that operating systems allow. */
const MAX_SOCKET_BYTES = 100;
const ANSWER_TIMEOUT_MS = 30_000;
/**
 * How often to check for other clients, and the ms in between: connections that this process just closed are still
 * listed.
 */
const LOOKS = 10;
const LOOK_INTERVAL_MS = 20;

const ALTERNATIVES = 'or set REDIS_URL to an existing Redis; docket run --no-deliver needs none.';

/**
 * The files' places: beside the folder of definitions. If the socket's path would be too long, it lies in the runtime
 * directory.
 */
export function privateRedisPlace({ config, env }: Pick<PrivateContext, 'config' | 'env'>): Place {
  const jobs = resolve(config.DOCKET_JOBS);
  const folder = join(dirname(jobs), '.docket', basename(jobs));
  const socket = join(folder, 'redis.sock');
  const server = join(folder, 'server');
  if (Buffer.byteLength(socket) <= MAX_SOCKET_BYTES) return { folder, server, socket };
  return {
    folder,
    server,
    socket: join(env.XDG_RUNTIME_DIR || tmpdir(), `docket-${sha256(folder).slice(0, 16)}`, 'redis.sock'),
  };
}

/**
 * Joins the private Redis beside the definitions, and starts it again if it ends meanwhile. Throws `redis.unreachable`
 * if it cannot be started.
 *
 * @param start whether to start it if it does not run; otherwise returns undefined then
 */
export async function openPrivateRedis(
  context: PrivateContext,
  { start }: { readonly start: boolean },
): Promise<PrivateRedis | undefined> {
  const { clock, env, log } = context;
  const place = privateRedisPlace(context);
  if (start) await createFolders(place);
  const locked = <T>(work: () => Promise<T>): Promise<T> => withProcessLock(place.folder, clock, work, lockedError);
  const { Redis } = await import('ioredis');
  let closing = false;
  const restart = coalesceCalls(() => locked(async () => void (closing || (await startUnlessRunning(place, env)))));
  const client = new Redis({
    path: place.socket,
    lazyConnect: true,
    maxRetriesPerRequest: null,
    retryStrategy: (times) => {
      if (closing) return null;
      restart().catch((error: unknown) =>
        log.warn('The private Redis cannot be started', { why: errorMessage(error) }),
      );
      return Math.min(times * 100, 2_000);
    },
  });
  client.on('error', () => {});
  const leave = () => {
    closing = true;
    client.disconnect();
  };
  // Connects before releasing the lock, so that a command that ends meanwhile does not stop the server.
  const opened = await locked(async () => {
    if (start) await startUnlessRunning(place, env);
    else if (!(await answers(place.socket))) return false;
    if (await settlesWithin(client.ping(), ANSWER_TIMEOUT_MS)) return true;
    throw new DocketError('redis.unreachable', 'The private Redis does not answer.', {
      where: place.socket,
      next: `End its process (${place.server} names it), ${ALTERNATIVES}`,
    });
  }).catch((error: unknown) => {
    leave();
    throw error;
  });
  if (!opened) {
    leave();
    return undefined;
  }
  return {
    path: place.socket,
    close: () =>
      locked(async () => {
        closing = true;
        if (!(await answers(place.socket))) return;
        // If the server was just started again, this process has not joined it yet.
        const last = client.status === 'ready' ? client : client.duplicate({ retryStrategy: () => null });
        if (last !== client) client.disconnect();
        last.on('error', () => {});
        try {
          for (let look = 0; look < LOOKS; look += 1) {
            const clients = String(await last.client('LIST'))
              .trim()
              .split('\n');
            // The server replies by closing the connection, once its data is on the disk.
            if (clients.length === 1) {
              const stopped = last.call('SHUTDOWN', 'NOSAVE').catch(() => {});
              await settlesWithin(stopped, ANSWER_TIMEOUT_MS);
              return;
            }
            await clock.sleep(LOOK_INTERVAL_MS);
          }
        } finally {
          last.disconnect();
        }
      })
        .catch((error: unknown) => log.warn('The private Redis could not be left', { why: errorMessage(error) }))
        .finally(leave),
  };
}

const lockedError = (where: string) =>
  new DocketError('redis.unreachable', 'Another process keeps the private Redis locked.', {
    where,
    next: 'End the process that the file names.',
  });

/** Call it only while holding the lock. */
async function startUnlessRunning(
  { folder, socket, server: serverFile }: Place,
  env: PrivateContext['env'],
): Promise<void> {
  if (await answers(socket)) return;
  const program = await findServerProgram(env);
  if (program === undefined)
    throw new DocketError('redis.unreachable', 'Neither redis-server nor valkey-server is on the PATH.', {
      expected: 'a Redis that keeps what was delivered',
      next: `Install redis-server (apt install redis-server, brew install redis), ${ALTERNATIVES}`,
    });
  // Two servers would damage the data.
  if (await namesProcess(serverFile))
    throw new DocketError('redis.unreachable', 'The private Redis runs, but its socket is missing.', {
      where: socket,
      next: `End its process (${serverFile} names it), ${ALTERNATIVES}`,
    });
  const server = await startServer(
    program,
    folder,
    { path: socket },
    {
      options: ['--appendfsync', 'always', '--logfile', 'redis.log'],
      survives: true,
      onProcess: async (pid) => writeFile(serverFile, (await processName(pid)) ?? ''),
    },
  );
  if (server !== undefined) return;
  const lines = await readFile(join(folder, 'redis.log'), 'utf8').catch(() => '');
  throw new DocketError('redis.unreachable', 'The private Redis ended at once.', {
    where: folder,
    got: lines.trim().split('\n').at(-1) ?? '',
    next: `Remove the cause (redis.log in this folder has more), ${ALTERNATIVES}`,
  });
}

/** Whether a server listens on the socket. The socket of a dead server refuses connections. */
const answers = (path: string): Promise<boolean> =>
  new Promise((settle, reject) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      settle(true);
    });
    socket.once('error', (error) => (isErrno(error, 'ENOENT', 'ECONNREFUSED') ? settle(false) : reject(error)));
  });

/** Throws `redis.unreachable` if the folders cannot be created, or belong to another user. */
async function createFolders({ folder, socket }: Place): Promise<void> {
  for (const path of new Set([folder, dirname(socket)])) {
    try {
      await mkdir(path, { recursive: true, mode: 0o700 });
      const { uid } = await lstat(path);
      if (uid !== (process.getuid?.() ?? uid)) throw new Error('it belongs to another user');
      await chmod(path, 0o700);
    } catch (cause) {
      throw new DocketError('redis.unreachable', 'The private Redis has no folder for its data.', {
        where: path,
        expected: 'a folder beside DOCKET_JOBS that this user can write',
        got: errorMessage(cause),
        next: `Make it writable, ${ALTERNATIVES}`,
        cause,
      });
    }
  }
  await writeFile(join(dirname(folder), '.gitignore'), '*\n', { flag: 'wx' }).catch(() => {});
}
