import { execFile } from 'node:child_process';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { type LocalRedis, localRedis } from '../../src/demo/local-redis.ts';
import { faultyDisk } from '../support/faulty-disk.ts';
import { roleProcesses } from '../support/role-processes.ts';

const execute = promisify(execFile);

let redis: LocalRedis;
beforeEach(async () => {
  const { REDIS_URL: _, ...env } = process.env;
  redis = await localRedis(env);
});
afterEach(() => redis.close());

const readySchema = z.object({
  checks: z.array(z.object({ name: z.string(), ok: z.boolean(), detail: z.string().optional() })),
});

/** The public response of `/readyz`, and the names of its failing checks. */
async function readiness(url: string) {
  const response = await fetch(`${url}/readyz`);
  const text = await response.text();
  const { checks } = readySchema.parse(JSON.parse(text));
  return { status: response.status, text, failing: checks.filter(({ ok }) => !ok).map(({ name }) => name) };
}

interface Disk {
  readonly env: Readonly<Record<string, string>>;
  breaks(): Promise<void>;
  mends(): Promise<void>;
}

/** A run waits for an unusable disk and is delivered after the disk recovers, without manual steps. */
async function outlastsTheOutage(deployment: Awaited<ReturnType<typeof roleProcesses>>, disk: Disk): Promise<void> {
  await disk.breaks();
  const docket = await deployment.startWith(disk.env, 'worker,scheduler,admin');
  const before = await readiness(docket.url);
  // A new archive looks like one that is not mounted, so stops are unknown as well.
  expect(before).toMatchObject({ status: 503, failing: ['switches', 'denials', 'archive', 'staging'] });
  expect(before.text).not.toContain(deployment.root);
  const run = await deployment.trigger(docket, 'once');
  await docket.logged((line) => line.run === run && line.msg.startsWith('Run waits for its storage'));
  expect(await deployment.runs()).toMatchObject([{ id: run, state: 'waiting' }]);
  await disk.mends();
  await deployment.mail.waitForMessages(1);
  await expect
    .poll(() => deployment.runs(), { interval: 500 })
    .toMatchObject([{ id: run, state: 'done', attempts: 1 }]);
  await expect.poll(() => readiness(docket.url), { interval: 500 }).toMatchObject({ status: 200, failing: [] });
  expect(deployment.mail.messages().length).toBe(1);
  expect(await readdir(join(deployment.root, 'archive', '.staging'))).toEqual([]);
  expect(await readdir(join(deployment.root, 'archive', 'acme', 'weekly'))).toEqual([run]);
  await docket.stop();
}

test.each(['ENOSPC', 'EROFS'] as const)(
  'a run waits for an archive whose disk fails with %s, and /readyz shows it',
  async (code) => {
    const deployment = await roleProcesses(redis.url);
    const disk = faultyDisk(onTestFinished);
    await outlastsTheOutage(deployment, {
      env: disk.env,
      breaks: async () => disk.breaks(code, join(deployment.root, 'archive')),
      mends: async () => disk.mends(),
    });
  },
);

test('a run waits for an archive on a really full disk', async (context) => {
  const deployment = await roleProcesses(redis.url);
  const archive = join(deployment.root, 'archive');
  await mkdir(archive, { recursive: true });
  const mounted = await execute('mount', ['-t', 'tmpfs', '-o', 'size=24m', 'none', archive]).then(
    () => true,
    () => false,
  );
  context.skip(!mounted, 'a file system cannot be mounted here; the faults above are injected');
  onTestFinished(async () => void (await execute('umount', ['-l', archive])));
  const filler = join(archive, '.filler');
  await outlastsTheOutage(deployment, {
    env: {},
    breaks: async () => {
      await writeFile(filler, new Uint8Array(32 * 1024 * 1024)).catch(() => {});
    },
    mends: () => rm(filler),
  });
});
