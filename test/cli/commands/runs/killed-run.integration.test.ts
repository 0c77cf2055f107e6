import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { systemClock } from '../../../../src/base/clock.ts';
import { readConfig } from '../../../../src/base/config/config.ts';
import { silentLog } from '../../../../src/base/log.ts';
import { loadDefinitions } from '../../../../src/compose/built-in-kinds.ts';
import { composeDocket } from '../../../../src/compose/docket.ts';
import { staticDefinitions } from '../../../../src/definitions/load/definition-source.ts';
import { type LocalRedis, localRedis } from '../../../../src/demo/local-redis.ts';
import { createMailCatcher, type MailCatcher } from '../../../../src/demo/mail-catcher.ts';
import { DEFAULT_KEY_PREFIX, redisKeys } from '../../../../src/redis/keys.ts';
import { openPrivateRedis } from '../../../../src/redis/private-redis.ts';
import { type Sandbox, startSandbox } from '../../../../src/sandbox/sandbox.ts';
import { builtMain } from '../../../support/built-main.ts';
import { freePort } from '../../../support/free-port.ts';
import { jobsFolder } from '../../../support/jobs-folder.ts';
import { runCommand, startCommand } from '../../../support/run-command.ts';

const refusalSchema = z.object({
  error: z.object({ code: z.literal('already_delivered'), delivered: z.looseObject({ run: z.string() }) }),
});
const deliveriesSchema = z.object({
  deliveries: z.array(z.looseObject({ id: z.string(), run: z.string(), state: z.string() })),
});

