import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { readConfig } from '../../src/base/config/config.ts';
import { namesProcess, processName, withProcessLock } from '../../src/base/files/process-lock.ts';
import { silentLog } from '../../src/base/log.ts';
import { openRedis } from '../../src/redis/connection.ts';
import { openPrivateRedis, privateRedisPlace } from '../../src/redis/private-redis.ts';

/** A process that has ended. */
const DEAD = '2147483646 1';

const newFolder = async (name = 'docket-private-'): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), name));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
};
const contextIn = (folder: string, env: Record<string, string | undefined> = { PATH: process.env.PATH }) => ({
  config: readConfig({ DOCKET_JOBS: join(folder, 'jobs') }),
  env,
  clock: systemClock,
  log: silentLog,
});
type Context = ReturnType<typeof contextIn>;
const open = async (context: Context, start = true) => {
  const redis = await openPrivateRedis(context, { start });
  if (redis !== undefined) onTestFinished(() => redis.close());
  return redis;
};
const opened = async (context: Context) => {
  const redis = await open(context);
  if (redis === undefined) throw new Error('it was not started');
  return redis;
};
/** Runs a command over a separate connection. */
const ask = async <T>(path: string, use: (client: Redis) => Promise<T>): Promise<T> => {
  const client = new Redis({ path, retryStrategy: () => null });
  client.on('error', () => {});
  try {
    return await use(client);
  } finally {
    client.disconnect();
  }
};
const pidOf = async (context: Context): Promise<number> =>
  Number.parseInt(await readFile(join(privateRedisPlace(context).folder, 'server'), 'utf8'), 10);
const ends = (pid: number) => expect.poll(() => processName(pid)).toBe(undefined);

describe('a private Redis', () => {
  test('is started by the first process, joined by others, and stopped by the last; its data stays', async () => {
    const context = contextIn(await newFolder());
    const first = await opened(context);
    const pid = await pidOf(context);
    const second = await opened(context);
    expect(await pidOf(context)).toBe(pid);
    await ask(first.path, (client) => client.set('kept', '1'));
    expect(await ask(first.path, (client) => client.config('GET', 'appendfsync'))).toEqual(['appendfsync', 'always']);
    await first.close();
    expect(await processName(pid)).toBeDefined();
    await second.close();
    await ends(pid);
    expect(existsSync(second.path)).toBe(false);
    const third = await opened(context);
    expect(await ask(third.path, (client) => client.get('kept'))).toBe('1');
  });

  test('is accessible only to its user, and separate for each folder of definitions', async () => {
    const folder = await newFolder();
    const context = contextIn(folder);
    await opened(context);
    const place = privateRedisPlace(context);
    expect(place.folder).toBe(join(folder, '.docket', 'jobs'));
    for (const path of [join(folder, '.docket'), place.folder]) expect((await stat(path)).mode & 0o777).toBe(0o700);
    expect(await readFile(join(folder, '.docket', '.gitignore'), 'utf8')).toBe('*\n');
    const other = { ...context, config: readConfig({ DOCKET_JOBS: join(folder, 'others') }) };
    expect(privateRedisPlace(other).folder).not.toBe(place.folder);
  });

  test('is started only once by simultaneous processes', async () => {
    const context = contextIn(await newFolder());
    const all = await Promise.all([opened(context), opened(context), opened(context)]);
    await Promise.all(all.map(({ path }) => ask(path, (client) => client.ping())));
    const pid = await pidOf(context);
    await Promise.all(all.map((redis) => redis.close()));
    await ends(pid);
  });

  test('is not started by a process that only joins', async () => {
    const context = contextIn(await newFolder());
    await mkdir(privateRedisPlace(context).folder, { recursive: true });
    expect(await open(context, false)).toBe(undefined);
    await opened(context);
    expect(await open(context, false)).toBeDefined();
  });

  test('is restarted with its data by its users when its process ends', async () => {
    const context = contextIn(await newFolder());
    const redis = await opened(context);
    const client = await openRedis({ path: redis.path }, 'worker', silentLog);
    onTestFinished(() => client.disconnect());
    await client.set('kept', '1');
    const pid = await pidOf(context);
    process.kill(pid, 'SIGKILL');
    await ends(pid);
    expect(await client.get('kept')).toBe('1');
    expect(await pidOf(context)).not.toBe(pid);
  });

  test('replaces the socket of a killed server', async () => {
    const context = contextIn(await newFolder());
    const { folder, socket } = privateRedisPlace(context);
    await mkdir(folder, { recursive: true });
    const script = "require('net').createServer().listen(process.argv[1], () => process.kill(process.pid, 'SIGKILL'))";
    await once(spawn(process.execPath, ['-e', script, socket]), 'exit');
    expect(existsSync(socket)).toBe(true);
    expect(await ask((await opened(context)).path, (client) => client.ping())).toBe('PONG');
  });

  test('has its socket in the runtime directory if the path beside the definitions is too long', async () => {
    const runtime = await newFolder('docket-run-');
    const deep = join(await newFolder(), 'a-folder-with-a-long-name'.repeat(4));
    await mkdir(deep);
    const context = contextIn(deep, { PATH: process.env.PATH, XDG_RUNTIME_DIR: runtime });
    const { path } = await opened(context);
    expect(path.startsWith(runtime)).toBe(true);
    expect(await ask(path, (client) => client.ping())).toBe('PONG');
    expect((await stat(join(path, '..'))).mode & 0o777).toBe(0o700);
    expect(await readdir(join(deep, '.docket', 'jobs'))).toContain('redis.log');
  });

  test('fails without redis-server, with an error that names the alternatives', async () => {
    await expect(open(contextIn(await newFolder(), { PATH: await newFolder() }))).rejects.toMatchObject({
      code: 'redis.unreachable',
      next: expect.stringMatching(/REDIS_URL.*--no-deliver/),
    });
  });

  test('fails with the name of a folder that cannot be created', async () => {
    const folder = await newFolder();
    // No user can create a folder inside a file, not even root.
    await writeFile(join(folder, '.docket'), '');
    await expect(open(contextIn(folder))).rejects.toMatchObject({
      code: 'redis.unreachable',
      where: join(folder, '.docket', 'jobs'),
      next: expect.stringMatching(/REDIS_URL.*--no-deliver/),
    });
  });

  test('fails with the last line of the log if the server ends at once', async () => {
    const bin = await newFolder();
    await writeFile(join(bin, 'redis-server'), '#!/bin/sh\necho "out of luck" > redis.log\nexit 1\n');
    await chmod(join(bin, 'redis-server'), 0o755);
    await expect(open(contextIn(await newFolder(), { PATH: bin }))).rejects.toMatchObject({
      code: 'redis.unreachable',
      got: 'out of luck',
    });
  });

  test('is not started beside a running one whose socket is missing', async () => {
    const context = contextIn(await newFolder());
    const redis = await opened(context);
    await rm(redis.path);
    await expect(open(context)).rejects.toMatchObject({ code: 'redis.unreachable', where: redis.path });
  });
});

