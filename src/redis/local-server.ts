import { type ChildProcess, spawn } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { basename, delimiter, dirname, join } from 'node:path';

type Environment = Readonly<Record<string, string | undefined>>;

/** Finds `redis-server` or `valkey-server` on the PATH. */
export async function findServerProgram(env: Environment): Promise<string | undefined> {
  const folders = (env.PATH ?? '').split(delimiter).filter(Boolean);
  for (const name of ['redis-server', 'valkey-server']) {
    for (const path of folders.map((folder) => join(folder, name))) {
      const found = await access(path, constants.X_OK).catch((): false => false);
      if (found !== false) return path;
    }
  }
  return undefined;
}

export interface LocalServer {
  readonly child: ChildProcess;
  readonly ended: Promise<'ended'>;
}

/**
 * Starts a server that logs each write to disk, and waits until it answers. Undefined if it ends before that.
 *
 * @param options options besides those for the address and the folder
 * @param survives whether it survives this process
 * @param onProcess called with the server's process id before it answers
 */
export async function startServer(
  program: string,
  folder: string,
  address: { readonly port: number } | { readonly path: string },
  {
    options = [],
    survives = false,
    onProcess,
  }: {
    readonly options?: readonly string[];
    readonly survives?: boolean;
    readonly onProcess?: (pid: number) => Promise<void>;
  } = {},
): Promise<LocalServer | undefined> {
  // Relative paths in the server's own folder, because some versions accept no argument with spaces.
  const inFolder = (path: string) => (dirname(path) === folder ? basename(path) : path);
  const place =
    'path' in address
      ? ['--port', '0', '--unixsocket', inFolder(address.path), '--unixsocketperm', '700']
      : ['--port', String(address.port), '--bind', '127.0.0.1'];
  const storage = ['--save', '', '--appendonly', 'yes', '--maxmemory-policy', 'noeviction'];
  // The server's environment contains none of our secrets.
  const child = spawn(program, [...place, ...storage, ...options], {
    cwd: folder,
    stdio: 'ignore',
    // Otherwise Ctrl-C on the terminal would stop it before this process has closed its connections.
    detached: true,
    env: { PATH: process.env.PATH },
  });
  const ended = new Promise<'ended'>((resolve) => {
    child.once('exit', () => resolve('ended'));
    child.once('error', () => resolve('ended'));
  });
  // `exit` handlers also run on uncaught errors.
  const kill = () => child.kill('SIGKILL');
  if (!survives) process.once('exit', kill);
  void ended.then(() => process.off('exit', kill));
  if (survives) child.unref();
  if (child.pid !== undefined) await onProcess?.(child.pid);
  const ready = await waitUntilReady(address, ended).catch((error: unknown) => {
    kill();
    throw error;
  });
  return ready === 'ready' ? { child, ended } : undefined;
}

/** Pings until the server answers or has ended. */
async function waitUntilReady(
  address: { readonly port: number } | { readonly path: string },
  ended: Promise<'ended'>,
): Promise<'ready' | 'ended'> {
  const { Redis } = await import('ioredis');
  const client = new Redis({
    ...('path' in address ? address : { ...address, host: '127.0.0.1' }),
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
