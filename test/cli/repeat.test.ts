import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { systemClock } from '../../src/base/clock.ts';
import { readConfig } from '../../src/base/config.ts';
import { silentLog } from '../../src/base/log.ts';
import { composeDocket } from '../../src/compose/docket.ts';
import { fixedJobs } from '../../src/define/in-force.ts';
import { loadJobs } from '../../src/define/load.ts';
import { type MailCatcher, mailCatcher } from '../../src/demo/mail-catcher.ts';
import { type LocalRedis, localRedis } from '../../src/demo/redis.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { docket } from '../support/docket.ts';
import { jobsFolder } from '../support/jobs-folder.ts';
import { onTerminal } from '../support/terminal.ts';

const runSchema = z.object({ run: z.string(), state: z.string(), files: z.array(z.looseObject({ path: z.string() })) });
const refusalSchema = z.object({
  error: z.object({
    code: z.string(),
    message: z.string(),
    delivered: z.object({ run: z.string(), people: z.number(), targets: z.number(), uncertain: z.number() }),
  }),
});
const listedSchema = z.object({
  runs: z.array(z.looseObject({ id: z.string(), state: z.string(), trigger: z.string() })),
});
const deliveriesSchema = z.object({
  deliveries: z.array(z.looseObject({ id: z.string(), run: z.string(), state: z.string(), target: z.string() })),
});
const filledSchema = z.object({
  runs: z.array(z.looseObject({ period: z.looseObject({ from: z.string() }) })),
  already_delivered: z.array(
    z.object({ period: z.looseObject({ from: z.string() }), delivered: z.looseObject({ run: z.string() }) }),
  ),
});

const ORG = `version: 1
name: Acme
org: current
api_key: { env: ACME_KEY }
timezone: Europe/Zurich
recipients: { domains: [acme.example] }
budget: { window: 1 }
`;
const report = (deliveries: string) => `version: 1
title: Weekly
owner: ops@acme.example
period: previous_week
max_age: 1h
sections:
  - { id: onboarding, metrics: [profiles.created] }
outputs:
  - { format: csv }
deliveries:
${deliveries}`;

