import { readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { freePort, localRedis } from '../../src/demo/local-redis.ts';

const startOn = async (port: number): Promise<number> => {
  const redis = await localRedis({ PATH: process.env.PATH }, () => {}, [], port);
  onTestFinished(() => redis.close());
  return Number(new URL(redis.url).port);
};

test('a private Redis takes the wanted port, and another one while a program uses it', async () => {
  const port = await freePort();
  expect(await startOn(port)).toBe(port);
  expect(await startOn(port)).not.toBe(port);
  const taken = createServer();
  const other = await freePort();
  await new Promise<void>((resolve) => taken.listen(other, '0.0.0.0', resolve));
  onTestFinished(() => void taken.close());
  expect(await startOn(other)).not.toBe(other);
});

test('a private Redis is in its own process group, so that Ctrl-C in a terminal does not stop it', async () => {
  const redis = await localRedis({ PATH: process.env.PATH });
  onTestFinished(() => redis.close());
  const client = new Redis(redis.url);
  onTestFinished(() => client.disconnect());
  const pid = /process_id:(\d+)/.exec(await client.info('server'))?.[1];
  // proc(5): pid (comm) state ppid pgrp …
  const [, , group] = (await readFile(`/proc/${pid}/stat`, 'utf8')).replace(/^.*\) /, '').split(' ');
  expect(group).toBe(pid);
});