const locked = <T>(folder: string, clock: Parameters<typeof withProcessLock>[1], work: () => Promise<T>) =>
  withProcessLock(folder, clock, work, (file) => new Error(`locked by ${file}`));

describe('the lock of a folder', () => {
  test('is held by one caller at a time', async () => {
    const folder = await newFolder();
    let inside = 0;
    const most: number[] = [];
    await Promise.all(
      Array.from({ length: 8 }, () =>
        locked(folder, systemClock, async () => {
          inside += 1;
          most.push(inside);
          await systemClock.sleep(1);
          inside -= 1;
        }),
      ),
    );
    expect(most).toEqual(Array.from({ length: 8 }, () => 1));
    expect((await readdir(folder)).length).toBe(1);
  });

  test('is free after its process has ended, even if another process has the same ID', async () => {
    const folder = await newFolder();
    for (const name of [DEAD, `${process.pid} another start`, '']) {
      await writeFile(join(folder, 'lock.7'), name);
      expect(await namesProcess(join(folder, 'lock.7'))).toBe(false);
      expect(await locked(folder, systemClock, async () => 'done')).toBe('done');
      await rm(join(folder, 'lock.8'));
    }
  });

  test('gives an error if it is held too long', async () => {
    const folder = await newFolder();
    await writeFile(join(folder, 'lock.1'), (await processName(process.pid)) ?? '');
    let now = 0;
    const sleep = async () => {
      now += 30_000;
    };
    const clock = { monotonic: () => now, sleep };
    await expect(locked(folder, clock, async () => {})).rejects.toThrow(`locked by ${join(folder, 'lock.1')}`);
  });

  test('is free again after a failure', async () => {
    const folder = await newFolder();
    await expect(locked(folder, systemClock, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await locked(folder, systemClock, async () => 1)).toBe(1);
  });
});