describe('a report that was delivered for its period already', () => {
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
    mails = await mailCatcher(await mkdtemp(join(tmpdir(), 'docket-repeat-mails-')));
  });
  afterAll(async () => {
    client.disconnect();
    await mails.close();
    await redis.close();
    await sandbox.close();
  });
  beforeEach(async () => {
    await client.flushall();
    folder = await mkdtemp(join(tmpdir(), 'docket-repeat-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    jobs = await jobsFolder({
      'acme/org.yaml': ORG,
      'acme/weekly.yaml': report('  - email: { to: [lead@acme.example, board@acme.example], attach: [csv] }\n'),
      'acme/changed.yaml': report('  - email: { to: [lead@acme.example], attach: [csv] }\n    send_if: changed\n'),
      'acme/folder.yaml': report('  - directory: { path: kept, overwrite: true }\n'),
    });
    env = {
      COMPLIANCE_API_URL: sandbox.url,
      ACME_KEY: sandbox.keys.find(({ label }) => label === 'acme')?.key ?? '',
      DOCKET_JOBS: jobs,
      SMTP_URL: mails.url,
      MAIL_FROM: 'reports@acme.example',
      LOG_LEVEL: 'silent',
    };
  });

  const onRedis = () => ({ ...env, REDIS_URL: redis.url });
  const run = (given: Record<string, string>, ...args: string[]) =>
    docket(['run', 'acme/weekly', '--json', ...args], { env: given, cwd: folder });
  const made = async (given: Record<string, string>, ...args: string[]) => {
    const ended = await run(given, ...args);
    expect(ended.code, ended.stderr).toBe(0);
    return runSchema.parse(JSON.parse(ended.stdout));
  };
  /** What it is refused with; nothing was called and nothing left. */
  const refused = async (given: Record<string, string>, ...args: string[]) => {
    const [calls, left] = [sandbox.requests().length, mails.messages().length];
    const ended = await run(given, ...args);
    expect(ended.code, ended.stderr).toBe(2);
    expect([sandbox.requests().length, mails.messages().length]).toEqual([calls, left]);
    const { error } = refusalSchema.parse(JSON.parse(ended.stdout));
    expect(error.code).toBe('already_delivered');
    return error.delivered;
  };
  const sentBy = async (work: () => Promise<unknown>): Promise<number> => {
    const before = mails.messages().length;
    await work();
    return mails.messages().length - before;
  };

  test('with Redis is in the ledger, the archive and the records of the workers, and refused the second time', async () => {
    const first = await made(onRedis(), '--out', 'out');
    expect((await readdir(join(folder, 'out'))).sort()).toEqual(
      expect.arrayContaining(['attempts', 'mail.html', 'manifest.json', 'messages', 'receipts.json']),
    );
    for (const { path } of first.files) expect(path.startsWith(join(folder, 'out'))).toBe(true);
    expect(await readdir(join(folder, 'archive', 'acme', 'weekly'))).toEqual([first.run]);
    const verified = await docket(['archive', 'verify'], { env, cwd: folder });
    expect(verified).toMatchObject({ code: 0 });
    const given = { env: onRedis(), cwd: folder };
    const { runs } = listedSchema.parse(JSON.parse((await docket(['runs', '--json'], given)).stdout));
    expect(runs).toMatchObject([{ id: first.run, state: 'done', trigger: 'cli' }]);
    const listed = await docket(['deliveries', '--json'], given);
    expect(deliveriesSchema.parse(JSON.parse(listed.stdout)).deliveries).toMatchObject([
      { run: first.run, state: 'sent' },
      { run: first.run, state: 'sent' },
    ]);
    expect(await refused(onRedis())).toEqual(
      expect.objectContaining({ run: first.run, people: 2, targets: 0, uncertain: 0 }),
    );
    // The same days by another name.
    const { period } = JSON.parse(await readFile(join(folder, 'out', 'manifest.json'), 'utf8'));
    expect(await refused(onRedis(), '--period', `${period.from}..${period.to}`)).toMatchObject({ run: first.run });
    // A Redis that was emptied: the archive knows.
    await client.flushall();
    expect(await refused(onRedis())).toMatchObject({ run: first.run, people: 2 });
    expect(await refused(env)).toMatchObject({ run: first.run, people: 2 });
  });

  test('is sent again with --again and DOCKET_REPEAT=allow; --no-deliver and another period are not stopped', async () => {
    await made(onRedis());
    expect(await sentBy(() => made(onRedis(), '--no-deliver'))).toBe(0);
    expect(await sentBy(() => made(onRedis(), '--again'))).toBe(2);
    expect(await sentBy(() => made({ ...onRedis(), DOCKET_REPEAT: 'allow' }))).toBe(2);
    expect(await sentBy(() => made(onRedis(), '--period', '2026-W40'))).toBe(2);
  });

  test('is refused by --queue as well, and opened with --again', async () => {
    const first = await made(onRedis());
    expect(await refused(onRedis(), '--queue')).toMatchObject({ run: first.run });
    const queue = (...args: string[]) =>
      docket(['run', 'acme/weekly', '--queue', ...args], { env: onRedis(), cwd: folder });
    expect(await queue('--no-deliver')).toMatchObject({ code: 0 });
    expect(await queue('--again')).toMatchObject({ code: 0 });
  });

  test('without Redis is in a ledger in the archive folder', async () => {
    const first = await made(env, '--out', 'out');
    const rows = await readdir(join(folder, 'archive', '.ledger', 'acme', 'weekly', first.run));
    expect(rows).toContain('run.json');
    expect(await refused(env)).toMatchObject({ run: first.run, people: 2, uncertain: 0 });
    expect(await refused(onRedis(), '--queue')).toMatchObject({ run: first.run });
    expect(await sentBy(() => made(env, '--again'))).toBe(2);
    expect(await sentBy(() => made({ ...env, DOCKET_REPEAT: 'allow' }))).toBe(2);
  });

  test('without Redis is not begun where its ledger could not be kept', async () => {
    const file = join(folder, 'no-folder');
    await writeFile(file, '');
    const archive = { ...env, DOCKET_ARCHIVE: pathToFileURL(file).href };
    const ended = await docket(['run', 'acme/weekly', '--json', '--out', 'out'], { env: archive, cwd: folder });
    expect(JSON.parse(ended.stdout)).toMatchObject({ error: { code: 'archive.unwritable' } });
    expect(await sentBy(() => made(archive, '--no-deliver'))).toBe(0);
  });

  test('with Redis remembers which figures were sent, as workers do', async () => {
    const states = async (...args: string[]) => {
      const ended = await docket(['run', 'acme/changed', '--json', ...args], { env: onRedis(), cwd: folder });
      expect(ended.code, ended.stderr).toBe(0);
      return z
        .looseObject({ deliveries: z.array(z.looseObject({ state: z.string() })) })
        .parse(JSON.parse(ended.stdout))
        .deliveries.map(({ state }) => state);
    };
    expect(await states()).toEqual(['sent']);
    expect(await states('--again')).toEqual(['skipped']);
    expect(await states('--period', '2026-W40')).toEqual(['sent']);
  });

  test('by a folder of this machine alone is not refused', async () => {
    for (const given of [env, onRedis(), env, onRedis()]) {
      const ended = await docket(['run', 'acme/folder', '--json'], { env: given, cwd: folder });
      expect(ended.code, ended.stderr).toBe(0);
    }
  });

  test('on a terminal asks, and sends nothing without a yes', async () => {
    await made(env);
    const answering = (key: string) => {
      let pressed = false;
      return onTerminal(['run', 'acme/weekly'], {
        env,
        cwd: folder,
        press: (screen) => {
          if (pressed || !screen.includes('Send it again?')) return undefined;
          pressed = true;
          return key;
        },
      });
    };
    const left = mails.messages().length;
    for (const key of ['\r', 'n', '\u0003']) {
      expect((await answering(key)).code, JSON.stringify(key)).not.toBe(0);
      expect(mails.messages()).toHaveLength(left);
    }
    expect((await answering('y')).code).toBe(0);
    expect(mails.messages()).toHaveLength(left + 2);
  });

  test('is left out of a backfill with --deliver, which says so', async () => {
    const first = await made(onRedis(), '--period', '2026-W41');
    const fill = async (...args: string[]) => {
      const ended = await docket(
        ['backfill', 'acme/weekly', '--from', '2026-W40', '--to', '2026-W42', '--json', ...args],
        { env: onRedis(), cwd: folder },
      );
      expect(ended.code, ended.stderr).toBe(0);
      const { runs, already_delivered: before } = filledSchema.parse(JSON.parse(ended.stdout));
      return { opened: runs.map(({ period }) => period.from), before };
    };
    const weeks = ['2026-09-28', '2026-10-05', '2026-10-12'];
    expect(await fill()).toEqual({ opened: weeks, before: [] });
    expect(await fill('--deliver')).toMatchObject({
      opened: [weeks[0], weeks[2]],
      before: [{ period: { from: weeks[1] }, delivered: { run: first.run } }],
    });
    expect(await fill('--deliver', '--again')).toEqual({ opened: weeks, before: [] });
  });

  describe('by a command that was killed while it was sending', () => {
    /** Takes a message whole and never says so. */
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
    const killedAmid = async (given: Record<string, string>) => {
      const { url, message } = await silentServer();
      const main = new URL('../../dist/main.js', import.meta.url).pathname;
      const child = spawn(process.execPath, [main, 'run', 'acme/weekly'], {
        env: { PATH: process.env.PATH ?? '', ...given, SMTP_URL: url },
        cwd: folder,
        stdio: 'ignore',
      });
      const exited = once(child, 'exit');
      await message;
      child.kill('SIGKILL');
      await exited;
    };

    test('without Redis may have been delivered', async () => {
      await killedAmid(env);
      expect(await refused(env)).toMatchObject({ people: 0, uncertain: 1 });
    });

    test('with Redis becomes unknown once its lease has run out, is told of, and can be decided about', async () => {
      await killedAmid(onRedis());
      const given = { env: onRedis(), cwd: folder };
      const listed = async (...args: string[]) =>
        deliveriesSchema.parse(JSON.parse((await docket(['deliveries', '--json', ...args], given)).stdout)).deliveries;
      const rows = await listed();
      expect(rows.map(({ state }) => state).sort()).toEqual(['pending', 'sending']);
      const { run: id } = rows[0] ?? { run: '' };
      expect(await refused(onRedis())).toMatchObject({ run: id, people: 0, uncertain: 1 });

      // Nobody has waited for two minutes: the lease is as it is then.
      const [lease] = await client.keys('*:inline');
      await client.zadd(lease ?? '', 1, id);
      const around = {
        config: readConfig({ ...onRedis(), DOCKET_ARCHIVE: `file://${join(folder, 'archive')}` }),
        env: onRedis(),
        clock: systemClock,
        log: silentLog,
      };
      const notices = mails.messages().length + 1;
      const worker = await composeDocket(around, {
        jobs: fixedJobs(await loadJobs(jobs)),
        roles: new Set(['worker', 'scheduler']),
      });
      onTestFinished(() => worker.close());
      // Its owner is told, which is the first mail since.
      await mails.received(notices);
      expect(mails.messages().at(-1)?.to).toEqual(['ops@acme.example']);
      await expect.poll(async () => (await worker.store.runs.get(id))?.state).toBe('failed');
      expect(await worker.store.runs.get(id)).toMatchObject({ error: { code: 'run.abandoned' }, trigger: 'cli' });

      const [unknown, ...others] = await listed('--unknown');
      expect(others).toEqual([]);
      expect(unknown).toMatchObject({ run: id, state: 'unknown' });
      expect(await refused(onRedis())).toMatchObject({ run: id, uncertain: 1 });
      const decided = await docket(
        ['deliveries', 'resolve', unknown?.id ?? '', '--sent', '--reason', 'she has it'],
        given,
      );
      expect(decided).toMatchObject({ code: 0 });
      expect(await refused(onRedis())).toMatchObject({ run: id, people: 1, uncertain: 0 });

      // The workers do the rest, and nothing twice.
      const before = mails.messages().length;
      expect(await docket(['runs', 'retry', id, '--reason', 'the rest'], given)).toMatchObject({ code: 0 });
      await mails.received(before + 1);
      await expect.poll(async () => (await worker.store.runs.get(id))?.state).toBe('done');
      expect(mails.messages()).toHaveLength(before + 1);
    });
  });
});