describe('a run that was killed while it was sending', () => {
  let sandbox: Sandbox;
  let redis: LocalRedis;
  let client: Redis;
  let jobs: string;
  let folder: string;
  let mails: MailCatcher;
  let env: Record<string, string>;

  beforeAll(async () => {
    sandbox = await startSandbox({ windowMs: 1_000 });
    redis = await localRedis({ PATH: process.env.PATH });
    client = new Redis(redis.url);
    mails = await createMailCatcher(await mkdtemp(join(tmpdir(), 'docket-killed-mails-')));
  });
  afterAll(async () => {
    client.disconnect();
    await mails.close();
    await redis.close();
    await sandbox.close();
  });
  beforeEach(async () => {
    await client.flushall();
    jobs = await jobsFolder({
      'acme/org.yaml': `version: 1
org: current
api_key: { env: ACME_KEY }
timezone: Europe/Zurich
recipients: { domains: [acme.example] }
budget: { window: 1 }
`,
      'acme/weekly.yaml': `version: 1
title: Weekly
owner: ops@acme.example
period: previous_week
sections:
  - { id: onboarding, metrics: [profiles.created] }
outputs:
  - { format: csv }
deliveries:
  - email: { to: [lead@acme.example, board@acme.example], attach: [csv] }
`,
    });
    folder = await mkdtemp(join(tmpdir(), 'docket-killed-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    env = {
      COMPLIANCE_API_URL: sandbox.url,
      ACME_KEY: sandbox.keys.find(({ label }) => label === 'acme')?.key ?? '',
      DOCKET_JOBS: jobs,
      SMTP_URL: mails.url,
      MAIL_FROM: 'reports@acme.example',
      LOG_LEVEL: 'silent',
    };
  });

  const withRedis = () => ({ ...env, REDIS_URL: redis.url });
  /** The details of `already_delivered`. */
  const refused = async (given: Record<string, string>) => {
    const ended = await runCommand(['run', 'acme/weekly', '--json'], { env: given, cwd: folder });
    expect(ended.code, ended.stderr).toBe(2);
    return refusalSchema.parse(JSON.parse(ended.stdout)).error.delivered;
  };
  /** Accepts a message and never replies. */
  const silentServer = async () => {
    let taken: () => void = () => {};
    const message = new Promise<void>((resolve) => {
      taken = resolve;
    });
    const server: Server = createServer((socket) => {
      socket.on('error', () => {});
      socket.write('220 here\r\n');
      let data = false;
      let text = '';
      socket.on('data', (bytes) => {
        text += bytes.toString('latin1');
        if (data) {
          if (text.endsWith('\r\n.\r\n')) taken();
          return;
        }
        for (let end = text.indexOf('\r\n'); end !== -1 && !data; end = text.indexOf('\r\n')) {
          const line = text.slice(0, end);
          text = text.slice(end + 2);
          data = line.toUpperCase() === 'DATA';
          socket.write(data ? '354 go\r\n' : '250 ok\r\n');
        }
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('no port');
    onTestFinished(() => void server.close());
    return { url: `smtp://127.0.0.1:${address.port}`, message };
  };
  const killWhileSending = async (given: Record<string, string>) => {
    const { url, message } = await silentServer();
    const child = spawn(process.execPath, [builtMain(), 'run', 'acme/weekly'], {
      env: { PATH: process.env.PATH ?? '', ...given, SMTP_URL: url },
      cwd: folder,
      stdio: 'ignore',
    });
    const exited = once(child, 'exit');
    await message;
    child.kill('SIGKILL');
    await exited;
  };

  test('is ended by the next command without REDIS_URL, and a worker notifies the owner once', async () => {
    await killWhileSending(env);
    const { run: id } = await refused(env);
    const given = { env: { ...env, DOCKET_ADMIN_PORT: String(await freePort()) }, cwd: folder };
    const shown = async () =>
      z
        .looseObject({ record: z.looseObject({ state: z.string() }) })
        .parse(JSON.parse((await runCommand(['runs', 'show', id, '--json'], given)).stdout)).record;
    expect(await shown()).toMatchObject({ state: 'running' });
    const context = { config: readConfig(env), env: { PATH: process.env.PATH }, clock: systemClock, log: silentLog };
    const opened = await openPrivateRedis(context, { start: true });
    const own = new Redis({ path: opened?.path ?? '' });
    const leases = redisKeys(DEFAULT_KEY_PREFIX).inline;
    // Expires the lease instead of waiting for two minutes.
    await own.zadd(leases, 1, id);
    expect(await shown()).toMatchObject({ state: 'failed', error: { code: 'run.abandoned' } });
    expect(await own.exists(leases)).toBe(0);
    own.disconnect();
    await opened?.close();
    expect(await refused(env)).toMatchObject({ run: id, people: 0, uncertain: 1 });
    // A retry needs files that this archive does not have.
    expect(await runCommand(['runs', 'retry', id, '--reason', 'the rest'], given)).toMatchObject({ code: 2 });
    const before = mails.messages().length;
    const worker = startCommand(['--local'], given);
    await mails.waitForMessages(before + 1);
    expect(await worker.stop()).toMatchObject({ code: 0 });
    const to = mails.messages().slice(before);
    expect(to.flatMap((mail) => mail.to)).toEqual(['ops@acme.example']);
  });

  test('becomes unknown with Redis after its lease, notifies the owner, and can be resolved', async () => {
    await killWhileSending(withRedis());
    const given = { env: withRedis(), cwd: folder };
    const listed = async (...args: string[]) =>
      deliveriesSchema.parse(JSON.parse((await runCommand(['deliveries', '--json', ...args], given)).stdout))
        .deliveries;
    const rows = await listed();
    expect(rows.map(({ state }) => state).sort()).toEqual(['pending', 'sending']);
    const { run: id } = rows[0] ?? { run: '' };
    expect(await refused(withRedis())).toMatchObject({ run: id, people: 0, uncertain: 1 });

    // Expires the lease instead of waiting for two minutes.
    const [lease] = await client.keys('*:inline');
    await client.zadd(lease ?? '', 1, id);
    const context = {
      config: readConfig({ ...withRedis(), DOCKET_ARCHIVE: `file://${join(folder, 'archive')}` }),
      env: withRedis(),
      clock: systemClock,
      log: silentLog,
    };
    const notices = mails.messages().length + 1;
    const worker = await composeDocket(context, {
      jobs: staticDefinitions(await loadDefinitions(jobs)),
      roles: new Set(['worker', 'scheduler']),
    });
    onTestFinished(() => worker.close());
    // The notice to the owner is the next e-mail.
    await mails.waitForMessages(notices);
    expect(mails.messages().at(-1)?.to).toEqual(['ops@acme.example']);
    await expect.poll(async () => (await worker.store.runs.get(id))?.state).toBe('failed');
    expect(await worker.store.runs.get(id)).toMatchObject({ error: { code: 'run.abandoned' }, trigger: 'cli' });

    const [unknown, ...others] = await listed('--unknown');
    expect(others).toEqual([]);
    expect(unknown).toMatchObject({ run: id, state: 'unknown' });
    expect(await refused(withRedis())).toMatchObject({ run: id, uncertain: 1 });
    const decided = await runCommand(
      ['deliveries', 'resolve', unknown?.id ?? '', '--sent', '--reason', 'she has it'],
      given,
    );
    expect(decided).toMatchObject({ code: 0 });
    expect(await refused(withRedis())).toMatchObject({ run: id, people: 1, uncertain: 0 });

    // The worker sends only what is left.
    const before = mails.messages().length;
    expect(await runCommand(['runs', 'retry', id, '--reason', 'the rest'], given)).toMatchObject({ code: 0 });
    await mails.waitForMessages(before + 1);
    await expect.poll(async () => (await worker.store.runs.get(id))?.state).toBe('done');
    expect(mails.messages()).toHaveLength(before + 1);
  });
});
